//! `drift-controller release`: removes our finalizer from every object before an uninstall.
//!
//! Without a controller the finalizer would stay, and deletions would hang. The command holds the controller's Lease,
//! so that no controller adds finalizers meanwhile. It changes nothing in external systems. A dry run takes no Lease
//! and writes nothing.

mod dry_run;
mod held;
mod printing;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use drift_api::names::{CONTROLLER_LEASE, CONTROLLER_MANAGER, SELECTIONS_ANNOTATION};
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_kube::process::clock;
use drift_kube::program::settings::BAD_USAGE;
use drift_kube::telemetry::metrics;
use drift_kube::{
    HomeSettings, KubeconfigSettings, LeaseHandle, LeaseWatch, ObjectClient, Progress, ResolvedKind, Selections,
    ShutdownSignals, Site, WriteError,
};
use drift_language::{Folded, Target};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use tokio_util::sync::CancellationToken;

use crate::engine::corrections::finalizer_patches::release_patch;
use dry_run::{Holder, print_plan};
use held::{Search, kinds_of};
use printing::{print_error, say};

/// Time to acquire the Lease. The Lease of a controller that crashed is free after 12 seconds.
const LEASE_PATIENCE: Duration = Duration::from_secs(20);
/// Time to read the ConfigMaps, and to read the Lease.
const CONFIGURATION_PATIENCE: Duration = Duration::from_secs(30);
/// Attempts to patch an object while another writer changes it.
const TRIES: usize = 5;
/// Message when a release is interrupted.
const RELEASE_ENDED: &str = "told to end before everything was released";
/// Message when a dry run is interrupted.
const DRY_RUN_ENDED: &str = "told to end before everything was looked through; a dry run releases nothing";

/// Settings of the `release` command.
#[derive(Clone, Debug, clap::Args)]
pub struct ReleaseSettings {
    #[command(flatten)]
    home: HomeSettings,
    /// Say what would be released, and release nothing; no Lease is taken
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    cluster: KubeconfigSettings,
}

/// Removes every finalizer. Returns exit code 0 only if none is left, and 3 if a controller holds the Lease or if the
/// namespace contains no record of selected objects.
///
/// # Errors
/// Fails when the API server cannot be queried.
pub async fn release(settings: &ReleaseSettings) -> anyhow::Result<ExitCode> {
    let signals = ShutdownSignals::listen().context("listening for signals")?;
    // Differs from the instance name of every controller.
    let instance = format!("release-{}", settings.home.instance());
    let home = HomeSettings { instance: Some(instance), ..settings.home.clone() };
    let site = match Site::connect(settings.cluster.clone(), &home, CONTROLLER_MANAGER).await {
        Ok(site) => site,
        Err(error) => {
            print_error(&format!("error: {error}"));
            return Ok(ExitCode::from(BAD_USAGE));
        }
    };
    site.spawn("signals", signals.forward(site.stop.clone()));
    let lease_name = home.lease_name(CONTROLLER_LEASE);
    let told_to_end = if settings.dry_run { DRY_RUN_ENDED } else { RELEASE_ENDED };
    let ended = match unless_ended(&site, told_to_end, read(&site, &lease_name)).await {
        Ok((targets, None)) if targets.0.is_empty() => {
            print_error(&format!(
                "nothing in the namespace {} says what was selected: it has neither a ConfigMap of targets nor the Lease {lease_name}. Is it the right one? --namespace names another",
                site.namespace
            ));
            Ok(ExitCode::from(BAD_USAGE))
        }
        Ok((targets, lease)) if settings.dry_run => {
            unless_ended(&site, told_to_end, dry_run(&site, lease.as_ref(), (&lease_name, &targets))).await
        }
        Ok((targets, _)) => by_lease(&site, &lease_name, &targets).await,
        Err(error) => Err(error),
    };
    site.stop.cancel();
    ended
}

/// Runs the work, or fails with the message `told_to_end` if the program is interrupted first.
async fn unless_ended<T>(
    site: &Site,
    told_to_end: &'static str,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    tokio::select! {
        ended = work => ended,
        () = site.stop.cancelled() => Err(anyhow::anyhow!(told_to_end)),
        () = site.failed.cancelled() => Err(anyhow::anyhow!("a task panicked")),
    }
}

/// Reads the targets and the Lease, which record the selected kinds.
async fn read(site: &Site, lease_name: &str) -> anyhow::Result<(Targets, Option<Lease>)> {
    Ok((Targets::read(site).await?, read_lease(site, lease_name).await?))
}

async fn by_lease(site: &Site, name: &str, targets: &Targets) -> anyhow::Result<ExitCode> {
    let stop = CancellationToken::new();
    let (lease, lease_task) = site.hold_lease(name.to_owned(), BTreeMap::new(), &stop);
    let ended = unless_ended(site, RELEASE_ENDED, with_lease(site, &lease, (name, targets))).await;
    stop.cancel();
    // The Lease task bounds its own release.
    let _ = lease_task.await;
    ended
}

/// Active targets from the ConfigMaps.
struct Targets(BTreeMap<String, Arc<Target>>);

impl Targets {
    async fn read(site: &Site) -> anyhow::Result<Self> {
        let mut registry = metrics::registry("controller");
        let mut configuration = site.watch_configuration(None, &mut registry);
        let loaded = configuration.wait_for(|configuration| configuration.loaded);
        let loaded =
            tokio::time::timeout(CONFIGURATION_PATIENCE, loaded).await.context("the ConfigMaps cannot be read")??;
        for problem in Folded::all(&loaded.problems) {
            print_error(&format!("a document that cannot be read is looked for by its note only: {problem}"));
        }
        Ok(Self(loaded.targets.clone()))
    }
}

/// Reads the Lease if a controller ever led in this namespace. Acquiring it instead would create it, even in
/// a mistyped namespace.
async fn read_lease(site: &Site, name: &str) -> anyhow::Result<Option<Lease>> {
    let leases = Api::<Lease>::namespaced(site.client.clone(), &site.namespace);
    let found = tokio::time::timeout(CONFIGURATION_PATIENCE, leases.get_opt(name)).await;
    found.context("no answer")?.with_context(|| format!("reading the Lease {}/{name}", site.namespace))
}

async fn with_lease(site: &Site, lease: &LeaseHandle, (name, targets): (&str, &Targets)) -> anyhow::Result<ExitCode> {
    if let Some(holder) = holder_instead(site, lease, name).await? {
        let place = format!("{}/{name}", site.namespace);
        print_error(&format!(
            "nothing is released: the drift-controller {holder} holds the Lease {place}. Scale drift-controller to 0, and release then"
        ));
        return Ok(ExitCode::from(BAD_USAGE));
    }
    let found = lease.leadership().found_annotations();
    let notes = all_notes(found.get(SELECTIONS_ANNOTATION).map(String::as_str), targets)?;
    let (mut left, mut unknown) = (0, 0);
    for kind in kinds_of(&notes) {
        let search = Search { client: &site.client, notes: &notes, name: &kind };
        match (Release { site, lease, search }).of_kind().await {
            Ok(held) => left += held,
            Err(error) => {
                unknown += 1;
                print_error(&format!("not released any {}: {error:#}", kind.kind));
            }
        }
    }
    match (left, unknown) {
        (0, 0) => say("no finalizer is left"),
        (left, 0) => print_error(&format!("{left} objects keep the finalizer")),
        (left, unknown) => {
            print_error(&format!("{left} objects keep the finalizer, and {unknown} kinds could not be looked through"));
        }
    }
    Ok(if left + unknown == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the effects of a release now.
async fn dry_run(site: &Site, lease: Option<&Lease>, (name, targets): (&str, &Targets)) -> anyhow::Result<ExitCode> {
    let noted = lease.and_then(|lease| lease.metadata.annotations.as_ref()?.get(SELECTIONS_ANNOTATION));
    let notes = all_notes(noted.map(String::as_str), targets)?;
    let all_looked_through = print_plan(&site.client, &notes).await;
    if let Some(holder) = lease.and_then(|lease| Holder::of(lease, clock::wall())) {
        print_error(&format!(
            "for now a release is refused: the drift-controller {} holds the Lease {}/{name}",
            holder.0, site.namespace
        ));
        return Ok(ExitCode::from(BAD_USAGE));
    }
    Ok(if all_looked_through { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Waits for the Lease. Returns the current holder if another live instance keeps it.
async fn holder_instead(site: &Site, lease: &LeaseHandle, name: &str) -> anyhow::Result<Option<String>> {
    let (watch, mut observed) = LeaseWatch::new(site.client.clone(), &site.namespace, name);
    let leadership = lease.leadership();
    let somebody_else = async {
        loop {
            let seen = observed.borrow_and_update().clone();
            let holder = seen.holder.filter(|holder| !holder.is_empty() && !holder.starts_with(&site.instance));
            if let Some(holder) = holder.filter(|_| seen.changed_at.is_some()) {
                return holder;
            }
            if observed.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    };
    let stop = CancellationToken::new();
    let waiting = async {
        tokio::select! {
            biased;
            _ = leadership.acquired() => None,
            holder = somebody_else => Some(holder),
            () = watch.run(stop) => None,
        }
    };
    match tokio::time::timeout(LEASE_PATIENCE, waiting).await {
        Ok(holder) => Ok(holder),
        Err(_) => {
            let troubles: Vec<String> = site.health.parts().into_iter().filter_map(|part| part.trouble).collect();
            bail!("the Lease {}/{name} could not be taken: {}", site.namespace, troubles.join("; "))
        }
    }
}

/// Returns the selections of the Lease and of the targets.
fn all_notes(noted: Option<&str>, targets: &Targets) -> anyhow::Result<Selections> {
    let (mut notes, unreadable) = noted.map(Selections::parse).unwrap_or_default();
    if unreadable > 0 {
        bail!(
            "the Lease has {unreadable} notes that cannot be read: mend or remove its annotation {SELECTIONS_ANNOTATION}"
        );
    }
    targets.0.values().for_each(|target| notes.add(target));
    Ok(notes)
}

/// The release of all objects of one kind.
struct Release<'a> {
    site: &'a Site,
    lease: &'a LeaseHandle,
    search: Search<'a>,
}

impl Release<'_> {
    /// Releases all objects of the kind. Returns the number of objects that still have the finalizer.
    async fn of_kind(&self) -> anyhow::Result<usize> {
        let (search, name) = (self.search, &self.search.name.kind);
        let Some(kind) = search.locate().await? else { return Ok(0) };
        let (held, mut progress) = (search.held(&kind).await?, Progress::begin());
        for (number, object) in held.iter().enumerate() {
            progress.tell(&format!("releasing {name} {} of {}", number + 1, held.len()));
            let ended = self.free(&kind, object).await;
            // Stdout and stderr share the screen of a terminal.
            progress.clear();
            match ended {
                Ok(()) => say(&format!("released {name} {}", object.id)),
                Err(error) => print_error(&format!("not released {name} {}: {error}", object.id)),
            }
        }
        Ok(search.held(&kind).await?.len())
    }

    async fn free(&self, kind: &ResolvedKind, object: &LeanObject) -> Result<(), WriteError> {
        let objects = ObjectClient::new(self.site.client.clone(), CONTROLLER_MANAGER);
        let fields = FieldPaths::default();
        for _ in 0..TRIES {
            let live = objects.read(kind, &object.id, &fields).await?;
            let Some(patch) = live.as_ref().and_then(release_patch) else { return Ok(()) };
            if !self.lease.leadership().is_held() {
                return Err(WriteError::NotLeading);
            }
            match objects.patch(kind, &object.id, patch, &fields).await {
                Ok(_) | Err(WriteError::Gone) => return Ok(()),
                Err(WriteError::Moved) => {}
                Err(error) => return Err(error),
            }
        }
        Err(WriteError::Moved)
    }
}
