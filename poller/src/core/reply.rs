//! From an HTTP reply to a finding: the order of judgement.
//!
//! The order decides what an answer may mean at most: an answer that says "not now" or "not you" is never asked
//! whether the resource exists. This file must not know how the reply came, nor what stood before.

use drift_model::condition::ObservedReason;
use drift_outside::{Answer, HttpReply};
use drift_target::cel::Variables;
use drift_target::{Absence, HttpRead, ReadStep, Source, Target, Wished};
use serde_json::Value;

use super::difference::{TooMuchWork, differences};
use super::drift::Drift;
use super::finding::{Failure, Finding};

/// What is said where a comparison would take too long.
const ALIKE: &str =
    "compare.rules: the lists are too long and their items too alike to be compared; give them list: map and keys";

/// What a read says about the external resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// It is there, in this state.
    Present(Value),
    /// It is not there.
    Absent,
    /// Nothing can be said.
    Failed(Failure),
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
                return Finding::Failed(invalid(&mistake));
            }
            match differences(&target.compare.rules, &wished.desired, &observed) {
                Ok(none) if none.is_empty() => Finding::InSync,
                Ok(some) => Finding::Differs(Drift::of(target, &some)),
                Err(TooMuchWork) => Finding::Failed(Failure::with(ObservedReason::RuleError, ALIKE)),
            }
        }
    }
}

/// Why an observation says nothing about the resource. `{}` and `{"error": "maintenance"}` are what half-started servers
/// and proxies answer with status 200, and would otherwise look like drift in every field.
fn mistake(read: &HttpRead, desired: &Value, observed: &Value) -> Option<&'static str> {
    match (desired, observed) {
        // `validWhen` has had its say already.
        (Value::Object(wished), Value::Object(real)) => {
            let is_foreign = !wished.is_empty() && !wished.keys().any(|field| real.contains_key(field));
            // Of a collection `validWhen` judges the page, not the entry.
            let is_told = read.valid_when.is_some() && read.collection.is_none();
            (!is_told && is_foreign).then_some("none of desired's fields")
        }
        (Value::Object(_), _) => Some("no map, as desired is"),
        (_, Value::Null) => Some("nothing is observed"),
        _ => None,
    }
}

/// What one answer says by itself.
#[derive(Debug)]
pub(super) enum Judged {
    /// The resource is not there.
    Absent,
    /// It may be there; the rules of the whole read are asked with this.
    Answered(Value),
}

/// Judges the answer to one request; `variables` are what its rules see beside it.
///
/// # Errors
/// Why nothing can be said.
pub(super) fn judge(step: &ReadStep, reply: &HttpReply, variables: &Variables<'_>) -> Result<Judged, Failure> {
    let status = reply.status.as_u16();
    refuse_by_status(status)?;
    let accepted = step.accept.contains(status);
    if !accepted && !matches!(status, 400 | 404 | 410 | 422) {
        return Err(by_status(ObservedReason::ExternalError, status));
    }
    let answer = Answer::of(reply, step.format).map_err(|error| invalid(&error))?;
    let variables = Variables { response: Some(&answer.variable), ..*variables };
    if is_absent(&step.absence, &answer, &variables)? {
        return Ok(Judged::Absent);
    }
    match &answer.malformed {
        _ if !accepted => Err(by_status(ObservedReason::ExternalError, status)),
        Some(mistake) => Err(invalid(mistake)),
        None => Ok(Judged::Answered(answer.variable)),
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

/// A rule that the target writes is asked whatever the body is; without one only an answer that is well-formed counts, since
/// an ingress answers HTML in the name of anybody.
fn is_absent(absence: &Absence, answer: &Answer, variables: &Variables<'_>) -> Result<bool, Failure> {
    match (absence, &answer.malformed) {
        (Absence::Never, _) => Ok(false),
        (Absence::When(rule), None) => rule.evaluate_bool(variables).map_err(|error| invalid(&error)),
        // The rule fails because it asks for the body: then that is the mistake to tell.
        (Absence::When(rule), Some(mistake)) => rule.evaluate_bool(variables).map_err(|_| invalid(mistake)),
        (Absence::ByStatus, malformed) => match (variables.response, malformed) {
            (Some(response), None) => Ok(response["status"] == 404 || response["status"] == 410),
            (Some(response), Some(mistake)) if response["status"] == 404 || response["status"] == 410 => {
                Err(invalid(mistake))
            }
            _ => Ok(false),
        },
    }
}

/// An answer that is no observation, for a reason of its own or of a rule.
pub(super) fn invalid(mistake: &dyn std::fmt::Display) -> Failure {
    Failure::with(ObservedReason::ResponseInvalid, &mistake.to_string())
}

fn by_status(reason: ObservedReason, status: u16) -> Failure {
    Failure::with(reason, &format!("status {status}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
