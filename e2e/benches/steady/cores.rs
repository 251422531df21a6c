//! CPU pinning: the measured program has the last core for itself, and everything else uses the others.
//!
//! Otherwise the API server and the external system would take processor time from the measured program.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// The usable cores of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    last: Option<usize>,
}

impl Cores {
    /// Keeps this process and its later children off the last core. Must be called before a second thread starts. With
    /// a single core, it does nothing.
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

    /// Pins a process with all its threads to the last core.
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

    /// Pins the calling thread to the last core.
    pub(crate) fn put_this_thread_on_the_last(self) -> Result<()> {
        let Some(last) = self.last else { return Ok(()) };
        let mut only = CpuSet::new();
        only.set(last);
        Ok(sched_setaffinity(None, &only)?)
    }

    /// Describes the pinning of the programs in words.
    pub(crate) const fn told(self) -> &'static str {
        match self.last {
            Some(_) => "the program alone on one core",
            None => "all on the only core, so the figures are of no use",
        }
    }
}
