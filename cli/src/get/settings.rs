//! The command line of `kubectl drift get`.

use drift_api::names::CONTROLLER_LEASE;
use drift_kube::program::settings::parse_lease_name;
use drift_language::LabelSelector;

use super::rendering::{Format, FormatParser};
use super::sorting::SortKey;
use crate::cluster::{PlaceSettings, TargetsSettings};

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

/// The objects to list, and the output format.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetSettings {
    /// Only objects of these kinds, separated by commas and named as for kubectl: by kind, plural or short name, with or without
    /// .GROUP; and of them only those that are named, as KIND NAME… or KIND/NAME…
    #[arg(value_name = "KIND")]
    pub(super) objects: Vec<String>,
    #[command(flatten)]
    pub(super) place: PlaceSettings,
    /// Objects of all namespaces
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    pub(super) all_namespaces: bool,
    #[command(flatten)]
    pub(super) targets: TargetsSettings,
    /// Only objects that drifted
    #[arg(long)]
    pub(super) drifted: bool,
    /// Only objects whose status is unknown
    #[arg(long)]
    pub(super) unknown: bool,
    /// Only objects that something holds: a pause, a breaker, an approval that is missing and others, as NEXT says
    #[arg(long)]
    pub(super) held: bool,
    /// Only objects of this target
    #[arg(long, value_name = "NAME")]
    pub(super) target: Option<String>,
    /// Only objects whose labels match, such as tier=prod
    #[arg(long, short = 'l', value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    pub(super) selector: Option<LabelSelector>,
    /// Watch after the list, and print each change
    #[arg(long, short)]
    pub(super) watch: bool,
    /// Output format
    #[arg(long, short, default_value = "table", value_parser = FormatParser)]
    pub(super) output: Format,
    /// Print a table without its heads
    #[arg(long)]
    pub(super) no_headers: bool,
    /// Sort by a column, or by a JSONPath of an item of -o json such as .driftObserved.since
    #[arg(long, value_name = "COLUMN|PATH", conflicts_with = "watch", value_parser = SortKey::parse)]
    pub(super) sort_by: Option<SortKey>,
    /// The controller's Lease
    #[arg(long, value_name = "NAME", default_value = CONTROLLER_LEASE, value_parser = parse_lease_name)]
    pub(super) controller_lease: String,
}
