//! Which core what runs on: the program that is measured has the last one for itself, all else the others.
//!
//! Without that the API server and the external system would take from a program what is then missing in its figures. It
//! knows nothing of what is measured.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// The cores of this machine that may be used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    last: Option<usize>,
}

impl Cores {
    /// Keeps this process, and whatever it starts from now on, off the last core. To be called before there is a second
    /// thread. On a machine with one core nothing is kept apart.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn keep_off_the_last() -> Result<Self> {
        let mut usable = sched_getaffinity(None)?;
        if usable.count() < 2 {
            return Ok(Self { last: None });
        }
        let last = (0..CpuSet::MAX_CPU).rev().find(|core| usable.is_set(*core)).context("no core")?;
        usable.unset(last);
        sched_setaffinity(None, &usable)?;
        Ok(Self { last: Some(last) })
    }

    /// Puts a process with all its threads on the last core alone.
    ///
    /// # Errors
    /// When it has ended, or the kernel refuses.
    pub(crate) fn put_on_the_last(self, process: i32) -> Result<()> {
        let Some(last) = self.last else { return Ok(()) };
        let mut only = CpuSet::new();
        only.set(last);
        for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
            let name = task?.file_name();
            let id = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            sched_setaffinity(Some(id.context("a task without a number")?), &only)?;
        }
        Ok(())
    }

    /// The same for the thread that calls.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn put_this_thread_on_the_last(self) -> Result<()> {
        let Some(last) = self.last else { return Ok(()) };
        let mut only = CpuSet::new();
        only.set(last);
        Ok(sched_setaffinity(None, &only)?)
    }

    /// How the programs run, in words.
    pub(crate) const fn told(self) -> &'static str {
        match self.last {
            Some(_) => "the program alone on one core",
            None => "all on the only core, so the figures are of no use",
        }
    }
}
