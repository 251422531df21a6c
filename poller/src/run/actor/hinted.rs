//! The actor's hints: taken in, some at a time, and counted.
//!
//! What a hint does is the core's business.

use drift_kube::process::clock;
use tokio::sync::mpsc;

use super::TargetActor;
use crate::engine::hints::Hint;

/// Hints taken in before polls and writes get their turn again.
const HINTS_AT_ONCE: usize = 256;

impl TargetActor {
    /// Takes in a hint, and others that wait behind it.
    pub(super) fn take_hints(&mut self, first: Hint, others: &mut mpsc::Receiver<Hint>) {
        self.take_hint(&first);
        for _ in 1..HINTS_AT_ONCE {
            let Ok(hint) = others.try_recv() else { break };
            self.take_hint(&hint);
        }
    }

    fn take_hint(&mut self, hint: &Hint) {
        let now = clock::now();
        match hint {
            Hint::ClusterObject(changed) => {
                let outcome = self.hints.take_change(&mut self.objects, changed, now);
                self.counts.hint(outcome.as_str());
            }
            Hint::Everything => self.hints.take_everything(&mut self.objects, now),
            Hint::Resource(identity) => {
                let holder = self.identities.holder(identity);
                let outcome = self.hints.take(&mut self.objects, identity, holder, now);
                self.counts.hint(outcome.as_str());
            }
        }
    }
}
