//! Both programs behind one gate, and objects of four sorts. Three sorts change while the API server struggles.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_api::names::DRIFT_OBSERVED;
use drift_e2e::cluster::api_gate::{ApiGate, Asked};
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::systems::outside::{Documents, Outside};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, describe, is_verified};
use serde_json::{Value, json};

use crate::staleness::pause;

/// Number of objects of each sort.
const EACH: usize = 3;

/// Unchanged objects: nothing may be written.
const STILL: &str = "still";
/// Objects that drift and are corrected once.
const DRIFTED: &str = "drifted";
/// Objects that drift while paused: only the verdict is written.
const PAUSED: &str = "paused";
/// Objects whose spec is edited three times.
const EDITED: &str = "edited";

/// The desired values of the objects, one edit after the other. The first and the third are equal.
pub(crate) const WISHES: [&str; 4] = ["127.0.0.1:9", "127.0.0.1:10", "127.0.0.1:9", "127.0.0.1:11"];

/// A foreign value on the external system.
const FOREIGN: &str = "127.0.0.1:99";

/// The recovery must take at most 30 s after the fault. The rest is for a busy machine.
pub(crate) const RECOVERED_WITHIN: Duration = Duration::from_secs(30 + 15);

/// Verdicts of one corrected drift: drifted, in sync, and in sync again if the poller learns of the correction late.
const VERDICTS_OF_ONE: usize = 3;

/// Time that a correction from before an edit may still take to arrive.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// Reads at the start of a fault, while the backoff is short. Each program follows some collections.
const MOST_READS: f64 = 60.0;

/// Reads a second afterwards, without Leases.
const MOST_READS_A_SECOND: f64 = 2.0;

/// Requests a second of both programs. Each checks its lost Lease and the other's twice a second.
const MOST_A_SECOND: f64 = 12.0;

/// Several intervals, after which all pending writes have been made.
const SETTLED_AFTER: Duration = Duration::from_secs(5);

/// A world whose programs reach the API server only through the gate.
pub(crate) struct Bed<'a> {
    pub(crate) world: &'a World,
    pub(crate) gate: ApiGate,
    pub(crate) outside: Outside,
    documents: Documents,
    pub(crate) programs: Vec<Arc<Program>>,
    verdicts: BTreeMap<String, usize>,
    /// The desired values of the edited objects, with their start times.
    edits: Vec<(Instant, &'static str)>,
}

/// Measurements of a recovery.
pub(crate) struct Recovery {
    /// The programs' requests to the API server during the fault.
    pub(crate) asked: Vec<Asked>,
    /// The time that the fault lasted.
    pub(crate) lasted: Duration,
}

fn spec(upstream: &str) -> Value {
    json!({"listen": "127.0.0.1:1", "upstream": upstream})
}

fn names(sort: &str) -> Vec<String> {
    (0..EACH).map(|number| format!("{sort}-{number}")).collect()
}

fn sort_of(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(sort, _)| sort)
}

impl<'a> Bed<'a> {
    /// Creates all objects, waits until they are verified, pauses some, and waits until writes end.
    pub(crate) async fn start(world: &'a World) -> Result<Self> {
        let gate = world.start_api_gate().await?;
        let outside = world.start_outside().await?;
        let documents = outside.keep_documents();
        world.apply_target(&Target::of_documents(world, outside.url())?).await?;
        let (programs, verdicts, edits) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut bed = Self { world, gate, outside, documents, programs, verdicts, edits };
        bed.start_programs().await?;
        let all: Vec<String> = [STILL, DRIFTED, PAUSED, EDITED].into_iter().flat_map(names).collect();
        world.create_proxies(&all, &json!({}), |_| spec(WISHES[0])).await?;
        bed.edits.push((Instant::now(), WISHES[0]));
        for name in &all {
            world.wait_until_verified(name).await?;
        }
        for name in names(PAUSED) {
            pause(world, &name, true).await?;
        }
        bed.begin_to_count().await?;
        Ok(bed)
    }

    /// Starts both programs through the gate.
    pub(crate) async fn start_programs(&mut self) -> Result<()> {
        for which in [Which::Poller, Which::Controller] {
            let options = Options { api_server: Some(self.gate.url().to_owned()), ..Options::default() };
            self.programs.push(self.world.start(which, options).await?);
        }
        Ok(())
    }

    /// Resets the count of writes.
    pub(crate) async fn begin_to_count(&mut self) -> Result<()> {
        self.world.nothing_is_written_for(SETTLED_AFTER).await?;
        self.verdicts = self.world.verdicts_written().await?;
        self.outside.forget_requests();
        Ok(())
    }

    /// Returns the path of the objects' collection.
    pub(crate) fn objects(&self) -> String {
        format!("/apis/{}/v1/namespaces/{}/proxies", self.world.group(), self.world.objects_namespace())
    }

    /// Starts a fault, changes objects in its first three quarters, ends it after `lasts`, and waits for the recovery.
    pub(crate) async fn go_through(&mut self, lasts: Duration, begin: impl FnOnce(&Self)) -> Result<Recovery> {
        let began = Instant::now();
        begin(self);
        self.change_outside();
        for part in 1..4 {
            self.edit(WISHES[usize::try_from(part)?]).await?;
            let until = began + lasts * part / 4;
            tokio::time::sleep_until(until.into()).await;
        }
        tokio::time::sleep_until((began + lasts).into()).await;
        let (asked, lasted) = (self.gate.asked_since(began), began.elapsed());
        self.gate.let_through();
        self.wait_until_well().await?;
        Ok(Recovery { asked, lasted })
    }

    /// Changes resources on the external system.
    fn change_outside(&self) {
        for name in [DRIFTED, PAUSED].into_iter().flat_map(names) {
            self.documents.put(&format!("/proxies/{name}"), with_enabled(FOREIGN));
        }
    }

    pub(crate) async fn edit(&mut self, upstream: &'static str) -> Result<()> {
        for name in names(EDITED) {
            self.world.patch_proxy(&name, json!({"spec": {"upstream": upstream}})).await?;
        }
        self.edits.push((Instant::now(), upstream));
        Ok(())
    }

    /// Waits until every object is in its final state.
    pub(crate) async fn wait_until_well(&self) -> Result<()> {
        wait::until("all objects to be as wanted", RECOVERED_WITHIN, async || {
            let objects = self.world.all_proxies().await?;
            let unwell: Vec<String> = objects.iter().filter_map(|object| self.trouble_of(object)).collect();
            let is_well = unwell.is_empty() && objects.len() == 4 * EACH;
            Ok(if is_well { Seen::Met(()) } else { Seen::Instead(unwell.join("\n")) })
        })
        .await
    }

    /// Waits until every edited object has its last desired value.
    pub(crate) async fn wait_until_edits_stand(&self) -> Result<()> {
        for name in names(EDITED) {
            let stands = |object: &Value| self.trouble_of(object).is_none();
            self.world.wait_for_proxy(&name, "as its last edit wants it", stands).await?;
        }
        Ok(())
    }

    fn trouble_of(&self, object: &Value) -> Option<String> {
        let name = object["metadata"]["name"].as_str()?;
        let verdict = describe(object, DRIFT_OBSERVED);
        let generation = &object["metadata"]["generation"];
        let observed = drift_e2e::world::condition(object, DRIFT_OBSERVED).map(|it| &it["observedGeneration"]);
        let (upstream, is_well) = match sort_of(name) {
            PAUSED => (FOREIGN, verdict == "True/FieldsDiffer"),
            EDITED => (self.edits.last()?.1, is_verified(object) && observed == Some(generation)),
            _ => (WISHES[0], is_verified(object)),
        };
        let outside = self.documents.get(&format!("/proxies/{name}"));
        let is_well = is_well && outside == Some(with_enabled(upstream));
        (!is_well).then(|| format!("{name}: {verdict}, outside {outside:?}"))
    }

    /// Checks that no older spec was written once a newer one was known, and that each change cost only its own writes.
    pub(crate) async fn ensure_all_held(&self) -> Result<()> {
        self.outside.nothing_is_written_for(SETTLED_AFTER).await?;
        let writes = self.outside.requests().into_iter().filter(|request| request.method != "GET");
        let mut corrections = BTreeMap::<String, usize>::new();
        for write in writes {
            let name = write.path.rsplit('/').next().unwrap_or_default().to_owned();
            if sort_of(&name) == EDITED {
                let sent: Value = serde_json::from_slice(&write.body).context("a correction without JSON")?;
                let known =
                    self.edits.iter().rposition(|(since, _)| *since + ON_ITS_WAY < write.at).unwrap_or_default();
                let is_new = self.edits[known..].iter().any(|(_, desired)| sent["upstream"] == **desired);
                ensure!(is_new, "edited {} times, it was corrected to {sent}", self.edits.len());
            }
            *corrections.entry(name).or_default() += 1;
        }
        let verdicts = self.world.verdicts_written().await?;
        for name in verdicts.keys() {
            let written = verdicts[name] - self.verdicts.get(name).copied().unwrap_or_default();
            let corrected = corrections.get(name).copied().unwrap_or_default();
            let edits = self.edits.len() - 1;
            let is_bounded = match sort_of(name) {
                STILL => (written, corrected) == (0, 0),
                PAUSED => (written, corrected) == (1, 0),
                DRIFTED => corrected == 1 && (2..=VERDICTS_OF_ONE).contains(&written),
                _ => (1..=edits).contains(&corrected) && written <= VERDICTS_OF_ONE * edits,
            };
            ensure!(is_bounded, "{name}: {corrected} corrections, {written} verdicts written");
        }
        Ok(())
    }

    /// Checks the same and the rate of requests during the fault.
    pub(crate) async fn ensure_recovered(&self, recovery: &Recovery) -> Result<()> {
        self.ensure_all_held().await?;
        recovery.ensure_no_storm()
    }
}

impl Recovery {
    /// Returns the requests a second of both programs together.
    pub(crate) fn rate(&self) -> f64 {
        self.asked.len() as f64 / self.lasted.as_secs_f64()
    }

    /// Returns the requests that are not about Leases.
    pub(crate) fn besides_leases(&self) -> impl Iterator<Item = &Asked> {
        self.asked.iter().filter(|asked| !asked.is_of_leases())
    }

    /// Checks the rate of lists, watches and other reads. Their backoff grows with each failure, up to half a minute.
    pub(crate) fn ensure_no_storm(&self) -> Result<()> {
        let reads = self.besides_leases().filter(|asked| asked.is_read()).count() as f64;
        let seconds = self.lasted.as_secs_f64();
        ensure!(reads <= MOST_READS + seconds * MOST_READS_A_SECOND, "{reads} reads in {seconds:.0} s");
        ensure!(self.rate() <= MOST_A_SECOND, "{:.1} requests a second", self.rate());
        Ok(())
    }
}

fn with_enabled(upstream: &str) -> Value {
    json!({"listen": "127.0.0.1:1", "upstream": upstream, "enabled": true})
}
