//! The program from its command line to its exit. Creates every part once and passes it on.
//!
//! Only this file knows all parts. The shutdown order matters: work stops first, then the Lease is released. So no
//! other poller starts while this one still writes.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use drift_api::names::{CREDENTIAL_POLLER, POLLER_LEASE, POLLER_MANAGER};
use drift_kube::access::rights::rights_at_home;
use drift_kube::lease::show_leader;
use drift_kube::process::kill_point::reach;
use drift_kube::process::tasks;
use drift_kube::program::supervise;
use drift_kube::telemetry::{self, metrics};
use drift_kube::{
    AdminServer, CallSlots, CleanedObjects, Collector, HeardVersions, KillPoint, KindWatches, KubeconfigSettings,
    LeaseHandle, MissingTargets, Need, NotedSelections, ResourceClient, ShutdownSignals, Site, SweepSettings,
};
use drift_systems::{Databases, HttpSender, ProjectedTokens};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::command_line::{Command, RunningSettings};
use crate::run::attestation::{AttestationList, Statements, no_annotations};
use crate::run::condition_writes::VerdictCleaner;
use crate::run::context::Context;
use crate::run::hint_inbox::webhooks::Webhooks;
use crate::run::hints::{HintContext, HintServer};
use crate::run::metrics::Metrics;
use crate::run::page::unnamed::UnnamedEntries;
use crate::run::page::{Board, ControllerLease, Page};
use crate::run::reads::outside::Outside;
use crate::run::target_work::work;

pub use crate::command_line::CommandLine;

/// Runs the program and returns its exit code.
///
/// # Errors
/// Fails when the program cannot start.
pub fn run(command_line: CommandLine) -> anyhow::Result<ExitCode> {
    let CommandLine { command: Command::Run(settings), logs } = command_line;
    telemetry::start(&logs.log_level, logs.log_format)?;
    run_until_told(&settings)
}

fn run_until_told(settings: &RunningSettings) -> anyhow::Result<ExitCode> {
    let runtime = tasks::runtime().context("starting the async runtime")?;
    let ended = runtime.block_on(serve(settings));
    // Tasks that are still running have used up their time to drain.
    runtime.shutdown_timeout(Duration::from_millis(100));
    ended
}

async fn serve(settings: &RunningSettings) -> anyhow::Result<ExitCode> {
    let signals = ShutdownSignals::listen().context("listening for signals")?;
    let admin = AdminServer::bind(settings.run.admin_address).await?;
    let hints = match settings.hints_address {
        Some(address) => Some(HintServer::bind(address).await?),
        None => None,
    };
    let site = Site::connect(KubeconfigSettings::default(), &settings.run.home, POLLER_MANAGER).await?;
    let resources = ResourceClient::connect(POLLER_MANAGER).await?;
    site.spawn("signals", signals.forward(site.stop.clone()));

    let program = Program::assemble(&site, settings, (admin, resources));
    if let Some((hints, reception)) = hints.zip(HintContext::of(&program.context)) {
        site.spawn("hints", hints.serve(reception, site.stop.clone()));
    }
    let work = program.lead();
    tokio::select! {
        () = work => {}
        () = site.failed.cancelled() => {}
    }
    site.stop.cancel();
    program.release().await;
    Ok(if site.failed.is_cancelled() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// All parts of the running program, with those that end last.
struct Program {
    context: Context,
    missing: MissingTargets,
    lease: LeaseHandle,
    lease_stop: CancellationToken,
    lease_task: JoinHandle<()>,
    stop: CancellationToken,
    _home_rights: Need,
}

impl Program {
    fn assemble(site: &Site, settings: &RunningSettings, (admin, resources): (AdminServer, ResourceClient)) -> Self {
        let mut registry = metrics::registry("poller");
        let (events, _) = site.write_events(&mut registry, site.stop.clone());
        let lease_name = settings.run.home.lease_name(POLLER_LEASE);
        let (rights, _home_rights) = site.watch_rights(rights_at_home(&site.namespace, &lease_name));
        let lease_stop = CancellationToken::new();
        let missing = site.tell_of_missing(&mut registry, &events, &lease_name);
        let (lease, lease_task) = site.hold_lease(lease_name, no_annotations(), &lease_stop);
        show_leader(&mut registry, lease.leadership());
        let secrets = site.watch_secrets(CREDENTIAL_POLLER);
        let projected = ProjectedTokens::new(&settings.run.projected_tokens);
        let context = Context {
            home: site.namespace.clone(),
            client: site.client.clone(),
            kinds: site.search_kinds(),
            configuration: site.watch_configuration(Some((events.clone(), lease.leadership())), &mut registry),
            outside: Outside {
                sender: HttpSender::with_projected(projected, secrets.clone(), POLLER_MANAGER),
                databases: Databases::new(secrets.clone(), POLLER_MANAGER),
                resources,
                gate: Arc::default(),
                troubles: Arc::default(),
            },
            slots: CallSlots::default(),
            patience: settings.clean_up.clean_up_after,
            rights,
            events,
            metrics: Metrics::register(&mut registry),
            cleaned: CleanedObjects::register(&mut registry),
            health: site.health.clone(),
            leadership: lease.leadership(),
            attestations: AttestationList::default(),
            notes: NotedSelections::default(),
            watches: KindWatches::new(settings.run.memory_limit),
            heard: HeardVersions::default(),
            board: Board::default(),
            unnamed: UnnamedEntries::new(secrets.clone()),
            secrets,
            webhooks: settings.hints_address.map(|_| Webhooks::default()),
        };
        let leader_command =
            format!("kubectl get lease {} -n {}", settings.run.home.lease_name(POLLER_LEASE), context.home);
        let Context { board, configuration, attestations, leadership, .. } = context.clone();
        let controller = ControllerLease::new(site.client.clone(), &site.namespace, &settings.controller_lease_name);
        let page = Page { board, configuration, attestations, leadership, leader_command, controller };
        let (pages, stop) = (context.unnamed.pages().merge(page.routes()), site.stop.clone());
        site.spawn("admin", admin.serve(site.health.clone(), registry, pages, stop.clone()));
        Self { context, missing, lease, lease_stop, lease_task, stop, _home_rights }
    }

    /// Works during each term of holding the Lease, until shutdown.
    async fn lead(&self) {
        self.lease.leadership().in_each_term(&self.stop, async |term| self.work_for(&term).await).await;
    }

    async fn work_for(&self, term: &CancellationToken) {
        tracing::info!("leading: targets are polled");
        reach(KillPoint::PollerAfterLease);
        let ended = self.stop.child_token();
        let context = self.context.for_term();
        let Context { configuration, attestations, notes, watches, .. } = &*context;
        notes.begin(&self.lease);
        let to_annotations = |list: &Statements| attestations.to_annotations(list, &context.health);
        let start = |target, stop| work(context.clone(), target, stop);
        let working = supervise(configuration.clone(), ended.clone(), start);
        let cleaner = VerdictCleaner(context.clone());
        let collector = Collector::new(&context.collector(), cleaner, SweepSettings::of_conditions(context.patience));
        // Boxed, because the future of a term would be large with them.
        let collecting = Box::pin(collector.run());
        let hearing = Box::pin(watches.run(context.client.clone(), context.health.clone(), configuration.clone()));
        let watching = async {
            tokio::select! {
                () = term.cancelled() => tracing::warn!("the Lease is lost: polling stops"),
                () = self.lease.keep_list(attestations.subscribe(), to_annotations) => {}
                () = notes.keep(&self.lease) => {}
                () = self.missing.follow(configuration.clone(), notes.clone()) => {}
                () = collecting => {}
                () = hearing => {}
                () = ended.cancelled() => {}
            }
            ended.cancel();
        };
        tokio::join!(working, watching);
    }

    /// Releases the Lease, so that the next poller need not wait for its expiry.
    async fn release(self) {
        self.lease_stop.cancel();
        // The Lease task bounds its own release.
        let _ = self.lease_task.await;
    }
}
