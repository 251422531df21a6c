//! What must always hold of Jobs: none is begun twice, and no two of one object run at once.
//!
//! Another one for the same spec may be begun only where the first is known to have done its part: a poll saw drift after its
//! end, it never ran, or somebody else took it away. It must not change anything.

use std::collections::HashMap;

use drift_api::identity::Uid;
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::correction::AskedFor;

/// The Jobs that were begun, by their names.
#[derive(Default)]
pub(crate) struct JobLedger {
    begun: HashMap<String, Begun>,
}

struct Begun {
    object: Uid,
    asked: AskedFor,
    ran: bool,
    ended: bool,
    /// Another one may be begun for the same.
    is_done: bool,
    /// The cluster removed it after its end.
    is_expired: bool,
}

impl JobLedger {
    /// A Job is begun for the object; the error says what is violated. `excused` says that its numbers may begin anew, `resumes` that
    /// it goes on with one that was interrupted.
    pub(crate) fn note_begun(
        &mut self,
        name: &str,
        object: &Uid,
        asked: AskedFor,
        (excused, resumes): (bool, bool),
    ) -> Result<(), String> {
        // A deletion that failed is tried again without a poll: it has another number.
        let is_same = |before: &AskedFor| match asked.action {
            Action::Delete => *before == asked,
            action => {
                let of_same_spec = (before.generation, before.desired_hash) == (asked.generation, asked.desired_hash);
                before.action == action && of_same_spec
            }
        };
        let mut before = self.begun.iter().filter(|(_, begun)| begun.object == *object && is_same(&begun.asked));
        let again = before
            .find(|(_, begun)| begun.ran && !begun.is_done && !(begun.is_expired && resumes))
            .map(|(before, _)| before.clone());
        let begun =
            Begun { object: object.clone(), asked, ran: false, ended: false, is_done: false, is_expired: false };
        self.begun.insert(name.to_owned(), begun);
        match again.filter(|_| !excused) {
            Some(before) => Err(format!("the Job {name} is begun, though nobody knows what {before} has left")),
            None => Ok(()),
        }
    }

    pub(crate) fn note_ran(&mut self, name: &str) {
        if let Some(begun) = self.begun.get_mut(name) {
            begun.ran = true;
        }
    }

    pub(crate) fn note_ended(&mut self, name: &str) {
        if let Some(begun) = self.begun.get_mut(name) {
            begun.ended = true;
        }
    }

    /// Somebody else took it away: whoever follows it sees no end.
    pub(crate) fn note_removed(&mut self, name: &str) {
        if let Some(begun) = self.begun.get_mut(name) {
            begun.is_done = true;
        }
    }

    /// It was removed a while after its end. Whoever followed it without an answer for so long goes on with it, and begins it again.
    pub(crate) fn note_expired(&mut self, name: &str) {
        if let Some(begun) = self.begun.get_mut(name) {
            begun.is_expired = true;
        }
    }

    /// A poll saw that the object drifted: whatever had ended by then healed nothing, or was undone.
    pub(crate) fn note_drift(&mut self, object: &Uid) {
        for begun in self.begun.values_mut().filter(|begun| begun.object == *object) {
            begun.is_done |= begun.ended;
        }
    }

    /// The object's conditions were cleaned up: its numbers begin anew.
    pub(crate) fn forget(&mut self, object: &Uid) {
        self.begun.retain(|_, begun| begun.object != *object);
    }
}
