//! The expectations of a reader at each place of a document: keys, words, bounds.
//!
//! The JSON Schema is generated from it, so that it always matches the reader.

use std::collections::BTreeMap;

/// One expectation of a reader. Later variants are more specific, and win if a place is read in several ways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expectation {
    /// Any text value.
    Text,
    /// A map with user-defined keys.
    Map,
    /// A list of items.
    List,
    /// `true` or `false`.
    Truth,
    /// A whole number, with minimum and maximum.
    Whole(String, String),
    /// One of a few words.
    Words(Vec<String>),
    /// A map with these keys.
    Keys(Vec<String>),
}

/// The expectations by place: `read.http.steps[].url`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    places: BTreeMap<String, Expectation>,
}

impl Recording {
    /// Records an expectation, unless the place already has a more specific one.
    pub(crate) fn note(&mut self, place: &str, asked: Expectation) {
        let known = self.places.entry(every_name(&every_item(place))).or_insert_with(|| asked.clone());
        *known = asked.max(known.clone());
    }

    /// Returns the places of the sections with this key.
    pub(crate) fn sections_with<'r>(&'r self, key: &'r str) -> impl Iterator<Item = &'r str> {
        let has_it = move |asked: &Expectation| matches!(asked, Expectation::Keys(keys) if keys.iter().any(|known| known == key));
        self.places.iter().filter(move |(_, asked)| has_it(asked)).map(|(place, _)| place.as_str())
    }

    /// Returns the expectation at a place.
    pub(crate) fn at(&self, place: &str) -> Option<&Expectation> {
        self.places.get(place)
    }
}

/// Sections with user-defined keys whose values have the same keys.
const NAMED: [&str; 1] = ["secrets."];

/// `secrets.password.key` as `secrets.*.key`.
fn every_name(place: &str) -> String {
    let named = NAMED.iter().find_map(|section| Some((section, place.strip_prefix(section)?)));
    named.map_or_else(
        || place.to_owned(),
        |(section, rest)| {
            let below = rest.split_once('.').map_or_else(String::new, |(_, below)| format!(".{below}"));
            format!("{section}*{below}")
        },
    )
}

/// `require[0].that` as `require[].that`: all items have the same keys.
fn every_item(place: &str) -> String {
    let mut parts = place.split('[');
    let mut every = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        every.push('[');
        every.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    every
}

/// The section that holds those whose places name no other.
const SPEC: &str = "spec";

/// The known keys by the place of their section.
#[derive(Debug, Default)]
pub(super) struct KnownKeys(BTreeMap<String, Vec<String>>);

impl KnownKeys {
    /// Notes the keys of a section.
    pub(super) fn note(&mut self, place: &str, known: &[&str]) {
        if !self.0.contains_key(place) {
            self.0.insert(place.to_owned(), known.iter().map(|key| (*key).to_owned()).collect());
        }
    }

    /// Returns the nearest section around `place` that has this key, and how many levels above it is.
    pub(super) fn home_of<'p>(&self, place: &'p str, key: &str) -> Option<(&'p str, usize)> {
        let around = std::iter::successors(section_around(place), |place| section_around(place));
        let has_it = |place: &&str| self.0.get(*place).is_some_and(|known| known.iter().any(|known| known == key));
        around.zip(1..).find(|(place, _)| has_it(place))
    }
}

/// Returns the section that holds the one at `place`: `read` of `read.http`, `correct.http.create` of `correct.http.create[0]`.
fn section_around(place: &str) -> Option<&str> {
    match place.rfind(['.', '[']) {
        Some(end) => place.get(..end),
        None if place.is_empty() || place == SPEC => None,
        None => Some(SPEC),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_the_nearest_section_around() {
        let mut keys = KnownKeys::default();
        keys.note("spec", &["read", "compare", "limits"]);
        keys.note("read", &["http", "limits"]);
        keys.note("read.http", &["url"]);
        for (place, key, expected) in [
            ("read", "compare", Some(("spec", 1))),
            ("read.http", "compare", Some(("spec", 2))),
            ("read.http", "limits", Some(("read", 1))),
            ("read.http.steps[0]", "url", Some(("read.http", 2))),
            ("spec", "compare", None),
            ("", "compare", None),
            ("read", "url", None),
        ] {
            assert_eq!(keys.home_of(place, key), expected, "{place} {key}");
        }
    }
}
