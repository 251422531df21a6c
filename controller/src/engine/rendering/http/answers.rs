//! The meaning of a single response, and the reason that people see.

use std::time::Duration;

use drift_language::cel::{SecretValues, Variables};
use drift_language::{HttpStep, Step as _};
use drift_systems::{HttpFailure, HttpReply, RefusalReason, Unreadable};

use crate::engine::corrections::outcome::{Doubt, Refusal, StepOutcome, Uncertainty, judge};

/// Cause when `refusedWhen` fails for an accepted response.
pub(super) const UNJUDGED: &str = "refusedWhen cannot be evaluated for the answer";

/// Cause when the response to a look-up exceeds the read limit or the memory for later steps.
pub(super) const TOO_LARGE: &str =
    "the answer is larger than 1 MiB, or all answers together take more than 8 MiB of memory";

/// The status of throttling, also of responses that `limitedWhen` recognizes.
const TOO_MANY_REQUESTS: u16 = 429;

/// The status of a create whose resource exists already.
const CONFLICT: u16 = 409;

/// Judges a look-up whose response is incomplete. Its content is unknown, so no step may follow.
pub(super) fn not_looked_up(unread: &Unreadable, status: u16) -> StepOutcome {
    match unread {
        Unreadable::TooLarge => {
            let refusal = Refusal { code: status.into(), because: Some(RefusalReason::own(TOO_LARGE)) };
            StepOutcome::Refused { refusal, did_nothing: true }
        }
        _ => StepOutcome::Indefinite(Uncertainty::answered(Doubt::NoAnswer, status.into())),
    }
}

/// Judges a request without a response. `secrets` are those that the words of a token server must not show.
pub(super) fn judge_failure(failure: &HttpFailure, secrets: &SecretValues) -> Uncertainty {
    match failure {
        HttpFailure::NotConnected(_) => Uncertainty::unanswered(Doubt::NotConnected),
        HttpFailure::ProxyFailed(cause) => Uncertainty::caused_by(Doubt::NotConnected, cause.as_str()),
        HttpFailure::NotThroughProxy(cause) => Uncertainty::caused_by(Doubt::NotConnected, *cause),
        HttpFailure::System(failure) => failure.into(),
        HttpFailure::TokenRefused(cause, said) => {
            let reason = RefusalReason::of_server(said, secrets);
            let said = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            Uncertainty::caused_by(Doubt::TokenRefused, format!("{cause}{said}"))
        }
        HttpFailure::TokenUnavailable(cause) | HttpFailure::TokenPaused { cause, .. } => {
            Uncertainty::caused_by(Doubt::TokenUnavailable, cause.as_str())
        }
    }
}

/// Judges a response, which `variables` contain as `response`. The shown reason contains none of the hidden
/// secrets, and without these there is no reason.
pub(super) fn judge_answer(
    step: &HttpStep,
    (reply, retry_after): (&HttpReply, Option<Duration>),
    variables: &Variables<'_>,
    hidden: impl FnOnce() -> Option<SecretValues>,
) -> StepOutcome {
    let status = reply.status.as_u16();
    // A throttled request was not executed, whatever its body says.
    let is_refused = if status == TOO_MANY_REQUESTS { Ok(false) } else { step.is_refused(variables) };
    let outcome = match (is_refused, judge(status, &step.accept, &step.done_on, retry_after)) {
        // An accepted 409 means something else, also if `refusedWhen` refuses it.
        (_, StepOutcome::Refused { .. }) if status == CONFLICT && !step.looks_up() => {
            StepOutcome::AlreadyExists(Refusal { code: status.into(), because: None })
        }
        (Ok(true), _) => {
            StepOutcome::Refused { refusal: Refusal { code: status.into(), because: None }, did_nothing: true }
        }
        (Err(_), outcome) if outcome.is_accepted() => {
            let refusal = Refusal { code: status.into(), because: Some(RefusalReason::own(UNJUDGED)) };
            return StepOutcome::Refused { refusal, did_nothing: false };
        }
        (_, outcome) => outcome,
    };
    if outcome.is_accepted() {
        return outcome;
    }
    let Some(secrets) = hidden() else { return outcome };
    let reason = match step.chosen_reason(variables) {
        Some(text) => RefusalReason::of_text(&text, &secrets),
        None => reply.body.whole().and_then(|body| RefusalReason::of_body(status, body, &secrets)),
    };
    outcome.with_reason(reason)
}
