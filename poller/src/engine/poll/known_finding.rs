//! The finding of an object's last poll with a fingerprint of its responses, so that equal responses are
//! not judged again.
//!
//! A finding depends on the target, the object as its templates see it, the changed secrets and the responses:
//! templates can read neither a clock nor credentials. The target stays the same while an object is followed, and
//! its [`ObjectState`](crate::engine::object::object_state::ObjectState) drops the finding when the object or
//! those secrets change.
//!
//! The shown and the withheld parts also depend on the credentials of the read and on the Secrets at that time. If only
//! these change, nothing is judged again and the same text is shown: a response that repeats a new credential is a
//! different response, unless it already contained that value.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, LazyLock};

use drift_language::HttpRead;
use drift_systems::{HttpReply, ReplyBody};

use crate::engine::judgement::finding::{Finding, Found};
use crate::engine::poll::media_type::essence;

/// Random key of this process, so that no external party can construct colliding responses.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Fingerprint of all responses to one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

/// Fingerprint of the responses to one read so far.
#[derive(Debug)]
pub struct SeenAnswers {
    hasher: DefaultHasher,
    with_headers: bool,
}

impl SeenAnswers {
    /// No answers yet. Headers count only if a template sees them, because a date makes each answer different. The content
    /// type always counts.
    #[must_use]
    pub fn to(read: &HttpRead) -> Self {
        Self { hasher: KEY.build_hasher(), with_headers: read.sees_headers }
    }

    /// Adds a response to the fingerprint.
    pub fn add(&mut self, reply: &HttpReply) {
        reply.status.hash(&mut self.hasher);
        match &reply.body {
            ReplyBody::Whole(bytes) => (0_u8, bytes).hash(&mut self.hasher),
            ReplyBody::TooLarge => 1_u8.hash(&mut self.hasher),
            ReplyBody::Truncated => 2_u8.hash(&mut self.hasher),
        }
        // The message of an unreadable answer names it.
        essence(&reply.headers).hash(&mut self.hasher);
        if self.with_headers {
            reply.headers.len().hash(&mut self.hasher);
            for (name, value) in &reply.headers {
                (name.as_str(), value.as_bytes()).hash(&mut self.hasher);
            }
        }
    }

    /// Returns the fingerprint of the responses so far.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(self.hasher.finish())
    }
}

/// The finding "in sync", shared by all objects.
static IN_SYNC: LazyLock<Arc<Found>> = LazyLock::new(|| Arc::new(Finding::InSync.into()));

/// Finding about an object in its current state, with the fingerprint of its responses. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KnownFinding {
    answers: Fingerprint,
    found: Arc<Found>,
}

impl KnownFinding {
    /// Records the finding of these responses.
    #[must_use]
    pub fn new(answers: Fingerprint, found: &Found) -> Self {
        let found = if *found == **IN_SYNC { IN_SYNC.clone() } else { Arc::new(found.clone()) };
        Self { answers, found }
    }

    /// Returns the finding if the responses are the same.
    #[must_use]
    pub fn in_answers(&self, answers: Fingerprint) -> Option<&Found> {
        (self.answers == answers).then_some(&*self.found)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
