//! The secrets that the external resource has after a correction, with their versions, for the correction record.
//!
//! A secret counts as sent if every request that sends it was accepted or skipped. A secret that was never sent and
//! that the correction does not send either keeps what the resource has: an adopted account keeps its password until
//! the Secret changes.
//!
//! A creation that ends early leaves secrets of its later requests unsent, so that an update sends them if the resource
//! exists. Its first write counts as sent then, because without it there is no resource. A crash leaves the record of
//! the claim, so the claim says the same.

use std::collections::BTreeSet;

use super::Execution;
use crate::engine::corrections::Action;
use crate::engine::corrections::outcome::Outcome;
use crate::engine::decide::decision::Decision;
use crate::engine::rendering::plan::Plan;

impl Execution {
    /// Returns true if the plan has the versions of the Secrets that a person approved.
    pub(super) fn sends_what_was_approved(&self, plan: &Plan) -> bool {
        let approved = self.correction().map(|correction| &correction.approved_secrets);
        approved.into_iter().flatten().all(|(name, mark)| plan.secrets.get(name).copied().flatten() == *mark)
    }

    /// Adds the secrets of a write that the external system received, or may have received.
    pub(super) fn note_received(&mut self, index: usize) {
        let sends = self.progress.plan.steps.get(index).map(|step| &step.sends);
        self.progress.sent.extend(sends.into_iter().flatten().cloned());
    }

    /// Updates the record for the outcome of the correction.
    pub(super) fn conclude_secrets(&mut self, outcome: &Outcome) {
        if outcome.changed_nothing() { self.forget_secrets() } else { self.note_secrets() }
    }

    /// Restores the record, because nothing was sent.
    pub(super) fn forget_secrets(&mut self) {
        if let Decision::Correct(correction) = &mut self.decision {
            correction.before.secrets = self.progress.noted.clone();
        }
    }

    /// Updates the record for the progress of the correction, as if nothing more were heard of it.
    pub(super) fn note_secrets(&mut self) {
        let Decision::Correct(correction) = &mut self.decision else { return };
        let progress = &self.progress;
        let (plan, noted) = (&progress.plan, &progress.noted);
        let undone = plan.sends_from(progress.reached);
        let makes = matches!(correction.action, Action::Create | Action::Replace);
        let is_first_write = makes && !progress.made && progress.item.is_none();
        let late = if is_first_write { plan.sends_from(progress.reached + 1) } else { undone.clone() };
        let sent: BTreeSet<_> = progress.sent.difference(&undone).cloned().collect();
        let is_unsent = |name: &String| makes || progress.sent.contains(name) && !noted.has(name);
        let unsent: BTreeSet<_> = late.into_iter().filter(is_unsent).collect();
        correction.before.secrets = noted.after_sending(&sent, &unsent, &plan.secrets);
    }
}

#[cfg(test)]
mod tests;
