use super::*;
use crate::engine::correction_limits::Room;
use crate::engine::corrections::outcome::Unstored;
use crate::engine::corrections::{Correction, Doubt, FailedStep, Outcome, Reach};
use crate::engine::fixtures::{
    CORRECT_HASH, Scene, at, claims, correction, desired_hash, doubtful, moved, owns, refused, set_corrected, status,
    target,
};
use crate::engine::memory::ObjectMemory;
use drift_api::condition::{
    Claim, ClaimedName, CorrectedReason, CorrectionStatus, DesiredHash, DifferingFields, NotedSecrets, ObservedReason,
    SecretMark, SecretMarks, Tag,
};
use drift_api::secrets::labelled_secrets::SecretVersion;
use drift_language::{Existing, Mode};
use serde_json::json;
use std::time::Duration;

/// The eighth correction, with this claim.
const fn correct(action: Action, claim_first: bool) -> Option<(Action, u64, bool)> {
    Some((action, 8, claim_first))
}

fn acted(decision: Decision) -> Option<(Action, u64, bool)> {
    match decision {
        Decision::Correct(correction) => Some((correction.action, correction.number, correction.claim_first)),
        _ => None,
    }
}

fn written(decision: &Decision) -> Option<(Option<CorrectedReason>, u64, Option<Claim>)> {
    match decision {
        Decision::WriteStatus(status) => Some((status.reason, status.correction, status.claim.clone())),
        _ => None,
    }
}

fn says(
    reason: CorrectedReason,
    correction: u64,
    claim: Option<Claim>,
) -> Option<(Option<CorrectedReason>, u64, Option<Claim>)> {
    Some((Some(reason), correction, claim))
}

fn tag(correction: u64, unhealed: u32) -> Tag {
    Tag { desired_hash: Some(desired_hash()), correction, unhealed, ..Tag::default() }
}

#[test]
fn an_absent_resource_is_created_and_a_different_one_updated() {
    for (reason, action) in [
        (ObservedReason::NotCreated, Action::Create),
        (ObservedReason::ExternalMissing, Action::Create),
        (ObservedReason::NotUpdated, Action::Update),
        (ObservedReason::FieldsDiffer, Action::Update),
    ] {
        assert_eq!(acted(Scene::new().observed(reason).decide()), correct(action, false), "{reason}");
    }
}

#[test]
fn a_verdict_that_names_no_fields_lets_nothing_be_skipped() {
    let (every, named) = (DifferingFields::every(), DifferingFields::named(["a"]));
    let table = [
        (ObservedReason::FieldsDiffer, named.clone(), &named),
        (ObservedReason::FieldsDiffer, DifferingFields::default(), &every),
        (ObservedReason::NotCreated, DifferingFields::default(), &every),
        (ObservedReason::NotCreated, named.clone(), &every),
    ];
    for (reason, fields, expected) in table {
        let decision = Scene::new().observed_with(reason, Tag { fields, ..tag(7, 0) }).decide();
        let Decision::Correct(correction) = decision else { unreachable!("{decision:?}") };
        assert_eq!(&correction.fields, expected, "{reason}");
    }
}

#[test]
fn nothing_is_done_without_all_that_a_correction_needs() {
    type Change = fn(&mut Scene);
    let table: &[(Held, Change)] = &[
        (Held::Observing, |scene| scene.target.mode = Mode::Observe),
        (Held::NotListed, |scene| scene.surroundings.listed = false),
        (Held::Suspended, |scene| scene.facts.suspended = Some(true)),
        (Held::TemplateFails, |scene| scene.facts.suspended = None),
        (Held::Paused, |scene| scene.object.paused = true),
        (Held::NotAllowed, |scene| scene.facts.allowed = Some(false)),
        (Held::TemplateFails, |scene| scene.facts.allowed = None),
        (Held::TemplateFails, |scene| scene.facts.identity = None),
        (Held::TemplateFails, |scene| scene.facts.desired_hash = None),
        (Held::VerdictOutdated, |scene| scene.facts.desired_hash = Some(DesiredHash::of(&json!("another")))),
        (Held::VerdictOutdated, |scene| scene.object.generation = Some(4)),
        (Held::VerdictOutdated, |scene| scene.object.generation = None),
        (Held::NoVerdict, |scene| scene.object.conditions.observed = None),
        (Held::NoAction, |scene| scene.target.actions.update = false),
        (Held::NotAttested, |scene| scene.surroundings.attested = false),
        (Held::BreakerOpen, |scene| scene.surroundings.breaker_holds = true),
        (Held::Limited, |scene| scene.surroundings.room = Room::AfterAnEnd),
    ];
    for (held, change) in table {
        assert_eq!(Scene::new().with(change).decide(), Decision::Nothing(*held));
    }
}

#[test]
fn only_a_verdict_of_the_last_correction_counts() {
    for correction in [0, 6] {
        let scene = Scene::new().observed_with(ObservedReason::FieldsDiffer, tag(correction, 0));
        assert_eq!(scene.decide(), Decision::Nothing(Held::NotVerified), "{correction}");
    }
}

#[test]
fn k_is_seeded_from_the_larger_of_the_two_conditions() {
    let scene = Scene::new().observed_with(ObservedReason::NotCreated, tag(9, 0)).without_status();
    let Decision::Correct(correction) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
    assert_eq!((correction.number, correction.claim_first), (10, true));
}

/// An object whose last create was refused because the resource exists, with this verdict.
fn contradicted(reason: ObservedReason) -> Scene {
    let record = CorrectionStatus {
        exists: Some(desired_hash()),
        ..status(8, owns("db")).keeping(CorrectedReason::CorrectionFailed, "create: 409", Some(3))
    };
    Scene::new().observed_with(reason, tag(8, 1)).with(|scene| {
        set_corrected(&mut scene.object.conditions, &record);
        scene.memory.begin(at(900), None);
        scene.memory.land_outcome(record);
    })
}

#[test]
fn a_create_of_what_exists_is_tried_once_an_hour() {
    let unknown = contradicted(ObservedReason::AbsenceContradicted);
    let waits = Decision::Wait { until: at(4500), why: Held::AttemptsExhausted };
    assert_eq!(unknown.decide(), waits);
    let later = |scene: &Scene| scene.clone().with(|scene| scene.now = at(4500));
    let asked = |scene: &Scene| {
        let asked = scene.clone().with(|scene| scene.object.asked.get_or_insert_default().retry = Some("now".into()));
        asked.with(|scene| scene.memory.observe(&scene.object, Some(desired_hash()), 10, scene.now))
    };
    for due in [later(&unknown), asked(&unknown)] {
        let Decision::WriteStatus(record) = due.decide() else { unreachable!("{:?}", due.decide()) };
        assert_eq!((record.exists, record.correction, &*record.text), (None, 8, "create: 409"), "a poll comes first");
        let drifted = due.with(|scene| set_corrected(&mut scene.object.conditions, &record));
        assert_eq!(drifted.decide(), Decision::Nothing(Held::VerdictUnknown));
        let polled = drifted.observed_with(ObservedReason::NotCreated, tag(8, 1));
        assert_eq!(acted(polled.decide()), Some((Action::Create, 9, false)));
    }
    // Another writer restored an earlier verdict.
    for absent in [ObservedReason::NotCreated, ObservedReason::ExternalMissing] {
        assert_eq!(contradicted(absent).decide(), waits, "{absent}");
        assert_eq!(acted(later(&contradicted(absent)).decide()), Some((Action::Create, 9, false)), "{absent}");
    }
}

#[test]
fn a_contradiction_stays_while_no_create_may_begin() {
    let due = contradicted(ObservedReason::AbsenceContradicted).with(|scene| scene.now = at(4500));
    let closed = due.clone().with(|scene| scene.surroundings.window_opens = Some(at(5000)));
    assert_eq!(closed.decide(), Decision::Wait { until: at(5000), why: Held::OutsideWindow });
    let open = due.clone().with(|scene| scene.surroundings.breaker_holds = true);
    assert_eq!(open.decide(), Decision::Nothing(Held::BreakerOpen));
    let approving = due.with(|scene| scene.target.mode = drift_language::Mode::Approve);
    assert_eq!(approving.decide(), Decision::Nothing(Held::AwaitingApproval));
    let asked = approving.with(|scene| scene.object.asked.get_or_insert_default().retry = Some("now".into()));
    assert!(matches!(asked.decide(), Decision::WriteStatus(_)), "{:?}", asked.decide());
}

#[test]
fn a_contradiction_holds_for_one_state() {
    let present = contradicted(ObservedReason::FieldsDiffer);
    assert_eq!(acted(present.decide()), Some((Action::Update, 9, false)));
    let in_sync = contradicted(ObservedReason::InSync).decide();
    assert_eq!(written(&in_sync), says(CorrectedReason::CorrectionApplied, 8, owns("db")));
    let Decision::WriteStatus(cleared) = in_sync else { return };
    assert_eq!(cleared.exists, None);
    let edited = contradicted(ObservedReason::NotCreated).with(|scene| scene.object.generation = Some(4));
    let edited = edited.observed_with(ObservedReason::NotCreated, tag(8, 0));
    assert_eq!(acted(edited.decide()), Some((Action::Create, 9, false)));
    let unable = contradicted(ObservedReason::AbsenceContradicted).with(|scene| scene.target.actions.create = false);
    assert_eq!(unable.decide(), Decision::Nothing(Held::NoAction));
    let paused = contradicted(ObservedReason::AbsenceContradicted).with(|scene| {
        scene.object.paused = true;
        scene.now = at(9000);
    });
    assert_eq!(paused.decide(), Decision::Nothing(Held::Paused));
}

#[test]
fn an_unknown_verdict_holds_everything() {
    for reason in ObservedReason::ALL {
        if reason.status() == drift_api::condition::ConditionStatus::Unknown {
            assert_eq!(Scene::new().observed(*reason).decide(), Decision::Nothing(Held::VerdictUnknown), "{reason}");
        }
    }
}

#[test]
fn the_breaker_holds_incidents_only() {
    let held = |reason| Scene::new().observed(reason).with(|scene| scene.surroundings.breaker_holds = true).decide();
    assert_eq!(held(ObservedReason::ExternalMissing), Decision::Nothing(Held::BreakerOpen));
    assert_eq!(acted(held(ObservedReason::NotCreated)), correct(Action::Create, false));
    assert_eq!(acted(held(ObservedReason::NotUpdated)), correct(Action::Update, false));
}

#[test]
fn what_was_there_before_is_refused_once() {
    let scene = Scene::new().corrected(CorrectedReason::CorrectionFailed, 7, None);
    let decision = scene.decide();
    assert_eq!(written(&decision), says(CorrectedReason::NotOurs, 7, None));
    let Decision::WriteStatus(status) = decision else { return };
    let written = scene.clone().with(|scene| {
        set_corrected(&mut scene.object.conditions, &status);
    });
    assert_eq!(written.decide(), Decision::Nothing(Held::NotOurs));
    let adopting = scene.with(|scene| scene.target.existing = Existing::Adopt);
    assert_eq!(acted(adopting.decide()), correct(Action::Update, true));
}

#[test]
fn an_edited_identity_is_neither_updated_nor_created() {
    for reason in [ObservedReason::NotUpdated, ObservedReason::NotCreated] {
        let scene = Scene::new().with(|scene| scene.facts.identity = Some("new".into())).observed(reason);
        assert_eq!(written(&scene.decide()), says(CorrectedReason::IdentityChanged, 7, owns("db")));
    }
}

#[test]
fn a_claim_without_work_is_interrupted_first() {
    let scene = Scene::new().corrected(CorrectedReason::CorrectionStarted, 7, owns("db"));
    assert_eq!(written(&scene.decide()), says(CorrectedReason::CorrectionFailed, 8, owns("db")));
}

#[test]
fn the_finalizer_is_put_before_the_claim() {
    let deleting = |scene: &mut Scene| scene.target.actions.delete = true;
    let fresh = Scene::new().without_status().with(deleting);
    let creating = fresh.clone().observed(ObservedReason::NotCreated);
    let Decision::Correct(correction) = creating.decide() else { unreachable!("{:?}", creating.decide()) };
    assert!(correction.claim_first && correction.put_finalizer);
    let adopting = fresh.observed(ObservedReason::InSync).with(|scene| scene.target.existing = Existing::Adopt);
    assert_eq!(adopting.decide(), Decision::PutFinalizer);
    assert_eq!(adopting.with_finalizer().decide(), Decision::Nothing(Held::InSync));
    assert_eq!(Scene::new().with(deleting).decide(), Decision::PutFinalizer, "what is ours already gets it too");
}

#[test]
fn a_finalizer_that_nobody_will_use_is_released() {
    let released = Decision::ReleaseFinalizer { left_behind: true };
    assert_eq!(Scene::new().with_finalizer().decide(), released);
    let observing = Scene::new().with_finalizer().with(|scene| {
        scene.target.actions.delete = true;
        scene.target.mode = Mode::Observe;
    });
    assert_eq!(observing.decide(), released);
}

#[test]
fn in_sync_again_clears_a_failure_once() {
    let cleared = |reason, owns| Scene::new().corrected(reason, 7, owns).observed(ObservedReason::InSync).decide();
    for reason in [CorrectedReason::CorrectionFailed, CorrectedReason::AttemptsExhausted] {
        let expected = says(CorrectedReason::CorrectionApplied, 7, owns("db"));
        assert_eq!(written(&cleared(reason, owns("db"))), expected, "{reason}");
    }
    let numbered = cleared(CorrectedReason::NotOurs, None);
    assert_eq!(numbered, Decision::Nothing(Held::InSync), "it owns nothing, and the number stays");
    let nudging = Scene::new().corrected(CorrectedReason::CorrectionFailed, 7, None).observed(ObservedReason::InSync);
    let nudging = nudging.with(|scene| {
        scene.target.actions = drift_language::Actions { nudge: true, ..drift_language::Actions::default() }
    });
    assert_eq!(written(&nudging.decide()), says(CorrectedReason::CorrectionApplied, 7, None), "a nudge owns nothing");
    let never =
        Scene::new().corrected(CorrectedReason::NotOurs, 0, None).observed_with(ObservedReason::InSync, tag(0, 0));
    assert_eq!(never.decide(), Decision::WriteStatus(CorrectionStatus::default()));
    assert_eq!(cleared(CorrectedReason::CorrectionApplied, owns("db")), Decision::Nothing(Held::InSync));
    assert_eq!(cleared(CorrectedReason::IdentityChanged, owns("old")), Decision::Nothing(Held::InSync));
}

#[test]
fn exhausted_attempts_are_noted_once_and_wait_an_hour() {
    let scene = Scene::new().observed_with(ObservedReason::FieldsDiffer, tag(7, 10));
    let decision = scene.decide();
    assert_eq!(written(&decision), says(CorrectedReason::AttemptsExhausted, 7, owns("db")));
    let Decision::WriteStatus(status) = decision else { return };
    let written = scene.with(|scene| set_corrected(&mut scene.object.conditions, &status));
    assert_eq!(written.decide(), Decision::Wait { until: at(3600), why: Held::AttemptsExhausted });
    let later = written.clone().with(|scene| scene.now = at(3600));
    assert_eq!(acted(later.decide()), correct(Action::Update, false));
    let asked = written.with(|scene| scene.object.asked.get_or_insert_default().retry = Some("now".into()));
    assert_eq!(acted(asked.decide()), correct(Action::Update, false));
}

#[test]
fn exhausted_attempts_keep_the_last_refusal() {
    let refused = status(7, owns("db")).keeping(CorrectedReason::CorrectionFailed, "update: 422: quota", Some(3));
    let scene = Scene::new().with(|scene| set_corrected(&mut scene.object.conditions, &refused));
    let mut scene = scene.observed_with(ObservedReason::FieldsDiffer, tag(7, 10));
    let expected = format!("{}; before: update: 422: quota", Held::AttemptsExhausted.cause());
    let Decision::WriteStatus(exhausted) = scene.decide() else { panic!("{:?}", scene.decide()) };
    assert_eq!((exhausted.reason, &*exhausted.text), (Some(CorrectedReason::AttemptsExhausted), &*expected));
    set_corrected(&mut scene.object.conditions, &exhausted);
    assert_eq!(scene.decide(), Decision::Wait { until: at(3600), why: Held::AttemptsExhausted }, "written once");
    scene.now = at(3600);
    let Decision::Correct(hourly) = scene.decide() else { panic!("{:?}", scene.decide()) };
    assert_eq!(hourly.claim().text, "updating the external resource; before: update: 422: quota");
    let again = hourly.claim();
    set_corrected(&mut scene.object.conditions, &again);
    let still = again.after_failure(Held::AttemptsExhausted.cause());
    assert_eq!(still, expected, "the text does not grow");
    let applied = again.keeping(CorrectedReason::CorrectionApplied, "updated", Some(3));
    assert_eq!(applied.after_failure("x"), "x");
    assert_eq!(status(7, owns("db")).interrupted(Some(3)).after_failure("x"), "x", "nothing was refused");
}

#[test]
fn a_correction_in_doubt_keeps_its_number() {
    let outcome = doubtful(Doubt::ServerError);
    let scene = Scene::new().with(|scene| {
        for _ in 0..3 {
            scene.memory.begin(at(1000), None);
            scene.memory.finish(&correction(Action::Update), &outcome, at(1000));
        }
    });
    assert_eq!(scene.decide(), Decision::Wait { until: at(1006), why: Held::Delayed });
    assert_eq!(acted(scene.with(|scene| scene.now = at(1006)).decide()), correct(Action::Update, false));
}

#[test]
fn what_could_not_be_sent_is_tried_again_soon() {
    let tried = |times: u64, exhausted: bool| {
        let scene = Scene::new().observed_with(ObservedReason::FieldsDiffer, tag(7, if exhausted { 10 } else { 0 }));
        scene.with(|scene| {
            scene.now = at(5000);
            for _ in 0..times {
                scene.memory.begin(at(5000), None);
                scene.memory.finish(&correction(Action::Update), &doubtful(Doubt::SecretUnavailable), at(5000));
            }
        })
    };
    for (times, until) in [(1, 5001), (4, 5008), (40, 5030)] {
        for exhausted in [false, true] {
            let scene = tried(times, exhausted);
            assert_eq!(scene.decide(), Decision::Wait { until: at(until), why: Held::Unsendable }, "{times}");
            let asked =
                scene.clone().with(|scene| scene.object.asked.get_or_insert_default().retry = Some("now".into()));
            assert_eq!(acted(asked.decide()), correct(Action::Update, false), "somebody asks");
            let mended = scene.with(|scene| _ = scene.memory.delay.send_anew());
            assert_eq!(acted(mended.decide()), correct(Action::Update, false), "a Secret changed");
        }
    }
}

/// Returns a scene in which another writer removed our last status.
fn lost(scene: Scene, claim: Option<Claim>) -> Scene {
    let written = status(8, claim).keeping(CorrectedReason::CorrectionApplied, "updated", Some(3));
    scene.without_status().with(|scene| scene.memory.land_outcome(written))
}

#[test]
fn a_lost_status_is_put_back_whatever_the_verdict() {
    for reason in ObservedReason::ALL {
        let scene = lost(Scene::new().observed(*reason), owns("db")).with(|scene| scene.object.paused = true);
        assert_eq!(written(&scene.decide()), says(CorrectedReason::CorrectionApplied, 8, owns("db")), "{reason}");
    }
}

#[test]
fn whoever_undoes_our_writes_is_answered_once_a_minute() {
    let scene = lost(Scene::new(), owns("db")).with(|scene| {
        (0..6).for_each(|_| scene.memory.writes.count_repair(at(999)));
    });
    assert_eq!(scene.decide(), Decision::Wait { until: at(1059), why: Held::WriteUndone });
    let stripped = Scene::new().with(|scene| {
        scene.target.actions.delete = true;
        (0..6).for_each(|_| scene.memory.writes.land_finalizer(at(999)));
    });
    assert_eq!(stripped.decide(), Decision::Wait { until: at(1059), why: Held::WriteUndone });
    let altered = Scene::new().corrected(CorrectedReason::CorrectionStarted, 7, owns("db")).with(|scene| {
        (0..6).for_each(|_| scene.memory.writes.count_repair(at(999)));
    });
    assert_eq!(altered.decide(), Decision::Wait { until: at(1059), why: Held::WriteUndone });
    let correcting = Scene::new().with(|scene| (0..6).for_each(|_| scene.memory.writes.count_repair(at(999))));
    assert_eq!(acted(correcting.decide()), correct(Action::Update, false), "a correction is no repair");
}

#[test]
fn another_targets_finalizer_is_not_touched() {
    type Change = fn(&mut Scene);
    let table: &[(Held, Change)] = &[(Held::NotListed, |scene| scene.surroundings.listed = false)];
    for (held, change) in table {
        let releasing = Scene::new().with_finalizer().with(change);
        let observing = releasing.clone().with(|scene| scene.target.mode = Mode::Observe);
        let deleting = releasing.clone().with(|scene| scene.object.deleting = true);
        let putting = Scene::new().with(change).with(|scene| scene.target.actions.delete = true);
        for scene in [releasing, observing, deleting, putting] {
            assert_eq!(scene.decide(), Decision::Nothing(*held));
        }
    }
}

#[test]
fn refused_statuses_hold_what_could_not_be_noted() {
    let scene = Scene::new().with(|scene| _ = scene.memory.writes.refuse_status(at(999)));
    let waiting = scene.clone().with(|scene| scene.now = at(999));
    assert_eq!(waiting.decide(), Decision::Wait { until: at(1000), why: Held::WriteRefused });
    assert_eq!(acted(scene.decide()), correct(Action::Update, false));
}

#[test]
fn a_refused_finalizer_holds_the_correction_that_puts_it() {
    let scene = Scene::new().with(|scene| _ = scene.memory.writes.refuse_finalizer(at(1000)));
    assert_eq!(scene.decide(), Decision::Wait { until: at(1001), why: Held::WriteRefused });
    assert_eq!(acted(scene.with(|scene| scene.now = at(1001)).decide()), correct(Action::Update, false));
}

#[test]
fn refused_statuses_hold_no_finalizer() {
    let scene = Scene::new().with_finalizer().with(|scene| _ = scene.memory.writes.refuse_status(at(1000)));
    assert_eq!(scene.decide(), Decision::ReleaseFinalizer { left_behind: true });
    let refused = scene.with(|scene| _ = scene.memory.writes.refuse_finalizer(at(1000)));
    assert_eq!(refused.decide(), Decision::Wait { until: at(1001), why: Held::WriteRefused });
}

#[test]
fn a_write_that_is_overtaken_is_not_tried_for_ever() {
    let scene = Scene::new().with(|scene| (0..4).for_each(|_| scene.memory.writes.lose_race(at(999))));
    assert_eq!(acted(scene.decide()), correct(Action::Update, false));
    let fifth = scene.with(|scene| scene.memory.writes.lose_race(at(1000)));
    assert_eq!(fifth.decide(), Decision::Wait { until: at(1001), why: Held::RaceLost });
    assert_eq!(acted(fifth.with(|scene| scene.now = at(1001)).decide()), correct(Action::Update, false));
}

#[test]
fn a_create_only_claim_is_void_once_something_stands() {
    let turned_away =
        |reason| Scene::new().corrected(CorrectedReason::CorrectionFailed, 7, claims("db")).observed(reason);
    assert_eq!(acted(turned_away(ObservedReason::NotCreated).decide()), correct(Action::Create, false));
    let there = turned_away(ObservedReason::NotUpdated).decide();
    assert_eq!(written(&there), says(CorrectedReason::NotOurs, 7, None));
    let as_desired = turned_away(ObservedReason::InSync).decide();
    assert_eq!(written(&as_desired), says(CorrectedReason::NotOurs, 7, None));
    let adopting = turned_away(ObservedReason::NotUpdated).with(|scene| scene.target.existing = Existing::Adopt);
    assert_eq!(acted(adopting.decide()), correct(Action::Update, true));
}

#[test]
fn an_edited_correct_polls_first_while_in_doubt() {
    let in_doubt = |why| {
        let outcome = doubtful(why);
        Scene::new().with(|scene| {
            scene.memory.finish(&correction(Action::Update), &outcome, at(999));
            scene.target.correct_hash = CORRECT_HASH + 1;
        })
    };
    let scene = in_doubt(Doubt::NoAnswer);
    assert_eq!(written(&scene.decide()), says(CorrectedReason::CorrectionFailed, 8, owns("db")));
    let unknown = scene.clone().with(|scene| scene.surroundings.scope_complete = false);
    assert_eq!(
        written(&unknown.decide()),
        says(CorrectedReason::CorrectionFailed, 8, owns("db")),
        "others are unknown"
    );
    let polled = scene.clone().with(|scene| {
        let Decision::WriteStatus(status) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
        set_corrected(&mut scene.object.conditions, &status);
        scene.memory.land_status(status, at(1000));
    });
    assert_eq!(polled.decide(), Decision::Nothing(Held::NotVerified));
    let verified = polled.observed(ObservedReason::FieldsDiffer).decide();
    assert_eq!(acted(verified), Some((Action::Update, 9, false)));
    let unedited = scene.with(|scene| scene.target.correct_hash = CORRECT_HASH);
    assert_eq!(acted(unedited.decide()), correct(Action::Update, false));
    assert_eq!(acted(in_doubt(Doubt::TemplateFails).decide()), correct(Action::Update, false), "nothing was sent");
}

#[test]
fn a_replayed_verdict_is_held_for_ten_seconds() {
    let verdict_of = |scene: Scene, time: &str| {
        let time = time.to_owned();
        scene.with(|scene| {
            let observed = scene.object.conditions.observed.as_mut();
            observed.into_iter().for_each(|placed| placed.condition.last_transition_time = time.as_str().into());
            scene.memory.observe(&scene.object.clone(), Some(desired_hash()), 10, scene.now);
        })
    };
    let drifted = verdict_of(Scene::new(), "2026-01-01T00:00:01Z");
    assert_eq!(acted(drifted.decide()), correct(Action::Update, false));
    let healed = verdict_of(drifted.observed(ObservedReason::InSync), "2026-01-01T00:00:02Z");
    let replayed = verdict_of(healed.observed(ObservedReason::FieldsDiffer), "2026-01-01T00:00:01Z");
    assert_eq!(replayed.decide(), Decision::Wait { until: at(1010), why: Held::NotAttested });
    let later = verdict_of(replayed.clone().with(|scene| scene.now = at(1010)), "2026-01-01T00:00:01Z");
    assert_eq!(acted(later.decide()), correct(Action::Update, false));
    let anew = verdict_of(replayed, "2026-01-01T00:00:03Z");
    assert_eq!(acted(anew.decide()), correct(Action::Update, false), "the poller's own word");
}

#[test]
fn a_claim_of_another_scope_is_left() {
    for reason in [ObservedReason::FieldsDiffer, ObservedReason::ExternalMissing, ObservedReason::NotCreated] {
        let scene = Scene::new().corrected(CorrectedReason::CorrectionApplied, 7, moved(owns("db"))).observed(reason);
        let decision = scene.decide();
        assert_eq!(written(&decision), says(CorrectedReason::IdentityChanged, 7, moved(owns("db"))), "{reason}");
        let Decision::WriteStatus(status) = decision else { unreachable!() };
        let said = scene.with(|scene| set_corrected(&mut scene.object.conditions, &status));
        assert_eq!(said.decide(), Decision::Nothing(Held::IdentityChanged));
    }
    let back = Scene::new().corrected(CorrectedReason::IdentityChanged, 7, owns("db")).observed(ObservedReason::InSync);
    assert_eq!(written(&back.decide()), says(CorrectedReason::CorrectionApplied, 7, owns("db")));
}

#[test]
fn a_claim_without_scope_gets_it_with_the_next_status() {
    let without = Some(Claim::Owns(ClaimedName { identity: "db".into(), scope: None }));
    let scene = |reason, observed| Scene::new().corrected(reason, 7, without.clone()).observed(observed);
    let in_sync = scene(CorrectedReason::CorrectionApplied, ObservedReason::InSync);
    assert_eq!(in_sync.decide(), Decision::Nothing(Held::InSync), "no write of its own");
    let drifted = scene(CorrectedReason::CorrectionApplied, ObservedReason::FieldsDiffer);
    let Decision::Correct(correction) = drifted.decide() else { unreachable!("{:?}", drifted.decide()) };
    assert_eq!((correction.claim_first, correction.before.claim), (false, owns("db")));
    let failed = scene(CorrectedReason::CorrectionFailed, ObservedReason::InSync);
    assert_eq!(written(&failed.decide()), says(CorrectedReason::CorrectionApplied, 7, owns("db")));
}

#[test]
fn what_is_lost_is_made_again_after_an_hour() {
    let made = Correction { correct_hash: CORRECT_HASH, ..correction(Action::Create) };
    let step = FailedStep { label: None, reach: Reach::FirstWrite };
    let lost = Outcome::Unstored(step, Unstored::Unread("store.id: no field `id`".to_owned()));
    let scene = |seconds: u64| {
        Scene::new()
            .corrected(CorrectedReason::CorrectionFailed, 8, owns("db"))
            .observed(ObservedReason::NotCreated)
            .with(|scene| {
                scene.memory.begin(at(1000), None);
                scene.memory.finish(&made, &lost, at(1000));
                scene.now = at(1000 + seconds);
            })
    };
    let held = Decision::Wait { until: at(4600), why: Held::AttemptsExhausted };
    assert_eq!(scene(60).decide(), held);
    assert_eq!(acted(scene(3600).decide()), Some((Action::Create, 9, false)));
    let asked = scene(60).with(|scene| scene.object.asked.get_or_insert_default().retry = Some("now".into()));
    assert_eq!(acted(asked.decide()), Some((Action::Create, 9, false)));
    let mended = scene(60).with(|scene| scene.target.correct_hash = CORRECT_HASH + 1);
    assert_eq!(acted(mended.decide()), Some((Action::Create, 9, false)), "other steps may know it");
    let seen = scene(60).with(|scene| scene.memory.delay.end_doubt());
    assert_eq!(acted(seen.decide()), Some((Action::Create, 9, false)));
}

#[test]
fn an_interrupted_create_is_asked_for_again_by_its_key() {
    let key = |decision: Decision| match decision {
        Decision::Correct(correction) => correction.idempotency_key("u", 0, None),
        other => unreachable!("{other:?}"),
    };
    let bare = || Scene::new().without_status().with(|scene| scene.object.conditions.observed = None);
    let first = key(bare().observed(ObservedReason::NotCreated).decide());
    let interrupted = |reason: ObservedReason| {
        let started = status(0, owns("db")).keeping(CorrectedReason::CorrectionStarted, "creating", Some(3));
        let mut scene = bare();
        set_corrected(&mut scene.object.conditions, &started.interrupted(Some(3)));
        scene.observed(reason)
    };
    assert_eq!(key(interrupted(ObservedReason::NotCreated).decide()), first);
    assert_ne!(key(interrupted(ObservedReason::NotUpdated).decide()), first);
    let failed = bare().corrected(CorrectedReason::CorrectionFailed, 1, owns("db"));
    assert_ne!(key(failed.observed(ObservedReason::NotCreated).decide()), first, "that one was answered");
}

#[test]
fn a_closed_window_holds_what_has_not_begun() {
    let closed = |scene: &mut Scene| scene.surroundings.window_opens = Some(at(2000));
    let wait = Decision::Wait { until: at(2000), why: Held::OutsideWindow };
    for reason in [ObservedReason::NotCreated, ObservedReason::NotUpdated, ObservedReason::FieldsDiffer] {
        assert_eq!(Scene::new().observed(reason).with(closed).decide(), wait, "{reason}");
    }
    let interrupted = |reason: ObservedReason| {
        let started = status(7, owns("db")).keeping(CorrectedReason::CorrectionStarted, "creating", Some(3));
        let mut scene = Scene::new().with(closed);
        set_corrected(&mut scene.object.conditions, &started.interrupted(Some(3)));
        scene.observed(reason).decide()
    };
    assert_eq!(acted(interrupted(ObservedReason::NotCreated)), Some((Action::Create, 9, false)));
    assert_eq!(interrupted(ObservedReason::FieldsDiffer), wait);
    let in_doubt = |scene: &mut Scene| {
        scene.memory.begin(at(900), None);
        scene.memory.finish(&correction(Action::Update), &doubtful(Doubt::ServerError), at(900));
    };
    let doubtful = Scene::new().with(closed).with(in_doubt);
    assert!(matches!(doubtful.decide(), Decision::Correct(_)), "{:?}", doubtful.decide());
    let edited = doubtful.with(|scene| {
        scene.object.generation = Some(4);
        *scene = scene.clone().observed(ObservedReason::FieldsDiffer);
    });
    assert_eq!(edited.decide(), wait, "another spec");
    let replaced = |reason: CorrectedReason| {
        let replaced = status(7, owns("db")).keeping(reason, "deleted", Some(2));
        let mut scene = Scene::new().with(closed);
        set_corrected(&mut scene.object.conditions, &CorrectionStatus { replaced: true, ..replaced });
        let scene = scene.observed(ObservedReason::ExternalMissing);
        scene.situation().closed_until(Action::Create, &scene.situation().status())
    };
    assert_eq!(replaced(CorrectedReason::CorrectionStarted), None, "a replacement ends");
    assert_eq!(replaced(CorrectedReason::CorrectionApplied), Some(at(2000)), "it ended");
    let in_sync = Scene::new().with(closed).observed(ObservedReason::InSync).decide();
    assert_eq!(in_sync, Decision::Nothing(Held::InSync));
}

#[test]
fn an_interrupted_job_is_followed_whatever_it_does() {
    let asked_as = |by_job: bool| {
        let started = status(7, owns("db")).keeping(CorrectedReason::CorrectionStarted, "adopting", Some(3));
        let mut scene = Scene::new();
        scene.target.by_job = by_job;
        set_corrected(&mut scene.object.conditions, &started.interrupted(Some(3)));
        let decision = scene.observed(ObservedReason::FieldsDiffer).decide();
        let Decision::Correct(correction) = decision else { unreachable!("{decision:?}") };
        (correction.number, correction.asked_as())
    };
    assert_eq!(asked_as(true), (9, 8), "it goes on without us");
    assert_eq!(asked_as(false), (9, 9));
}

#[test]
fn each_job_is_announced_and_found_again_after_a_crash() {
    let scene = Scene::new().with(|scene| scene.target.by_job = true);
    let Decision::Correct(first) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
    assert!(first.is_announced() && !first.claim_first, "an update of what is ours too");
    // Every later process follows the same Job.
    let mut current = first.underway("create");
    for process in 0..3 {
        let mut scene = scene.clone();
        if current.reason == Some(CorrectedReason::CorrectionStarted) {
            current = current.interrupted(Some(3));
        }
        set_corrected(&mut scene.object.conditions, &current);
        let decision = scene.observed(ObservedReason::FieldsDiffer).decide();
        let Decision::Correct(next) = decision else { unreachable!("{decision:?}") };
        assert_eq!(next.asked_for(), first.asked_for(), "{process}");
        assert!(!next.is_announced(), "what stands says it already");
        current = if process == 0 { current } else { next.underway("create") };
    }
}

#[test]
fn an_unseen_job_is_only_looked_for() {
    let unseen = |change: fn(&mut Scene)| {
        let mut scene = Scene::new().with(|scene| scene.target.by_job = true);
        let Decision::Correct(begun) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
        let outcome = doubtful(Doubt::JobUnseen);
        let status = begun.ended(&outcome);
        assert_eq!((status.reason, status.correction), (Some(CorrectedReason::CorrectionStarted), 7));
        scene.memory.know(begun.before.clone());
        scene.memory.begin(at(900), None);
        scene.memory.finish(&begun, &outcome, at(900));
        set_corrected(&mut scene.object.conditions, &status);
        scene.memory.land_outcome(status);
        change(&mut scene);
        scene.observed(ObservedReason::FieldsDiffer).decide()
    };
    let decision = unseen(|_| {});
    let Decision::Correct(again) = decision else { unreachable!("{decision:?}") };
    assert!(again.was_begun && again.was_in_doubt && !again.is_announced());
    let decision = unseen(|scene| scene.object.generation = Some(4));
    let Decision::Correct(another) = decision else { unreachable!("{decision:?}") };
    assert!(!another.was_begun, "the edited object asks for another Job");
    let polls_first = says(CorrectedReason::CorrectionFailed, 8, owns("db"));
    assert_eq!(written(&unseen(|scene| scene.target.correct_hash = CORRECT_HASH + 1)), polls_first, "another text");
    assert_eq!(written(&unseen(|scene| scene.facts.identity = Some("new".into()))), polls_first, "another name");
}

#[test]
fn who_waits_for_another_job_says_so() {
    let mut scene = Scene::new();
    scene.memory.delay.await_job(at(1010));
    assert_eq!(scene.decide(), Decision::Wait { until: at(1010), why: Held::JobUnfinished });
}

/// Returns a scene in which another operator corrects.
fn nudged() -> Scene {
    Scene::new().with(|scene| {
        scene.target.actions = drift_language::Actions { nudge: true, ..drift_language::Actions::default() };
        scene.target.settle = Duration::from_secs(30);
    })
}

#[test]
fn whatever_drifted_is_nudged_without_a_claim() {
    let reasons = [
        ObservedReason::NotCreated,
        ObservedReason::NotUpdated,
        ObservedReason::ExternalMissing,
        ObservedReason::FieldsDiffer,
    ];
    for reason in reasons {
        for claim in [None, owns("db"), owns("another")] {
            let scene = nudged().corrected(CorrectedReason::CorrectionApplied, 7, claim).observed(reason);
            let Decision::Correct(nudge) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
            assert_eq!((nudge.action, nudge.number), (Action::Nudge, 8));
            assert!(!nudge.claim_first && !nudge.put_finalizer && !nudge.is_announced());
            assert_eq!(nudge.ended(&Outcome::Applied).claim, scene.object.conditions.correction_status().claim);
        }
    }
    let in_sync = nudged().observed(ObservedReason::InSync);
    assert_eq!(in_sync.decide(), Decision::Nothing(Held::InSync));
    let unknown = nudged().observed(ObservedReason::ExternalUnreachable);
    assert_eq!(unknown.decide(), Decision::Nothing(Held::VerdictUnknown));
}

#[test]
fn the_operator_has_its_own_turn_after_an_edit() {
    let edited = |seconds: u64| nudged().with(move |scene| scene.memory.delay.note_edit(at(seconds)));
    assert_eq!(edited(980).decide(), Decision::Wait { until: at(1010), why: Held::Delayed });
    assert!(matches!(edited(970).decide(), Decision::Correct(_)));
    let others = edited(980).with(|scene| scene.target.actions = target().actions);
    assert!(matches!(others.decide(), Decision::Correct(_)), "what we correct ourselves waits for nobody");
}

fn marks(version: &str) -> SecretMarks {
    let version = SecretVersion { uid: "u".to_owned(), resource_version: version.to_owned() };
    [("password".to_owned(), Some(SecretMark::of("password", "k", &version)))].into_iter().collect()
}

/// Returns an object in sync that received the secret in version 1 and now has the version `now`.
fn sent(now: Option<&str>) -> Scene {
    let sent = NotedSecrets::default().after_sending(&["password".to_owned()].into(), &[].into(), &marks("1"));
    Scene::new().observed(ObservedReason::InSync).with(|scene| {
        let noted = CorrectionStatus { secrets: sent, ..status(7, owns("db")) };
        let applied = noted.keeping(CorrectedReason::CorrectionApplied, "updated", scene.object.generation);
        set_corrected(&mut scene.object.conditions, &applied);
        scene.secrets = now.map(marks);
    })
}

#[test]
fn a_secret_that_moved_is_noted_once() {
    assert_eq!(sent(Some("1")).decide(), Decision::Nothing(Held::InSync));
    let moved = sent(Some("2"));
    let Decision::WriteStatus(status) = moved.decide() else { unreachable!("{:?}", moved.decide()) };
    assert_eq!(status.secrets.moved().collect::<Vec<_>>(), ["password"]);
    assert_eq!((status.correction, &*status.text), (7, "updated"), "nothing else is said anew");
    let noted = moved.with(|scene| set_corrected(&mut scene.object.conditions, &status));
    assert_eq!(noted.decide(), Decision::Nothing(Held::InSync), "the poller has the word");
    let again = noted.with(|scene| scene.secrets = Some(marks("3")));
    assert_eq!(again.decide(), Decision::Nothing(Held::InSync), "it has moved already");
    let back = again.with(|scene| scene.secrets = Some(marks("1")));
    let Decision::WriteStatus(status) = back.decide() else { unreachable!("{:?}", back.decide()) };
    assert_eq!(status.secrets.moved().count(), 0, "another Secret is named again");
}

#[test]
fn what_is_not_known_or_not_ours_has_not_moved() {
    let missing = sent(Some("2")).with(|scene| scene.secrets = Some(SecretMarks::new()));
    assert_eq!(missing.decide(), Decision::Nothing(Held::InSync));
    assert_eq!(sent(None).decide(), Decision::Nothing(Held::InSync), "not listed yet");
    let never = Scene::new().observed(ObservedReason::InSync).with(|scene| scene.secrets = Some(marks("1")));
    assert_eq!(never.decide(), Decision::Nothing(Held::InSync), "never sent");
    let observing = sent(Some("2")).with(|scene| scene.target.mode = Mode::Observe);
    assert_eq!(observing.decide(), Decision::Nothing(Held::Observing));
    let other = sent(Some("2")).with(|scene| scene.facts.identity = Some("other".into()));
    assert!(!matches!(other.decide(), Decision::WriteStatus(status) if status.secrets.moved().count() > 0));
}

/// Returns an object of ours that only a replacement heals, after `unhealed` corrections and this last one.
fn to_be_replaced(last: Action, outcome: &Outcome, unhealed: u32) -> Scene {
    let last = Correction { number: 7, before: status(6, owns("db")), ..correction(last) };
    let mut scene = Scene::new().with(|scene| scene.target.actions.replace = true);
    set_corrected(&mut scene.object.conditions, &last.ended(outcome));
    asks_again(scene, unhealed)
}

/// A poll of this correction finds a field that needs a replacement.
fn still_asks(correction: u64, unhealed: u32) -> Tag {
    Tag { fields: DifferingFields::named(["image"]), replace: true, ..tag(correction, unhealed) }
}

/// A poll of the last correction finds the same difference.
fn asks_again(scene: Scene, unhealed: u32) -> Scene {
    scene.observed_with(ObservedReason::FieldsDiffer, still_asks(7, unhealed))
}

/// Returns the scene after the decided status was written.
fn after_writing(mut scene: Scene) -> Scene {
    let Decision::WriteStatus(status) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
    set_corrected(&mut scene.object.conditions, &status);
    scene
}

#[test]
fn a_replacement_in_vain_is_not_repeated() {
    use ObservedReason::{FieldsDiffer, NotUpdated};
    // A field that an update never heals is no reason.
    let table = [
        (Action::Update, Outcome::Applied, FieldsDiffer, 3, false),
        (Action::Create, Outcome::Applied, FieldsDiffer, 1, false),
        (Action::Replace, refused(422), FieldsDiffer, 1, false),
        (Action::Replace, Outcome::Applied, FieldsDiffer, 1, true),
        // Another writer removed the verdict, and the count with it.
        (Action::Replace, Outcome::Applied, NotUpdated, 0, true),
        // The object was in sync after the replacement, while it was paused.
        (Action::Replace, Outcome::Applied, FieldsDiffer, 0, false),
    ];
    for (last, outcome, reason, unhealed, in_vain) in table {
        let scene = to_be_replaced(last, &outcome, unhealed).observed_with(reason, still_asks(7, unhealed));
        if !in_vain {
            assert_eq!(acted(scene.decide()), correct(Action::Replace, false), "{last:?} {outcome:?}");
            continue;
        }
        let Decision::WriteStatus(told) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
        assert_eq!((told.reason, told.correction), (Some(CorrectedReason::AttemptsExhausted), 7));
        assert!(told.text.starts_with("replaced, and image still differs:"), "{}", told.text);
        assert!(told.text.ends_with("write desired as the external system shows it, or add a rule to compare"));
    }
}

/// Returns the scene after this outcome of the correction and a poll with this result.
fn after_correcting(mut scene: Scene, outcome: &Outcome, reason: ObservedReason, tag: Tag) -> Scene {
    let Decision::Correct(correction) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
    let record = correction.ended(outcome);
    scene.memory.finish(&correction, outcome, scene.now);
    scene.memory.land_outcome(record.clone());
    set_corrected(&mut scene.object.conditions, &record);
    scene.now += Duration::from_secs(1000);
    scene.observed_with(reason, tag)
}

#[test]
fn a_replacement_by_an_accepted_deletion_is_not_repeated() {
    let underway = Outcome::Underway { retry_after: None };
    let asked = to_be_replaced(Action::Update, &Outcome::Applied, 0);
    let deleted = after_correcting(asked, &underway, ObservedReason::FieldsDiffer, still_asks(8, 1));
    let again = after_correcting(deleted, &underway, ObservedReason::ExternalMissing, tag(9, 2));
    let refused = after_correcting(again.clone(), &refused(422), ObservedReason::ExternalMissing, tag(10, 3));
    let exhausted = after_writing(again.clone().observed_with(ObservedReason::ExternalMissing, tag(9, 10)));
    let waited = exhausted.with(|scene| scene.now = at(1_000_000));
    for missing in [again, refused, waited] {
        let number = missing.object.conditions.correction() + 1;
        let made = after_correcting(missing, &Outcome::Applied, ObservedReason::NotUpdated, still_asks(number, 3));
        let Decision::WriteStatus(told) = made.decide() else { unreachable!("{:?}", made.decide()) };
        assert_eq!((told.reason, told.correction), (Some(CorrectedReason::AttemptsExhausted), number));
        assert!(told.text.starts_with("replaced, and image still differs:"), "{}", told.text);
    }
}

#[test]
fn no_hour_repeats_a_replacement_in_vain() {
    // The conditions alone show it.
    let told =
        after_writing(to_be_replaced(Action::Replace, &Outcome::Applied, 1)).with(|scene| scene.now = at(1_000_000));
    assert_eq!(told.decide(), Decision::Nothing(Held::AttemptsExhausted));
    let missing = told.clone().observed(ObservedReason::ExternalMissing);
    assert_eq!(acted(missing.decide()), correct(Action::Create, false), "what is missing is made");
    let updating = told.observed_with(ObservedReason::FieldsDiffer, tag(7, 1));
    assert_eq!(acted(updating.decide()), correct(Action::Update, false), "an update takes nothing away");
}

#[test]
fn a_replacement_that_helped_is_no_bar_to_the_next() {
    let replaced = to_be_replaced(Action::Replace, &Outcome::Applied, 1);
    let told = after_writing(replaced.clone());
    for scene in [replaced.clone(), told] {
        let helped = after_writing(scene.observed(ObservedReason::InSync));
        assert_eq!(helped.decide(), Decision::Nothing(Held::InSync), "it is said once");
        assert_eq!(acted(asks_again(helped, 0).decide()), correct(Action::Replace, false));
    }
    // The replacement healed the field that required it, and another field has no attempts left.
    let hourly = after_writing(replaced.clone().observed_with(ObservedReason::FieldsDiffer, tag(7, 10)));
    assert_eq!(acted(asks_again(hourly, 0).decide()), correct(Action::Replace, false));
    let edited = asks_again(replaced.clone().with(|scene| scene.object.generation = Some(4)), 0);
    assert_eq!(acted(edited.decide()), correct(Action::Replace, false));
    let without = replaced.with(|scene| {
        scene.object.generation = None;
        let record = CorrectionStatus { generation: None, ..scene.object.conditions.correction_status() };
        set_corrected(&mut scene.object.conditions, &record);
    });
    let another = without.clone().observed_with(ObservedReason::NotUpdated, still_asks(7, 0));
    assert_eq!(acted(another.decide()), correct(Action::Replace, false), "another desired state");
    assert!(matches!(asks_again(without, 1).decide(), Decision::WriteStatus(_)));
}

#[test]
fn a_replacement_in_vain_is_tried_once_when_asked() {
    let mut scene = to_be_replaced(Action::Replace, &Outcome::Applied, 1);
    scene.object.asked.get_or_insert_default().retry = Some("monday".into());
    scene.memory = ObjectMemory::of(&scene.object, at(0));
    let observe = |scene: &mut Scene| scene.memory.observe(&scene.object, Some(desired_hash()), 10, at(1000));
    observe(&mut scene);
    assert!(matches!(scene.decide(), Decision::WriteStatus(_)), "it was there before");
    scene.object.asked.get_or_insert_default().retry = Some("tuesday".into());
    // The request arrives while polls fail.
    let mut unknown = scene.observed(ObservedReason::ExternalUnreachable);
    observe(&mut unknown);
    let mut scene = asks_again(unknown, 1);
    observe(&mut scene);
    assert_eq!(acted(scene.decide()), correct(Action::Replace, false));
    scene.memory.begin(at(1000), Some("tuesday"));
    scene.memory.finish(&correction(Action::Replace), &Outcome::Applied, at(1000));
    assert!(matches!(scene.decide(), Decision::WriteStatus(_)), "asked for once");
}

#[test]
fn the_state_of_the_target_decides_what_goes_on() {
    let in_state = |scene: Scene, state| scene.with(|scene| scene.surroundings.state = state).decide();
    let drifted = || Scene::new().observed(ObservedReason::FieldsDiffer);
    let fails = || drifted().with(|scene| scene.facts.identity = None);
    let in_sync = || Scene::new().observed(ObservedReason::InSync);
    let unprotected = || in_sync().with(|scene| scene.target.actions.delete = true);
    let released = || in_sync().with_finalizer();
    let deleting = || unprotected().with_finalizer().with(|scene| scene.object.deleting = true);
    for state in TargetState::ALL {
        let held = if state == TargetState::Taken { Held::TargetTaken } else { Held::TargetFormer };
        let rules = state.rules();
        let expected = |may_act: bool| if may_act { "acts".to_owned() } else { format!("{held:?}") };
        for (case, scene, may_act) in [
            ("drift", drifted(), rules.corrects),
            ("a finalizer to add", unprotected(), rules.corrects),
            ("a finalizer to remove", released(), rules.corrects),
            ("a deletion", deleting(), rules.deletes),
        ] {
            let shown = match in_state(scene, state) {
                Decision::Nothing(held) => format!("{held:?}"),
                _ => "acts".to_owned(),
            };
            assert_eq!(shown, expected(may_act), "{case} of a target that is {}", state.as_str());
        }
        assert_eq!(in_state(in_sync(), state), Decision::Nothing(Held::InSync), "nothing to do is no hold");
        let why = if rules.corrects { Held::TemplateFails } else { held };
        assert_eq!(in_state(fails(), state), Decision::Nothing(why), "drift shows the state");
    }
}
