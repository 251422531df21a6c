//! State that the actor of a target passes to the actor of the target's next version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drift_api::timing::moment::Moment;
use drift_kube::process::clock;
use drift_language::{ObjectSelection, Target};

use crate::engine::correction_limits::RETRY_EVERY;
use crate::engine::objects::object_store::Handover;

/// Lifetime of a handover. No record in it delays a correction for longer. The limit also frees the state of targets
/// that were removed or renamed. An open breaker of an active target is kept without a limit, because the target waits
/// for as long as its kind is unusable.
const KEPT_FOR: Duration = RETRY_EVERY;

type HandoversByTarget = HashMap<String, Left>;

/// Memories of an actor that ended.
#[derive(Debug)]
struct Left {
    target: Arc<Target>,
    handover: Handover,
    at: Moment,
    /// False once the target was removed.
    is_active: bool,
}

/// Handovers of ended actors, by target name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Handovers(Arc<Mutex<HandoversByTarget>>);

impl Handovers {
    /// Takes the handover of the previous actor; `None` if there was none for this kind.
    #[must_use]
    pub fn take(&self, target: &Target) -> Option<Handover> {
        let mut handovers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop_old(&mut handovers, clock::now());
        let left = handovers.remove(&target.name)?;
        is_same_kind(&left.target.objects, &target.objects).then_some(left.handover)
    }

    /// Stores the handover of an actor that ended.
    pub fn leave(&self, target: Arc<Target>, handover: Handover) {
        let at = clock::now();
        let mut handovers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop_old(&mut handovers, at);
        handovers.insert(target.name.clone(), Left { target, handover, at, is_active: true });
    }

    /// Forgets the claims of a target that was removed, and everything else of it after a while.
    pub fn retire(&self, target: &str) {
        let mut handovers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = handovers.get_mut(target) {
            left.handover.forget_claims();
            left.is_active = false;
        }
    }
}

fn drop_old(handovers: &mut HandoversByTarget, now: Moment) {
    let is_held = |left: &Left| left.is_active && left.handover.is_breaker_open();
    handovers.retain(|_, left| !now.is_past(left.at, KEPT_FOR) || is_held(left));
}

/// Returns true if both selections select the same kind, in any version.
fn is_same_kind(one: &ObjectSelection, other: &ObjectSelection) -> bool {
    one.is_of(other.group(), &other.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::held_corrections::BreakerCounts;

    fn target(name: &str) -> Arc<Target> {
        let text = format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: {name}}}
spec:
  objects: {{apiVersion: demo.example/v1, kind: Role}}
  identity: "${{self.metadata.name}}"
  read: {{http: {{url: "https://h.example/x"}}}}
  compare: {{desired: {{login: "${{self.spec.login}}"}}}}
"#
        );
        Arc::new(drift_language::fixtures::target(&text))
    }

    fn kept(handovers: &Handovers) -> usize {
        handovers.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_that_is_gone_leaves_nothing_for_ever() {
        let handovers = Handovers::default();
        for number in 0..10 {
            handovers.leave(target(&format!("t{number}")), Handover::default());
        }
        tokio::time::sleep(KEPT_FOR / 2).await;
        assert!(handovers.take(&target("t0")).is_some(), "who comes back within an hour finds what was left");
        assert_eq!(kept(&handovers), 9);
        tokio::time::sleep(KEPT_FOR).await;
        handovers.leave(target("new"), Handover::default());
        assert_eq!(kept(&handovers), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_breaker_waits_for_a_usable_kind() {
        let handovers = Handovers::default();
        let open = || Handover::with_open_breaker(BreakerCounts { drifted: 15, judged: 29, limit: 20 });
        for (name, handover) in [("open", open()), ("closed", Handover::default()), ("removed", open())] {
            handovers.leave(target(name), handover);
        }
        handovers.retire("removed");
        tokio::time::sleep(2 * KEPT_FOR).await;
        let is_kept = |name| handovers.take(&target(name)).is_some_and(|handover| handover.is_breaker_open());
        assert_eq!(["open", "closed", "removed"].map(is_kept), [true, false, false]);
    }
}
