//! A poller that follows the rules of `driftObserved`.

use drift_api::condition::{ConditionStatus, CurrentVerdict, ObservedReason, Placed, Tag, Verdict};

use super::world::World;

impl World {
    /// Computes the verdict by the rules of `driftObserved` from the state at the start of the poll.
    pub(super) fn begin_poll(&mut self) {
        if self.object.deleting {
            return;
        }
        self.made = false;
        let correction = self.object.conditions.correction();
        let current = self.object.conditions.observed().and_then(CurrentVerdict::read);
        let of_this =
            current.as_ref().filter(|current| current.is_of(self.object.generation, Some(self.desired_hash())));
        let seen = of_this.is_some_and(CurrentVerdict::proves_seen);
        let reason = match (self.outside(), seen) {
            (Some(resource), _) if resource.value == self.spec => ObservedReason::InSync,
            (Some(_), true) => ObservedReason::FieldsDiffer,
            (Some(_), false) => ObservedReason::NotUpdated,
            (None, true) => ObservedReason::ExternalMissing,
            (None, false) => ObservedReason::NotCreated,
        };
        let unhealed = match of_this {
            Some(current) if reason != ObservedReason::InSync => {
                current.tag.unhealed + u32::from(correction > current.tag.correction)
            }
            _ => 0,
        };
        let replace = self.target.actions.replace
            && self.outside().is_some_and(|found| needs_replacement(found.value, self.spec));
        let tag = Tag { desired_hash: Some(self.desired_hash()), correction, unhealed, replace, ..Tag::default() };
        let verdict = Verdict { reason, text: "text".into(), tag, generation: self.object.generation };
        self.poll = Some((self.object.generation, correction, verdict));
    }

    /// Writes the result only if the object still has the state that the poll began with.
    pub(super) fn end_poll(&mut self) {
        let Some((generation, correction, verdict)) = self.poll.take() else { return };
        let same = generation == self.object.generation && correction == self.object.conditions.correction();
        if same && !self.object.deleting {
            self.verified = correction;
            self.polled = true;
            self.moved = false;
            if !self.made {
                self.read_everything();
            }
            let condition = verdict.to_condition(self.object.conditions.observed(), &self.time());
            if condition.status == ConditionStatus::True {
                self.old_verdict = Some(Placed { index: 0, condition: condition.clone() });
            }
            self.object.conditions.observed = Some(Placed { index: 0, condition });
        }
    }
}

/// Returns true if the change of value needs a replacement.
const fn needs_replacement(observed: u8, desired: u8) -> bool {
    observed % 2 != desired % 2
}
