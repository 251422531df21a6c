//! Corrects many drifted objects at once, and compares the rate with the API server's ceiling.
//!
//! Each correction costs writes of both programs. The limit is the API server's ceiling of status patches, divided by
//! these writes.

use std::time::{Duration, Instant};

use anyhow::Result;
use drift_e2e::programs::Which;
use drift_e2e::wait::{self, Seen};

use crate::cost::Cost;
use crate::load::{self, Load, name, path};
use crate::measurements::{Bench, last_write, told, writes};

/// Objects that drift at once: enough that start and end weigh little, in less than a minute.
const DRIFTED: usize = 2_000;

impl Bench<'_> {
    /// Corrects with limits that are never reached. Reports the corrections a second, the writes per correction, and
    /// the share of the ceiling.
    pub(crate) async fn corrections(&mut self, load: Load) -> Result<()> {
        let drifted = self.objects.min(DRIFTED);
        let ceiling = self.ceiling(load).await?.each.mul_f64(drifted as f64);
        let poller = self.start(Which::Poller).await?;
        let controller = self.start(Which::Controller).await?;
        self.settle(&poller, load).await?;
        let both = [&*poller, &*controller];
        let before = (writes(&poller).await? + writes(&controller).await?, self.spent_by_api_server().await?);
        let costs = (Cost::of(&poller).await?, Cost::of(&controller).await?);
        let began = Instant::now();
        let names: Vec<String> = (0..drifted).map(name).collect();
        self.change(&names, true);
        let deadline = load::first_pass(drifted) * 4;
        let corrected = self.all_corrected(&names, began, deadline).await?;
        let spent = last_write(&both, deadline).await? - began;
        load::wait_for(&poller, self.objects, "InSync", deadline).await?;
        // Longer than the corrections, because the end is known only after a while without writes.
        let watched = began.elapsed();
        let written = writes(&poller).await? + writes(&controller).await? - before.0;
        let api_server = self.spent_by_api_server().await? - before.1;
        let busy = [(Which::Poller, &poller, costs.0), (Which::Controller, &controller, costs.1)];
        let each = written / drifted as f64;
        let share = each * ceiling.as_secs_f64() / spent.as_secs_f64() * 100.0;
        let what = format!("{drifted} drift at once");
        self.table.add(format!("{what}: until all was corrected outside"), told(drifted, corrected));
        let figure = format!(
            "{}, {each:.2} writes of each object, {share:.0} % of the API server's ceiling of status patches ({})",
            told(drifted, spent),
            told(drifted, ceiling)
        );
        self.table.add(format!("{what}: until the last verdict was written"), figure);
        let milliseconds = api_server.as_secs_f64() * 1e3 / written;
        self.table.add(format!("{what}: of the API server and etcd for each write"), format!("{milliseconds:.2} ms"));
        for (which, program, before) in busy {
            let share = Cost::of(program).await?.seconds_since(&before) / watched.as_secs_f64() * 100.0;
            self.table.add(format!("{what}: {}", which.name()), format!("{share:.0} % of the core"));
        }
        controller.stop().await?;
        poller.stop().await.map(drop)
    }

    async fn all_corrected(&self, names: &[String], began: Instant, deadline: Duration) -> Result<Duration> {
        let paths: Vec<String> = names.iter().map(|name| path(name)).collect();
        wait::until("everything to be corrected", deadline, async || {
            let left = self.server.changed(&paths);
            Ok(if left == 0 { Seen::Met(began.elapsed()) } else { Seen::Instead(left.to_string()) })
        })
        .await
    }
}
