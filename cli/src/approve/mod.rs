//! `kubectl drift approve`: shows the correction that awaits approval, and approves exactly that one.

mod pending;
mod planned;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use drift_api::names::{APPROVED_ANNOTATION, PERSON_MANAGER};
use drift_api::object::LeanObject;
use drift_kube::client::{ObjectClient, ResolvedKind};
use drift_language::Target;
use serde_json::json;

use crate::cluster::{PlaceSettings, TargetsSettings, block_on, writable_kind_of};
use crate::ending::{CommandError, ExitStatus};
use crate::explain::PollingSettings;
use crate::targets::active::ActiveObject;
use pending::{Pending, pending};

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift approve proxy/web -n team-a            show the correction, and ask
  kubectl drift approve proxy/web -n team-a --yes      show it, and approve it
  kubectl drift approve --plan plan.json               each correction of a plan that is still the same

Sets the annotation driftpoller.dev/approved to the hash in the condition driftCorrected. Exit codes: 0 approved, 1 not approved or
nothing awaits approval, 2 unknown, 3 bad usage";

/// The object whose correction is approved.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "kubectl drift approve [OPTIONS] <KIND/NAME | KIND NAME | --plan FILE>")]
pub(crate) struct ApproveSettings {
    /// The object, as KIND/NAME or KIND NAME, with a kind as for get
    #[arg(value_name = "OBJECT", required_unless_present = "plan", conflicts_with = "plan")]
    object: Vec<String>,
    /// The JSON of kubectl drift plan: plan each of its objects again, and approve those of which the plan is still the same
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Approve without asking
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    place: PlaceSettings,
    #[command(flatten)]
    targets: TargetsSettings,
    #[command(flatten)]
    polling: PollingSettings,
}

/// Shows the correction and approves it.
///
/// # Errors
/// If there is no such object or target, the correction cannot be shown, or the API server refuses the annotation.
pub(crate) fn run(settings: &ApproveSettings) -> Result<ExitStatus, CommandError> {
    if let Some(file) = &settings.plan {
        let entries = planned::read(file)?;
        return block_on(async { Box::pin(planned::approve_plan(settings, &entries)).await });
    }
    block_on(async {
        let found = ActiveObject::find(&settings.object, &settings.place, &settings.targets).await?;
        let ActiveObject { client, target, object } = found;
        let place = format!("{} {}", target.objects.kind, object.id);
        let hash = match pending(&target, &object) {
            Pending::Nothing(why) => {
                writeln!(anstream::stdout(), "{place}: nothing awaits approval: {why}")?;
                return Ok(ExitStatus::Drifted);
            }
            Pending::Unclear(why) => return Err(CommandError::CannotTell(format!("{place}: {why}"))),
            Pending::Approved => {
                writeln!(anstream::stdout(), "{place}: is approved already")?;
                return Ok(ExitStatus::Success);
            }
            Pending::Correction { hash, lines } => {
                writeln!(anstream::stdout(), "{place}: {}", lines.join("\n  "))?;
                hash
            }
        };
        if !settings.yes && !is_agreed("this correction")? {
            return Ok(ExitStatus::Drifted);
        }
        let kind = writable_kind_of(&client, &target.objects).await;
        let kind = kind.map_err(|error| CommandError::CannotTell(error.to_string()))?;
        approve(&client, (&target, &kind), (&object, &hash)).await?;
        writeln!(anstream::stdout(), "approved: {APPROVED_ANNOTATION}={hash}")?;
        Ok(ExitStatus::Success)
    })
}

/// Asks on a terminal. Without a terminal the answer is no.
fn is_agreed(what: &str) -> Result<bool, CommandError> {
    let mut answer = String::new();
    if io::stdin().is_terminal() {
        write!(anstream::stderr(), "Approve {what}? [y/N] ")?;
        io::stdin().read_line(&mut answer)?;
    }
    let is_agreed = matches!(answer.trim(), "y" | "Y" | "yes");
    if !is_agreed {
        writeln!(anstream::stderr(), "not approved: answer y, or pass --yes")?;
    }
    Ok(is_agreed)
}

/// Sets the annotation on the object exactly as it was shown.
async fn approve(
    client: &kube::Client,
    (target, kind): (&Target, &ResolvedKind),
    (object, hash): (&LeanObject, &str),
) -> Result<(), CommandError> {
    let (uid, version) = (&*object.id.uid, object.resource_version.to_string());
    let metadata = json!({"uid": uid, "resourceVersion": version, "annotations": {APPROVED_ANNOTATION: hash}});
    let writer = ObjectClient::new(client.clone(), PERSON_MANAGER);
    let patch = json!({"metadata": metadata});
    let written = writer.merge(kind, &object.id, &patch, PERSON_MANAGER, &target.all_fields).await;
    written.map(drop).map_err(|error| match error.code() {
        Some(409) => CommandError::CannotTell(
            "the object was changed since it was shown, and nothing was approved: run the command again".to_owned(),
        ),
        _ => CommandError::CannotTell(error.to_string()),
    })
}
