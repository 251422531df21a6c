//! What is found by a fingerprint against what is judged, over random answers.

use std::sync::Arc;

use drift_target::Target;
use http::{HeaderMap, StatusCode};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::core::finding::Finding;
use crate::core::fixtures::{TEXT, target};
use crate::core::reading::{Progress, Reading};
use crate::core::reply::{Observation, Subject, compare};

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

/// What a read gives that is answered so, and what is known of it afterwards. An answer that is missing never came.
fn read(
    target: &Target,
    (view, moved): (&ObjectView, &[String]),
    answers: &[HttpReply],
    known: Option<&Arc<KnownFinding>>,
) -> (Found, Option<Arc<KnownFinding>>) {
    let read = target.read.http().unwrap();
    let of_this = known.filter(|known| known.is_of(view, moved));
    let open = view.open();
    let mut reading = Reading::new(read, &open).knowing(of_this.map(|known| &**known));
    for answer in answers {
        if let Progress::Done(observed) = reading.take(answer) {
            let observation = observed.unwrap_or_else(Observation::Failed);
            let found = compare(target, Subject { moved, ..Subject::from(&*open) }, observation);
            let known = |seen| Arc::new(KnownFinding::new(view.clone(), moved.to_vec(), seen, found.clone()));
            let known = reading.judged().map(known);
            return (found, known);
        }
    }
    (Finding::from(drift_model::condition::ObservedReason::PollTimedOut).into(), known.cloned())
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
    (status, body, header).prop_map(|(status, body, header)| {
        let headers: HeaderMap = [(http::HeaderName::from_static("a"), header.parse().unwrap())].into_iter().collect();
        HttpReply { status: StatusCode::from_u16(status).unwrap(), headers, body }
    })
}

#[derive(Clone, Debug)]
enum Event {
    Edit(i64),
    Moved(bool),
    Poll(Vec<HttpReply>),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        1 => (0..3_i64).prop_map(Event::Edit),
        1 => any::<bool>().prop_map(Event::Moved),
        6 => proptest::collection::vec(answer(), 0..3).prop_map(Event::Poll),
    ];
    proptest::collection::vec(event, 1..40)
}

proptest! {
    #[test]
    fn what_is_known_never_differs_from_what_is_judged(events in events()) {
        for text in [ONE, RULES, HEADERS, STEPS] {
            let target = reading(text);
            let object = |a: i64| ObjectView::of(&json!({"metadata": {"name": "x"}, "spec": {"id": "web", "a": a}}));
            let (mut view, mut moved, mut known) = (object(0), Vec::new(), None);
            for event in &events {
                match event {
                    Event::Edit(a) => view = object(*a),
                    Event::Moved(true) => moved = vec!["password".to_owned()],
                    Event::Moved(false) => moved = Vec::new(),
                    Event::Poll(answers) => {
                        let (judged, _) = read(&target, (&view, &moved), answers, None);
                        let (found, after) = read(&target, (&view, &moved), answers, known.as_ref());
                        prop_assert_eq!(found, judged, "{}", text);
                        known = after;
                    }
                }
            }
        }
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
