//! What `drift-controller release` says to whoever called it.

use std::io::Write as _;

/// A line for whoever called; the log is for everything else. Where nobody reads any more, what was begun goes on.
pub(super) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The same of what is not as it should be.
pub(super) fn print_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
