//! Compares findings by fingerprint with judged findings, over random responses.

use std::sync::Arc;

use drift_api::identity::Uid;
use drift_api::names;
use drift_api::object::LeanObject;
use drift_api::object::object_view::ObjectView;
use drift_language::Target;
use http::{HeaderMap, StatusCode};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::engine::fixtures::{self, TEXT, at, target};
use crate::engine::judgement::comparison::compare;
use crate::engine::judgement::{Finding, Observation, Subject};
use crate::engine::object::object_state::ObjectState;
use crate::engine::object::object_store::ObjectStore;
use crate::engine::poll::http_reading::{Progress, Reading};
use crate::engine::schedule::Now;

const ONE: &str = r#"{url: "http://h/${self.spec.id}"}"#;
const RULES: &str = r#"{url: "http://h/x", absentWhen: "${response.status == 404 || response.body == null}",
    validWhen: "${has(response.body.a)}", settlingWhen: "${response.body.a == 3}"}"#;
const HEADERS: &str = r#"{url: "http://h/x", observed: {a: "${response.?headers.?a.orValue('none')}"}}"#;
const STEPS: &str = r#"{steps: [{name: one, url: "http://h/x"}, {name: two, url: "http://h/${steps.one.body.a}"}],
    observed: {a: "${steps.one.body.a}", b: "${response.body.a}"}}"#;

fn reading(read: &str) -> Arc<Target> {
    let publish = "publish: {seen: \"${observed.?a}\"}\n  compare:";
    target(&TEXT.replace(ONE, read).replace("compare:", publish))
}

/// Returns the result of a read with these responses, and the known finding after it. A missing response never arrived.
fn read(
    target: &Target,
    (view, moved): (&ObjectView, &[String]),
    answers: &[HttpReply],
    known: Option<&KnownFinding>,
) -> (Found, Option<KnownFinding>) {
    let read = target.read.http().unwrap();
    let open = view.open();
    let mut reading = Reading::new(read, &open).knowing(known);
    for answer in answers {
        if let Progress::Done(observed) = reading.take(answer) {
            let found = compare(target, Subject { moved, ..Subject::from(&*open) }, observed);
            let known = reading.judged().map(|seen| KnownFinding::new(seen, &found));
            return (found, known);
        }
    }
    (Finding::from(drift_api::condition::ObservedReason::PollTimedOut).into(), known.cloned())
}

/// The object in this version, with this field, and with a changed password or not.
fn object(target: &Target, version: usize, (a, moved): (i64, bool)) -> LeanObject {
    let moved = if moved { ", moved password" } else { "" };
    let message = format!("correction 1, owns \"web\": done [scope 00000000, secrets password@9f31c2d4{moved}]");
    let corrected =
        json!({"type": names::DRIFT_CORRECTED, "status": "True", "reason": "CorrectionApplied", "message": message});
    let status = json!({"conditions": [corrected]});
    let object = fixtures::object(target, "x", &json!({"id": "web", "a": a}), &status);
    LeanObject { resource_version: version.to_string().as_str().into(), ..object }
}

fn answer() -> impl Strategy<Value = HttpReply> {
    let status = prop_oneof![4 => Just(200_u16), 1 => Just(404), 1 => Just(500), 1 => Just(429), 1 => Just(304)];
    let body = prop_oneof![
        4 => (0..4_i64).prop_map(|a| ReplyBody::Whole(json!({"a": a}).to_string().into_bytes())),
        1 => Just(ReplyBody::Whole(Vec::new())),
        1 => Just(ReplyBody::Whole(b"<html>".to_vec())),
        1 => Just(ReplyBody::TooLarge),
        1 => Just(ReplyBody::Truncated),
    ];
    let header = prop_oneof![Just("0"), Just("1")];
    let content_type = prop_oneof![Just("text/html"), Just("text/plain")];
    (status, body, header, content_type).prop_map(|(status, body, header, content_type)| {
        let own = (http::HeaderName::from_static("a"), header.parse().unwrap());
        let headers = HeaderMap::from_iter([own, (http::header::CONTENT_TYPE, content_type.parse().unwrap())]);
        HttpReply { status: StatusCode::from_u16(status).unwrap(), headers, body }
    })
}

#[derive(Clone, Debug)]
enum Event {
    Edit(i64),
    Moved(bool),
    /// Responses of a poll, and an edit between its request and its responses.
    Poll(Vec<HttpReply>, Option<i64>),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let edit = 0..3_i64;
    let answers = proptest::collection::vec(answer(), 0..3);
    let event = prop_oneof![
        1 => edit.clone().prop_map(Event::Edit),
        1 => any::<bool>().prop_map(Event::Moved),
        6 => (answers, proptest::option::weighted(0.1, edit)).prop_map(|(answers, edit)| Event::Poll(answers, edit)),
    ];
    proptest::collection::vec(event, 1..40)
}

/// An object that is polled while it changes.
struct Polled {
    target: Arc<Target>,
    objects: ObjectStore,
    uid: Uid,
    version: usize,
    state: (i64, bool),
}

impl Polled {
    fn new(text: &str) -> Self {
        let target = reading(text);
        let objects = ObjectStore::new(target.clone());
        let mut polled = Self { target, objects, uid: Uid::from("x"), version: 0, state: (0, false) };
        polled.change((0, false));
        polled
    }

    fn now(&self) -> Now {
        at(self.version as u64)
    }

    fn state(&self) -> &ObjectState {
        self.objects.state(&self.uid).unwrap()
    }

    fn change(&mut self, state: (i64, bool)) {
        (self.state, self.version) = (state, self.version + 1);
        self.objects.see(object(&self.target, self.version, state), self.now());
        assert_eq!(self.state().object().conditions.moved_secrets().is_empty(), !state.1);
    }

    /// Returns the finding with the known one, and the finding without it.
    fn poll(&mut self, answers: &[HttpReply], edit: Option<i64>) -> (Found, Found) {
        let (view, moved) = (self.state().object().view.clone(), self.state().object().conditions.moved_secrets());
        let (known, now) = (self.state().known_finding().cloned(), self.now());
        let begun = self.objects.update(&self.uid, now.moment, |state| state.begin_poll(now)).unwrap();
        edit.into_iter().for_each(|a| self.change((a, self.state.1)));
        let (judged, _) = read(&self.target, (&view, &moved), answers, None);
        let (found, after) = read(&self.target, (&view, &moved), answers, known.as_ref());
        self.objects.update(&self.uid, now.moment, |state| {
            if state.finish_poll(begun, found.clone(), now.moment) {
                state.remember_finding(after);
            }
        });
        (found, judged)
    }
}

proptest! {
    #[test]
    fn what_is_known_never_differs_from_what_is_judged(events in events()) {
        for text in [ONE, RULES, HEADERS, STEPS] {
            let mut polled = Polled::new(text);
            for event in &events {
                match event {
                    Event::Edit(a) => polled.change((*a, polled.state.1)),
                    Event::Moved(moved) => polled.change((polled.state.0, *moved)),
                    Event::Poll(answers, edit) => {
                        let (found, judged) = polled.poll(answers, *edit);
                        prop_assert_eq!(found, judged, "{}", text);
                    }
                }
            }
        }
    }
}

#[test]
fn what_was_found_is_remembered_until_the_object_changes() {
    let mut polled = Polled::new(ONE);
    let answer =
        HttpReply { status: StatusCode::OK, headers: HeaderMap::new(), body: ReplyBody::Whole(b"{\"a\": 0}".to_vec()) };
    for (state, edit) in [((0, true), None), ((1, true), None), ((1, false), Some(2))] {
        polled.poll(std::slice::from_ref(&answer), None);
        assert!(polled.state().known_finding().is_some());
        match edit {
            Some(_) => _ = polled.poll(std::slice::from_ref(&answer), edit),
            None => polled.change(state),
        }
        assert!(polled.state().known_finding().is_none(), "{state:?}");
    }
}

#[test]
fn the_same_answer_is_judged_once() {
    let target = reading(RULES);
    let view = ObjectView::of(&json!({"metadata": {"name": "x"}, "spec": {"id": "web", "a": 1}}));
    let answer = |date: &str| HttpReply {
        status: StatusCode::OK,
        headers: [(http::header::DATE, date.parse().unwrap())].into_iter().collect(),
        body: ReplyBody::Whole(b"{\"a\": 1}".to_vec()),
    };
    let (_, known) = read(&target, (&view, &[]), &[answer("today")], None);
    let known = known.unwrap();
    let open = view.open();
    let mut reading = Reading::new(target.read.http().unwrap(), &open).knowing(Some(&known));
    let Progress::Done(Ok(observation)) = reading.take(&answer("tomorrow")) else {
        unreachable!("one answer is enough")
    };
    assert!(matches!(observation, Observation::Known(Found { finding: Finding::InSync, .. })), "{observation:?}");
}
