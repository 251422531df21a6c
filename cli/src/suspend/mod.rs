//! `kubectl drift suspend` and `unsuspend`: change `spec.suspend` of a target, one line in its ConfigMap.

use std::io::Write as _;

use drift_api::names::{PERSON_MANAGER, POLLER_LEASE};
use drift_kube::client::{self, CALL_DEADLINE, KubeconfigSettings};
use drift_kube::config::documents_in;
use drift_kube::program::settings::parse_lease_name;
use drift_language::parse_document;
use drift_language::set_suspend;
use drift_language::{DocumentName, Edited, Target};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::core::{Request, Resource as _};
use serde_json::{Value, json};

use crate::cluster::{HomeSettings, block_on, unanswered, warn};
use crate::ending::{CommandError, ExitStatus};
use crate::targets::known::{EditDoubt, doubt_of_brake};
use crate::targets::session::Session;

/// Shown at the end of `--help` of `suspend`.
pub(crate) const SUSPEND_EXAMPLES: &str = "Examples:
  kubectl drift suspend proxies
  kubectl drift suspend proxies --dry-run      which line of which ConfigMap it would change

One line of the target's text changes. Exit codes: 0 done, 2 unknown, 3 bad usage";
/// Shown at the end of `--help` of `unsuspend`.
pub(crate) const UNSUSPEND_EXAMPLES: &str = "Example:
  kubectl drift unsuspend proxies

One line of the target's text changes. Exit codes: 0 done, 2 unknown, 3 bad usage";

/// The target to suspend or unsuspend.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SuspendSettings {
    /// The target, by its metadata.name
    target: String,
    /// Print the change and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    home: HomeSettings,
    /// The poller's Lease, where it runs with another --lease-name
    #[arg(long, value_name = "NAME", default_value = POLLER_LEASE, value_parser = parse_lease_name)]
    poller_lease: String,
    #[command(flatten)]
    cluster: KubeconfigSettings,
}

/// Sets or takes off the brake.
///
/// # Errors
/// When there is no such target, its text cannot be edited so, or the API server does not take it.
pub(crate) fn run(settings: &SuspendSettings, suspend: bool) -> Result<ExitStatus, CommandError> {
    block_on(async {
        let SuspendSettings { home, poller_lease, cluster, .. } = settings;
        let namespace = &home.targets_namespace;
        let session = Session::at(cluster, namespace, poller_lease).await?;
        let SuspendedTarget { target, live, text } = find_target(&session, &settings.target).await?;
        let notes = session.notes().await;
        let doubt = doubt_of_brake(namespace, (&target, suspend), &notes);
        let Target { name, document, .. } = target;
        let DocumentName { config_map, key } = &document;
        let bad = |message: String| CommandError::BadUsage(format!("target {name} ({config_map}/{key}): {message}"));
        let Some(edited) = set_suspend(&text, suspend).map_err(|error| bad(error.to_string()))? else {
            writeln!(
                anstream::stdout(),
                "target {name} is {}",
                if suspend { "suspended already" } else { "not suspended" }
            )?;
            return end_with(doubt);
        };
        if !parse_document(&document, &edited.text).is_ok_and(|target| target.suspend == suspend && target.name == name)
        {
            return Err(bad("its text would not be good any more: edit it by hand".to_owned()));
        }
        if !settings.dry_run {
            write(&session.client, &live, (namespace, &document, &edited)).await?;
        }
        say(&name, (namespace, &document), (&edited, settings.dry_run))?;
        if let Some(manager) = applier_of(&live) {
            writeln!(
                anstream::stderr(),
                "note: `{manager}` applies ConfigMap {config_map} and may put its text back: change it there, too"
            )?;
        }
        end_with(doubt)
    })
}

/// Says why the edit may have no effect. If the poller uses another text, the command does not report success.
fn end_with(doubt: Option<EditDoubt>) -> Result<ExitStatus, CommandError> {
    match doubt {
        None => Ok(ExitStatus::Success),
        Some(EditDoubt::Unread(sentence)) => warn(&sentence).map(|()| ExitStatus::Success),
        Some(EditDoubt::OtherText(sentence)) => warn(&sentence).map(|()| ExitStatus::Unknown),
    }
}

/// The field managers of commands by which a person writes an object once.
const MANAGERS_OF_PEOPLE: [&str; 5] =
    [PERSON_MANAGER, "kubectl-create", "kubectl-edit", "kubectl-patch", "kubectl-replace"];
/// The annotation in which `kubectl apply` and similar tools keep what was applied.
const LAST_APPLIED: &str = "f:kubectl.kubernetes.io/last-applied-configuration";

/// The field manager that applies the object and so would write its text again.
fn applier_of(object: &Value) -> Option<&str> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let applies = |entry: &&Value| {
        let fields = &entry["fieldsV1"];
        let writes_data = fields.get("f:data").is_some();
        writes_data
            || entry["operation"] == "Apply"
            || fields["f:metadata"]["f:annotations"].get(LAST_APPLIED).is_some()
    };
    let managers = entries.iter().filter(applies).filter_map(|entry| entry["manager"].as_str());
    managers.into_iter().find(|manager| !MANAGERS_OF_PEOPLE.contains(manager))
}

/// A target with its ConfigMap and text.
struct SuspendedTarget {
    target: Target,
    /// The ConfigMap.
    live: Value,
    text: String,
}

/// The target of that name by the text in its ConfigMap.
async fn find_target(session: &Session<'_>, name: &str) -> Result<SuspendedTarget, CommandError> {
    for live in session.target_maps().await? {
        for (config_map, texts) in documents_in(std::slice::from_ref(&live)) {
            for (key, text) in texts {
                let document = DocumentName { config_map: config_map.clone(), key };
                match parse_document(&document, &text) {
                    Ok(target) if target.name == name => return Ok(SuspendedTarget { target, live, text }),
                    _ => {}
                }
            }
        }
    }
    Err(no_target(session, name).await?)
}

/// The error for a target that has no editable text.
async fn no_target(session: &Session<'_>, name: &str) -> Result<CommandError, CommandError> {
    let live = session.live_targets().await?;
    if let Some(target) = live.by_last_good.iter().find(|target| target.name == name) {
        let instead = "and nothing written there takes effect before that is mended; `pause KIND --all` holds corrections meanwhile";
        return Ok(CommandError::BadUsage(format!("{}; {instead}", target.trouble)));
    }
    let names: Vec<_> = live.good.iter().map(|target| target.name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let troubles: String = live.troubles.iter().map(|trouble| format!("; {trouble}")).collect();
    Ok(CommandError::BadUsage(format!(
        "there is no target {name} in namespace {}; there are: {names}{troubles}",
        session.home
    )))
}

/// Writes the text onto the very ConfigMap that was read.
async fn write(
    client: &kube::Client,
    live: &Value,
    (namespace, document, edited): (&str, &DocumentName, &Edited),
) -> Result<(), CommandError> {
    let version = live.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
    let patch = json!({"metadata": {"resourceVersion": version}, "data": {&document.key: edited.text}});
    let parameters = PatchParams { field_manager: Some(PERSON_MANAGER.to_owned()), ..PatchParams::default() };
    let request = Request::new(ConfigMap::url_path(&(), Some(namespace))).patch(
        &document.config_map,
        &parameters,
        &Patch::Merge(patch),
    );
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
    writeln!(
        out,
        "target {name}: {line} ({place}){tried}\n  same as: kubectl edit configmap/{config_map} -n {namespace}"
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_that_applies_a_config_map_is_named() {
        let data = json!({"f:data": {"f:a.yaml": {}}});
        let labels = json!({"f:metadata": {"f:labels": {"f:app": {}}}});
        let last_applied = json!({"f:metadata": {"f:annotations": {LAST_APPLIED: {}}}});
        for (operation, manager, fields, is_named) in [
            ("Apply", "kustomize-controller", &labels, true),
            ("Update", "kubectl-client-side-apply", &data, true),
            ("Update", "helm", &data, true),
            ("Update", "argocd-controller", &last_applied, true),
            ("Update", "pipeline", &last_applied, true),
            ("Update", "labeller", &labels, false),
            ("Apply", PERSON_MANAGER, &data, false),
            ("Update", "kubectl-edit", &data, false),
        ] {
            let entry = json!({"operation": operation, "manager": manager, "fieldsV1": fields});
            let object = json!({"metadata": {"managedFields": [entry]}});
            assert_eq!(applier_of(&object), is_named.then_some(manager), "{manager}");
        }
        assert_eq!(applier_of(&json!({"metadata": {}})), None);
    }
}
