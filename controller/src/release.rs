//! `drift-controller release`: before an uninstall, the finalizer is taken off every object of ours.
//!
//! Without a controller nobody would ever take it off, and a deletion would wait for ever. It holds the controller's
//! Lease meanwhile, so that no controller puts finalizers on again, and touches nothing outside.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use drift_cluster::cleanup::{Selections, namespaces_of};
use drift_cluster::client;
use drift_cluster::client::{ObjectClient, ObjectPages, WriteError};
use drift_cluster::kinds::{KindError, KindName, ResolvedKind};
use drift_cluster::lease::{LeaseHandle, LeaseWatch};
use drift_cluster::process::progress::Progress;
use drift_cluster::process::settings::{BAD_USAGE, HomeSettings};
use drift_cluster::process::shutdown::ShutdownSignals;
use drift_cluster::process::site::Site;
use drift_cluster::telemetry::metrics;
use drift_model::field_paths::FieldPaths;
use drift_model::names::{CONTROLLER_LEASE, CONTROLLER_MANAGER, SELECTIONS_ANNOTATION};
use drift_model::object::LeanObject;
use drift_target::Target;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use tokio_util::sync::CancellationToken;

use crate::core::finalizer::release_patch;

/// How long the Lease may take to become ours: one that a controller left when it died is free after twelve seconds.
const LEASE_PATIENCE: Duration = Duration::from_secs(20);
/// How long the ConfigMaps, and the Lease, may take to be read.
const CONFIGURATION_PATIENCE: Duration = Duration::from_secs(30);
/// How often an object is read again when somebody else writes to it at the same moment.
const TRIES: usize = 5;

/// Takes every finalizer off; the exit code is 0 only where none is left, and 3 while a controller holds the Lease or where
/// nothing in the namespace says what was selected.
///
/// # Errors
/// When the API server cannot be asked.
pub async fn release(settings: &HomeSettings) -> anyhow::Result<ExitCode> {
    let signals = ShutdownSignals::listen().context("listening for signals")?;
    let client = client::connect().await?;
    // A name that no controller has.
    let instance = format!("release-{}", settings.instance());
    let settings = HomeSettings { instance: Some(instance), ..settings.clone() };
    let site = Site::new(client, &settings, CONTROLLER_MANAGER);
    site.spawn("signals", signals.forward(site.stop.clone()));
    let lease_name = settings.lease_name(CONTROLLER_LEASE);
    let targets = Targets::read(&site).await?;
    if targets.0.is_empty() && !lease_exists(&site, &lease_name).await? {
        complain(&format!(
            "nothing in the namespace {} says what was selected: it has neither a ConfigMap of targets nor the Lease {lease_name}. Is it the right one? --namespace names another",
            site.namespace
        ));
        return Ok(ExitCode::from(BAD_USAGE));
    }
    let lease_stop = CancellationToken::new();
    let (lease, lease_task) = site.hold_lease(lease_name.clone(), BTreeMap::new(), &lease_stop);
    let ended = tokio::select! {
        ended = with_lease(&site, &lease, (&lease_name, &targets)) => ended,
        () = site.stop.cancelled() => Err(anyhow::anyhow!("told to end before everything was released")),
        () = site.failed.cancelled() => Err(anyhow::anyhow!("a task panicked")),
    };
    lease_stop.cancel();
    // The task bounds its release by itself.
    let _ = lease_task.await;
    site.stop.cancel();
    ended
}

/// The targets in force, as the ConfigMaps have them.
struct Targets(BTreeMap<String, Arc<Target>>);

impl Targets {
    async fn read(site: &Site) -> anyhow::Result<Self> {
        let mut registry = metrics::registry("controller");
        let mut configuration = site.watch_configuration(None, &mut registry);
        let loaded = configuration.wait_for(|configuration| configuration.loaded);
        let loaded =
            tokio::time::timeout(CONFIGURATION_PATIENCE, loaded).await.context("the ConfigMaps cannot be read")??;
        for problem in &loaded.problems {
            complain(&format!("a document that cannot be read is looked for by its note only: {problem}"));
        }
        Ok(Self(loaded.targets.clone()))
    }
}

/// Whether a controller ever led here. Holding the Lease would make it, also in a namespace that somebody mistyped.
async fn lease_exists(site: &Site, name: &str) -> anyhow::Result<bool> {
    let leases = Api::<Lease>::namespaced(site.client.clone(), &site.namespace);
    let found = tokio::time::timeout(CONFIGURATION_PATIENCE, leases.get_opt(name)).await;
    let found = found.context("no answer")?.with_context(|| format!("reading the Lease {}/{name}", site.namespace))?;
    Ok(found.is_some())
}

async fn with_lease(site: &Site, lease: &LeaseHandle, (name, targets): (&str, &Targets)) -> anyhow::Result<ExitCode> {
    if let Some(holder) = holder_instead(site, lease, name).await? {
        let place = format!("{}/{name}", site.namespace);
        complain(&format!(
            "nothing is released: the drift-controller {holder} holds the Lease {place}. Scale drift-controller to 0, and release then"
        ));
        return Ok(ExitCode::from(BAD_USAGE));
    }
    let notes = all_notes(lease, targets)?;
    let (mut left, mut unknown) = (0, 0);
    let kinds: BTreeSet<KindName> = notes.iter().map(|(selection, _)| selection.kind_name()).collect();
    for kind in kinds {
        match (Release { site, lease, notes: &notes, name: &kind }).of_kind().await {
            Ok(held) => left += held,
            Err(error) => {
                unknown += 1;
                complain(&format!("not released any {}: {error:#}", kind.kind));
            }
        }
    }
    match (left, unknown) {
        (0, 0) => say("no finalizer is left"),
        (left, 0) => complain(&format!("{left} objects keep the finalizer")),
        (left, unknown) => {
            complain(&format!("{left} objects keep the finalizer, and {unknown} kinds could not be looked through"));
        }
    }
    Ok(if left + unknown == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Waits for the Lease; gives who holds it instead, and lives.
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

/// What the Lease notes and what the targets select.
fn all_notes(lease: &LeaseHandle, targets: &Targets) -> anyhow::Result<Selections> {
    let found = lease.leadership().found_annotations();
    let (mut notes, unreadable) =
        found.get(SELECTIONS_ANNOTATION).map(|text| Selections::parse(text)).unwrap_or_default();
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
    notes: &'a Selections,
    name: &'a KindName,
}

impl Release<'_> {
    /// Gives how many are left.
    async fn of_kind(&self) -> anyhow::Result<usize> {
        let Some(kind) = self.locate().await? else { return Ok(0) };
        let (held, mut progress) = (self.held(&kind).await?, Progress::begin());
        for (number, object) in held.iter().enumerate() {
            progress.tell(&format!("releasing {} {} of {}", self.name.kind, number + 1, held.len()));
            let ended = self.free(&kind, object).await;
            // On a terminal both stand on one screen.
            progress.clear();
            match ended {
                Ok(()) => say(&format!("released {} {}", self.name.kind, object.id)),
                Err(error) => complain(&format!("not released {} {}: {error}", self.name.kind, object.id)),
            }
        }
        Ok(self.held(&kind).await?.len())
    }

    /// The kind; without it in any served version there are no objects of it.
    async fn locate(&self) -> anyhow::Result<Option<ResolvedKind>> {
        match self.notes.locate(&self.site.client, self.name).await {
            Ok(kind) => Ok(Some(kind)),
            Err(KindError::Missing { .. }) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("looking {} up", self.name.kind)),
        }
    }

    async fn held(&self, kind: &ResolvedKind) -> anyhow::Result<Vec<LeanObject>> {
        let namespaces = namespaces_of(self.notes.of_kind(self.name));
        let mut pages = ObjectPages::new(&self.site.client, kind, &namespaces, FieldPaths::default());
        let mut held = Vec::new();
        while let Some(page) = pages.next().await.with_context(|| format!("listing {}", kind.resource.plural))? {
            held.extend(page.into_iter().filter(LeanObject::has_finalizer));
        }
        Ok(held)
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

/// A line for whoever called; the log is for everything else. Where nobody reads any more, what was begun goes on.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The same of what is not as it should be.
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
