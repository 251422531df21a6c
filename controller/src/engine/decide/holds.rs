//! Everything that holds an object, for readers outside of the controller.

use super::guards::GUARDS;
use super::state::{Case, State};
use crate::engine::corrections::Held;
use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::Situation;

/// A hold of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The reason.
    pub why: Held,
    /// The text with which `driftCorrected` tells it; `None` if it does not.
    pub record: Option<String>,
}

/// Returns every hold of an object, each reason once: those of the guards in their order, then what its verdict lacks.
///
/// A situation with an empty memory lacks the delays, and its surroundings are as its maker knows them.
#[must_use]
pub fn holds(situation: &Situation<'_>) -> Vec<Hold> {
    let case = Case::of(situation);
    let mut holds: Vec<Hold> = Vec::new();
    for guard in GUARDS {
        let Some(decision) = guard.decide(&case) else { continue };
        if case.state.is_deleting() && matches!(decision, Decision::ReleaseFinalizer { .. }) {
            // The deletion ends here.
            return holds;
        }
        let Some(why) = guard.hold_by(&decision) else { continue };
        if holds.iter().all(|hold| hold.why != why) {
            holds.push(Hold { why, record: record_of(why, &decision, &case) });
        }
        match why {
            Held::NotListed | Held::NewerVersion => return holds,
            // The guards after it are about corrections.
            Held::Observing => break,
            _ => {}
        }
    }
    let lacking = match case.state {
        State::Unjudged(why) => Some(why),
        State::InSync => Some(Held::InSync),
        State::Released | State::Deleting | State::Contradicted | State::Drifted(_) => None,
    };
    let lacking = lacking.filter(|lacking| holds.iter().all(|hold| hold.why != *lacking));
    holds.extend(lacking.map(|why| Hold { why, record: None }));
    holds
}

fn record_of(why: Held, decision: &Decision, case: &Case<'_>) -> Option<String> {
    let status = match decision {
        Decision::WriteStatus(status) => status,
        _ => &case.status,
    };
    (status.reason.is_some() && status.reason == why.recorded_as()).then(|| status.text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{Scene, owns};
    use drift_api::condition::{CorrectedReason, ObservedReason};
    use drift_language::Mode;

    fn held(scene: &Scene) -> Vec<Held> {
        holds(&scene.situation()).into_iter().map(|hold| hold.why).collect()
    }

    #[test]
    fn every_hold_is_told_in_the_order_of_the_guards() {
        let scene = Scene::new();
        assert_eq!(held(&scene), []);
        let scene = scene.with(|scene| {
            scene.object.paused = true;
            scene.facts.suspended = Some(true);
            scene.facts.allowed = Some(false);
            scene.target.actions.update = false;
            scene.surroundings.attested = false;
        });
        let expected = [Held::Suspended, Held::Paused, Held::NotAllowed, Held::NoAction, Held::NotAttested];
        assert_eq!(held(&scene), expected);
        assert_eq!(scene.decide(), Decision::Nothing(expected[0]), "the first one decides");
        let observing = scene.with(|scene| scene.target.mode = Mode::Observe);
        assert_eq!(held(&observing), [Held::Observing]);
        assert_eq!(held(&observing.observed(ObservedReason::InSync)), [Held::Observing, Held::InSync]);
    }

    #[test]
    fn a_hold_has_the_text_of_its_record() {
        let foreign = Scene::new().corrected(CorrectedReason::CorrectionApplied, 7, None);
        let Decision::WriteStatus(record) = foreign.decide() else { unreachable!("{:?}", foreign.decide()) };
        let expected = [Hold { why: Held::NotOurs, record: Some(record.text.clone()) }];
        assert_eq!(holds(&foreign.situation()), expected, "before it is written");
        let told = foreign.with(|scene| crate::engine::fixtures::set_corrected(&mut scene.object.conditions, &record));
        assert_eq!(told.decide(), Decision::Nothing(Held::NotOurs));
        assert_eq!(holds(&told.situation()), expected, "and after");
    }

    #[test]
    fn what_the_verdict_lacks_comes_last() {
        let paused = Scene::new().with(|scene| scene.object.paused = true);
        assert_eq!(held(&paused.clone().observed(ObservedReason::InSync)), [Held::Paused, Held::InSync]);
        let later = paused.corrected(CorrectedReason::CorrectionApplied, 8, owns("db"));
        assert_eq!(held(&later), [Held::Paused, Held::NotVerified]);
    }

    #[test]
    fn a_deletion_that_leaves_the_resource_is_held_by_nothing() {
        let deleting = Scene::new().with_finalizer().with(|scene| {
            (scene.object.deleting, scene.object.paused, scene.target.actions.delete) = (true, true, true);
        });
        assert_eq!(held(&deleting), [Held::Paused]);
        assert_eq!(held(&deleting.with(|scene| scene.object.orphan = true)), []);
    }
}
