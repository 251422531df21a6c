//! Invariants of Jobs: no Job is created twice, and no two Jobs of one object run at once.
//!
//! Another Job for the same spec may be created only if the first has had its effect: a poll saw drift after its end,
//! it never ran, or it was removed by another writer. It must not change anything.

use std::collections::HashMap;

use drift_api::identity::Uid;
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::correction::AskedFor;

/// The created Jobs by name.
#[derive(Default)]
pub(crate) struct JobLedger {
    begun: HashMap<String, Begun>,
}

struct Begun {
    object: Uid,
    asked: AskedFor,
    ran: bool,
    ended: bool,
    /// Another Job may be created for the same spec.
    is_done: bool,
    /// The cluster removed it after its end.
    is_expired: bool,
}

impl JobLedger {
    /// Records the creation of a Job for the object. An error describes the violation. `excused` allows its numbers to
    /// start again. `resumes` means that it continues an interrupted one.
    pub(crate) fn note_begun(
        &mut self,
        name: &str,
        object: &Uid,
        asked: AskedFor,
        (excused, resumes): (bool, bool),
    ) -> Result<(), String> {
        // A failed deletion is retried without a poll, under another number.
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

    /// Records that another writer removed the Job, so that its observers see no end.
    pub(crate) fn note_removed(&mut self, name: &str) {
        if let Some(begun) = self.begun.get_mut(name) {
            begun.is_done = true;
        }
    }

    /// Records that the Job was removed a while after its end. An observer without a response for so long continues and
    /// creates it again.
    pub(crate) fn note_expired(&mut self, name: &str) {
        if let Some(begun) = self.begun.get_mut(name) {
            begun.is_expired = true;
        }
    }

    /// Records that a poll saw drift: earlier ended Jobs healed nothing or were undone.
    pub(crate) fn note_drift(&mut self, object: &Uid) {
        for begun in self.begun.values_mut().filter(|begun| begun.object == *object) {
            begun.is_done |= begun.ended;
        }
    }

    /// Records that the object's conditions were cleaned up, so its numbers start again.
    pub(crate) fn forget(&mut self, object: &Uid) {
        self.begun.retain(|_, begun| begun.object != *object);
    }
}
