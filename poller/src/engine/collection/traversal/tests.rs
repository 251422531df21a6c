//! Combination of the pages of a collection.

use std::sync::Arc;

use drift_api::condition::ObservedReason::{self, ExternalError, ResponseInvalid};
use drift_language::Target;
use drift_systems::ReplyBody;
use http::{HeaderMap, StatusCode};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::engine::fixtures::{TEXT, target};

const READ: &str = r#"read: {http: {url: "http://h/roles?page=1", each: "${response.body.items}",
    key: {item: "${item.name}", object: "${self.spec.id}"}, next: "${response.body.?next}",
    absentWhen: "${item.?gone.orValue(false)}", observed: {a: "${item.a}"}}}"#;

fn collection(read: &str) -> Arc<Target> {
    target(&TEXT.replace(r#"read: {http: {url: "http://h/${self.spec.id}"}}"#, read))
}

fn reply(status: u16, body: &Value) -> HttpReply {
    let body = ReplyBody::Whole(body.to_string().into_bytes());
    HttpReply { status: StatusCode::from_u16(status).unwrap(), headers: HeaderMap::new(), body }
}

struct Seen {
    asked: Vec<String>,
    result: Result<Entries, Failure>,
}

fn traverse(target: &Target, replies: &[HttpReply]) -> Seen {
    let read = target.read.http().unwrap();
    let wanted = ["one", "two", "three"].map(str::to_owned).into_iter().collect();
    let first = read.render(&json!({})).unwrap();
    let mut traversal = Traversal::new(read, read.collection.as_ref().unwrap(), first, wanted);
    let mut asked = Vec::new();
    for reply in replies {
        match traversal.take(reply) {
            Progress::Ask(request) => asked.push(request.url.to_string()),
            Progress::Done(result) => return Seen { asked, result },
        }
    }
    panic!("it asks for more than {} pages: {asked:?}", replies.len())
}

fn observed(target: &Target, entries: &Entries, name: &str) -> Result<Observation, Failure> {
    let read = target.read.http().unwrap();
    entries.observe(name, |entry| observe_item(read, &json!({"spec": {"id": name}}), entry))
}

fn reason(observed: Result<Observation, Failure>) -> Option<ObservedReason> {
    observed.err().map(|failure| failure.reason)
}

fn page(items: &Value, next: &Value) -> HttpReply {
    reply(200, &json!({"items": items, "next": next}))
}

#[test]
fn pages_together_answer_for_every_object() {
    let target = collection(READ);
    let pages = [
        page(&json!([{"name": "one", "a": 1}]), &json!("?page=2")),
        page(&json!([{"name": "other", "a": 5}]), &json!("/roles?page=3")),
        page(&json!([{"name": "three", "a": 3, "gone": true}]), &Value::Null),
    ];
    let seen = traverse(&target, &pages);
    assert_eq!(seen.asked, ["http://h/roles?page=2", "http://h/roles?page=3"]);
    let entries = seen.result.unwrap();
    assert_eq!(observed(&target, &entries, "one"), Ok(Observation::Present(json!({"a": 1}))));
    assert_eq!(observed(&target, &entries, "two"), Ok(Observation::Absent));
    assert_eq!(observed(&target, &entries, "three"), Ok(Observation::Absent), "its own rule says so");
    assert_eq!(entries.names.len(), 3);
}

/// The URLs and bodies of the pages after the first.
fn continued(request: &str) -> (Vec<String>, Option<ObservedReason>) {
    let read = READ.replace(r#"url: "http://h/roles?page=1""#, request);
    let next = "${response.body.?next.optMap(token, {'token': token})}";
    let target = collection(&read.replace("${response.body.?next}", next));
    let read = target.read.http().unwrap();
    let first = read.render(&json!({})).unwrap();
    let mut traversal = Traversal::new(read, read.collection.as_ref().unwrap(), first, HashSet::new());
    let pages = [json!({"items": [], "next": "a&b"}), json!({"items": [], "next": "c"}), json!({"items": []})];
    let mut asked = Vec::new();
    for page in pages {
        match traversal.take(&reply(200, &page)) {
            Progress::Ask(request) => {
                let body = String::from_utf8(request.body.unwrap_or_default()).unwrap();
                asked.push(format!("{} {body}", request.url));
            }
            Progress::Done(result) => return (asked, reason(result.map(|_| Observation::Absent))),
        }
    }
    panic!("it asks for more pages: {asked:?}")
}

#[test]
fn a_cursor_goes_into_the_next_request() {
    let table = [
        (
            r#"url: "http://h/", method: POST, form: {Action: List, token: "0"}"#,
            vec!["http://h/ Action=List&token=a%26b", "http://h/ Action=List&token=c"],
        ),
        (
            r#"url: "http://h/", method: POST, body: {limit: 5}"#,
            vec![r#"http://h/ {"limit":5,"token":"a&b"}"#, r#"http://h/ {"limit":5,"token":"c"}"#],
        ),
        (r#"url: "http://h/x?limit=5""#, vec!["http://h/x?limit=5&token=a%26b ", "http://h/x?limit=5&token=c "]),
    ];
    for (request, expected) in table {
        assert_eq!(continued(request), (expected.into_iter().map(str::to_owned).collect(), None), "{request}");
    }
    let repeating = r#"url: "http://h/?token=a%26b""#;
    assert_eq!(continued(repeating), (Vec::new(), Some(ResponseInvalid)));
    let text = r#"url: "http://h/", method: POST, text: a"#;
    assert_eq!(continued(text), (Vec::new(), Some(ResponseInvalid)));
}

#[test]
fn a_traversal_that_breaks_off_says_nothing() {
    let target = collection(READ);
    let first = || page(&json!([{"name": "one", "a": 1}]), &json!("?page=2"));
    let table = [
        (vec![first(), reply(503, &json!({}))], ExternalError),
        (vec![first(), reply(404, &json!({}))], ExternalError),
        (vec![first(), reply(200, &json!({"error": "busy"}))], ResponseInvalid),
        (vec![first(), reply(200, &json!({"items": {}}))], ResponseInvalid),
        (vec![first(), page(&json!([]), &json!("?page=1"))], ResponseInvalid),
        (vec![first(), page(&json!([]), &json!("?page=2#again"))], ResponseInvalid),
        (vec![page(&json!([]), &json!("http://other/roles"))], ResponseInvalid),
        (vec![page(&json!([]), &json!("https://h/roles"))], ResponseInvalid),
        (vec![page(&json!([]), &json!("//u:p@h/roles"))], ResponseInvalid),
        (vec![page(&json!([]), &json!(7))], ResponseInvalid),
        (vec![page(&json!([{"a": 1}]), &Value::Null)], ResponseInvalid),
        (vec![page(&json!([{"name": "", "a": 1}]), &Value::Null)], ResponseInvalid),
    ];
    for (pages, expected) in table {
        let seen = traverse(&target, &pages);
        assert_eq!(seen.result.map(|_| ()).unwrap_err().reason, expected, "{:?}", seen.asked);
    }
}

#[test]
fn a_name_that_stands_twice_spoils_itself_and_every_absence() {
    let target = collection(READ);
    let items = json!([{"name": "one", "a": 1}, {"name": "two", "a": 2}, {"name": "one", "a": 3}]);
    let entries = traverse(&target, &[page(&items, &Value::Null)]).result.unwrap();
    assert_eq!(reason(observed(&target, &entries, "one")), Some(ResponseInvalid));
    assert_eq!(observed(&target, &entries, "two"), Ok(Observation::Present(json!({"a": 2}))));
    assert_eq!(reason(observed(&target, &entries, "three")), Some(ResponseInvalid));
}

#[test]
fn the_next_page_may_stand_in_a_header() {
    let target = collection(&READ.replace(r#"next: "${response.body.?next}""#, "next: link"));
    let linked = |line: &'static str| {
        let mut reply = page(&json!([]), &Value::Null);
        reply.headers.insert(http::header::LINK, line.parse().unwrap());
        reply
    };
    let first = linked(r#"<http://h/roles?page=9,1>; rel="last", </roles?page=2>; title=x; rel="prev next""#);
    let seen = traverse(&target, &[first, linked(r#"</roles?page=1>; rel="prev""#)]);
    assert_eq!(seen.asked, ["http://h/roles?page=2"]);
    assert!(seen.result.is_ok());
}

#[test]
fn a_header_that_may_hide_a_page_says_nothing() {
    for (next, line) in [
        ("next: link", b"</roles?q=\xc3\xa4&page=2>; rel=\"next\"".as_slice()),
        ("next: link", b"</roles?page=2; rel=\"next\""),
        ("observed: {a: 1}", b"</roles?page=2>; rel=\"next\""),
    ] {
        let read = READ.replace(r#"next: "${response.body.?next}","#, &format!("{next},"));
        let read =
            if next.starts_with("observed") { read.replace(r#", observed: {a: "${item.a}"}"#, "") } else { read };
        let target = collection(&read);
        let mut reply = page(&json!([]), &Value::Null);
        reply.headers.insert(http::header::LINK, http::HeaderValue::from_bytes(line).unwrap());
        let seen = traverse(&target, &[reply]);
        assert_eq!(seen.result.map(|_| ()).unwrap_err().reason, ResponseInvalid, "{next}");
    }
}

#[test]
fn entries_without_end_are_not_kept() {
    let target = collection(READ);
    let fat: Vec<Value> = (0..300).map(|number| json!({"name": format!("{number}{}", "x".repeat(1_000))})).collect();
    let pages: Vec<_> = (0..400)
        .map(|number| {
            let named = |entry: &Value| json!({"name": format!("{number}{}", entry["name"].as_str().unwrap_or("").get(..1_000).unwrap_or(""))});
            page(&json!(fat.iter().map(named).collect::<Vec<_>>()), &json!(format!("?page=a{number}")))
        })
        .collect();
    let seen = traverse(&target, &pages);
    let failure = seen.result.map(|_| ()).unwrap_err();
    assert!(failure.text.contains("memory"), "{failure:?} after {} pages", seen.asked.len());
}

#[test]
fn a_page_has_no_longer_url_than_other_requests() {
    let target = collection(READ);
    let longest = "?page=".to_owned() + &"x".repeat(8 * 1024 - "http://h/roles?page=".len());
    let seen = traverse(&target, &[page(&json!([]), &json!(longest)), page(&json!([]), &Value::Null)]);
    assert!(seen.result.is_ok() && seen.asked.last().is_some_and(|url| url.len() == 8 * 1024), "{:?}", seen.asked);
    let failure = traverse(&target, &[page(&json!([]), &json!(longest + "x"))]).result.map(|_| ()).unwrap_err();
    assert!(failure.text.ends_with("next is longer than 8192 bytes"), "{failure:?}");
}

#[test]
fn pages_cannot_fill_the_body_of_the_request() {
    let read = READ.replace(r#"url: "http://h/roles?page=1""#, r#"url: "http://h/", method: POST, body: {limit: 5}"#);
    let target = collection(&read);
    let read = target.read.http().unwrap();
    let first = read.render(&json!({})).unwrap();
    let mut traversal = Traversal::new(read, read.collection.as_ref().unwrap(), first, HashSet::new());
    let mut pages = (0..).map(|number| page(&json!([]), &json!({format!("k{number}"): "x".repeat(10_000)})));
    let failure = loop {
        match traversal.take(&pages.next().unwrap()) {
            Progress::Ask(request) => assert!(request.body.unwrap().len() < 70_000),
            Progress::Done(result) => break result.map(|_| ()).unwrap_err(),
        }
    };
    assert!(failure.text.ends_with("next makes the body more than 65536 bytes larger"), "{failure:?}");
}

#[test]
fn an_endless_collection_comes_to_an_end() {
    let target = collection(READ);
    let pages: Vec<_> = (2..2_000).map(|number| page(&json!([]), &json!(format!("?page={number}")))).collect();
    assert_eq!(traverse(&target, &pages).result.map(|_| ()).unwrap_err().reason, ResponseInvalid);
}

proptest! {
    /// An entry that is on a page is never absent, regardless of failures on any page.
    #[test]
    fn what_stands_on_a_page_is_never_absent(split in 0..4_usize, broken in proptest::option::of(0..3_usize)) {
        let target = collection(READ);
        let items = [json!({"name": "one", "a": 1}), json!({"name": "two", "a": 2}), json!({"name": "three", "a": 3})];
        let (left, right) = items.split_at(split.min(3));
        let mut pages = vec![page(&json!(left), &json!("?page=2")), page(&json!(right), &Value::Null)];
        if let Some(at) = broken {
            pages.insert(at.min(1), reply(if at == 2 { 500 } else { 200 }, &json!({"items": null})));
        }
        if let Ok(entries) = traverse(&target, &pages).result {
            for name in ["one", "two", "three"] {
                prop_assert!(matches!(observed(&target, &entries, name), Ok(Observation::Present(_))));
            }
        }
    }
}
