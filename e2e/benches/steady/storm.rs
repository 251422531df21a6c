//! Lets everything drift at one instant and heal a while later, and compares it with the API server's ceiling.

use std::time::{Duration, Instant};

use anyhow::Result;
use drift_api::names;
use drift_e2e::programs::{Program, Which};

use crate::ceiling::Ceiling;
use crate::cost::Cost;
use crate::load::{self, Load, name};
use crate::measurements::{Bench, told};
use crate::watcher::Watcher;

impl Bench<'_> {
    /// Changes everything at one instant and back a while later. Reports the API server's ceiling and the cost per
    /// write, because the API server is the limit of both.
    pub(crate) async fn storm(&mut self, load: Load) -> Result<()> {
        let Ceiling { each, processor } = self.ceiling(load).await?;
        let (ceiling, each) = (each.mul_f64(self.objects as f64), for_each(processor));
        let what = "the API server's ceiling of status patches, beside a poller that reads, for as many objects";
        self.table.add(what, format!("{}, {each}", told(self.objects, ceiling)));
        let poller = self.start(Which::Poller).await?;
        self.settle(&poller, load).await?;
        for (status, drifted, what) in [("True", true, "all drift at once"), ("False", false, "all healed at once")] {
            self.storm_of(&poller, (status, drifted), (what, ceiling)).await?;
        }
        poller.stop().await.map(drop)
    }

    async fn storm_of(
        &mut self,
        poller: &Program,
        (status, drifted): (&'static str, bool),
        (what, ceiling): (&str, Duration),
    ) -> Result<()> {
        let names: Vec<String> = (0..self.objects).map(name).collect();
        let watcher = Watcher::of(self.world, names::DRIFT_OBSERVED, status).await?;
        let (before, poller_before) = (self.spent_by_api_server().await?, Cost::of(poller).await?);
        let began = Instant::now();
        self.change(&names, drifted);
        let seen = watcher.wait_for(self.objects, load::first_pass(self.objects)).await?;
        let spent = seen.values().max().copied().unwrap_or(began) - began;
        let times = spent.as_secs_f64() / ceiling.as_secs_f64();
        let each = for_each((self.spent_by_api_server().await? - before).div_f64(self.objects as f64));
        let busy = Cost::of(poller).await?.seconds_since(&poller_before) / spent.as_secs_f64() * 100.0;
        let figure =
            format!("{}, {times:.2} of that, {each}, the poller {busy:.0} % of its core", told(self.objects, spent));
        self.table.add(format!("{what}, until a watcher saw the last"), figure);
        Ok(())
    }
}

fn for_each(spent: Duration) -> String {
    format!("{:.2} ms of the API server and etcd each", spent.as_secs_f64() * 1e3)
}
