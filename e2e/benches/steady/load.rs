//! The objects and the targets of all measurements: what is asked of the programs.

use std::time::Duration;

use anyhow::Result;
use drift_e2e::programs::Program;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

use crate::server::{Server, host};

/// Hosts that the objects are spread over where a measurement needs more than one.
pub(crate) const HOSTS: usize = 100;

/// Targets that share the kind where a measurement needs more than one.
pub(crate) const TARGETS: usize = 8;

/// Reads a second that each target allows: the most that one may allow.
const MOST_READS: u32 = 10_000;

/// Returns the time that a first pass over all objects, with a write for each, may take: 50 a second on a machine that does other work.
pub(crate) fn first_pass(objects: usize) -> Duration {
    Duration::from_secs(60 + objects as u64 / 50)
}

/// What the programs are told: every object is read by itself, and, where that is asked for, kept as it should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Time between two reads of an object.
    pub(crate) interval: Duration,
    /// True if drift is corrected, with limits that nothing reaches.
    pub(crate) corrects: bool,
    /// True if each object names its host.
    pub(crate) with_hosts: bool,
    /// True if the target reads a field more of each object.
    pub(crate) reads_more: bool,
    /// One target, or one for each part of the objects.
    pub(crate) targets: usize,
}

impl Load {
    /// One target, one host, nothing corrected.
    pub(crate) const fn every(interval: Duration) -> Self {
        Self { interval, corrects: false, with_hosts: false, reads_more: false, targets: 1 }
    }

    fn target(&self, world: &World, server: &Server) -> Result<Target> {
        let url = format!("http://127.0.0.1:{}", server.port);
        let timeout = self.interval.min(Duration::from_secs(5)).as_millis();
        let mut target = Target::of_documents(world, &url)?
            .with("/spec/interval", json!(format!("{}ms", self.interval.as_millis())))
            .with("/spec/timeout", json!(format!("{timeout}ms")))
            .with("/spec/read/limits", json!({"concurrent": 128, "perSecond": MOST_READS}))
            .with("/spec/correct/mode", json!(if self.corrects { "Correct" } else { "Observe" }))
            // The resources were there before the objects.
            .with("/spec/correct/existing", json!("Adopt"))
            .with(
                "/spec/correct/limits",
                json!({"concurrent": 64, "perMinute": 60_000, "maxDriftedPercent": 100, "attempts": 1_000}),
            );
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

    /// Puts it active.
    ///
    /// # Errors
    /// When the API server refuses.
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

/// The name of an object.
pub(crate) fn name(number: usize) -> String {
    format!("proxy-{number:06}")
}

/// The path of its resource.
pub(crate) fn path(name: &str) -> String {
    format!("/proxies/{name}")
}

/// What outside is as the object says, or, `drifted`, as somebody else left it.
pub(crate) fn document(name: &str, drifted: bool) -> Value {
    let upstream = if drifted { "elsewhere:1" } else { "here:1" };
    json!({"name": name, "listen": format!("{name}:80"), "upstream": upstream, "enabled": true, "toxics": []})
}

/// Makes all objects, and all resources as their specs say.
///
/// # Errors
/// When the API server refuses.
pub(crate) async fn populate(world: &World, server: &Server, objects: usize) -> Result<()> {
    for number in 0..objects {
        server.put(&path(&name(number)), &document(&name(number), false));
    }
    let spec = |name: &str| json!({"listen": format!("{name}:80"), "upstream": "here:1"});
    // All objects of one host and part have the same labels, so they are made together.
    let groups = HOSTS * TARGETS;
    for group in 0..groups.min(objects) {
        let names: Vec<String> = (group..objects).step_by(groups).map(name).collect();
        let labels = json!({"host": host(group % HOSTS)?, "part": format!("p{}", group % TARGETS)});
        world.create_proxies(&names, &json!({"labels": labels}), spec).await?;
    }
    Ok(())
}

/// Waits until so many objects stand at a reason, by the poller's own count.
///
/// # Errors
/// When they do not before the deadline.
pub(crate) async fn wait_for(poller: &Program, objects: usize, reason: &str, deadline: Duration) -> Result<()> {
    wait::until(format!("{objects} objects {reason}"), deadline, async || {
        let current = poller.metrics().await?.sum("drift_poller_objects", &[("reason", reason)]);
        Ok(if current >= objects as f64 { Seen::Met(()) } else { Seen::Instead(current.to_string()) })
    })
    .await
}
