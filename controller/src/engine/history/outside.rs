//! The external system: one resource in each scope, and the effects of requests.
//!
//! It knows if a resource was created by another party, which the controller cannot see.

use super::event::{Answer, Scope};
use super::world::{Resource, World};
use crate::engine::corrections::{Action, Correction, Doubt, Outcome};
use crate::engine::fixtures::{doubtful, refused};

impl World {
    /// Returns the resource in the target's current scope.
    pub(super) const fn outside(&self) -> Option<Resource> {
        self.outside[self.scope as usize]
    }

    pub(super) const fn outside_mut(&mut self) -> &mut Option<Resource> {
        &mut self.outside[self.scope as usize]
    }

    /// Creates resources by another party in both scopes.
    pub(super) fn make_by_others(&mut self) {
        for scope in Scope::ALL {
            let foreign = !self.owns_in(scope);
            self.outside[scope as usize].get_or_insert(Resource { value: 200, foreign, unread: false });
        }
    }

    /// Treats the resource as ours after a claim whose create may have succeeded. Otherwise a crash between claim and
    /// record would lose a resource that we created.
    pub(super) fn cannot_tell_whose(&mut self) {
        let is_said = self.object.conditions.corrected().is_some();
        if let Some(resource) = self.outside_mut() {
            resource.foreign &= !is_said;
        }
    }

    /// Creates or changes the resource.
    pub(super) fn make(&mut self, foreign: bool) {
        self.made = true;
        *self.outside_mut() = Some(Resource { value: self.spec, foreign, unread: true });
    }

    /// Marks all resources as read: a verdict exists from a poll that saw our change, or the record of the
    /// change is lost.
    pub(super) fn read_everything(&mut self) {
        self.outside.iter_mut().flatten().for_each(|resource| resource.unread = false);
    }

    /// The external system refuses to create an existing resource and to update a missing one.
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
