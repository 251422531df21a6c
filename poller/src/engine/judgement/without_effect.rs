//! The note about corrections without effect: the external system accepted the desired state twice, and gives the same
//! answer as before.
//!
//! Such a system keeps another form of a value, which a rule of `compare` describes. Without the note, each of the
//! corrections looks like a success.

use drift_api::condition::Conditions;
use drift_api::{CurrentVerdict, ObservedReason, Verdict};

use crate::engine::judgement::drift::Drift;
use crate::engine::judgement::finding::Finding;

/// The beginning of the note, which is before the fields.
const NOTE: &str = "sent twice, the same answer: the system keeps another form";

/// Corrections without effect after which the note is written. One may have met an answer from a cache.
const NOTED_AFTER: u32 = 2;

/// Adds the note to a verdict, if the last corrections were accepted and the difference is the one before them.
///
/// The note is written with the verdict on a correction, and stays as long as the difference does, so it costs no write
/// of its own. A target that `nudges` sends no desired state.
pub fn note_no_effect(
    verdict: &mut Verdict,
    finding: &Finding,
    (current, conditions): (Option<&CurrentVerdict>, &Conditions),
    nudges: bool,
) {
    let (Finding::Differs(drift), Some(current), false) = (finding, current, nudges) else { return };
    let is_difference =
        |reason: ObservedReason| matches!(reason, ObservedReason::FieldsDiffer | ObservedReason::NotUpdated);
    let record = conditions.correction_status();
    let was_accepted = record.reason.is_some() && !record.repeats_failure();
    if verdict.tag.unhealed < NOTED_AFTER || !is_difference(current.reason) || !was_accepted {
        return;
    }
    let note = note(drift);
    let Some(before) = conditions.observed().map(|condition| condition.message.sentence()) else { return };
    let noted = before.strip_prefix(&*note);
    let is_verified = verdict.tag.correction > current.tag.correction;
    if noted.map_or(is_verified && is_same(before, &drift.text), |before| is_same(before, &drift.text)) {
        verdict.text = format!("{note}{}", drift.text).into();
    }
}

/// Returns true if a sentence on an object, which may be cut, is this text.
fn is_same(sentence: &str, text: &str) -> bool {
    sentence == text || sentence.strip_suffix('…').is_some_and(|start| text.starts_with(start))
}

fn note(drift: &Drift) -> String {
    match drift.rule {
        Some(rule) => format!("{NOTE}, and a rule with {rule} in compare ends that: "),
        None => {
            format!("{NOTE}, its default or its normal form: write desired as it shows it, or a rule in compare: ")
        }
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
        let mut observed = None;
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
                note_no_effect(&mut verdict, &finding, (current.as_ref(), &conditions), false);
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
        let noted = format!("{NOTE}, and a rule with as: caseInsensitive in compare ends that: {DIFFERENCE}");
        let expected: Vec<&str> = [[DIFFERENCE; 4].as_slice(), [noted.as_str(); 6].as_slice()].concat();
        assert_eq!(said, expected, "the first poll is before any correction");
        assert_eq!(named_fields(&noted), ["/mail"]);
        let said = polls(None, &[applied, applied, applied]);
        assert!(said[4].contains("its default or its normal form"), "{said:?}");
    }

    #[test]
    fn a_refused_correction_is_not_noted() {
        use CorrectedReason::{AttemptsExhausted, CorrectionFailed};
        let refused = (CorrectionFailed, "update: 422: quota exceeded", DIFFERENCE);
        let exhausted = (AttemptsExhausted, "healed nothing; before: update: 422: quota exceeded", DIFFERENCE);
        let said = polls(None, &[refused, refused, refused, exhausted]);
        assert!(said.iter().all(|sentence| sentence == DIFFERENCE), "{said:?}");
    }

    #[test]
    fn another_answer_ends_the_note() {
        let round = |answer| (CorrectedReason::CorrectionApplied, "updated", answer);
        let other = r#"1 field differs: /mail desired "A@x", observed "b@x""#;
        let said = polls(None, &[round(DIFFERENCE), round(DIFFERENCE), round(other), round(other)]);
        assert_eq!(said[..6], [DIFFERENCE, DIFFERENCE, DIFFERENCE, DIFFERENCE, other, other]);
        assert!(said[6].starts_with(NOTE) && said[7] == said[6], "{said:?}");
    }
}
