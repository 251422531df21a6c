//! Breaker of one target: if too many objects drift at once, a person should look before anything is corrected.
//!
//! A wrong template, a restored backup or a switched host looks like mass drift, and corrections would make it worse.
//! Only drift of objects that were in sync counts (ExternalMissing, FieldsDiffer): installing and editing are no
//! incidents. The breaker writes nothing to objects.
//!
//! Only three things let an incident pass while it is open: most of the drift ends, a person raises `maxDriftedPercent`
//! past what drifted, or a person asks for a retry of that object. Other edits, and a restart, change nothing.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use drift_api::condition::{ConditionStatus, Conditions, CurrentVerdict};
use drift_api::held_corrections::BreakerCounts;
use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;

/// Objects that turned into incidents count for this long, healed or not.
const WINDOW: Duration = Duration::from_secs(600);

/// Fewer objects than this never open the breaker. A person would not notice so few either.
const MIN_OBJECTS: usize = 10;

/// A share that disables the breaker. As a normal share, it would open the breaker at the very last object of a target
/// that drifted as a whole. Then nothing is left to protect, and the breaker would hold that one object.
const NEVER: u8 = 100;

/// State of an object for the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// The object is in sync, or drifted for a reason that is no incident.
    Calm,
    /// The verdict is ExternalMissing or FieldsDiffer.
    Incident,
    /// The poll failed, so the previous state still applies.
    Untold,
    /// There is no verdict, or it is unreadable, or another object owns the resource.
    Nothing,
}

impl Stand {
    /// Reads the poller's verdict.
    #[must_use]
    pub fn of(conditions: &Conditions) -> Self {
        match conditions.observed().and_then(CurrentVerdict::read) {
            // The object is not corrected, whatever the external state.
            _ if conditions.held_by_another().is_some() => Self::Nothing,
            None => Self::Nothing,
            Some(current) if current.reason.is_incident() => Self::Incident,
            Some(current) if current.reason.status() == ConditionStatus::Unknown => Self::Untold,
            Some(_) => Self::Calm,
        }
    }
}

/// A state change of the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The breaker opened: so many distinct objects drifted, of those with a verdict True or False and of drifted objects
    /// that are Unknown meanwhile.
    Opened(BreakerCounts),
    /// A person raised the limit to this percentage, which is too low to close the breaker.
    StaysOpen(BreakerCounts, u8),
    /// The breaker closed.
    Closed,
}

/// The breaker of one target.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    stands: HashMap<Uid, Stand>,
    /// Number of objects whose verdict is True or False.
    judged: usize,
    /// Time at which each object last turned into an incident.
    turned: HashMap<Uid, Moment>,
    /// The same times in order, including outdated entries.
    order: VecDeque<(Moment, Uid)>,
    /// Current incidents without a correction.
    waiting: HashSet<Uid>,
    /// Objects that were Unknown when this process took over an open breaker, until their next verdict. Each may be an
    /// incident that it holds.
    undecided: HashSet<Uid>,
    /// Incidents with a correction, until they heal. Their healing does not close the breaker: otherwise the few
    /// corrections that began before it opened would close it again.
    let_through: HashSet<Uid>,
    /// Incidents that a person let pass, until they heal.
    passed: HashSet<Uid>,
    /// `Some` while it is open.
    open: Option<Open>,
}

/// The state of an open breaker.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The most incidents that waited.
    most: usize,
    /// The most objects that drifted, those that were corrected before it opened included, and the most with a verdict.
    counts: BreakerCounts,
    /// The last limit of the target.
    tried: u8,
    /// True until the first list of a process that did not open it is complete.
    is_taken_over: bool,
}

impl Breaker {
    /// Returns the breaker of a target that an earlier process left open. It stays open over the incidents of the first
    /// list, even if these alone are too few to open it, and over the objects that are Unknown there.
    #[must_use]
    pub fn left_open(counts: BreakerCounts) -> Self {
        let open = Open { most: 0, counts, tried: counts.limit, is_taken_over: true };
        Self { open: Some(open), ..Self::default() }
    }

    /// Takes in the current state of an object.
    pub fn observe(&mut self, uid: &Uid, stand: Stand, now: Moment) {
        let before = self.stands.insert(uid.clone(), stand);
        self.judged -= usize::from(before.is_some_and(is_judged));
        self.judged += usize::from(is_judged(stand));
        match stand {
            Stand::Untold if before.is_none() && self.open.is_some_and(|open| open.is_taken_over) => {
                self.undecided.insert(uid.clone());
            }
            Stand::Incident if before != Some(Stand::Incident) && !self.passed.contains(uid) => {
                self.undecided.remove(uid);
                if !self.let_through.contains(uid) {
                    self.waiting.insert(uid.clone());
                }
                self.turned.insert(uid.clone(), now);
                self.order.push_back((now, uid.clone()));
            }
            Stand::Calm | Stand::Nothing => self.heal(uid),
            Stand::Incident | Stand::Untold => {}
        }
    }

    /// Records that a correction of the object begins.
    pub fn let_through(&mut self, uid: &Uid) {
        if self.waiting.remove(uid) {
            self.let_through.insert(uid.clone());
        }
    }

    /// Drops an object that is gone or being deleted.
    pub fn forget(&mut self, uid: &Uid) {
        let before = self.stands.remove(uid);
        self.judged -= usize::from(before.is_some_and(is_judged));
        self.turned.remove(uid);
        let is_held = self.waiting.contains(uid) || self.undecided.contains(uid);
        if let Some(open) = self.open.as_mut().filter(|_| is_held) {
            open.most = open.most.saturating_sub(1);
        }
        self.heal(uid);
    }

    /// Drops all other objects.
    pub fn keep_only(&mut self, is_kept: impl Fn(&Uid) -> bool) {
        let gone: Vec<Uid> = self.stands.keys().filter(|uid| !is_kept(uid)).cloned().collect();
        gone.iter().for_each(|uid| self.forget(uid));
    }

    /// Lets the incident of this object pass, because a person asked for its retry.
    pub fn let_pass(&mut self, uid: &Uid) {
        let Some(open) = &mut self.open else { return };
        if self.waiting.remove(uid) || self.undecided.remove(uid) {
            // Twice, so that the others make up no smaller share of the half that must end.
            open.most = open.most.saturating_sub(2);
            self.passed.insert(uid.clone());
        } else if self.let_through.remove(uid) {
            self.passed.insert(uid.clone());
        }
    }

    /// Lets all current incidents pass and clears the history.
    fn let_all_pass(&mut self) {
        self.passed.extend(self.waiting.drain());
        self.passed.extend(self.undecided.drain());
        self.passed.extend(self.let_through.drain());
        self.close();
    }

    fn close(&mut self) {
        self.open = None;
        self.undecided.clear();
        self.turned.clear();
        self.order.clear();
    }

    /// Opens or closes the breaker. Call it after the first full list and after every change.
    pub fn evaluate(&mut self, max_drifted_percent: u8, now: Moment) -> Option<Transition> {
        self.expire(now);
        let waiting = self.waiting.len();
        let held = waiting + self.undecided.len();
        let Some(open) = &mut self.open else { return self.try_to_open(max_drifted_percent) };
        open.is_taken_over = false;
        if held == 0 || held * 2 < open.most {
            self.close();
            return Some(Transition::Closed);
        }
        open.most = open.most.max(waiting);
        let counts = &mut open.counts;
        counts.drifted = counts.drifted.max(waiting);
        counts.judged = counts.judged.max(self.judged).max(counts.drifted);
        let (counts, tried) = (*counts, std::mem::replace(&mut open.tried, max_drifted_percent));
        if max_drifted_percent >= counts.closing_limit() {
            self.let_all_pass();
            return Some(Transition::Closed);
        }
        (max_drifted_percent > tried).then_some(Transition::StaysOpen(counts, max_drifted_percent))
    }

    /// Opens the breaker, unless everything that drifted has healed.
    fn try_to_open(&mut self, max_drifted_percent: u8) -> Option<Transition> {
        let drifted = self.turned.len();
        let is_share = |of: usize| drifted.saturating_mul(100) >= of.saturating_mul(usize::from(max_drifted_percent));
        if max_drifted_percent >= NEVER || drifted < MIN_OBJECTS || !is_share(self.judged) {
            return None;
        }
        // Drifted objects that are Unknown meanwhile count on both sides.
        let is_unknown = |uid: &&Uid| !self.stands.get(*uid).copied().is_some_and(is_judged);
        let judged = self.judged + self.turned.keys().filter(is_unknown).count();
        if !is_share(judged) {
            return None;
        }
        self.turned.keys().any(|uid| self.waiting.contains(uid)).then(|| {
            let counts = BreakerCounts { drifted, judged, limit: max_drifted_percent };
            self.open =
                Some(Open { most: self.waiting.len(), counts, tried: max_drifted_percent, is_taken_over: false });
            Transition::Opened(counts)
        })
    }

    /// Returns true if the breaker is open.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The counts; `None` while it is closed.
    #[must_use]
    pub fn open_counts(&self) -> Option<BreakerCounts> {
        self.open.map(|open| open.counts)
    }

    /// Returns true if the breaker holds the incident of this object.
    #[must_use]
    pub fn holds(&self, uid: &Uid) -> bool {
        self.is_open() && !self.passed.contains(uid)
    }

    fn heal(&mut self, uid: &Uid) {
        for incidents in [&mut self.waiting, &mut self.undecided, &mut self.let_through, &mut self.passed] {
            incidents.remove(uid);
        }
    }

    fn expire(&mut self, now: Moment) {
        while let Some((turned, uid)) = self.order.front() {
            if !now.is_past(*turned, WINDOW) {
                break;
            }
            if self.turned.get(uid) == Some(turned) {
                self.turned.remove(uid);
            }
            self.order.pop_front();
        }
    }
}

const fn is_judged(stand: Stand) -> bool {
    matches!(stand, Stand::Calm | Stand::Incident)
}

#[cfg(test)]
mod tests;
