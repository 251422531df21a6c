//! The poller's word for one target, as it stands in the annotation of its Lease.
//!
//! It says for which text of the target every verdict is the poller's own, and for which objects that does not hold, so
//! that an object whose verdict cannot be renewed keeps nobody but itself from being corrected. One text, read and
//! written here alone: `3f2a9c71d0e4b5a6`, or `3f2a9c71d0e4b5a6 except-namespaces NAMESPACE except UID UID`. A controller
//! that does not know one of the words takes it for a part of the hash, finds another text of the target, and acts for
//! none of its objects.

use std::collections::BTreeSet;
use std::fmt;

use crate::identity::Uid;
use crate::object::ObjectId;

/// The most objects that are excepted by uid. Twenty uids of 36 letters take less than 1 KiB, of the 256 KiB that all
/// annotations of a Lease may have.
pub const MOST_EXCEPTIONS: usize = 20;

/// The most namespaces that are excepted: trouble in more of them is not the affair of single tenants. Twenty names of 63
/// letters take less than 1.5 KiB.
pub const MOST_EXCEPTED_NAMESPACES: usize = 20;

/// What stands between hash and excepted namespaces. An older reader must not find [`EXCEPT`] in it, since it would take
/// the names for uids.
const EXCEPT_NAMESPACES: &str = " except-namespaces ";

/// What stands before the uids of excepted objects.
const EXCEPT: &str = " except ";

/// The poller's word for one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voucher {
    /// The hash of the target's text, of all that a verdict depends on.
    pub hash: String,
    /// Objects whose standing verdict is not the poller's own word.
    pub except: Exceptions,
}

/// Objects for which a word does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// Single ones.
    pub objects: BTreeSet<Uid>,
    /// Namespaces, with all their objects.
    pub namespaces: BTreeSet<String>,
}

impl Exceptions {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.namespaces.is_empty()
    }

    /// Whether the object is one.
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

impl Voucher {
    /// Reads it. What stands there is a hash, whatever it is: one that fits no target vouches for none.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (head, objects) = text.split_once(EXCEPT).unwrap_or((text, ""));
        let (hash, namespaces) = head.split_once(EXCEPT_NAMESPACES).unwrap_or((head, ""));
        let objects = objects.split_whitespace().map(Uid::from).collect();
        let namespaces = namespaces.split_whitespace().map(str::to_owned).collect();
        Self { hash: hash.to_owned(), except: Exceptions { objects, namespaces } }
    }
}

impl fmt::Display for Voucher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hash)?;
        let mut before = EXCEPT_NAMESPACES;
        for namespace in &self.except.namespaces {
            write!(formatter, "{before}{namespace}")?;
            before = " ";
        }
        before = EXCEPT;
        for uid in &self.except.objects {
            write!(formatter, "{before}{uid}")?;
            before = " ";
        }
        Ok(())
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
            (&[], &["team-b", "team-a"], "3f2a except-namespaces team-a team-b"),
            (&["u1"], &["team-a"], "3f2a except-namespaces team-a except u1"),
        ] {
            let voucher = Voucher { hash: "3f2a".to_owned(), except: except(objects, namespaces) };
            assert_eq!(voucher.to_string(), text);
            assert_eq!(Voucher::parse(text), voucher);
        }
    }

    #[test]
    fn a_reader_without_namespaces_finds_another_hash() {
        let text = Voucher { hash: "3f2a".to_owned(), except: except(&["u1"], &["team-a"]) }.to_string();
        let (hash, _) = text.split_once(" except ").unwrap_or((&text, ""));
        assert_eq!(hash, "3f2a except-namespaces team-a");
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
            namespaces in proptest::collection::btree_set("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", 0..5),
        ) {
            let objects = objects.iter().map(|uid| Uid::from(uid.as_str())).collect();
            let voucher = Voucher { hash, except: Exceptions { objects, namespaces } };
            prop_assert_eq!(Voucher::parse(&voucher.to_string()), voucher);
        }

        #[test]
        fn no_text_is_a_panic(text in ".*") {
            let _ = Voucher::parse(&text);
        }
    }
}
