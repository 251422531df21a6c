//! Follows a page of the cookbook as written.
//!
//! docs/cookbook/README.md lists the replaced parts of its text. Nothing else is changed.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use drift_api::names;
use drift_e2e::manifests::{NAMESPACE, parse_stream};
use drift_e2e::pages::yaml_blocks;
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{History, World, condition, describe, right, tag, yaml};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::Value;

/// The namespace of the objects on every page.
const OBJECTS: &str = "team-a";
/// The interval on every page, and its replacement, which avoids waits of half a minute.
const INTERVALS: [&str; 2] = ["interval: 30s", "interval: 3s"];

/// The last object on a page.
pub(crate) struct Subject {
    api: Api<DynamicObject>,
    name: String,
}

/// Applies everything on a page, and starts both programs. See [`apply`].
pub(crate) async fn follow(world: &World, page: &str, replaced: &[(&str, &str)]) -> Result<Subject> {
    let subject = apply(world, page, replaced).await?;
    world.start_both().await?;
    Ok(subject)
}

/// Follows a page whose server sends hints to the poller at this address.
pub(crate) async fn follow_told(
    world: &World,
    (page, hints): (&str, &str),
    replaced: &[(&str, &str)],
) -> Result<(Subject, Arc<Program>)> {
    let subject = apply(world, page, replaced).await?;
    let arguments = vec!["--hints-address".to_owned(), hints.to_owned()];
    let poller = world.start(Which::Poller, Options { arguments, ..Options::default() }).await?;
    world.start_controller().await?;
    Ok((subject, poller))
}

/// Waits until a hint has caused a poll. At a page's interval, drift would show without hints too.
pub(crate) async fn wait_until_hinted(poller: &Program) -> Result<()> {
    wait::until("a hint to lead to a poll", wait::DEADLINE, async || {
        let metrics = poller.metrics().await?;
        let polled = metrics.sum("drift_poller_hints_total", &[("outcome", "polled")]);
        let requests =
            || format!("{:?}", metrics.matching("drift_poller_hint_requests_total", &[]).collect::<Vec<_>>());
        Ok(if polled > 0.0 { Seen::Met(()) } else { Seen::Instead(requests()) })
    })
    .await
}

/// Applies everything on a page, in its order. `replaced` contains the server's address, and values of the object that
/// only the test knows, each with the text on the page. Fails if the page lacks such a text.
pub(crate) async fn apply(world: &World, page: &str, replaced: &[(&str, &str)]) -> Result<Subject> {
    let documents = documents(world, page, replaced)?;
    apply_all(world, documents).await
}

/// Returns the documents of a page after the replacements. Fails if the page lacks a text to replace.
pub(crate) fn documents(world: &World, page: &str, replaced: &[(&str, &str)]) -> Result<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cookbook").join(page);
    let mut text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let of_the_world = [(NAMESPACE, world.programs_namespace()), (OBJECTS, world.objects_namespace())];
    // A page whose server sends hints has a longer interval, which is kept.
    text = text.replace(INTERVALS[0], INTERVALS[1]);
    for (written, own) in of_the_world.iter().chain(replaced) {
        ensure!(text.contains(written), "{page} has no {written:?}");
        text = text.replace(written, own);
    }
    let mut documents = parse_stream(&yaml_blocks(&text).join("---\n"))?;
    documents.iter_mut().for_each(|document| own_roles(document, world.objects_namespace()));
    Ok(documents)
}

/// Gives the roles of the whole cluster names of this world, since other worlds may follow the same page.
fn own_roles(document: &mut Value, world: &str) {
    let kind = document["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "ClusterRole" | "ClusterRoleBinding") {
        return;
    }
    let named: &[&str] = if kind == "ClusterRole" { &["metadata"] } else { &["metadata", "roleRef"] };
    for part in named {
        if let Value::String(name) = &mut document[part]["name"] {
            name.push_str(&format!("-{world}"));
        }
    }
}

/// Applies documents. The last one is the object.
pub(crate) async fn apply_all(world: &World, mut documents: Vec<Value>) -> Result<Subject> {
    let object = documents.pop().context("a page without YAML")?;
    for document in &documents {
        apply_once_served(world, document).await?;
    }
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (word(&object["apiVersion"]), word(&object["kind"]));
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let plural = plural(&documents, &kind);
    for which in [Which::Poller, Which::Controller] {
        // Otherwise a program that starts before the API server knows the right would retry only after half a minute.
        world.wait_for_right(which, right(group, &plural, "list", world.objects_namespace()), true).await?;
    }
    apply_once_served(world, &object).await?;
    subject(world, &object)
}

/// Applies a document, which may be of a kind that the page defines.
async fn apply_once_served(world: &World, document: &Value) -> Result<Value> {
    wait::until("the kind to be served", wait::DEADLINE, async || Ok(Seen::Met(world.apply(document).await?))).await
}

/// Returns an applied object of a page.
pub(crate) fn subject(world: &World, object: &Value) -> Result<Subject> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let api = world.api(&word(&object["apiVersion"]), &word(&object["kind"]), Some(world.objects_namespace()))?;
    Ok(Subject { api, name: word(&object["metadata"]["name"]) })
}

/// Returns the plural of a kind that the page defines, or of a built-in one.
fn plural(documents: &[Value], kind: &str) -> String {
    let names = documents.iter().map(|document| &document["spec"]["names"]).find(|names| names["kind"] == kind);
    let defined = names.and_then(|names| names["plural"].as_str()).map(str::to_owned);
    defined.unwrap_or_else(|| format!("{}s", kind.to_lowercase()))
}

impl Subject {
    /// Returns the current object.
    pub(crate) async fn get(&self) -> Result<Value> {
        Ok(serde_json::to_value(self.api.get(&self.name).await?)?)
    }

    /// Starts to record the object's history.
    pub(crate) async fn watch(&self) -> Result<History> {
        History::of(self.api.clone(), &self.name).await
    }

    /// Waits until `driftObserved` has this status and reason.
    pub(crate) async fn wait_for_verdict(&self, verdict: &str) -> Result<Value> {
        self.wait_for(verdict, |object| describe(object, names::DRIFT_OBSERVED) == verdict).await
    }

    /// Waits until `driftCorrected` has this status and reason.
    pub(crate) async fn wait_for_correction(&self, wanted: &str) -> Result<Value> {
        self.wait_for(wanted, |object| describe(object, names::DRIFT_CORRECTED) == wanted).await
    }

    /// Waits until it is in sync and exactly this many corrections are verified.
    pub(crate) async fn wait_until_healed_by(&self, corrections: u64) -> Result<Value> {
        self.wait_for(&format!("in sync, correction {corrections} verified"), |object| {
            describe(object, names::DRIFT_OBSERVED) == "False/InSync" && tag(object).correction == corrections
        })
        .await
    }

    /// Waits until it satisfies `wanted`. A verdict that changes often is written once a minute, so that one of these
    /// waits can last longer than the usual deadline.
    pub(crate) async fn wait_for(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        wait::until(format!("{}: {what}", self.name), wait::DEADLINE * 2, async || {
            let object = serde_json::to_value(self.api.get(&self.name).await?)?;
            Ok(if wanted(&object) { Seen::Met(object) } else { Seen::Instead(yaml(&object)) })
        })
        .await
    }

    /// Waits until the message of `driftCorrected` contains this text.
    pub(crate) async fn wait_until_told(&self, words: &str) -> Result<Value> {
        self.wait_for(words, |object| {
            let note = condition(object, names::DRIFT_CORRECTED).and_then(|note| note["message"].as_str());
            note.is_some_and(|note| note.contains(words))
        })
        .await
    }

    /// Applies a merge patch to it, like its owner.
    pub(crate) async fn edit(&self, patch: Value) -> Result<()> {
        self.api.patch(&self.name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Requests its deletion.
    pub(crate) async fn request_deletion(&self) -> Result<()> {
        self.api.delete(&self.name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Deletes it and waits until it is gone.
    pub(crate) async fn delete(&self) -> Result<()> {
        self.request_deletion().await?;
        self.wait_until_gone().await
    }

    /// Waits until it is gone.
    pub(crate) async fn wait_until_gone(&self) -> Result<()> {
        wait::until(format!("{} to be gone", self.name), wait::DEADLINE, async || {
            let object = self.api.get_opt(&self.name).await?.map(serde_json::to_value).transpose()?;
            Ok(object.map_or(Seen::Met(()), |object| Seen::Instead(yaml(&object))))
        })
        .await
    }
}
