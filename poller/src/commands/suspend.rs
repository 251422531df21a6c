//! `drift-poller suspend` and `unsuspend`: the brake of a whole target, set in the text of its ConfigMap.
//!
//! One line of the text changes. The rights are those of whoever runs it.

use std::io::Write as _;
use std::process::ExitCode;

use drift_cluster::client::{self, CALL_DEADLINE, KubeconfigSettings};
use drift_cluster::config::list_documents;
use drift_model::names::PERSON_MANAGER;
use drift_target::{DocumentName, Edited, Target, parse_document, set_suspend};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::core::{Request, Resource as _};
use serde_json::{Value, json};

use crate::commands::cluster::{SHIPPED_NAMESPACE, block_on, connect, get, unanswered};
use crate::commands::ending::CommandError;
use crate::core::keepers::keeper_of;

/// Shown at the end of `--help` of `suspend`.
pub(crate) const SUSPEND_EXAMPLES: &str = "Examples:
  drift-poller suspend proxies
  drift-poller suspend proxies --dry-run      which line of which ConfigMap it would change

One line of the target's text changes. Exit codes: 0 done, 2 cannot tell, 3 bad usage";
/// Shown at the end of `--help` of `unsuspend`.
pub(crate) const UNSUSPEND_EXAMPLES: &str = "Example:
  drift-poller unsuspend proxies

One line of the target's text changes. Exit codes: 0 done, 2 cannot tell, 3 bad usage";

/// Which target.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SuspendSettings {
    /// The target, by its metadata.name
    target: String,
    /// Say what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Namespace of the ConfigMaps with the targets
    #[arg(long, short, alias = "targets-namespace", default_value = SHIPPED_NAMESPACE)]
    namespace: String,
    #[command(flatten)]
    cluster: KubeconfigSettings,
}

/// Sets or takes off the brake.
///
/// # Errors
/// When there is no such target, its text cannot be edited so, or the API server does not take it.
pub(crate) fn run(settings: &SuspendSettings, suspend: bool) -> Result<ExitCode, CommandError> {
    block_on(async {
        let SuspendSettings { namespace, cluster, .. } = settings;
        let client = connect(cluster).await?;
        let Target { name, document, .. } = find_target(&client, namespace, &settings.target).await?;
        let DocumentName { config_map, key } = &document;
        let path = ConfigMap::url_path(&(), Some(namespace));
        let read = get(&client, &path, config_map).await;
        let read = read.and_then(|found| found.map_or_else(|| Ok(Value::Null), Ok));
        let live = read.map_err(|error| unanswered(&format!("ConfigMap {config_map}"), &error))?;
        let text = live.get("data").and_then(|data| data.get(key)).and_then(Value::as_str).unwrap_or_default();
        let bad = |message: String| CommandError::BadUsage(format!("target {name} ({config_map}/{key}): {message}"));
        let Some(edited) = set_suspend(text, suspend).map_err(|error| bad(error.to_string()))? else {
            writeln!(
                anstream::stdout(),
                "target {name} is {}",
                if suspend { "suspended already" } else { "not suspended" }
            )?;
            return Ok(ExitCode::SUCCESS);
        };
        if !parse_document(&document, &edited.text).is_ok_and(|target| target.suspend == suspend && target.name == name)
        {
            return Err(bad("its text would not be good any more: edit it by hand".to_owned()));
        }
        if !settings.dry_run {
            write(&client, &live, (&path, &document, &edited)).await?;
        }
        say(&name, (namespace, &document), (&edited, settings.dry_run))?;
        if let Some(keeper) = keeper_of(&live, PERSON_MANAGER) {
            writeln!(
                anstream::stderr(),
                "note: {keeper} keeps ConfigMap {config_map} and puts its text back: change it there, too"
            )?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The target of that name that is in force, or would be.
async fn find_target(client: &kube::Client, namespace: &str, name: &str) -> Result<Target, CommandError> {
    let documents = list_documents(client, namespace).await;
    let documents = documents.map_err(|error| unanswered(&format!("the targets in namespace {namespace}"), &error))?;
    let (mut names, mut bad) = (Vec::new(), 0);
    for (config_map, texts) in documents {
        for (key, text) in texts {
            match parse_document(&DocumentName { config_map: config_map.clone(), key }, &text) {
                Ok(target) if target.name == name => return Ok(target),
                Ok(target) => names.push(target.name),
                Err(_) => bad += 1,
            }
        }
    }
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let spoilt = match bad {
        0 => String::new(),
        bad => format!("; documents that are no good targets: {bad}, see check --from-cluster"),
    };
    Err(CommandError::BadUsage(format!(
        "there is no target {name} in namespace {namespace}; there are: {names}{spoilt}"
    )))
}

/// Writes the text onto the very ConfigMap that was read.
async fn write(
    client: &kube::Client,
    live: &Value,
    (path, document, edited): (&str, &DocumentName, &Edited),
) -> Result<(), CommandError> {
    let version = live.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
    let patch = json!({"metadata": {"resourceVersion": version}, "data": {&document.key: edited.text}});
    let parameters = PatchParams { field_manager: Some(PERSON_MANAGER.to_owned()), ..PatchParams::default() };
    let request = Request::new(path).patch(&document.config_map, &parameters, &Patch::Merge(patch));
    let request = request.map_err(|error| CommandError::CannotTell(error.to_string()))?;
    let written: Result<Value, _> = client::request(client, CALL_DEADLINE, request).await;
    let what = format!("ConfigMap {}", document.config_map);
    match written {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some(409) => {
            Err(CommandError::CannotTell(format!("{what} was changed meanwhile, and nothing was written: try again")))
        }
        Err(error) => Err(unanswered(&what, &error)),
    }
}

fn say(
    name: &str,
    (namespace, document): (&str, &DocumentName),
    (edited, dry_run): (&Edited, bool),
) -> Result<(), CommandError> {
    let DocumentName { config_map, key } = document;
    let line = edited.text.lines().nth(edited.line - 1).unwrap_or_default().trim();
    let tried = if dry_run { " (dry run)" } else { "" };
    let place = format!("ConfigMap {config_map}, {key}, line {}", edited.line);
    let mut out = anstream::stdout();
    writeln!(out, "target {name}: {line} ({place}){tried}\n  kubectl edit configmap/{config_map} -n {namespace}")?;
    Ok(())
}
