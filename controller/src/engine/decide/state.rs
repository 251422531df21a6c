//! The state of one object: what follows for it once no guard holds it.

use drift_api::condition::{
    Claim, ConditionStatus, CorrectedReason, CorrectionStatus, CurrentVerdict, DifferingFields, ObservedReason,
};
use drift_api::identity::ResourceName;

use crate::engine::corrections::claim::permit;
use crate::engine::corrections::{Action, Correction, Held, Permission};
use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::Situation;

/// State of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is being deleted and does not have our finalizer.
    Released,
    /// It is being deleted, and our finalizer keeps it.
    Deleting,
    /// No verdict says what its present spec and its last correction led to.
    Unjudged(Held),
    /// The external system is as the object describes it.
    InSync,
    /// A poll finds no resource, and a create was refused because one exists.
    Contradicted,
    /// The external system differs, and this action corrects it.
    Drifted(Action),
}

impl State {
    fn of(situation: &Situation<'_>, status: &CorrectionStatus, current: Option<&CurrentVerdict>) -> Self {
        let Situation { object, facts, target, .. } = situation;
        if object.deleting {
            return if object.has_finalizer() { Self::Deleting } else { Self::Released };
        }
        let Some(current) = current else { return Self::Unjudged(Held::NoVerdict) };
        if facts.desired_hash.is_none() {
            return Self::Unjudged(Held::TemplateFails);
        }
        if current.generation != object.generation || current.tag.desired_hash != facts.desired_hash {
            return Self::Unjudged(Held::VerdictOutdated);
        }
        if current.tag.correction != status.correction {
            return Self::Unjudged(Held::NotVerified);
        }
        match current.reason {
            ObservedReason::InSync => Self::InSync,
            reason if reason.status() == ConditionStatus::True => {
                Self::Drifted(target.actions.against(reason, current.tag.replace))
            }
            ObservedReason::AbsenceContradicted => Self::Contradicted,
            _ => Self::Unjudged(Held::VerdictUnknown),
        }
    }

    /// Returns true for every state.
    pub(super) const fn is_any(self) -> bool {
        true
    }

    /// Returns true if the object is not being deleted.
    pub(super) const fn is_living(self) -> bool {
        !matches!(self, Self::Released | Self::Deleting)
    }

    /// Returns true if our finalizer keeps an object that is being deleted.
    pub(super) const fn is_deleting(self) -> bool {
        matches!(self, Self::Deleting)
    }

    /// Returns true unless the object is gone for us.
    pub(super) const fn is_present(self) -> bool {
        !matches!(self, Self::Released)
    }

    /// Returns true if the external system differs.
    pub(super) const fn is_drifted(self) -> bool {
        matches!(self, Self::Drifted(_))
    }

    /// Returns true if a refused create contradicts the poll.
    pub(super) const fn is_contradicted(self) -> bool {
        matches!(self, Self::Contradicted)
    }

    /// Returns true if the external system differs, or if it is unclear whether a resource exists.
    pub(super) const fn lacks_a_match(self) -> bool {
        matches!(self, Self::Drifted(_) | Self::Contradicted)
    }

    /// Returns true if a request follows.
    pub(super) const fn leads_to_request(self) -> bool {
        matches!(self, Self::Drifted(_) | Self::Deleting)
    }

    /// Returns true if a request follows, or the record that permits another create.
    pub(super) const fn leads_to_action(self) -> bool {
        self.leads_to_request() || self.is_contradicted()
    }
}

/// One object with its state and what its situation says of it.
#[derive(Debug)]
pub(super) struct Case<'s> {
    pub(super) situation: &'s Situation<'s>,
    /// Effective status.
    pub(super) status: CorrectionStatus,
    /// Verdict of the poller, if this version can read it.
    pub(super) current: Option<CurrentVerdict>,
    /// External resource that the object names; `None` if its name is unknown.
    pub(super) resource: Option<ResourceName>,
    pub(super) state: State,
}

impl<'s> Case<'s> {
    pub(super) fn of(situation: &'s Situation<'s>) -> Self {
        let status = situation.status();
        let current = situation.object.conditions.observed().and_then(CurrentVerdict::read);
        let state = State::of(situation, &status, current.as_ref());
        Self { situation, status, current, resource: situation.named(), state }
    }

    /// Returns what follows from the state.
    pub(super) fn act(&self) -> Decision {
        match self.state {
            State::Released => Decision::Nothing(Held::Deleting),
            State::Unjudged(why) => Decision::Nothing(why),
            State::InSync => self.end_corrections(),
            // The next poll that finds nothing is drift again, and the create follows from that.
            State::Contradicted => Decision::WriteStatus(self.status.without_contradiction()),
            State::Deleting | State::Drifted(_) => match self.correction() {
                Some(correction) => Decision::Correct(Box::new(correction)),
                None => Decision::Nothing(Held::TemplateFails),
            },
        }
    }

    /// Returns the action that follows, on the external resource or on the operator's object.
    pub(super) const fn action(&self) -> Option<Action> {
        match self.state {
            State::Deleting => Some(Action::Delete),
            State::Drifted(action) => Some(action),
            State::Contradicted => Some(Action::Create),
            State::Released | State::Unjudged(_) | State::InSync => None,
        }
    }

    /// Returns true if the state leads to this action.
    pub(super) fn is_for(&self, action: Action) -> bool {
        self.state.is_drifted() && self.action() == Some(action)
    }

    /// Returns the permission that ownership gives to the action.
    pub(super) fn permission(&self) -> Option<Permission> {
        let (action, resource) = (self.action()?, self.resource.as_ref()?);
        Some(permit(action, self.status.claim.as_ref(), resource, self.situation.target.existing))
    }

    /// Returns the correction that follows; `None` if nothing is to be sent, or if the resource's name is unknown.
    pub(super) fn correction(&self) -> Option<Correction> {
        let Self { situation, status, .. } = self;
        let correction = situation.correction(self.action()?, self.resource.as_ref()?, status);
        let State::Drifted(_) = self.state else { return Some(correction) };
        let claim_first = self.permission() == Some(Permission::Granted { claim_first: true });
        let needs_finalizer = situation.target.deletes() && !situation.object.has_finalizer();
        let put_finalizer = claim_first && needs_finalizer;
        Some(Correction { claim_first, put_finalizer, fields: self.fields(), ..correction })
    }

    /// Returns the differing fields: all fields if the resource is missing. A verdict that names no fields gives no
    /// information on them, so none may be skipped.
    pub(super) fn fields(&self) -> DifferingFields {
        let named = self.current.as_ref().filter(|_| !self.is_for(Action::Create)).map(|current| &current.tag.fields);
        named.filter(|named| !named.is_empty()).cloned().unwrap_or_else(DifferingFields::every)
    }

    /// Writes a status outside of corrections; `None` if the object already has it.
    pub(super) fn write_once(
        &self,
        status: &CorrectionStatus,
        reason: CorrectedReason,
        text: &str,
    ) -> Option<Decision> {
        let object = self.situation.object;
        let status = status.keeping(reason, text, object.generation);
        (!status.stands(object.conditions.corrected())).then_some(Decision::WriteStatus(status))
    }

    /// Ends the record of what was corrected.
    fn end_corrections(&self) -> Decision {
        let Self { situation, status, .. } = self;
        let generation = situation.object.generation;
        let names_owned =
            || status.owned().zip(self.resource.as_ref()).is_some_and(|(owned, named)| owned.names(named));
        let cleared = || {
            // A claim that only permits a create is void once another party created the resource.
            let claim = status.claim.clone().filter(|claim| matches!(claim, Claim::Owns(_)));
            // Without a claim, a correction in effect would look like ownership. A nudge owns nothing, and its correction is
            // in effect all the same.
            let (reason, text) = match claim.is_some() || situation.target.actions.nudge {
                true => (CorrectedReason::CorrectionApplied, "in sync again"),
                false => (CorrectedReason::NotOurs, "in sync, and the object does not own the external resource"),
            };
            Decision::WriteStatus(CorrectionStatus { claim, unseen: None, ..status.keeping(reason, text, generation) })
        };
        match status.reason {
            Some(CorrectedReason::NotOurs | CorrectedReason::AwaitingApproval)
                if status.correction == 0 && status.claim.is_none() =>
            {
                Decision::WriteStatus(CorrectionStatus::default())
            }
            Some(CorrectedReason::NotOurs) if status.claim.is_none() => Decision::Nothing(Held::InSync),
            Some(
                CorrectedReason::NotOurs
                | CorrectedReason::CorrectionStarted
                | CorrectedReason::CorrectionFailed
                | CorrectedReason::AttemptsExhausted
                | CorrectedReason::CreationInDoubt
                | CorrectedReason::AwaitingApproval
                | CorrectedReason::IdentityFree,
            ) => cleared(),
            // The identity or the scope was changed back, so the status is no longer true.
            Some(CorrectedReason::IdentityChanged) if names_owned() => cleared(),
            // The replacement helped. Later drift may be replaced again.
            _ if status.replaced => Decision::WriteStatus(CorrectionStatus { replaced: false, ..status.clone() }),
            _ => Decision::Nothing(Held::InSync),
        }
    }
}
