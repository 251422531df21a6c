//! `approve --plan`: plans each object of a plan again, and approves the present correction of those that stay the same.
//!
//! The controller sees the hash of the present correction alone. A plan of last week approves nothing by itself.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use drift_api::object::LeanObject;
use drift_language::{Target, kind_and_group};
use serde_json::Value;

use super::pending::{Pending, pending};
use super::{ApproveSettings, approve, is_agreed};
use crate::cluster::writable_kind_of;
use crate::ending::{CommandError, ExitStatus};
use crate::explain::{Leases, WaysOut, preview};
use crate::plan::planned::{ObjectName, PlanResult, hash_of};
use crate::targets::active::active_object;
use crate::targets::known::LiveTargets;
use crate::targets::session::Session;

/// An object of a plan.
pub(super) struct Entry {
    name: ObjectName,
    is_new: bool,
    result: String,
    hash: String,
}

/// A correction that is still as planned.
struct Approvable {
    target: Arc<Target>,
    object: LeanObject,
    hash: String,
    lines: Vec<String>,
}

/// Reads the objects of a plan.
///
/// # Errors
/// If the file is not the JSON of a plan.
pub(super) fn read(file: &Path) -> Result<Vec<Entry>, CommandError> {
    let bad = |why: String| CommandError::BadUsage(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    let plan: Value = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    let entry = |entry: &Value| {
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        let name = ObjectName {
            api_version: text("apiVersion")?,
            kind: text("kind")?,
            namespace: text("namespace"),
            name: text("name")?,
        };
        let hash = text("hash").unwrap_or_default();
        Some(Entry { name, is_new: entry["new"] == true, result: text("result")?, hash })
    };
    let entries: Option<Vec<_>> = plan["objects"].as_array().and_then(|objects| objects.iter().map(entry).collect());
    let entries = entries.filter(|entries| entries.iter().all(|entry| entry.name.is_valid()));
    entries.ok_or_else(|| bad("not the JSON of kubectl drift plan -o json".to_owned()))
}

/// Approves the corrections of a plan that are still the same.
///
/// # Errors
/// If the targets cannot be read, or there is no usable configuration.
pub(super) async fn approve_plan(settings: &ApproveSettings, entries: &[Entry]) -> Result<ExitStatus, CommandError> {
    let session = Session::open(&settings.targets).await?;
    let live = session.live_targets().await?;
    let leases = Leases::read(&session, &settings.polling.controller_lease).await;
    let (mut ways, mut approvable) = (WaysOut::default(), Vec::new());
    let mut status = ExitStatus::Success;
    let mut refuse = |told: &str, why: CommandError| {
        // What is unknown outweighs what is refused.
        let is_unknown = matches!(why, CommandError::CannotTell(_)) || status == ExitStatus::Unknown;
        status = if is_unknown { ExitStatus::Unknown } else { ExitStatus::Drifted };
        writeln!(anstream::stdout(), "{told}: not approved: {why}")
    };
    for entry in entries.iter().filter(|entry| entry.result != PlanResult::Same.as_str()) {
        let told = entry.name.told();
        match Box::pin(again((settings, &session), (&live, &leases), &mut ways, entry)).await? {
            Ok(Some(one)) => {
                writeln!(anstream::stdout(), "{told}: {}", one.lines.join("\n  "))?;
                approvable.push((told, one));
            }
            Ok(None) => writeln!(anstream::stdout(), "{told}: is approved already")?,
            Err(why) => refuse(&told, why)?,
        }
    }
    let what = match approvable.len() {
        1 => "1 correction".to_owned(),
        count => format!("{count} corrections"),
    };
    if !approvable.is_empty() && !settings.yes && !is_agreed(&what)? {
        return Ok(ExitStatus::Drifted);
    }
    for (told, Approvable { target, object, hash, .. }) in approvable {
        let kind = writable_kind_of(&session.client, &target.objects).await;
        let written = match kind {
            Ok(kind) => approve(&session.client, (&target, &kind), (&object, &hash)).await,
            Err(error) => Err(CommandError::CannotTell(error.to_string())),
        };
        match written {
            Ok(()) => writeln!(anstream::stdout(), "{told}: approved: {hash}")?,
            Err(why) => refuse(&told, why)?,
        }
    }
    Ok(status)
}

/// Plans an object again; `None` if its correction is approved already, or why it cannot be approved.
///
/// # Errors
/// If there is no usable configuration.
async fn again(
    (settings, session): (&ApproveSettings, &Session<'_>),
    (live, leases): (&LiveTargets, &Leases),
    ways: &mut WaysOut,
    entry: &Entry,
) -> Result<Result<Option<Approvable>, CommandError>, CommandError> {
    let refused = |why: String| Ok(Err(CommandError::BadUsage(why)));
    if entry.result != PlanResult::Changes.as_str() {
        return refused(format!("the plan says {}", entry.result));
    }
    let word = kind_and_group(&entry.name.kind, &entry.name.api_version).to_lowercase();
    let namespace = entry.name.namespace.as_deref().unwrap_or_else(|| session.client.default_namespace());
    let (target, object) = match active_object(session, live, &word, (namespace, &entry.name.name)).await {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    let way = ways.of(session, &settings.polling, &target).await?;
    let preview = Box::pin(preview(way, (&target, true), &object, leases)).await;
    if hash_of(&target, &object, entry.is_new, &preview) != entry.hash {
        return refused("its plan differs now: plan again".to_owned());
    }
    Ok(match pending(&target, &object) {
        Pending::Nothing(why) => return refused(format!("nothing awaits approval: {why}")),
        Pending::Unclear(why) => Err(CommandError::CannotTell(why)),
        Pending::Approved => Ok(None),
        Pending::Correction { hash, lines } => Ok(Some(Approvable { target, object, hash, lines })),
    })
}
