//! Objects of a target whose live reads fail, each with its backoff.

use std::collections::HashMap;

use drift_api::identity::Uid;
use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;

/// Objects whose last live read failed.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    waiting: HashMap<Uid, Backoff>,
}

impl Unreadable {
    /// Returns the time of the next allowed read of the object.
    pub(super) fn ready_at(&self, uid: &Uid) -> Moment {
        self.waiting.get(uid).map_or(Moment::START, Backoff::ready_at)
    }

    /// Records a failed read. Returns true if no other object's read fails, because only a change is reported.
    pub(super) fn fail(&mut self, uid: &Uid, now: Moment) -> bool {
        let is_first = self.waiting.is_empty();
        self.waiting.entry(uid.clone()).or_insert_with(|| Backoff::new(Series::API_UNAVAILABLE)).fail(now);
        is_first
    }

    /// Forgets the object. Returns true if it was the last failing object.
    pub(super) fn remove(&mut self, uid: &Uid) -> bool {
        self.waiting.remove(uid).is_some() && self.waiting.is_empty()
    }
}
