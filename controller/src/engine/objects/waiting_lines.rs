//! Objects that wait for room in the limits of their target, in lines that take turns.
//!
//! Each namespace has a line for its deletions and one for its other corrections. A line without room does not hold up the others,
//! and a long one does not make them wait for its end.

use std::collections::{HashMap, VecDeque};

use drift_api::collections::fifo::Fifo;
use drift_api::identity::Uid;

use crate::engine::correction_limits::Line;

/// The lines in which objects wait.
#[derive(Debug, Default)]
pub struct Lines {
    waiting: HashMap<Line, Fifo>,
    /// The line whose turn it is comes first.
    turns: VecDeque<Line>,
}

impl Lines {
    /// Puts an object at the end of its line, unless it stands there.
    pub fn join(&mut self, line: Line, uid: &Uid) {
        if !self.waiting.contains_key(&line) {
            self.turns.push_back(line.clone());
        }
        self.waiting.entry(line).or_default().join(uid);
    }

    /// Takes an object out of the line, and out of the one for deletions beside it.
    pub fn leave(&mut self, line: &Line, uid: &Uid) {
        for deletes in [false, true] {
            if let Some(fifo) = self.waiting.get_mut(&Line { deletes, ..line.clone() }) {
                fifo.leave(uid);
            }
        }
    }

    /// Every line that is kept.
    pub fn iter(&self) -> impl Iterator<Item = &Line> {
        self.turns.iter()
    }

    /// Calls the next object of the first line that has room. That line then comes last.
    pub fn call_next(&mut self, has_room: impl Fn(&Line) -> bool) -> Option<Uid> {
        while let Some(index) = self.turns.iter().position(&has_room) {
            let line = self.turns.remove(index)?;
            let called = self.waiting.get_mut(&line).and_then(Fifo::call_next);
            if called.is_some() {
                self.turns.push_back(line);
                return called;
            }
            self.waiting.remove(&line);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(namespace: &str) -> Line {
        Line { namespace: Some(namespace.into()), deletes: false, by_job: true }
    }

    #[test]
    fn lines_take_turns_and_none_holds_up_another() {
        let mut lines = Lines::default();
        for (namespace, uid) in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("a", "a1")] {
            lines.join(line(namespace), &uid.into());
        }
        lines.leave(&line("a"), &"a2".into());
        assert_eq!(lines.call_next(|line| line.namespace.as_deref() == Some("b")), Some("b1".into()));
        let rest: Vec<Uid> = std::iter::from_fn(|| lines.call_next(|_| true)).collect();
        assert_eq!(rest, ["a1", "c1", "a3"].map(Uid::from));
        assert_eq!(lines.iter().count(), 0, "a line in which nobody waits is not kept");
    }

    #[test]
    fn deletions_wait_in_a_line_of_their_own() {
        let mut lines = Lines::default();
        lines.join(line("a"), &"a1".into());
        lines.join(Line { deletes: true, ..line("a") }, &"a2".into());
        assert_eq!(lines.call_next(|line| line.deletes), Some("a2".into()));
    }
}
