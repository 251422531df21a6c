//! The progress of long work on a terminal: one line on standard error, rewritten and removed at the end.
//!
//! Where standard error is no terminal nothing is written: a log, a pipe and a CI job get what was found and no more. It must not
//! know what the work is.

use std::io::{IsTerminal as _, Stderr, Write, stderr};

/// Longest line: the width of the narrowest usual terminal, because a wrapped line cannot be rewritten.
const MAX_LETTERS: usize = 78;

/// To the begin of the line, and what stands there is gone.
const ERASE: &str = "\r\u{1b}[K";

/// The line; it is gone when this is dropped.
#[derive(Debug)]
pub struct Progress<W: Write = Stderr> {
    /// None where nobody looks on.
    out: Option<W>,
    stands: bool,
}

impl Progress {
    /// On standard error, where that is a terminal.
    #[must_use]
    pub fn begin() -> Self {
        Self { out: stderr().is_terminal().then(stderr), stands: false }
    }
}

impl<W: Write> Progress<W> {
    /// Shows what the work is at instead of what was shown before.
    pub fn tell(&mut self, what: &str) {
        let Some(out) = &mut self.out else { return };
        let shown: String = what.chars().take(MAX_LETTERS).collect();
        // A terminal that has gone is no reason to stop.
        let _ = write!(out, "{ERASE}{shown}").and_then(|()| out.flush());
        self.stands = true;
    }

    /// Takes the line away, so that other lines may follow.
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
