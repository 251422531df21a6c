//! Queue of objects that wait for the target's read limits.
//!
//! Requested polls (after an edit, a correction, an annotation) go before regular ones, and take at most three of four
//! turns. So repeated requests do not keep other objects from being polled.

use drift_api::collections::fifo::Fifo;
use drift_api::identity::Uid;

/// Maximum consecutive turns of prompt polls while a regular one waits.
pub const PROMPT_TURNS: u32 = 3;

/// Objects that wait to be polled.
#[derive(Debug, Default)]
pub struct PollTurns {
    prompt: Fifo,
    regular: Fifo,
    /// Number of prompt polls since the last regular one.
    prompt_in_a_row: u32,
}

/// An object whose turn has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollTurn {
    /// Uid of the object.
    pub uid: Uid,
    is_prompt: bool,
}

impl PollTurns {
    /// Queues an object for a prompt poll, and removes it from the regular queue.
    pub fn add_prompt(&mut self, uid: &Uid) {
        self.regular.leave(uid);
        self.prompt.join(uid);
    }

    /// Queues an object for its regular poll, unless it waits for a prompt one.
    pub fn add_regular(&mut self, uid: &Uid) {
        if !self.prompt.has(uid) {
            self.regular.join(uid);
        }
    }

    /// Removes the object from both queues.
    pub fn remove(&mut self, uid: &Uid) {
        self.prompt.leave(uid);
        self.regular.leave(uid);
    }

    /// Returns true if the object waits for a prompt poll.
    #[must_use]
    pub fn has_prompt(&self, uid: &Uid) -> bool {
        self.prompt.has(uid)
    }

    /// Returns true if the object waits for its regular poll.
    #[must_use]
    pub fn has_regular(&self, uid: &Uid) -> bool {
        self.regular.has(uid)
    }

    /// Returns true if no object waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.prompt.is_empty() && self.regular.is_empty()
    }

    /// Returns the next object. The turn counts only once it is [`used`](Self::note_used).
    pub fn call_next(&mut self) -> Option<PollTurn> {
        let prompt = |uid| PollTurn { uid, is_prompt: true };
        let regular = |uid| PollTurn { uid, is_prompt: false };
        if self.prompt_in_a_row >= PROMPT_TURNS
            && let Some(uid) = self.regular.call_next()
        {
            return Some(regular(uid));
        }
        self.prompt.call_next().map(prompt).or_else(|| self.regular.call_next().map(regular))
    }

    /// Removes and returns an object before its turn.
    pub fn take(&mut self, uid: &Uid) -> Option<PollTurn> {
        let is_prompt = self.prompt.has(uid);
        let waits = is_prompt || self.regular.has(uid);
        self.remove(uid);
        waits.then(|| PollTurn { uid: uid.clone(), is_prompt })
    }

    /// Records that the poll of this turn begins.
    pub const fn note_used(&mut self, turn: &PollTurn) {
        self.prompt_in_a_row = if turn.is_prompt { self.prompt_in_a_row.saturating_add(1) } else { 0 };
    }
}
