//! The guards of a decision: what holds an object, or comes before its state is acted on.

use drift_api::condition::CorrectionStatus;

use super::state::{Case, State};
use super::{approval, deletion, drifted, ownership, preparation, stored_ids, unseen_create};
use crate::engine::corrections::Held;
use crate::engine::decide::decision::Decision;

/// One guard. The first one with a decision decides.
pub(super) struct Guard {
    /// States in which it is asked.
    of: fn(State) -> bool,
    /// Returns its decision; `None` if it does not matter for the object.
    rule: fn(&Case<'_>) -> Option<Decision>,
    /// Every reason to hold an object that it gives.
    holds: &'static [Held],
}

impl Guard {
    /// Returns the decision of this guard.
    pub(super) fn decide(&self, case: &Case<'_>) -> Option<Decision> {
        let decision = if (self.of)(case.state) { (self.rule)(case) } else { None };
        debug_assert!(decision.as_ref().and_then(Decision::held).is_none_or(|why| self.holds.contains(&why)));
        decision
    }

    /// Returns the hold by a decision of this guard; `None` if it only writes a record or the finalizer.
    pub(super) fn hold_by(&self, decision: &Decision) -> Option<Held> {
        let is_told_by = |status: &CorrectionStatus| {
            self.holds.iter().copied().find(|why| status.reason.is_some() && why.recorded_as() == status.reason)
        };
        match decision {
            Decision::WriteStatus(status) => is_told_by(status),
            other => other.held(),
        }
    }
}

/// All guards in their order. A guard without a hold writes a record or the finalizer.
#[rustfmt::skip]
pub(super) const GUARDS: &[Guard] = &[
    // May the object be touched at all?
    Guard { of: State::is_any, rule: preparation::not_listed, holds: &[Held::NotListed] },
    Guard { of: State::is_present, rule: preparation::of_newer_version, holds: &[Held::NewerVersion] },

    // Is its deletion over, or is the resource left as it is?
    Guard { of: State::is_deleting, rule: deletion::done, holds: &[] },
    Guard { of: State::is_deleting, rule: deletion::left_behind, holds: &[] },

    // Is its record right?
    Guard { of: State::is_living, rule: preparation::finalizer_unneeded, holds: &[] },
    Guard { of: State::is_living, rule: preparation::only_observed, holds: &[Held::Observing] },
    Guard { of: State::is_living, rule: ownership::given_up, holds: &[] },
    Guard { of: State::is_living, rule: preparation::status_lost, holds: &[] },
    Guard { of: State::is_living, rule: preparation::interrupted, holds: &[] },
    Guard { of: State::is_deleting, rule: stored_ids::changed, holds: &[Held::StoredIdChanged] },

    // Does a person, the target or another object forbid every action?
    Guard { of: State::is_present, rule: preparation::suspended, holds: &[Held::TemplateFails, Held::Suspended] },
    Guard { of: State::is_present, rule: preparation::paused, holds: &[Held::Paused] },
    Guard { of: State::is_present, rule: preparation::not_allowed, holds: &[Held::TemplateFails, Held::NotAllowed] },
    Guard { of: State::is_present, rule: preparation::unnamed, holds: &[Held::TemplateFails] },
    Guard { of: State::is_living, rule: ownership::of_another, holds: &[Held::IdentityTaken, Held::IdentityContested, Held::GivenUp, Held::ScopeIncomplete] },
    Guard { of: State::is_living, rule: stored_ids::changed, holds: &[Held::StoredIdChanged] },
    Guard { of: State::is_living, rule: stored_ids::set_back, holds: &[] },
    Guard { of: State::is_living, rule: preparation::finalizer_needed, holds: &[] },
    Guard { of: State::is_living, rule: preparation::secrets_moved, holds: &[] },

    // May this action follow?
    Guard { of: State::is_contradicted, rule: drifted::other_contradiction, holds: &[Held::VerdictUnknown] },
    Guard { of: State::lacks_a_match, rule: drifted::no_action, holds: &[Held::NoAction] },
    Guard { of: State::is_drifted, rule: drifted::not_attested, holds: &[Held::NotAttested] },
    Guard { of: State::is_drifted, rule: drifted::breaker_open, holds: &[Held::BreakerOpen] },
    Guard { of: State::is_drifted, rule: drifted::hidden_before, holds: &[Held::NotAttested] },
    Guard { of: State::is_drifted, rule: drifted::not_permitted, holds: &[Held::ScopeIncomplete, Held::NotOurs, Held::IdentityChanged] },
    Guard { of: State::is_deleting, rule: deletion::scope_incomplete, holds: &[Held::ScopeIncomplete] },
    Guard { of: State::is_deleting, rule: deletion::undone, holds: &[Held::NotVerified, Held::NotAttested] },
    Guard { of: State::is_drifted, rule: drifted::in_doubt_by_another_text, holds: &[] },
    Guard { of: State::is_drifted, rule: unseen_create::unknown, holds: &[Held::CreationInDoubt] },
    Guard { of: State::is_drifted, rule: drifted::replaced_in_vain, holds: &[Held::AttemptsExhausted] },
    Guard { of: State::leads_to_request, rule: approval::awaited, holds: &[Held::AwaitingApproval, Held::Unsendable] },

    // Is it time?
    Guard { of: State::lacks_a_match, rule: drifted::attempts_exhausted, holds: &[Held::AttemptsExhausted] },
    Guard { of: State::is_drifted, rule: drifted::delayed, holds: &[Held::Delayed, Held::JobUnfinished] },
    Guard { of: State::is_deleting, rule: deletion::delayed, holds: &[Held::Delayed, Held::JobUnfinished] },
    Guard { of: State::leads_to_request, rule: drifted::unsendable, holds: &[Held::Unsendable] },
    Guard { of: State::leads_to_action, rule: drifted::outside_window, holds: &[Held::OutsideWindow, Held::OutsideDeletionWindow] },
    Guard { of: State::is_contradicted, rule: drifted::breaker_open_for_all, holds: &[Held::BreakerOpen] },
    Guard { of: State::is_contradicted, rule: drifted::retry_awaited, holds: &[Held::AwaitingApproval] },
    Guard { of: State::is_drifted, rule: drifted::read_unproved, holds: &[Held::ReadUnproved] },
    Guard { of: State::leads_to_request, rule: drifted::limited, holds: &[Held::Limited] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_are_in_the_order_of_the_guards() {
        let mut asked: Vec<Held> = Vec::new();
        for why in GUARDS.iter().flat_map(|guard| guard.holds) {
            if !asked.contains(why) {
                asked.push(*why);
            }
        }
        assert_eq!(asked, Held::ALL[..asked.len()]);
    }
}
