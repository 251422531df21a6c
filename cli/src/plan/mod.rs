//! `kubectl drift plan`: what edited objects and targets would change outside. Writes nothing.

mod applied;
pub(crate) mod planned;
mod survey;

use std::io::Write as _;
use std::path::PathBuf;

use drift_api::printable::printable_json;
use drift_language::LabelSelector;
use serde_json::json;

use crate::check::read_manifests;
use crate::cluster::{PlaceSettings, TargetsSettings, block_on};
use crate::ending::{CommandError, ExitStatus};
use crate::explain::PollingSettings;
use crate::targets::session::Session;
use planned::PlanResult;
use survey::{Plan, Survey};

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
    files: Vec<PathBuf>,
    /// Ask the external system also where a target's objects, read, connection or credentials were edited. Only for a change whose
    /// author may use the Secrets of the targets
    #[arg(long)]
    ask_edited: bool,
    /// Print values, with secrets masked
    #[arg(long)]
    values: bool,
    /// Of edited targets only live objects whose labels match, such as tier=prod
    #[arg(long, short = 'l', value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    selector: Option<LabelSelector>,
    /// Most live objects of each edited target
    #[arg(long, value_name = "NUMBER", default_value = LIMIT)]
    limit: usize,
    #[command(flatten)]
    place: PlaceSettings,
    #[command(flatten)]
    targets: TargetsSettings,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: PlanOutput,
    #[command(flatten)]
    polling: PollingSettings,
}

/// The output format of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum PlanOutput {
    /// Paragraphs for people
    #[default]
    Text,
    /// A JSON object
    Json,
}

/// Plans and prints the result.
///
/// # Errors
/// If a file is bad, the cluster does not answer, or stdout is closed.
pub(crate) fn run(settings: &PlanSettings) -> Result<ExitStatus, CommandError> {
    // Before the cluster is asked: what is wrong with a file needs no cluster.
    let files = read_manifests(&settings.files)?;
    let plan = block_on(async {
        let session = Session::open(&settings.targets).await?;
        Box::pin(Survey::new(&session, settings, files).await?.plan()).await
    })?;
    let text = match settings.output {
        PlanOutput::Text => plan.text(settings.values),
        PlanOutput::Json => printable_json(&format!("{:#}\n", plan.json(settings.values))),
    };
    anstream::stdout().write_all(text.as_bytes())?;
    Ok(plan.status())
}

impl Plan {
    fn count(&self, result: PlanResult) -> usize {
        self.objects.iter().filter(|object| object.result() == result).count()
    }

    fn status(&self) -> ExitStatus {
        let is_unknown = |result: PlanResult| matches!(result, PlanResult::Unknown | PlanResult::NotAsked);
        let is_left = self.targets.iter().any(|target| is_unknown(target.result) || target.left > 0);
        match self.count(PlanResult::Changes) {
            0 if is_left || self.objects.iter().any(|object| is_unknown(object.result())) => ExitStatus::Unknown,
            0 => ExitStatus::Success,
            _ => ExitStatus::Drifted,
        }
    }

    fn text(&self, values: bool) -> String {
        let objects = self.objects.iter().map(|object| object.text(values));
        let parts = objects.chain(self.targets.iter().map(|target| target.text()));
        let summary = format!(
            "{} would change, {} stay the same, {} unknown, {} not asked\n",
            self.count(PlanResult::Changes),
            self.count(PlanResult::Same),
            self.count(PlanResult::Unknown),
            self.count(PlanResult::NotAsked),
        );
        let parts = parts.flat_map(|part| part.lines().map(printable_line).collect::<Vec<_>>());
        parts.collect::<String>() + &summary
    }

    fn json(&self, values: bool) -> serde_json::Value {
        json!({
            "objects": self.objects.iter().map(|object| object.json(values)).collect::<Vec<_>>(),
            "targets": self.targets.iter().map(|target| target.json()).collect::<Vec<_>>(),
        })
    }
}

fn printable_line(line: &str) -> String {
    format!("{}\n", drift_api::printable::printable(line))
}
