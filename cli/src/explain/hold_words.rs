//! The sentence for each hold of an object: the words of the reason or of its record, and what is known of the object.

use drift_api::condition::{ConditionStatus, CurrentVerdict, ObservedReason};
use drift_api::held_corrections::Held;
use drift_api::names::RETRY_REQUESTED_ANNOTATION;
use drift_api::object::LeanObject;
use drift_controller::engine::decide::holds::Hold;
use drift_language::Target;
use drift_poller::engine::judgement::confirmation::NEEDED_TO_FLIP;
use jiff::Timestamp;

use super::facts::{Facts, Unattested, action};
use crate::ownership::{Dispute, stepped_back};

/// The facts from which the sentences are made.
#[derive(Clone, Copy)]
pub(super) struct Words<'w> {
    pub(super) facts: Facts<'w>,
    /// Why the poller does not attest the verdict.
    pub(super) unattested: Option<&'w Unattested>,
    pub(super) now: Timestamp,
}

impl Words<'_> {
    /// The sentence for a hold; `None` if the hold is over.
    pub(super) fn of(&self, hold: &Hold) -> Option<String> {
        let Facts { target, object, verdict, .. } = self.facts;
        let why = hold.why;
        let record = hold.record.as_deref().unwrap_or(why.cause());
        let is_contradicted = verdict.reason == ObservedReason::AbsenceContradicted;
        Some(match why {
            Held::IdentityTaken | Held::IdentityContested => {
                Dispute::of(&object.conditions.correction_status())?.sentence()
            }
            Held::OutsideWindow => target.correct.window_hold(object, self.now)?.sentence,
            Held::AwaitingApproval => return self.approval(),
            Held::NotAttested => self.unattested?.sentence.clone(),
            Held::Suspended => self.suspension(),
            Held::NotAllowed => {
                let unmet = target.unmet_requirement(&object.view.open()).ok().flatten();
                with(why.cause(), why, &unmet.map(|unmet| unmet.to_string()).unwrap_or_default())
            }
            Held::TemplateFails => with(why.cause(), why, &failing_templates(target, object)),
            Held::GivenUp => named(&stepped_back(target, object)?, why),
            Held::NoAction => named(&format!("the target has no steps for {}", action(self.facts).as_str()), why),
            Held::NotVerified => self.unverified(),
            Held::NoVerdict | Held::VerdictUnknown | Held::InSync => self.of_verdict(why),
            Held::AttemptsExhausted if is_contradicted => self.of_verdict(why),
            Held::AttemptsExhausted => self.exhausted(record),
            Held::IdentityChanged => with(record, why, &self.former_scope().unwrap_or_default()),
            Held::CreationInDoubt => with(record, why, &retry()),
            Held::VerdictOutdated => record.to_owned(),
            _ => named(record, why),
        })
    }

    /// The sentence for what was found just now, or for what the conditions do not say yet.
    fn of_verdict(&self, why: Held) -> String {
        let verdict = self.facts.verdict;
        if verdict.status() == ConditionStatus::True {
            return format!(
                "the controller acts on the object's conditions, and driftObserved is not True yet; {}",
                confirmation(self.facts.target, verdict.reason)
            );
        }
        match verdict.reason {
            _ if self.facts.target.suspend && why == Held::VerdictUnknown => self.suspension(),
            ObservedReason::Suspended => self.suspension(),
            ObservedReason::AbsenceContradicted => format!(
                "the external system refused the create because it exists already: one create an hour is tried, or one at once by a \
                 new value of the annotation {RETRY_REQUESTED_ANNOTATION}"
            ),
            ObservedReason::AllMissing => format!(
                "the read finds none of the target's resources: one that is found ends this, and a new value of the annotation \
                 {RETRY_REQUESTED_ANNOTATION} confirms the loss of this one"
            ),
            _ => why.cause().to_owned(),
        }
    }

    fn suspension(&self) -> String {
        let Facts { target, .. } = self.facts;
        let sentence = match target.suspend {
            true => &format!("the target is suspended: no polls and no corrections until `unsuspend {}`", target.name),
            false => "the target's `suspendWhen` holds for it: no polls and no corrections meanwhile",
        };
        named(sentence, Held::Suspended)
    }

    fn unverified(&self) -> String {
        let conditions = &self.facts.object.conditions;
        let observed = conditions.observed().and_then(CurrentVerdict::read).map(|current| current.tag.correction);
        let (of, observed) = (conditions.correction(), observed.unwrap_or_default());
        format!("correction {of} is to be verified by a poll first; driftObserved speaks of correction {observed}")
    }

    /// How the scope comes back in which the object owns its resource.
    fn former_scope(&self) -> Option<String> {
        let Facts { target, object, .. } = self.facts;
        let note = object.conditions.correction_status();
        let claimed_in = note.owned()?.scope.filter(|claimed_in| *claimed_in != target.scope.id)?;
        Some(format!("`scope: \"id {claimed_in}\"` in the target keeps the claim, if that is the same external system"))
    }

    fn exhausted(&self, record: &str) -> String {
        let unhealed = self.facts.verdict.tag.unhealed;
        if unhealed < self.facts.target.correct.limits.attempts {
            return with(record, Held::AttemptsExhausted, &retry());
        }
        format!(
            "{unhealed} corrections in a row changed nothing (AttemptsExhausted): one try an hour, or at once by a new value of the \
             annotation {RETRY_REQUESTED_ANNOTATION}"
        )
    }

    /// The command that approves the correction. Its hash is the controller's, because it covers versions of Secrets.
    fn approval(&self) -> Option<String> {
        let Facts { target, object, .. } = self.facts;
        let note = object.conditions.correction_status();
        let asked_for = note.awaits_approval();
        if asked_for.is_some() && object.approved() == asked_for {
            return None;
        }
        let Some(hash) = asked_for else {
            let sentence = "a person has to approve the correction, once the controller asks for that";
            return Some(named(sentence, Held::AwaitingApproval));
        };
        let object = object.id.as_arguments(&target.objects.kind);
        Some(format!(
            "the correction awaits approval {hash} (AwaitingApproval): `kubectl drift approve {object}` shows and approves it"
        ))
    }
}

/// How often the poller has to find this before it says so.
fn confirmation(target: &Target, reason: ObservedReason) -> String {
    let polls = if reason.is_absence() { target.confirm.absent } else { target.confirm.drift };
    let flapping = polls.max(NEEDED_TO_FLIP);
    let polls = if polls == 1 { "a poll has".to_owned() } else { format!("{polls} polls in a row have") };
    format!(
        "{polls} to find it first, and {flapping} in a row while its verdict keeps changing (Event VerdictFlapping)"
    )
}

/// Every error of the target's templates for an object.
fn failing_templates(target: &Target, object: &LeanObject) -> String {
    let view = object.view.open();
    let errors = [
        target.is_suspended_for(&view).err().map(|error| error.to_string()),
        target.unmet_requirement(&view).err().map(|error| error.to_string()),
        target.identity_of(&view).err().map(|error| error.to_string()),
        // A deletion needs no desired state.
        target.desired_state_of(&view).err().filter(|_| !object.deleting).map(|error| error.to_string()),
    ];
    errors.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn retry() -> String {
    format!("a new value of the annotation {RETRY_REQUESTED_ANNOTATION} requests a retry")
}

fn named(sentence: &str, why: Held) -> String {
    format!("{sentence} ({})", why.word())
}

fn with(sentence: &str, why: Held, more: &str) -> String {
    if more.is_empty() { named(sentence, why) } else { format!("{sentence} ({}): {more}", why.word()) }
}
