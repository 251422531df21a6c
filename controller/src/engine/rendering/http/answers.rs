//! The meaning of a single response, and the part of it that people see.

use std::time::Duration;

use drift_api::printable::is_printable;
use drift_api::secrets::secret_texts::REDACTED;
use drift_language::HttpStep;
use drift_language::cel::{SecretValues, Variables};
use drift_systems::Unreadable;
use serde_json::Value;

use crate::engine::corrections::outcome::{Doubt, Refusal, StepOutcome, Uncertainty, judge};

/// Maximum characters of a response in a refusal message: about an error's first line, because the message
/// has other parts.
const MAX_BECAUSE_CHARS: usize = 128;

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
            let refusal = Refusal { code: status.into(), because: Some(TOO_LARGE.to_owned()) };
            StepOutcome::Refused { refusal, did_nothing: true }
        }
        _ => StepOutcome::Indefinite(Uncertainty::answered(Doubt::NoAnswer, status.into())),
    }
}

/// Judges a response, which `variables` contain as `response`. The shown text contains none of the secrets.
pub(super) fn judge_answer(
    step: &HttpStep,
    (status, retry_after): (u16, Option<Duration>),
    variables: &Variables<'_>,
    secrets: &SecretValues,
) -> StepOutcome {
    let said = |text: String| {
        let line = shown(&text);
        let repeats = secrets.occur_in(&Value::from(text)) || secrets.pieces_occur_in(&line);
        if repeats { REDACTED.to_owned() } else { line }
    };
    // A throttled request was not executed, whatever its body says.
    let is_refused = if status == TOO_MANY_REQUESTS { Ok(false) } else { step.is_refused(variables) };
    let because = || step.because(variables).map(said).filter(|text| !text.is_empty());
    match (is_refused, judge(status, &step.accept, &step.done_on, retry_after)) {
        // An accepted 409 means something else, also if `refusedWhen` refuses it.
        (_, StepOutcome::Refused { .. }) if status == CONFLICT && !step.looks_up() => {
            StepOutcome::AlreadyExists(Refusal { code: status.into(), because: because() })
        }
        (Ok(true), _) => {
            StepOutcome::Refused { refusal: Refusal { code: status.into(), because: because() }, did_nothing: true }
        }
        (Err(_), outcome) if outcome.is_accepted() => {
            let refusal = Refusal { code: status.into(), because: Some(UNJUDGED.to_owned()) };
            StepOutcome::Refused { refusal, did_nothing: false }
        }
        (_, StepOutcome::Refused { did_nothing, .. }) => {
            StepOutcome::Refused { refusal: Refusal { code: status.into(), because: because() }, did_nothing }
        }
        (_, outcome) => outcome,
    }
}

/// Returns one line of printable characters. A final `]` gets a period, because the line could otherwise look like the
/// end of a condition's tag.
pub(super) fn shown(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || !is_printable(letter));
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let line = match line.char_indices().nth(MAX_BECAUSE_CHARS) {
        None => line,
        Some(_) => line.chars().take(MAX_BECAUSE_CHARS - 1).chain(['…']).collect(),
    };
    if line.ends_with(']') { format!("{line}.") } else { line }
}
