//! Conditions for polls that ask only for changes.

use serde_json::{Value, json};

use super::*;
use crate::engine::fixtures::{self, TEXT, at, target};
use crate::engine::judgement::finding::Finding;
use crate::engine::judgement::rendered::appraise;
use crate::engine::poll::entity_tag::{EntityTag, MAX_REPEATS, Tagged};
use crate::engine::writes::write_attempts::{Sent, WriteOutcome};
use drift_api::condition::{CurrentVerdict, DesiredHash, ObservedReason, Placed, StatusFields, Verdict};
use drift_api::object::object_view::ObjectView;
use drift_language::{Actions, Confirm, ObjectMay};
use drift_systems::{HttpReply, ReplyBody};

impl ObjectState {
    /// Returns the verdict that may be written now.
    pub(in crate::engine::object) fn due_verdict(&mut self, now: Moment) -> Option<Verdict> {
        self.due(now).filter(|due| due.at <= now).map(|due| due.verdict)
    }
}

const SETTINGS: PollSettings = PollSettings {
    interval: Duration::from_secs(30),
    object_may: ObjectMay { ignore: false, interval: true },
    keeps_requests: false,
    ready: false,
    settle: Duration::from_secs(2),
    create_shows_within: Duration::from_secs(30),
    corrects: true,
    actions: Actions::NONE,
    settles_edits: false,
    confirm: Confirm { drift: 1, absent: 2, unknown: 3, absent_for: Duration::ZERO },
    shared_phase: None,
};

/// The same of a target that creates.
const CREATING: PollSettings = PollSettings { actions: Actions { create: true, ..Actions::NONE }, ..SETTINGS };

/// A named change of an object.
type Case = (&'static str, fn(&mut ObjectState));

fn named(name: &'static str) -> Option<Tagged> {
    let headers = [(http::header::ETAG, http::HeaderValue::from_static(name))].into_iter().collect();
    let reply = HttpReply { status: http::StatusCode::OK, headers, body: ReplyBody::Whole(Vec::new()) };
    EntityTag::of(&reply).map(Tagged::Whole)
}

/// An object in sync with this spec, correction number and version.
fn object(spec: &Value, correction: u64, version: u32) -> LeanObject {
    let desired_hash = DesiredHash::of(&json!([spec["id"], {"a": spec["a"]}]));
    let number = if correction > 0 { format!(", correction {correction}") } else { String::new() };
    let observed = json!({"type": "driftObserved", "status": "False", "reason": "InSync", "observedGeneration": 1,
        "message": format!("x [desired {desired_hash}{number}]")});
    let corrected = json!({"type": "driftCorrected", "status": "True", "reason": "CorrectionApplied", "observedGeneration": 1,
        "message": format!("correction {correction}: done")});
    let mut object = fixtures::object(&target(TEXT), "u", spec, &json!({"conditions": [observed, corrected]}));
    object.resource_version = version.to_string().as_str().into();
    object
}

fn spec() -> Value {
    json!({"id": "x", "a": 1})
}

/// An object state after a whole response in sync, at second 0.
fn tagged() -> ObjectState {
    let (object, target) = (object(&spec(), 0, 1), target(TEXT));
    let rendered = appraise(&target, &object);
    let mut state = ObjectState::new(object, rendered, std::sync::Arc::new(SETTINGS), Arrival::Listed, at(0));
    poll(&mut state, 0, Finding::InSync, named("\"a\""));
    state
}

fn poll(state: &mut ObjectState, second: u64, finding: Finding, tagged: Option<Tagged>) {
    let begun = state.begin_poll(at(second));
    assert!(state.finish_poll(begun, finding, at(second).moment));
    state.remember_tag(tagged);
}

fn see(state: &mut ObjectState, object: LeanObject) {
    let rendered = appraise(&target(TEXT), &object);
    state.see(object, rendered, at(1).moment);
}

#[test]
fn only_what_is_in_sync_is_asked_for_by_name() {
    assert!(tagged().known_tag().is_some());
    let cases: [Case; 8] = [
        ("an edit", |state| see(state, object(&json!({"id": "x", "a": 2}), 0, 2))),
        ("another resource", |state| see(state, object(&json!({"id": "y", "a": 1}), 0, 2))),
        ("a correction", |state| see(state, object(&spec(), 1, 2))),
        ("a poll that was asked for", |state| {
            let mut asked = object(&spec(), 0, 2);
            asked.asked.get_or_insert_default().poll = Some("now".into());
            see(state, asked);
        }),
        ("drift", |state| poll(state, 1, Finding::Differs("x".into()), None)),
        ("an absence to be confirmed", |state| poll(state, 1, Finding::Absent, None)),
        ("a failure", |state| poll(state, 1, ObservedReason::PollTimedOut.into(), None)),
        ("an answer without a name", |state| poll(state, 1, Finding::InSync, None)),
    ];
    for (case, happens) in cases {
        let mut state = tagged();
        happens(&mut state);
        assert_eq!(state.known_tag(), None, "{case}");
    }
}

#[test]
fn a_name_from_before_an_edit_is_not_remembered() {
    let mut state = tagged();
    let begun = state.begin_poll(at(1));
    let mut edited = object(&spec(), 0, 2);
    edited.view = ObjectView::of(&json!({"spec": spec(), "metadata": {"name": "u", "labels": {"zone": "b"}}}));
    see(&mut state, edited);
    assert!(state.finish_poll(begun, Finding::InSync, at(1).moment), "neither desired state nor generation moved");
    state.remember_tag(named("\"a\""));
    let begun = state.begin_poll(at(2));
    assert_eq!(state.known_tag(), None);
    state.finish_poll(begun, Finding::InSync, at(2).moment);
    state.remember_tag(named("\"b\""));
    assert!(state.known_tag().is_some());
}

#[test]
fn the_poll_after_a_correction_is_whole() {
    let mut state = tagged();
    see(&mut state, object(&spec(), 1, 2));
    let begun = state.begin_poll(at(4));
    assert_eq!(state.known_tag(), None);
    state.finish_poll(begun, Finding::InSync, at(4).moment);
    state.remember_tag(named("\"a\""));
    assert!(state.known_tag().is_some(), "the verdict that stands speaks of that correction");
}

#[test]
fn a_name_serves_a_bounded_number_of_polls() {
    let mut state = tagged();
    for second in 1..=u64::from(MAX_REPEATS) {
        assert!(state.known_tag().is_some());
        poll(&mut state, second, Finding::InSync, Some(Tagged::Repeated));
    }
    assert_eq!(state.known_tag(), None);
}

#[test]
fn our_own_published_field_makes_the_next_poll_whole() {
    for while_polled in [false, true] {
        let mut state = tagged();
        let begun = while_polled.then(|| state.begin_poll(at(1)));
        let fields: StatusFields = [("address", json!("a"))].into_iter().collect();
        let condition = state.object().conditions.observed().cloned().unwrap();
        state.writing.attempts.begin(Sent { condition, fields: fields.clone(), announcement: None });
        let mut published = object(&spec(), 0, 2);
        published.view = ObjectView::of(&fields.put_on(&state.object().view.open()));
        see(&mut state, published);
        assert!(!state.wants_prompt_poll(), "our own write is no edit");
        if let Some(begun) = begun {
            state.finish_poll(begun, Finding::InSync, at(1).moment);
            state.remember_tag(named("\"a\""));
        }
        assert_eq!(state.known_tag(), None, "while polled: {while_polled}");
    }
}

#[test]
fn a_secret_that_moved_is_polled_for_at_once() {
    let mut state = tagged();
    let noted = |state: &ObjectState, ending: &str, version: u32| {
        let mut object = object(&spec(), 0, version);
        let condition = object.conditions.corrected.as_mut().unwrap();
        condition.condition.message =
            format!("owns \"x\": done [scope 00000000, secrets password@00000001{ending}]").into();
        (object, state.rendered().clone())
    };
    let (sent, rendered) = noted(&state, "", 2);
    state.see(sent, rendered, at(1).moment);
    assert!(!state.wants_prompt_poll() && state.known_tag().is_some(), "nothing differs");
    let begun = state.begin_poll(at(30));
    let (moved, rendered) = noted(&state, ", moved password", 3);
    state.see(moved, rendered, at(31).moment);
    assert_eq!(state.known_tag(), None, "what was in sync says nothing");
    assert!(state.wants_prompt_poll());
    assert!(!state.finish_poll(begun, Finding::InSync, at(32).moment), "it began before");
    poll(&mut state, 33, Finding::Differs("x".into()), None);
    let reason = state.due_verdict(at(33).moment).map(|verdict| verdict.reason);
    assert_eq!(reason, Some(ObservedReason::FieldsDiffer));
    poll(&mut state, 34, Finding::InSync, named("\"a\""));
    assert_eq!(state.known_tag(), None, "it still stands as moved");
}

#[test]
fn a_request_is_kept_between_frequent_polls_alone() {
    let target = target(TEXT);
    for keeps_requests in [false, true] {
        let object = object(&spec(), 0, 1);
        let settings = PollSettings { keeps_requests, ..SETTINGS };
        let mut state =
            ObjectState::new(object.clone(), appraise(&target, &object), Arc::new(settings), Arrival::Listed, at(0));
        let first = state.prepare(&target);
        assert_eq!(Arc::ptr_eq(&first, &state.prepare(&target)), keeps_requests);
    }
}

#[test]
fn an_object_with_a_longer_interval_is_polled_less_often() {
    let mut state = tagged();
    let mut second = 0;
    for (version, (interval, expected)) in (1..).zip([(None, 30), (Some("2m"), 120), (Some("1s"), 30)]) {
        let mut object = object(&spec(), 0, version);
        object.asked.get_or_insert_default().interval = interval.map(Into::into);
        see(&mut state, object);
        let mut polls = Vec::new();
        while polls.len() < 3 {
            second += 1;
            if state.poll_due().is_some_and(|due| due <= at(second).moment) {
                poll(&mut state, second, Finding::InSync, None);
                polls.push(second);
            }
        }
        assert_eq!(polls[2] - polls[1], expected, "{interval:?}");
    }
}

/// Returns the second at which a removed resource is reported missing, with polls as requested and this creation step.
/// The object was in sync and had K corrections.
fn missing_after(step: &str, confirm: &str, stood_in_sync: bool, correction: u64) -> u64 {
    let correct = format!("  confirm: {{{confirm}}}\n  correct: {{http: {{create: [{{{step}}}]}}}}\n");
    let target = target(&format!("{TEXT}{correct}"));
    let mut object = object(&spec(), correction, 1);
    if !stood_in_sync {
        object.conditions = fixtures::object(&target, "u", &spec(), &json!({"conditions": []})).conditions;
    }
    let rendered = appraise(&target, &object);
    let mut state =
        ObjectState::new(object, rendered, std::sync::Arc::new(PollSettings::of(&target)), Arrival::Later, at(0));
    for second in 0..100 {
        if state.poll_due().is_some_and(|due| due <= at(second).moment) {
            poll(&mut state, second, Finding::Absent, None);
        }
        if let Some(verdict) = state.due_verdict(at(second).moment) {
            assert!(verdict.reason.is_absence());
            return second;
        }
    }
    panic!("it is never told");
}

#[test]
fn absence_is_confirmed_longer_where_the_server_chooses_ids() {
    let posts = "method: POST, url: 'http://h/', store: {externalId: \"${response.body.id}\"}";
    let puts = "method: PUT, url: 'http://h/x'";
    let table = [
        ("the id is ours", puts, "", true, 0, 1),
        ("it was in sync", posts, "", true, 0, 10),
        ("it was made before", posts, "", true, 1, 10),
        ("nothing was there before", posts, "", false, 0, 1),
        ("the target says longer", posts, "absentFor: 20s", true, 0, 20),
        ("the target says not at all", posts, "absentFor: 0s", true, 0, 1),
        ("the target says so though the id is ours", puts, "absentFor: 5s", true, 0, 5),
        ("more polls than the time takes", posts, "absent: 6", true, 0, 30),
        ("once is never enough", posts, "absent: 1", true, 0, 10),
    ];
    for (case, step, confirm, stood_in_sync, correction, expected) in table {
        assert_eq!(missing_after(step, confirm, stood_in_sync, correction), expected, "{case}");
    }
}

/// An object whose create was refused because the resource exists, in this version.
fn contradicted(version: u32, ending: &str) -> LeanObject {
    let mut object = object(&spec(), 1, version);
    let hash = DesiredHash::of(&json!(["x", {"a": 1}]));
    let record = json!({"type": "driftCorrected", "status": "False", "reason": "CorrectionFailed", "observedGeneration": 1,
        "message": format!("correction 1: no{}", ending.replace("HASH", &hash.to_string()))});
    let observed = json!({"type": "driftObserved", "status": "True", "reason": "NotCreated", "observedGeneration": 1,
        "message": format!("x [desired {hash}]")});
    let conditions = json!({"conditions": [observed, record]});
    object.conditions = drift_api::condition::Conditions::from_status(Some(&conditions));
    object
}

/// Polls until the verdict is confirmed, and writes it. Returns its reason; `None` if there is nothing to write.
fn absent_and_written(state: &mut ObjectState, second: u64) -> Option<ObservedReason> {
    poll(state, second, Finding::Absent, None);
    poll(state, second + 1, Finding::Absent, None);
    let update = state.begin_write(at(second + 2).moment, "2026-01-01T00:00:00Z")?;
    let condition = fixtures::condition_in(&update.patch);
    let reason = ObservedReason::parse(&condition.reason);
    let mut written = state.object().clone();
    let index = written.conditions.observed.as_ref().map_or(0, |placed| placed.index);
    written.conditions.observed = Some(drift_api::condition::Placed::new(index, condition));
    written.resource_version = (second + 100).to_string().as_str().into();
    state.finish_write(&WriteOutcome::Written, at(second + 2).moment);
    see(state, written);
    reason
}

#[test]
fn a_contradicted_absence_is_written_once() {
    let begin = |settings| {
        let (object, target) = (contradicted(1, " [exists HASH]"), target(TEXT));
        let rendered = appraise(&target, &object);
        ObjectState::new(object, rendered, std::sync::Arc::new(settings), Arrival::Listed, at(0))
    };
    let mut state = begin(CREATING);
    assert_eq!(absent_and_written(&mut state, 10), Some(ObservedReason::AbsenceContradicted));
    for second in [30, 60, 90] {
        assert_eq!(absent_and_written(&mut state, second), None, "{second}");
    }
    let observed = state.object().conditions.observed.clone();
    let mut withdrawn = contradicted(500, "");
    withdrawn.conditions.observed = observed;
    see(&mut state, withdrawn);
    assert_eq!(absent_and_written(&mut state, 120), Some(ObservedReason::NotCreated), "one more create may follow");
    assert_eq!(absent_and_written(&mut begin(SETTINGS), 10), Some(ObservedReason::NotCreated), "no create follows");
}

#[test]
fn a_poll_that_never_ends_makes_its_object_unknown() {
    let written_at = |second| {
        let mut state = tagged();
        let mut asked = object(&spec(), 0, 2);
        asked.asked.get_or_insert_default().poll = Some("now".into());
        see(&mut state, asked);
        state.begin_poll(at(1));
        state.notice_silence(at(second).moment);
        let update = state.begin_write(at(second).moment, "2026-01-01T00:00:00Z")?;
        let said = CurrentVerdict::read(&fixtures::condition_in(&update.patch))?;
        Some((said.reason, said.tag.polled))
    };
    let silence = 30 * u64::from(SILENT_INTERVALS);
    assert_ne!(written_at(silence - 1), Some((ObservedReason::NotYetPolled, None)));
    assert_eq!(written_at(silence), Some((ObservedReason::NotYetPolled, None)), "silence answers no request");
}

/// An object whose resource another writer changes back after each correction.
struct War {
    state: ObjectState,
    object: LeanObject,
    version: u32,
    second: u64,
    is_fulfilled: bool,
}

impl War {
    fn see(&mut self, object: LeanObject) {
        self.version += 1;
        self.object = LeanObject { resource_version: self.version.to_string().as_str().into(), ..object };
        let rendered = appraise(&target(TEXT), &self.object);
        self.state.see(self.object.clone(), rendered, at(self.second).moment);
    }

    /// Polls if it is due, and writes the verdict.
    fn act(&mut self) {
        let now = at(self.second);
        if self.state.poll_due().is_some_and(|due| due <= now.moment) {
            let finding = if self.is_fulfilled { Finding::InSync } else { Finding::Differs("x".into()) };
            let begun = self.state.begin_poll(now);
            self.state.finish_poll(begun, finding, now.moment);
        }
        if let Some(update) = self.state.begin_write(now.moment, "2026-01-01T00:00:00Z") {
            let condition = fixtures::condition_in(&update.patch);
            let mut written = self.object.clone();
            written.conditions.observed = Some(Placed::new(0, condition));
            self.see(written);
            self.state.finish_write(&WriteOutcome::Written, now.moment);
        }
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.act();
            self.second += 1;
        }
        self.act();
    }
}

#[test]
fn hints_hide_no_war_from_the_count() {
    for (undone_after, is_hinted, misses) in
        [(0, false, false), (1, false, false), (0, true, false), (1, true, false), (0, true, true), (1, true, true)]
    {
        let (version, second, is_fulfilled) = (1, 0, false);
        let mut war = War { state: tagged(), object: object(&spec(), 0, 1), version, second, is_fulfilled };
        war.run(60);
        for correction in 1..=3 {
            let hint = |war: &mut War| war.state.take_hint(at(war.second).moment);
            if is_hinted {
                hint(&mut war);
            }
            if misses {
                war.state.miss_hints(at(war.second).moment);
            }
            let corrected = object(&spec(), correction, 1).conditions.corrected;
            war.is_fulfilled = true;
            let mut noted = war.object.clone();
            noted.conditions.corrected = corrected;
            war.see(noted);
            hint(&mut war);
            war.run(undone_after);
            war.is_fulfilled = false;
            hint(&mut war);
            war.run(4);
        }
        let tag = war.object.conditions.observed().and_then(|condition| condition.message.tag()).unwrap_or_default();
        assert_eq!((tag.correction, tag.unhealed), (3, 3), "{undone_after} {is_hinted} {misses}");
    }
}

#[test]
fn a_verdict_that_others_keep_removing_is_reported() {
    for (pause, reported_after) in [(90, Some(6)), (600, Some(6)), (750, None)] {
        let (version, second, is_fulfilled) = (1, 0, false);
        let mut war = War { state: tagged(), object: object(&spec(), 0, 1), version, second, is_fulfilled };
        war.run(60);
        let removes = |war: &mut War| {
            let mut removed = war.object.clone();
            assert!(removed.conditions.observed.take().is_some(), "not restored");
            war.see(removed);
            let is_news = war.state.removals_are_news();
            war.run(pause);
            is_news
        };
        let reported: Vec<usize> = (1..=12).filter(|_| removes(&mut war)).collect();
        assert_eq!(reported, Vec::from_iter(reported_after), "{pause}");
    }
}
