//! The note about corrections without effect: the external system accepted the desired state twice, and gives the same
//! answer as before.
//!
//! Such a system ignores the write, or keeps another form of a value, which a rule of `compare` describes. Without the note,
//! each of the corrections looks like a success.

use drift_api::condition::{Conditions, CurrentVerdict, Verdict};

use crate::engine::judgement::drift::Drift;
use crate::engine::judgement::finding::Finding;

/// The beginning of the note, which is before the fields.
const NOTE: &str = "sent twice, the same answer: ";

/// Accepted corrections without effect after which the note is written. One may have met an answer from a cache.
const NOTED_AFTER: u8 = 2;

/// Adds the note to a verdict, if the last two corrections were accepted and left the same difference. `in_vain` counts
/// them.
///
/// The note is written with the verdict on a correction, and stays as long as the difference does, whatever becomes of
/// later corrections, so it costs no write of its own. A target that `nudges` sends no desired state.
pub fn note_no_effect(
    verdict: &mut Verdict,
    finding: &Finding,
    (current, conditions): (Option<&CurrentVerdict>, &Conditions),
    (in_vain, nudges): (&mut u8, bool),
) {
    let Finding::Differs(drift) = finding else {
        // A failed poll says nothing about the last correction.
        *in_vain = if matches!(finding, Finding::Failed(_)) { *in_vain } else { 0 };
        return;
    };
    let note = note(drift);
    let before = conditions.observed().map(|condition| condition.message.sentence()).unwrap_or_default();
    let noted = before.strip_prefix(&*note);
    let record = conditions.correction_status();
    let is_same = is_same(noted.unwrap_or(before), &drift.text);
    let is_accepted = is_same && record.reason.is_some() && !record.repeats_failure();
    let is_verified = current.is_some_and(|current| verdict.tag.correction > current.tag.correction);
    *in_vain = if is_accepted { in_vain.saturating_add(u8::from(is_verified)) } else { 0 };
    if !nudges && is_same && (noted.is_some() || *in_vain >= NOTED_AFTER) {
        verdict.text = format!("{note}{}", drift.text).into();
    }
}

/// Returns true if a sentence on an object, which may be cut, is this text.
fn is_same(sentence: &str, text: &str) -> bool {
    sentence == text || sentence.strip_suffix('…').is_some_and(|start| text.starts_with(start))
}

fn note(drift: &Drift) -> String {
    match drift.rule {
        Some(rule) => {
            format!("{NOTE}perhaps the system keeps another form, and a rule with {rule} in compare ends that: ")
        }
        None => format!(
            "{NOTE}the system ignores the write, or keeps a default or another form (then write desired as it shows it, or a \
             rule in compare): "
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::judgement::verdict::{Basis, Known, reach_verdict};
    use drift_api::condition::{Condition, CorrectedReason, CorrectionStatus, DesiredHash, named_fields};
    use serde_json::json;

    const DIFFERENCE: &str = r#"1 field differs: /mail desired "A@x", observed "a@x""#;

    /// A poll after each correction, whose records and answers these are.
    fn polls(rule: Option<&'static str>, rounds: &[(CorrectedReason, &str, &str)]) -> Vec<String> {
        let (mut observed, mut in_vain) = (None, 0);
        let told = |text: &str| Drift { rule, ..Drift::from(text) };
        let mut said = Vec::new();
        for (round, (reason, record, answer)) in rounds.iter().enumerate() {
            let correction = round as u64;
            let status = CorrectionStatus { correction, reason: Some(*reason), ..CorrectionStatus::parse(record) };
            let corrected = status.to_condition(None, "");
            let on_object = |observed: &Option<Condition>| {
                let entries: Vec<_> = observed.iter().chain(&corrected).map(Condition::to_json).collect();
                Conditions::from_status(Some(&json!({"conditions": entries})))
            };
            let mut conditions = on_object(&observed);
            let basis = Basis {
                generation: Some(1),
                desired_hash: Some(DesiredHash::of(&json!(1))),
                correction,
                moved: 0,
                contradicted: false,
                created: false,
            };
            let finding = Finding::Differs(told(answer));
            // The second poll of a round brings nothing new.
            for _ in 0..2 {
                let current = conditions.observed().and_then(CurrentVerdict::read);
                let mut verdict = reach_verdict(&finding, &basis, current.as_ref(), &Known::default());
                note_no_effect(&mut verdict, &finding, (current.as_ref(), &conditions), (&mut in_vain, false));
                let condition = verdict.to_condition(conditions.observed(), "");
                said.push(condition.message.sentence().to_owned());
                observed = Some(condition);
                conditions = on_object(&observed);
            }
        }
        said
    }

    #[test]
    fn two_corrections_without_effect_are_noted() {
        use CorrectedReason::{AttemptsExhausted, CorrectionApplied};
        let applied = (CorrectionApplied, "updated", DIFFERENCE);
        let exhausted = (AttemptsExhausted, "corrections in a row healed nothing", DIFFERENCE);
        let said = polls(Some("as: caseInsensitive"), &[applied, applied, applied, applied, exhausted]);
        let noted = format!(
            "{NOTE}perhaps the system keeps another form, and a rule with as: caseInsensitive in compare ends that: {DIFFERENCE}"
        );
        let expected: Vec<&str> = [[DIFFERENCE; 4].as_slice(), [noted.as_str(); 6].as_slice()].concat();
        assert_eq!(said, expected, "the first poll is before any correction");
        assert_eq!(named_fields(&noted), ["/mail"]);
        let said = polls(None, &[applied, applied, applied]);
        assert!(said[4].contains("the system ignores the write, or keeps a default"), "{said:?}");
    }

    #[test]
    fn a_refused_correction_is_not_noted() {
        use CorrectedReason::{AttemptsExhausted, CorrectionFailed};
        let refused = (CorrectionFailed, "update: 422: quota exceeded", DIFFERENCE);
        let exhausted = (AttemptsExhausted, "healed nothing; before: update: 422: quota exceeded", DIFFERENCE);
        let said = polls(None, &[refused, refused, refused, exhausted]);
        assert!(said.iter().all(|sentence| sentence == DIFFERENCE), "{said:?}");
        let applied = (CorrectedReason::CorrectionApplied, "updated", DIFFERENCE);
        let said = polls(None, &[refused, refused, refused, applied, applied]);
        let noted: Vec<_> = said.iter().map(|sentence| sentence.starts_with(NOTE)).collect();
        assert_eq!(noted[..8], [false; 8], "one accepted correction may have met a cache: {said:?}");
        assert_eq!(noted[8..], [true; 2], "{said:?}");
    }

    #[test]
    fn a_later_refusal_keeps_the_note() {
        use CorrectedReason::{AttemptsExhausted, CorrectionApplied, CorrectionFailed};
        let applied = (CorrectionApplied, "updated", DIFFERENCE);
        let refused = (CorrectionFailed, "update: 503: overloaded", DIFFERENCE);
        let exhausted = (AttemptsExhausted, "healed nothing; before: update: 503: overloaded", DIFFERENCE);
        let said = polls(None, &[applied, applied, applied, refused, applied, refused, refused, exhausted, applied]);
        assert_eq!(said[..4], [DIFFERENCE; 4]);
        assert!(said[4].starts_with(NOTE) && said[4..].iter().all(|sentence| *sentence == said[4]), "{said:?}");
    }

    #[test]
    fn another_answer_ends_the_note() {
        let round = |answer| (CorrectedReason::CorrectionApplied, "updated", answer);
        let other = r#"1 field differs: /mail desired "A@x", observed "b@x""#;
        let said = polls(None, &[DIFFERENCE, DIFFERENCE, other, other, other].map(round));
        assert_eq!(said[..8], [DIFFERENCE, DIFFERENCE, DIFFERENCE, DIFFERENCE, other, other, other, other]);
        assert!(said[8].starts_with(NOTE) && said[9] == said[8], "{said:?}");
    }
}
