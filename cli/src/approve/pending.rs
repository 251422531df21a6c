//! The correction that awaits approval, computed as the controller computes it.

use drift_api::approval::{ApprovedCorrection, ObjectInputs, without_secrets};
use drift_api::condition::{ObservedReason, Tag, Verdict, closed_text};
use drift_api::identity::ResourceName;
use drift_api::object::LeanObject;
use drift_api::printable::printable;
use drift_language::{Action, Mode, Target};

use crate::explain::{Facts, action, steps};

/// The answer to "which correction of the object awaits approval?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// None, for this reason.
    Nothing(String),
    /// The correction that can be shown is not the one that the condition names.
    Unclear(String),
    /// Its annotation approves it already.
    Approved,
    /// This one.
    Correction {
        /// The hash that approves it.
        hash: String,
        /// The condition, the verdict and the requests.
        lines: Vec<String>,
    },
}

/// Finds the correction that awaits approval. The hash covers the text of the target, the object as templates read it, and
/// what was observed, so a correction with the hash of the condition is the one that the controller would send. The
/// versions of Secrets are the controller's word, because a person need not be able to read them.
pub(super) fn pending(target: &Target, object: &LeanObject) -> Pending {
    if target.correct.mode != Mode::Approve {
        return Pending::Nothing(format!("the `correct.mode` of target {} is {:?}", target.name, target.correct.mode));
    }
    let record = object.conditions.correction_status();
    let Some(awaited) = record.awaits_approval() else {
        return Pending::Nothing(
            "its driftCorrected is not AwaitingApproval; `kubectl drift explain` says why".to_owned(),
        );
    };
    if object.approved() == Some(awaited) {
        return Pending::Approved;
    }
    let observed = object.conditions.observed();
    // A deletion needs no verdict.
    let verdict = observed.and_then(Verdict::said_by).unwrap_or_else(|| Verdict {
        reason: ObservedReason::NotYetPolled,
        text: closed_text(ObservedReason::NotYetPolled).into(),
        tag: Tag::default(),
        generation: object.generation,
    });
    let facts = Facts { target, is_deployed: true, object, verdict: &verdict };
    let view = object.view.open();
    let action = action(facts);
    let resumes = (action == Action::Create || target.correct.runs_jobs()) && record.is_interrupted();
    let identity = match target.identity_of(&view) {
        Ok(identity) => identity.into(),
        Err(error) => return Pending::Unclear(format!("the name of the external resource cannot be told: {error}")),
    };
    let scope = match target.scope_of(object.id.namespace.as_deref()) {
        Ok(scope) => scope,
        Err(error) => return Pending::Unclear(error.to_string()),
    };
    let correction = ApprovedCorrection {
        action: action.as_str(),
        number: object.conditions.correction() + u64::from(!resumes),
        resource: &ResourceName { scope, identity },
        desired_hash: target.desired_state_of(&view).ok().map(|desired| desired.hash),
        correct_hash: target.correct_hash,
        verdict_hash: &target.verdict_hash,
        inputs: ObjectInputs::of(object),
    };
    let hash = correction.hash(object);
    let (awaited_correction, sends_secrets) = without_secrets(awaited);
    if hash != awaited_correction {
        return Pending::Unclear(format!(
            "driftCorrected awaits approval {awaited}, but the object and the target now give {hash}: the controller has \
             not decided on the newest state yet, or goes by another text of the target; run the command again"
        ));
    }
    let mut lines = vec![printable(&record.text)];
    lines.extend(
        sends_secrets.then(|| "secrets     in their present versions: if one changes, the approval is void".to_owned()),
    );
    let shown = correction.verdict(object).map(|verdict| verdict.message.sentence());
    lines.extend(shown.map(|sentence| format!("observed    {}", printable(sentence))));
    let steps = steps(facts);
    lines.extend(steps.iter().enumerate().map(|(number, step)| {
        let head = if number == 0 { "would send" } else { "" };
        format!("{head:<12}{}", printable(step))
    }));
    Pending::Correction { hash: awaited.to_owned(), lines }
}
