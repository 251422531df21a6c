//! The progress of long work on a terminal: one line on standard error, rewritten and removed at the end.
//!
//! If standard error is not a terminal, nothing is written, so that logs, pipes and CI jobs contain only results.

use std::io::{IsTerminal as _, Stderr, Write, stderr};

/// Maximum length of the line: the width of the narrowest usual terminal, because a wrapped line cannot be rewritten.
const MAX_LETTERS: usize = 78;

/// Returns to the beginning of the line and erases it.
const ERASE: &str = "\r\u{1b}[K";

/// The progress line, removed on drop.
#[derive(Debug)]
pub struct Progress<W: Write = Stderr> {
    /// `None` without a terminal.
    out: Option<W>,
    stands: bool,
}

impl Progress {
    /// Starts on standard error, if that is a terminal.
    #[must_use]
    pub fn begin() -> Self {
        Self { out: stderr().is_terminal().then(stderr), stands: false }
    }
}

impl<W: Write> Progress<W> {
    /// Replaces the shown text.
    pub fn tell(&mut self, what: &str) {
        let Some(out) = &mut self.out else { return };
        let shown: String = what.chars().take(MAX_LETTERS).collect();
        // A closed terminal is no reason to stop.
        let _ = write!(out, "{ERASE}{shown}").and_then(|()| out.flush());
        self.stands = true;
    }

    /// Removes the line, so that other lines can follow.
    pub fn clear(&mut self) {
        if let Some(out) = self.out.as_mut().filter(|_| self.stands) {
            let _ = write!(out, "{ERASE}").and_then(|()| out.flush());
        }
        self.stands = false;
    }
}

impl<W: Write> Drop for Progress<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_written_anew_and_taken_away() {
        let mut written = Vec::new();
        let mut progress = Progress { out: Some(&mut written), stands: false };
        progress.clear();
        progress.tell("one of two");
        progress.tell(&"x".repeat(100));
        drop(progress);
        let expected = format!("{ERASE}one of two{ERASE}{}{ERASE}", "x".repeat(MAX_LETTERS));
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn nothing_is_written_where_nobody_looks_on() {
        let mut progress = Progress::<Vec<u8>> { out: None, stands: false };
        progress.tell("one of two");
        assert!(progress.out.is_none() && !progress.stands);
    }
}
