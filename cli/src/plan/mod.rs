//! `kubectl drift plan`: what edited objects and targets would change outside. Writes nothing.

mod applied;
pub(crate) mod planned;
pub(crate) mod settings;
mod survey;

use std::fs;
use std::io::Write as _;
use std::path::Path;

use drift_api::printable::printable_json;
use serde_json::json;

use crate::check::read_manifests;
use crate::cluster::block_on;
use crate::ending::{CommandError, ExitStatus};
use crate::targets::session::Session;
use planned::PlanResult;
use settings::{PlanOutput, PlanSettings};
use survey::{Plan, Survey};

/// Plans and prints the result.
///
/// # Errors
/// If a file is bad, the cluster does not answer, or stdout is closed.
pub(crate) fn run(settings: &PlanSettings) -> Result<ExitStatus, CommandError> {
    // Before the cluster is asked: what is wrong with a file needs no cluster.
    settings.files.iter().try_for_each(|file| refuse_links(file))?;
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

/// Refuses links below a folder: the author of a change could link to any file of this machine.
fn refuse_links(folder: &Path) -> Result<(), CommandError> {
    let unreadable = |error: std::io::Error| CommandError::BadUsage(format!("{}: {error}", folder.display()));
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
        if kind.is_symlink() {
            let message = format!("{}: a link; plan reads no links below a folder, so name its target", path.display());
            return Err(CommandError::BadUsage(message));
        }
        if kind.is_dir() {
            refuse_links(&path)?;
        }
    }
    Ok(())
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
