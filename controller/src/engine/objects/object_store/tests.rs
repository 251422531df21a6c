use super::*;
use crate::engine::corrections::{Action, Doubt, Held};
use crate::engine::fixtures::{Scene, at, bare_object, correction, desired_hash, doubtful, facts, owns, target};
use drift_api::condition::{CorrectedReason, ObservedReason, Tag};
use drift_api::identity::{IdentityIndex, Ownership, Selected};
use drift_api::names::FINALIZER;

const CALM: SharedFacts = SharedFacts {
    is_creating: false,
    state: TargetState::Live,
    attested: true,
    rights: Rights { ownership: Ownership::Held, shared: false },
    scope_complete: true,
    window_opens: None,
    secrets: None,
    declared_secrets: None,
};

fn numbered(scene: Scene, number: usize) -> LeanObject {
    let mut object = scene.object;
    object.id.uid = Uid::from(format!("u{number}"));
    object
}

fn named(number: usize) -> ObjectFacts {
    ObjectFacts { identity: Some(format!("db{number}").into()), ..facts() }
}

fn drifted(number: usize) -> LeanObject {
    let scene = Scene::new().corrected(CorrectedReason::CorrectionApplied, 7, owns(&format!("db{number}")));
    numbered(scene.observed(ObservedReason::FieldsDiffer), number)
}

fn opened(drifted: usize, judged: usize) -> Transition {
    Transition::Opened(BreakerCounts { drifted, judged, limit: 20 })
}

fn objects() -> ObjectStore {
    let mut objects = ObjectStore::new(target(), Handover::default()).0;
    objects.note_listed();
    objects
}

#[test]
fn incidents_in_the_first_list_open_the_breaker() {
    let mut objects = ObjectStore::new(target(), Handover::default()).0;
    for number in 0..12 {
        objects.see(drifted(number), named(number), None, at(1));
    }
    assert_eq!(objects.evaluate_breaker(at(1)), None, "before the list is whole nothing can be told");
    objects.note_listed();
    assert_eq!(objects.evaluate_breaker(at(1)), Some(opened(12, 12)));
    assert_eq!(objects.decide(&"u3".into(), CALM, at(1)), Some(Decision::Nothing(Held::BreakerOpen)));
}

/// Returns the objects of the target's next version, whose first list has these objects.
fn edited(objects: ObjectStore, target: TargetFacts, listed: impl IntoIterator<Item = LeanObject>) -> ObjectStore {
    let mut next = ObjectStore::new(target, objects.into_handover(HashMap::new())).0;
    for (number, object) in listed.into_iter().enumerate() {
        next.see(object, named(number), None, at(2));
    }
    next.note_listed();
    next
}

fn with_limits(max_drifted_percent: u8, per_minute: u32) -> TargetFacts {
    let limits = drift_language::CorrectLimits { max_drifted_percent, per_minute, ..target().limits };
    TargetFacts { limits, ..target() }
}

/// Returns objects of which twelve drifted, with an open breaker.
fn held() -> ObjectStore {
    let mut objects = objects();
    for number in 0..12 {
        objects.see(drifted(number), named(number), None, at(1));
    }
    assert_eq!(objects.evaluate_breaker(at(1)), Some(opened(12, 12)));
    objects
}

#[test]
fn no_edit_but_a_raised_limit_lets_incidents_pass() {
    let observing = TargetFacts { mode: drift_language::Mode::Observe, ..target() };
    for (next, passes) in [
        (with_limits(20, 1), false),
        (with_limits(5, 601), false),
        (with_limits(99, 60), false),
        (TargetFacts { correct_hash: 1, ..target() }, false),
        (with_limits(100, 60), true),
    ] {
        let mut next = edited(held(), next, (0..12).map(drifted));
        next.evaluate_breaker(at(2));
        let decision = next.decide(&"u3".into(), CALM, at(2));
        assert_eq!(matches!(decision, Some(Decision::Correct(_))), passes, "{decision:?}");
    }
    let mut paused = edited(held(), observing, []);
    assert_eq!(paused.evaluate_breaker(at(2)), None, "an observing target keeps no objects");
    let mut next = edited(paused, target(), (0..12).map(drifted));
    assert_eq!(next.evaluate_breaker(at(3)), None);
    assert_eq!(next.decide(&"u3".into(), CALM, at(3)), Some(Decision::Nothing(Held::BreakerOpen)));
}

#[test]
fn a_new_retry_request_lets_one_object_pass() {
    let asking = |number: usize, request: &str| {
        let mut object = drifted(number);
        object.asked.get_or_insert_default().retry = Some(request.into());
        object
    };
    let mut objects = objects();
    for number in 0..12 {
        objects.see(asking(number, "last week"), named(number), None, at(1));
    }
    assert!(objects.evaluate_breaker(at(1)).is_some());
    objects.see(asking(2, "last week"), named(2), None, at(2));
    objects.see(asking(3, "now"), named(3), None, at(2));
    objects.see(drifted(4), named(4), None, at(2));
    assert_eq!(objects.evaluate_breaker(at(2)), None);
    for number in 0..12 {
        let decision = objects.decide(&Uid::from(format!("u{number}")), CALM, at(2));
        assert_eq!(decision != Some(Decision::Nothing(Held::BreakerOpen)), number == 3, "{number}: {decision:?}");
    }
}

#[test]
fn a_breaker_that_another_process_left_open_holds() {
    let counts = BreakerCounts { drifted: 20, judged: 29, limit: 20 };
    let mut objects = ObjectStore::new(target(), Handover::with_open_breaker(counts)).0;
    assert!(objects.breaker_is_open());
    objects.see(drifted(0), named(0), None, at(1));
    objects.note_listed();
    assert_eq!(objects.evaluate_breaker(at(1)), None);
    assert_eq!(objects.decide(&"u0".into(), CALM, at(1)), Some(Decision::Nothing(Held::BreakerOpen)));
}

#[test]
fn a_claim_counts_before_it_is_written() {
    let mut objects = objects();
    let object = numbered(Scene::new().corrected(CorrectedReason::CorrectionFailed, 7, None), 1);
    let uid = object.id.uid.clone();
    objects.see(object, named(1), None, at(1));
    let owns = |objects: &ObjectStore| objects.claimant(&uid).map(|claimant| claimant.owns.is_some());
    assert_eq!(owns(&objects), Some(false));
    objects.set_claiming(&uid, true);
    assert_eq!(owns(&objects), Some(true));
}

#[test]
fn nine_quick_corrections_do_not_keep_the_breaker_closed() {
    let mut objects = objects();
    let healed = |number: usize| {
        let identity = format!("db{number}");
        let scene = Scene::new().corrected(CorrectedReason::CorrectionApplied, 8, owns(&identity));
        let mut object = numbered(scene.observed(ObservedReason::InSync), number);
        object.resource_version = "9".into();
        object
    };
    for number in 0..9 {
        objects.see(drifted(number), named(number), None, at(1));
        assert_eq!(objects.evaluate_breaker(at(1)), None);
        drop(objects.begin(&Uid::from(format!("u{number}")), at(1)));
        objects.see(healed(number), named(number), None, at(2));
    }
    objects.see(drifted(9), named(9), None, at(3));
    assert_eq!(objects.evaluate_breaker(at(3)), Some(opened(10, 10)));
    assert_eq!(objects.evaluate_breaker(at(3)), None);
    assert_eq!(objects.decide(&"u9".into(), CALM, at(9)), Some(Decision::Nothing(Held::BreakerOpen)));
}

#[test]
fn a_verdict_brought_along_waits_for_the_poller() {
    let decide = |objects: &ObjectStore, seconds| objects.decide(&Uid::from("u0"), CALM, at(seconds));
    let mut listed_with_it = ObjectStore::new(target(), Handover::default()).0;
    listed_with_it.see(drifted(0), named(0), None, at(1));
    listed_with_it.note_listed();
    assert!(matches!(decide(&listed_with_it, 1), Some(Decision::Correct(_))), "attestation covers what is listed");

    let mut objects = objects();
    objects.see(drifted(0), named(0), None, at(100));
    assert_eq!(decide(&objects, 100), Some(Decision::Wait { until: at(110), why: Held::NotAttested }));
    assert!(matches!(decide(&objects, 110), Some(Decision::Correct(_))), "still attested: the poller has seen it");
    let tag = Tag { desired_hash: Some(desired_hash()), correction: 7, unhealed: 1, ..Tag::default() };
    let scene = Scene::new().corrected(CorrectedReason::CorrectionApplied, 7, owns("db0"));
    objects.see(numbered(scene.observed_with(ObservedReason::FieldsDiffer, tag), 0), named(0), None, at(101));
    assert!(matches!(decide(&objects, 103), Some(Decision::Correct(_))), "a new verdict is no old word");
}

/// Returns the target's facts from an index that it shares with other targets.
fn around(objects: &ObjectStore, index: &IdentityIndex, uid: &Uid) -> SharedFacts {
    let rights = objects.claimant(uid).map(|claimant| index.rights(uid, &claimant)).unwrap_or_default();
    SharedFacts { rights, ..CALM }
}

fn selected(target: &str, uid: &str) -> Selected {
    Selected { target: target.into(), uid: uid.into() }
}

/// Two targets, each with an object whose external resource must be created. The second object is younger.
fn two_targets() -> ([ObjectStore; 2], IdentityIndex) {
    let mut index = IdentityIndex::default();
    let stores = [0, 1].map(|number| {
        let mut objects = ObjectStore::new(target(), Handover::default()).0;
        let mut object = numbered(Scene::new().without_status().observed(ObservedReason::NotCreated), number);
        object.created = u32::try_from(number).unwrap();
        let uid = object.id.uid.clone();
        objects.see(object, facts(), None, at(1));
        objects.note_listed();
        index.insert(&selected(&format!("t{number}"), &uid), objects.claimant(&uid).unwrap());
        objects
    });
    (stores, index)
}

#[test]
fn of_two_targets_with_one_resource_one_claims_it() {
    let ([first, second], mut index) = two_targets();
    let (older, younger) = (Uid::from("u0"), Uid::from("u1"));
    let decide =
        |objects: &ObjectStore, index: &IdentityIndex, uid| objects.decide(uid, around(objects, index, uid), at(1));
    assert!(matches!(decide(&first, &index, &older), Some(Decision::Correct(_))));
    let refused = decide(&second, &index, &younger);
    assert!(
        matches!(&refused, Some(Decision::WriteStatus(status)) if status.reason == Some(CorrectedReason::IdentityTaken))
    );
    assert_eq!(index.remove(&selected("t0", "u0")), [selected("t1", "u1")]);
    assert!(matches!(decide(&second, &index, &younger), Some(Decision::Correct(_))));
}

#[test]
fn a_claim_that_is_being_written_counts_already() {
    let ([first, mut second], mut index) = two_targets();
    let (older, younger) = (Uid::from("u0"), Uid::from("u1"));
    let before = index.remove(&selected("t0", "u0"));
    assert_eq!(before, [selected("t1", "u1")]);
    second.set_claiming(&younger, true);
    index.insert(&selected("t1", "u1"), second.claimant(&younger).unwrap());
    index.insert(&selected("t0", "u0"), first.claimant(&older).unwrap());
    let decision = first.decide(&older, around(&first, &index, &older), at(1));
    let is_refused = matches!(&decision, Some(Decision::WriteStatus(status)) if status.reason == Some(CorrectedReason::IdentityTaken));
    assert!(is_refused, "the older comes too late: {decision:?}");
    let mut object = second.object(&younger).unwrap().clone();
    object.resource_version = "9".into();
    second.see(object, facts(), None, at(2));
    assert!(second.claimant(&younger).unwrap().owns.is_some(), "another change of the object ends no claim");
    let mut edited = second.object(&younger).unwrap().clone();
    edited.resource_version = "10".into();
    second.see(edited, named(7), None, at(3));
    let claimant = second.claimant(&younger).unwrap();
    assert_ne!(claimant.wants, claimant.owns, "nor does an edit turn it to what the object names since then");
    assert_eq!(claimant.owns, Some(crate::engine::fixtures::resource("db")));
    second.set_claiming(&younger, false);
    assert_eq!(second.claimant(&younger).unwrap().owns, None);
}

#[test]
fn nothing_new_is_claimed_until_everybody_is_known() {
    let actions = drift_language::Actions { delete: true, ..target().actions };
    let mut objects = ObjectStore::new(TargetFacts { actions, ..target() }, Handover::default()).0;
    let unknown = SharedFacts { scope_complete: false, ..CALM };
    let ours = |number| LeanObject { finalizers: [FINALIZER.into()].into(), ..drifted(number) };
    objects.see(numbered(Scene::new().without_status().observed(ObservedReason::NotCreated), 0), facts(), None, at(1));
    objects.see(ours(1), named(1), None, at(1));
    objects.see(LeanObject { deleting: true, ..ours(2) }, named(2), None, at(1));
    objects.note_listed();
    let decide = |number: u8| objects.decide(&Uid::from(format!("u{number}")), unknown.clone(), at(1));
    assert_eq!(decide(0), Some(Decision::Nothing(Held::ScopeIncomplete)));
    assert!(matches!(decide(1), Some(Decision::Correct(_))), "what is owned goes on");
    assert_eq!(decide(2), Some(Decision::Nothing(Held::ScopeIncomplete)));
}

#[test]
fn an_earlier_processs_note_is_put_back() {
    let mut objects = objects();
    let mut object = drifted(0);
    objects.see(object.clone(), named(0), None, at(1));
    object.conditions.corrected = None;
    object.resource_version = "9".into();
    objects.see(object.clone(), named(0), None, at(2));
    let restored = |decision: Option<Decision>| match decision {
        Some(Decision::WriteStatus(status)) => Some((status.correction, status.claim)),
        _ => None,
    };
    assert_eq!(restored(objects.decide(&"u0".into(), CALM, at(20))), Some((7, owns("db0"))));
    let said = objects.known.get("u0").map(|known| known.memory.status_of(&known.object).claim);
    assert_eq!(said, Some(owns("db0")), "a deletion finds the claim too");
}

#[test]
fn a_claim_that_was_taken_back_stays_so() {
    let mut objects = objects();
    let claimed = Scene::new().corrected(CorrectedReason::CorrectionStarted, 7, owns("db0"));
    objects.see(numbered(claimed.observed(ObservedReason::NotCreated), 0), named(0), None, at(1));
    for (version, correction) in [("8", 8), ("9", 7)] {
        let refused = Scene::new().corrected(CorrectedReason::CorrectionFailed, correction, None);
        let mut object = numbered(refused.observed(ObservedReason::NotCreated), 0);
        object.resource_version = version.into();
        objects.see(object, named(0), None, at(2));
        let decision = objects.decide(&"u0".into(), CALM, at(20));
        assert!(!matches!(decision, Some(Decision::WriteStatus(_))), "{decision:?}");
        assert_eq!(objects.known.get("u0").map(|known| known.memory.status_of(&known.object).claim), Some(None));
        objects.forget(&"u0".into());
        let claimed = Scene::new().corrected(CorrectedReason::CorrectionStarted, 7, owns("db0"));
        objects.see(numbered(claimed.observed(ObservedReason::NotCreated), 0), named(0), None, at(1));
    }
}

#[test]
fn a_note_without_an_answer_is_put_back() {
    let mut objects = objects();
    objects.see(drifted(0), named(0), None, at(1));
    let newer = Scene::new().corrected(CorrectedReason::CorrectionApplied, 8, owns("db0"));
    let mut object = numbered(newer.observed(ObservedReason::FieldsDiffer), 0);
    object.resource_version = "8".into();
    objects.see(object.clone(), named(0), None, at(2));
    object.conditions.corrected = None;
    object.resource_version = "9".into();
    objects.see(object, named(0), None, at(3));
    let Some(Decision::WriteStatus(status)) = objects.decide(&"u0".into(), CALM, at(20)) else { unreachable!() };
    assert_eq!(status.correction, 8);
}

#[test]
fn an_older_state_does_not_replace_a_newer_one() {
    let mut objects = objects();
    let mut newer = bare_object();
    newer.resource_version = "9".into();
    let uid = newer.id.uid.clone();
    objects.see(newer, facts(), None, at(1));
    assert!(!objects.see(bare_object(), facts(), None, at(1)));
    assert_eq!(objects.object(&uid).map(|object| &object.resource_version), Some(&"9".into()));
}

#[test]
fn what_the_former_text_began_counts_until_it_ends() {
    let limits = drift_language::CorrectLimits { concurrent: 1, ..target().limits };
    let mut objects = ObjectStore::new(TargetFacts { limits, ..target() }, Handover::default()).0;
    let line = objects.line(&"u0".into());
    let place = objects.usage.begin(&line, at(1));
    let next = ObjectStore::new(TargetFacts { limits, ..target() }, objects.into_handover(HashMap::new())).0;
    assert_eq!(next.room(&line, at(2)), Room::AfterAnEnd);
    drop(place);
    assert_eq!(next.room(&line, at(2)), Room::Free);
}

#[test]
fn the_breaker_forgets_what_the_list_lacks() {
    let mut objects = objects();
    for number in 0..12 {
        objects.see(drifted(number), named(number), None, at(1));
    }
    assert!(objects.evaluate_breaker(at(1)).is_some());
    let mut next = ObjectStore::new(target(), objects.into_handover(HashMap::new())).0;
    assert!(next.breaker_is_open());
    next.see(drifted(0), named(0), None, at(2));
    assert_eq!(next.evaluate_breaker(at(2)), None, "before the list is whole nothing can be told");
    next.note_listed();
    assert_eq!(next.evaluate_breaker(at(2)), None, "the one that is left still stands");
    next.forget(&"u0".into());
    assert_eq!(next.evaluate_breaker(at(2)), Some(Transition::Closed));
}

#[test]
fn an_edit_of_the_target_keeps_what_is_remembered() {
    let mut objects = objects();
    let object = numbered(Scene::new().observed_with(ObservedReason::FieldsDiffer, Tag::default()), 0);
    let uid = object.id.uid.clone();
    objects.see(object.clone(), facts(), None, at(1));
    if let Some(memory) = objects.memory(&uid) {
        memory.begin(at(5), None);
    }
    let (mut next, mut memories) = ObjectStore::new(target(), objects.into_handover(HashMap::new()));
    let memory = memories.remove(&uid);
    next.see(object, facts(), memory, at(9));
    assert_eq!(next.memory(&uid).map(|memory| memory.delay.last_begun()), Some(at(5)));
}

#[test]
fn a_target_that_went_and_came_back_claims_nothing_anew() {
    let mut before = objects();
    before.see(drifted(0), named(0), None, at(1));
    if let Some(memory) = before.memory(&"u0".into()) {
        memory.begin(at(5), None);
    }
    let mut handover = before.into_handover(HashMap::new());
    handover.forget_claims();
    let (mut next, mut memories) = ObjectStore::new(target(), handover);
    // Our status was cleaned up, and another party created the resource anew.
    let cleaned = numbered(Scene::new().without_status().observed(ObservedReason::NotUpdated), 0);
    next.see(cleaned, named(0), memories.remove("u0"), at(9));
    next.note_listed();
    let decision = next.decide(&"u0".into(), CALM, at(20));
    let Some(Decision::WriteStatus(status)) = decision else { unreachable!("{decision:?}") };
    assert_eq!((status.reason, status.claim), (Some(CorrectedReason::NotOurs), None));
    assert_eq!(next.memory(&"u0".into()).map(|memory| memory.delay.last_begun()), Some(at(5)), "its usage stays");
}

#[test]
fn only_whose_secret_changed_is_tried_again() {
    let mut objects = objects();
    for number in 0..3 {
        objects.see(drifted(number), named(number), None, at(1));
    }
    for uid in ["u0", "u1"].map(Uid::from) {
        let memory = objects.memory(&uid).unwrap();
        memory.begin(at(2), None);
        memory.finish(&correction(Action::Update), &doubtful(Doubt::SecretUnavailable), at(2));
    }
    assert_eq!(objects.send_anew(|object| *object.id.uid != *"u0"), [Uid::from("u1")]);
    assert_eq!(objects.send_anew(|_| true), [Uid::from("u0")], "it waited on");
}

#[test]
fn templates_are_evaluated_where_what_they_read_changed() {
    let target = drift_language::fixtures::proxies::target(drift_language::fixtures::proxies::TEXT);
    let (mut objects, mut object) = (objects(), drifted(1));
    objects.see(object.clone(), named(1), None, at(1));
    object.resource_version = "900".into();
    assert_eq!(objects.facts_of(&target, &object), named(1), "our own write renders nothing");
    object.view = drift_api::object::object_view::ObjectView::of(&serde_json::json!({"spec": {"login": false}}));
    assert_ne!(objects.facts_of(&target, &object), named(1));
}

#[test]
fn an_object_takes_little_memory() {
    // A program stores up to 100,000 of them: 744 bytes on 29 November 2026.
    assert!(size_of::<ObjectEntry>() <= 800, "{} bytes", size_of::<ObjectEntry>());
}
