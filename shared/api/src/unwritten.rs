//! Verdicts that the poller cannot write, in an annotation of its Lease.
//!
//! The condition on such an object is the last one that was written, and not the poller's present verdict. So whoever
//! shows the condition looks here first. The text is a JSON map of target names:
//! `{"proxies":{"count":21,"uids":["…"],"word":"RightsMissing"}}`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attestation::Attestation;
use crate::identity::Uid;
use crate::lease::known_entries;
use crate::object::ObjectId;

/// Maximum uids for one target, as many as an attestation excepts.
pub const MOST_UNWRITTEN: usize = crate::attestation::MOST_EXCEPTIONS;

/// The cause of an unwritten verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum UnwrittenWord {
    /// The poller lacks a right.
    RightsMissing,
    /// The API server refuses the write for another reason, or does not confirm it.
    WriteRefused,
    /// A newer version of one of the programs wrote a condition of the object.
    NewerVersion,
}

impl UnwrittenWord {
    /// Returns the word on the Lease, which people see in place of the reason.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RightsMissing => "RightsMissing",
            Self::WriteRefused => "WriteRefused",
            Self::NewerVersion => "NewerVersion",
        }
    }

    /// Returns the cause in a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::RightsMissing => "the poller lacks the right to write its verdict",
            Self::WriteRefused => "the API server does not take the poller's verdict",
            Self::NewerVersion => {
                "a newer version of the programs wrote a condition that this poller does not understand"
            }
        }
    }
}

impl std::fmt::Display for UnwrittenWord {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The unwritten verdicts of one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwritten {
    /// The number of objects.
    pub count: usize,
    /// The first of them, at most [`MOST_UNWRITTEN`].
    pub uids: BTreeSet<Uid>,
    /// The most urgent cause among them.
    pub word: UnwrittenWord,
}

/// The unwritten verdicts of all targets, by target name.
pub type UnwrittenTargets = BTreeMap<String, Unwritten>;

/// Formats the annotation.
#[must_use]
pub fn to_annotation(targets: &UnwrittenTargets) -> String {
    // A map of texts and numbers can always be written.
    serde_json::to_string(targets).unwrap_or_default()
}

/// Parses the annotation. Entries in another format are skipped.
#[must_use]
pub fn parse_annotation(text: &str) -> UnwrittenTargets {
    let read: Value = serde_json::from_str(text).unwrap_or_default();
    known_entries(read).unwrap_or_default()
}

/// The contradiction of an object's condition by the poller's Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The poller has another verdict, which it cannot write.
    Unwritten(UnwrittenWord),
    /// The poller does not attest the condition.
    Unattested,
}

impl Doubt {
    /// Returns what the poller's Lease says of an object of a target. `attestation` is `None` if the target is not
    /// listed.
    #[must_use]
    pub fn of(object: &ObjectId, attestation: Option<&Attestation>, unwritten: Option<&Unwritten>) -> Option<Self> {
        match (unwritten, attestation) {
            (Some(unwritten), _) if unwritten.uids.contains(&object.uid) => Some(Self::Unwritten(unwritten.word)),
            (_, Some(attestation)) => attestation.except.has(object).then_some(Self::Unattested),
            // Some objects have no room among the uids, and nothing says which.
            (Some(unwritten), None) => (unwritten.count > unwritten.uids.len()).then_some(Self::Unattested),
            (None, None) => None,
        }
    }

    /// Returns the word that stands before the doubted verdict.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unwritten(word) => word.as_str(),
            Self::Unattested => "Unattested",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attestation::Exceptions;

    fn unwritten(count: usize, uids: &[&str]) -> Unwritten {
        let uids = uids.iter().copied().map(Uid::from).collect();
        Unwritten { word: UnwrittenWord::RightsMissing, count, uids }
    }

    #[test]
    fn the_annotation_reads_as_it_is_documented() {
        let targets = BTreeMap::from([("proxies".to_owned(), unwritten(21, &["u1", "u2"]))]);
        let text = r#"{"proxies":{"count":21,"uids":["u1","u2"],"word":"RightsMissing"}}"#;
        assert_eq!(to_annotation(&targets), text);
        assert_eq!(parse_annotation(text), targets);
        for text in ["", "x", "[]", r#"{"proxies":{"word":"Other","count":1,"uids":[]}}"#, r#"{"proxies":1}"#] {
            assert!(parse_annotation(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn what_the_lease_doubts_is_named() {
        let object = |namespace: &str, uid: &str| ObjectId {
            namespace: Some(namespace.into()),
            name: "p".into(),
            uid: uid.into(),
        };
        let attested = |namespaces: &[&str]| {
            let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
            let except = Exceptions { namespaces, ..["u1"].map(Uid::from).into_iter().collect() };
            Some(Attestation { hash: "1".to_owned(), except })
        };
        let (some, many) = (unwritten(1, &["u1"]), unwritten(21, &["u1"]));
        let word = Some(Doubt::Unwritten(UnwrittenWord::RightsMissing));
        for (object, attested, unwritten, expected) in [
            (object("a", "u1"), attested(&[]), Some(&some), word),
            (object("a", "u1"), None, Some(&some), word),
            (object("a", "u1"), attested(&[]), None, Some(Doubt::Unattested)),
            (object("a", "u2"), attested(&[]), Some(&some), None),
            (object("a", "u2"), attested(&["a"]), Some(&many), Some(Doubt::Unattested)),
            (object("b", "u2"), attested(&["a"]), Some(&many), None),
            (object("b", "u2"), None, Some(&many), Some(Doubt::Unattested)),
            (object("b", "u2"), None, Some(&some), None),
            (object("b", "u2"), None, None, None),
        ] {
            assert_eq!(Doubt::of(&object, attested.as_ref(), unwritten), expected, "{object:?} {attested:?}");
        }
    }
}
