//! What it takes to list all objects anew while all are known.

use anyhow::Result;
use drift_e2e::programs::Which;

use crate::cost::Cost;
use crate::load::Load;
use crate::measurements::{Bench, memory};

impl Bench<'_> {
    /// A target begins to read one field more, so that its objects are listed anew: memory before, and at most meanwhile.
    ///
    /// # Errors
    /// When the objects do not come to be in sync.
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

/// The most memory that was resident counts from now on; see proc(5) on `clear_refs`.
fn before_the_peak(process: i32) -> Result<()> {
    Ok(std::fs::write(format!("/proc/{process}/clear_refs"), "5")?)
}
