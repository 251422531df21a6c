//! The schedule of the sweep over objects that no target selects.
//!
//! An object is looked at after the patience of each stage: first for marks that block something, then for all. A kind
//! is listed if a noted selection no longer belongs to a target, because no watch covers it. Every change of a kind's
//! selections restarts the patience, so that an object that was selected recently is never touched, and a steady state
//! costs nothing. Failures are retried with growing delays. Due work stays due until its end is reported, so an
//! interrupted sweep starts over.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::cleanup::cleaner::{Stage, SweepSettings};
use crate::cleanup::kind_notes::KindNotes;
use crate::cleanup::known::KnownTargets;
use crate::cleanup::selections::{Selection, namespaces_of};
use crate::client::KindName;
use drift_api::identity::Uid;
use drift_api::object::ObjectId;
use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;

/// Consecutive failures after which a kind is paused, because the next try would fail too.
const FAILURES_IN_A_ROW: u32 = 3;
/// Maximum looks at objects of one kind before other work gets its turn.
const LOOKS_AT_ONCE: usize = 64;

/// The schedule of one program's sweep.
#[derive(Debug)]
pub struct Schedule {
    settings: SweepSettings,
    kinds: BTreeMap<KindName, KindState>,
    /// The kind that had the last turn.
    last: Option<KindName>,
}

/// The state of one kind.
#[derive(Debug)]
struct KindState {
    notes: KindNotes,
    orphans: HashMap<Uid, Orphan>,
    rounds: BTreeMap<Stage, Round>,
}

/// The work of one stage on the objects of a kind.
#[derive(Debug)]
struct Round {
    /// The time of its next list.
    listing: Option<Moment>,
    due: BTreeSet<(Moment, Uid)>,
    /// Backoff of the whole kind.
    backoff: Backoff,
    trouble: Option<&'static str>,
}

/// An object that probably no target selects.
#[derive(Debug)]
struct Orphan {
    id: ObjectId,
    /// The stage of its next look.
    stage: Stage,
    /// The time of its next look. `None` until the notes change.
    due: Option<Moment>,
    /// The earliest time of its last look.
    last: Moment,
    backoff: Backoff,
}

/// A duty that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Duty {
    /// List the objects of the kind in these namespaces. Empty means all.
    List(KindName, Vec<String>),
    /// Look at these objects.
    Look(KindName, Vec<ObjectId>),
}

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookEnd {
    /// No mark of the stage is left. A write that was under way may still bring one of a later stage.
    Cleaned,
    /// The object is gone, or it is not ours to clean.
    Settled,
    /// A target may still select the object, or it is being worked on.
    Unripe,
    /// The object may belong to a target of unknown state. This changes with the configuration.
    Undecided,
    /// The object could not be read or written, for this kind of cause.
    Failed(&'static str),
}

impl Schedule {
    /// Creates the schedule of a new process, in which everything counts as changed just now.
    #[must_use]
    pub const fn new(settings: SweepSettings) -> Self {
        Self { settings, kinds: BTreeMap::new(), last: None }
    }

    /// Updates the active and noted selections.
    pub fn arrange(&mut self, known: KnownTargets<'_>, now: Moment) {
        let (settings, noted) = (self.settings, known.kinds());
        self.kinds.retain(|kind, _| noted.contains(kind));
        for kind in noted {
            let notes = known.of_kind(&kind);
            let current = self.kinds.get(&kind);
            let is_news = current.is_none_or(|current| current.notes.say_more_than(&notes));
            let current = self.kinds.entry(kind).or_insert_with(|| KindState::new(&settings));
            current.notes = notes;
            if is_news {
                current.begin_anew(&settings, now);
            }
        }
    }

    /// Schedules a reported object that no target selects, from the stage of its first mark on. If it just left a
    /// target, it waits for the whole patience.
    pub fn hear_of(&mut self, kind: &KindName, id: &ObjectId, from: Stage, has_left: bool, now: Moment) {
        let (settings, due) = (self.settings, now + self.settings.pace(from).patience);
        if let Some(current) = self.kinds.get_mut(kind)
            && (has_left || current.is_unknown(&id.uid, from))
        {
            current.put(&settings, id, from, (due, now + settings.pace(Stage::Last).patience));
        }
    }

    /// Schedules an object in the list of a stage that apparently no target selects. It has been so for its patience.
    pub fn find(&mut self, kind: &KindName, id: &ObjectId, stage: Stage, now: Moment) {
        let settings = self.settings;
        if let Some(current) = self.kinds.get_mut(kind).filter(|current| current.is_unknown(&id.uid, stage)) {
            let until_last = settings.pace(Stage::Last).patience.saturating_sub(settings.pace(stage).patience);
            current.put(&settings, id, stage, (now, now + until_last));
        }
    }

    /// Returns the time at which the next duty is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Moment> {
        self.kinds.values().flat_map(|current| current.rounds.values()).filter_map(Round::next_due).min()
    }

    /// Returns the next duty of a stage. Kinds take turns.
    pub fn due(&mut self, stage: Stage, now: Moment) -> Option<Duty> {
        let rounds =
            || self.kinds.iter().filter_map(|(kind, current)| Some((kind, current, current.rounds.get(&stage)?)));
        let after_last = rounds().filter(|(kind, ..)| self.last.as_ref().is_some_and(|last| *kind > last));
        let is_due = |round: &Round| round.next_due().is_some_and(|due| due <= now);
        let (kind, current, round) = after_last.chain(rounds()).find(|(.., round)| is_due(round))?;
        let kind = kind.clone();
        let duty = if round.listing.is_some_and(|due| due <= now) {
            Duty::List(kind.clone(), namespaces_of(current.notes.listed()))
        } else {
            let due = round.due.iter().take_while(|(due, _)| *due <= now).take(LOOKS_AT_ONCE);
            let ids = due.filter_map(|(_, uid)| current.orphans.get(uid)).map(|orphan| orphan.id.clone());
            Duty::Look(kind.clone(), ids.collect())
        };
        self.last = Some(kind);
        Some(duty)
    }

    /// Returns true if a look at the object is due.
    #[must_use]
    pub fn is_due(&self, kind: &KindName, uid: &Uid, now: Moment) -> bool {
        self.orphan(kind, uid).and_then(|orphan| orphan.due).is_some_and(|due| due <= now)
    }

    /// Returns true if the kind is not in backoff in this stage.
    #[must_use]
    pub fn is_ready(&self, kind: &KindName, stage: Stage, now: Moment) -> bool {
        let round = self.kinds.get(kind).and_then(|current| current.rounds.get(&stage));
        round.is_some_and(|round| round.backoff.ready_at() <= now)
    }

    /// Returns true if no look at the object has failed yet.
    #[must_use]
    pub fn is_first_look(&self, kind: &KindName, uid: &Uid) -> bool {
        self.orphan(kind, uid).is_none_or(|orphan| orphan.backoff.failures() == 0)
    }

    fn orphan(&self, kind: &KindName, uid: &Uid) -> Option<&Orphan> {
        self.kinds.get(kind)?.orphans.get(uid)
    }

    fn round(&mut self, kind: &KindName, stage: Stage) -> Option<&mut Round> {
        self.kinds.get_mut(kind)?.rounds.get_mut(&stage)
    }

    /// Returns the noted selections of a kind that its next list may prove unused.
    #[must_use]
    pub fn unproved(&self, kind: &KindName) -> Vec<Selection> {
        self.kinds.get(kind).map(|current| current.notes.unproved().cloned().collect()).unwrap_or_default()
    }

    /// Removes selections that a list proved unused. Without another one to list for, no list follows.
    pub fn forget(&mut self, kind: &KindName, selections: &[Selection]) {
        if let Some(current) = self.kinds.get_mut(kind) {
            current.notes.forget(selections);
            if current.notes.listed().next().is_none() {
                current.rounds.values_mut().for_each(|round| round.listing = None);
            }
        }
    }

    /// Records the end of a list.
    pub fn end_list(&mut self, kind: &KindName, stage: Stage) {
        if let Some(round) = self.round(kind, stage) {
            round.listing = None;
            round.succeed();
        }
    }

    /// Records the end of a look. Returns true if the trouble is new.
    pub fn end_look(&mut self, kind: &KindName, uid: &Uid, end: LookEnd, now: Moment) -> bool {
        let settings = self.settings;
        let Some(current) = self.kinds.get_mut(kind) else { return false };
        let Some(stage) = current.orphans.get(uid).map(|orphan| orphan.stage) else { return false };
        match end {
            LookEnd::Cleaned if stage < Stage::Last => {
                current.succeed(stage);
                current.look_last(&settings, uid);
            }
            LookEnd::Cleaned | LookEnd::Settled => {
                current.set_due(uid, None);
                current.orphans.remove(uid);
                current.succeed(stage);
            }
            LookEnd::Unripe => current.set_due(uid, Some(now + settings.pace(stage).patience)),
            LookEnd::Undecided => current.set_due(uid, None),
            LookEnd::Failed(cause) => {
                let delay = current.orphans.get_mut(uid).map(|orphan| orphan.backoff.fail(now));
                current.set_due(uid, delay.map(|delay| now + delay));
                return current.rounds.get_mut(&stage).is_some_and(|round| round.fail(cause, now));
            }
        }
        false
    }

    /// Records a failed look-up or list of a kind. Returns true if the trouble is new.
    pub fn fail(&mut self, kind: &KindName, stage: Stage, cause: &'static str, now: Moment) -> bool {
        let Some(round) = self.round(kind, stage) else { return false };
        // One such failure counts as much as several of objects.
        while round.backoff.failures() + 1 < FAILURES_IN_A_ROW {
            round.backoff.fail(now);
        }
        round.fail(cause, now)
    }

    /// Returns the noted selections that are finished: their targets are gone or select elsewhere, and a list since
    /// then left no object to look at.
    #[must_use]
    pub fn finished(&self, kind: &KindName) -> Vec<Selection> {
        let current = self.kinds.get(kind).filter(|current| current.is_done());
        current.map(|current| current.notes.finished().cloned().collect()).unwrap_or_default()
    }

    /// Removes finished selections. A held one is tried again later.
    pub fn strike_out(&mut self, kind: &KindName, is_held: bool, now: Moment) {
        let later = now + self.settings.pace(Stage::Last).patience;
        let Some(current) = self.kinds.get_mut(kind) else { return };
        if !is_held {
            current.notes.strike_out();
        } else if let Some(round) = current.rounds.get_mut(&Stage::Last) {
            round.listing = Some(later);
        }
    }
}

impl KindState {
    fn new(settings: &SweepSettings) -> Self {
        let round = |stage: Stage| (stage, Round::new(settings.pace(stage).retries));
        Self { notes: KindNotes::default(), orphans: HashMap::new(), rounds: settings.stages().map(round).collect() }
    }

    /// Restarts after a change of the notes: every known object waits for the patience of its stage again.
    fn begin_anew(&mut self, settings: &SweepSettings, now: Moment) {
        let is_listed = self.notes.listed().next().is_some();
        for (stage, round) in &mut self.rounds {
            round.succeed();
            round.listing = is_listed.then(|| now + settings.pace(*stage).patience);
        }
        let orphans: Vec<_> = self.orphans.values().map(|orphan| (orphan.id.clone(), orphan.stage)).collect();
        for (id, stage) in orphans {
            let [due, last] = [stage, Stage::Last].map(|stage| now + settings.pace(stage).patience);
            self.put(settings, &id, stage, (due, last));
        }
    }

    /// Returns true if the object is not scheduled for this stage or an earlier one.
    fn is_unknown(&self, uid: &Uid, stage: Stage) -> bool {
        self.orphans.get(uid).is_none_or(|orphan| orphan.stage > stage)
    }

    /// Returns true if nothing is left to list or to look at.
    fn is_done(&self) -> bool {
        self.orphans.is_empty() && self.rounds.values().all(|round| round.listing.is_none())
    }

    fn put(&mut self, settings: &SweepSettings, id: &ObjectId, stage: Stage, (due, last): (Moment, Moment)) {
        self.set_due(&id.uid, None);
        let backoff = backoff_of_object(settings, stage);
        self.orphans.insert(id.uid.clone(), Orphan { id: id.clone(), stage, due: None, last, backoff });
        self.set_due(&id.uid, Some(due));
    }

    /// Schedules the last look at an object.
    fn look_last(&mut self, settings: &SweepSettings, uid: &Uid) {
        self.set_due(uid, None);
        let Some(orphan) = self.orphans.get_mut(uid) else { return };
        (orphan.stage, orphan.backoff) = (Stage::Last, backoff_of_object(settings, Stage::Last));
        let last = orphan.last;
        self.set_due(uid, Some(last));
    }

    fn set_due(&mut self, uid: &Uid, due: Option<Moment>) {
        let Some(orphan) = self.orphans.get_mut(uid) else { return };
        let Some(round) = self.rounds.get_mut(&orphan.stage) else { return };
        if let Some(before) = std::mem::replace(&mut orphan.due, due) {
            round.due.remove(&(before, uid.clone()));
        }
        round.due.extend(due.map(|due| (due, uid.clone())));
    }

    fn succeed(&mut self, stage: Stage) {
        self.rounds.get_mut(&stage).map(Round::succeed);
    }
}

impl Round {
    const fn new(retries: Series) -> Self {
        let backoff = Backoff::new(Series { at_once: FAILURES_IN_A_ROW - 1, ..retries });
        Self { listing: None, due: BTreeSet::new(), backoff, trouble: None }
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

fn backoff_of_object(settings: &SweepSettings, stage: Stage) -> Backoff {
    Backoff::new(Series { at_once: 0, ..settings.pace(stage).retries })
}
