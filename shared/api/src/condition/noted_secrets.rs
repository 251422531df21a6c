//! The secrets in the correction record: the versions that were sent, and those that changed since.
//!
//! Sent values cannot be read back, so the versions of the Secrets represent them: `secrets 9f31c2d4, moved password`.
//! The poller treats changed secrets as differences, and needs no Secret for that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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

/// The current marks of secrets, by their names in the target. Missing Secrets are left out.
pub type SecretMarks = BTreeMap<String, SecretMark>;

/// The secrets in a record. Every object has a record, and most contain no secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotedSecrets(Option<Box<Noted>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Noted {
    sent: BTreeSet<SecretMark>,
    moved: BTreeSet<String>,
}

impl NotedSecrets {
    fn of(sent: BTreeSet<SecretMark>, moved: BTreeSet<String>) -> Self {
        let says_something = !sent.is_empty() || !moved.is_empty();
        Self(says_something.then(|| Box::new(Noted { sent, moved })))
    }

    /// Returns true if the record contains no secrets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The names of those that changed since they were sent.
    pub fn moved(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|noted| &noted.moved).map(String::as_str)
    }

    fn has_sent(&self, mark: &SecretMark) -> bool {
        self.0.as_ref().is_some_and(|noted| noted.sent.contains(mark))
    }

    /// Returns the record after these were sent. Other secrets are kept if they are unchanged since they were sent, so
    /// those that changed are still to be sent.
    #[must_use]
    pub fn after_sending(&self, sent: &BTreeSet<String>, now: &SecretMarks) -> Self {
        if sent.is_empty() {
            return self.clone();
        }
        let is_noted = |(name, mark): &(&String, &SecretMark)| sent.contains(*name) || self.has_sent(mark);
        let marks = now.iter().filter(is_noted).map(|(_, mark)| *mark).collect();
        Self::of(marks, self.moved().filter(|name| !sent.contains(*name)).map(str::to_owned).collect())
    }

    /// Returns the record with those of `watched` marked as changed that were not sent in their current version. A
    /// missing one cannot be sent. If none was ever sent, nothing is known about any.
    #[must_use]
    pub fn compared(&self, watched: &SecretMarks) -> Self {
        let Some(noted) = self.0.as_deref().filter(|noted| !noted.sent.is_empty()) else { return Self::default() };
        let moved = watched.iter().filter(|(_, mark)| !noted.sent.contains(mark)).map(|(name, _)| name.clone());
        Self::of(noted.sent.clone(), moved.collect())
    }

    /// Formats the parts of a record's ending.
    pub(super) fn parts(&self) -> Vec<String> {
        let Some(Noted { sent, moved }) = self.0.as_deref() else { return Vec::new() };
        let marks: Vec<_> = sent.iter().map(ToString::to_string).collect();
        let names: Vec<_> = moved.iter().map(String::as_str).collect();
        let parts = [("secrets", marks.join(" ")), ("moved", names.join(" "))];
        parts.into_iter().filter(|(_, said)| !said.is_empty()).map(|(word, said)| format!("{word} {said}")).collect()
    }

    /// Parses one part of a record's ending. `None` if it is another part.
    pub(super) fn take_part(&mut self, word: &str, rest: &str) -> Option<()> {
        let noted = self.0.get_or_insert_default();
        match word {
            "secrets" => noted.sent = rest.split(' ').map(SecretMark::parse).collect::<Option<_>>()?,
            "moved" if rest.split(' ').all(|name| !name.is_empty()) => {
                noted.moved = rest.split(' ').map(str::to_owned).collect();
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(name: &str, version: &str) -> SecretMark {
        SecretMark::of(name, "key", &SecretVersion { uid: "u".to_owned(), resource_version: version.to_owned() })
    }

    fn marks(versions: &[(&str, &str)]) -> SecretMarks {
        versions.iter().map(|(name, version)| ((*name).to_owned(), mark(name, version))).collect()
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn moved(noted: &NotedSecrets, now: &[(&str, &str)]) -> Vec<String> {
        noted.compared(&marks(now)).moved().map(str::to_owned).collect()
    }

    #[test]
    fn only_what_was_sent_and_is_there_moves() {
        let none = NotedSecrets::default();
        assert!(moved(&none, &[("a", "1")]).is_empty(), "never noted");
        let sent = none.after_sending(&names(&["a", "b"]), &marks(&[("a", "1"), ("b", "1")]));
        assert!(moved(&sent, &[("a", "1"), ("b", "1")]).is_empty());
        assert_eq!(moved(&sent, &[("a", "2"), ("b", "1")]), ["a"]);
        assert_eq!(moved(&sent, &[("b", "2")]), ["b"], "a is missing");
        assert_eq!(sent.compared(&marks(&[])), sent, "both are missing");
    }

    #[test]
    fn what_was_not_sent_stays_as_it_was() {
        let all = NotedSecrets::default().after_sending(&names(&["a", "b"]), &marks(&[("a", "1"), ("b", "1")]));
        let both_moved = all.compared(&marks(&[("a", "2"), ("b", "2")]));
        let one = both_moved.after_sending(&names(&["a"]), &marks(&[("a", "2"), ("b", "2")]));
        assert_eq!(one.moved().collect::<Vec<_>>(), ["b"]);
        assert_eq!(moved(&one, &[("a", "2"), ("b", "2")]), ["b"], "still to be sent");
        assert_eq!(both_moved.after_sending(&names(&[]), &marks(&[("a", "2")])), both_moved, "nothing was sent");
        let kept = all.after_sending(&names(&["a"]), &marks(&[("a", "2"), ("b", "1")]));
        assert!(moved(&kept, &[("a", "2"), ("b", "1")]).is_empty());
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
