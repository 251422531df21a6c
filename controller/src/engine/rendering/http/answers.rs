//! What one answer means by itself, and what people are shown of it.

use std::time::Duration;

use drift_api::printable::is_printable;
use drift_language::HttpStep;
use drift_language::cel::{SecretValues, Variables};
use drift_systems::Unreadable;
use serde_json::Value;

use crate::engine::corrections::outcome::{Doubt, Refusal, StepOutcome, Uncertainty, judge};

/// Characters of an answer that people are shown of a refusal: an error's first line, and it shares a message with the rest.
const MAX_BECAUSE_CHARS: usize = 128;

/// Said where an accepted answer has nothing that `refusedWhen` could be asked of.
pub(super) const UNJUDGED: &str = "refusedWhen cannot be evaluated for the answer";

/// Said where a look-up was answered with more than is read, or than is kept for later steps.
pub(super) const TOO_LARGE: &str =
    "the answer is larger than 1 MiB, or all answers together take more than 8 MiB of memory";

/// Stands in the place of what an answer says with a secret in it.
const REDACTED: &str = "(redacted)";

/// What a look-up comes to whose answer did not come whole: what it should have told is not known, so nothing may follow.
pub(super) fn not_looked_up(unread: &Unreadable, status: u16) -> StepOutcome {
    match unread {
        Unreadable::TooLarge => {
            let refusal = Refusal { code: status.into(), because: Some(TOO_LARGE.to_owned()) };
            StepOutcome::Refused { refusal, did_nothing: true }
        }
        _ => StepOutcome::Indefinite(Uncertainty::answered(Doubt::NoAnswer, status.into())),
    }
}

/// What an answer means by itself; `variables` have it as `response`, and nothing that is shown of it has one of the secrets.
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
    let because = || step.because(variables).map(said).filter(|text| !text.is_empty());
    match (step.is_refused(variables), judge(status, &step.accept, &step.done_on, retry_after)) {
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

/// One line of printable characters. What ends with `]` could be taken for the ending of a note.
pub(super) fn shown(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || !is_printable(letter));
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let line = match line.char_indices().nth(MAX_BECAUSE_CHARS) {
        None => line,
        Some(_) => line.chars().take(MAX_BECAUSE_CHARS - 1).chain(['…']).collect(),
    };
    if line.ends_with(']') { format!("{line}.") } else { line }
}
