//! From an HTTP reply to a finding: the order of judgement.
//!
//! The order decides what an answer may mean at most: an answer that says "not now" or "not you" is never asked
//! whether the resource exists. This file must not know how the reply came, nor what stood before.

use drift_api::condition::ObservedReason;
use drift_language::cel::{Expression, Mistake, Variables};
use drift_language::{Absence, Format, Read, ReadStep, Target};
use drift_systems::{Answer, HttpReply};
use serde_json::Value;

use crate::engine::judgement::difference::TooMuchWork;
use crate::engine::judgement::drift::{Drift, Subject};
use crate::engine::judgement::finding::{Failure, Finding, Found};
use crate::engine::judgement::rendered::rule_error;

/// What is said where a comparison would take too long.
const ALIKE: &str =
    "compare.rules: the lists are too long and their items too alike to be compared; give them list: map and keys";

/// What a read says about the external resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// It is there, in this state.
    Present(Value),
    /// It is as it was when it was last in sync.
    AsBefore,
    /// It was read as it was the last time, of which this was found.
    Known(Found),
    /// It is not there.
    Absent,
    /// Nothing can be said.
    Failed(Failure),
}

/// Holds an observation of the object against its desired state, which is rendered only where there is something to compare.
#[must_use]
pub fn compare<'o>(target: &Target, subject: impl Into<Subject<'o>>, observation: Observation) -> Found {
    let subject = subject.into();
    match observation {
        Observation::AsBefore => Found { finding: Finding::InSync, published: None, withheld: Vec::new() },
        Observation::Known(found) => found,
        Observation::Absent => absent(target),
        Observation::Failed(failure) => Finding::Failed(failure).into(),
        Observation::Present(observed) => {
            let finding = compare_with_desired(target, subject, &observed);
            if matches!(finding, Finding::Failed(_)) {
                return finding.into();
            }
            let variables = Variables { observed: Some(&observed), ..Variables::of_object(subject.object) };
            match target.publish.publish(&variables) {
                Ok(published) => {
                    let (published, withheld) = match subject.credentials {
                        Some(credentials) => credentials.withhold_from(published),
                        None => (published, Vec::new()),
                    };
                    Found { finding, published: Some(published), withheld }
                }
                Err(error) => Finding::Failed(invalid(&error)).into(),
            }
        }
    }
}

/// What is said where the resource is not there: nothing is known of it any more.
#[must_use]
pub fn absent(target: &Target) -> Found {
    Found { finding: Finding::Absent, published: Some(target.publish.cleared()), withheld: Vec::new() }
}

fn compare_with_desired(target: &Target, subject: Subject<'_>, observed: &Value) -> Finding {
    let desired = match target.desired_of(subject.object) {
        Ok(desired) => desired,
        Err(error) => return Finding::Failed(rule_error(&error)),
    };
    if let Some(mistake) = mistake(&target.read, &desired, observed) {
        return Finding::Failed(invalid(&mistake));
    }
    match Drift::of(target, subject, &desired, observed) {
        Ok(None) => Finding::InSync,
        Ok(Some(drift)) => Finding::Differs(drift),
        Err(TooMuchWork) => Finding::Failed(Failure::with(ObservedReason::RuleError, ALIKE)),
    }
}

/// Why an observation says nothing about the resource. `{}` and `{"error": "maintenance"}` are what half-started servers
/// and proxies answer with status 200, and would otherwise look like drift in every field.
fn mistake(read: &Read, desired: &Value, observed: &Value) -> Option<&'static str> {
    match (desired, observed) {
        // `validWhen` has had its say already.
        (Value::Object(desired), Value::Object(real)) => {
            let is_foreign = !desired.is_empty() && !desired.keys().any(|field| real.contains_key(field));
            (!read.judges_answers() && is_foreign).then_some("none of desired's fields")
        }
        (Value::Object(_), _) => Some("no map, as desired is"),
        (_, Value::Null) => Some("nothing is observed"),
        _ => None,
    }
}

/// What one answer says by itself.
#[derive(Debug)]
pub(in crate::engine) enum Judged {
    /// The resource is not there.
    Absent,
    /// It may be there; the rules of the whole read are asked with this.
    Answered(Value),
}

/// Judges the answer to one request; `variables` are what its rules see beside it.
///
/// # Errors
/// Why nothing can be said.
pub(in crate::engine) fn judge(
    step: &ReadStep,
    reply: &HttpReply,
    variables: &Variables<'_>,
) -> Result<Judged, Failure> {
    let answer = read_answer(step, reply)?;
    let variables = Variables { response: Some(&answer.variable), ..*variables };
    if is_absent(step, &answer, &variables)? {
        return Ok(Judged::Absent);
    }
    accept(step, reply, answer).map(Judged::Answered)
}

/// Judges a page of a collection: it may be no page, but never the absence of anything.
///
/// # Errors
/// Why nothing can be said.
pub(in crate::engine) fn judge_page(step: &ReadStep, reply: &HttpReply) -> Result<Value, Failure> {
    accept(step, reply, read_answer(step, reply)?)
}

/// The answer, if its status permits to ask a rule about it.
fn read_answer(step: &ReadStep, reply: &HttpReply) -> Result<Answer, Failure> {
    let status = reply.status.as_u16();
    refuse_by_status(status)?;
    if !step.accept.contains(status) && !matches!(status, 400 | 404 | 410 | 422) {
        return Err(by_status(ObservedReason::ExternalError, status));
    }
    Answer::of(reply, step.format).map_err(|error| invalid(&error))
}

/// What an answer says that is not about an absent resource.
fn accept(step: &ReadStep, reply: &HttpReply, answer: Answer) -> Result<Value, Failure> {
    let status = reply.status.as_u16();
    match &answer.malformed {
        _ if !step.accept.contains(status) => Err(by_status(ObservedReason::ExternalError, status)),
        Some(mistake) => Err(invalid(mistake)),
        None => Ok(answer.variable),
    }
}

/// Statuses that speak of the request, the credential or the server, and so never of the resource.
fn refuse_by_status(status: u16) -> Result<(), Failure> {
    match status {
        401 | 403 | 407 => Err(by_status(ObservedReason::Unauthorized, status)),
        429 => Err(Failure::of(ObservedReason::RateLimited)),
        300..=399 | 408 | 425 | 500..=599 => Err(by_status(ObservedReason::ExternalError, status)),
        _ => Ok(()),
    }
}

/// A rule that the target writes is asked whatever the body is. Without one a body must be well-formed, and a text must be
/// empty: an ingress answers HTML in the name of anybody, and a text is never malformed.
fn is_absent(step: &ReadStep, answer: &Answer, variables: &Variables<'_>) -> Result<bool, Failure> {
    match (&step.absence, &answer.malformed) {
        (Absence::Never, _) => Ok(false),
        (Absence::When(rule), None) => ask(rule, variables),
        // The rule fails because it asks for the body: then that is the mistake to tell.
        (Absence::When(rule), Some(mistake)) => {
            rule.evaluate_bool(variables).map_err(|error| match rule.attribute(error, variables.object) {
                Mistake::OfObject(error) => rule_error(&error),
                Mistake::OfAnswer(_) => invalid(mistake),
            })
        }
        (Absence::ByStatus, malformed) => {
            let status = &answer.variable["status"];
            match malformed {
                _ if *status != 404 && *status != 410 => Ok(false),
                Some(mistake) => Err(invalid(mistake)),
                None if step.format == Format::Text && answer.variable["text"] != "" => {
                    Err(invalid(&format_args!("status {status} with a text, and no absentWhen says what that means")))
                }
                None => Ok(true),
            }
        }
    }
}

/// A rule over an answer that cannot be evaluated: the answer is no observation, unless the object alone is to blame.
pub(in crate::engine) fn unevaluated(mistake: &Mistake) -> Failure {
    match mistake {
        Mistake::OfObject(error) => rule_error(error),
        Mistake::OfAnswer(error) => invalid(error),
    }
}

/// What a rule says of an answer.
pub(in crate::engine) fn ask(rule: &Expression, variables: &Variables<'_>) -> Result<bool, Failure> {
    rule.evaluate_bool(variables).map_err(|error| unevaluated(&rule.attribute(error, variables.object)))
}

/// An answer that is no observation, for a reason of its own or of a rule.
pub(in crate::engine) fn invalid(mistake: &dyn std::fmt::Display) -> Failure {
    Failure::with(ObservedReason::ResponseInvalid, &mistake.to_string())
}

fn by_status(reason: ObservedReason, status: u16) -> Failure {
    Failure::with(reason, &format!("status {status}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
