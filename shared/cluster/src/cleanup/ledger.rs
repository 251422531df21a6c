//! When to look for what was left: once, some time after anything changed that says what is selected.
//!
//! A kind is swept when no selection of it has changed for the patience; a single object is looked at when it left its
//! target's selection that long ago. So nothing that a target selected lately is touched, and a steady state costs
//! nothing. What fails is tried again with growing pauses. This file must not know how to look.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::cleanup::judgement::{InForce, is_decided};
use crate::cleanup::notes::{KindName, Notes, Scope};
use drift_model::identity::Uid;
use drift_model::moment::Moment;
use drift_model::object::ObjectId;
use drift_target::ObjectSelection;

/// The pause after a first failure; a sweep is a whole list, so it is not repeated sooner.
const FIRST_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause between two tries: what is refused for an hour waits for a person.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// When to look where.
#[derive(Debug)]
pub struct Ledger {
    patience: Duration,
    kinds: BTreeMap<KindName, Standing>,
    leavers: HashMap<Uid, Leaver>,
}

/// What is known of one kind.
#[derive(Debug)]
struct Standing {
    snapshot: Snapshot,
    due: Option<Moment>,
    failures: u32,
}

/// All that says which objects of a kind are selected, and of which targets nothing is known.
#[derive(Debug, PartialEq)]
struct Snapshot {
    selections: Vec<(String, ObjectSelection)>,
    undecided: BTreeSet<Scope>,
    noted: BTreeSet<Scope>,
}

/// An object that left its target's selection by itself.
#[derive(Debug)]
struct Leaver {
    kind: KindName,
    id: ObjectId,
    due: Moment,
}

/// Something to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Look at every object of the kind, as far as it is noted.
    Sweep(KindName),
    /// Look at one object.
    Look(KindName, ObjectId),
}

impl Duty {
    /// The kind that is looked at.
    #[must_use]
    pub const fn kind(&self) -> &KindName {
        match self {
            Self::Sweep(kind) | Self::Look(kind, _) => kind,
        }
    }
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepEnd {
    /// Nothing that was left stands any more.
    Clean,
    /// Something is still too young.
    Unripe,
    /// Something may be of a target of which nothing is known; it is swept again when that changes.
    Undecided,
    /// Something could not be read or taken away.
    Failed,
}

impl Ledger {
    /// A ledger of a process that has just begun: for it everything changed just now. `patience` is how long no target
    /// must have selected an object.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        Self { patience, kinds: BTreeMap::new(), leavers: HashMap::new() }
    }

    /// Takes in what is in force and noted now.
    pub fn arrange(&mut self, notes: &Notes, in_force: InForce<'_>, now: Moment) {
        let noted: BTreeSet<KindName> = notes.iter().map(|(scope, _)| scope.kind_name()).collect();
        self.kinds.retain(|kind, _| noted.contains(kind));
        for kind in noted {
            let snapshot = Snapshot::of(&kind, notes, in_force);
            let standing = self.kinds.get(&kind);
            if standing.is_none_or(|standing| standing.snapshot.say_more_than(&snapshot)) {
                self.kinds.insert(kind, Standing { snapshot, due: Some(now + self.patience), failures: 0 });
            } else if let Some(standing) = self.kinds.get_mut(&kind) {
                standing.snapshot = snapshot;
            }
        }
    }

    /// An object that a target had selected is out of its selection.
    pub fn note_left(&mut self, kind: KindName, id: ObjectId, now: Moment) {
        let due = now + self.patience;
        self.leavers.insert(id.uid.clone(), Leaver { kind, id, due });
    }

    /// Whether the object left its target's selection only lately.
    #[must_use]
    pub fn is_young(&self, uid: &Uid) -> bool {
        self.leavers.contains_key(uid)
    }

    /// When something will be due.
    #[must_use]
    pub fn next_due(&self) -> Option<Moment> {
        let kinds = self.kinds.values().filter_map(|standing| standing.due);
        kinds.chain(self.leavers.values().map(|leaver| leaver.due)).min()
    }

    /// Takes something that is due.
    pub fn take_due(&mut self, now: Moment) -> Option<Duty> {
        let ripe = self.leavers.iter().find(|(_, leaver)| leaver.due <= now).map(|(uid, _)| uid.clone());
        if let Some(leaver) = ripe.and_then(|uid| self.leavers.remove(&uid)) {
            return Some(Duty::Look(leaver.kind, leaver.id));
        }
        let (kind, standing) =
            self.kinds.iter_mut().find(|(_, standing)| standing.due.is_some_and(|due| due <= now))?;
        standing.due = None;
        Some(Duty::Sweep(kind.clone()))
    }

    /// A sweep ended. Gives the notes that have nothing to say any more.
    pub fn end_sweep(&mut self, kind: &KindName, end: SweepEnd, now: Moment) -> Vec<Scope> {
        let is_anybody_young = self.leavers.values().any(|leaver| leaver.kind == *kind);
        let patience = self.patience;
        // The kind is gone from the notes, or its selections changed while it was swept: that sweep counts for nothing.
        let Some(standing) = self.kinds.get_mut(kind).filter(|standing| standing.due.is_none()) else {
            return Vec::new();
        };
        match end {
            SweepEnd::Failed => {
                self.fail(kind, now);
                Vec::new()
            }
            SweepEnd::Undecided => Vec::new(),
            SweepEnd::Unripe => {
                standing.due = Some(now + patience);
                Vec::new()
            }
            SweepEnd::Clean if is_anybody_young => {
                standing.due = standing.snapshot.finished().next().is_some().then(|| now + patience);
                Vec::new()
            }
            SweepEnd::Clean => standing.snapshot.finished().cloned().collect(),
        }
    }

    /// A sweep was broken off because something changed; it begins anew, at once unless that change bids patience.
    pub fn break_off(&mut self, kind: &KindName, now: Moment) {
        if let Some(standing) = self.kinds.get_mut(kind) {
            standing.due.get_or_insert(now);
        }
    }

    /// Something of a kind could not be read or taken away: the whole kind is looked at again after a pause.
    pub fn fail(&mut self, kind: &KindName, now: Moment) {
        let Some(standing) = self.kinds.get_mut(kind) else { return };
        let pause = FIRST_PAUSE.saturating_mul(1_u32.checked_shl(standing.failures).unwrap_or(u32::MAX));
        standing.failures = standing.failures.saturating_add(1);
        standing.due.get_or_insert(now + pause.min(LONGEST_PAUSE));
    }
}

impl Snapshot {
    fn of(kind: &KindName, notes: &Notes, in_force: InForce<'_>) -> Self {
        let of_kind = in_force.targets.values().filter(|target| target.objects.is_of(&kind.group, &kind.kind));
        let noted = || notes.iter().filter(|(scope, _)| scope.kind_name() == *kind);
        let undecided = noted().filter(|(scope, config_map)| !is_decided(in_force, scope, config_map));
        Self {
            selections: of_kind.map(|target| (target.name.clone(), target.objects.clone())).collect(),
            undecided: undecided.map(|(scope, _)| scope.clone()).collect(),
            noted: noted().map(|(scope, _)| scope.clone()).collect(),
        }
    }

    /// Whether `now` says something else, apart from notes that were struck out.
    fn say_more_than(&self, now: &Self) -> bool {
        self.selections != now.selections || self.undecided != now.undecided || !now.noted.is_subset(&self.noted)
    }

    /// Notes of targets that are gone or reach elsewhere, and of which that is known.
    fn finished(&self) -> impl Iterator<Item = &Scope> {
        let is_in_use = |scope: &Scope| {
            self.selections.iter().any(|(target, objects)| {
                *target == scope.target
                    && objects.api_version == scope.api_version
                    && objects.namespaces == scope.namespaces
            })
        };
        self.noted.iter().filter(move |scope| !is_in_use(scope) && !self.undecided.contains(*scope))
    }
}
