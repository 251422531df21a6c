//! Objects that wait for their target's limits, in lines that take turns.
//!
//! Each namespace has a line for its deletions and one for its other corrections. A line without room does not block
//! other lines, and a long line does not delay them.

use std::collections::{HashMap, VecDeque};

use drift_api::collections::fifo::Fifo;
use drift_api::identity::Uid;

use crate::engine::correction_limits::Line;

/// Lines in which objects wait.
#[derive(Debug, Default)]
pub struct Lines {
    waiting: HashMap<Line, Fifo>,
    /// Order of the lines; the next one is first.
    turns: VecDeque<Line>,
}

impl Lines {
    /// Appends an object to its line, unless it is already in the line.
    pub fn join(&mut self, line: Line, uid: &Uid) {
        if !self.waiting.contains_key(&line) {
            self.turns.push_back(line.clone());
        }
        self.waiting.entry(line).or_default().join(uid);
    }

    /// Removes an object from the line and from the deletion line of the same group.
    pub fn leave(&mut self, line: &Line, uid: &Uid) {
        for deletes in [false, true] {
            if let Some(fifo) = self.waiting.get_mut(&Line { deletes, ..line.clone() }) {
                fifo.leave(uid);
            }
        }
    }

    /// Returns all lines with waiting objects.
    pub fn iter(&self) -> impl Iterator<Item = &Line> {
        self.turns.iter()
    }

    /// Takes the next object of the first line that has room, and moves that line to the end.
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
