//! The sentence for each hold of an object: the words of the reason or of its record, and what is known of the object.

use std::time::Duration;

use drift_api::condition::{ConditionStatus, CurrentVerdict, ObservedReason};
use drift_api::held_corrections::Held;
use drift_api::object::LeanObject;
use drift_controller::engine::decide::holds::Hold;
use drift_language::{Confirm, Target};
use drift_poller::engine::judgement::confirmation::NEEDED_TO_FLIP;
use jiff::Timestamp;

use super::facts::{Facts, Unattested, action};
use crate::ownership::{Dispute, stepped_back};

/// How a person requests a try.
const RETRY: &str = "`kubectl drift retry KIND/NAME` requests one at once";

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
            Held::Paused => self.pause(),
            Held::NotAllowed => {
                let unmet = target.unmet_requirement(&object.view.open()).ok().flatten();
                with(why.cause(), why, &unmet.map(|unmet| unmet.to_string()).unwrap_or_default())
            }
            Held::TemplateFails => with(why.cause(), why, &failing_templates(target, object)),
            Held::GivenUp => named(&stepped_back(target, object)?, why),
            Held::NotOurs if self.facts.is_unseen() => {
                with(why.cause(), why, "an object whose driftCorrected says that it owns the resource is corrected")
            }
            Held::NoAction => named(&format!("the target has no steps for {}", action(self.facts).as_str()), why),
            Held::NotVerified => self.unverified(),
            Held::NoVerdict | Held::VerdictUnknown | Held::InSync => self.of_verdict(why),
            Held::AttemptsExhausted if is_contradicted => self.of_verdict(why),
            Held::AttemptsExhausted => self.exhausted(record),
            Held::IdentityChanged => with(record, why, &self.former_scope().unwrap_or_default()),
            Held::CreationInDoubt => with(record, why, RETRY),
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
                confirmation(&self.facts.target.confirm, verdict.reason)
            );
        }
        match verdict.reason {
            _ if self.facts.target.suspend && why == Held::VerdictUnknown => self.suspension(),
            ObservedReason::Suspended => self.suspension(),
            ObservedReason::AbsenceContradicted => format!(
                "the external system refused the create because it exists already: one create an hour is tried; {RETRY}"
            ),
            ObservedReason::AllMissing => {
                "the read finds none of the target's resources: one that is found ends this, and \
                 `kubectl drift retry KIND/NAME` confirms the loss of this one"
                    .to_owned()
            }
            _ => why.cause().to_owned(),
        }
    }

    fn suspension(&self) -> String {
        let Facts { target, object, .. } = self.facts;
        let what = if object.deleting { "nothing is deleted outside" } else { "no polls and no corrections" };
        let sentence = match target.suspend {
            true => format!("the target is suspended: {what} until `kubectl drift unsuspend {}`", target.name),
            false => format!("the target's `suspendWhen` holds for it: {what} meanwhile"),
        };
        named(&sentence, Held::Suspended)
    }

    fn pause(&self) -> String {
        let reason = self.facts.object.pause_reason().unwrap_or_default();
        with(Held::Paused.cause(), Held::Paused, reason)
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
            return with(record, Held::AttemptsExhausted, RETRY);
        }
        format!("{unhealed} corrections in a row changed nothing (AttemptsExhausted): one try an hour; {RETRY}")
    }

    /// The command that approves the correction. Its hash is the controller's, because it covers versions of Secrets.
    fn approval(&self) -> Option<String> {
        let object = self.facts.object;
        let note = object.conditions.correction_status();
        let asked_for = note.awaits_approval();
        if asked_for.is_some() && object.approved() == asked_for {
            return None;
        }
        let Some(hash) = asked_for else {
            let sentence = "a person has to approve the correction, once the controller asks for that";
            return Some(named(sentence, Held::AwaitingApproval));
        };
        Some(format!(
            "the correction awaits approval {hash} (AwaitingApproval): `kubectl drift approve KIND/NAME` shows and approves it"
        ))
    }
}

/// How often the poller has to find this before it says so.
fn confirmation(confirm: &Confirm, reason: ObservedReason) -> String {
    let polls = if reason.is_absence() { confirm.absent } else { confirm.drift };
    let flapping = polls.max(NEEDED_TO_FLIP);
    let polls = if polls == 1 { "a poll has".to_owned() } else { format!("{polls} polls in a row have") };
    let missing = match confirm.absent_for {
        _ if !reason.is_absence() => String::new(),
        Duration::ZERO => String::new(),
        time => format!(
            "; a resource that was found before has to be missing for {} (confirm.absentFor)",
            humantime::format_duration(time)
        ),
    };
    format!(
        "{polls} to find it first, and {flapping} in a row while its verdict keeps changing (Event VerdictFlapping){missing}"
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

fn named(sentence: &str, why: Held) -> String {
    format!("{sentence} ({})", why.word())
}

fn with(sentence: &str, why: Held, more: &str) -> String {
    if more.is_empty() { named(sentence, why) } else { format!("{sentence} ({}): {more}", why.word()) }
}
