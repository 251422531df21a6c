//! The secrets in the correction record: the version of each that counts as present outside, and those that changed
//! since.
//!
//! Sent values cannot be read back, so the versions of the Secrets represent them:
//! `secrets password@9f31c2d4, moved password`. The poller treats changed secrets as differences, and needs no Secret
//! for that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::facts::{self, Fact, FactList, Facts};
use crate::secrets::labelled_secrets::SecretVersion;
use crate::short_hash::{parse_short_hash, short_hash};

/// One secret in one version. Shown as 8 hex digits, which contain nothing of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretMark(u32);

impl SecretMark {
    /// Returns the mark of one key of a Secret in this version.
    #[must_use]
    pub fn of(name: &str, key: &str, version: &SecretVersion) -> Self {
        // None of these contains a newline.
        Self(short_hash(&[name, key, &version.uid, &version.resource_version].join("\n")))
    }

    /// Returns it as a number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    fn parse(text: &str) -> Option<Self> {
        parse_short_hash(text).map(Self)
    }
}

impl fmt::Display for SecretMark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}

/// Marks of secrets by their names in the target. `None`: the Secret is missing, or no version of it counts.
pub type SecretMarks = BTreeMap<String, Option<SecretMark>>;

/// The word of a secret of which no version counts, because the correction that sends it did not get that far.
const UNSENT: &str = "unsent";

/// The secrets in a record. Every object has a record, and most contain no secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotedSecrets(Option<Box<Noted>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Noted {
    marks: SecretMarks,
    moved: BTreeSet<String>,
}

impl NotedSecrets {
    fn of(marks: SecretMarks, moved: BTreeSet<String>) -> Self {
        let says_something = !marks.is_empty() || !moved.is_empty();
        Self(says_something.then(|| Box::new(Noted { marks, moved })))
    }

    /// The names of those that changed since they were noted.
    pub fn moved(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|noted| &noted.moved).map(String::as_str)
    }

    /// Returns true if the record contains the secret.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.mark(name).is_some()
    }

    fn mark(&self, name: &str) -> Option<Option<SecretMark>> {
        self.0.as_ref()?.marks.get(name).copied()
    }

    /// Returns the record after a correction. `now` has all secrets of the target.
    ///
    /// Those in `sent` have their current version. Those in `unsent` are still to be sent, in any version. All others
    /// keep theirs. A secret that no record had was never sent, so the resource keeps what it has: the current version
    /// counts, and only a later one is a change.
    #[must_use]
    pub fn after_sending(&self, sent: &BTreeSet<String>, unsent: &BTreeSet<String>, now: &SecretMarks) -> Self {
        let noted = |(name, mark): (&String, &Option<SecretMark>)| {
            let noted = match mark {
                Some(mark) if sent.contains(name) => Some(*mark),
                _ if unsent.contains(name) => None,
                mark => self.mark(name).or(mark.map(Some))?,
            };
            Some((name.clone(), noted))
        };
        let moved = self.moved().filter(|name| now.contains_key(*name) && !sent.contains(*name));
        Self::of(now.iter().filter_map(noted).collect(), moved.map(str::to_owned).collect())
    }

    /// Returns the record with those of `watched` marked as changed whose current version is not the noted one. A
    /// missing one cannot be sent. Of one that is not noted, nothing is known.
    #[must_use]
    pub fn compared(&self, watched: &SecretMarks) -> Self {
        let Some(noted) = self.0.as_deref() else { return Self::default() };
        let has_moved = |(name, now): &(&String, &Option<SecretMark>)| {
            now.is_some() && noted.marks.get(*name).is_some_and(|mark| mark != *now)
        };
        let moved = watched.iter().filter(has_moved).map(|(name, _)| name.clone());
        Self::of(noted.marks.clone(), moved.collect())
    }
}

impl Facts for NotedSecrets {
    fn write(&self, list: &mut FactList<'_, '_>) -> fmt::Result {
        let Some(Noted { marks, moved }) = self.0.as_deref() else { return Ok(()) };
        let version = |mark: &Option<SecretMark>| mark.map_or_else(|| UNSENT.to_owned(), |mark| mark.to_string());
        list.fact("secrets", facts::joined(marks.iter().map(|(name, mark)| format!("{name}@{}", version(mark)))))?;
        list.fact("moved", facts::joined(moved.iter()))
    }

    fn take(&mut self, Fact { word, text }: Fact<'_>) -> Option<()> {
        let noted = self.0.get_or_insert_default();
        match word {
            "secrets" => noted.marks = text.split(' ').map(parse_noted).collect::<Option<_>>()?,
            "moved" => noted.moved = facts::names(text)?.map(str::to_owned).collect(),
            _ => return None,
        }
        Some(())
    }
}

/// Parses the name of a secret with its version: `password@9f31c2d4`.
fn parse_noted(text: &str) -> Option<(String, Option<SecretMark>)> {
    let (name, version) = facts::marked(text)?;
    let mark = if version == UNSENT { None } else { Some(SecretMark::parse(version)?) };
    Some((name.to_owned(), mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(name: &str, version: &str) -> SecretMark {
        SecretMark::of(name, "key", &SecretVersion { uid: "u".to_owned(), resource_version: version.to_owned() })
    }

    fn marks(versions: &[(&str, &str)]) -> SecretMarks {
        versions.iter().map(|(name, version)| ((*name).to_owned(), Some(mark(name, version)))).collect()
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// The record after `sent` were sent in these versions, and `unsent` were not.
    fn after(before: &NotedSecrets, sent: &[&str], unsent: &[&str], now: &[(&str, &str)]) -> NotedSecrets {
        before.after_sending(&names(sent), &names(unsent), &marks(now))
    }

    fn moved(noted: &NotedSecrets, now: &[(&str, &str)]) -> Vec<String> {
        noted.compared(&marks(now)).moved().map(str::to_owned).collect()
    }

    #[test]
    fn only_what_was_noted_and_is_there_moves() {
        let none = NotedSecrets::default();
        assert!(moved(&none, &[("a", "1")]).is_empty(), "never noted");
        let sent = after(&none, &["a", "b"], &[], &[("a", "1"), ("b", "1")]);
        assert!(moved(&sent, &[("a", "1"), ("b", "1")]).is_empty());
        assert_eq!(moved(&sent, &[("a", "2"), ("b", "1")]), ["a"]);
        assert_eq!(moved(&sent, &[("b", "2")]), ["b"], "a is missing");
        assert_eq!(sent.compared(&marks(&[])), sent, "both are missing");
        assert!(moved(&sent, &[("c", "1")]).is_empty(), "a new secret of the target");
    }

    #[test]
    fn a_secret_never_sent_moves_with_its_next_version() {
        let adopted = after(&NotedSecrets::default(), &["token"], &[], &[("token", "1"), ("password", "1")]);
        assert!(moved(&adopted, &[("token", "1"), ("password", "1")]).is_empty(), "the account keeps its password");
        assert_eq!(moved(&adopted, &[("token", "1"), ("password", "2")]), ["password"]);
        let mut missing = marks(&[("token", "1")]);
        missing.insert("password".to_owned(), None);
        let adopted = NotedSecrets::default().after_sending(&names(&["token"]), &names(&[]), &missing);
        assert!(moved(&adopted, &[("password", "1")]).is_empty(), "it was not there");
    }

    #[test]
    fn what_was_not_sent_stays_as_it_was() {
        let all = after(&NotedSecrets::default(), &["a", "b"], &[], &[("a", "1"), ("b", "1")]);
        let now = [("a", "2"), ("b", "2")];
        let both_moved = all.compared(&marks(&now));
        let one = after(&both_moved, &["a"], &[], &now);
        assert_eq!(one.moved().collect::<Vec<_>>(), ["b"]);
        assert_eq!(moved(&one, &now), ["b"], "still to be sent");
        let kept = after(&all, &["a"], &[], &[("a", "2"), ("b", "1")]);
        assert!(moved(&kept, &[("a", "2"), ("b", "1")]).is_empty());
        let mut missing = marks(&[("a", "2")]);
        missing.insert("b".to_owned(), None);
        let deleted = all.after_sending(&names(&["a"]), &names(&[]), &missing);
        assert_eq!(moved(&deleted, &[("b", "3")]), ["b"], "deleted and made anew");
        let renamed = after(&all, &["a"], &[], &[("a", "2")]);
        assert!(!renamed.has("b"), "the target has it no more");
    }

    #[test]
    fn an_unsent_secret_moves_in_every_version() {
        let all = after(&NotedSecrets::default(), &["a"], &[], &[("a", "1"), ("b", "1")]);
        let unsent = after(&all, &["a"], &["b"], &[("a", "1"), ("b", "1")]);
        assert_eq!(moved(&unsent, &[("a", "1"), ("b", "1")]), ["b"]);
        assert!(moved(&unsent, &[("a", "1")]).is_empty(), "missing, so it cannot be sent");
        let sent = after(&unsent, &["b"], &[], &[("a", "1"), ("b", "1")]);
        assert!(moved(&sent, &[("a", "1"), ("b", "1")]).is_empty());
    }

    #[test]
    fn a_mark_tells_all_that_it_is_made_of_apart() {
        let version = |uid: &str, at: &str| SecretVersion { uid: uid.to_owned(), resource_version: at.to_owned() };
        let all = [
            SecretMark::of("a", "k", &version("u", "1")),
            SecretMark::of("b", "k", &version("u", "1")),
            SecretMark::of("a", "l", &version("u", "1")),
            SecretMark::of("a", "k", &version("v", "1")),
            SecretMark::of("a", "k", &version("u", "2")),
        ];
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
