//! The keys of the sections that were read, to tell where a misplaced key belongs.

use std::collections::BTreeMap;

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
