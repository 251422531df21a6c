//! Every section of the language with its keys, as the reader asks for them, and the section that a misplaced key
//! belongs in.

use std::sync::LazyLock;

use crate::document::parse::record;
use crate::yaml::recording::Recording;

/// Documents that together cover every section of the language.
const SAMPLES: &str = include_str!("samples.yaml");

/// The expectations of the reader at every place of the language.
pub(crate) static RECORDED: LazyLock<Recording> =
    LazyLock::new(|| SAMPLES.split("---\n").fold(Recording::default(), record));

/// Maximum number of sections to suggest: the four actions of a correction share their keys.
const MOST_SECTIONS: usize = 4;

/// Returns the sections that a key belongs in, according to the whole language: "`mode` belongs in `correct`, not in
/// `compare`". `None` if no section has the key, too many are equally near, or the nearest has the same name as this one.
pub(super) fn where_it_belongs(place: &str, key: &str) -> Option<String> {
    let sections = RECORDED.sections_with(key);
    let mut sections: Vec<_> = sections.map(|section| (distance(place, section), section)).collect();
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
