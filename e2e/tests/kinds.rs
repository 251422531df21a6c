//! Kinds with any form of status: a target works with each of them, or is rejected with a message that says what to
//! change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_api::names::NUDGE_VERB;
use drift_e2e::programs::{Program, Which};
use drift_e2e::systems::outside::Outside;
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, describe, right};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

/// An unusable kind is looked up again every 15 s. The rest is for a busy machine.
const LOOKED_UP_WITHIN: Duration = Duration::from_secs(45);

/// A kind of one world, with the fields that describe a proxy.
struct Kind {
    api_version: String,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
    /// Returns the spec of an object whose proxy listens on this port and forwards to `127.0.0.N:9`.
    spec: fn(port: u16, upstream: u8) -> Value,
    /// Templates of `listen` and `upstream`.
    desired: [&'static str; 2],
}

fn plain_spec(port: u16, upstream: u8) -> Value {
    json!({"listen": format!("127.0.0.1:{port}"), "upstream": format!("127.0.0.{upstream}:9")})
}

impl Kind {
    /// Defines a kind in the world's own group, as a platform engineer would.
    async fn define(world: &World, kind: &'static str, scope: &str, status: Value) -> Result<Self> {
        let plural = match kind {
            "Atomic" => "atomics",
            "Free" => "frees",
            "Wide" => "wides",
            "Old" => "olds",
            _ => "stricts",
        };
        let defined = Self {
            api_version: format!("{plural}.{}/v1", world.group()),
            kind,
            plural,
            namespaced: scope == "Namespaced",
            spec: plain_spec,
            desired: ["${self.spec.listen}", "${self.spec.upstream}"],
        };
        defined.apply_definition(world, status).await?;
        Ok(defined)
    }

    fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    async fn apply_definition(&self, world: &World, status: Value) -> Result<()> {
        self.apply_version(world, status, json!({"status": {}})).await
    }

    async fn apply_version(&self, world: &World, status: Value, subresources: Value) -> Result<()> {
        let scope = if self.namespaced { "Namespaced" } else { "Cluster" };
        let text = json!({"type": "string"});
        let spec = json!({"type": "object", "properties": {"listen": text, "upstream": text}});
        let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
        let version = json!({"name": "v1", "served": true, "storage": true, "subresources": subresources,
            "schema": {"openAPIV3Schema": schema}});
        world
            .apply(&json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{}.{}", self.plural, self.group())},
                "spec": {"group": self.group(), "scope": scope, "versions": [version],
                    "names": {"kind": self.kind, "plural": self.plural, "singular": self.kind.to_lowercase()}},
            }))
            .await
            .map(drop)
    }

    /// Grants the rights that the manifests require for a custom kind.
    async fn allow(&self, world: &World) -> Result<()> {
        let status = format!("{}/status", self.plural);
        for (which, verbs) in [
            (Which::Poller, json!(["get", "list", "watch"])),
            (Which::Controller, json!(["get", "list", "watch", "patch"])),
        ] {
            let name = format!("{}-{}-{}", world.programs_namespace(), which.name(), self.plural);
            let group = json!([self.group()]);
            let rules = json!([
                {"apiGroups": group, "resources": [self.plural], "verbs": verbs},
                {"apiGroups": group, "resources": [status], "verbs": ["patch"]},
            ]);
            let api_version = "rbac.authorization.k8s.io/v1";
            let role =
                json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
            world.apply(&role).await?;
            let subject =
                json!({"kind": "ServiceAccount", "name": which.name(), "namespace": world.programs_namespace()});
            world
                .apply(&json!({
                    "apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                    "subjects": [subject],
                }))
                .await?;
            // Otherwise a program that starts before the API server knows the right would retry only after half a
            // minute.
            world
                .wait_for_right(which, right(self.group(), self.plural, "list", world.objects_namespace()), true)
                .await?;
        }
        Ok(())
    }

    /// Returns the shipped target for objects of this kind.
    fn target(&self, world: &World, url: &str) -> Result<Target> {
        let mut objects = json!({"apiVersion": self.api_version, "kind": self.kind});
        if self.namespaced {
            objects["namespaces"] = json!([world.objects_namespace()]);
        }
        let [listen, upstream] = self.desired;
        let desired = json!({"listen": listen, "upstream": upstream, "enabled": true});
        Ok(Target::shipped(world, url)?.with("/spec/objects", objects).with("/spec/compare/desired", desired))
    }

    fn api(&self, world: &World) -> Result<Api<DynamicObject>> {
        world.api(&self.api_version, self.kind, self.namespaced.then(|| world.objects_namespace()))
    }

    async fn put(&self, world: &World, name: &str, port: u16, upstream: u8) -> Result<()> {
        let mut metadata = json!({"name": name});
        if self.namespaced {
            metadata["namespace"] = json!(world.objects_namespace());
        }
        let spec = (self.spec)(port, upstream);
        let document = json!({"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, "spec": spec});
        wait::until(format!("{} to be served", self.kind), wait::DEADLINE, async || {
            Ok(Seen::Met(world.apply(&document).await?))
        })
        .await
        .map(drop)
    }

    /// Waits until this many corrections are recorded and the last one is verified: no further write follows.
    async fn wait_until_healed(&self, world: &World, name: &str, corrections: u64) -> Result<Value> {
        let api = self.api(world)?;
        let number = format!("correction {corrections}");
        wait::until(format!("{} {name} to be healed by {number}", self.kind), wait::DEADLINE, async || {
            let object = serde_json::to_value(api.get(name).await?)?;
            let is_so = [("driftObserved", "False/InSync"), ("driftCorrected", "True/CorrectionApplied")].iter().all(
                |(kind, wanted)| {
                    let message = condition(&object, kind).and_then(|entry| entry["message"].as_str());
                    describe(&object, kind) == *wanted && message.is_some_and(|message| message.contains(&number))
                },
            );
            Ok(if is_so { Seen::Met(object) } else { Seen::Instead(object.to_string()) })
        })
        .await
    }

    async fn wait_for(&self, world: &World, name: &str, verdict: &str, note: &str) -> Result<Value> {
        let api = self.api(world)?;
        wait::until(format!("{} {name} to be {verdict} and {note}", self.kind), wait::DEADLINE, async || {
            let object = serde_json::to_value(api.get(name).await?)?;
            let seen = (describe(&object, "driftObserved"), describe(&object, "driftCorrected"));
            let is_so = (seen.0.as_str(), seen.1.as_str()) == (verdict, note);
            Ok(if is_so { Seen::Met(object) } else { Seen::Instead(format!("{seen:?}: {object}")) })
        })
        .await
    }
}

/// A condition's schema with the six fields, as most operators generate it.
fn items() -> Value {
    let text = json!({"type": "string"});
    json!({"type": "object", "required": ["type", "status"], "properties": {
        "type": text, "status": text, "reason": text, "message": text,
        "observedGeneration": {"type": "integer", "format": "int64"},
        "lastTransitionTime": {"type": "string", "format": "date-time"}}})
}

fn status_with(items: &Value, list_type: &str) -> Value {
    let list = json!({"type": "array", "x-kubernetes-list-type": list_type, "items": items});
    json!({"type": "object", "properties": {"conditions": list, "address": {"type": "string"}}})
}

/// A toxiproxy behind a recording server, and both programs with a target of a kind.
struct Bed {
    toxiproxy: Toxiproxy,
    outside: Outside,
    poller: Arc<Program>,
    controller: Arc<Program>,
}

impl Bed {
    async fn start(world: &World, kind: &Kind) -> Result<Self> {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        kind.allow(world).await?;
        world.apply_target(&kind.target(world, outside.url())?).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        Ok(Self { toxiproxy, outside, poller, controller })
    }

    /// Checks creation, edit, drift and silence, as for any kind. Returns the final object.
    async fn ensure_works(&self, world: &World, kind: &Kind) -> Result<Value> {
        let upstream = async |wanted: &str| {
            let is_so =
                |proxy: Option<&drift_e2e::systems::toxiproxy::Proxy>| proxy.is_some_and(|it| it.upstream == wanted);
            self.toxiproxy.wait_for("web", is_so).await.map(drop)
        };
        let before = self.outside.writes();
        let port = drift_e2e::process::ports::free_port()?;
        kind.put(world, "web", port, 1).await?;
        kind.wait_until_healed(world, "web", 1).await?;
        upstream("127.0.0.1:9").await?;

        kind.put(world, "web", port, 2).await?;
        upstream("127.0.0.2:9").await?;
        kind.wait_until_healed(world, "web", 2).await?;

        self.toxiproxy.update("web", json!({"upstream": "127.0.0.3:9"})).await?;
        upstream("127.0.0.2:9").await?;
        let object = kind.wait_until_healed(world, "web", 3).await?;
        let version = object["metadata"]["resourceVersion"].clone();
        let api = kind.api(world)?;
        let writes = self.outside.writes() - before;
        ensure!(writes == 3, "{writes} writes outside: {:?}", self.outside.requests());
        wait::throughout("the object to stay as it is", Duration::from_secs(7), async || {
            let now = serde_json::to_value(api.get("web").await?)?;
            let same = now["metadata"]["resourceVersion"] == version;
            Ok(if same { Seen::Met(()) } else { Seen::Instead(now.to_string()) })
        })
        .await?;
        Ok(object)
    }

    async fn wait_for_documents(&self, state: &str, wanted: f64, within: Duration) -> Result<()> {
        for program in [&self.poller, &self.controller] {
            let what = format!("{} to count {wanted} documents {state}", program.instance());
            wait::until(what, within, async || {
                let metrics = program.metrics().await?;
                let seen = metrics.sum("drift_config_documents", &[("state", state)]);
                Ok(if seen == wanted { Seen::Met(()) } else { Seen::Instead(seen.to_string()) })
            })
            .await?;
        }
        Ok(())
    }

    /// Checks that both programs count and report the rejected kind, with this text.
    async fn ensure_refused(&self, world: &World, sentence: &str) -> Result<()> {
        self.wait_for_documents("kind_unusable", 1.0, wait::DEADLINE).await?;
        self.wait_for_documents("active", 0.0, wait::DEADLINE).await?;
        for program in [&self.poller, &self.controller] {
            // A newly defined kind may seem missing at first.
            wait::until(format!("/readyz of {} to say it", program.instance()), LOOKED_UP_WITHIN, async || {
                let (status, text) = program.page("/readyz").await?;
                let said = status == 200 && text.contains(sentence);
                Ok(if said { Seen::Met(()) } else { Seen::Instead(format!("{status} {text}")) })
            })
            .await?;
            let name = format!("{}_attested", program.which().name().replace('-', "_"));
            wait::until(format!("{name} to be 0"), wait::DEADLINE, async || {
                let metrics = program.metrics().await?;
                let attested: Vec<f64> = metrics.matching(&name, &[("target", "proxies")]).map(|it| it.value).collect();
                Ok(if attested == [0.0] { Seen::Met(()) } else { Seen::Instead(format!("{attested:?}")) })
            })
            .await?;
        }
        wait::until("an Event that says it", wait::DEADLINE, async || {
            let events = world.events().await?;
            let mut notes = events.iter().filter(|it| it["reason"] == "KindUnusable").map(|it| it["note"].to_string());
            let said = notes.any(|note| note.contains(sentence));
            Ok(if said { Seen::Met(()) } else { Seen::Instead(format!("{events:?}")) })
        })
        .await
    }
}

async fn works(label: &str, kind: &'static str, scope: &str, status: Value) -> Result<()> {
    World::run(label, async |world| {
        let kind = Kind::define(world, kind, scope, status).await?;
        let bed = Bed::start(world, &kind).await?;
        bed.ensure_works(world, &kind).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_kind_whose_status_keeps_unknown_fields_works() -> Result<()> {
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    works("a status that keeps unknown fields", "Free", "Namespaced", status).await
}

#[tokio::test]
async fn a_cluster_scoped_kind_works() -> Result<()> {
    let mut status = status_with(&items(), "map");
    status["properties"]["conditions"]["x-kubernetes-list-map-keys"] = json!(["type"]);
    works("a cluster-scoped kind", "Wide", "Cluster", status).await
}

#[tokio::test]
async fn a_kind_with_an_atomic_list_works() -> Result<()> {
    World::run("atomic list", async |world| {
        let kind = Kind::define(world, "Atomic", "Namespaced", status_with(&items(), "atomic")).await?;
        let bed = Bed::start(world, &kind).await?;
        bed.ensure_works(world, &kind).await?;
        // Its operator puts its own entry in front with a whole list, so ours move.
        let api = kind.api(world)?;
        let mut object = serde_json::to_value(api.get("web").await?)?;
        let ready = json!({"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let conditions = object["status"]["conditions"].as_array_mut().context("no conditions")?;
        conditions.insert(0, ready.clone());
        let status = json!({"status": {"conditions": conditions, "address": "a"}});
        api.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await?;
        bed.toxiproxy.update("web", json!({"upstream": "127.0.0.3:9"})).await?;
        bed.toxiproxy.wait_for("web", |proxy| proxy.is_some_and(|proxy| proxy.upstream == "127.0.0.2:9")).await?;
        let object = kind.wait_until_healed(world, "web", 4).await?;
        let conditions = object["status"]["conditions"].as_array().context("no conditions")?;
        ensure!(conditions.len() == 3 && conditions[0] == ready, "{conditions:?}");
        ensure!(object["status"]["address"] == "a");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_kind_is_refused_until_it_is_mended() -> Result<()> {
    World::run("old items", async |world| {
        let mut old = items();
        old["properties"].as_object_mut().context("no properties")?.remove("observedGeneration");
        let kind = Kind::define(world, "Old", "Namespaced", status_with(&old, "atomic")).await?;
        let bed = Bed::start(world, &kind).await?;
        let port = drift_e2e::process::ports::free_port()?;
        kind.put(world, "early", port, 1).await?;
        bed.ensure_refused(world, "add observedGeneration: {type: integer} at .spec.versions[name=v1]").await?;
        bed.outside.nothing_is_written_for(Duration::from_secs(2)).await?;
        ensure!(bed.outside.requests().is_empty(), "a target that is refused polls");

        kind.apply_definition(world, status_with(&items(), "atomic")).await?;
        bed.wait_for_documents("kind_unusable", 0.0, LOOKED_UP_WITHIN).await?;
        bed.wait_for_documents("active", 1.0, wait::DEADLINE).await?;
        world.wait_for_event("KindUsable", "drift-targets").await?;
        kind.wait_for(world, "early", "False/InSync", "True/CorrectionApplied").await?;
        bed.ensure_works(world, &kind).await?;
        for program in [&bed.poller, &bed.controller] {
            let (_, text) = program.page("/readyz").await?;
            ensure!(!text.contains("observedGeneration"), "{text}");
        }
        Ok(())
    })
    .await
}

/// Grants the right to wake the operators of a kind's objects.
async fn allow_nudges(world: &World, kind: &Kind) -> Result<()> {
    const RBAC: &str = "rbac.authorization.k8s.io/v1";
    let name = format!("{}-nudge-{}", world.programs_namespace(), kind.plural);
    let rule = json!({"apiGroups": [kind.group()], "resources": [kind.plural], "verbs": [NUDGE_VERB]});
    let role = json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]});
    world.apply(&role).await?;
    let subject =
        json!({"kind": "ServiceAccount", "name": Which::Controller.name(), "namespace": world.programs_namespace()});
    let named = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
    let binding = json!({"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": named, "subjects": [subject]});
    world.apply(&binding).await?;
    let nudge = right(kind.group(), kind.plural, NUDGE_VERB, world.objects_namespace());
    world.wait_for_right(Which::Controller, nudge, true).await
}

/// Waits for this verdict of a generation that the kind keeps in the tag.
async fn wait_for_tagged(world: &World, kind: &Kind, verdict: &str, generation: u64) -> Result<Value> {
    let api = kind.api(world)?;
    let ending = format!(", generation {generation}]");
    wait::until(format!("web to be {verdict} at generation {generation}"), wait::DEADLINE, async || {
        let object = serde_json::to_value(api.get("web").await?)?;
        let message = condition(&object, "driftObserved").and_then(|entry| entry["message"].as_str());
        let is_so =
            describe(&object, "driftObserved") == verdict && message.is_some_and(|text| text.ends_with(&ending));
        Ok(if is_so { Seen::Met(object) } else { Seen::Instead(object.to_string()) })
    })
    .await
}

#[tokio::test]
async fn a_kind_without_the_generation_is_observed_and_nudged() -> Result<()> {
    World::run("tagged generation", async |world| {
        let mut old = items();
        old["properties"].as_object_mut().context("no properties")?.remove("observedGeneration");
        let kind = Kind::define(world, "Old", "Namespaced", status_with(&old, "atomic")).await?;
        kind.allow(world).await?;
        allow_nudges(world, &kind).await?;
        let toxiproxy = world.start_toxiproxy().await?;
        let correct = json!({"mode": "Correct", "settle": "1s", "limits": {"maxDriftedPercent": 100},
            "nudge": {"annotations": {"operator.example/requestedAt": "drift-${correction}"}}});
        let target = kind.target(world, toxiproxy.url())?.with("/spec/correct", correct);
        world.apply_target(&target).await?;
        let poller = world.start_poller().await?;
        let _controller = world.start_controller().await?;
        let port = drift_e2e::process::ports::free_port()?;
        toxiproxy.create("web", &format!("127.0.0.1:{port}"), "127.0.0.1:9").await?;
        kind.put(world, "web", port, 1).await?;
        let seen = wait_for_tagged(world, &kind, "False/InSync", 1).await?;
        let observed = condition(&seen, "driftObserved").context("no verdict")?;
        ensure!(observed.get("observedGeneration").is_none(), "{observed}");

        toxiproxy.update("web", json!({"upstream": "127.0.0.3:9"})).await?;
        let nudged = kind.wait_for(world, "web", "True/FieldsDiffer", "True/CorrectionApplied").await?;
        let note = condition(&nudged, "driftCorrected").context("no record")?;
        ensure!(note["message"] == "correction 1: nudged [generation 1]", "{note}");
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:9"})).await?;
        wait_for_tagged(world, &kind, "False/InSync", 1).await?;

        kind.put(world, "web", port, 2).await?;
        wait_for_tagged(world, &kind, "True/NotUpdated", 2).await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.2:9"})).await?;
        let healed = wait_for_tagged(world, &kind, "False/InSync", 2).await?;

        poller.stop().await?;
        let poller = world.start_poller().await?;
        poller.wait_until_ready().await?;
        let api = kind.api(world)?;
        wait::throughout("the object to stay as it is", Duration::from_secs(7), async || {
            let now = serde_json::to_value(api.get("web").await?)?;
            let same = now["metadata"]["resourceVersion"] == healed["metadata"]["resourceVersion"];
            Ok(if same { Seen::Met(()) } else { Seen::Instead(now.to_string()) })
        })
        .await
    })
    .await
}

#[tokio::test]
async fn a_kind_with_its_own_types_is_refused() -> Result<()> {
    World::run("narrow items", async |world| {
        let mut narrow = items();
        narrow["properties"]["type"]["enum"] = json!(["Ready"]);
        narrow["properties"]["message"]["maxLength"] = json!(64);
        let kind = Kind::define(world, "Strict", "Namespaced", status_with(&narrow, "atomic")).await?;
        let bed = Bed::start(world, &kind).await?;
        bed.ensure_refused(world, "does not take driftObserved, driftCorrected as type").await?;
        bed.ensure_refused(world, "raise maxLength to 1024 or more").await?;
        Ok(())
    })
    .await
}

/// The API server empties the items of a list below `additionalProperties: true`, and refuses one of texts.
#[tokio::test]
async fn a_status_of_any_fields_loses_conditions() -> Result<()> {
    World::run("any fields", async |world| {
        let kind =
            Kind::define(world, "Free", "Namespaced", json!({"type": "object", "additionalProperties": true})).await?;
        let bed = Bed::start(world, &kind).await?;
        bed.ensure_refused(world, "keeps no fields of conditions in .status: declare a list of conditions").await?;
        kind.put(world, "web", drift_e2e::process::ports::free_port()?, 1).await?;
        let condition = json!({"type": "Ready", "status": "True"});
        let status = json!({"status": {"phase": "Up", "conditions": [condition]}});
        let api = kind.api(world)?;
        let written = api.patch_status("web", &PatchParams::default(), &Patch::Merge(&status)).await?;
        let kept = serde_json::to_value(written)?["status"].clone();
        ensure!(kept == json!({"phase": "Up", "conditions": [{}]}), "{kept}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_kind_whose_rule_refuses_delays_nobody() -> Result<()> {
    World::run("strict rule", async |world| {
        let rule =
            json!([{"rule": "self.type != 'driftObserved' || self.status == 'False'", "message": "no bad news"}]);
        let mut strict = items();
        strict["x-kubernetes-validations"] = rule;
        let kind = Kind::define(world, "Strict", "Namespaced", status_with(&strict, "atomic")).await?;
        let bed = Bed::start(world, &kind).await?;
        // One of the two objects is in sync from the start, and the rule accepts it.
        let ports = (drift_e2e::process::ports::free_port()?, drift_e2e::process::ports::free_port()?);
        bed.toxiproxy.create("good", &format!("127.0.0.1:{}", ports.0), "127.0.0.1:9").await?;
        let began = Instant::now();
        kind.put(world, "bad", ports.1, 1).await?;
        world.wait_for_event("WriteRefused", "bad").await?;
        kind.put(world, "good", ports.0, 1).await?;
        kind.wait_for(world, "good", "False/InSync", "-").await?;
        let refused = async || {
            Ok::<_, anyhow::Error>(
                bed.poller.metrics().await?.sum("drift_poller_writes_total", &[("outcome", "refused")]),
            )
        };
        // After attempts at 0, 1, 3, 7 s. More in this time would be a storm.
        wait::until("four tries", wait::DEADLINE, async || {
            let tries = refused().await?;
            Ok(if tries >= 4.0 { Seen::Met(()) } else { Seen::Instead(tries.to_string()) })
        })
        .await?;
        let (tries, since) = (refused().await?, began.elapsed());
        let most = (since.as_secs_f64() + 1.0).log2().floor() + 1.0;
        ensure!(tries <= most, "{tries} refused writes in {since:?}");
        let told = world.events().await?.iter().filter(|event| event["reason"] == "WriteRefused").count();
        ensure!(told == 1, "{told} Events");
        ensure!(bed.outside.writes() == 0, "{:?}", bed.outside.requests());

        kind.apply_definition(world, status_with(&items(), "atomic")).await?;
        kind.wait_for(world, "bad", "False/InSync", "True/CorrectionApplied").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_lost_status_subresource_makes_nothing_gone() -> Result<()> {
    World::run("lost status", async |world| {
        let kind = Kind::define(world, "Strict", "Namespaced", status_with(&items(), "atomic")).await?;
        let bed = Bed::start(world, &kind).await?;
        kind.put(world, "web", drift_e2e::process::ports::free_port()?, 1).await?;
        kind.wait_until_healed(world, "web", 1).await?;
        kind.apply_version(world, status_with(&items(), "atomic"), json!({})).await?;
        // The API server serves a changed definition after a delay. Until then a verdict would be written.
        let api = kind.api(world)?;
        wait::until("the status subresource to be gone", wait::DEADLINE, async || {
            let gone = matches!(api.get_status("web").await, Err(kube::Error::Api(answer)) if answer.code == 404);
            Ok(if gone { Seen::Met(()) } else { Seen::Instead("it is served".to_owned()) })
        })
        .await?;
        bed.toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        let told = world.wait_for_event("WriteRefused", "web").await?;
        let note = told["note"].as_str().unwrap_or_default();
        ensure!(note.contains("has to have the status subresource"), "{note}");
        ensure!(bed.outside.writes() == 1, "only the creation: {:?}", bed.outside.requests());
        kind.apply_definition(world, status_with(&items(), "atomic")).await?;
        bed.toxiproxy.wait_for("web", |proxy| proxy.is_some_and(|proxy| proxy.upstream == "127.0.0.1:9")).await?;
        kind.wait_for(world, "web", "False/InSync", "True/CorrectionApplied").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_service_which_has_no_generation_works() -> Result<()> {
    World::run("service", async |world| {
        let kind = Kind {
            api_version: "v1".to_owned(),
            kind: "Service",
            plural: "services",
            namespaced: true,
            spec: |port, upstream| {
                let ports = json!([{"port": port, "protocol": "TCP"}]);
                json!({"type": "ExternalName", "externalName": format!("127.0.0.{upstream}"), "ports": ports})
            },
            desired: ["127.0.0.1:${self.spec.ports[0].port}", "${self.spec.externalName}:9"],
        };
        let bed = Bed::start(world, &kind).await?;
        let object = bed.ensure_works(world, &kind).await?;
        ensure!(object["metadata"].get("generation").is_none(), "a Service has a generation by now: {object}");
        kind.api(world)?.delete("web", &kube::api::DeleteParams::default()).await?;
        bed.toxiproxy.wait_for("web", |proxy| proxy.is_none()).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_built_in_kind_can_be_refused() -> Result<()> {
    for (api_version, kind, plural) in
        [("v1", "PersistentVolumeClaim", "persistentvolumeclaims"), ("apps/v1", "Deployment", "deployments")]
    {
        World::run(plural, async |world| {
            let api_version = api_version.to_owned();
            let desired = ["${self.spec.listen}", "${self.spec.upstream}"];
            let kind = Kind { api_version, kind, plural, namespaced: true, spec: plain_spec, desired };
            let bed = Bed::start(world, &kind).await?;
            bed.ensure_refused(world, "has no field observedGeneration in the items of .status.conditions").await?;
            bed.ensure_refused(world, "a built-in kind cannot be changed").await
        })
        .await?;
    }
    Ok(())
}
