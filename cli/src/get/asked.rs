//! The kinds and names on the command line of `get`.

use std::collections::{BTreeMap, BTreeSet};

use crate::kinds::named_objects::{NamedObjects, named_objects};

/// A kind, and the names of its objects that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AskedKind {
    /// As it was typed.
    pub(super) word: String,
    /// All objects if empty.
    pub(super) names: BTreeSet<String>,
}

/// Reads the words: `KINDS`, `KINDS NAME …` or `KIND/NAME …`, where KINDS are separated by commas. None for all kinds.
///
/// # Errors
/// A sentence that says what to write instead.
pub(super) fn asked_kinds(words: &[String], selects: bool) -> Result<Vec<AskedKind>, String> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let is_kind = selects || (words.len() == 1 && !words[0].contains('/'));
    let pairs = match named_objects(words, is_kind)? {
        NamedObjects::OfKind(kinds) => vec![(kinds, None)],
        NamedObjects::Each(named) => named.into_iter().map(|(kinds, name)| (kinds, Some(name))).collect(),
    };
    let mut asked: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (kinds, name) in pairs {
        for kind in kinds.split(',') {
            if kind.is_empty() {
                return Err(format!("`{kinds}` has an empty kind: write for example records,roles"));
            }
            asked.entry(kind).or_default().extend(name.map(str::to_owned));
        }
    }
    Ok(asked.into_iter().map(|(word, names)| AskedKind { word: word.to_owned(), names }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_names_are_as_for_kubectl() {
        let asked = |text: &str, selects| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let kind = |one: AskedKind| format!("{}{:?}", one.word, one.names);
            asked_kinds(&words, selects).map(|asked| asked.into_iter().map(kind).collect::<Vec<_>>().join(" "))
        };
        for (text, expected) in [
            ("", Ok("")),
            ("proxies", Ok("proxies{}")),
            ("proxies,roles", Ok("proxies{} roles{}")),
            ("proxy/web", Ok("proxy{\"web\"}")),
            ("proxy web cache", Ok("proxy{\"cache\", \"web\"}")),
            ("proxy,role web", Ok("proxy{\"web\"} role{\"web\"}")),
            ("proxy/web role/app", Ok("proxy{\"web\"} role{\"app\"}")),
            ("proxies,,roles", Err("`proxies,,roles` has an empty kind: write for example records,roles")),
            ("proxy/web cache", Err("write each object as KIND/NAME")),
        ] {
            assert_eq!(asked(text, false), expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
        assert_eq!(asked("", true), Ok(String::new()));
        assert!(asked("proxy/web", true).is_err(), "a selector chooses the names");
    }
}
