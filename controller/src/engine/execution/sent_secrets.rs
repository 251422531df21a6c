//! The secrets that a correction has sent, with their versions, for the correction record.
//!
//! What was accepted is noted, and nothing else: what may not have arrived is sent again. Only where nothing was ever noted is it
//! presumed to arrive, before anything is sent and while that is in doubt: should a creation be interrupted, what it made has what
//! was sent, and the next version is found to have moved.

use std::collections::BTreeSet;

use super::Execution;
use crate::engine::corrections::outcome::Outcome;
use crate::engine::decide::decision::Decision;

impl Execution {
    /// The correction is about to begin.
    pub(super) fn expect_secrets(&mut self) {
        let Decision::Correct(correction) = &self.decision else { return };
        self.progress.noted = correction.before.secrets.clone();
        if self.progress.noted.is_empty() {
            let sends = self.progress.plan.sends();
            self.note_as_sent(&sends);
        }
    }

    /// A write was accepted.
    pub(super) fn note_accepted(&mut self, index: usize) {
        let sends = self.progress.plan.steps.get(index).map(|step| &step.sends);
        self.progress.sent.extend(sends.into_iter().flatten().cloned());
    }

    /// The correction came to this.
    pub(super) fn note_secrets(&mut self, outcome: &Outcome) {
        let may_have_arrived = !outcome.is_definite() && !outcome.changed_nothing();
        let sent = match self.progress.noted.is_empty() && may_have_arrived {
            true => self.progress.plan.sends(),
            false => self.progress.sent.clone(),
        };
        self.note_as_sent(&sent);
    }

    /// Nothing is sent after all.
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
