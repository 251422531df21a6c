//! The report of what holds the target's corrections, for the controller's Lease.

use drift_api::collections::first::first;
use drift_api::identity::Uid;
use drift_api::object::ObjectId;
use drift_api::timing::moment::Moment;

use super::Target;
use crate::engine::corrections::Held;
use crate::engine::effect::Report;
use crate::engine::objects::held_objects::TargetHeld;
use crate::engine::shared_state::SharedState;

/// Most objects in a report. The Lease has room for fewer.
const MOST_OBJECTS: usize = 200;

impl<P: SharedState> Target<P> {
    /// Reports the holds if they changed. Times are compared by the monotonic clock, so that a steady state reports nothing.
    pub(super) fn report_holds(&mut self) {
        let held = self.published_holds();
        if self.reported_holds.as_ref() != Some(&held) {
            self.reported_holds = Some(held.clone());
            self.report(Report::Holds(held));
        }
    }

    fn published_holds(&self) -> TargetHeld {
        let published = Held::ALL.iter().filter(|why| why.is_published());
        let count: usize = published.map(|why| self.held.count(*why)).sum();
        // Most of the time nothing is held, and no object is looked at.
        let listed = if count > 0 { first(self.held_alone(), MOST_OBJECTS, |a, b| a.0.cmp(b.0)) } else { Vec::new() };
        TargetHeld {
            breaker: self.objects.breaker_counts(),
            limited: self.held.count(Held::Limited),
            left_out: count.saturating_sub(listed.len()),
            objects: listed.into_iter().map(|(id, why, until)| (id.uid.clone(), why, until)).collect(),
        }
    }

    /// The objects that are held for a published reason.
    fn held_alone(&self) -> Vec<(&ObjectId, Held, Option<Moment>)> {
        let until = |uid: &Uid, why: Held| if why.has_next_try() { self.queue.due_at(uid) } else { None };
        let published = self.held.all().filter(|(_, why)| why.is_published());
        published.filter_map(|(uid, why)| Some((&self.objects.object(uid)?.id, why, until(uid, why)))).collect()
    }
}
