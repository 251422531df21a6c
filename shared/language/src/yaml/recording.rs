//! What a reader asked for at each place of a document: which keys, which words, within which bounds.
//!
//! From this the JSON Schema is made, so that it cannot know another language than the reader does.

use std::collections::BTreeMap;

/// One thing that a reader asks for. The later ones say more than those before them, where a place is asked in several ways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expectation {
    /// A text.
    Text,
    /// A map whose keys are the user's own.
    Map,
    /// A list.
    List,
    /// `true` or `false`.
    Truth,
    /// A whole number, from and to.
    Whole(String, String),
    /// One of a few words.
    Words(Vec<String>),
    /// A map with these keys.
    Keys(Vec<String>),
}

/// What was asked for, by place: `read.http.steps[].url`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    places: BTreeMap<String, Expectation>,
}

impl Recording {
    /// Notes it, unless more was asked for at the place.
    pub(crate) fn note(&mut self, place: &str, asked: Expectation) {
        let known = self.places.entry(every_name(&every_item(place))).or_insert_with(|| asked.clone());
        *known = asked.max(known.clone());
    }

    /// What was asked for at a place.
    pub(crate) fn at(&self, place: &str) -> Option<&Expectation> {
        self.places.get(place)
    }
}

/// Sections whose keys are the user's own, and whose values are read alike.
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

/// `require[0].that` as `require[].that`: every item is read alike.
fn every_item(place: &str) -> String {
    let mut parts = place.split('[');
    let mut every = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        every.push('[');
        every.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    every
}
