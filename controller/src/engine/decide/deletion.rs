//! Guards of a deletion: delete the external resource, or release the object.
//!
//! Removing a finalizer too early is worse for the external system than keeping it. Deleting a foreign resource is
//! worse than leaving it. So only a claimed resource that no other object names is deleted. No verdict is needed to
//! begin, because the deletion is the desired state. A deletion that was sent and is not done, or found nothing where
//! a resource should be, also ends with a poll that finds the resource absent.

use std::time::Duration;

use drift_api::condition::{ConditionStatus, CorrectedReason};
use drift_api::identity::Ownership;

use super::state::Case;
use crate::engine::correction_limits::RETRY_EVERY;
use crate::engine::corrections::claim::permit;
use crate::engine::corrections::correction::STILL_FOUND;
use crate::engine::corrections::{Action, Held, Permission};
use crate::engine::decide::decision::Decision;

/// Time between two looks for a resource that the read cannot find. The second one decides, so a request that was
/// under way has ended by then.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// The resource is deleted.
pub(super) fn done(case: &Case<'_>) -> Option<Decision> {
    case.situation.memory.deleted_outside.then_some(Decision::ReleaseFinalizer { left_behind: false })
}

/// The resource is left as it is: nothing deletes it, it is not ours, the object now has another scope or name, or another
/// object needs it.
pub(super) fn left_behind(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let (object, target, memory, surroundings) =
        (situation.object, situation.target, situation.memory, &situation.surroundings);
    let left = Some(Decision::ReleaseFinalizer { left_behind: true });
    let Some(owned) = status.owned() else { return left };
    let is_renamed = situation.facts.scope.is_some_and(|scope| !owned.is_in(scope))
        || case.resource.as_ref().is_some_and(|resource| {
            permit(Action::Delete, status.claim.as_ref(), resource, target.existing) == Permission::IdentityChanged
        });
    // Another claimant may be out of sight meanwhile. A resource that was contested last is left.
    let is_contested = matches!(surroundings.rights.ownership, Ownership::Contested(_))
        || memory.lost_status(object).unwrap_or(status).reason == Some(CorrectedReason::IdentityContested);
    let is_unwanted = memory.deletion_skipped || !target.deletes() || object.orphan;
    let is_needed = is_renamed || surroundings.rights.shared || is_contested || object.gives_up(&owned.identity);
    if is_unwanted || is_needed { left } else { None }
}

/// An object that is not listed yet may have claimed the resource too.
pub(super) fn scope_incomplete(case: &Case<'_>) -> Option<Decision> {
    (!case.situation.surroundings.scope_complete).then_some(Decision::Nothing(Held::ScopeIncomplete))
}

/// The last try by these steps is not proved to be done: the verdict on it decides.
pub(super) fn undone(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let (object, target, memory, now) = (situation.object, situation.target, situation.memory, situation.now);
    if !memory.delay.has_undone_deletion(target.correct_hash) {
        return None;
    }
    let is_unclear = status.reason == Some(CorrectedReason::DeletionUnclear);
    match situation.verified(status) {
        Some(reason) if reason.is_absence() && situation.surroundings.attested && proves_absence(case) => {
            Some(match memory.believed_from().filter(|until| now < *until) {
                Some(until) => Decision::Wait { until, why: Held::NotAttested },
                None => Decision::ReleaseFinalizer { left_behind: false },
            })
        }
        Some(reason) if is_unclear && reason.is_presence() && reason.status() != ConditionStatus::Unknown => {
            case.write_once(status, CorrectedReason::DeletionUnclear, STILL_FOUND)
        }
        // Another try would only postpone the poll that decides. Without a poller, one follows each hour.
        _ if is_unclear && !memory.retry_is_requested(object.retry_requested()) => {
            let pause = if target.read_finds_created { RETRY_EVERY } else { LOOK_AGAIN_AFTER };
            let until = memory.delay.last_begun() + pause;
            (now < until).then_some(Decision::Wait { until, why: Held::NotVerified })
        }
        _ => None,
    }
}

/// Returns true if absence in a poll proves that nothing is left. A read that needs an id finds nothing without it.
fn proves_absence(case: &Case<'_>) -> bool {
    case.situation.target.read_finds_created || case.situation.unseen_create(&case.status).is_none()
}

/// The delay after the last try is not over.
pub(super) fn delayed(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let (delay, now) = (&situation.memory.delay, situation.now);
    let until = delay.deletion_ready_at(now);
    let is_hastened = status.reason == Some(CorrectedReason::DeletionUnclear)
        && situation.memory.retry_is_requested(situation.object.retry_requested());
    (now < until && !is_hastened).then(|| Decision::Wait { until, why: delay.awaits(now) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::correction_limits::Room;
    use crate::engine::corrections::outcome::{Doubt, Outcome};
    use crate::engine::fixtures::{
        Scene, at, claims, correction, desired_hash, doubtful, doubtful_until, moved, owns, refused, resource,
        set_corrected,
    };
    use crate::engine::memory::ObjectMemory;
    use drift_api::condition::CorrectedReason::{CorrectionStarted, DeletionUnclear};
    use drift_api::condition::{CorrectionStatus, ObservedReason};
    use drift_api::identity::Holders;
    use drift_language::Mode;

    fn deleting() -> Scene {
        Scene::new().with_finalizer().with(|scene| {
            scene.object.deleting = true;
            scene.target.actions.delete = true;
        })
    }

    fn released(left_behind: bool) -> Decision {
        Decision::ReleaseFinalizer { left_behind }
    }

    #[test]
    fn what_is_ours_is_deleted_without_verdict_attestations_or_attempts() {
        let scene = deleting().with(|scene| {
            scene.object.conditions.observed = None;
            scene.surroundings.attested = false;
            scene.surroundings.breaker_holds = true;
        });
        let Decision::Correct(correction) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
        assert_eq!((correction.action, correction.number, &correction.resource), (Action::Delete, 8, &resource("db")));
    }

    #[test]
    fn what_is_not_ours_alone_is_left_behind() {
        assert_eq!(deleting().corrected(CorrectedReason::NotOurs, 7, None).decide(), released(true));
        assert_eq!(deleting().without_status().decide(), released(true));
        assert_eq!(deleting().with(|scene| scene.facts.identity = Some("new".into())).decide(), released(true));
        let moved = deleting().corrected(CorrectedReason::CorrectionApplied, 7, moved(owns("db")));
        assert_eq!(moved.decide(), released(true));
        assert_eq!(moved.with(|scene| scene.facts.identity = None).decide(), released(true), "whatever it names now");
        assert_eq!(deleting().with(|scene| scene.surroundings.rights.shared = true).decide(), released(true));
        let contested = Ownership::Contested(Holders::default());
        assert_eq!(deleting().with(|scene| scene.surroundings.rights.ownership = contested).decide(), released(true));
        assert_eq!(deleting().giving_up("db").decide(), released(true));
        let was_contested = deleting().corrected(CorrectedReason::IdentityContested, 7, owns("db"));
        assert_eq!(was_contested.decide(), released(true), "the other one may be out of sight");
        assert_eq!(deleting().with(|scene| scene.target.mode = Mode::Observe).decide(), released(true));
        assert_eq!(deleting().with(|scene| scene.target.actions.delete = false).decide(), released(true));
        let turned_away = deleting().corrected(CorrectedReason::CorrectionFailed, 7, claims("db"));
        assert_eq!(turned_away.decide(), released(true), "a claim that permits to create only");
    }

    #[test]
    fn a_deletion_without_a_credential_waits() {
        let scene = deleting().with(|scene| scene.facts.scope = None);
        assert_eq!(scene.decide(), Decision::Nothing(Held::TemplateFails));
        let moved = scene.clone().corrected(CorrectedReason::CorrectionApplied, 7, moved(owns("db")));
        assert_eq!(moved.decide(), Decision::Nothing(Held::TemplateFails), "its scope is not known to have changed");
        assert_eq!(scene.with(|scene| scene.object.orphan = true).decide(), released(true));
    }

    #[test]
    fn an_orphaning_deletion_leaves_the_outside_and_is_never_held() {
        let orphaned = deleting().with(|scene| scene.object.orphan = true);
        assert_eq!(orphaned.decide(), released(true));
        assert_eq!(orphaned.clone().with(|scene| scene.object.paused = true).decide(), released(true));
        assert_eq!(orphaned.with(|scene| scene.facts.suspended = Some(true)).decide(), released(true));
    }

    #[test]
    fn a_deletion_waits_for_no_status() {
        let refused = |scene: &mut Scene| _ = scene.memory.writes.refuse_status(at(1000));
        assert!(matches!(deleting().with(refused).decide(), Decision::Correct(_)));
        let observing = deleting().with(refused).with(|scene| scene.target.mode = Mode::Observe);
        assert_eq!(observing.decide(), released(true));
    }

    #[test]
    fn a_deletion_that_is_held_keeps_the_finalizer() {
        type Change = fn(&mut Scene);
        let table: &[(Held, Change)] = &[
            (Held::Suspended, |scene| scene.facts.suspended = Some(true)),
            (Held::Paused, |scene| scene.object.paused = true),
            (Held::NotAllowed, |scene| scene.facts.allowed = Some(false)),
            (Held::TemplateFails, |scene| scene.facts.identity = None),
            (Held::NotListed, |scene| scene.surroundings.listed = false),
            (Held::ScopeIncomplete, |scene| scene.surroundings.scope_complete = false),
            (Held::Limited, |scene| scene.surroundings.room = Room::AfterAnEnd),
        ];
        for (held, change) in table {
            assert_eq!(deleting().with(change).decide(), Decision::Nothing(*held));
        }
    }

    #[test]
    fn a_deletion_waits_for_its_window() {
        let closed = |scene: &mut Scene| scene.surroundings.window_opens = Some(at(2000));
        let wait = Decision::Wait { until: at(2000), why: Held::OutsideDeletionWindow };
        assert_eq!(deleting().with(closed).decide(), wait);
        let accepted = deleting().with(closed).corrected(CorrectedReason::CorrectionStarted, 8, owns("db"));
        assert!(matches!(accepted.decide(), Decision::Correct(_)), "{:?}", accepted.decide());
        let orphaned = deleting().with(closed).with(|scene| scene.object.orphan = true);
        assert_eq!(orphaned.decide(), released(true), "nothing is done outside");
    }

    #[test]
    fn a_deleting_object_without_our_finalizer_is_left_alone() {
        let scene = deleting().with(|scene| scene.object.finalizers = Box::default());
        assert_eq!(scene.decide(), Decision::Nothing(Held::Deleting));
    }

    #[test]
    fn the_finalizer_goes_once_the_outside_is_gone() {
        let scene = deleting().with(|scene| {
            scene.memory.begin(at(900), None);
            scene.memory.finish(&correction(Action::Delete), &Outcome::Applied, at(900));
        });
        assert_eq!(scene.decide(), released(false));
    }

    #[test]
    fn a_deletion_that_asked_nothing_leaves_it_behind() {
        let scene = deleting().with(|scene| {
            scene.memory.begin(at(900), None);
            scene.memory.finish(&correction(Action::Delete), &Outcome::AllSkipped, at(900));
        });
        assert_eq!(scene.decide(), released(true));
    }

    #[test]
    fn deletions_that_are_not_done_back_off() {
        for outcome in [refused(409), Outcome::Underway { retry_after: None }] {
            let scene = deleting().with(|scene| {
                for _ in 0..4 {
                    scene.memory.begin(at(995), None);
                    scene.memory.finish(&correction(Action::Delete), &outcome, at(995));
                }
            });
            assert_eq!(scene.decide(), Decision::Wait { until: at(1013), why: Held::Delayed }, "{outcome:?}");
        }
    }

    #[test]
    fn a_deletion_that_cannot_be_sent_waits_shortly() {
        let scene = deleting().with(|scene| {
            for _ in 0..9 {
                scene.memory.begin(at(1000), None);
                scene.memory.finish(&correction(Action::Delete), &doubtful(Doubt::CredentialUnavailable), at(1000));
            }
        });
        assert_eq!(scene.decide(), Decision::Wait { until: at(1030), why: Held::Unsendable });
        let asked = scene.with(|scene| scene.object.asked.get_or_insert_default().retry = Some("now".into()));
        assert!(matches!(asked.decide(), Decision::Correct(_)), "{:?}", asked.decide());
    }

    #[test]
    fn a_verdict_from_before_ends_no_doubt_of_deletion() {
        let retry_after = Some(std::time::Duration::from_secs(60));
        let doubtful = doubtful_until(Doubt::ServerError, retry_after);
        let scene = deleting().observed(ObservedReason::InSync).with(|scene| {
            scene.memory.begin(at(995), None);
            scene.memory.finish(&correction(Action::Delete), &doubtful, at(995));
            scene.memory.observe(&scene.object, Some(desired_hash()), 10, at(995));
        });
        assert_eq!(scene.decide(), Decision::Wait { until: at(1055), why: Held::Delayed });
    }

    #[test]
    fn a_deletion_under_way_keeps_the_finalizer() {
        let asked = |retry_after| {
            deleting().corrected(CorrectedReason::CorrectionStarted, 8, owns("db")).with(|scene| {
                scene.memory.begin(at(995), None);
                scene.memory.finish(&correction(Action::Delete), &Outcome::Underway { retry_after }, at(995));
            })
        };
        let Decision::Correct(again) = asked(None).decide() else { unreachable!("{:?}", asked(None).decide()) };
        assert_eq!(again.number, 9, "a new request, which a stored answer does not stand for");
        let later = asked(Some(std::time::Duration::from_secs(60)));
        assert_eq!(later.decide(), Decision::Wait { until: at(1055), why: Held::Delayed });
    }

    /// An object whose eighth correction was a deletion that ended so, with this verdict after it.
    fn tried(outcome: &Outcome, verdict: ObservedReason) -> Scene {
        let reason = if *outcome == Outcome::FoundNothing { DeletionUnclear } else { CorrectionStarted };
        let scene = deleting().corrected(reason, 8, owns("db")).observed(verdict);
        scene.with(|scene| {
            scene.memory.begin(at(999), None);
            scene.memory.finish(&correction(Action::Delete), outcome, at(999));
            scene.memory.begin(at(999), None);
            scene.memory.finish(&correction(Action::Delete), outcome, at(999));
        })
    }

    #[test]
    fn a_poll_that_finds_it_absent_ends_a_deletion() {
        for outcome in [Outcome::Underway { retry_after: None }, Outcome::FoundNothing, refused(409)] {
            for absent in [ObservedReason::NotCreated, ObservedReason::ExternalMissing] {
                assert_eq!(tried(&outcome, absent).decide(), released(false), "{outcome:?} {absent}");
            }
        }
    }

    #[test]
    fn only_a_current_attested_absence_ends_a_deletion() {
        type Change = fn(&mut Scene);
        let changes: &[(&str, Change)] = &[
            ("not attested", |scene| scene.surroundings.attested = false),
            ("of an earlier try", |scene| {
                let conditions = &mut scene.object.conditions;
                let said = conditions.correction_status();
                set_corrected(conditions, &CorrectionStatus { correction: 9, ..said });
            }),
            ("of another generation", |scene| scene.object.generation = Some(4)),
            ("of another desired state", |scene| scene.facts.desired_hash = None),
            ("nothing was sent by this process", |scene| scene.memory = ObjectMemory::new(at(0), None)),
            ("other steps were sent", |scene| scene.target.correct_hash += 1),
            ("paused", |scene| scene.object.paused = true),
        ];
        for outcome in [Outcome::Underway { retry_after: None }, Outcome::FoundNothing] {
            for (what, change) in changes {
                let decision = tried(&outcome, ObservedReason::NotCreated).with(change).decide();
                assert!(!matches!(decision, Decision::ReleaseFinalizer { .. }), "{what}: {decision:?}");
            }
            let held = tried(&outcome, ObservedReason::NotCreated).with(|scene| {
                scene.memory.arrive(scene.object.conditions.observed(), at(995));
            });
            assert_eq!(held.decide(), Decision::Wait { until: at(1005), why: Held::NotAttested });
        }
    }

    #[test]
    fn a_deletion_that_found_nothing_waits_for_its_poll() {
        let hour = Decision::Wait { until: at(999 + 3600), why: Held::NotVerified };
        for reason in [ObservedReason::PollTimedOut, ObservedReason::Settling] {
            assert_eq!(tried(&Outcome::FoundNothing, reason).decide(), hour, "{reason}");
        }
        let unpolled =
            tried(&Outcome::FoundNothing, ObservedReason::InSync).with(|scene| scene.object.conditions.observed = None);
        assert_eq!(unpolled.decide(), hour);
        let later = unpolled.clone().with(|scene| scene.now = at(999 + 3600));
        assert!(matches!(later.decide(), Decision::Correct(_)), "{:?}", later.decide());
        let asked =
            unpolled.clone().with(|scene| scene.object.asked.get_or_insert_default().retry = Some("now".into()));
        assert!(matches!(asked.decide(), Decision::Correct(_)), "{:?}", asked.decide());
        let edited = unpolled.clone().with(|scene| scene.target.correct_hash += 1);
        assert_eq!(edited.decide(), Decision::Wait { until: at(1001), why: Held::Delayed }, "other steps");
        for end in [
            |scene: &mut Scene| scene.object.orphan = true,
            |scene: &mut Scene| {
                scene.object.asked.get_or_insert_default().give_up = Some("db".into());
            },
        ] {
            assert_eq!(unpolled.clone().with(end).decide(), released(true));
        }
    }

    #[test]
    fn a_resource_that_is_still_found_is_told_once() {
        for reason in [ObservedReason::InSync, ObservedReason::FieldsDiffer, ObservedReason::NotUpdated] {
            let scene = tried(&Outcome::FoundNothing, reason);
            let Decision::WriteStatus(status) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
            assert_eq!((status.reason, status.correction), (Some(DeletionUnclear), 8));
            assert!(status.text.contains("the read still finds the external resource"), "{}", status.text);
            let told = scene.with(|scene| set_corrected(&mut scene.object.conditions, &status));
            assert_eq!(told.decide(), Decision::Wait { until: at(1001), why: Held::Delayed });
            let again = told.with(|scene| scene.now = at(1001));
            let Decision::Correct(correction) = again.decide() else { unreachable!("{:?}", again.decide()) };
            assert!(correction.expects_resource);
            assert_eq!(correction.ended(&Outcome::FoundNothing).text, status.text, "no news");
        }
    }

    #[test]
    fn a_deletion_expects_what_the_last_verdict_found() {
        let expects = |scene: Scene| {
            let scene = scene.with(|scene| scene.now = at(5000));
            let Decision::Correct(correction) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
            correction.expects_resource
        };
        for reason in ObservedReason::ALL {
            let is_found = [
                ObservedReason::InSync,
                ObservedReason::FieldsDiffer,
                ObservedReason::NotUpdated,
                ObservedReason::Settling,
                ObservedReason::AllMissing,
            ];
            assert_eq!(expects(deleting().observed(*reason)), is_found.contains(reason), "{reason}");
            let unclear = deleting().observed(*reason).corrected(DeletionUnclear, 8, owns("db"));
            assert!(expects(unclear), "it found nothing before: {reason}");
            let approved = deleting().observed(*reason).corrected(CorrectedReason::AwaitingApproval, 8, owns("db"));
            assert!(expects(approved), "it may have found nothing before: {reason}");
            let verified = deleting().corrected(CorrectedReason::AwaitingApproval, 8, owns("db")).observed(*reason);
            assert_eq!(expects(verified), is_found.contains(reason), "nothing was tried since: {reason}");
        }
        assert!(!expects(deleting().with(|scene| scene.object.conditions.observed = None)));
        let before = |reason| deleting().observed(ObservedReason::InSync).corrected(reason, 8, owns("db"));
        assert!(!expects(before(CorrectionStarted)), "a deletion was accepted since");
        assert!(
            expects(before(CorrectedReason::CorrectionFailed)) && expects(before(CorrectedReason::CorrectionApplied))
        );
        let polled = before(CorrectionStarted).observed(ObservedReason::InSync);
        assert!(expects(polled), "a poll found it after the deletion was accepted");
    }
}
