//! Every section of the language with its keys, and the section that a misplaced key belongs in.

use std::sync::LazyLock;

use crate::document::parse::Document;
use crate::section::{Key, Schema, Section as _};

/// The keys of a document.
pub(crate) static LANGUAGE: LazyLock<Vec<Key>> = LazyLock::new(|| Document::keys(()));

/// The place of every section, with its keys. Places below `spec` count from there.
static SECTIONS: LazyLock<Vec<(String, &'static [Key])>> = LazyLock::new(|| {
    let mut found = Vec::new();
    collect_sections(&LANGUAGE, "", &mut found);
    found
});

fn collect_sections(keys: &'static [Key], place: &str, found: &mut Vec<(String, &'static [Key])>) {
    found.push((place.to_owned(), keys));
    for key in keys {
        let place = place_below(place, key.name);
        if let Some((keys, suffix)) = section_in(&key.schema) {
            collect_sections(keys, &format!("{place}{suffix}"), found);
        }
    }
}

/// The place of a key. Places below `spec` count from there.
pub(crate) fn place_below(place: &str, key: &str) -> String {
    if place.is_empty() || place == "spec" { key.to_owned() } else { format!("{place}.{key}") }
}

/// The keys of the section that a value is, or that its items are, and what its place adds to that of the value.
pub(crate) fn section_in(schema: &Schema) -> Option<(&[Key], &'static str)> {
    match schema {
        Schema::Keys(keys) => Some((keys, "")),
        Schema::OrText(long) => section_in(long),
        Schema::List(item) | Schema::OneOrList(item) => section_in(item).map(|(keys, _)| (keys, "[]")),
        Schema::Map(value) => section_in(value).map(|(keys, _)| (keys, ".*")),
        Schema::Types(_) | Schema::Whole(..) | Schema::Words(_) => None,
    }
}

/// Maximum number of sections to suggest: the four actions of a correction share their keys.
const MOST_SECTIONS: usize = 4;

/// Returns the sections that a key belongs in, according to the whole language: "`mode` belongs in `correct`, not in
/// `compare`". `None` if no section has the key, too many are equally near, or the nearest has the same name as this one.
pub(super) fn where_it_belongs(place: &str, key: &str) -> Option<String> {
    let has_it = SECTIONS.iter().filter(|(_, keys)| keys.iter().any(|known| known.name == key));
    let mut sections: Vec<_> = has_it.map(|(section, _)| (distance(place, section), section.as_str())).collect();
    sections.sort_by_key(|(_, section)| *section);
    let nearest = sections.iter().map(|(distance, _)| *distance).min()?;
    sections.retain(|(distance, _)| *distance == nearest);
    // A section of the same name, as another `metadata`, describes something else.
    let name = steps(place).last().copied();
    if sections.len() > MOST_SECTIONS
        || name.is_some() && sections.iter().any(|(_, other)| steps(other).last().copied() == name)
    {
        return None;
    }
    let at = |section: &str| if section.is_empty() { "at the top level".to_owned() } else { format!("in `{section}`") };
    let homes: Vec<_> = sections.iter().map(|(_, section)| at(section)).collect();
    Some(format!("`{key}` belongs {}, not {}", homes.join(" or "), at(place)))
}

/// Returns how far a section is from a place: the number of steps up to their common section and down again.
fn distance(place: &str, section: &str) -> usize {
    let (from, to) = (steps(place), steps(section));
    let common = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    from.len() + to.len() - 2 * common
}

/// Returns the steps of a place without the numbers of items. Places below `spec` count from there.
fn steps(place: &str) -> Vec<&str> {
    let steps = place.split('.').filter(|step| !step.is_empty() && *step != "spec");
    steps.filter_map(|step| step.split('[').next()).collect()
}
