//! The arguments of `kubectl drift plan`.

use std::path::PathBuf;

use drift_language::LabelSelector;

use crate::cluster::{PlaceSettings, TargetsSettings};
use crate::explain::PollingSettings;

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift plan -f deploy/                        objects and targets of a change
  kubectl kustomize overlays/production | kubectl drift plan -f -
  kubectl drift plan -f deploy/ --values               with desired and observed values, secrets masked
  kubectl drift plan -f deploy/ -o json > plan.json    for a comment on the change, and for approve --plan
  kubectl drift plan -f target.yaml --ask-edited       a trusted change of what the target reads

Exit codes: 0 nothing would change, 1 something would change, 2 nothing as far as is known, and something was not asked or is unknown,
3 bad usage";

/// Live objects of an edited target. Each is one read of the external system, and a plan of more is hardly read.
const LIMIT: &str = "100";

/// The files, and the amount of detail.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanSettings {
    /// A file, a folder (every .yaml, .yml and .json below), or - for standard input, with objects and targets as they are to be
    /// applied; may be given several times
    #[arg(long = "file", short, alias = "filename", required = true, value_name = "FILE|FOLDER|-")]
    pub(super) files: Vec<PathBuf>,
    /// Ask the external system also where a target's objects, read, connection or credentials were edited. Only for a change whose
    /// author may use the Secrets of the targets
    #[arg(long)]
    pub(super) ask_edited: bool,
    /// Print values, with secrets masked
    #[arg(long)]
    pub(super) values: bool,
    /// Of edited targets only live objects whose labels match, such as tier=prod
    #[arg(long, short = 'l', value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    pub(super) selector: Option<LabelSelector>,
    /// Most live objects of each edited target
    #[arg(long, value_name = "NUMBER", default_value = LIMIT)]
    pub(super) limit: usize,
    #[command(flatten)]
    pub(super) place: PlaceSettings,
    #[command(flatten)]
    pub(super) targets: TargetsSettings,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    pub(super) output: PlanOutput,
    #[command(flatten)]
    pub(super) polling: PollingSettings,
}

/// The output format of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum PlanOutput {
    /// Paragraphs for people
    #[default]
    Text,
    /// A JSON object
    Json,
}
