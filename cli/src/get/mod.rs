//! `kubectl drift get`: lists the objects of all targets with their conditions. Polls nothing.

mod asked;
mod changes;
mod held;
mod json_paths;
mod listed_targets;
mod listing;
mod look_up;
mod missing_rights;
mod rendering;
mod rows;
mod sorting;
mod text_table;
mod wanted;
mod watching;

use std::io::Write as _;
use std::time::Duration;

use drift_api::names::CONTROLLER_LEASE;
use drift_kube::process::clock;
use drift_kube::program::settings::parse_lease_name;
use drift_language::LabelSelector;

use crate::cluster::{PlaceSettings, TargetsSettings, block_on, warn};
use crate::ending::{CommandError, ExitStatus};
use crate::targets::session::Session;
use asked::asked_kinds;
use held::LeaseHolds;
use listed_targets::ListedTargets;
use listing::{ListedRows, ensure_namespace, list_rows};
use look_up::look_up;
use rendering::{Format, FormatParser, Layout, whole_list};
use rows::{Row, summarise};
use sorting::SortKey;
use wanted::{Wanted, arrange};
use watching::watch;

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift get -A                     every object of every target
  kubectl drift get proxies -n team-a --drifted
  kubectl drift get proxy/web -n team-a
  kubectl drift get -A --drifted -w        and each change as it comes
  kubectl drift get proxies,roles -l tier=prod -o name
  kubectl drift get -A --held --sort-by since
  kubectl drift get -A -o json | jq '.items[] | select(.paused)'

Exit codes, of what is listed: 0 all in sync, 1 something drifted, 2 unknown, 3 bad usage";

/// Time between two reads of the Leases in `--watch`: the controller changes its list this often at the most.
const READ_LEASES_EVERY: Duration = Duration::from_secs(5);

/// The objects to list, and the output format.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetSettings {
    /// Only objects of these kinds, separated by commas and named as for kubectl: by kind, plural or short name, with or without
    /// .GROUP; and of them only those that are named, as KIND NAME… or KIND/NAME…
    #[arg(value_name = "KIND")]
    objects: Vec<String>,
    #[command(flatten)]
    place: PlaceSettings,
    /// Objects of all namespaces
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    #[command(flatten)]
    targets: TargetsSettings,
    /// Only objects that drifted
    #[arg(long)]
    drifted: bool,
    /// Only objects whose status is unknown
    #[arg(long)]
    unknown: bool,
    /// Only objects that something holds: a pause, a breaker, an approval that is missing and others, as NEXT says
    #[arg(long)]
    held: bool,
    /// Only objects of this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Only objects whose labels match, such as tier=prod
    #[arg(long, short = 'l', value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    selector: Option<LabelSelector>,
    /// Watch after the list, and print each change
    #[arg(long, short)]
    watch: bool,
    /// Output format
    #[arg(long, short, default_value = "table", value_parser = FormatParser)]
    output: Format,
    /// Print a table without its heads
    #[arg(long)]
    no_headers: bool,
    /// Sort by a column, or by a JSONPath of an item of -o json such as .driftObserved.since
    #[arg(long, value_name = "COLUMN|PATH", conflicts_with = "watch", value_parser = SortKey::parse)]
    sort_by: Option<SortKey>,
    /// The controller's Lease
    #[arg(long, value_name = "NAME", default_value = CONTROLLER_LEASE, value_parser = parse_lease_name)]
    controller_lease: String,
}

/// Lists the objects with their conditions.
///
/// # Errors
/// If the targets cannot be read, no target has the kind, or stdout is closed.
pub(crate) fn run(settings: &GetSettings) -> Result<ExitStatus, CommandError> {
    let asked = asked_kinds(&settings.objects, settings.selector.is_some()).map_err(CommandError::BadUsage)?;
    block_on(async {
        let session = Session::open(&settings.targets).await?;
        let listed = look_up(&session, settings, asked).await?;
        listed.troubles.iter().try_for_each(|trouble| warn(trouble))?;
        let namespace = (!settings.all_namespaces).then(|| settings.place.namespace(&session.client));
        let GetSettings { drifted, unknown, held, .. } = *settings;
        let wanted = Wanted { drifted, unknown, held };
        let layout = Layout { format: settings.output.clone(), no_headers: settings.no_headers };
        if settings.watch {
            tokio::select! {
                watched = watch(&session.client, &listed, (namespace, wanted, &layout)) => watched?,
                never = follow_holds(&session, settings, &listed) => never,
            }
            return Ok(ExitStatus::Success);
        }
        let found = list_rows(&session, &listed, namespace).await?;
        let mut rows = arrange(found.rows.clone(), wanted);
        if let Some(key) = &settings.sort_by {
            key.sort(&mut rows).map_err(CommandError::BadUsage)?;
        }
        if let Some(missing) = found.missing(&listed) {
            // The objects that were found are printed nevertheless.
            if !rows.is_empty() {
                print((&rows, &found), &layout)?;
            }
            return Err(missing);
        }
        if let Some(namespace) = namespace.filter(|_| found.rows.is_empty() && listed.has_namespaces()) {
            ensure_namespace(&session.client, namespace).await?;
        }
        if rows.is_empty() {
            writeln!(anstream::stderr(), "{}", wanted.nothing_of(&found.rows, namespace))?;
        }
        print((&rows, &found), &layout)?;
        Ok(match summarise(&rows) {
            ExitStatus::Success if !found.whole => ExitStatus::Unknown,
            status => status,
        })
    })
}

fn print((rows, found): (&[Row], &ListedRows), layout: &Layout) -> Result<(), CommandError> {
    // It takes the colours out where no terminal shows them, or NO_COLOR is set.
    Ok(anstream::stdout().write_all(whole_list((rows, &found.troubles), layout, clock::wall()).as_bytes())?)
}

/// Reads the Leases again and again, for the rows of `--watch`. Never ends.
async fn follow_holds(session: &Session<'_>, settings: &GetSettings, listed: &ListedTargets) {
    loop {
        tokio::time::sleep(READ_LEASES_EVERY).await;
        let poller = session.notes().await;
        let controller = session.lease(&settings.controller_lease).await.map_err(|_| ());
        let attested = poller.unread.is_none().then_some(poller.attested);
        let holds = LeaseHolds::of(attested, controller, clock::wall());
        *listed.holds.borrow_mut() = holds.with_unwritten(poller.unwritten);
        listed.holds_read.notify_one();
    }
}
