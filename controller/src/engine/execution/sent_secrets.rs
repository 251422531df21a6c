//! The secrets that a correction has sent, with their versions, for the correction record.
//!
//! Only accepted secrets are recorded; secrets that may not have arrived are sent again. The exception is an object
//! without any recorded secret. Its secrets are recorded as sent before the first request and while the outcome is in
//! doubt: after an interrupted creation, the resource has the sent version, and a later version counts as moved.

use std::collections::BTreeSet;

use super::Execution;
use crate::engine::corrections::outcome::Outcome;
use crate::engine::decide::decision::Decision;
use crate::engine::rendering::plan::Plan;

impl Execution {
    /// Returns true if the plan has the versions of the Secrets that a person approved.
    pub(super) fn sends_what_was_approved(&self, plan: &Plan) -> bool {
        let approved = self.correction().map(|correction| &correction.approved_secrets);
        approved.into_iter().flatten().all(|(name, mark)| plan.secrets.get(name) == mark.as_ref())
    }

    /// Records expected secrets when the correction is about to begin.
    pub(super) fn expect_secrets(&mut self) {
        let Decision::Correct(correction) = &self.decision else { return };
        self.progress.noted = correction.before.secrets.clone();
        if self.progress.noted.is_empty() {
            let sends = self.progress.plan.sends();
            self.note_as_sent(&sends);
        }
    }

    /// Records the secrets of an accepted write.
    pub(super) fn note_accepted(&mut self, index: usize) {
        let sends = self.progress.plan.steps.get(index).map(|step| &step.sends);
        self.progress.sent.extend(sends.into_iter().flatten().cloned());
    }

    /// Updates the record for the outcome of the correction.
    pub(super) fn note_secrets(&mut self, outcome: &Outcome) {
        let may_have_arrived = !outcome.is_definite() && !outcome.changed_nothing();
        let sent = match self.progress.noted.is_empty() && may_have_arrived {
            true => self.progress.plan.sends(),
            false => self.progress.sent.clone(),
        };
        self.note_as_sent(&sent);
    }

    /// Restores the record, because nothing was sent.
    pub(super) fn forget_secrets(&mut self) {
        self.note_as_sent(&BTreeSet::new());
    }

    fn note_as_sent(&mut self, sent: &BTreeSet<String>) {
        if let Decision::Correct(correction) = &mut self.decision {
            correction.before.secrets = self.progress.noted.after_sending(sent, &self.progress.plan.secrets);
        }
    }
}

#[cfg(test)]
mod tests;
