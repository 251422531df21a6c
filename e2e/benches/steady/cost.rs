//! The kernel's accounting of a process: processor time and memory.

use std::time::Duration;

use anyhow::{Context, Result};
use drift_e2e::programs::Program;

/// The kernel's unit of processor time in `/proc`: a hundredth of a second on every Linux that Rust supports.
const TICK: Duration = Duration::from_millis(10);

/// Processor time and memory of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// User and system time since its start.
    pub(crate) processor: Duration,
    /// Resident memory now, including its file's pages, in MiB.
    pub(crate) resident: f64,
    /// Peak resident memory, in MiB.
    pub(crate) peak: f64,
    /// Resident memory that is its own, in MiB.
    pub(crate) own: f64,
}

impl Cost {
    /// Returns the cost of a program.
    pub(crate) async fn of(program: &Program) -> Result<Self> {
        Self::of_process(program.pid().await)
    }

    /// Returns the cost of the process with this id.
    pub(crate) fn of_process(process: i32) -> Result<Self> {
        let folder = format!("/proc/{process}");
        let status = std::fs::read_to_string(format!("{folder}/status"))?;
        let stat = std::fs::read_to_string(format!("{folder}/stat"))?;
        // The second field is the name in parentheses and may contain spaces.
        let fields: Vec<&str> = stat.rsplit_once(") ").context("no name")?.1.split(' ').collect();
        let ticks = [11, 12].into_iter().map(|place: usize| fields[place].parse::<u32>()).sum::<Result<u32, _>>()?;
        Ok(Self {
            processor: TICK * ticks,
            resident: mebibytes(&status, "VmRSS:")?,
            peak: mebibytes(&status, "VmHWM:")?,
            own: mebibytes(&status, "RssAnon:")?,
        })
    }

    /// Returns the processor seconds since `before`.
    pub(crate) fn seconds_since(&self, before: &Self) -> f64 {
        (self.processor.saturating_sub(before.processor)).as_secs_f64()
    }
}

fn mebibytes(status: &str, field: &str) -> Result<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field)).with_context(|| format!("no {field}"))?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}
