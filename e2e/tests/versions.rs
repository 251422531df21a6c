//! A kind that is served in two versions and converted by no webhook: no write takes from the stored object what the
//! schema of the other version lacks.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{CORRECT_VERB, FINALIZER, MADE_FOR_ANNOTATION};
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, right};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
/// The stored version is looked at every 15 s, and an unusable kind too. The rest is for a busy machine.
const LOOKED_UP_WITHIN: Duration = Duration::from_secs(45);
/// Delay of the clean-up in these tests, instead of ten minutes.
const PATIENCE: &str = "2s";

/// The kind Stack of one world: `v1alpha1` and `v1`, of which one is stored.
struct Stacks<'w> {
    world: &'w World,
    group: String,
}

impl<'w> Stacks<'w> {
    fn of(world: &'w World) -> Self {
        Self { world, group: format!("stacks.{}", world.group()) }
    }

    fn version(&self, name: &str) -> String {
        format!("{}/{name}", self.group)
    }

    /// Applies the definition. `extra` says which versions have the fields `spec.extra` and `status.phase`.
    async fn define(&self, (stored, served): (&str, &[&str]), extra: &[&str]) -> Result<()> {
        let text = json!({"type": "string"});
        let items = json!({"type": "object", "required": ["type", "status"], "properties": {"type": text, "status": text,
            "reason": text, "message": text, "observedGeneration": {"type": "integer", "format": "int64"},
            "lastTransitionTime": {"type": "string", "format": "date-time"}}});
        let version = |name: &str| {
            let mut spec = json!({"listen": text, "upstream": text});
            let mut status =
                json!({"conditions": {"type": "array", "x-kubernetes-list-type": "atomic", "items": items}});
            if extra.contains(&name) {
                spec["extra"] = json!({"type": "object", "properties": {"plan": text}});
                status["phase"] = text.clone();
            }
            let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": spec},
                "status": {"type": "object", "properties": status}}});
            json!({"name": name, "served": served.contains(&name), "storage": name == stored,
                "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}})
        };
        let versions = json!(["v1alpha1", "v1"].map(version));
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("stacks.{}", self.group)},
            "spec": {"group": self.group, "scope": "Namespaced", "versions": versions,
                "names": {"kind": "Stack", "plural": "stacks", "singular": "stack"}}});
        self.world.apply(&definition).await.map(drop)
    }

    /// Grants the rights that the manifests require for a custom kind.
    async fn allow(&self, made: bool) -> Result<()> {
        let world = self.world;
        for which in [Which::Poller, Which::Controller] {
            let mut verbs = vec!["get", "list", "watch"];
            if which == Which::Controller {
                verbs.push("patch");
                verbs.extend(made.then_some(["create", "delete", CORRECT_VERB]).into_iter().flatten());
            }
            let name = format!("{}-{}-stacks", world.programs_namespace(), which.name());
            let rules = json!([
                {"apiGroups": [self.group], "resources": ["stacks"], "verbs": verbs},
                {"apiGroups": [self.group], "resources": ["stacks/status"], "verbs": ["patch"]},
            ]);
            let subject =
                json!({"kind": "ServiceAccount", "name": which.name(), "namespace": world.programs_namespace()});
            let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
            world
                .apply(&json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}))
                .await?;
            world
                .apply(&json!({"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                    "roleRef": role, "subjects": [subject]}))
                .await?;
            world.wait_for_right(which, right(&self.group, "stacks", "list", world.objects_namespace()), true).await?;
        }
        Ok(())
    }

    /// Returns the shipped target for the objects in this version.
    fn target(&self, url: &str, version: &str, mode: &str) -> Result<Target> {
        let namespaces = [self.world.objects_namespace()];
        let objects = json!({"apiVersion": self.version(version), "kind": "Stack", "namespaces": namespaces});
        let desired = json!({"listen": "${self.spec.listen}", "upstream": "${self.spec.upstream}", "enabled": true});
        let target = Target::shipped(self.world, url)?.with("/spec/objects", objects);
        Ok(target.with("/spec/compare/desired", desired).with("/spec/correct/mode", json!(mode)))
    }

    fn api(&self, version: &str) -> Result<Api<DynamicObject>> {
        self.world.api(&self.version(version), "Stack", Some(self.world.objects_namespace()))
    }

    /// Creates an object through the stored version.
    async fn create(&self, name: &str, version: &str, more: &Value) -> Result<()> {
        let mut spec = json!({"listen": self.world.free_listen_address()?, "upstream": "127.0.0.1:9"});
        if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
            spec.extend(more.clone());
        }
        let metadata = json!({"name": name, "namespace": self.world.objects_namespace()});
        let object = json!({"apiVersion": self.version(version), "kind": "Stack", "metadata": metadata, "spec": spec});
        wait::until("Stack to be served", wait::DEADLINE, async || {
            Ok(match self.world.apply(&object).await {
                Ok(_) => Seen::Met(()),
                Err(error) => Seen::Instead(format!("{error:#}")),
            })
        })
        .await
    }

    /// Sets the fields that only v1 has.
    async fn fill(&self, name: &str) -> Result<()> {
        let api = self.api("v1")?;
        let (spec, status) = (json!({"spec": {"extra": {"plan": "only"}}}), json!({"status": {"phase": "Running"}}));
        wait::until("v1 to take its new fields", wait::DEADLINE, async || {
            api.patch(name, &PatchParams::default(), &Patch::Merge(&spec)).await?;
            let kept = api.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await?;
            let is_whole = kept.data["spec"]["extra"]["plan"] == "only" && kept.data["status"]["phase"] == "Running";
            Ok(if is_whole { Seen::Met(()) } else { Seen::Instead(kept.data.to_string()) })
        })
        .await
    }

    async fn read(&self, name: &str) -> Result<Value> {
        Ok(serde_json::to_value(self.api("v1")?.get(name).await?)?)
    }

    /// Waits until both programs refuse the target, or one of them has written to the object.
    async fn wait_until_judged(&self, programs: &[Arc<Program>], name: &str, said: &str) -> Result<()> {
        wait::until("the target to be judged", LOOKED_UP_WITHIN, async || {
            let object = self.read(name).await?;
            if condition(&object, "driftObserved").is_some() {
                return Ok(Seen::Met(()));
            }
            let mut pages = Vec::new();
            for program in programs {
                pages.push(program.page("/readyz").await?);
            }
            let is_refused = pages.iter().all(|(status, text)| *status == 200 && text.contains(said));
            Ok(if is_refused { Seen::Met(()) } else { Seen::Instead(format!("{pages:?}")) })
        })
        .await
    }

    /// Waits until an Event on the ConfigMap of the targets says this.
    async fn wait_until_refused(&self, said: &str) -> Result<()> {
        wait::until("both programs to refuse the kind", LOOKED_UP_WITHIN, async || {
            let events = self.world.events().await?;
            let unusable = events.iter().filter(|event| event["reason"] == "KindUnusable");
            let count = unusable.filter(|event| event["note"].to_string().contains(said)).count();
            Ok(if count >= 2 { Seen::Met(()) } else { Seen::Instead(format!("{count}: {events:?}")) })
        })
        .await
    }

    /// Waits until an object has this condition.
    async fn wait_for(&self, name: &str, kind: &str, status: &str) -> Result<Value> {
        wait::until(format!("{name} to have {kind} {status}"), wait::DEADLINE, async || {
            let object = self.read(name).await?;
            let is_so = condition(&object, kind).is_some_and(|entry| entry["status"] == status);
            Ok(if is_so { Seen::Met(object) } else { Seen::Instead(object.to_string()) })
        })
        .await
    }
}

/// An object without what the two programs and the API server keep on it.
fn of_others(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["managedFields", "resourceVersion", "annotations"] {
            metadata.remove(field);
        }
        let finalizers = metadata.remove("finalizers").unwrap_or_default();
        let others: Vec<_> = finalizers.as_array().into_iter().flatten().filter(|one| **one != FINALIZER).collect();
        assert!(others.is_empty(), "{others:?}");
    }
    if let Some(status) = object["status"].as_object_mut() {
        status.remove("conditions");
    }
    object
}

fn ensure_whole(before: &Value, after: &Value) -> Result<()> {
    ensure!(of_others(before) == of_others(after), "the stored object lost something: {after} was {before}");
    ensure!(after["spec"]["extra"]["plan"] == "only" && after["status"]["phase"] == "Running", "{after}");
    Ok(())
}

async fn start_both(world: &World) -> Result<[Arc<Program>; 2]> {
    let arguments = vec!["--clean-up-after".to_owned(), PATIENCE.to_owned()];
    let options = || Options { arguments: arguments.clone(), do_not_wait: true, ..Options::default() };
    Ok([world.start(Which::Poller, options()).await?, world.start(Which::Controller, options()).await?])
}

async fn upstream(toxiproxy: &Toxiproxy, name: &str) -> Result<Option<String>> {
    Ok(toxiproxy.proxy(name).await?.map(|proxy| proxy.upstream))
}

const LOST: &str = "removes spec.extra, status.phase from the stored object";

#[tokio::test]
async fn a_target_of_an_older_version_takes_nothing() -> Result<()> {
    World::run("older version", async |world| {
        let (stacks, toxiproxy) = (Stacks::of(world), world.start_toxiproxy().await?);
        stacks.define(("v1", &["v1alpha1", "v1"]), &["v1"]).await?;
        stacks.allow(false).await?;
        stacks.create("one", "v1", &json!({})).await?;
        stacks.fill("one").await?;
        let before = stacks.read("one").await?;

        world.apply_target(&stacks.target(toxiproxy.url(), "v1alpha1", "Observe")?).await?;
        let programs = start_both(world).await?;
        stacks.wait_until_judged(&programs, "one", LOST).await?;
        let after = stacks.read("one").await?;
        ensure_whole(&before, &after)?;
        ensure!(before == after, "the target is refused, and somebody wrote {after}");
        stacks.wait_until_refused(&format!("write apiVersion {}", stacks.version("v1"))).await?;

        let namespace = world.programs_namespace();
        let check = world.run_command(&["check", "--from-cluster", "-n", namespace]).await?;
        let said = format!("{}{}", check.output, check.complaints);
        ensure!(check.code == 3 && said.contains(LOST), "{check:?}");
        ensure!(said.contains("a write of the condition also changes") && said.contains("spec.extra"), "{check:?}");

        // The same target works as soon as it names the stored version.
        world.apply_target(&stacks.target(toxiproxy.url(), "v1", "Correct")?).await?;
        let healed = stacks.wait_for("one", "driftCorrected", "True").await?;
        ensure!(healed["metadata"]["finalizers"] == json!([FINALIZER]), "{healed}");
        ensure_whole(&before, &healed)?;
        ensure!(upstream(&toxiproxy, "one").await?.as_deref() == Some("127.0.0.1:9"), "nothing was made");

        let word = format!("stacks.v1alpha1.{}/one", stacks.group);
        for command in ["pause", "resume", "poll"] {
            let ended = world.run_command(&[command, &word, "-n", world.objects_namespace()]).await?;
            ensure!(ended.code == 0, "{command}: {ended:?}");
            ensure_whole(&before, &stacks.read("one").await?).context(command)?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_field_added_later_stops_the_target() -> Result<()> {
    World::run("field added", async |world| {
        let (stacks, toxiproxy) = (Stacks::of(world), world.start_toxiproxy().await?);
        let both = ("v1", ["v1alpha1", "v1"].as_slice());
        stacks.define(both, &[]).await?;
        stacks.allow(false).await?;
        stacks.create("one", "v1", &json!({})).await?;
        world.apply_target(&stacks.target(toxiproxy.url(), "v1alpha1", "Correct")?).await?;
        let programs = start_both(world).await?;
        // Both versions have the same fields, so the target may name either.
        stacks.wait_for("one", "driftCorrected", "True").await?;
        stacks.wait_for("one", "driftObserved", "False").await?;

        stacks.define(both, &["v1"]).await?;
        stacks.wait_until_refused(LOST).await?;
        stacks.fill("one").await?;
        let before = stacks.read("one").await?;
        toxiproxy.update("one", json!({"upstream": "127.0.0.3:9"})).await?;
        wait::throughout("the object to stay as it is", Duration::from_secs(8), async || {
            let now = stacks.read("one").await?;
            Ok(if now == before { Seen::Met(()) } else { Seen::Instead(now.to_string()) })
        })
        .await?;
        ensure!(upstream(&toxiproxy, "one").await?.as_deref() == Some("127.0.0.3:9"), "a refused target corrected");

        // The Leases note v1alpha1, and the clean-up goes through v1.
        world.apply_targets(&[]).await?;
        wait::until("the marks to be removed", wait::DEADLINE, async || {
            let now = stacks.read("one").await?;
            let is_clean = now["metadata"].get("finalizers").is_none()
                && ["driftObserved", "driftCorrected"].iter().all(|kind| condition(&now, kind).is_none());
            Ok(if is_clean { Seen::Met(()) } else { Seen::Instead(now.to_string()) })
        })
        .await?;
        ensure_whole(&before, &stacks.read("one").await?)?;
        drop(programs);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_manifest_of_an_older_version_takes_nothing() -> Result<()> {
    World::run("manifest of an older version", async |world| {
        let stacks = Stacks::of(world);
        stacks.define(("v1", &["v1alpha1", "v1"]), &["v1"]).await?;
        stacks.allow(true).await?;
        let target = |version: &str| {
            let version = stacks.version(version);
            let read = json!({"apiVersion": version, "kind": "Stack", "name": "made", "observed": "${resource.?spec}"});
            let manifest = json!({"apiVersion": version, "kind": "Stack", "spec": {"upstream": "${desired.upstream}"}});
            let correct = json!({"mode": "Correct", "limits": {"maxDriftedPercent": 100},
                "kubernetes": {"manifest": manifest, "delete": true}});
            Ok::<_, anyhow::Error>(
                Target::shipped(world, "http://127.0.0.1:9")?
                    .with("/spec/read", json!({"kubernetes": read}))
                    .with("/spec/compare", json!({"desired": {"upstream": "${self.spec.upstream}"}}))
                    .without("/spec/base")
                    .without("/spec/insecure")
                    .with("/spec/correct", correct),
            )
        };
        world.apply_target(&target("v1")?).await?;
        world.start_both().await?;
        world.create_some_proxy("web").await?;
        world.wait_until_healed_by("web", 1).await?;
        stacks.fill("made").await?;
        let before = stacks.read("made").await?;
        ensure!(before["metadata"]["annotations"].get(MADE_FOR_ANNOTATION).is_some(), "{before}");

        // While the target is suspended, its former text corrects nothing.
        world.apply_target(&target("v1")?.with("/spec/suspend", json!(true))).await?;
        world.wait_for_verdict("web", "Unknown", "Suspended").await?;
        world.apply_target(&target("v1alpha1")?).await?;
        world.patch_proxy("web", json!({"spec": {"upstream": "127.0.0.2:9"}})).await?;
        let object = wait::until("the manifest to be judged", LOOKED_UP_WITHIN, async || {
            let proxy = world.proxy("web").await?.context("no such object")?;
            let corrected = condition(&proxy, "driftCorrected").cloned().unwrap_or_default();
            let (status, message) = (&corrected["status"], corrected["message"].as_str().unwrap_or_default());
            let is_refused = status == "False" && message.contains("removes spec.extra");
            let is_done = message.starts_with("correction 2") && status == "True";
            Ok(if is_refused || is_done { Seen::Met(proxy) } else { Seen::Instead(corrected.to_string()) })
        })
        .await?;
        let after = stacks.read("made").await?;
        ensure!(before == after, "{object}: the stored object changed: {after} was {before}");
        let check = world.run_command(&["check", "--from-cluster", "-n", world.programs_namespace()]).await?;
        let said = format!("{}{}", check.output, check.complaints);
        ensure!(check.code == 3 && said.contains("correct.kubernetes: stacks.") && said.contains(LOST), "{check:?}");

        world.apply_target(&target("v1")?).await?;
        wait::until("the manifest to be applied", wait::DEADLINE, async || {
            let now = stacks.read("made").await?;
            Ok(if now["spec"]["upstream"] == "127.0.0.2:9" { Seen::Met(()) } else { Seen::Instead(now.to_string()) })
        })
        .await?;
        let applied = stacks.read("made").await?;
        ensure!(applied["spec"]["extra"]["plan"] == "only" && applied["status"]["phase"] == "Running", "{applied}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_stored_version_that_is_not_served_is_protected() -> Result<()> {
    World::run("unserved version", async |world| {
        let (stacks, toxiproxy) = (Stacks::of(world), world.start_toxiproxy().await?);
        stacks.define(("v1", &["v1alpha1", "v1"]), &["v1"]).await?;
        stacks.allow(false).await?;
        stacks.create("one", "v1", &json!({})).await?;
        stacks.fill("one").await?;
        let before = stacks.read("one").await?;
        stacks.define(("v1", &["v1alpha1"]), &["v1"]).await?;
        wait::until("v1 not to be served", wait::DEADLINE, async || {
            Ok(if stacks.read("one").await.is_err() { Seen::Met(()) } else { Seen::Instead("served".to_owned()) })
        })
        .await?;
        world.apply_target(&stacks.target(toxiproxy.url(), "v1alpha1", "Observe")?).await?;
        start_both(world).await?;
        stacks.wait_until_refused("are stored as v1, which is not served, and each write through v1alpha1").await?;
        let word = format!("stacks.{}/one", stacks.group);
        let ended = world.run_command(&["pause", &word, "-n", world.objects_namespace()]).await?;
        ensure!(ended.code == 2 && ended.complaints.contains(LOST), "{ended:?}");

        stacks.define(("v1", &["v1alpha1", "v1"]), &["v1"]).await?;
        let after = wait::until("v1 to be served again", wait::DEADLINE, async || {
            Ok(match stacks.read("one").await {
                Ok(object) => Seen::Met(object),
                Err(error) => Seen::Instead(format!("{error:#}")),
            })
        })
        .await?;
        ensure!(before == after, "{after} was {before}");
        Ok(())
    })
    .await
}
