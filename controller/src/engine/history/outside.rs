//! The external system: one resource in each scope, and what it makes of a request.
//!
//! It knows what the controller cannot see: whether a resource came into being by another hand.

use super::event::{Answer, Scope};
use super::world::{Resource, World};
use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::outcome::{Doubt, Outcome};
use crate::engine::fixtures::{doubtful, refused};

impl World {
    /// The resource that the target means now.
    pub(super) const fn outside(&self) -> Option<Resource> {
        self.outside[self.scope as usize]
    }

    pub(super) const fn outside_mut(&mut self) -> &mut Option<Resource> {
        &mut self.outside[self.scope as usize]
    }

    /// In both scopes, whichever is meant now.
    pub(super) fn make_by_others(&mut self) {
        for scope in Scope::ALL {
            let foreign = !self.owns_in(scope);
            self.outside[scope as usize].get_or_insert(Resource { value: 200, foreign, unread: false });
        }
    }

    /// After a claim whose create may or may not have been done, nobody can tell whose the resource is: it is ours,
    /// or a crash between claim and note would lose what we made.
    pub(super) fn cannot_tell_whose(&mut self) {
        let is_said = self.object.conditions.corrected().is_some();
        if let Some(resource) = self.outside_mut() {
            resource.foreign &= !is_said;
        }
    }

    /// We make the resource, or change it.
    pub(super) fn make(&mut self, foreign: bool) {
        self.made = true;
        *self.outside_mut() = Some(Resource { value: self.spec, foreign, unread: true });
    }

    /// A verdict stands of a poll that saw what we made, or nobody can know any more that we did.
    pub(super) fn read_everything(&mut self) {
        self.outside.iter_mut().flatten().for_each(|resource| resource.unread = false);
    }

    /// The external system: it refuses to create what exists and to update what does not.
    pub(super) fn ask(&mut self, correction: &Correction, answer: Answer) -> Outcome {
        let possible = (correction.action == Action::Create) == self.outside().is_none();
        let refused = refused(409);
        let effective = matches!(answer, Answer::Done | Answer::LostAfter);
        if effective && possible {
            let foreign = self.outside().is_some_and(|resource| resource.foreign);
            self.make(foreign);
        }
        match answer {
            Answer::LostBefore | Answer::LostAfter => doubtful(Doubt::NoAnswer),
            Answer::TurnedAway => doubtful(Doubt::CredentialRefused),
            Answer::Refused => refused,
            _ if !possible => refused,
            Answer::Done | Answer::AcceptedWithoutEffect => Outcome::Applied,
        }
    }
}
