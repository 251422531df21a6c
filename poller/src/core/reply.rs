//! From an HTTP reply to a finding: the order of judgement.
//!
//! The order decides what an answer may mean at most: an answer that says "not now" or "not you" is never asked
//! whether the resource exists. This file must not know how the reply came, nor what stood before.

use std::collections::BTreeMap;

use drift_model::condition::ObservedReason;
use drift_outside::{HttpReply, ReplyBody};
use drift_target::cel::Variables;
use drift_target::{HttpRead, Source, Target, Wished, parse_json};
use serde_json::{Value, json};

use super::description::describe;
use super::difference::differences;
use super::finding::{Failure, Finding};

/// Values of one answer, a map counting as nine: 16 MiB of memory in all. An answer of 1 MiB about many resources has
/// half as many.
const MAX_NODES: usize = 200_000;

/// What a reply says about the external resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// It is there, in this state.
    Present(Value),
    /// It is not there.
    Absent,
    /// Nothing can be said.
    Failed(Failure),
}

/// Judges a reply to the read of `object`.
#[must_use]
pub fn observe(read: &HttpRead, object: &Value, reply: &HttpReply) -> Observation {
    judge(read, object, reply).unwrap_or_else(Observation::Failed)
}

/// Holds an observation against the wish.
#[must_use]
pub fn compare(target: &Target, wished: &Wished, observation: Observation) -> Finding {
    match observation {
        Observation::Absent => Finding::Absent,
        Observation::Failed(failure) => Finding::Failed(failure),
        Observation::Present(observed) => {
            let Source::Http(read) = &target.read.source;
            if let Some(mistake) = mistake(read, &wished.desired, &observed) {
                return Finding::Failed(invalid(mistake));
            }
            match differences(&wished.desired, &observed) {
                none if none.is_empty() => Finding::InSync,
                some => Finding::Differs(describe(&some, &target.compare.rules)),
            }
        }
    }
}

/// Why an observation says nothing about the resource. `{}` and `{"error": "maintenance"}` are what half-started servers
/// and proxies answer with status 200, and would otherwise look like drift in every field.
fn mistake(read: &HttpRead, desired: &Value, observed: &Value) -> Option<&'static str> {
    match (desired, observed) {
        // `validWhen` has had its say in `judge`.
        (Value::Object(wished), Value::Object(real)) => {
            let is_foreign = !wished.is_empty() && !wished.keys().any(|field| real.contains_key(field));
            (read.valid_when.is_none() && is_foreign).then_some("none of desired's fields")
        }
        (Value::Object(_), _) => Some("no map, as desired is"),
        (_, Value::Null) => Some("nothing is observed"),
        _ => None,
    }
}

fn judge(read: &HttpRead, object: &Value, reply: &HttpReply) -> Result<Observation, Failure> {
    let status = reply.status.as_u16();
    refuse_by_status(status)?;
    let accepted = read.accept.contains(status);
    if !accepted && !matches!(status, 400 | 404 | 410 | 422) {
        return Err(Failure::of(ObservedReason::ExternalError));
    }
    let response = parse(reply)?;
    let variables = Variables { response: Some(&response), ..Variables::of_object(object) };
    if is_absent(read, status, &variables)? {
        return Ok(Observation::Absent);
    }
    if !accepted {
        return Err(Failure::of(ObservedReason::ExternalError));
    }
    if let Some(valid) = &read.valid_when
        && !valid.evaluate_bool(&variables).map_err(|error| invalid(&error.place))?
    {
        return Err(invalid("validWhen is false"));
    }
    if let Some(settling) = &read.settling_when
        && settling.evaluate_bool(&variables).map_err(|error| invalid(&error.place))?
    {
        return Err(Failure::of(ObservedReason::Settling));
    }
    read.observed.render(&variables).map(Observation::Present).map_err(|error| invalid(&error.place))
}

/// Statuses that speak of the request, the credential or the server, and so never of the resource.
fn refuse_by_status(status: u16) -> Result<(), Failure> {
    match status {
        401 | 403 | 407 => Err(Failure::of(ObservedReason::Unauthorized)),
        429 => Err(Failure::of(ObservedReason::RateLimited)),
        300..=399 | 408 | 425 | 500..=599 => Err(Failure::of(ObservedReason::ExternalError)),
        _ => Ok(()),
    }
}

fn is_absent(read: &HttpRead, status: u16, variables: &Variables<'_>) -> Result<bool, Failure> {
    match &read.absent_when {
        Some(absent) => absent.evaluate_bool(variables).map_err(|error| invalid(&error.place)),
        None => Ok(matches!(status, 404 | 410)),
    }
}

/// The variable `response`; only an empty or a JSON body makes one, since an ingress answers HTML in the name of anybody.
fn parse(reply: &HttpReply) -> Result<Value, Failure> {
    let body = match &reply.body {
        ReplyBody::Whole(bytes) if bytes.is_empty() => Value::Null,
        ReplyBody::Whole(bytes) => parse_json(bytes, MAX_NODES).map_err(|error| invalid(&error.to_string()))?,
        ReplyBody::TooLarge => return Err(invalid("larger than maxBytes")),
        ReplyBody::Truncated => return Err(invalid("it ends too early")),
    };
    let headers: BTreeMap<_, _> =
        reply.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    Ok(json!({"status": reply.status.as_u16(), "headers": headers, "body": body}))
}

fn invalid(mistake: &str) -> Failure {
    Failure::with(ObservedReason::ResponseInvalid, mistake)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use ObservedReason::*;
    use drift_target::{DocumentName, parse_document};
    use http::{HeaderMap, StatusCode};

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
        let document = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
        parse_document(&document, &text).unwrap()
    }

    fn whole(body: &str) -> ReplyBody {
        ReplyBody::Whole(body.as_bytes().to_vec())
    }

    fn finding(target: &Target, status: u16, body: ReplyBody) -> Finding {
        let object = json!({"metadata": {"name": "x"}, "spec": {"a": 1}});
        let reply = HttpReply { status: StatusCode::from_u16(status).unwrap(), headers: HeaderMap::new(), body };
        let wished = target.wish_of(&object).unwrap();
        let Source::Http(read) = &target.read.source;
        compare(target, &wished, observe(read, &object, &reply))
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
            Finding::Differs("1 field differs: /a desired 1, observed 2".to_owned())
        );
        assert_eq!(finding(&target, 404, whole("")), Finding::Absent);
        assert_eq!(finding(&target, 410, whole(r#"{"error": "gone"}"#)), Finding::Absent);
        let failures = [
            (401, whole(""), Unauthorized),
            (403, whole(HTML), Unauthorized),
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
    fn a_rule_for_absence_replaces_the_default_and_is_not_asked_about_refusals() {
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
        assert_eq!(reason(&always, 404, whole(HTML)), Some(ResponseInvalid));
    }

    #[test]
    fn a_system_at_work_is_settling_and_a_mapping_that_fails_is_invalid() {
        let settling =
            target(r#"      settlingWhen: "${response.body.?state.orValue('') in ['creating', 'updating']}""#);
        assert_eq!(reason(&settling, 200, whole(r#"{"a": 2, "state": "updating"}"#)), Some(Settling));
        assert_eq!(finding(&settling, 200, whole(r#"{"a": 1}"#)), Finding::InSync);
        let mapped = target(r#"      observed: {a: "${response.body.data.a}"}"#);
        assert_eq!(finding(&mapped, 200, whole(r#"{"data": {"a": 1}}"#)), Finding::InSync);
        assert_eq!(reason(&mapped, 200, whole(r#"{"other": 1}"#)), Some(ResponseInvalid));
    }

    #[test]
    fn an_answer_without_any_wished_field_is_invalid() {
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
        let differs = Finding::Differs("1 field differs: /a desired 1, observed absent".to_owned());
        assert_eq!(finding(&target(""), 200, whole(r#"{"a": null}"#)), differs, "null counts");
    }

    #[test]
    fn an_answer_of_too_many_values_is_invalid() {
        let answer = format!(r#"{{"a": 1, "b": [{}0]}}"#, r#"{"":0},"#.repeat(149_000));
        assert!(answer.len() < 1024 * 1024);
        let Finding::Failed(failure) = finding(&target(""), 200, whole(&answer)) else { panic!("it was taken") };
        assert_eq!(failure, Failure::with(ResponseInvalid, "too many values"));
        let list = format!(
            r#"{{"a": 1, "b": [{}0]}}"#,
            r#"{"name": "one", "address": "10.0.0.1", "weight": 1},"#.repeat(15_000)
        );
        assert_eq!(finding(&target(""), 200, whole(&list)), Finding::InSync);
    }

    #[test]
    fn valid_when_stands_in_place_of_the_default() {
        let target = target(
            "      validWhen: \"${has(response.body.kind)}\"\n      settlingWhen: \"${response.body.?busy.orValue(false)}\"",
        );
        let differs = Finding::Differs("1 field differs: /a desired 1, observed absent".to_owned());
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
}
