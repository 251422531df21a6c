//! The mark of a verdict that answers a request for a poll: `[polled 2026-01-01T00:00:00Z]`.
//!
//! A verdict in a steady state causes no write, so without the mark no reader would see that the requested poll happened.

use std::fmt;

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

    /// Parses the mark with its brackets. `None` for any other text.
    #[must_use]
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value = text.strip_prefix("[polled ")?.strip_suffix(']')?;
        is_plain(value).then(|| Self(value.into()))
    }
}

impl fmt::Display for PollRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[polled {}]", self.0)
    }
}

fn is_plain(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:+".contains(&byte);
    !value.is_empty() && value.len() <= MAX_BYTES && value.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(request.to_string(), expected);
            assert_eq!(PollRequest::parse(expected), Some(request));
        }
        assert_eq!(PollRequest::of(&"x".repeat(MAX_BYTES + 1)).0.len(), 8);
    }
}
