//! A work queue like client-go's: each object is queued at most once, in the order of addition, for now or for
//! a later time.
//!
//! An object is not handed out again before its work is done, so that there is never concurrent work for one object. An
//! object added during its work is queued after that.

use std::collections::BTreeMap;

use crate::collections::shared_text::Uid;
use crate::timing::moment::Moment;
use crate::timing::time_queue::TimeQueue;

/// A work queue, keyed by object. An idle object takes no memory.
#[derive(Clone, Debug, Default)]
pub struct WorkQueue {
    /// Ready objects, by their turn, which they got when they were added.
    ready: BTreeMap<u64, Uid>,
    /// Objects with a later time: nearly all of them.
    later: TimeQueue,
    /// Objects that are ready or in progress.
    current: BTreeMap<Uid, Stage>,
    turns: u64,
}

/// The stage of an object that is ready or in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Ready, with its turn.
    Ready(u64),
    /// In progress. `again` is true if it was added meanwhile.
    UnderWay { again: bool },
}

impl WorkQueue {
    /// Queues the object for now. If it is in progress, it is queued again after that.
    pub fn add(&mut self, uid: &Uid) {
        match self.current.get_mut(uid) {
            Some(Stage::UnderWay { again }) => *again = true,
            Some(_) => {}
            None => self.line_up(uid.clone()),
        }
    }

    /// Queues the object for a time, unless it has an earlier one. Handing it out clears the time, so each run sets the
    /// time of the next one.
    pub fn add_after(&mut self, uid: &Uid, at: Moment) {
        if self.due_at(uid).is_none_or(|earlier| at < earlier) {
            self.later.set(uid, Some(at));
        }
    }

    /// Takes the next object. It is in progress until it is [`done`](Self::done).
    pub fn next(&mut self, now: Moment) -> Option<Uid> {
        self.add_what_is_due(now);
        let (_, uid) = self.ready.pop_first()?;
        if let Some(stage) = self.current.get_mut(&uid) {
            *stage = Stage::UnderWay { again: false };
        }
        self.later.set(&uid, None);
        Some(uid)
    }

    /// Marks the work on the object as done, and queues it again if it was added meanwhile.
    pub fn done(&mut self, uid: &Uid) {
        let Some(Stage::UnderWay { again }) = self.current.get(uid).copied() else { return };
        self.current.remove(uid);
        if again {
            self.line_up(uid.clone());
        }
    }

    /// Removes the object from the queue. Work in progress stays so until it is done.
    pub fn remove(&mut self, uid: &Uid) {
        self.later.set(uid, None);
        match self.current.get_mut(uid) {
            Some(Stage::UnderWay { again }) => *again = false,
            Some(Stage::Ready(turn)) => {
                self.ready.remove(turn);
                self.current.remove(uid);
            }
            None => {}
        }
    }

    /// Returns the number of ready objects, without those with a later time.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Returns the time of the next object: `now` if one is ready, `None` if the queue is empty.
    #[must_use]
    pub fn next_at(&self, now: Moment) -> Option<Moment> {
        if self.ready.is_empty() { self.later.next_at() } else { Some(now) }
    }

    /// Returns the future time of this object, if it has one.
    #[must_use]
    pub fn due_at(&self, uid: &Uid) -> Option<Moment> {
        self.later.time_of(uid)
    }

    /// Gives a turn to an object that is neither ready nor in progress.
    fn line_up(&mut self, uid: Uid) {
        self.turns += 1;
        self.ready.insert(self.turns, uid.clone());
        self.current.insert(uid, Stage::Ready(self.turns));
    }

    fn add_what_is_due(&mut self, now: Moment) {
        while let Some(uid) = self.later.pop_due(now) {
            self.add(&uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
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

    /// All objects that are queued or in progress.
    fn kept(queue: &WorkQueue) -> BTreeSet<Uid> {
        queue.later.uids().chain(queue.current.keys()).cloned().collect()
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

    /// A simple reference model: the due time of each object, and those in progress.
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

        /// The objects of which one must be next.
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
