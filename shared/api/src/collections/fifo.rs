//! Objects in line for something of which there is not enough, first come first served.
//!
//! Nobody stands in line twice, and whoever leaves costs nothing.

use std::collections::{HashSet, VecDeque};

use crate::collections::shared_text::Uid;

/// Places that an empty line keeps. At a start everybody stands in line, and never again: a longer one gives its memory back.
const KEPT_ROOM: usize = 1_024;

/// A line.
#[derive(Debug, Default)]
pub struct Fifo {
    /// With those who left before their turn.
    order: VecDeque<Uid>,
    waiting: HashSet<Uid>,
}

impl Fifo {
    /// Puts an object at the end, unless it stands in line.
    pub fn join(&mut self, uid: &Uid) {
        // Who left and comes back may have its old turn as well; the later of both is skipped.
        if self.waiting.insert(uid.clone()) {
            self.order.push_back(uid.clone());
        }
    }

    /// Takes an object out.
    pub fn leave(&mut self, uid: &Uid) {
        self.waiting.remove(uid);
    }

    /// Returns true if it waits.
    #[must_use]
    pub fn has(&self, uid: &Uid) -> bool {
        self.waiting.contains(uid)
    }

    /// Returns true if nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Calls the one whose turn it is.
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
