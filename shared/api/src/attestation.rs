//! The poller's attestation of one target, in an annotation of its Lease.
//!
//! It states for which text of the target all verdicts are the poller's own, and for which objects this does not hold.
//! So an object whose verdict cannot be renewed blocks only its own correction. The text is read and written only here:
//! `3f2a9c71d0e4b5a6`, or `3f2a9c71d0e4b5a6 except-namespaces NAMESPACE,NAMESPACE except UID UID`, with either
//! exception optional. A text of another shape attests nothing, because its exceptions are unknown.

use std::collections::BTreeSet;
use std::fmt;

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
        let words: Vec<&str> = text.split(' ').collect();
        let (hash, rest) = words.split_first()?;
        let (namespaces, rest) = match rest {
            [EXCEPT_NAMESPACES, names, rest @ ..] => (names.split(',').collect(), rest),
            rest => (Vec::new(), rest),
        };
        let objects = match rest {
            [] => &[],
            [EXCEPT, first, others @ ..] if is_uid(first) && others.iter().all(|uid| is_uid(uid)) => &rest[1..],
            _ => return None,
        };
        if hash.is_empty() || namespaces.iter().any(|name| name.is_empty()) {
            return None;
        }
        let namespaces = namespaces.into_iter().map(str::to_owned).collect();
        let objects = objects.iter().copied().map(Uid::from).collect();
        Some(Self { hash: (*hash).to_owned(), except: Exceptions { objects, namespaces } })
    }
}

/// Returns true if it is not the prefix of another kind of exception.
fn is_uid(word: &str) -> bool {
    !word.is_empty() && !word.starts_with(EXCEPT)
}

impl fmt::Display for Attestation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exceptions { objects, namespaces } = &self.except;
        formatter.write_str(&self.hash)?;
        for (number, namespace) in namespaces.iter().enumerate() {
            match number {
                0 => write!(formatter, " {EXCEPT_NAMESPACES} {namespace}")?,
                _ => write!(formatter, ",{namespace}")?,
            }
        }
        if !objects.is_empty() {
            write!(formatter, " {EXCEPT}")?;
        }
        objects.iter().try_for_each(|uid| write!(formatter, " {uid}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn what_is_written_is_read(
            hash in "[0-9a-f]{16}",
            objects in proptest::collection::btree_set("[0-9a-f-]{1,36}", 0..5),
            namespaces in proptest::collection::btree_set("except|except-namespaces|[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", 0..5),
        ) {
            let objects = objects.iter().map(|uid| Uid::from(uid.as_str())).collect();
            let attestation = Attestation { hash, except: Exceptions { objects, namespaces } };
            prop_assert_eq!(Attestation::parse(&attestation.to_string()), Some(attestation));
        }

        #[test]
        fn no_text_is_a_panic(text in ".*") {
            let _ = Attestation::parse(&text);
        }
    }
}
