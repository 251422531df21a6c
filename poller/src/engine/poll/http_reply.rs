//! Converts an HTTP response to an observation, in a fixed order of judgement.
//!
//! The order limits the meaning of a response: for a response such as "not now" or "not you", the absence rule
//! is never evaluated.

use std::fmt::Display;

use drift_api::condition::ObservedReason;
use drift_language::{Absence, Format, Mistake, ReadStep, Variables};
use drift_systems::{Answer, HttpReply};
use serde_json::Value;

use crate::engine::judgement::finding::Failure;
use crate::engine::judgement::observation::{ask, invalid};
use crate::engine::judgement::rendered::rule_error;
use crate::engine::poll::media_type::media_type;

/// Judges the response to one request; `variables` are further inputs of its rules. Returns the value for the rules of
/// the whole read, or `None` if the resource is absent.
///
/// # Errors
/// Returns the reason why the observation is unknown.
pub(in crate::engine) fn judge(
    step: &ReadStep,
    reply: &HttpReply,
    variables: &Variables<'_>,
) -> Result<Option<Value>, Failure> {
    let answer = read_answer(step, reply)?;
    let variables = Variables { response: Some(&answer.variable), ..*variables };
    if is_absent(step, reply, &answer, &variables)? {
        return Ok(None);
    }
    accept(step, reply, answer).map(Some)
}

/// Judges a page of a collection. It may be invalid, but never means absence.
///
/// # Errors
/// Returns the reason why the page is unusable.
pub(in crate::engine) fn judge_page(step: &ReadStep, reply: &HttpReply) -> Result<Value, Failure> {
    accept(step, reply, read_answer(step, reply)?)
}

/// Parses the response if its status permits the evaluation of rules.
fn read_answer(step: &ReadStep, reply: &HttpReply) -> Result<Answer, Failure> {
    let status = reply.status.as_u16();
    refuse_by_status(status)?;
    if !step.accept.contains(status) && !matches!(status, 400 | 404 | 410 | 422) {
        return Err(by_status(ObservedReason::ExternalError, status));
    }
    Answer::of(reply, &step.format).map_err(|error| unreadable(reply, &error))
}

/// Accepts a response about a present resource.
fn accept(step: &ReadStep, reply: &HttpReply, answer: Answer) -> Result<Value, Failure> {
    let status = reply.status.as_u16();
    match &answer.malformed {
        _ if !step.accept.contains(status) => Err(by_status(ObservedReason::ExternalError, status)),
        Some(mistake) => Err(unreadable(reply, mistake)),
        None => Ok(answer.variable),
    }
}

/// Rejects statuses about the request, the credential or the server, which say nothing about the resource.
fn refuse_by_status(status: u16) -> Result<(), Failure> {
    match status {
        401 | 407 => Err(by_status(ObservedReason::Unauthorized, status)),
        403 => Err(by_status(ObservedReason::Forbidden, status)),
        429 => Err(Failure::of(ObservedReason::RateLimited)),
        300..=399 | 408 | 425 | 500..=599 => Err(by_status(ObservedReason::ExternalError, status)),
        _ => Ok(()),
    }
}

/// A rule that the target writes is asked whatever the body is. Without one a body must be well-formed, and a text must be
/// empty: an ingress answers HTML in the name of anybody, and a text is never malformed.
fn is_absent(step: &ReadStep, reply: &HttpReply, answer: &Answer, variables: &Variables<'_>) -> Result<bool, Failure> {
    match (&step.absence, &answer.malformed) {
        (Absence::Never, _) => Ok(false),
        (Absence::When(rule), None) => ask(rule, variables),
        // If the rule fails because it reads the body, the malformed body is the error to report.
        (Absence::When(rule), Some(mistake)) => {
            rule.evaluate_bool(variables).map_err(|error| match rule.attribute(error, variables.object) {
                Mistake::OfObject(error) => rule_error(&error),
                Mistake::OfAnswer(_) => unreadable(reply, mistake),
            })
        }
        (Absence::ByStatus, malformed) => match malformed {
            _ if !matches!(reply.status.as_u16(), 404 | 410) => Ok(false),
            Some(mistake) => Err(unreadable(reply, mistake)),
            None if step.format == Format::Text && answer.variable["text"] != "" => {
                Err(unreadable(reply, &"not empty, and the target has no absentWhen"))
            }
            None => Ok(true),
        },
    }
}

/// An answer whose body cannot be used. Its status and content type are stable, unlike its body, which no message repeats.
fn unreadable(reply: &HttpReply, mistake: &dyn Display) -> Failure {
    let (status, media_type) = (reply.status.as_u16(), media_type(&reply.headers));
    invalid(&format_args!("status {status}, {media_type}, {mistake}"))
}

fn by_status(reason: ObservedReason, status: u16) -> Failure {
    Failure::with(reason, &format!("status {status}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
