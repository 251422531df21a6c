//! The measurements: each answers one question with its rows of the table.
//!
//! Each begins and ends with objects in sync. A figure covers a span without other activity, after the writes of the
//! previous measurement have ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use drift_api::names;
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;

use crate::ceiling::{self, Ceiling};
use crate::cores::Cores;
use crate::cost::Cost;
use crate::load::{self, Load, document, name, path};
use crate::server::{Server, host};
use crate::table::{Table, share};
use crate::watcher::Watcher;

/// Required time without writes before a measurement begins.
pub(crate) const QUIET: Duration = Duration::from_secs(4);

/// Objects that drift at once when the latency of one verdict is measured.
const DRIFTED: usize = 100;

/// Objects whose status is patched for the ceiling: more than ten seconds of work for the API server.
const PATCHED: usize = 5_000;

/// State that all measurements share.
pub(crate) struct Bench<'w> {
    pub(crate) world: &'w World,
    pub(crate) server: Server,
    pub(crate) cores: Cores,
    pub(crate) objects: usize,
    pub(crate) window: Duration,
    pub(crate) table: Table,
    /// Cached result of [`Bench::ceiling`], which is measured once.
    pub(crate) ceiling: Option<Ceiling>,
}

impl Bench<'_> {
    /// Starts a program on its core.
    pub(crate) async fn start(&self, which: Which) -> Result<Arc<Program>> {
        let options = Options { log_level: Some("info".to_owned()), ..Options::default() };
        let program = self.world.start(which, options).await?;
        self.cores.put_on_the_last(program.pid().await)?;
        Ok(program)
    }

    /// Measures both programs without any target.
    pub(crate) async fn idle(&mut self) -> Result<()> {
        for which in [Which::Poller, Which::Controller] {
            let program = self.start(which).await?;
            tokio::time::sleep(QUIET).await;
            let cost = Cost::of(&program).await?;
            self.table.add(format!("{}, no target: memory", which.name()), memory(&cost));
            program.stop().await?;
        }
        Ok(())
    }

    /// Measures polls that change nothing, at a given rate, with the controller if the load corrects.
    pub(crate) async fn steady(&mut self, what: &str, load: Load) -> Result<()> {
        let poller = self.start(Which::Poller).await?;
        let controller = if load.corrects { Some(self.start(Which::Controller).await?) } else { None };
        self.settle(&poller, load).await?;
        let before = self.account(&poller, controller.as_deref()).await?;
        let began = Instant::now();
        self.reads(what, load, poller.pid().await).await?;
        let after = self.account(&poller, controller.as_deref()).await?;
        let seconds = began.elapsed().as_secs_f64();
        self.table.add(format!("{what}: writes of objects"), format!("{}", after.writes - before.writes));
        if let Some((before, after)) = before.controller.zip(after.controller) {
            let spent = after.seconds_since(&before) / seconds * 100.0;
            self.table.add(format!("{what}: drift-controller"), format!("{spent:.2} % of a core, {}", memory(&after)));
        }
        if let Some(controller) = controller {
            controller.stop().await?;
        }
        self.one_verdict(what, load, names::DRIFT_OBSERVED).await?;
        poller.stop().await.map(drop)
    }

    /// Measures the reads of a process in a span without drift.
    pub(crate) async fn reads(&mut self, what: &str, load: Load, process: i32) -> Result<()> {
        let before = Cost::of_process(process)?;
        self.server.begin(load.interval);
        let began = Instant::now();
        tokio::time::sleep(self.span(load)).await;
        let (reads, seconds) = (self.server.reads(), began.elapsed().as_secs_f64());
        let after = Cost::of_process(process)?;
        let each = 1e3 * after.seconds_since(&before) / reads.count as f64;
        self.table.add(format!("{what}: reads a second"), format!("{:.0}", reads.count as f64 / seconds));
        self.table.add(format!("{what}: processor time for 1,000 reads"), format!("{each:.3} s"));
        self.table.add(
            format!("{what}: late beyond the interval, p50 · p99"),
            format!("{:.1} · {:.1} ms", reads.late_p50, reads.late_p99),
        );
        self.table.add(format!("{what}: memory"), memory(&after));
        Ok(())
    }

    /// Measures the time from the read that finds drift until a watcher sees it in this condition.
    pub(crate) async fn one_verdict(&mut self, what: &str, load: Load, condition: &'static str) -> Result<()> {
        let drifted: Vec<String> =
            (0..DRIFTED.min(self.objects)).map(|number| name(number * self.objects / DRIFTED)).collect();
        let watcher = Watcher::of(self.world, condition, "True").await?;
        self.change(&drifted, true);
        let seen = watcher.wait_for(drifted.len(), load.interval * 4 + wait::DEADLINE).await?;
        let spans = spans(&self.server.first_reads(), &seen);
        let figure = format!("{:.1} · {:.1} ms", share(spans.clone(), 50), share(spans, 99));
        self.table.add(format!("{what}: a read finds drift → a watcher sees it, p50 · p99"), figure);
        let watcher = Watcher::of(self.world, condition, "False").await?;
        self.change(&drifted, false);
        watcher.wait_for(drifted.len(), load.interval * 4 + wait::DEADLINE).await.map(drop)
    }

    /// Measures the cost of a status patch for the API server as in a storm: the patches find conditions, the poller
    /// reads and watches, and another client watches too. The objects keep the patched condition, which changes no
    /// verdict.
    pub(crate) async fn ceiling(&mut self, load: Load) -> Result<Ceiling> {
        if let Some(known) = self.ceiling {
            return Ok(known);
        }
        let poller = self.start(Which::Poller).await?;
        self.settle(&poller, load).await?;
        let watcher = Watcher::of(self.world, names::DRIFT_OBSERVED, "True").await?;
        let before = self.spent_by_api_server().await?;
        let patched = self.objects.min(PATCHED);
        let ceiling = ceiling::of_status_patches(self.world, patched, self.cores).await?;
        let spent = self.spent_by_api_server().await? - before;
        drop(watcher);
        poller.stop().await?;
        let each = 1.0 / patched as f64;
        Ok(*self.ceiling.insert(Ceiling { each: ceiling.mul_f64(each), processor: spent.mul_f64(each) }))
    }

    /// Returns the processor time of the API server and etcd so far.
    pub(crate) async fn spent_by_api_server(&self) -> Result<Duration> {
        let costs = self.world.control_plane().processes().await.map(Cost::of_process);
        costs.into_iter().map(|cost| Ok(cost?.processor)).sum()
    }

    /// Measures a start with all objects in sync: they must be read when due, not all at once.
    pub(crate) async fn restart(&mut self, load: Load) -> Result<()> {
        let poller = self.start(Which::Poller).await?;
        self.settle(&poller, load).await?;
        poller.stop().await?;
        self.server.begin(load.interval);
        let began = Instant::now();
        let again = self.start(Which::Poller).await?;
        let (mut most, mut last) = (0.0_f64, (began, 0));
        let span = wait::until("all objects to be read", load::first_pass(self.objects), async || {
            let (now, reads) = (Instant::now(), self.server.reads());
            let since = (now - last.0).as_secs_f64();
            if since >= 0.5 {
                most = most.max((reads.count - last.1) as f64 / since);
                last = (now, reads.count);
            }
            let all = reads.resources >= self.objects;
            Ok(if all { Seen::Met(began.elapsed()) } else { Seen::Instead(reads.resources.to_string()) })
        })
        .await?;
        self.table.add("restart: until all were read", format!("{:.1} s", span.as_secs_f64()));
        self.table.add("restart: most reads a second", format!("{most:.0}"));
        // A burst of verdicts opens more connections, whose memory is missing here. A program that runs since the first
        // burst has it.
        self.table.add("restart: memory", memory(&Cost::of(&again).await?));
        again.stop().await.map(drop)
    }

    /// Measures the first reports of all objects, polls that change nothing, and a second start.
    pub(crate) async fn reports(&mut self, load: Load) -> Result<()> {
        let poller = self.start(Which::Poller).await?;
        load.apply(self.world, &self.server).await?;
        let deadline = load::first_pass(self.objects) + load.interval * 4;
        let began = Instant::now();
        wait::until(format!("{} reports", self.objects), deadline, async || {
            let written = writes(&poller).await? as usize;
            Ok(if written >= self.objects { Seen::Met(()) } else { Seen::Instead(written.to_string()) })
        })
        .await?;
        self.table.add("reports: until all were created", told(self.objects, began.elapsed()));
        self.settle(&poller, load).await?;
        let before = self.account(&poller, None).await?;
        tokio::time::sleep(self.span(load)).await;
        let after = self.account(&poller, None).await?;
        self.table.add("reports: writes at rest", format!("{}", after.writes - before.writes));
        self.table.add("reports: memory", memory(&after.poller));
        poller.stop().await?;
        let again = self.start(Which::Poller).await?;
        self.settle(&again, load).await?;
        self.table.add("reports: writes after a restart", format!("{}", writes(&again).await?));
        self.table.add("reports: memory after a restart", memory(&Cost::of(&again).await?));
        again.stop().await.map(drop)
    }

    /// Measures the lateness of the other hosts if one of a hundred does not answer.
    pub(crate) async fn hung_host(&mut self, load: Load) -> Result<()> {
        let poller = self.start(Which::Poller).await?;
        self.settle(&poller, load).await?;
        for (hangs, what) in [(false, "a hundred hosts, all well"), (true, "a hundred hosts, one hung")] {
            if hangs {
                self.server.hang(&host(0)?, true);
                // Until the host's pause is known and its first polls have timed out.
                tokio::time::sleep(load.interval * 2).await;
            }
            self.server.begin(load.interval);
            tokio::time::sleep(self.span(load)).await;
            let reads = self.server.reads();
            let figure = format!("{:.1} · {:.1} ms", reads.late_p50, reads.late_p99);
            self.table.add(format!("{what}: late beyond the interval, p50 · p99"), figure);
        }
        self.server.hang(&host(0)?, false);
        poller.stop().await.map(drop)
    }

    /// Applies a load and waits until all objects are in sync and the writes have ended.
    pub(crate) async fn settle(&self, poller: &Program, load: Load) -> Result<()> {
        load.apply(self.world, &self.server).await?;
        self.all_are_read(load, || Ok(None)).await?;
        let deadline = load::first_pass(self.objects) + load.interval * 4;
        load::wait_for(poller, self.objects, "InSync", deadline).await?;
        last_write(&[poller], deadline).await?;
        tokio::time::sleep(load.interval.min(QUIET)).await;
        Ok(())
    }

    /// Waits until all objects were read. Earlier reads do not count. Fails if the reader has an obituary.
    pub(crate) async fn all_are_read(
        &self,
        load: Load,
        mut obituary: impl FnMut() -> Result<Option<String>>,
    ) -> Result<()> {
        self.server.begin(load.interval);
        wait::until("all objects to be read", load::first_pass(self.objects) + load.interval * 4, async || {
            let read = self.server.reads().resources;
            Ok(match obituary()? {
                Some(obituary) => Seen::Hopeless(obituary),
                None if read >= self.objects => Seen::Met(()),
                None => Seen::Instead(read.to_string()),
            })
        })
        .await
    }

    async fn account(&self, poller: &Program, controller: Option<&Program>) -> Result<Account> {
        let controller = match controller {
            Some(controller) => Some(Cost::of(controller).await?),
            None => None,
        };
        Ok(Account { poller: Cost::of(poller).await?, controller, writes: writes(poller).await? })
    }

    /// Returns a span in which each object is read twice.
    fn span(&self, load: Load) -> Duration {
        self.window.max(load.interval * 2)
    }

    pub(crate) fn change(&self, names: &[String], drifted: bool) {
        let documents: Vec<_> = names.iter().map(|name| (path(name), document(name, drifted))).collect();
        self.server.change(&documents);
    }
}

/// Costs and writes of both programs up to a moment.
struct Account {
    poller: Cost,
    controller: Option<Cost>,
    writes: f64,
}

/// Returns the number of a program's writes to objects so far.
pub(crate) async fn writes(program: &Program) -> Result<f64> {
    let metrics = program.metrics().await.context("asking for the writes")?;
    Ok(["drift_poller_writes_total", "drift_controller_writes_total"].map(|name| metrics.sum(name, &[])).iter().sum())
}

/// Returns the time of the last write of these programs, once they have been quiet for a while.
pub(crate) async fn last_write(programs: &[&Program], deadline: Duration) -> Result<Instant> {
    let (mut since, mut last) = (Instant::now(), -1.0);
    wait::until("the writes to end", deadline, async || {
        let mut all = 0.0;
        for program in programs {
            all += writes(program).await?;
        }
        if all > last {
            (since, last) = (Instant::now(), all);
        }
        Ok(if since.elapsed() >= QUIET { Seen::Met(since) } else { Seen::Instead(all.to_string()) })
    })
    .await
}

pub(crate) fn memory(cost: &Cost) -> String {
    format!("{:.1} MiB ({:.1} its own, {:.1} at most)", cost.resident, cost.own, cost.peak)
}

pub(crate) fn told(objects: usize, span: Duration) -> String {
    let seconds = span.as_secs_f64();
    format!("{seconds:.1} s ({:.0} a second)", objects as f64 / seconds)
}

/// Returns the milliseconds from the first read of each object until it was seen.
fn spans(reads: &HashMap<String, Instant>, seen: &HashMap<String, Instant>) -> Vec<f64> {
    let span = |(name, at): (&String, &Instant)| {
        let read = reads.get(&path(name))?;
        Some(at.saturating_duration_since(*read).as_secs_f64() * 1e3)
    };
    seen.iter().filter_map(span).collect()
}
