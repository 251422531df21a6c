//! The program from its command line to its exit. Creates every part once and passes it on.
//!
//! Only this file knows all parts. The shutdown order matters: work stops first, then the Lease is released. So no
//! other poller starts while this one still writes.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use drift_api::names::{CREDENTIAL_POLLER, POLLER_LEASE, POLLER_MANAGER};
use drift_api::object::report::installation;
use drift_kube::process::kill_point::reach;
use drift_kube::process::tasks;
use drift_kube::program::{Base, ProgramSettings, supervise};
use drift_kube::telemetry;
use drift_kube::{
    AdminServer, CallSlots, CleanedObjects, Collector, HeardVersions, KillPoint, KindWatches, KubeconfigSettings,
    NotedSelections, ResourceClient, ShutdownSignals, Site, SweepSettings,
};
use drift_systems::{Databases, HttpSender, ProjectedTokens};
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
use crate::run::report_sweep::sweep;
use crate::run::target_work::work;

pub use crate::command_line::CommandLine;

/// Runs the program and returns its exit code.
///
/// # Errors
/// Fails when the program cannot start.
pub fn run(command_line: CommandLine) -> anyhow::Result<ExitCode> {
    let CommandLine { command: Command::Run(settings), logs } = command_line;
    telemetry::start(&logs.log_level, logs.log_format)?;
    tasks::run(serve(&settings)).context("starting the async runtime")?
}

async fn serve(settings: &RunningSettings) -> anyhow::Result<ExitCode> {
    let signals = ShutdownSignals::listen().context("listening for signals")?;
    settings.run.egress.trust_bundle().map_err(anyhow::Error::msg)?;
    let admin = AdminServer::bind(settings.run.admin_address).await?;
    let hints = match settings.hints_address {
        Some(address) => Some(HintServer::bind(address).await?),
        None => None,
    };
    let site = Site::connect(KubeconfigSettings::default(), &settings.run.home, POLLER_MANAGER).await?;
    let resources = site.connect_resources().await?;
    site.spawn("signals", signals.forward(site.stop.clone()));

    let program = Program::assemble(&site, settings, (admin, resources));
    if let Some((hints, reception)) = hints.zip(HintContext::of(&program.context)) {
        site.spawn("hints", hints.serve(reception, site.stop.clone()));
    }
    program.base.lead(async |term| program.work_for(&term).await).await;
    Ok(program.base.end().await)
}

/// All parts of the running program, with those that end last.
struct Program {
    context: Context,
    base: Base,
}

impl Program {
    fn assemble(site: &Site, settings: &RunningSettings, (admin, resources): (AdminServer, ResourceClient)) -> Self {
        let lease_name = settings.run.home.lease_name(POLLER_LEASE);
        let leader_command = format!("kubectl get lease {lease_name} -n {}", site.namespace);
        let own = ProgramSettings {
            name: "poller",
            lease: lease_name.clone(),
            credential: CREDENTIAL_POLLER,
            on_take: no_annotations(),
            more_rights: Vec::new(),
            reports_documents: true,
        };
        let (base, mut registry) = Base::assemble(site, own);
        let secrets = base.secrets.clone();
        let projected = ProjectedTokens::new(&settings.run.projected_tokens);
        let proxy = settings.run.egress.proxy();
        let context = Context {
            home: site.namespace.clone(),
            installation: installation(&site.namespace, &lease_name),
            client: site.client.clone(),
            kinds: site.search_kinds(),
            configuration: base.configuration.clone(),
            outside: Outside {
                sender: HttpSender::with_projected(projected, proxy, secrets.clone(), POLLER_MANAGER),
                databases: Databases::new(secrets.clone(), POLLER_MANAGER),
                resources,
                gate: Arc::default(),
                troubles: Arc::default(),
            },
            slots: CallSlots::default(),
            patience: settings.clean_up.clean_up_after,
            rights: base.rights.clone(),
            events: base.events.clone(),
            metrics: Metrics::register(&mut registry),
            cleaned: CleanedObjects::register(&mut registry),
            health: site.health.clone(),
            leadership: base.lease.leadership(),
            attestations: AttestationList::default(),
            notes: NotedSelections::with_reports(),
            watches: KindWatches::new(settings.run.memory_limit),
            heard: HeardVersions::default(),
            board: Board::default(),
            unnamed: UnnamedEntries::new(secrets.clone()),
            secrets,
            webhooks: settings.hints_address.map(|_| Webhooks::default()),
        };
        let Context { board, configuration, attestations, leadership, .. } = context.clone();
        let controller = ControllerLease::new(site.client.clone(), &site.namespace, &settings.controller_lease_name);
        let (health, site_names) = (site.health.clone(), settings.site_names(&site.namespace));
        let page = Page {
            board,
            configuration,
            attestations,
            leadership,
            leader_command,
            controller,
            health,
            site: site_names,
        };
        let pages = context.unnamed.pages().merge(page.routes());
        let metrics = base.shown_metrics(registry);
        site.spawn("admin", admin.serve(site.health.clone(), metrics, pages, site.stop.clone()));
        Self { context, base }
    }

    async fn work_for(&self, term: &CancellationToken) {
        tracing::info!("leading: targets are polled");
        reach(KillPoint::PollerAfterLease);
        let ended = self.base.site.stop.child_token();
        let context = self.context.for_term();
        let Context { configuration, attestations, notes, watches, .. } = &*context;
        let lease = &self.base.lease;
        notes.begin(lease);
        let to_annotations = |list: &Statements| attestations.to_annotations(list, &context.health);
        let start = |target, stop| work(context.clone(), target, stop);
        let working = supervise(configuration.clone(), ended.clone(), start);
        let cleaner = VerdictCleaner(context.clone());
        let collector = Collector::new(&context.collector(), cleaner, SweepSettings::of_conditions(context.patience));
        // Boxed, because the future of a term would be large with them.
        let collecting = Box::pin(collector.run());
        let sweeping = Box::pin(sweep(&context));
        let watching = async {
            tokio::select! {
                () = term.cancelled() => tracing::warn!("the Lease is lost: polling stops"),
                () = lease.keep_list(attestations.subscribe(), to_annotations) => {}
                () = self.base.keep_term(notes, watches) => {}
                () = collecting => {}
                () = sweeping => {}
                () = ended.cancelled() => {}
            }
            ended.cancel();
        };
        tokio::join!(working, watching);
    }
}
