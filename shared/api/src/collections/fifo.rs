//! A first-in, first-out queue of objects that wait for a limited resource.
//!
//! Each object is queued at most once, and leaving is cheap.

use std::collections::{HashSet, VecDeque};

use crate::collections::shared_text::{Uid, UidHasher};

/// Capacity kept by an empty queue. At startup all objects are queued, and never again, so a larger one
/// releases its memory.
const KEPT_ROOM: usize = 1_024;

/// A queue without duplicates.
#[derive(Debug, Default)]
pub struct Fifo {
    /// Includes objects that left before their turn.
    order: VecDeque<Uid>,
    waiting: HashSet<Uid, UidHasher>,
}

impl Fifo {
    /// Appends an object, unless it is queued.
    pub fn join(&mut self, uid: &Uid) {
        // An object that left and comes back may have two entries. The later one is skipped.
        if self.waiting.insert(uid.clone()) {
            self.order.push_back(uid.clone());
        }
    }

    /// Removes an object from the queue.
    pub fn leave(&mut self, uid: &Uid) {
        self.waiting.remove(uid);
    }

    /// Returns true if the object is queued.
    #[must_use]
    pub fn has(&self, uid: &Uid) -> bool {
        self.waiting.contains(uid)
    }

    /// Returns true if the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Removes and returns the next object.
    pub fn call_next(&mut self) -> Option<Uid> {
        while let Some(uid) = self.order.pop_front() {
            if self.waiting.remove(&uid) {
                return Some(uid);
            }
        }
        if self.order.capacity() > KEPT_ROOM {
            *self = Self::default();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everybody(line: &mut Fifo) -> Vec<Uid> {
        std::iter::from_fn(|| line.call_next()).collect()
    }

    #[test]
    fn each_comes_once_in_order_unless_it_left() {
        let mut line = Fifo::default();
        let [a, b, c] = ["a", "b", "c"].map(Uid::from);
        for uid in [&a, &b, &a, &c] {
            line.join(uid);
        }
        line.leave(&b);
        assert!(line.has(&a) && !line.has(&b));
        assert_eq!(everybody(&mut line), [a, c]);
    }

    #[test]
    fn a_long_line_gives_its_memory_back() {
        let mut line = Fifo::default();
        (0..3 * KEPT_ROOM).for_each(|number| line.join(&number.to_string().into()));
        assert_eq!(everybody(&mut line).len(), 3 * KEPT_ROOM);
        assert_eq!((line.order.capacity(), line.waiting.capacity()), (0, 0));
    }

    #[test]
    fn who_comes_back_comes_once() {
        let mut line = Fifo::default();
        let [a, b] = ["a", "b"].map(Uid::from);
        line.join(&a);
        line.leave(&a);
        line.join(&b);
        line.join(&a);
        assert_eq!(everybody(&mut line).len(), 2);
    }
}
