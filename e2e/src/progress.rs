//! Progress lines on standard error, for work that takes more than a moment.
//!
//! They bypass the test harness's capture on purpose: a build of minutes must not look like a hang.

use std::io::Write as _;
use std::time::{Duration, Instant};

/// How often a long step says that it is still alive; long enough not to fill a CI log, short enough to reassure.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// Writes one line to standard error. A closed standard error is no reason to fail.
pub fn say(line: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "e2e: {}", line.as_ref());
}

/// Says what a long step is doing, then once every [`HEARTBEAT`] that it is still at it.
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

    /// To be called often; speaks when it is time.
    pub fn beat(&mut self) {
        if self.spoke.elapsed() >= HEARTBEAT {
            self.spoke = Instant::now();
            say(format!("{} … {} s so far", self.what, self.began.elapsed().as_secs()));
        }
    }

    /// Says that the step is done and how long it took.
    pub fn end(self) {
        say(format!("{} … done in {} s", self.what, self.began.elapsed().as_secs()));
    }
}
