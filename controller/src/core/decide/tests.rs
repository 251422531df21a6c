use super::*;
use crate::core::fixtures::{Scene, at, wish};
use crate::core::outcome::{Doubt, Outcome};
use drift_model::condition::{Tag, Wish};
use serde_json::json;

fn correct(action: Action, claim_first: bool) -> Decision {
    let put_finalizer = false;
    let identity = "db".to_owned();
    Decision::Correct(Correction { action, number: 8, identity, claim_first, put_finalizer, generation: Some(3) })
}

fn noted_reason(decision: &Decision) -> Option<(CorrectedReason, u64, Option<&str>)> {
    match decision {
        Decision::Note(change) => Some((change.reason, change.note.correction, change.note.owns.as_deref())),
        _ => None,
    }
}

fn tag(correction: u64, unhealed: u32) -> Tag {
    Tag { wish: Some(wish()), seen: false, correction, unhealed }
}

#[test]
fn an_absent_resource_is_created_and_a_different_one_updated() {
    for (reason, action) in [
        (ObservedReason::NotCreated, Action::Create),
        (ObservedReason::ExternalMissing, Action::Create),
        (ObservedReason::NotUpdated, Action::Update),
        (ObservedReason::FieldsDiffer, Action::Update),
    ] {
        assert_eq!(Scene::new().observed(reason).decide(), correct(action, false), "{reason}");
    }
}

#[test]
fn nothing_is_done_without_all_that_a_correction_needs() {
    type Change = fn(&mut Scene);
    let table: &[(Held, Change)] = &[
        (Held::Observing, |scene| scene.target.mode = Mode::Observe),
        (Held::NotListed, |scene| scene.surroundings.listed = false),
        (Held::ClaimedTwice, |scene| scene.surroundings.claimed_twice = true),
        (Held::Suspended, |scene| scene.facts.suspended = Some(true)),
        (Held::TemplateFails, |scene| scene.facts.suspended = None),
        (Held::Paused, |scene| scene.object.paused = true),
        (Held::NotAllowed, |scene| scene.facts.allowed = Some(false)),
        (Held::TemplateFails, |scene| scene.facts.allowed = None),
        (Held::TemplateFails, |scene| scene.facts.identity = None),
        (Held::TemplateFails, |scene| scene.facts.wish = None),
        (Held::VerdictOutdated, |scene| scene.facts.wish = Some(Wish::of(&json!("another")))),
        (Held::VerdictOutdated, |scene| scene.object.generation = Some(4)),
        (Held::VerdictOutdated, |scene| scene.object.generation = None),
        (Held::NoVerdict, |scene| scene.object.conditions.observed = None),
        (Held::NoAction, |scene| scene.target.actions.update = false),
        (Held::NotVouched, |scene| scene.surroundings.vouched = false),
        (Held::IdentityTaken, |scene| scene.surroundings.has_identity = false),
        (Held::BreakerOpen, |scene| scene.surroundings.breaker_holds = true),
        (Held::Limited, |scene| scene.surroundings.room = Room::AfterAnEnd),
    ];
    for (held, change) in table {
        assert_eq!(Scene::new().with(change).decide(), Decision::Nothing(*held));
    }
}

#[test]
fn a_verdict_is_acted_on_only_if_it_verified_the_last_correction() {
    for correction in [0, 6] {
        let scene = Scene::new().observed_with(ObservedReason::FieldsDiffer, tag(correction, 0));
        assert_eq!(scene.decide(), Decision::Nothing(Held::NotVerified), "{correction}");
    }
}

#[test]
fn k_is_seeded_from_the_larger_of_the_two_conditions() {
    let scene = Scene::new().observed_with(ObservedReason::NotCreated, tag(9, 0)).without_note();
    let Decision::Correct(correction) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
    assert_eq!((correction.number, correction.claim_first), (10, true));
}

#[test]
fn an_unknown_verdict_holds_everything() {
    for reason in ObservedReason::ALL {
        if reason.status() == drift_model::condition::ConditionStatus::Unknown {
            assert_eq!(Scene::new().observed(*reason).decide(), Decision::Nothing(Held::VerdictUnknown), "{reason}");
        }
    }
}

#[test]
fn the_breaker_holds_incidents_only() {
    let held = |reason| Scene::new().observed(reason).with(|scene| scene.surroundings.breaker_holds = true).decide();
    assert_eq!(held(ObservedReason::ExternalMissing), Decision::Nothing(Held::BreakerOpen));
    assert_eq!(held(ObservedReason::NotCreated), correct(Action::Create, false));
    assert_eq!(held(ObservedReason::NotUpdated), correct(Action::Update, false));
}

#[test]
fn what_was_there_before_is_refused_once_and_touched_only_to_adopt() {
    let scene = Scene::new().noted(CorrectedReason::CorrectionFailed, 7, None);
    let decision = scene.decide();
    assert_eq!(noted_reason(&decision), Some((CorrectedReason::NotOurs, 7, None)));
    let Decision::Note(change) = decision else { return };
    let written = scene.clone().with(|scene| {
        crate::core::fixtures::set_corrected(&mut scene.object.conditions, &change);
    });
    assert_eq!(written.decide(), Decision::Nothing(Held::NotOurs));
    let adopting = scene.with(|scene| scene.target.existing = Existing::Adopt);
    assert_eq!(adopting.decide(), correct(Action::Update, true));
}

#[test]
fn an_edited_identity_is_neither_updated_nor_created() {
    for reason in [ObservedReason::NotUpdated, ObservedReason::NotCreated] {
        let scene = Scene::new().with(|scene| scene.facts.identity = Some("new".to_owned())).observed(reason);
        assert_eq!(noted_reason(&scene.decide()), Some((CorrectedReason::IdentityChanged, 7, Some("db"))));
    }
}

#[test]
fn a_claim_that_nobody_is_working_on_is_interrupted_before_anything_else() {
    let scene = Scene::new().noted(CorrectedReason::CorrectionStarted, 7, Some("db"));
    assert_eq!(noted_reason(&scene.decide()), Some((CorrectedReason::CorrectionFailed, 8, Some("db"))));
}

#[test]
fn the_finalizer_is_put_before_the_claim_or_with_adopt_on_first_sight() {
    let deleting = |scene: &mut Scene| scene.target.actions.delete = true;
    let fresh = Scene::new().without_note().with(deleting);
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
fn in_sync_again_clears_a_failure_once_and_removes_not_ours() {
    let cleared = |reason, owns| Scene::new().noted(reason, 7, owns).observed(ObservedReason::InSync).decide();
    for reason in [CorrectedReason::CorrectionFailed, CorrectedReason::AttemptsExhausted] {
        let expected = Some((CorrectedReason::CorrectionApplied, 7, Some("db")));
        assert_eq!(noted_reason(&cleared(reason, Some("db"))), expected, "{reason}");
    }
    assert_eq!(cleared(CorrectedReason::NotOurs, None), Decision::RemoveNote);
    assert_eq!(cleared(CorrectedReason::CorrectionApplied, Some("db")), Decision::Nothing(Held::InSync));
    assert_eq!(cleared(CorrectedReason::IdentityChanged, Some("old")), Decision::Nothing(Held::InSync));
}

#[test]
fn exhausted_attempts_are_noted_once_and_wait_an_hour() {
    let scene = Scene::new().observed_with(ObservedReason::FieldsDiffer, tag(7, 10));
    let decision = scene.decide();
    assert_eq!(noted_reason(&decision), Some((CorrectedReason::AttemptsExhausted, 7, Some("db"))));
    let Decision::Note(change) = decision else { return };
    let written = scene.with(|scene| crate::core::fixtures::set_corrected(&mut scene.object.conditions, &change));
    assert_eq!(written.decide(), Decision::Wait { until: at(3600), why: Held::AttemptsExhausted });
    let later = written.clone().with(|scene| scene.now = at(3600));
    assert_eq!(later.decide(), correct(Action::Update, false));
    let asked = written.with(|scene| scene.object.retry_requested = Some("now".to_owned()));
    assert_eq!(asked.decide(), correct(Action::Update, false));
}

#[test]
fn a_correction_in_doubt_is_retried_with_the_same_number_after_its_pause() {
    let doubtful = Outcome::Doubtful { why: Doubt::ServerError, retry_after: None, step: 0 };
    let scene = Scene::new().with(|scene| {
        for _ in 0..3 {
            scene.memory.begin(at(1000), None);
            scene.memory.finish(&doubtful, at(1000));
        }
    });
    assert_eq!(scene.decide(), Decision::Wait { until: at(1006), why: Held::Delayed });
    assert_eq!(scene.with(|scene| scene.now = at(1006)).decide(), correct(Action::Update, false));
}

#[test]
fn a_note_that_another_writer_took_away_is_not_forgotten_and_put_back() {
    let scene = Scene::new().with(|scene| {
        let noted = Noted { correction: 8, owns: Some("db".to_owned()), ..Noted::default() };
        let change = NoteChange::keeping(&noted, CorrectedReason::CorrectionApplied, "updated", Some(3));
        scene.memory.noted = Some(change);
        scene.object.conditions.corrected = None;
    });
    assert_eq!(noted_reason(&scene.decide()), Some((CorrectedReason::CorrectionApplied, 8, Some("db"))));
    let again = scene.with(|scene| {
        let noted = scene.memory.noted.clone();
        noted.into_iter().for_each(|change| scene.memory.land_note(change, at(999)));
    });
    assert_eq!(again.decide(), Decision::Wait { until: at(1059), why: Held::NotVerified });
}

#[test]
fn a_claim_that_another_writer_took_away_is_put_back_whatever_the_verdict_says() {
    for reason in ObservedReason::ALL {
        let scene = Scene::new().observed(*reason).with(|scene| {
            let noted = Noted { correction: 7, owns: Some("db".to_owned()), ..Noted::default() };
            let change = NoteChange::keeping(&noted, CorrectedReason::CorrectionApplied, "updated", Some(3));
            scene.memory.noted = Some(change);
            scene.object.conditions.corrected = None;
            scene.object.paused = true;
        });
        let restored = Some((CorrectedReason::CorrectionApplied, 7, Some("db")));
        assert_eq!(noted_reason(&scene.decide()), restored, "{reason}");
    }
}

#[test]
fn a_target_that_does_not_own_the_object_does_not_touch_its_finalizer() {
    type Change = fn(&mut Scene);
    let table: &[(Held, Change)] = &[
        (Held::NotListed, |scene| scene.surroundings.listed = false),
        (Held::ClaimedTwice, |scene| scene.surroundings.claimed_twice = true),
    ];
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
fn refused_writes_hold_the_correction_that_could_not_be_noted() {
    let scene = Scene::new().with(|scene| _ = scene.memory.refuse_write(at(999)));
    assert_eq!(scene.decide(), Decision::Wait { until: at(1001), why: Held::WriteRefused });
    assert_eq!(scene.with(|scene| scene.now = at(1001)).decide(), correct(Action::Update, false));
}

#[test]
fn a_write_that_another_writer_keeps_overtaking_is_not_tried_at_each_of_their_writes() {
    let scene = Scene::new().with(|scene| (0..4).for_each(|_| scene.memory.lose_race(at(999))));
    assert_eq!(scene.decide(), correct(Action::Update, false));
    let fifth = scene.with(|scene| scene.memory.lose_race(at(1000)));
    assert_eq!(fifth.decide(), Decision::Wait { until: at(1001), why: Held::RaceLost });
    assert_eq!(fifth.with(|scene| scene.now = at(1001)).decide(), correct(Action::Update, false));
}

#[test]
fn the_idempotency_key_is_uid_and_number_and_later_steps_are_told_apart() {
    let update = Correction {
        action: Action::Update,
        number: 8,
        identity: "db".to_owned(),
        claim_first: false,
        put_finalizer: false,
        generation: None,
    };
    assert_eq!(update.idempotency_key("u-1", 0), "u-1-8-update");
    assert_eq!(update.idempotency_key("u-1", 2), "u-1-8-update-2");
    let create = Correction { action: Action::Create, ..update.clone() };
    assert_eq!(create.idempotency_key("u-1", 0), "u-1-8");
    let delete = Correction { action: Action::Delete, ..update };
    assert_eq!(delete.idempotency_key("u-1", 0), "u-1-8-delete");
}
