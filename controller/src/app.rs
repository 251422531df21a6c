//! The program from its command line to its exit. Creates every part once and passes it on.
//!
//! Only this file knows all parts. The shutdown order matters: no new work begins, running external calls finish and
//! are recorded, then the Lease is released. So no other controller starts while this one still acts.

use axum::Router;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use drift_api::names::{CONTROLLER_LEASE, CONTROLLER_MANAGER, CREDENTIAL_CONTROLLER, POLLER_LEASE};
use drift_api::object::report::installation;
use drift_kube::access::rights::right_to_read_lease;
use drift_kube::process::kill_point::reach;
use drift_kube::process::shutdown::{DRAIN_DEADLINE, NOTE_DEADLINE};
use drift_kube::process::tasks;
use drift_kube::program::settings::parse_lease_name;
use drift_kube::program::{Base, ProgramSettings, supervise};
use drift_kube::telemetry;
use drift_kube::{
    AdminServer, CallSlots, CleanUpSettings, CleanedObjects, Collector, Identities, KillPoint, KindWatches,
    KubeconfigSettings, LeaseWatch, LogSettings, NotedSelections, ResourceClient, RunSettings, ShutdownSignals, Site,
    SweepSettings, UnderWay,
};
use drift_systems::{Databases, HttpSender, ProjectedTokens};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::decide::attestation::Attestations;
use crate::release::{ReleaseSettings, release};
use crate::run::attestation;
use crate::run::clean_up::MarkCleaner;
use crate::run::context::Context;
use crate::run::handover::Handovers;
use crate::run::metrics::Metrics;
use crate::run::published_holds::PublishedHolds;
use crate::run::secrets::Secrets;
use crate::run::target_work::work;

/// Examples and exit codes at the end of `run --help`.
const RUN_EXAMPLES: &str = "Example, beside a cluster and not in it:
  drift-controller run --namespace drift-system --admin-address 127.0.0.1:8081

Exit codes: 0 ended on request, 1 it could not start or a part of it failed, 3 bad usage";
/// Examples and exit codes at the end of `release --help`.
const RELEASE_EXAMPLES: &str = "Examples, once drift-controller is scaled to 0:
  drift-controller release --namespace drift-system --context production --dry-run      which objects it would release
  drift-controller release --namespace drift-system --context production

Exit codes: 0 no finalizer is left (or, with --dry-run, all were told), 1 some are, 3 a controller holds the Lease, or it is the wrong
namespace";

/// Corrects external systems that drifted from the spec of Kubernetes objects, as the poller's driftObserved says.
#[derive(Debug, clap::Parser)]
#[command(version, about)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    logs: LogSettings,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Correct until told to end
    #[command(after_help = RUN_EXAMPLES)]
    Run(Settings),
    /// Before an uninstall: take the finalizer off every object, and leave everything outside as it is
    #[command(after_help = RELEASE_EXAMPLES)]
    Release(ReleaseSettings),
}

#[derive(Clone, Debug, clap::Args)]
struct Settings {
    #[command(flatten)]
    run: RunSettings,
    /// Name of the Lease by which the poller attests
    #[arg(long, default_value = POLLER_LEASE, value_parser = parse_lease_name)]
    poller_lease_name: String,
    #[command(flatten)]
    clean_up: CleanUpSettings,
}

/// Runs the program and returns its exit code.
///
/// # Errors
/// Fails when the program cannot start.
pub fn run(command_line: CommandLine) -> anyhow::Result<ExitCode> {
    telemetry::start(&command_line.logs.log_level, command_line.logs.log_format)?;
    let work = async {
        match command_line.command {
            Command::Run(settings) => serve(&settings).await,
            Command::Release(settings) => release(&settings).await,
        }
    };
    tasks::run(work).context("starting the async runtime")?
}

async fn serve(settings: &Settings) -> anyhow::Result<ExitCode> {
    let signals = ShutdownSignals::listen().context("listening for signals")?;
    settings.run.egress.trust_bundle().map_err(anyhow::Error::msg)?;
    let admin = AdminServer::bind(settings.run.admin_address).await?;
    let site = Site::connect(KubeconfigSettings::default(), &settings.run.home, CONTROLLER_MANAGER).await?;
    let resources = site.connect_resources().await?;
    site.spawn("signals", signals.forward(site.stop.clone()));

    let program = Program::assemble(&site, settings, (admin, resources));
    program.base.lead(async |term| program.work_for(term).await).await;
    Ok(program.drain().await)
}

/// All parts of the running program, with those that end last.
struct Program {
    context: Context,
    /// Time that an object must be unselected by every target before its leftover condition is removed.
    patience: Duration,
    base: Base,
    /// Aborts running external calls.
    cut_off: CancellationToken,
}

impl Program {
    fn assemble(site: &Site, settings: &Settings, (admin, resources): (AdminServer, ResourceClient)) -> Self {
        let own = ProgramSettings {
            name: "controller",
            lease: settings.run.home.lease_name(CONTROLLER_LEASE),
            credential: CREDENTIAL_CONTROLLER,
            on_take: BTreeMap::new(),
            more_rights: vec![right_to_read_lease(&site.namespace, &settings.poller_lease_name)],
            reports_documents: false,
        };
        let (base, mut registry) = Base::assemble(site, own);
        let projected = ProjectedTokens::new(&settings.run.projected_tokens);
        let proxy = settings.run.egress.proxy();
        let secrets = base.secrets.clone();
        let context = Context {
            home: site.namespace.clone(),
            installation: installation(&site.namespace, &settings.poller_lease_name),
            client: site.client.clone(),
            kinds: site.search_kinds(),
            configuration: base.configuration.clone(),
            attestations: watch_attestations(site, &settings.poller_lease_name),
            sender: HttpSender::with_projected(projected, proxy, secrets.clone(), CONTROLLER_MANAGER),
            databases: Databases::new(secrets.clone(), CONTROLLER_MANAGER),
            secrets: Secrets::new(secrets, site.readable_secrets()),
            resources,
            gate: Arc::default(),
            slots: CallSlots::default(),
            rights: base.rights.clone(),
            events: base.events.clone(),
            metrics: Metrics::register(&mut registry),
            holds: PublishedHolds::default(),
            cleaned: CleanedObjects::register(&mut registry),
            health: site.health.clone(),
            leadership: base.lease.leadership(),
            term: CancellationToken::new(),
            stop: site.stop.clone(),
            failed: site.failed.clone(),
            jobs: TaskTracker::new(),
            under_way: UnderWay::default(),
            notes: NotedSelections::default(),
            watches: KindWatches::new(settings.run.memory_limit),
            identities: Identities::default(),
            handovers: Handovers::default(),
        };
        let metrics = base.shown_metrics(registry);
        site.spawn("admin", admin.serve(site.health.clone(), metrics, Router::new(), site.stop.clone()));
        Self { context, patience: settings.clean_up.clean_up_after, base, cut_off: CancellationToken::new() }
    }

    async fn work_for(&self, term: CancellationToken) {
        tracing::info!("leading: targets are corrected");
        reach(KillPoint::ControllerAfterLease);
        let ended = self.context.stop.child_token();
        let acting = self.cut_off.child_token();
        // Losing the term aborts running external calls, also while the program drains.
        let (lost, cut) = (term.clone(), acting.clone());
        tasks::spawn("term", self.context.failed.clone(), async move {
            lost.cancelled().await;
            cut.cancel();
        });
        let context = self.context.for_term(acting);
        let Context { configuration, notes, watches, identities, holds, .. } = &*context;
        let lease = &self.base.lease;
        notes.begin(lease);
        let sweep = SweepSettings::of_conditions(self.patience).with_finalizers();
        let collector = Collector::new(&context.collector(), MarkCleaner(context.clone()), sweep);
        // Boxed, because the future of a term would be large with them.
        let collecting = Box::pin(collector.run());
        let start = |target, stop| work(context.clone(), target, stop);
        let working = supervise(configuration.clone(), ended.clone(), start);
        let watching = async {
            tokio::select! {
                () = term.cancelled() => tracing::warn!("the Lease is lost: correcting stops"),
                () = self.base.keep_term(notes, watches) => {}
                () = holds.keep(lease) => {}
                () = holds.follow(configuration.clone(), notes.clone()) => {}
                () = identities.follow(configuration.clone(), notes.clone()) => {}
                () = collecting => {}
                () = ended.cancelled() => {}
            }
            ended.cancel();
        };
        tokio::join!(working, watching);
    }

    /// Lets running work finish and be recorded, then ends the common parts: Events about that work are sent too.
    async fn drain(self) -> ExitCode {
        let jobs = &self.context.jobs;
        jobs.close();
        if tokio::time::timeout(DRAIN_DEADLINE, jobs.wait()).await.is_err() {
            tracing::warn!(count = jobs.len(), "work did not end in time and is cut off");
            self.cut_off.cancel();
            // The next controller retries work that could not be recorded, with the same idempotency key.
            let _ = tokio::time::timeout(NOTE_DEADLINE, jobs.wait()).await;
        }
        self.base.end().await
    }
}

/// Follows the poller's attestations.
fn watch_attestations(site: &Site, poller_lease: &str) -> watch::Receiver<Attestations> {
    let (lease_watch, observed) = LeaseWatch::new(site.client.clone(), &site.namespace, poller_lease);
    site.spawn("poller lease", lease_watch.run(site.stop.clone()));
    let (sender, attestations) = watch::channel(Attestations::default());
    site.spawn("attestations", attestation::follow(observed, sender, site.stop.clone()));
    attestations
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn every_command_shows_an_example() {
        for subcommand in CommandLine::command().get_subcommands() {
            let name = subcommand.get_name();
            let shown = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(
                shown.starts_with("Example") && shown.contains(&format!("drift-controller {name}")),
                "{name}: {shown}"
            );
        }
    }
}
