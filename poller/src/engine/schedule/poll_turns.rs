//! The queue of objects that wait for the target's read limits.
//!
//! Polls that were asked for (an edit, a correction, an annotation) go before the regular ones, and of four turns take
//! three at most: somebody who asks again and again must not keep the others from being polled. This file must not
//! know when a poll is due.

use drift_api::collections::fifo::Fifo;
use drift_api::identity::Uid;

/// Turns in a row that prompt polls take while a regular one waits.
pub const PROMPT_TURNS: u32 = 3;

/// Objects that wait to be polled.
#[derive(Debug, Default)]
pub struct PollTurns {
    prompt: Fifo,
    regular: Fifo,
    /// Prompt polls that began since the last regular one.
    prompt_in_a_row: u32,
}

/// An object whose turn has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollTurn {
    /// The object.
    pub uid: Uid,
    is_prompt: bool,
}

impl PollTurns {
    /// Lets an object wait for a prompt poll, instead of a regular one if it waits for that.
    pub fn add_prompt(&mut self, uid: &Uid) {
        self.regular.leave(uid);
        self.prompt.join(uid);
    }

    /// Lets an object wait for its regular poll, unless it waits for a prompt one.
    pub fn add_regular(&mut self, uid: &Uid) {
        if !self.prompt.has(uid) {
            self.regular.join(uid);
        }
    }

    /// The object waits no more.
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

    /// Returns true if nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.prompt.is_empty() && self.regular.is_empty()
    }

    /// Calls the next object. The turn counts only once it is [`used`](Self::note_used).
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

    /// The poll of this turn begins.
    pub const fn note_used(&mut self, turn: &PollTurn) {
        self.prompt_in_a_row = if turn.is_prompt { self.prompt_in_a_row.saturating_add(1) } else { 0 };
    }
}
