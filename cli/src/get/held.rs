//! The holds of corrections and deletions, by the Leases of both programs.

use std::collections::BTreeMap;

use drift_api::attestation::Attestation;
use drift_api::held_corrections::{HeldCorrections, Hold};
use drift_api::object::LeanObject;
use drift_api::unwritten::{Doubt, UnwrittenTargets};
use drift_language::Target;
use jiff::Timestamp;
use serde_json::Value;

use drift_poller::engine::object::overview::Next;

/// The Leases as they were read last.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaseHolds {
    /// The poller's attestations; `None` if its Lease could not be read.
    attested: Option<BTreeMap<String, Attestation>>,
    /// The verdicts that the poller cannot write.
    unwritten: UnwrittenTargets,
    /// The controller's holds, `None` within if no controller holds its Lease; `None` if the Lease could not be read.
    held: Option<Option<HeldCorrections>>,
}

impl LeaseHolds {
    /// Reads the Leases; one that could not be read holds nothing.
    pub(super) fn of(
        attested: Option<BTreeMap<String, Attestation>>,
        controller: Result<Option<Value>, ()>,
        now: Timestamp,
    ) -> Self {
        let held = controller.ok().map(|lease| HeldCorrections::on_lease(lease.as_ref(), now));
        Self { attested, held, unwritten: UnwrittenTargets::new() }
    }

    /// The same with the verdicts that the poller cannot write.
    pub(super) fn with_unwritten(self, unwritten: UnwrittenTargets) -> Self {
        Self { unwritten, ..self }
    }

    /// The contradiction of the verdict by the poller's Lease, for an object of this target.
    pub(super) fn doubt_of(&self, target: &str, object: &LeanObject) -> Option<Doubt> {
        let attestation = self.attested.as_ref()?.get(target);
        Doubt::of(&object.id, attestation, self.unwritten.get(target)).filter(|_| !object.deleting)
    }

    /// The first reason that holds what would come next.
    pub(super) fn hold_of(&self, target: &Target, object: &LeanObject, next: Next, now: Timestamp) -> Option<Hold> {
        if let Some(why) = next.held() {
            return Some(target.hold(object, why, None, now));
        }
        if !next.awaits_controller(object) {
            return None;
        }
        let unattested = if next == Next::Correction { self.unattested(target, object) } else { None };
        let held = match &self.held {
            Some(None) => Some(Hold::no_controller()),
            Some(Some(held)) => unattested
                .or_else(|| held.of_target(&target.name).applying(&target.name, object.into(), now).into_iter().next()),
            None => unattested,
        };
        held.or_else(|| target.correct.window_hold(object, now))
    }

    /// An attestation of another text says nothing of this one; `get` warns of it.
    fn unattested(&self, target: &Target, object: &LeanObject) -> Option<Hold> {
        match self.attested.as_ref()?.get(&target.name) {
            None => Some(Hold::target_not_attested()),
            Some(word) if word.hash == target.verdict_hash && word.except.has(&object.id) => {
                Some(Hold::object_not_attested())
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::held_corrections::Held;
    use drift_api::names::{FINALIZER, HELD_CORRECTIONS_ANNOTATION};
    use drift_api::object::field_paths::FieldPaths;
    use drift_language::fixtures::proxies::{TEXT, target};
    use serde_json::json;

    const NOW: &str = "2026-01-01T00:00:30Z";

    fn object(finalizers: &[&str]) -> LeanObject {
        let conditions = json!([{"type": "driftObserved", "status": "True", "reason": "FieldsDiffer",
            "message": "x [desired 3f2a9c71d04b58e6]"}]);
        let metadata = json!({"name": "web", "uid": "u", "finalizers": finalizers});
        LeanObject::prune(&json!({"metadata": metadata, "status": {"conditions": conditions}}), &FieldPaths::default())
    }

    #[test]
    fn the_first_hold_is_shown() {
        let (target, now) = (target(TEXT), NOW.parse().unwrap());
        let attested = |text: &str| {
            let word = Attestation::parse(text).unwrap();
            Some(BTreeMap::from([(target.name.clone(), word)]))
        };
        let (good, none) = (attested(&target.verdict_hash), Some(BTreeMap::new()));
        let excepted = attested(&format!("{} except u", target.verdict_hash));
        let other_text = attested("0123 except u");
        let open = json!({"targets": {&target.name: {"whole": ["BreakerOpen 15/29 20%"]}}}).to_string();
        let lease = |annotation: &str, renewed: &str| {
            Ok(Some(json!({"metadata": {"annotations": {HELD_CORRECTIONS_ANNOTATION: annotation}},
                "spec": {"holderIdentity": "a", "renewTime": renewed}})))
        };
        let gone = || lease("{}", "2026-01-01T00:02:00Z");
        for (attested, controller, next, expected) in [
            (&good, lease("{}", NOW), Next::Correction, None),
            (&good, lease(&open, NOW), Next::Correction, Some("BreakerOpen")),
            (&good, lease(&open, NOW), Next::Held(Held::Observing), Some("Observing")),
            (&good, gone(), Next::Correction, Some("NoController")),
            (&good, Ok(None), Next::Deletion, Some("NoController")),
            (&good, Ok(None), Next::Held(Held::NotVerified), Some("NotVerified")),
            (&none, lease(&open, NOW), Next::Correction, Some("NotAttested")),
            (&none, lease("{}", NOW), Next::Deletion, None),
            (&excepted, lease("{}", NOW), Next::Correction, Some("NotAttested")),
            (&other_text, lease("{}", NOW), Next::Correction, None),
            (&None, lease(&open, NOW), Next::Correction, Some("BreakerOpen")),
            (&None, Err(()), Next::Correction, None),
            (&none, Err(()), Next::Correction, Some("NotAttested")),
        ] {
            let described = format!("{attested:?} {controller:?} {next:?}");
            let holds = LeaseHolds::of(attested.clone(), controller, now);
            let hold = holds.hold_of(&target, &object(&[FINALIZER]), next, now);
            assert_eq!(hold.map(|hold| hold.word), expected, "{described}");
        }
        let holds = LeaseHolds::of(good, Ok(None), now);
        assert_eq!(holds.hold_of(&target, &object(&[]), Next::Deletion, now), None, "it ends without the controller");
    }
}
