//! The poller's attestation of one target, in an annotation of its Lease.
//!
//! It states for which text of the target all verdicts are the poller's own, and for which objects this does not hold.
//! So an object whose verdict cannot be renewed blocks only its own correction. Its text is
//! `3f2a9c71d0e4b5a6`, or `3f2a9c71d0e4b5a6 except-namespaces NAMESPACE,NAMESPACE except UID UID`, with either
//! exception optional. A text of another shape attests nothing, because its exceptions are unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::facts::{self, Fact};
use crate::identity::Uid;
use crate::object::ObjectId;

/// Maximum objects excepted by uid. Twenty uids of 36 letters take less than 1 KiB of the 256 KiB for all annotations
/// of a Lease.
pub const MOST_EXCEPTIONS: usize = 20;

/// Maximum excepted namespaces. Trouble in more of them does not concern single tenants only. Twenty names of 63
/// letters take less than 1.5 KiB.
pub const MOST_EXCEPTED_NAMESPACES: usize = 20;

/// Prefix of excepted namespaces, which are joined by commas because a namespace may be called like [`EXCEPT`].
const EXCEPT_NAMESPACES: &str = "except-namespaces";

/// Prefix of the uids of excepted objects.
const EXCEPT: &str = "except";

/// The poller's attestation of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attestation {
    /// The hash of everything in the target that a verdict depends on.
    pub hash: String,
    /// Objects whose current verdict is not attested.
    pub except: Exceptions,
}

/// Objects excluded from an attestation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// Single excepted objects.
    pub objects: BTreeSet<Uid>,
    /// Namespaces, with all their objects.
    pub namespaces: BTreeSet<String>,
}

impl Exceptions {
    /// Returns true if there are no exceptions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.namespaces.is_empty()
    }

    /// Returns true if the object is excepted.
    #[must_use]
    pub fn has(&self, object: &ObjectId) -> bool {
        let is_inside = |namespace: &str| self.namespaces.contains(namespace);
        self.objects.contains(&object.uid) || object.namespace.as_deref().is_some_and(is_inside)
    }
}

impl FromIterator<Uid> for Exceptions {
    fn from_iter<I: IntoIterator<Item = Uid>>(objects: I) -> Self {
        Self { objects: objects.into_iter().collect(), namespaces: BTreeSet::new() }
    }
}

impl Attestation {
    /// Parses an attestation. `None` if any part is unknown. The hash may be any word: one that matches no
    /// target attests none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let Fact { word: hash, text: mut rest } = Fact::parse(text);
        let mut except = Exceptions::default();
        if let Fact { word: EXCEPT_NAMESPACES, text } = Fact::parse(rest) {
            let list = Fact::parse(text);
            except.namespaces = list.word.split(',').map(str::to_owned).collect();
            rest = list.text;
        }
        if let Fact { word: EXCEPT, text } = Fact::parse(rest) {
            except.objects = text.split(' ').map(Uid::from).collect();
        }
        // The prefix of another kind of exception is no uid.
        let is_uid = |word: &Uid| !word.is_empty() && !word.starts_with(EXCEPT);
        let is_known = !hash.is_empty() && !except.namespaces.contains("") && except.objects.iter().all(is_uid);
        facts::as_written(text, Self { hash: hash.to_owned(), except }).filter(|_| is_known)
    }
}

/// Parses the annotation: a JSON object from target name to attestation. An invalid annotation attests nothing, and an
/// invalid entry attests nothing for its target.
#[must_use]
pub fn parse_annotation(text: &str) -> BTreeMap<String, Attestation> {
    let texts: BTreeMap<String, String> = serde_json::from_str(text).unwrap_or_default();
    texts.into_iter().filter_map(|(target, text)| Some((target, Attestation::parse(&text)?))).collect()
}

impl fmt::Display for Attestation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exceptions { objects, namespaces } = &self.except;
        formatter.write_str(&self.hash)?;
        if !namespaces.is_empty() {
            let names: Vec<&str> = namespaces.iter().map(String::as_str).collect();
            write!(formatter, " {EXCEPT_NAMESPACES} {}", names.join(","))?;
        }
        facts::joined(objects.iter()).map_or(Ok(()), |uids| write!(formatter, " {EXCEPT} {uids}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn except(objects: &[&str], namespaces: &[&str]) -> Exceptions {
        let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
        Exceptions { namespaces, ..objects.iter().copied().map(Uid::from).collect() }
    }

    #[test]
    fn it_reads_as_it_is_documented() {
        for (objects, namespaces, text) in [
            (&[][..], &[][..], "3f2a"),
            (&["u2", "u1"], &[], "3f2a except u1 u2"),
            (&[], &["team-b", "team-a"], "3f2a except-namespaces team-a,team-b"),
            (&["u1"], &["team-a"], "3f2a except-namespaces team-a except u1"),
            // Both words are possible names of a namespace.
            (&[], &["except"], "3f2a except-namespaces except"),
            (&["u1", "u2"], &["except"], "3f2a except-namespaces except except u1 u2"),
            (&["u1"], &["except-namespaces", "except"], "3f2a except-namespaces except,except-namespaces except u1"),
        ] {
            let attestation = Attestation { hash: "3f2a".to_owned(), except: except(objects, namespaces) };
            assert_eq!(attestation.to_string(), text);
            assert_eq!(Attestation::parse(text), Some(attestation));
        }
    }

    #[test]
    fn what_is_not_known_wholly_is_no_word() {
        for text in [
            "",
            " ",
            "3f2a ",
            " 3f2a",
            "3f2a u1",
            "3f2a except",
            "3f2a except ",
            "3f2a except u1  u2",
            "3f2a except u1 except u2",
            "3f2a except u1 except-namespaces team-a",
            "3f2a except u1 except-kinds Pod",
            "3f2a except-kinds Pod",
            "3f2a except-namespaces",
            "3f2a except-namespaces ",
            "3f2a except-namespaces team-a,",
            "3f2a except-namespaces team-a team-b",
            "3f2a except-namespaces team-a except-namespaces team-b",
            "3f2a  except u1",
        ] {
            assert_eq!(Attestation::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_reader_without_namespaces_finds_another_hash() {
        for namespace in ["team-a", "except"] {
            let text = Attestation { hash: "3f2a".to_owned(), except: except(&["u1"], &[namespace]) }.to_string();
            let (hash, _) = text.split_once(" except ").unwrap_or((&text, ""));
            assert!(hash.starts_with("3f2a except-namespaces"), "{hash}");
        }
    }

    #[test]
    fn an_excepted_namespace_has_all_its_objects() {
        let except = except(&["u1"], &["team-a"]);
        let has = |namespace: Option<&str>, uid: &str| {
            except.has(&ObjectId { namespace: namespace.map(Into::into), name: "p".into(), uid: uid.into() })
        };
        assert!(has(Some("team-a"), "u2") && has(Some("team-b"), "u1") && has(None, "u1"));
        assert!(!has(Some("team-b"), "u2") && !has(None, "u2"));
    }
}
