//! The schedule of sweeps.
//!
//! An object that no target selects is looked at after the patience. A kind is listed if a noted selection no longer
//! belongs to a target, because no watch covers it. Every change of a kind's selections restarts the patience, so that
//! an object that was selected recently is never touched, and a steady state costs nothing. Failures are retried with
//! growing delays. Due work stays due until its end is reported, so an interrupted sweep starts over.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::cleanup::kind_notes::KindNotes;
use crate::cleanup::known::KnownTargets;
use crate::cleanup::selections::{Selection, namespaces_of};
use crate::client::KindName;
use drift_api::{Backoff, Moment, ObjectId, Series, Uid};

/// Consecutive failures after which a kind is paused, because the next try would fail too.
const FAILURES_IN_A_ROW: u32 = 3;
/// Maximum looks at objects of one kind before other work gets its turn.
const LOOKS_AT_ONCE: usize = 64;

/// The schedule of sweeps.
#[derive(Debug)]
pub struct Schedule {
    patience: Duration,
    retries: Series,
    kinds: BTreeMap<KindName, KindState>,
    /// The kind that had the last turn.
    last: Option<KindName>,
}

/// The state of one kind.
#[derive(Debug)]
struct KindState {
    notes: KindNotes,
    /// The time of its next list.
    listing: Option<Moment>,
    orphans: HashMap<Uid, Orphan>,
    due: BTreeSet<(Moment, Uid)>,
    /// Backoff of the whole kind.
    backoff: Backoff,
    trouble: Option<&'static str>,
}

/// An object that probably no target selects.
#[derive(Debug)]
struct Orphan {
    id: ObjectId,
    /// The time of the next look. `None` until the snapshot changes.
    due: Option<Moment>,
    backoff: Backoff,
}

/// A duty that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Duty {
    /// List the objects of the kind in these namespaces. Empty means all.
    List(KindName, Vec<String>),
    /// Look at these objects.
    KindSweep(KindName, Vec<ObjectId>),
}

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookEnd {
    /// Nothing is left to do.
    Settled,
    /// A target may still select the object, or it is being worked on.
    Unripe,
    /// The object may belong to a target of unknown state. This changes with the configuration.
    Undecided,
    /// The object could not be read or written, for this kind of cause.
    Failed(&'static str),
}

impl Schedule {
    /// Creates the schedule of a new process, in which everything counts as changed just now. `patience` is the minimum
    /// time without a target that selects an object.
    #[must_use]
    pub const fn new(patience: Duration, retries: Series) -> Self {
        Self { patience, retries, kinds: BTreeMap::new(), last: None }
    }

    /// Updates the active and noted selections.
    pub fn arrange(&mut self, known: KnownTargets<'_>, now: Moment) {
        let noted = known.kinds();
        self.kinds.retain(|kind, _| noted.contains(kind));
        for kind in noted {
            let notes = known.of_kind(&kind);
            let current = self.kinds.get(&kind);
            let is_news = current.is_none_or(|current| current.notes.say_more_than(&notes));
            let current = self.kinds.entry(kind).or_insert_with(|| KindState::new(self.retries));
            current.notes = notes;
            if is_news {
                current.begin_anew(now + self.patience);
            }
        }
    }

    /// Schedules a reported object that no target selects. If it just left a target, it waits for the whole patience.
    pub fn hear_of(&mut self, kind: &KindName, id: &ObjectId, has_left: bool, now: Moment) {
        let due = now + self.patience;
        if let Some(current) = self.kinds.get_mut(kind)
            && (has_left || !current.orphans.contains_key(&id.uid))
        {
            current.put(id, Some(due));
        }
    }

    /// Schedules an object in a list that apparently no target selects. It has been so for the patience.
    pub fn find(&mut self, kind: &KindName, id: &ObjectId, now: Moment) {
        if let Some(current) = self.kinds.get_mut(kind).filter(|current| !current.orphans.contains_key(&id.uid)) {
            current.put(id, Some(now));
        }
    }

    /// Returns the time at which the next duty is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Moment> {
        self.kinds.values().filter_map(KindState::next_due).min()
    }

    /// Returns the next duty. Kinds take turns.
    pub fn due(&mut self, now: Moment) -> Option<Duty> {
        let is_due = |(_, current): &(&KindName, &KindState)| current.next_due().is_some_and(|due| due <= now);
        let after_last = self.kinds.iter().filter(|(kind, _)| self.last.as_ref().is_some_and(|last| *kind > last));
        let (kind, current) = after_last.chain(&self.kinds).find(is_due)?;
        self.last = Some(kind.clone());
        if current.listing.is_some_and(|due| due <= now) {
            return Some(Duty::List(kind.clone(), namespaces_of(current.notes.listed())));
        }
        let due = current.due.iter().take_while(|(due, _)| *due <= now).take(LOOKS_AT_ONCE);
        let ids = due.filter_map(|(_, uid)| current.orphans.get(uid)).map(|orphan| orphan.id.clone());
        Some(Duty::KindSweep(kind.clone(), ids.collect()))
    }

    /// Returns true if a look at the object is due.
    #[must_use]
    pub fn is_due(&self, kind: &KindName, uid: &Uid, now: Moment) -> bool {
        self.orphan(kind, uid).and_then(|orphan| orphan.due).is_some_and(|due| due <= now)
    }

    /// Returns true if the kind is not in backoff.
    #[must_use]
    pub fn is_ready(&self, kind: &KindName, now: Moment) -> bool {
        self.kinds.get(kind).is_some_and(|current| current.backoff.ready_at() <= now)
    }

    /// Returns true if no look at the object has failed yet.
    #[must_use]
    pub fn is_first_look(&self, kind: &KindName, uid: &Uid) -> bool {
        self.orphan(kind, uid).is_none_or(|orphan| orphan.backoff.failures() == 0)
    }

    fn orphan(&self, kind: &KindName, uid: &Uid) -> Option<&Orphan> {
        self.kinds.get(kind)?.orphans.get(uid)
    }

    /// Returns the noted selections of a kind that its next list may prove unused.
    #[must_use]
    pub fn unproved(&self, kind: &KindName) -> Vec<Selection> {
        self.kinds.get(kind).map(|current| current.notes.unproved().cloned().collect()).unwrap_or_default()
    }

    /// Removes selections that a list proved unused.
    pub fn forget(&mut self, kind: &KindName, selections: &[Selection]) {
        if let Some(current) = self.kinds.get_mut(kind) {
            current.notes.forget(selections);
        }
    }

    /// Records the end of a list.
    pub fn end_list(&mut self, kind: &KindName) {
        if let Some(current) = self.kinds.get_mut(kind) {
            current.listing = None;
            current.succeed();
        }
    }

    /// Records the end of a look. Returns true if the trouble is new.
    pub fn end_look(&mut self, kind: &KindName, uid: &Uid, end: LookEnd, now: Moment) -> bool {
        let later = now + self.patience;
        let Some(current) = self.kinds.get_mut(kind) else { return false };
        match end {
            LookEnd::Settled => {
                current.set_due(uid, None);
                current.orphans.remove(uid);
                current.succeed();
            }
            LookEnd::Unripe => current.set_due(uid, Some(later)),
            LookEnd::Undecided => current.set_due(uid, None),
            LookEnd::Failed(cause) => {
                let delay = current.orphans.get_mut(uid).map(|orphan| orphan.backoff.fail(now));
                current.set_due(uid, delay.map(|delay| now + delay));
                return current.fail(cause, now);
            }
        }
        false
    }

    /// Records a failed look-up or list of a kind. Returns true if the trouble is new.
    pub fn fail(&mut self, kind: &KindName, cause: &'static str, now: Moment) -> bool {
        let Some(current) = self.kinds.get_mut(kind) else { return false };
        // One such failure counts as much as several of objects.
        while current.backoff.failures() + 1 < FAILURES_IN_A_ROW {
            current.backoff.fail(now);
        }
        current.fail(cause, now)
    }

    /// Returns the noted selections that are finished: their targets are gone or select elsewhere, and a list since
    /// then left no object to look at.
    #[must_use]
    pub fn finished(&self, kind: &KindName) -> Vec<Selection> {
        let current = self.kinds.get(kind).filter(|current| current.listing.is_none() && current.orphans.is_empty());
        current.map(|current| current.notes.finished().cloned().collect()).unwrap_or_default()
    }

    /// Removes finished selections. A held one is tried again later.
    pub fn strike_out(&mut self, kind: &KindName, is_held: bool, now: Moment) {
        let later = now + self.patience;
        let Some(current) = self.kinds.get_mut(kind) else { return };
        if is_held {
            current.listing = Some(later);
        } else {
            current.notes.strike_out();
        }
    }
}

impl KindState {
    fn new(retries: Series) -> Self {
        let backoff = Backoff::new(Series { at_once: FAILURES_IN_A_ROW - 1, ..retries });
        Self {
            notes: KindNotes::default(),
            listing: None,
            orphans: HashMap::new(),
            due: BTreeSet::new(),
            backoff,
            trouble: None,
        }
    }

    /// Restarts after a change of the snapshot: every known object waits for the patience again.
    fn begin_anew(&mut self, due: Moment) {
        self.succeed();
        self.listing = self.notes.listed().next().map(|_| due);
        let ids: Vec<ObjectId> = self.orphans.values().map(|orphan| orphan.id.clone()).collect();
        ids.iter().for_each(|id| self.put(id, Some(due)));
    }

    fn put(&mut self, id: &ObjectId, due: Option<Moment>) {
        let series = Series { at_once: 0, ..self.backoff.series() };
        self.set_due(&id.uid, None);
        self.orphans.insert(id.uid.clone(), Orphan { id: id.clone(), due: None, backoff: Backoff::new(series) });
        self.set_due(&id.uid, due);
    }

    fn set_due(&mut self, uid: &Uid, due: Option<Moment>) {
        let Some(orphan) = self.orphans.get_mut(uid) else { return };
        if let Some(before) = std::mem::replace(&mut orphan.due, due) {
            self.due.remove(&(before, uid.clone()));
        }
        self.due.extend(due.map(|due| (due, uid.clone())));
    }

    fn next_due(&self) -> Option<Moment> {
        let looking = self.due.first().map(|(due, _)| *due);
        let earliest = self.listing.into_iter().chain(looking).min()?;
        Some(earliest.max(self.backoff.ready_at()))
    }

    fn succeed(&mut self) {
        self.backoff.reset();
        self.trouble = None;
    }

    fn fail(&mut self, cause: &'static str, now: Moment) -> bool {
        self.backoff.fail(now);
        self.trouble.replace(cause) != Some(cause)
    }
}
