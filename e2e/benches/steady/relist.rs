//! Measures the cost of a new list of all known objects.

use anyhow::Result;
use drift_e2e::programs::Which;

use crate::cost::Cost;
use crate::load::Load;
use crate::measurements::{Bench, memory};

impl Bench<'_> {
    /// Makes a target read one more field, so that its objects are listed again. Reports the memory before and the
    /// peak.
    pub(crate) async fn relist(&mut self, load: Load) -> Result<()> {
        let poller = self.start(Which::Poller).await?;
        self.settle(&poller, load).await?;
        let before = Cost::of(&poller).await?;
        before_the_peak(poller.pid().await)?;
        self.settle(&poller, Load { reads_more: true, ..load }).await?;
        let after = Cost::of(&poller).await?;
        let times = after.peak / before.resident;
        self.table.add("listed anew: memory before", memory(&before));
        self.table.add("listed anew: memory", format!("{}, {times:.2} times as much at most", memory(&after)));
        poller.stop().await.map(drop)
    }
}

/// Resets the peak of resident memory. See proc(5) on `clear_refs`.
fn before_the_peak(process: i32) -> Result<()> {
    Ok(std::fs::write(format!("/proc/{process}/clear_refs"), "5")?)
}
