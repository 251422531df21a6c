//! The held objects of one target with their reasons: counts by reason, and the list for people.
//!
//! Counts are updated with each change, so that no step scans all objects.

use std::collections::BTreeMap;

use drift_api::collections::first::first;
use drift_api::{BreakerCounts, Moment, ObjectId, ObjectReason, Uid};

use crate::engine::corrections::held::Held;

/// The reason why each object of one target is held.
#[derive(Debug, Default)]
pub(in crate::engine) struct HeldCounts {
    held: BTreeMap<Uid, Held>,
    counts: BTreeMap<Held, i64>,
}

impl HeldCounts {
    /// Sets the reason of an object. Returns the previous one.
    pub(in crate::engine) fn set(&mut self, uid: &Uid, why: Option<Held>) -> Option<Held> {
        let before = match why {
            Some(why) => self.held.insert(uid.clone(), why),
            None => self.held.remove(uid),
        };
        for (why, by) in [(before, -1), (why, 1)] {
            if let Some(why) = why {
                *self.counts.entry(why).or_default() += by;
            }
        }
        before
    }

    /// Returns every held object with its reason.
    pub(in crate::engine) fn all(&self) -> impl Iterator<Item = (&Uid, Held)> {
        self.held.iter().map(|(uid, held)| (uid, *held))
    }

    /// Returns the objects that are held for this reason.
    pub(in crate::engine) fn held_for(&self, why: Held) -> impl Iterator<Item = &Uid> {
        self.held.iter().filter(move |(_, held)| **held == why).map(|(uid, _)| uid)
    }

    /// Returns true if an object is held for this reason. Called on each step.
    pub(in crate::engine) fn holds_any_for(&self, why: Held) -> bool {
        self.counts.get(&why).is_some_and(|count| *count > 0)
    }

    /// The number of objects that are held for this reason.
    pub(in crate::engine) fn count(&self, why: Held) -> usize {
        self.counts.get(&why).and_then(|count| usize::try_from(*count).ok()).unwrap_or_default()
    }

    /// Returns the number of held objects for each reason.
    pub(in crate::engine) fn counts(&self) -> impl Iterator<Item = (Held, i64)> {
        self.counts.iter().map(|(why, count)| (*why, *count))
    }
}

/// Maximum number of objects in one answer of a target: more than a person reads.
pub const MOST_HOLDINGS: usize = 1_000;

/// The holds of a target that no reader can see from its objects, its text or the poller's Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetHeld {
    /// The counts of the breaker while it is open.
    pub breaker: Option<BreakerCounts>,
    /// The number of objects that wait for a free slot in the target's limits.
    pub limited: usize,
    /// Single objects, the first by name, with the time of the next try where one follows from a time.
    pub objects: Vec<(Uid, ObjectReason, Option<Moment>)>,
    /// The number of objects that are held and not listed.
    pub left_out: usize,
}

/// Query for held objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldQuestion {
    /// Name of the target; all targets if absent.
    pub target: Option<String>,
    /// Reason of the hold; `None` for all reasons that block a correction.
    pub why: Option<Held>,
    /// Substring of `namespace/name`; empty for all objects.
    pub search: String,
}

/// Held objects of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Number of objects that match the query.
    pub matching: usize,
    /// First of them by name, at most [`MOST_HOLDINGS`].
    pub objects: Vec<Holding>,
}

/// One held object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Object as `namespace/name`.
    pub object: String,
    /// Reason of the hold.
    pub why: Held,
    /// Time of the next look, if it depends on time alone.
    pub until: Option<Moment>,
}

/// Returns the objects of the named target that match the query. The time is linear in the held objects; the memory, in
/// the returned ones. `object` returns the id of an object and the time of its next look.
pub fn holdings<'a>(
    target: &str,
    held: impl Iterator<Item = (&'a Uid, Held)>,
    object: impl Fn(&Uid) -> Option<(&'a ObjectId, Option<Moment>)>,
    question: &HeldQuestion,
) -> Holdings {
    if question.target.as_ref().is_some_and(|asked| asked != target) {
        return Holdings::default();
    }
    let is_meant = |why: Held| question.why.map_or_else(|| why.is_noteworthy(), |asked| asked == why);
    let known = held.filter(|(_, why)| is_meant(*why)).filter_map(|(uid, why)| {
        let (id, until) = object(uid)?;
        Some((id, why, until))
    });
    let meant: Vec<_> = known.filter(|(id, ..)| id.is_found_by(&question.search)).collect();
    let matching = meant.len();
    let told = first(meant, MOST_HOLDINGS, Ord::cmp).into_iter();
    Holdings {
        matching,
        objects: told.map(|(id, why, until)| Holding { object: id.to_string(), why, until }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_keeps_back_a_correction_is_told_unasked() {
        let ids = ["a", "b", "c"].map(|name| ObjectId { namespace: None, name: name.into(), uid: name.into() });
        let held =
            [(Uid::from("c"), Held::BreakerOpen), (Uid::from("a"), Held::Paused), (Uid::from("b"), Held::InSync)];
        let ask = |why, search: &str| {
            let object =
                |uid: &Uid| ids.iter().find(|id| *id.uid == *uid.to_string()).map(|id| (id, Some(Moment::START)));
            let question = HeldQuestion { why, search: search.to_owned(), target: None };
            holdings("t", held.iter().map(|(uid, why)| (uid, *why)), object, &question)
        };
        let told = [("a", Held::Paused), ("c", Held::BreakerOpen), ("b", Held::InSync)];
        let told = told.map(|(object, why)| Holding { object: object.to_owned(), why, until: Some(Moment::START) });
        assert_eq!(ask(None, ""), Holdings { matching: 2, objects: told[..2].to_vec() });
        assert_eq!(ask(None, "a").objects, told[..1]);
        assert_eq!(ask(Some(Held::InSync), "").objects, told[2..]);
    }
}
