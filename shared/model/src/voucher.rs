//! The poller's word for one target, as it stands in the annotation of its Lease.
//!
//! It says for which text of the target every verdict is the poller's own, and for which few objects that does not
//! hold, so that one object whose verdict cannot be renewed keeps nobody but itself from being corrected. One text,
//! read and written here alone: `3f2a9c71d0e4b5a6`, or `3f2a9c71d0e4b5a6 except UID UID`. A controller that knows no
//! exceptions takes the latter for another text of the target, and so acts for none of its objects.
//! This file must not know when the word is given or what it allows.

use std::collections::BTreeSet;
use std::fmt;

use crate::identity::Uid;

/// More exceptions than this and the target is not vouched for at all: then it is no single object that is in trouble.
/// Twenty uids of 36 letters keep a target below 1 KiB, of the 256 KiB that all annotations of a Lease may have.
pub const MOST_EXCEPTIONS: usize = 20;

/// What stands between hash and exceptions.
const EXCEPT: &str = " except ";

/// The poller's word for one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voucher {
    /// The hash of the target's text, of all that a verdict depends on.
    pub hash: String,
    /// Objects whose standing verdict is not the poller's own word.
    pub except: BTreeSet<Uid>,
}

impl Voucher {
    /// Reads it. What stands there is a hash, whatever it is: one that fits no target vouches for none.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (hash, except) = text.split_once(EXCEPT).unwrap_or((text, ""));
        Self { hash: hash.to_owned(), except: except.split_whitespace().map(Uid::from).collect() }
    }
}

impl fmt::Display for Voucher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hash)?;
        let mut before = EXCEPT;
        for uid in &self.except {
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

    #[test]
    fn it_reads_as_it_is_documented() {
        let voucher = Voucher { hash: "3f2a".to_owned(), except: BTreeSet::new() };
        assert_eq!(voucher.to_string(), "3f2a");
        let voucher = Voucher { except: ["u2".into(), "u1".into()].into(), ..voucher };
        assert_eq!(voucher.to_string(), "3f2a except u1 u2");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(hash in "[0-9a-f]{16}", except in proptest::collection::btree_set("[0-9a-f-]{1,36}", 0..5)) {
            let voucher = Voucher { hash, except: except.iter().map(|uid| Uid::from(uid.as_str())).collect() };
            prop_assert_eq!(Voucher::parse(&voucher.to_string()), voucher);
        }

        #[test]
        fn no_text_is_a_panic(text in ".*") {
            let _ = Voucher::parse(&text);
        }
    }
}
