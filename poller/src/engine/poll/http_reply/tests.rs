//! Limits on the meaning of responses.

use super::*;
use crate::engine::judgement::comparison::compare;
use crate::engine::judgement::finding::Finding;
use crate::engine::poll::http_reading::{Progress, Reading};
use ObservedReason::*;
use drift_api::object::object_view::ObjectView;
use drift_language::Target;
use drift_systems::ReplyBody;
use http::{HeaderMap, StatusCode};
use serde_json::json;

fn target(extra: &str) -> Target {
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: "${{self.metadata.name}}"
  read:
    http:
      url: "http://h/${{self.metadata.name}}"
{extra}
  compare:
    desired: {{a: "${{self.spec.a}}"}}
"#
    );
    drift_language::fixtures::target(&text)
}

fn whole(body: &str) -> ReplyBody {
    ReplyBody::Whole(body.as_bytes().to_vec())
}

fn finding(target: &Target, status: u16, body: ReplyBody) -> Finding {
    finding_of(target, HttpReply { status: StatusCode::from_u16(status).unwrap(), headers: HeaderMap::new(), body })
}

fn finding_of(target: &Target, reply: HttpReply) -> Finding {
    let object = json!({"metadata": {"name": "x"}, "spec": {"a": 1}});
    let read = target.read.http().unwrap();
    match Reading::new(read, &ObjectView::of(&object).open()).take(&reply) {
        Progress::Done(observed) => compare(target, &object, observed).finding,
        Progress::Ask(_) => panic!("there is one request"),
    }
}

fn reason(target: &Target, status: u16, body: ReplyBody) -> Option<ObservedReason> {
    match finding(target, status, body) {
        Finding::Failed(failure) => Some(failure.reason),
        _ => None,
    }
}

const HTML: &str = "<html><h1>not found</h1></html>";

#[test]
fn the_order_of_judgement_holds_by_default() {
    let target = target("");
    assert_eq!(finding(&target, 200, whole(r#"{"a": 1.0, "b": 2}"#)), Finding::InSync);
    assert_eq!(
        finding(&target, 200, whole(r#"{"a": 2}"#)),
        Finding::Differs("1 field differs: /a desired 1, observed 2".into())
    );
    assert_eq!(finding(&target, 404, whole("")), Finding::Absent);
    assert_eq!(finding(&target, 410, whole(r#"{"error": "gone"}"#)), Finding::Absent);
    let failures = [
        (401, whole(""), Unauthorized),
        (403, whole(HTML), Forbidden),
        (407, whole(""), Unauthorized),
        (429, whole(r#"{"a": 1}"#), RateLimited),
        (302, whole(""), ExternalError),
        (408, whole(""), ExternalError),
        (425, whole(""), ExternalError),
        (500, whole(r#"{"a": 1}"#), ExternalError),
        (503, ReplyBody::TooLarge, ExternalError),
        (418, whole("{}"), ExternalError),
        (400, whole("{}"), ExternalError),
        (422, whole("{}"), ExternalError),
        (404, whole(HTML), ResponseInvalid),
        (404, ReplyBody::Truncated, ResponseInvalid),
        (200, whole(HTML), ResponseInvalid),
        (200, whole(""), ResponseInvalid),
        (200, whole("null"), ResponseInvalid),
        (200, whole("[]"), ResponseInvalid),
        (200, whole("{}"), ResponseInvalid),
        (200, whole(r#"{"error": "maintenance"}"#), ResponseInvalid),
        (200, ReplyBody::TooLarge, ResponseInvalid),
        (200, ReplyBody::Truncated, ResponseInvalid),
        (200, whole(&"[".repeat(100_000)), ResponseInvalid),
    ];
    for (status, body, expected) in failures {
        assert_eq!(reason(&target, status, body.clone()), Some(expected), "{status} {body:?}");
    }
}

#[test]
fn a_rule_for_absence_replaces_the_default() {
    let target =
        target(r#"      absentWhen: "${response.status == 200 && response.body.?state.orValue('') == 'deleted'}""#);
    assert_eq!(finding(&target, 200, whole(r#"{"a": 1, "state": "deleted"}"#)), Finding::Absent);
    assert_eq!(finding(&target, 200, whole(r#"{"a": 1}"#)), Finding::InSync);
    assert_eq!(reason(&target, 404, whole("")), Some(ExternalError));
    let always = self::target(r#"      absentWhen: "${true}""#);
    assert_eq!(finding(&always, 422, whole("{}")), Finding::Absent);
    for status in [401, 403, 429, 302, 500] {
        assert_ne!(reason(&always, status, whole("{}")), None, "{status}");
    }
    assert_eq!(finding(&always, 404, whole(HTML)), Finding::Absent, "it is asked whatever the body is");
}

#[test]
fn a_system_at_work_is_settling() {
    let settling = target(r#"      settlingWhen: "${response.body.?state.orValue('') in ['creating', 'updating']}""#);
    assert_eq!(reason(&settling, 200, whole(r#"{"a": 2, "state": "updating"}"#)), Some(Settling));
    assert_eq!(finding(&settling, 200, whole(r#"{"a": 1}"#)), Finding::InSync);
    let mapped = target(r#"      observed: {a: "${response.body.data.a}"}"#);
    assert_eq!(finding(&mapped, 200, whole(r#"{"data": {"a": 1}}"#)), Finding::InSync);
    assert_eq!(reason(&mapped, 200, whole(r#"{"other": 1}"#)), Some(ResponseInvalid));
}

#[test]
fn every_rule_sees_the_headers_of_the_answer() {
    let body = || whole(r#"{"a": 1}"#);
    let table = [
        (r#"absentWhen: "${response.headers.?x.orValue('') == 'gone'}""#, "gone", Ok(Finding::Absent)),
        (r#"validWhen: "${response.headers.x != 'foreign'}""#, "foreign", Err(ResponseInvalid)),
        (r#"settlingWhen: "${response.headers.x == 'busy'}""#, "busy", Err(Settling)),
        (
            r#"observed: {a: "${response.headers.x}"}"#,
            "2",
            Ok(Finding::Differs("1 field differs: /a desired 1, observed \"2\"".into())),
        ),
    ];
    for (rule, value, expected) in table {
        let target = target(&format!("      {rule}"));
        let headers = HeaderMap::from_iter([(http::HeaderName::from_static("x"), value.parse().unwrap())]);
        let found = match finding_of(&target, HttpReply { status: StatusCode::OK, headers, body: body() }) {
            Finding::Failed(failure) => Err(failure.reason),
            other => Ok(other),
        };
        assert_eq!(found, expected, "{rule}");
    }
}

#[test]
fn an_answer_without_any_desired_field_is_invalid() {
    let none = "none of desired's fields";
    let said = |target: &Target, body: &str| match finding(target, 200, whole(body)) {
        Finding::Failed(Failure { reason: ResponseInvalid, text }) => text,
        other => format!("{other:?}"),
    };
    for body in [r#"{"error": "maintenance"}"#, r#"{"error": {"a": 1}}"#, "{}"] {
        assert!(said(&target(""), body).ends_with(none), "{body}: {}", said(&target(""), body));
    }
    let mapped = target(r#"      observed: {a: "${response.body.?a}", b: "${response.body.?b}"}"#);
    assert!(said(&mapped, r#"{"b": 1}"#).ends_with(none));
    let differs = Finding::Differs("1 field differs: /a desired 1, observed absent".into());
    assert_eq!(finding(&target(""), 200, whole(r#"{"a": null}"#)), differs, "null counts");
}

#[test]
fn an_answer_of_too_many_values_is_invalid() {
    let answer = format!(r#"{{"a": 1, "b": [{}0]}}"#, r#"{"":0},"#.repeat(149_000));
    assert!(answer.len() < 1024 * 1024);
    let Finding::Failed(failure) = finding(&target(""), 200, whole(&answer)) else { panic!("it was taken") };
    assert_eq!(failure, Failure::with(ResponseInvalid, "status 200, no content type, too many values"));
    let list =
        format!(r#"{{"a": 1, "b": [{}0]}}"#, r#"{"name": "one", "address": "10.0.0.1", "weight": 1},"#.repeat(15_000));
    assert_eq!(finding(&target(""), 200, whole(&list)), Finding::InSync);
}

#[test]
fn valid_when_stands_in_place_of_the_default() {
    let target = target(
        "      validWhen: \"${has(response.body.kind)}\"\n      settlingWhen: \"${response.body.?busy.orValue(false)}\"",
    );
    let differs = Finding::Differs("1 field differs: /a desired 1, observed absent".into());
    assert_eq!(finding(&target, 200, whole(r#"{"kind": "Role"}"#)), differs);
    assert_eq!(reason(&target, 200, whole(r#"{"kind": "Role", "busy": true}"#)), Some(Settling));
    for body in [r#"{"a": 1}"#, r#"{"a": 1, "busy": true}"#, "[]", r#""text""#] {
        assert_eq!(reason(&target, 200, whole(body)), Some(ResponseInvalid), "{body}");
    }
}

#[test]
fn no_failure_repeats_the_answer() {
    let canary = "canary-7d1f";
    for (status, body) in [(500, canary.to_owned()), (200, canary.to_owned()), (404, format!("<{canary}>"))] {
        let finding = finding(&target(""), status, whole(&body));
        assert!(!format!("{finding:?}").contains(canary), "{finding:?}");
    }
}

#[test]
fn a_rule_for_absence_sees_the_text_of_any_body() {
    let target = target(r#"      absentWhen: "${response.status == 404 && response.text == 'Not Found'}""#);
    assert_eq!(finding(&target, 404, whole("Not Found")), Finding::Absent);
    assert_eq!(reason(&target, 404, whole(HTML)), Some(ExternalError));
    assert_eq!(reason(&target, 200, whole("Not Found")), Some(ResponseInvalid));
    assert_eq!(finding(&target, 200, whole(r#"{"a": 1}"#)), Finding::InSync);
}

#[test]
fn a_page_is_never_an_empty_answer() {
    let target = target(r#"      absentWhen: "${response.status == 404 || response.body == null}""#);
    assert_eq!(finding(&target, 404, whole(HTML)), Finding::Absent, "decided without the body");
    assert_eq!(finding(&target, 200, whole("null")), Finding::Absent);
    let Finding::Failed(failure) = finding(&target, 200, whole(HTML)) else { panic!("it was taken") };
    assert_eq!(failure, Failure::with(ResponseInvalid, "status 200, no content type, not JSON"));
}

#[test]
fn a_text_is_read_as_it_is() {
    let target = target(
        r#"      as: text
      observed: {a: "${int(capture(response.body, 'a=([0-9]+)').orValue('0'))}"}"#,
    );
    assert_eq!(finding(&target, 200, whole("a=1\n")), Finding::InSync);
    assert!(matches!(finding(&target, 200, whole("a=2")), Finding::Differs(_)));
}

#[test]
fn only_an_empty_404_is_absence_for_text() {
    let texts = ["      as: text", "      as: text\n      accept: [200, 404, 410]"].map(target);
    for (target, status) in texts.iter().flat_map(|target| [(target, 404), (target, 410)]) {
        assert_eq!(finding(target, status, whole("")), Finding::Absent);
        for body in [HTML, "Not Found", " "] {
            let said = format!("status {status}, no content type, not empty, and the target has no absentWhen");
            let invalid = Finding::Failed(Failure::with(ResponseInvalid, &said));
            assert_eq!(finding(target, status, whole(body)), invalid, "{body:?}");
        }
    }
    let written =
        target("      as: text\n      absentWhen: \"${response.status == 404 && response.text == 'Not Found'}\"");
    assert_eq!(finding(&written, 404, whole("Not Found")), Finding::Absent);
    assert_eq!(reason(&written, 404, whole(HTML)), Some(ExternalError));
    assert_eq!(reason(&written, 404, whole("")), Some(ExternalError), "a written rule replaces the default");
}

#[test]
fn a_failure_says_the_status() {
    for (status, body, expected) in [
        (503, "", Failure::with(ExternalError, "status 503")),
        (404, HTML, Failure::with(ResponseInvalid, "status 404, no content type, not JSON")),
        (418, "{}", Failure::with(ExternalError, "status 418")),
    ] {
        assert_eq!(finding(&target(""), status, whole(body)), Finding::Failed(expected));
    }
}

/// `{"a":"ä"}` in Latin-1.
fn latin() -> ReplyBody {
    ReplyBody::Whole(b"{\"a\":\"\xe4\"}".to_vec())
}

#[test]
fn a_byte_order_mark_is_no_mistake() {
    assert_eq!(finding(&target(""), 200, whole("\u{feff}{\"a\": 1}")), Finding::InSync);
}

#[test]
fn an_encoded_answer_names_its_encoding() {
    for encoding in ["br", "zstd", "deflate"] {
        let headers = HeaderMap::from_iter([(http::header::CONTENT_ENCODING, encoding.parse().unwrap())]);
        let body = ReplyBody::Whole(vec![0x1b, 0x00, 0xf8]);
        let found = finding_of(&target(""), HttpReply { status: StatusCode::OK, headers, body });
        let said = format!("status 200, no content type, encoded as {encoding}, which was not asked for");
        assert_eq!(found, Finding::Failed(Failure::with(ResponseInvalid, &said)));
    }
}

#[test]
fn an_unreadable_answer_names_status_and_content_type() {
    let html = "text/html; charset=utf-8";
    let deep = "[".repeat(100_000);
    let table = [
        ("", 404, html, whole(HTML), "status 404, text/html, not JSON"),
        ("", 200, html, whole(HTML), "status 200, text/html, not JSON"),
        ("", 200, "application/json", whole("{"), "status 200, application/json, not JSON"),
        ("", 200, "application/json", whole(&deep), "status 200, application/json, not JSON"),
        (
            "",
            200,
            "application/json",
            whole("\u{feff}{\"a\": NaN}"),
            "status 200, application/json, not JSON (it has NaN or Infinity)",
        ),
        ("", 200, "application/json", latin(), "status 200, application/json, not JSON (its bytes are no UTF-8)"),
        ("", 410, "a canary of the answer", whole("x"), "status 410, another content type, not JSON"),
        ("", 200, html, ReplyBody::TooLarge, "status 200, text/html, larger than maxBytes"),
        ("", 404, html, ReplyBody::Truncated, "status 404, text/html, it ends too early"),
        ("      absentWhen: \"${response.body.a == 1}\"", 404, html, whole(HTML), "status 404, text/html, not JSON"),
        (
            "      as: text",
            404,
            html,
            whole(HTML),
            "status 404, text/html, not empty, and the target has no absentWhen",
        ),
    ];
    for (extra, status, content_type, body, expected) in table {
        let headers = HeaderMap::from_iter([(http::header::CONTENT_TYPE, content_type.parse().unwrap())]);
        let reply = HttpReply { status: StatusCode::from_u16(status).unwrap(), headers, body };
        let invalid = Finding::Failed(Failure::with(ResponseInvalid, expected));
        assert_eq!(finding_of(&target(extra), reply), invalid, "{extra} {status} {content_type}");
    }
}

#[test]
fn a_rule_fails_by_whoever_makes_it_fail() {
    // The object has spec.a and no spec.b; the response has a and no b.
    let table = [
        ("validWhen: \"${response.body.a == self.spec.b}\"", RuleError),
        ("validWhen: \"${response.body.b == self.spec.a}\"", ResponseInvalid),
        ("validWhen: \"${self.spec.b == 1}\"", RuleError),
        ("validWhen: \"${self.spec.a}\"", RuleError),
        ("validWhen: \"${response.body.a}\"", ResponseInvalid),
        ("validWhen: \"${response.body.a + self.spec.a + 'x' == 1}\"", ResponseInvalid),
        ("validWhen: \"${response.body.a == self.spec.a + 'x'}\"", RuleError),
        ("validWhen: \"${response.body.b == 1 || self.spec.b == 1}\"", ResponseInvalid),
        ("validWhen: \"${response.body.b ? self.spec.b : true}\"", ResponseInvalid),
        ("validWhen: \"${self.spec.b ? response.body.a == 1 : true}\"", RuleError),
        ("validWhen: \"${self.spec.b.exists(x, x == response.body.a)}\"", RuleError),
        ("validWhen: \"${[1].exists(x, response.body.b == self.spec.b)}\"", ResponseInvalid),
        ("settlingWhen: \"${response.body.a == self.spec.b}\"", RuleError),
        ("absentWhen: \"${response.body.a == self.spec.b}\"", RuleError),
        ("absentWhen: \"${response.body.b == self.spec.a}\"", ResponseInvalid),
        ("observed: {a: \"${response.body.b}\", c: \"${self.spec.b}\"}", RuleError),
        ("observed: {a: \"${response.body.b}\", c: \"${self.spec.a}\"}", ResponseInvalid),
        ("observed: {a: \"${response.body.a}\", c: \"x ${self.spec.b}\"}", RuleError),
        ("observed: {a: \"${string(base64.decode(response.body.b))}\"}", ResponseInvalid),
        ("validWhen: \"${optional.of(response.body.b).hasValue()}\"", ResponseInvalid),
        ("absentWhen: \"${json.parse(response.body.b) == 1}\"", ResponseInvalid),
        ("settlingWhen: \"${base64.decode(self.spec.b) == base64.decode(response.body.b)}\"", RuleError),
    ];
    for (rule, expected) in table {
        assert_eq!(reason(&target(&format!("      {rule}")), 200, whole(r#"{"a": 1}"#)), Some(expected), "{rule}");
    }
    let absent = target("      absentWhen: \"${response.body.a == self.spec.b}\"");
    assert_eq!(reason(&absent, 404, whole(HTML)), Some(RuleError), "whatever the answer says");
}

#[test]
fn an_xml_answer_is_judged_like_json() {
    let of = |further: &str| {
        target(&format!("      as: xml\n      observed: {{a: \"${{int(response.body.r.a)}}\"}}\n{further}"))
    };
    let by_default = of("");
    assert_eq!(finding(&by_default, 200, whole("<r><a>1</a></r>")), Finding::InSync);
    assert_eq!(
        finding(&by_default, 200, whole("<r><a>2</a></r>")),
        Finding::Differs("1 field differs: /a desired 1, observed 2".into())
    );
    for body in ["", "<Error><Code>NoSuchKey</Code></Error>"] {
        assert_eq!(finding(&by_default, 404, whole(body)), Finding::Absent, "{body}");
    }
    for (status, body) in [(404, HTML), (404, "{}"), (200, HTML), (200, "{}"), (200, "<r>"), (200, ""), (200, "<r/>")] {
        assert_eq!(reason(&by_default, status, whole(body)), Some(ResponseInvalid), "{status} {body}");
    }
    assert_eq!(reason(&by_default, 403, whole("<r><a>1</a></r>")), Some(Forbidden));
    let by_rule = of("      absentWhen: \"${response.body.?Error.?Code.orValue('') == 'NotFound'}\"");
    assert_eq!(finding(&by_rule, 400, whole("<Error><Code>NotFound</Code></Error>")), Finding::Absent);
    assert_eq!(reason(&by_rule, 400, whole("<Error><Code>Other</Code></Error>")), Some(ExternalError));
    assert_eq!(reason(&by_rule, 400, whole(HTML)), Some(ResponseInvalid));
}

#[test]
fn a_list_of_one_is_a_list_in_xml() {
    let items = "response.body.r.?item.orValue([])";
    let target = target(&format!("      as: xml\n      lists: [item]\n      observed: {{a: \"${{size({items})}}\"}}"));
    assert_eq!(finding(&target, 200, whole("<r x='1'><item/></r>")), Finding::InSync);
    for (body, count) in [("<r x='1'/>", 0), ("<r/>", 0), ("<r><item/><item/></r>", 2)] {
        let expected = format!("1 field differs: /a desired 1, observed {count}");
        assert_eq!(finding(&target, 200, whole(body)), Finding::Differs(expected.as_str().into()), "{body}");
    }
}
