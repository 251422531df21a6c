//! The record of a create that no poll has found yet: `creating 7-3f2a9c71-2`, or `created 7-3f2a9c71-2` once the
//! external system has accepted one of its requests.
//!
//! Its parts are the number in the idempotency keys, the fingerprint of the request, and how often it was sent. Another
//! create could make a second resource, so the poller and the controller treat absence with more care after it.

use std::fmt;

use crate::condition::{CorrectionStatus, CurrentVerdict};
use crate::facts::{self, Fact};
use crate::short_hash::{parse_short_hash, short_hash};

/// A create that was sent, or is about to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnseenCreate {
    /// The number that its idempotency keys contain.
    pub number: u64,
    /// Fingerprint of the inputs of its requests. Only an equal request has the same key.
    pub request: u32,
    /// Number of times that it was sent and may have made a resource. At least 1.
    pub sent: u32,
    /// True if the external system accepted a request, or refused a repeated one: a resource probably exists.
    pub accepted: bool,
}

impl UnseenCreate {
    /// Returns the fingerprint of a request that is made of these texts, none of which contains a line break.
    #[must_use]
    pub fn request_of(inputs: &[&str]) -> u32 {
        short_hash(&inputs.join("\n"))
    }

    /// Returns the word of its fact.
    pub(super) const fn word(&self) -> &'static str {
        if self.accepted { "created" } else { "creating" }
    }

    /// Parses a fact of one of both words.
    pub(super) fn parse(fact: Fact<'_>) -> Option<Self> {
        let mut parts = fact.text.split('-');
        let (number, request, sent) = (parts.next()?, parts.next()?, parts.next()?);
        let (number, request) = (facts::number(number)?, parse_short_hash(request)?);
        let sent = facts::number(sent).filter(|sent| *sent > 0)?;
        parts.next().is_none().then_some(Self { number, request, sent, accepted: fact.word == "created" })
    }
}

/// The text of its fact.
impl fmt::Display for UnseenCreate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, request, sent, .. } = self;
        write!(formatter, "{number}-{request:08x}-{sent}")
    }
}

impl CorrectionStatus {
    /// Returns the create of the record, unless a poll after it found the resource.
    ///
    /// A create that is under way, or that is sent again with its key, has not used up its number. Then only presence is
    /// news: the absence that led to it has the same correction.
    #[must_use]
    pub fn unseen_create(&self, current: Option<&CurrentVerdict>) -> Option<UnseenCreate> {
        self.unseen.filter(|unseen| {
            let may_be_older =
                |current: &CurrentVerdict| self.correction < unseen.number && !current.reason.is_presence();
            current.is_none_or(|current| may_be_older(current) || !current.has_found_since(self.correction))
        })
    }
}
