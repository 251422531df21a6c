//! The breaker of one target: when too many objects drift at once, somebody should look before anything is corrected.
//!
//! A wrong template, a restored backup or a switched host looks like mass drift, and correcting it would make it
//! worse. Only drift of what was in sync counts (ExternalMissing, FieldsDiffer): installing and editing is no
//! incident. Nothing is written to objects. This file must not know who is told that it opened.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use drift_model::condition::{ConditionStatus, Conditions, Standing};
use drift_model::moment::Moment;

use drift_model::identity::Uid;

/// Objects that turned count for this long, healed or not.
const WINDOW: Duration = Duration::from_secs(600);

/// Fewer objects than this never open the breaker: a person would not notice that few either.
const MIN_OBJECTS: usize = 10;

/// A share that switches the breaker off. Were it a share like any other, the breaker would open at the very last object
/// of a target that drifted as a whole, when nothing is left to save, and hold that one.
const NEVER: u8 = 100;

/// How an object stands, as far as the breaker cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// In sync, or drifted for a reason that is no incident.
    Calm,
    /// ExternalMissing or FieldsDiffer.
    Incident,
    /// The poller cannot tell, so what stood before still stands.
    Untold,
    /// No verdict, or none that we can read.
    Nothing,
}

impl Stand {
    /// Reads the poller's verdict.
    #[must_use]
    pub fn of(conditions: &Conditions) -> Self {
        match conditions.observed().and_then(Standing::read) {
            None => Self::Nothing,
            Some(standing) if standing.reason.is_incident() => Self::Incident,
            Some(standing) if standing.reason.status() == ConditionStatus::Unknown => Self::Untold,
            Some(_) => Self::Calm,
        }
    }
}

/// What the breaker did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// It opened.
    Opened {
        /// Distinct objects that drifted.
        drifted: usize,
        /// Objects with a verdict True or False.
        judged: usize,
    },
    /// It closed.
    Closed,
}

/// The breaker of one target.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    stands: HashMap<Uid, Stand>,
    /// Objects whose last word was an incident.
    standing: HashSet<Uid>,
    /// Objects whose verdict is True or False.
    judged: usize,
    /// When each object turned into an incident last.
    turned: HashMap<Uid, Moment>,
    /// The same in order, with outdated entries.
    order: VecDeque<(Moment, Uid)>,
    /// Incidents that a person let pass by editing the limits, until they heal.
    passed: HashSet<Uid>,
    /// Incidents for which a correction began, until they heal.
    let_through: HashSet<Uid>,
    open: Option<Open>,
}

/// What an open breaker waits for. What we corrected ourselves heals without saying anything of the incident, so it
/// counts on neither side: else the few corrections that got through before it opened would close it again.
#[derive(Clone, Debug)]
struct Open {
    standing: HashSet<Uid>,
    healed: HashSet<Uid>,
}

impl Breaker {
    /// Takes an object in as it stands now.
    pub fn observe(&mut self, uid: &Uid, stand: Stand, now: Moment) {
        let before = self.stands.insert(uid.clone(), stand);
        self.judged -= usize::from(before.is_some_and(is_judged));
        self.judged += usize::from(is_judged(stand));
        match stand {
            Stand::Incident if before != Some(Stand::Incident) => {
                if self.standing.insert(uid.clone()) || !self.passed.contains(uid) {
                    self.turn(uid, now);
                }
            }
            Stand::Calm | Stand::Nothing => {
                self.standing.remove(uid);
                self.passed.remove(uid);
                let by_us = self.let_through.remove(uid);
                if let Some(open) = &mut self.open {
                    open.heal(uid, by_us);
                }
            }
            Stand::Incident | Stand::Untold => {}
        }
    }

    /// A correction of the object begins.
    pub fn let_through(&mut self, uid: &Uid) {
        if self.standing.contains(uid) {
            self.let_through.insert(uid.clone());
        }
    }

    /// Drops an object that is gone or being deleted.
    pub fn forget(&mut self, uid: &Uid) {
        let before = self.stands.remove(uid);
        self.judged -= usize::from(before.is_some_and(is_judged));
        self.standing.remove(uid);
        self.passed.remove(uid);
        self.let_through.remove(uid);
        self.turned.remove(uid);
        if let Some(open) = &mut self.open {
            open.forget(uid);
        }
    }

    /// Drops all objects but these.
    pub fn keep_only(&mut self, is_kept: impl Fn(&Uid) -> bool) {
        let gone: Vec<Uid> = self.stands.keys().filter(|uid| !is_kept(uid)).cloned().collect();
        gone.iter().for_each(|uid| self.forget(uid));
    }

    /// A person edited the limits: what stands now may pass, and what turned so far is forgiven.
    pub fn let_pass(&mut self) -> Option<Transition> {
        self.passed = self.standing.clone();
        self.turned.clear();
        self.order.clear();
        self.open.take().map(|_| Transition::Closed)
    }

    /// Opens or closes. To be asked after the first full list and after every change.
    pub fn evaluate(&mut self, max_drifted_percent: u8, now: Moment) -> Option<Transition> {
        self.expire(now);
        match &self.open {
            None => self.try_to_open(max_drifted_percent),
            Some(open) => open.is_over().then(|| {
                self.open = None;
                self.turned.clear();
                self.order.clear();
                Transition::Closed
            }),
        }
    }

    /// Where all that drifted has healed again there is nothing to hold; the next that drifts opens it.
    fn try_to_open(&mut self, max_drifted_percent: u8) -> Option<Transition> {
        let drifted = self.turned.len();
        let share = drifted.saturating_mul(100) >= self.judged.saturating_mul(usize::from(max_drifted_percent));
        if max_drifted_percent >= NEVER || drifted < MIN_OBJECTS || !share {
            return None;
        }
        let standing: HashSet<Uid> = self.turned.keys().filter(|uid| self.standing.contains(*uid)).cloned().collect();
        (!standing.is_empty()).then(|| {
            self.open = Some(Open { standing, healed: HashSet::new() });
            Transition::Opened { drifted, judged: self.judged }
        })
    }

    /// Whether it is open.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether it holds the incident of this object.
    #[must_use]
    pub fn holds(&self, uid: &Uid) -> bool {
        self.is_open() && !self.passed.contains(uid)
    }

    fn turn(&mut self, uid: &Uid, now: Moment) {
        self.turned.insert(uid.clone(), now);
        self.order.push_back((now, uid.clone()));
        if let Some(open) = &mut self.open {
            open.healed.remove(uid);
            open.standing.insert(uid.clone());
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

impl Open {
    fn heal(&mut self, uid: &Uid, by_us: bool) {
        if self.standing.remove(uid) && !by_us {
            self.healed.insert(uid.clone());
        }
    }

    fn forget(&mut self, uid: &Uid) {
        self.standing.remove(uid);
        self.healed.remove(uid);
    }

    /// Fewer than half of them still stand, or none is left.
    fn is_over(&self) -> bool {
        self.standing.is_empty() || self.standing.len() < self.healed.len()
    }
}

const fn is_judged(stand: Stand) -> bool {
    matches!(stand, Stand::Calm | Stand::Incident)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    fn uid(number: usize) -> Uid {
        Uid::from(format!("u{number}"))
    }

    /// A breaker over `all` objects in sync of which the first `drifted` then turned.
    fn breaker(all: usize, drifted: usize) -> Breaker {
        let mut breaker = Breaker::default();
        for number in 0..all {
            breaker.observe(&uid(number), Stand::Calm, at(0));
        }
        for number in 0..drifted {
            breaker.observe(&uid(number), Stand::Incident, at(1));
        }
        breaker
    }

    #[test]
    fn it_opens_at_ten_objects_and_the_percentage_whichever_is_more() {
        let opened = |all, drifted| breaker(all, drifted).evaluate(20, at(2)).is_some();
        assert!(!opened(20, 9));
        assert!(opened(20, 10));
        assert!(opened(50, 10));
        assert!(!opened(51, 10));
        assert!(opened(51, 11));
        assert_eq!(breaker(50, 10).evaluate(20, at(2)), Some(Transition::Opened { drifted: 10, judged: 50 }));
    }

    #[test]
    fn objects_that_healed_still_count_for_ten_minutes() {
        let mut breaker = breaker(20, 9);
        for number in 0..9 {
            breaker.observe(&uid(number), Stand::Calm, at(2));
        }
        breaker.observe(&uid(9), Stand::Incident, at(600));
        assert!(breaker.clone().evaluate(20, at(600)).is_some());
        assert_eq!(breaker.evaluate(20, at(601)), None);
    }

    #[test]
    fn what_was_corrected_before_it_opened_does_not_close_it() {
        let mut breaker = breaker(20, 9);
        assert_eq!(breaker.evaluate(20, at(1)), None);
        for number in 0..9 {
            breaker.let_through(&uid(number));
        }
        for number in 0..5 {
            breaker.observe(&uid(number), Stand::Calm, at(2));
        }
        breaker.observe(&uid(9), Stand::Incident, at(2));
        assert_eq!(breaker.evaluate(20, at(2)), Some(Transition::Opened { drifted: 10, judged: 20 }));
        assert_eq!(breaker.evaluate(20, at(2)), None, "five healed by our hand");
        for number in 5..9 {
            breaker.observe(&uid(number), Stand::Calm, at(3));
            assert_eq!(breaker.evaluate(20, at(3)), None, "in flight when it opened");
        }
        assert!(breaker.holds(&uid(9)));
        breaker.observe(&uid(9), Stand::Calm, at(4));
        assert_eq!(breaker.evaluate(20, at(4)), Some(Transition::Closed), "healed by another hand");
    }

    #[test]
    fn with_nothing_left_to_hold_it_stays_closed_until_the_next_one_drifts() {
        let mut breaker = breaker(100, 15);
        for number in 0..15 {
            breaker.let_through(&uid(number));
            breaker.observe(&uid(number), Stand::Calm, at(2));
        }
        for number in 30..100 {
            breaker.forget(&uid(number));
        }
        assert_eq!(breaker.evaluate(20, at(3)), None);
        breaker.observe(&uid(20), Stand::Incident, at(4));
        assert!(breaker.evaluate(20, at(4)).is_some());
        assert_eq!(breaker.evaluate(20, at(5)), None);
    }

    #[test]
    fn at_a_hundred_percent_it_never_opens() {
        assert_eq!(breaker(300, 300).evaluate(100, at(2)), None);
        assert!(breaker(300, 297).evaluate(99, at(2)).is_some());
    }

    proptest! {
        /// Each turn is one object that drifts, and what comes at once of it: nothing, a correction, or a healed object.
        #[test]
        fn however_quickly_corrections_heal_fewer_than_it_opens_at_get_through(
            turns in proptest::collection::vec((0..30_usize, 0..4_u8, any::<bool>()), 1..100)
        ) {
            let mut breaker = breaker(30, 0);
            let mut corrected = HashSet::new();
            for (number, come_so_far, told_throughout) in turns {
                let uid = uid(number);
                breaker.observe(&uid, Stand::Incident, at(2));
                breaker.evaluate(20, at(2));
                if come_so_far > 0 && !breaker.holds(&uid) {
                    breaker.let_through(&uid);
                    corrected.insert(number);
                }
                if !told_throughout {
                    breaker.observe(&uid, Stand::Untold, at(2));
                    breaker.observe(&uid, Stand::Incident, at(2));
                }
                if come_so_far > 1 && corrected.contains(&number) && !breaker.holds(&uid) {
                    breaker.observe(&uid, Stand::Calm, at(2));
                }
                breaker.evaluate(20, at(2));
                prop_assert!(corrected.len() < MIN_OBJECTS, "{} got through", corrected.len());
            }
        }
    }

    #[test]
    fn one_object_that_flaps_is_one_object() {
        let mut breaker = breaker(20, 0);
        for second in 0..100 {
            let stand = if second % 2 == 0 { Stand::Incident } else { Stand::Calm };
            breaker.observe(&uid(0), stand, at(second));
        }
        assert_eq!(breaker.evaluate(20, at(100)), None);
    }

    #[test]
    fn installing_and_editing_never_count() {
        let mut breaker = Breaker::default();
        for number in 0..100 {
            // NotCreated and NotUpdated are Calm.
            breaker.observe(&uid(number), Stand::Calm, at(0));
        }
        assert_eq!(breaker.evaluate(20, at(1)), None);
    }

    #[test]
    fn it_closes_when_fewer_than_half_of_them_still_stand() {
        let mut breaker = breaker(20, 10);
        assert!(breaker.evaluate(20, at(2)).is_some());
        for number in 0..5 {
            breaker.observe(&uid(number), Stand::Calm, at(700));
            assert_eq!(breaker.evaluate(20, at(700)), None);
        }
        breaker.observe(&uid(5), Stand::Untold, at(700));
        assert_eq!(breaker.evaluate(20, at(700)), None, "what cannot be told still stands");
        breaker.observe(&uid(5), Stand::Calm, at(700));
        assert_eq!(breaker.evaluate(20, at(700)), Some(Transition::Closed));
        assert_eq!(breaker.evaluate(20, at(700)), None, "those that closed it do not open it again");
        assert!(!breaker.holds(&uid(9)));
    }

    #[test]
    fn an_edit_of_the_limits_lets_the_present_ones_pass_and_no_others() {
        let mut breaker = breaker(40, 10);
        assert!(breaker.evaluate(20, at(2)).is_some());
        assert!(breaker.holds(&uid(0)));
        assert_eq!(breaker.let_pass(), Some(Transition::Closed));
        assert_eq!(breaker.evaluate(20, at(3)), None);
        for number in 10..20 {
            breaker.observe(&uid(number), Stand::Incident, at(4));
        }
        assert!(breaker.evaluate(20, at(4)).is_some());
        assert!(!breaker.holds(&uid(0)) && breaker.holds(&uid(10)));
        breaker.observe(&uid(0), Stand::Calm, at(5));
        breaker.observe(&uid(0), Stand::Incident, at(6));
        assert!(breaker.holds(&uid(0)), "who healed and drifted again is a new incident");
    }

    #[test]
    fn the_deleted_count_no_more() {
        let mut breaker = breaker(20, 10);
        assert!(breaker.evaluate(20, at(2)).is_some());
        for number in 0..10 {
            breaker.forget(&uid(number));
        }
        assert_eq!(breaker.evaluate(20, at(2)), Some(Transition::Closed));
        assert_eq!(breaker.evaluate(20, at(2)), None);
    }
}
