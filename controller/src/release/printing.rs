//! Output of `drift-controller release` for its caller.

use std::io::Write as _;

/// Prints a line to stdout; diagnostics go to the log. If stdout is closed, the release continues.
pub(super) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints a problem to stderr, also ignoring a closed stream.
pub(super) fn print_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
