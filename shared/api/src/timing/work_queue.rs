//! The objects that are to be worked on, as client-go's work queue keeps them: each at most once, in the order in which
//! they were added, now or at a time to come.
//!
//! An object that is handed out is not handed out again before it is done, so that no two pieces of work for one object are under
//! way. What is added meanwhile comes back after that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::identity::Uid;
use crate::timing::moment::Moment;

/// A work queue, keyed by object. An object that is neither to be worked on nor worked on is not kept.
#[derive(Clone, Debug, Default)]
pub struct WorkQueue {
    /// To be handed out, by the turn that they got when they were added.
    ready: BTreeMap<u64, Uid>,
    /// To be added when their time comes: nearly all that there are.
    later: BTreeSet<(Moment, Uid)>,
    /// The time of each object in `later`.
    times: HashMap<Uid, Moment>,
    /// Those that are ready or handed out.
    current: BTreeMap<Uid, Stage>,
    turns: u64,
}

/// The stage of an object that is ready or handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// With its turn.
    Ready(u64),
    /// Handed out, and whether it was added after that.
    UnderWay { again: bool },
}

impl WorkQueue {
    /// The object is to be worked on now; where it is worked on already, once more after that.
    pub fn add(&mut self, uid: &Uid) {
        match self.current.get_mut(uid) {
            Some(Stage::UnderWay { again }) => *again = true,
            Some(_) => {}
            None => self.line_up(uid.clone()),
        }
    }

    /// The object is to be worked on at that time, or at the earlier one that it has. Being handed out takes the time
    /// away: whoever works on an object says anew when to look again.
    pub fn add_after(&mut self, uid: &Uid, at: Moment) {
        let earlier = self.times.get(uid).copied();
        if earlier.is_none_or(|earlier| at < earlier) {
            self.forget_time(uid);
            self.later.insert((at, uid.clone()));
            self.times.insert(uid.clone(), at);
        }
    }

    /// The next object; it is under way from now on, until it is [`done`](Self::done).
    pub fn next(&mut self, now: Moment) -> Option<Uid> {
        self.add_what_is_due(now);
        let (_, uid) = self.ready.pop_first()?;
        if let Some(stage) = self.current.get_mut(&uid) {
            *stage = Stage::UnderWay { again: false };
        }
        self.forget_time(&uid);
        Some(uid)
    }

    /// The work on the object ended; what was added meanwhile gets its turn now.
    pub fn done(&mut self, uid: &Uid) {
        let Some(Stage::UnderWay { again }) = self.current.get(uid).copied() else { return };
        self.current.remove(uid);
        if again {
            self.line_up(uid.clone());
        }
    }

    /// The object is not to be worked on any more. Work that is under way stays so until it is done.
    pub fn remove(&mut self, uid: &Uid) {
        self.forget_time(uid);
        match self.current.get_mut(uid) {
            Some(Stage::UnderWay { again }) => *again = false,
            Some(Stage::Ready(turn)) => {
                self.ready.remove(turn);
                self.current.remove(uid);
            }
            None => {}
        }
    }

    /// Returns the number of objects that wait for their turn, without those whose time has not come.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Returns the time at which the next object is to be worked on: `now` where one waits already, `None` where there is none.
    #[must_use]
    pub fn next_at(&self, now: Moment) -> Option<Moment> {
        if self.ready.is_empty() { self.later.first().map(|(at, _)| *at) } else { Some(now) }
    }

    /// Returns the time at which this object is to be worked on, where its time is still to come.
    #[must_use]
    pub fn due_at(&self, uid: &Uid) -> Option<Moment> {
        self.times.get(uid).copied()
    }

    /// Gives an object that is neither ready nor handed out its turn.
    fn line_up(&mut self, uid: Uid) {
        self.turns += 1;
        self.ready.insert(self.turns, uid.clone());
        self.current.insert(uid, Stage::Ready(self.turns));
    }

    fn add_what_is_due(&mut self, now: Moment) {
        while let Some((_, uid)) = self.later.first().filter(|(at, _)| *at <= now).cloned() {
            self.forget_time(&uid);
            self.add(&uid);
        }
    }

    fn forget_time(&mut self, uid: &Uid) {
        if let Some((uid, at)) = self.times.remove_entry(uid) {
            self.later.remove(&(at, uid));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_time_of_an_object_can_be_asked() {
        let (mut queue, uid) = (WorkQueue::default(), Uid::from("a"));
        assert_eq!(queue.due_at(&uid), None);
        queue.add_after(&uid, at(9));
        queue.add_after(&uid, at(5));
        assert_eq!(queue.due_at(&uid), Some(at(5)));
        assert!(queue.next(at(5)).is_some() && queue.due_at(&uid).is_none());
    }

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    /// All objects that are to be worked on or worked on.
    fn kept(queue: &WorkQueue) -> BTreeSet<Uid> {
        assert_eq!(queue.later.len(), queue.times.len());
        queue.times.keys().chain(queue.current.keys()).cloned().collect()
    }

    fn all(queue: &mut WorkQueue, now: u64) -> Vec<Uid> {
        std::iter::from_fn(|| queue.next(at(now))).collect()
    }

    #[test]
    fn each_comes_once_in_order() {
        let mut queue = WorkQueue::default();
        let [a, b, c] = ["a", "b", "c"].map(Uid::from);
        for uid in [&b, &a, &b, &c] {
            queue.add(uid);
        }
        queue.remove(&a);
        assert_eq!(queue.ready(), 2);
        assert_eq!(all(&mut queue, 0), [b, c]);
    }

    #[test]
    fn what_is_under_way_comes_back_after_done() {
        let mut queue = WorkQueue::default();
        let a = Uid::from("a");
        queue.add(&a);
        assert_eq!(queue.next(at(0)), Some(a.clone()));
        queue.add(&a);
        queue.add_after(&a, at(1));
        assert_eq!(queue.next(at(2)), None);
        queue.done(&a);
        assert_eq!(all(&mut queue, 2), std::slice::from_ref(&a));
        assert_eq!(queue.current.get(&a), Some(&Stage::UnderWay { again: false }));
        queue.done(&a);
        assert_eq!((queue.next(at(9)), kept(&queue).len()), (None, 0));
    }

    #[test]
    fn the_earliest_time_counts() {
        let mut queue = WorkQueue::default();
        let a = Uid::from("a");
        queue.add_after(&a, at(5));
        queue.add_after(&a, at(3));
        queue.add_after(&a, at(4));
        assert_eq!(queue.next_at(at(1)), Some(at(3)));
        assert_eq!((queue.next(at(2)), queue.next(at(3))), (None, Some(a.clone())));
        queue.done(&a);
        assert_eq!(queue.next_at(at(4)), None);
    }

    #[test]
    fn of_one_moment_the_first_uid_comes_first() {
        let mut queue = WorkQueue::default();
        let [a, b, c] = ["a", "b", "c"].map(Uid::from);
        for (uid, time) in [(&c, 2), (&b, 2), (&a, 3)] {
            queue.add_after(uid, at(time));
        }
        assert_eq!(all(&mut queue, 3), [b, c, a]);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Add(u8),
        AddAfter(u8, u64),
        Remove(u8),
        Pass(u64),
        Next,
        Done(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        let object = 0..4_u8;
        prop_oneof![
            object.clone().prop_map(Step::Add),
            (object.clone(), 0..6_u64).prop_map(|(object, span)| Step::AddAfter(object, span)),
            object.clone().prop_map(Step::Remove),
            (1..4_u64).prop_map(Step::Pass),
            Just(Step::Next),
            object.prop_map(Step::Done),
        ]
    }

    /// What is to come, told in the plainest way: since when an object is due, and which are under way.
    #[derive(Default)]
    struct Model {
        due: BTreeMap<u8, u64>,
        working: BTreeSet<u8>,
    }

    impl Model {
        fn add(&mut self, object: u8, at: u64) {
            let due = self.due.entry(object).or_insert(at);
            *due = at.min(*due);
        }

        /// Those of which one has to come now.
        fn may_come(&self, now: u64) -> BTreeSet<u8> {
            let due = self.due.iter().filter(|(object, at)| **at <= now && !self.working.contains(object));
            due.map(|(object, _)| *object).collect()
        }
    }

    fn name(object: u8) -> Uid {
        Uid::from(object.to_string().as_str())
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_comes_twice(steps in proptest::collection::vec(step(), 0..80)) {
            let (mut queue, mut model, mut now) = (WorkQueue::default(), Model::default(), 0);
            for step in steps {
                match step {
                    Step::Add(object) => {
                        queue.add(&name(object));
                        model.add(object, now);
                    }
                    Step::AddAfter(object, span) => {
                        queue.add_after(&name(object), at(now + span));
                        model.add(object, now + span);
                    }
                    Step::Remove(object) => {
                        queue.remove(&name(object));
                        model.due.remove(&object);
                    }
                    Step::Pass(span) => now += span,
                    Step::Done(object) => {
                        queue.done(&name(object));
                        model.working.remove(&object);
                    }
                    Step::Next => {
                        let expected = model.may_come(now);
                        let next = queue.next(at(now)).and_then(|uid| uid.parse::<u8>().ok());
                        prop_assert_eq!(next.is_none(), expected.is_empty());
                        if let Some(object) = next {
                            prop_assert!(expected.contains(&object));
                            model.due.remove(&object);
                            model.working.insert(object);
                        }
                    }
                }
            }
            let known: BTreeSet<Uid> = model.due.keys().chain(&model.working).map(|object| name(*object)).collect();
            prop_assert_eq!(kept(&queue), known);
        }
    }
}
