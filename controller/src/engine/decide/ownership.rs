//! Guards by other objects. A single claimant acts. Without claims the oldest object acts. With several claims none acts.

use drift_api::condition::{CorrectedReason, CorrectionStatus, NotedSecrets};
use drift_api::identity::{Holders, Ownership};

use super::state::Case;
use crate::engine::corrections::Held;
use crate::engine::decide::decision::Decision;

/// The object gives its claim up, so the record loses it.
pub(super) fn given_up(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let gives_up = status.owned().is_some_and(|owned| situation.object.gives_up(&owned.identity));
    let given_up = || status.keeping(CorrectedReason::NotOurs, "given up", situation.object.generation);
    gives_up.then(|| {
        let (claim, secrets) = (None, NotedSecrets::default());
        Decision::WriteStatus(CorrectionStatus { claim, secrets, ..given_up() })
    })
}

/// Another object has or claims the resource that the object names.
///
/// An object that was refused once acts only on fresh data: of the holders that it names, those that no target sees are
/// read live, and then a poll comes first.
pub(super) fn of_another(case: &Case<'_>) -> Option<Decision> {
    let owns_another =
        case.status.owned().zip(case.resource.as_ref()).is_some_and(|(owned, named)| !owned.names(named));
    if case.situation.target.actions.nudge || owns_another {
        return None;
    }
    match &case.situation.surroundings.rights.ownership {
        Ownership::Taken(holders) => {
            let text = format!("another object comes first: {holders}");
            Some(refuse(case, CorrectedReason::IdentityTaken, &text, Held::IdentityTaken))
        }
        Ownership::Contested(holders) => {
            let text =
                format!("others claim the external resource too, so nothing is done until one is left: {holders}");
            Some(refuse(case, CorrectedReason::IdentityContested, &text, Held::IdentityContested))
        }
        Ownership::None => Some(Decision::Nothing(Held::GivenUp)),
        Ownership::Free | Ownership::Held => take_up(case),
    }
}

fn refuse(case: &Case<'_>, reason: CorrectedReason, text: &str, held: Held) -> Decision {
    let is_certain = case.situation.surroundings.scope_complete;
    let written = if is_certain { case.write_once(&case.status, reason, text) } else { None };
    written.unwrap_or(Decision::Nothing(held))
}

fn take_up(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    if !status.reason.is_some_and(CorrectedReason::is_held_by_another) {
        return None;
    }
    if !situation.surroundings.scope_complete {
        return Some(Decision::Nothing(Held::ScopeIncomplete));
    }
    Some(Decision::TakeUp {
        resource: case.resource.clone()?,
        holders: Holders::parse(&status.text).named,
        status: status.freed(situation.object.generation),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{Scene, at, elsewhere, moved, owns, resource, set_corrected};
    use drift_api::condition::{Claim, ObservedReason};
    use drift_api::identity::ObjectRef;
    use drift_language::Mode;

    fn holders() -> Holders {
        let object = ObjectRef { kind: "Proxy.example.com".into(), namespace: Some("shop".into()), name: "web".into() };
        Holders { named: vec![object], has_more: false }
    }

    /// Returns a scene with this claim, where other objects cause this ownership.
    fn scene(claim: Option<Claim>, ownership: Ownership) -> Scene {
        let scene = Scene::new().corrected(CorrectedReason::CorrectionApplied, 7, claim);
        scene.with(|scene| scene.surroundings.rights.ownership = ownership)
    }

    fn written(decision: Decision) -> CorrectionStatus {
        let Decision::WriteStatus(status) = decision else { unreachable!("{decision:?}") };
        status
    }

    /// Returns the scene after the decided status was written.
    fn refused(mut scene: Scene) -> Scene {
        let status = written(scene.decide());
        scene.memory.land_status(status.clone(), at(1000));
        set_corrected(&mut scene.object.conditions, &status);
        scene.observed(ObservedReason::FieldsDiffer)
    }

    #[test]
    fn who_may_not_act_says_who_may() {
        for (claim, ownership, reason, held) in [
            (None, Ownership::Taken(holders()), CorrectedReason::IdentityTaken, Held::IdentityTaken),
            (owns("db"), Ownership::Contested(holders()), CorrectedReason::IdentityContested, Held::IdentityContested),
        ] {
            let scene = scene(claim.clone(), ownership);
            let status = written(scene.decide());
            assert_eq!((status.reason, status.correction, &status.claim), (Some(reason), 7, &claim));
            assert_eq!(Holders::parse(&status.text), holders(), "{}", status.text);
            assert_eq!(refused(scene.clone()).decide(), Decision::Nothing(held), "it is said once");
            let unlisted = scene.clone().with(|scene| scene.surroundings.scope_complete = false);
            assert_eq!(unlisted.decide(), Decision::Nothing(held), "nothing is said while others are not known");
            let observing = scene.with(|scene| scene.target.mode = Mode::Observe);
            assert_eq!(observing.decide(), Decision::Nothing(Held::Observing));
        }
    }

    #[test]
    fn who_was_refused_reads_the_holders_and_is_polled_first() {
        for (claim, refusal, after) in [
            (None, Ownership::Taken(holders()), Ownership::Free),
            (owns("db"), Ownership::Contested(holders()), Ownership::Held),
        ] {
            let free = refused(scene(claim.clone(), refusal)).with(|scene| scene.surroundings.rights.ownership = after);
            let Decision::TakeUp { resource: taken, holders: named, status } = free.decide() else {
                unreachable!("{:?}", free.decide())
            };
            assert_eq!((taken, named), (resource("db"), holders().named));
            assert_eq!((status.reason, status.correction), (Some(CorrectedReason::IdentityFree), 8));
            assert_eq!(status.claim, claim);
            let freed = free.clone().with(|scene| set_corrected(&mut scene.object.conditions, &status));
            assert_eq!(freed.decide(), Decision::Nothing(Held::NotVerified), "the verdict is of before");
            let unlisted = free.with(|scene| scene.surroundings.scope_complete = false);
            assert_eq!(unlisted.decide(), Decision::Nothing(Held::ScopeIncomplete));
        }
    }

    #[test]
    fn what_is_in_sync_after_a_refusal_says_so() {
        let freed = Scene::new().corrected(CorrectedReason::IdentityFree, 8, None).observed(ObservedReason::InSync);
        let status = written(freed.decide());
        assert_eq!((status.reason, status.correction), (Some(CorrectedReason::NotOurs), 8), "it owns nothing");
        let owning =
            Scene::new().corrected(CorrectedReason::IdentityFree, 8, owns("db")).observed(ObservedReason::InSync);
        assert_eq!(written(owning.decide()).reason, Some(CorrectedReason::CorrectionApplied));
    }

    #[test]
    fn a_claim_that_is_given_up_is_removed_once() {
        let giving_up = scene(owns("db"), Ownership::None).giving_up("db");
        let status = written(giving_up.decide());
        assert_eq!((status.reason, status.claim.as_ref()), (Some(CorrectedReason::NotOurs), None));
        assert_eq!(refused(giving_up).decide(), Decision::Nothing(Held::GivenUp));
        let another = scene(owns("db"), Ownership::Held).giving_up("other");
        assert!(matches!(another.decide(), Decision::Correct(_)), "{:?}", another.decide());
    }

    #[test]
    fn whoever_owns_another_resource_is_told_that() {
        let edited = scene(owns("old"), Ownership::Taken(holders()));
        let status = written(edited.decide());
        assert_eq!(status.reason, Some(CorrectedReason::IdentityChanged));
        assert!(status.text.starts_with("the object names another external resource now"), "{}", status.text);
        let moved = scene(moved(owns("db")), Ownership::Held);
        let status = written(moved.decide());
        let (former, present) = (elsewhere("db").scope, resource("db").scope);
        let expected =
            format!("the target's scope changed from {former} to {present}; the owned resource is left as it is");
        assert_eq!((status.reason, status.text), (Some(CorrectedReason::IdentityChanged), expected));
    }

    #[test]
    fn a_nudge_asks_nobody() {
        let nudging = scene(None, Ownership::None).with(|scene| scene.target.actions.nudge = true);
        assert!(matches!(nudging.decide(), Decision::Correct(_)), "{:?}", nudging.decide());
    }
}
