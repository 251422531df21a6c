//! `kubectl drift adopt`: writes a claim on the external resource that an object names, with the user's rights.

mod claim;

use std::io::Write as _;

use drift_api::condition::CorrectionStatus;
use drift_api::names::PERSON_MANAGER;
use drift_api::object::LeanObject;
use drift_kube::client::{ObjectClient, ResolvedKind, WriteError};
use drift_kube::process::clock;
use drift_language::Target;
use drift_poller::engine::object::overview::Next;

use crate::cluster::{PlaceSettings, TargetsSettings, block_on, writable_kind_of};
use crate::ending::{CommandError, ExitStatus};
use crate::targets::active::ActiveObject;
use claim::{claim_patch, consequence, record_with_claim};

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift adopt proxy/web -n team-a
  kubectl drift adopt proxy/web -n team-a --dry-run     say which claim it would write, and write none

Writes `owns \"IDENTITY\"` into the condition driftCorrected, which needs the right to patch the status of the kind. Then drift of
the resource is corrected, and it is deleted with the object. Exit codes: 0 done, 2 unknown, 3 bad usage";

/// The object that adopts.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "kubectl drift adopt [OPTIONS] <KIND/NAME | KIND NAME>")]
pub(crate) struct AdoptSettings {
    /// The object, as KIND/NAME or KIND NAME, with a kind as for get
    #[arg(value_name = "OBJECT", required = true)]
    object: Vec<String>,
    /// Print the claim and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: PlaceSettings,
    #[command(flatten)]
    targets: TargetsSettings,
}

/// Says what it claims and claims it.
///
/// # Errors
/// If there is no such object or target, the object cannot adopt, or the API server does not take the claim.
pub(crate) fn run(settings: &AdoptSettings) -> Result<ExitStatus, CommandError> {
    block_on(async {
        let found = ActiveObject::find(&settings.object, &settings.place, &settings.targets).await?;
        let ActiveObject { client, target, object } = found;
        let place = format!("{} {}", target.objects.kind, object.id);
        let record =
            record_with_claim(&target, &object).map_err(|error| CommandError::BadUsage(format!("{place}: {error}")))?;
        say(&place, (&target, &object), (&record, settings.dry_run))?;
        if !settings.dry_run {
            let kind = writable_kind_of(&client, &target.objects).await;
            let kind = kind.map_err(|error| CommandError::CannotTell(error.to_string()))?;
            let written = write(&client, (&target, &kind), (&object, &record)).await;
            written.map_err(|error| CommandError::CannotTell(format!("{place}: {}", sentence(&error))))?;
        }
        Ok(ExitStatus::Success)
    })
}

fn say(
    place: &str,
    (target, object): (&Target, &LeanObject),
    (record, dry_run): (&CorrectionStatus, bool),
) -> Result<(), CommandError> {
    let tried = if dry_run { " (dry run)" } else { "" };
    let told = drift_api::printable::printable(&record.message());
    writeln!(anstream::stdout(), "{place}: driftCorrected: {told}{tried}\n  {}", consequence(target))?;
    let next = Next::of(Some(target), object);
    if let Some(why) = next.held().filter(|_| next.is_dispute()) {
        let dispute = target.hold(object, why, None, clock::wall()).sentence;
        writeln!(anstream::stderr(), "note: {place}: {dispute}; two claims hold up both objects")?;
    }
    Ok(())
}

async fn write(
    client: &kube::Client,
    (target, kind): (&Target, &ResolvedKind),
    (object, record): (&LeanObject, &CorrectionStatus),
) -> Result<LeanObject, WriteError> {
    let patch = claim_patch(object, record, &clock::wall_seconds());
    let writer = ObjectClient::new(client.clone(), PERSON_MANAGER);
    writer.patch_status(kind, &object.id, patch, &target.all_fields).await
}

fn sentence(error: &WriteError) -> String {
    match error {
        WriteError::Moved => "it was changed meanwhile, and nothing was written: run the command again".to_owned(),
        WriteError::Gone => "it was deleted or replaced meanwhile, and nothing was written".to_owned(),
        other => other.to_string(),
    }
}
