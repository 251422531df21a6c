//! The sentence for each hold of an object: the words of the reason or of its record, and what is known of the object.

use std::time::Duration;

use drift_api::condition::{ConditionStatus, ObservedReason, closed_text};
use drift_api::held_corrections::{Held, Hold as Shown};
use drift_api::object::LeanObject;
use drift_controller::engine::decide::holds::Hold;
use drift_language::Confirm;
use drift_poller::engine::judgement::confirmation::NEEDED_TO_FLIP;
use drift_poller::engine::judgement::total_loss::ENDS;
use jiff::Timestamp;

use super::facts::{Facts, action};

/// The facts from which the sentences are made.
#[derive(Clone, Copy)]
pub(super) struct Words<'w> {
    pub(super) facts: Facts<'w>,
    pub(super) now: Timestamp,
}

impl Words<'_> {
    /// The hold for people; `None` if it is over.
    pub(super) fn of(&self, hold: &Hold) -> Option<Shown> {
        let Facts { target, object, verdict, .. } = self.facts;
        let why = hold.why;
        let is_contradicted = verdict.reason == ObservedReason::AbsenceContradicted;
        Some(match why {
            Held::AwaitingApproval if is_approved(object) => return None,
            Held::NotOurs if self.facts.is_unseen() => {
                let more = "an object whose driftCorrected says that it owns the resource is corrected";
                Shown::by(why, why.cause(), more)
            }
            Held::NoAction => Shown::by(why, why.cause(), action(self.facts).as_str()),
            Held::NoVerdict | Held::VerdictUnknown | Held::InSync => self.of_verdict(why),
            Held::AttemptsExhausted if is_contradicted => self.of_verdict(why),
            _ => target.hold(object, why, hold.record.as_deref(), self.now),
        })
    }

    /// The hold by what was found just now, or for what the conditions do not say yet.
    fn of_verdict(&self, why: Held) -> Shown {
        let verdict = self.facts.verdict;
        if verdict.status() == ConditionStatus::True {
            let sentence = "the controller acts on the object's conditions, and driftObserved is not True yet";
            return Shown::by(why, sentence, &confirmation(&self.facts.target.confirm, verdict.reason));
        }
        match verdict.reason {
            _ if self.facts.target.suspend && why == Held::VerdictUnknown => self.of_target(Held::Suspended),
            ObservedReason::Suspended => self.of_target(Held::Suspended),
            ObservedReason::AbsenceContradicted => self.facts.target.exists_already(self.facts.object),
            reason @ ObservedReason::AllMissing => {
                Shown::by(why, closed_text(reason), &self.facts.target.about(self.facts.object, ENDS))
            }
            _ => Shown::from(why),
        }
    }

    /// A hold by the target and the object.
    fn of_target(&self, why: Held) -> Shown {
        self.facts.target.hold(self.facts.object, why, None, self.now)
    }
}

/// Returns true if a person approved the correction that the controller asked for. Its hash is the controller's,
/// because it covers versions of Secrets.
fn is_approved(object: &LeanObject) -> bool {
    let note = object.conditions.correction_status();
    let asked_for = note.awaits_approval();
    asked_for.is_some() && object.approved() == asked_for
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
