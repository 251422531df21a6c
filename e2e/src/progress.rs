//! Progress lines on standard error for long work.
//!
//! They bypass the test harness's capture, so that a build of minutes does not look like a hang.

use std::io::Write as _;
use std::time::{Duration, Instant};

/// Interval between progress lines: long enough not to fill a CI log, short enough to reassure.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// Writes one line to standard error. Ignores a closed standard error.
pub fn say(line: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "e2e: {}", line.as_ref());
}

/// Reports a long step at its start and then once every [`HEARTBEAT`].
#[derive(Debug)]
pub struct Heartbeat {
    what: String,
    began: Instant,
    spoke: Instant,
}

impl Heartbeat {
    /// Announces the step.
    #[must_use]
    pub fn begin(what: impl Into<String>) -> Self {
        let what = what.into();
        say(&what);
        let now = Instant::now();
        Self { what, began: now, spoke: now }
    }

    /// Reports the step again if it is time. To be called often.
    pub fn beat(&mut self) {
        if self.spoke.elapsed() >= HEARTBEAT {
            self.spoke = Instant::now();
            say(format!("{} … {} s so far", self.what, self.began.elapsed().as_secs()));
        }
    }

    /// Reports the end of the step and its duration.
    pub fn end(self) {
        say(format!("{} … done in {} s", self.what, self.began.elapsed().as_secs()));
    }
}
