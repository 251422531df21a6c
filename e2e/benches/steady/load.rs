//! The objects and targets of all measurements.

use std::time::Duration;

use anyhow::Result;
use drift_e2e::programs::Program;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

use crate::server::{Server, host};

/// Number of hosts for measurements that need several.
pub(crate) const HOSTS: usize = 100;

/// Number of targets on the kind for measurements that need several.
pub(crate) const TARGETS: usize = 8;

/// Reads at once, also of the programs to compare with.
pub(crate) const AT_ONCE: usize = 128;

/// Longest timeout of a read. It is the interval if that is shorter.
pub(crate) const MOST_WAIT: Duration = Duration::from_secs(5);

/// Reads a second that each target allows: the maximum of the field.
const MOST_READS: u32 = 10_000;

/// Returns the time limit of a first pass with a write for each object: 50 a second on a busy machine.
pub(crate) fn first_pass(objects: usize) -> Duration {
    Duration::from_secs(60 + objects as u64 / 50)
}

/// The targets' settings. Every object is read by its own request and corrected on demand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Time between two reads of an object.
    pub(crate) interval: Duration,
    /// True if drift is corrected, with limits that are never reached.
    pub(crate) corrects: bool,
    /// True if each object names its host.
    pub(crate) with_hosts: bool,
    /// True if the target reads one more field of each object.
    pub(crate) reads_more: bool,
    /// True if the conditions are kept in reports.
    pub(crate) reports: bool,
    /// Number of targets. Each selects an equal part of the objects.
    pub(crate) targets: usize,
}

impl Load {
    /// Returns a load with one target and one host, without corrections.
    pub(crate) const fn every(interval: Duration) -> Self {
        Self { interval, corrects: false, with_hosts: false, reads_more: false, reports: false, targets: 1 }
    }

    fn target(&self, world: &World, server: &Server) -> Result<Target> {
        let timeout = self.interval.min(MOST_WAIT).as_millis();
        let mut target = Target::of_documents(world, &server.url())?
            .with("/spec/interval", json!(format!("{}ms", self.interval.as_millis())))
            .with("/spec/timeout", json!(format!("{timeout}ms")))
            .with("/spec/read/limits", json!({"concurrent": AT_ONCE, "perSecond": MOST_READS}))
            .with("/spec/correct/mode", json!(if self.corrects { "Correct" } else { "Observe" }))
            // The resources are older than the objects.
            .with("/spec/correct/existing", json!("Adopt"))
            .with(
                "/spec/correct/limits",
                json!({"concurrent": 64, "perMinute": 60_000, "maxDriftedPercent": 100, "attempts": 1_000}),
            );
        if self.reports {
            target = target.with("/spec/objects/conditions", json!("Report"));
        }
        let mut excused = Vec::new();
        if self.reads_more {
            target = target.with("/spec/read/http/headers", json!({"x-part": "${self.metadata.labels.part}"}));
            excused.push("metadata.labels.part");
        }
        if self.with_hosts {
            let address =
                format!("http://${{self.metadata.labels.host}}:{}/proxies/${{self.metadata.name}}", server.port);
            target = target
                .with("/spec/read/http/url", json!(address))
                .with("/spec/allowHosts", json!(hosts(server)?))
                .with("/spec/allowNetworks", json!(["127.0.0.0/8"]));
            excused.push("metadata.labels.host");
        }
        if !excused.is_empty() {
            target = target.with("/spec/notIdentifying", json!(excused));
        }
        Ok(target)
    }

    /// Applies the targets to the cluster.
    pub(crate) async fn apply(&self, world: &World, server: &Server) -> Result<()> {
        let target = self.target(world, server)?;
        if self.targets == 1 {
            return world.apply_target(&target).await;
        }
        let part = |number| {
            let selector = json!(format!("part=p{number}"));
            target.clone().named(&format!("part-{number}")).with("/spec/objects/labelSelector", selector)
        };
        world.apply_targets(&(0..self.targets).map(part).collect::<Vec<_>>()).await
    }
}

fn hosts(server: &Server) -> Result<Vec<String>> {
    (0..HOSTS).map(|number| Ok(format!("{}:{}", host(number)?, server.port))).collect()
}

/// Returns the name of an object.
pub(crate) fn name(number: usize) -> String {
    format!("proxy-{number:06}")
}

/// Returns the path of its resource.
pub(crate) fn path(name: &str) -> String {
    format!("/proxies/{name}")
}

/// Returns a resource in its desired state, or in a foreign one if `drifted`.
pub(crate) fn document(name: &str, drifted: bool) -> Value {
    let upstream = if drifted { "elsewhere:1" } else { "here:1" };
    json!({"name": name, "listen": format!("{name}:80"), "upstream": upstream, "enabled": true, "toxics": []})
}

/// Creates all objects, and all resources in their desired state.
pub(crate) async fn populate(world: &World, server: &Server, objects: usize) -> Result<()> {
    for number in 0..objects {
        server.put(&path(&name(number)), &document(&name(number), false));
    }
    let spec = |name: &str| json!({"listen": format!("{name}:80"), "upstream": "here:1"});
    // All objects of one host and part have the same labels, so they are created together.
    let groups = HOSTS * TARGETS;
    for group in 0..groups.min(objects) {
        let names: Vec<String> = (group..objects).step_by(groups).map(name).collect();
        let labels = json!({"host": host(group % HOSTS)?, "part": format!("p{}", group % TARGETS)});
        world.create_proxies(&names, &json!({"labels": labels}), spec).await?;
    }
    Ok(())
}

/// Waits until this many objects have a reason, by the poller's own count.
pub(crate) async fn wait_for(poller: &Program, objects: usize, reason: &str, deadline: Duration) -> Result<()> {
    wait::until(format!("{objects} objects {reason}"), deadline, async || {
        let current = poller.metrics().await?.sum("drift_poller_objects", &[("reason", reason)]);
        Ok(if current >= objects as f64 { Seen::Met(()) } else { Seen::Instead(current.to_string()) })
    })
    .await
}
