//! The mark of a verdict that answers a request for a poll: `[polled 2026-01-01T00:00:00Z]`.
//!
//! A verdict in a steady state causes no write, so without the mark no reader would see that the requested poll happened.

use std::fmt;

use crate::facts::{Fact, FactList, Facts};
use crate::short_hash::short_hash;

/// Maximum bytes of a value that is written as it is. Times and ids are shorter.
const MAX_BYTES: usize = 64;

/// A request for a poll: the value of its annotation, or the fingerprint of a value that a tag cannot contain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PollRequest(Box<str>);

impl PollRequest {
    /// Returns the request of an annotation with this value.
    #[must_use]
    pub fn of(value: &str) -> Self {
        if is_plain(value) { Self(value.into()) } else { Self(format!("{:08x}", short_hash(value)).into()) }
    }
}

impl Facts for Option<PollRequest> {
    fn write(&self, list: &mut FactList<'_, '_>) -> fmt::Result {
        list.fact("polled", self.as_ref().map(|PollRequest(value)| value))
    }

    fn take(&mut self, fact: Fact<'_>) -> Option<()> {
        *self = Some(PollRequest(fact.text.into())).filter(|_| fact.word == "polled" && is_plain(fact.text));
        self.is_some().then_some(())
    }
}

/// A narrower set of characters than that of other names, because everyone who may annotate an object chooses the value.
fn is_plain(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:+".contains(&byte);
    !value.is_empty() && value.len() <= MAX_BYTES && value.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{self, InBrackets};

    #[test]
    fn a_value_that_fits_no_tag_is_a_fingerprint() {
        for (value, expected) in [
            ("2026-01-01T00:00:00.123+01:00", "[polled 2026-01-01T00:00:00.123+01:00]"),
            ("build_7", "[polled build_7]"),
            ("", "[polled e3b0c442]"),
            ("a b", "[polled c8687a08]"),
            ("now] [correction 7", "[polled 75f88ff3]"),
        ] {
            let request = PollRequest::of(value);
            let asked = Some(request);
            assert_eq!(InBrackets(&asked).to_string(), expected);
            assert_eq!(facts::read(None, expected), Some(asked));
        }
        assert_eq!(PollRequest::of(&"x".repeat(MAX_BYTES + 1)).0.len(), 8);
    }
}
