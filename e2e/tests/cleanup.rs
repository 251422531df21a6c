//! Cleanup after targets that are removed, moved or narrowed: it removes our data if that is certain and old enough,
//! and otherwise leaves it. The effect of configuration changes on the targets is in `configuration`, with the same
//! bed.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{DRIFT_CORRECTED, DRIFT_OBSERVED, FINALIZER, SELECTIONS_ANNOTATION};
use drift_e2e::cluster::control_plane::AuditRecord;
use drift_e2e::programs::{Options, Program, Which, built};
use drift_e2e::systems::outside::Outside;
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, is_verified};
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::process::Command;

/// The ConfigMap of targets.
pub(crate) const TARGETS: &str = "drift-targets";
/// The programs' cleanup delay in these tests, instead of ten minutes.
const PATIENCE: Duration = Duration::from_secs(2);
/// Long enough to see a wrong cleanup: several times the delay, with a list and a write.
pub(crate) const WELL_AFTER: Duration = Duration::from_secs(8);

/// A toxiproxy with a recording server in front of it.
pub(crate) struct Bed {
    pub(crate) toxiproxy: Toxiproxy,
    pub(crate) outside: Outside,
}

impl Bed {
    pub(crate) async fn new(world: &World) -> Result<Self> {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        Ok(Self { toxiproxy, outside })
    }

    /// Returns the shipped target under a name, for objects with these labels.
    pub(crate) fn target(&self, world: &World, name: &str, selector: &str) -> Result<Target> {
        let target = Target::shipped(world, self.outside.url())?.named(name);
        Ok(target.with("/spec/objects/labelSelector", json!(selector)))
    }

    pub(crate) async fn upstream(&self, name: &str) -> Result<Option<String>> {
        Ok(self.toxiproxy.proxy(name).await?.map(|proxy| proxy.upstream))
    }
}

/// Starts a program that cleans up after two seconds.
pub(crate) async fn start(world: &World, which: Which) -> Result<std::sync::Arc<Program>> {
    let arguments = vec!["--clean-up-after".to_owned(), humantime(PATIENCE)];
    world.start(which, Options { arguments, ..Options::default() }).await
}

fn humantime(span: Duration) -> String {
    format!("{}ms", span.as_millis())
}

pub(crate) async fn start_both(world: &World) -> Result<()> {
    start(world, Which::Poller).await?;
    start(world, Which::Controller).await.map(drop)
}

/// Creates a Proxy that does not listen, so that many fit on one machine.
pub(crate) async fn create(world: &World, name: &str, tier: &str) -> Result<()> {
    let spec = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9", "enabled": false});
    world.create_proxy_with(name, json!({"labels": {"tier": tier}}), spec).await.map(drop)
}

/// Returns true if the object is corrected, verified in sync by a later poll, and has our finalizer: no further write
/// follows.
pub(crate) fn is_settled(object: &Value) -> bool {
    is_verified(object) && has_finalizer(object)
}

pub(crate) fn has_finalizer(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|one| one == FINALIZER))
}

fn is_clean(object: &Value) -> bool {
    condition(object, DRIFT_OBSERVED).is_none()
        && condition(object, DRIFT_CORRECTED).is_none()
        && !has_finalizer(object)
}

pub(crate) async fn settled(world: &World, name: &str) -> Result<Value> {
    world.wait_for_proxy(name, "settled", is_settled).await
}

/// Waits until the programs' Leases list exactly these targets.
pub(crate) async fn wait_for_notes(world: &World, targets: &[&str]) -> Result<()> {
    for lease in ["drift-poller", "drift-controller"] {
        wait::until(format!("{lease} to note {targets:?}"), wait::DEADLINE, async || {
            let lease = world.lease(lease).await?.context("no such Lease")?;
            let text = lease["metadata"]["annotations"][SELECTIONS_ANNOTATION].as_str().unwrap_or("[]").to_owned();
            let notes: Vec<Value> = serde_json::from_str(&text)?;
            let noted: Vec<&str> = notes.iter().filter_map(|note| note["target"].as_str()).collect();
            Ok(if noted == targets { Seen::Met(()) } else { Seen::Instead(text) })
        })
        .await?;
    }
    Ok(())
}

/// Returns the most records within one second, and the seconds from first to last.
fn rate(records: &[AuditRecord]) -> (usize, f64) {
    let mut times: Vec<f64> = records.iter().map(|record| record.received.as_microsecond() as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    let within = |from: f64| times.iter().filter(|at| **at >= from && **at < from + 1.0).count();
    let most = times.iter().map(|at| within(*at)).max().unwrap_or(0);
    let span = times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first);
    (most, span)
}

/// Puts another writer's condition before ours, in one list. Returns it.
async fn put_foreign_condition(world: &World, name: &str) -> Result<Value> {
    let object = world.proxy(name).await?.context("no such object")?;
    let mut conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let time = "2026-01-01T00:00:00Z";
    let ready = json!({"type": "Ready", "status": "True", "reason": "Ready", "message": "fine",
        "observedGeneration": 1, "lastTransitionTime": time});
    conditions.insert(0, ready.clone());
    world.patch_proxy_status(name, json!({"status": {"conditions": conditions}})).await?;
    Ok(ready)
}

/// Checks that the program slowly removed one condition from each object since its first `before` writes. Returns a
/// description.
async fn removals(world: &World, which: Which, before: usize, objects: usize) -> Result<String> {
    let records = world.all_writes_by(which).await?;
    let fresh = records.get(before..).unwrap_or_default().iter();
    // If both programs write to one object at once, one write is rejected and retried.
    let removed = fresh.filter(|record| record.subresource == "status" && record.accepted());
    let removed: Vec<AuditRecord> = removed.cloned().collect();
    ensure!(removed.len() == objects, "{} status writes by {} for {objects} objects", removed.len(), which.name());
    let (most, span) = rate(&removed);
    // The rate limit applies to reads. A late write may share a second with the next ones.
    ensure!(most <= 55 && span >= 1.4, "{}: {most} within a second, all within {span} s", which.name());
    Ok(format!("{}: at most {most} removals in a second, {objects} in {span:.1} s", which.name()))
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_narrowed_selection_is_cleaned_up_slowly() -> Result<()> {
    /// More than the number of cleanups in one second.
    const OUT: usize = 80;
    World::run("narrowed", async |world| {
        let bed = Bed::new(world).await?;
        let wide = bed
            .target(world, "proxies", "tier in (kept, out)")?
            .with("/spec/interval", json!("5s"))
            .with("/spec/correct/limits", json!({"perMinute": 6000, "concurrent": 16}));
        world.apply_target(&wide).await?;
        start_both(world).await?;
        let out: Vec<String> = (0..OUT).map(|number| format!("out{number}")).collect();
        for name in &out {
            create(world, name, "out").await?;
        }
        create(world, "kept", "kept").await?;
        for name in out.iter().map(String::as_str).chain(["kept"]) {
            settled(world, name).await?;
        }
        let ready = put_foreign_condition(world, "out0").await?;
        let written = bed.outside.writes();
        let mut before = Vec::new();
        for which in [Which::Poller, Which::Controller] {
            before.push(world.all_writes_by(which).await?.len());
        }

        world.apply_target(&wide.clone().with("/spec/objects/labelSelector", json!("tier=kept"))).await?;
        for name in &out {
            world.wait_for_proxy(name, "cleaned up", is_clean).await?;
        }
        for name in &out {
            let object = world.proxy(name).await?.context("no such object")?;
            ensure!(object["metadata"]["generation"] == 1, "its spec was touched: {object}");
            ensure!(bed.upstream(name).await?.is_some(), "{name} is gone outside");
        }
        let object = world.proxy("out0").await?.context("no such object")?;
        ensure!(object["status"]["conditions"] == json!([ready]), "{object}");
        ensure!(is_settled(&world.proxy("kept").await?.context("no such object")?), "what is selected was touched");
        ensure!(bed.outside.writes() == written, "{:?}", bed.outside.requests());
        let mut figures = Vec::new();
        for (which, before) in [Which::Poller, Which::Controller].into_iter().zip(before) {
            figures.push(removals(world, which, before, OUT).await?);
        }
        world.nothing_is_written_for(WELL_AFTER).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_target_removed_unseen_is_cleaned_up() -> Result<()> {
    World::run("removed while away", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        // In another namespace, so that its watch does not find the leftovers.
        let other = bed.target(world, "others", "tier=b")?;
        let other = other.with("/spec/objects/namespaces", json!([world.programs_namespace()]));
        world.apply_targets(&[target, other.clone()]).await?;
        let poller = start(world, Which::Poller).await?;
        let controller = start(world, Which::Controller).await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        controller.stop().await?;
        poller.stop().await?;
        world.apply_target(&other).await?;

        let writes = bed.outside.writes();
        // With the shipped delay, because the finalizer does not wait for the cleanup.
        let controller = world.start_controller().await?;
        world.wait_for_proxy("web", "released", |object| !has_finalizer(object)).await?;
        world.wait_for_event("ExternalLeftBehind", "web").await?;
        controller.stop().await?;
        start_both(world).await?;
        world.wait_for_proxy("web", "cleaned up", is_clean).await?;
        wait_for_notes(world, &["others"]).await?;
        ensure!(bed.outside.writes() == writes, "{:?}", bed.outside.requests());
        ensure!(bed.upstream("web").await?.is_some(), "it is gone outside");
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        Ok(())
    })
    .await
}

/// Runs `drift-controller release` with the controller's own ServiceAccount.
async fn release(world: &World, more: &[&str]) -> Result<(Option<i32>, String)> {
    let access = world.control_plane().service_account(world.programs_namespace(), "drift-controller").await?;
    let kubeconfig = world.folder().join("release.kubeconfig");
    access.write(&kubeconfig)?;
    release_in(world.programs_namespace(), &kubeconfig, more).await
}

async fn release_in(namespace: &str, kubeconfig: &Path, more: &[&str]) -> Result<(Option<i32>, String)> {
    let mut command = Command::new(built().await?.path(Which::Controller));
    command.args(["release", "--namespace", namespace]).args(more).env("KUBECONFIG", kubeconfig);
    command.kill_on_drop(true);
    let output: Output = tokio::time::timeout(wait::DEADLINE, command.output()).await.context("release hangs")??;
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Ok((output.status.code(), said))
}

/// Checks that a dry run exits with this code, prints this text about an object, and changes nothing.
async fn tries_a_release(world: &World, expected: (i32, &str)) -> Result<()> {
    let lease = world.lease("drift-controller").await?.context("no such Lease")?;
    let (code, said) = release(world, &["--dry-run"]).await?;
    let would = format!("would release Proxy {}/one (dry run)\n", world.objects_namespace());
    ensure!(code == Some(expected.0) && said.contains(&would) && said.contains(expected.1), "{code:?}: {said}");
    ensure!(world.all_proxies().await?.iter().all(has_finalizer), "released by a dry run");
    let now = world.lease("drift-controller").await?.context("no such Lease")?;
    ensure!(now["spec"]["leaseTransitions"] == lease["spec"]["leaseTransitions"], "a dry run took the Lease");
    let (code, said) = release(world, &["--context", "elsewhere"]).await?;
    ensure!(code == Some(3) && said.contains("elsewhere"), "another cluster than was named: {code:?}: {said}");
    Ok(())
}

#[tokio::test]
async fn release_takes_off_every_finalizer() -> Result<()> {
    World::run("release", async |world| {
        let bed = Bed::new(world).await?;
        let (kept, gone) = (bed.target(world, "kept", "tier=a")?, bed.target(world, "removed", "tier=b")?);
        world.apply_targets(&[kept.clone(), gone]).await?;
        start(world, Which::Poller).await?;
        let controller = start(world, Which::Controller).await?;
        for (name, tier) in [("one", "a"), ("two", "a"), ("three", "b"), ("deleted", "a")] {
            create(world, name, tier).await?;
            settled(world, name).await?;
        }
        let (code, said) = release(world, &[]).await?;
        ensure!(code == Some(3) && said.contains("holds the Lease"), "{code:?}: {said}");
        tries_a_release(world, (3, "for now a release is refused")).await?;
        for object in world.all_proxies().await? {
            ensure!(has_finalizer(&object), "released beside a controller: {object}");
        }
        controller.stop().await?;
        // One target is known only from the Lease, and one object has only our finalizer left.
        world.apply_target(&kept).await?;
        world.delete_proxy("deleted").await?;
        let writes = bed.outside.writes();

        tries_a_release(world, (0, "4 objects would lose the finalizer")).await?;
        let (code, said) = release(world, &[]).await?;
        ensure!(code == Some(0), "{code:?}: {said}");
        world.wait_until_gone("deleted").await?;
        for object in world.all_proxies().await? {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            ensure!(!has_finalizer(&object), "{name} keeps it: {said}");
            let line = format!("released Proxy {}/{name}", world.objects_namespace());
            ensure!(said.lines().filter(|said| **said == line).count() == 1, "no line for {name}: {said}");
        }
        ensure!(bed.outside.writes() == writes, "{:?}", bed.outside.requests());
        for name in ["one", "two", "three", "deleted"] {
            ensure!(bed.upstream(name).await?.is_some(), "{name} is gone outside");
        }
        let lease = world.lease("drift-controller").await?.context("no such Lease")?;
        ensure!(lease["spec"]["holderIdentity"].as_str().unwrap_or_default().is_empty(), "{lease}");
        let (code, said) = release(world, &[]).await?;
        ensure!(code == Some(0) && !said.contains("released Proxy"), "a second time: {code:?}: {said}");
        let mistyped = world.objects_namespace();
        let (code, said) = release_in(mistyped, &world.control_plane().admin_kubeconfig(), &[]).await?;
        ensure!(code == Some(3) && said.contains("Is it the right one?"), "{code:?}: {said}");
        let leases = world.api("coordination.k8s.io/v1", "Lease", Some(mistyped))?;
        ensure!(leases.list(&ListParams::default()).await?.items.is_empty(), "a Lease was left in {mistyped}");
        Ok(())
    })
    .await
}
