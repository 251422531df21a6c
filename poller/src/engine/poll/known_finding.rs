//! What the last poll of an object found, with a fingerprint of the answers that it was found in: the same answers are not
//! judged a second time.
//!
//! What is found follows from the target's text, the object as its templates see it, the secrets that moved and the answers: no
//! template may read a clock, and credentials are seen by none. The text is the same for as long as an object is followed, and its
//! [`ObjectState`](crate::engine::object::object_state::ObjectState) forgets what was found where the object or those secrets change.
//! What is shown of a finding, and what is withheld, depends besides on the credentials that the read went out with and on the
//! Secrets as they stood then. Where these change and nothing else does, nothing is judged again and the same is shown: an answer
//! that repeats a new credential is another answer, unless it had that value before.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, LazyLock};

use drift_language::HttpRead;
use drift_systems::{HttpReply, ReplyBody};

use crate::engine::judgement::finding::{Finding, Found};
use crate::engine::poll::media_type::essence;

/// Of this process alone, so that nobody outside can make two answers that look alike.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A fingerprint of all answers to one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

/// The answers to one read so far, of which nothing is kept but a fingerprint.
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

    /// One more.
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

    /// Of the answers so far.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(self.hasher.finish())
    }
}

/// The finding "in sync", shared by all objects.
static IN_SYNC: LazyLock<Arc<Found>> = LazyLock::new(|| Arc::new(Finding::InSync.into()));

/// The finding about an object as it is, with a fingerprint of its answers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KnownFinding {
    answers: Fingerprint,
    found: Arc<Found>,
}

impl KnownFinding {
    /// This was found in these answers.
    #[must_use]
    pub fn new(answers: Fingerprint, found: &Found) -> Self {
        let found = if *found == **IN_SYNC { IN_SYNC.clone() } else { Arc::new(found.clone()) };
        Self { answers, found }
    }

    /// Returns the finding, if the answers are the same.
    #[must_use]
    pub fn in_answers(&self, answers: Fingerprint) -> Option<&Found> {
        (self.answers == answers).then_some(&*self.found)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
