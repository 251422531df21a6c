//! Creates whose result is unknown, and ids that were lost, at a server that knows no idempotency key: what it made is
//! counted.

mod deaths;
mod keys;
mod lost_answers;
mod replicas;
mod several;
mod sql;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, describe, message};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

/// Time after which a repeated create would have been sent several times.
pub(crate) const SOME_PAUSES: Duration = Duration::from_secs(12);

/// Time within which a create in doubt is judged: absence must last for 30 s, and polls are 3 s apart.
const JUDGED_WITHIN: Duration = Duration::from_secs(90);

/// Field of an item that no read shows.
const HIDDEN: &str = "hidden";

/// Reaction of the server to a POST.
enum Reaction {
    /// It makes an item.
    Makes(Answer),
    /// It makes an item that no read shows yet.
    Hides(Answer),
    /// It makes nothing.
    Refuses(Answer),
}

/// A collection in which each POST makes another item.
struct Keyless {
    outside: Outside,
    made: Arc<Mutex<Vec<Value>>>,
}

impl Keyless {
    /// Starts it. `answer` is the answer to a POST that made this item, the first of which has the number 1.
    async fn start(world: &World, answer: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static) -> Result<Self> {
        Self::start_with(world, move |number, item| Reaction::Makes(answer(number, item))).await
    }

    /// Starts it. `react` gets the number of the POST among those of the same name, from 1, and its item.
    async fn start_with(
        world: &World,
        react: impl Fn(usize, &Value) -> Reaction + Send + Sync + 'static,
    ) -> Result<Self> {
        let outside = world.start_outside().await?;
        let made = Arc::<Mutex<Vec<Value>>>::default();
        let (items, asked) = (made.clone(), Mutex::<BTreeMap<String, usize>>::default());
        let ids = AtomicUsize::new(1);
        outside.choose(move |request: &Request| {
            let mut items = items.lock().ok()?;
            if request.method == "POST" {
                let mut item = request.json().ok()?;
                let mut asked = asked.lock().ok()?;
                let number = asked.entry(item["name"].as_str()?.to_owned()).or_default();
                *number += 1;
                item["id"] = json!(format!("i-{}", ids.fetch_add(1, Ordering::Relaxed)));
                return Some(match react(*number, &item) {
                    Reaction::Makes(answer) => {
                        items.push(item);
                        answer
                    }
                    Reaction::Hides(answer) => {
                        item[HIDDEN] = json!(true);
                        items.push(item);
                        answer
                    }
                    Reaction::Refuses(answer) => answer,
                });
            }
            let wanted = request.path.rsplit('/').next()?;
            let is_wanted = |item: &Value| item["id"] == wanted || item["name"] == wanted;
            if request.method == "DELETE" {
                items.retain(|item| !is_wanted(item));
                return Some(Answer::status(204));
            }
            let found = items.iter_mut().find(|item| is_wanted(item) && item.get(HIDDEN).is_none());
            let Some(item) = found else { return Some(Answer::json(404, &json!({}))) };
            if request.method == "PUT" {
                item["upstream"] = request.json().ok()?["upstream"].take();
            }
            Some(Answer::json(200, item))
        });
        Ok(Self { outside, made })
    }

    fn count(&self) -> usize {
        self.made.lock().map_or(0, |made| made.len())
    }

    /// Returns the number of items with this name.
    fn count_of(&self, name: &str) -> usize {
        self.made.lock().map_or(0, |made| made.iter().filter(|item| item["name"] == name).count())
    }

    /// Returns the number of POSTs with this name.
    fn posts_of(&self, name: &str) -> usize {
        let is_own = |request: &Request| request.json().is_ok_and(|item| item["name"] == name);
        self.outside.requests_to("POST", "/items").iter().filter(|request| is_own(request)).count()
    }

    async fn wait_for_posts(&self, name: &str, least: usize) -> Result<()> {
        wait::until(format!("{least} POSTs of {name}"), JUDGED_WITHIN, async || {
            let count = self.posts_of(name);
            Ok(if count >= least { Seen::Met(()) } else { Seen::Instead(count.to_string()) })
        })
        .await
    }

    /// Fails if this number of POSTs changes within some pauses of the controller.
    async fn wait_for_no_more_than(&self, posts: usize) -> Result<()> {
        wait::throughout("no other create", SOME_PAUSES, async || {
            let count = self.outside.count("POST");
            Ok(if count == posts { Seen::Met(()) } else { Seen::Instead(count.to_string()) })
        })
        .await
    }

    /// Lets reads show all items.
    fn show_all(&self) {
        for item in self.made.lock().iter_mut().flat_map(|made| made.iter_mut()) {
            item.as_object_mut().map(|item| item.remove(HIDDEN));
        }
    }

    /// Returns a target for the objects with this label, which reads by name, or by an id that it stores.
    fn labelled_target(&self, world: &World, label: &str, by_id: bool) -> Result<Target> {
        let selector = json!(format!("{LABEL}={label}"));
        Ok(self.target(world, by_id)?.named(label).with("/spec/objects/labelSelector", selector))
    }

    /// Returns a target that reads by name, or by an id that it stores.
    fn target(&self, world: &World, by_id: bool) -> Result<Target> {
        let body = json!({"name": "${self.metadata.name}", "upstream": "${self.spec.upstream}"});
        let mut create = json!({"method": "POST", "url": "/items", "body": body});
        let (mut read, mut delete) = (
            json!({"url": "/items/${self.metadata.name}"}),
            json!({"method": "DELETE", "url": "/items/${self.metadata.name}"}),
        );
        if by_id {
            create["store"] = json!({"externalId": "${response.body.id}"});
            read = json!({"url": "/items/${self.status.externalId}", "absentUntil": "${has(self.status.externalId)}"});
            delete = json!({"method": "DELETE", "url": "/items/${self.status.externalId}",
                "when": "${has(self.status.externalId)}"});
        }
        Ok(Target::shipped(world, self.outside.url())?
            .with("/spec/base", json!(self.outside.url()))
            .with("/spec/identity", json!("${self.metadata.name}"))
            .with("/spec/confirm", json!({"absent": 1}))
            .with("/spec/read", json!({"http": read}))
            .with("/spec/compare", json!({"desired": {"upstream": "${self.spec.upstream}"}}))
            .with("/spec/correct/http", json!({"create": [create], "delete": [delete]})))
    }
}

/// Label that selects the target of an object.
const LABEL: &str = "reads";

async fn create_labelled(world: &World, name: &str, label: &str) -> Result<()> {
    let spec = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9"});
    world.create_proxy_with(name, json!({"labels": {LABEL: label}}), spec).await.map(drop)
}

/// Creates an object of each target that is in sync. Without it, a target has one create in doubt at a time.
async fn prove_reads(world: &World, labels: &[&str]) -> Result<()> {
    for label in labels {
        create_labelled(world, &format!("first-{label}"), label).await?;
    }
    for label in labels {
        wait_until_named_in_sync(world, &format!("first-{label}")).await?;
    }
    Ok(())
}

/// Waits until the condition says that this number of creates was sent, and that as many resources may exist.
pub(crate) async fn wait_for_told_doubt(world: &World, name: &str, sent: u32) -> Result<Value> {
    let creates = if sent == 1 { "1 create was sent".to_owned() } else { format!("{sent} creates were sent") };
    let told = [creates, format!("up to {sent} may exist")];
    wait::until(format!("{name} to be in doubt"), 2 * JUDGED_WITHIN, async || {
        let object = world.proxy(name).await?.unwrap_or_default();
        let text = message(&object, names::DRIFT_CORRECTED);
        let is_so = describe(&object, names::DRIFT_CORRECTED) == "False/CreationInDoubt";
        let is_told = told.iter().all(|told| text.contains(told));
        Ok(if is_so && is_told { Seen::Met(object) } else { Seen::Instead(object["status"].to_string()) })
    })
    .await
}

/// Adds a field for the id to the world's kind, and lets the controller store it.
async fn keep_ids(world: &World) -> Result<()> {
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/externalId";
    let patch = json!([{"op": "add", "path": path, "value": {"type": "string"}}]);
    let definitions = world.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None)?;
    let patch = Patch::<()>::Json(serde_json::from_value(patch)?);
    definitions.patch(&format!("proxies.{}", world.group()), &PatchParams::default(), &patch).await?;
    let (name, namespace) = (format!("{}-ids", world.programs_namespace()), world.objects_namespace());
    let account =
        json!({"kind": "ServiceAccount", "name": "drift-controller", "namespace": world.programs_namespace()});
    for document in [
        json!({"kind": "Role", "metadata": {"name": name, "namespace": namespace},
            "rules": [{"apiGroups": [world.group()], "resources": ["proxies/status"], "verbs": ["store"]}]}),
        json!({"kind": "RoleBinding", "metadata": {"name": name, "namespace": namespace}, "subjects": [account],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}}),
    ] {
        let mut document = document;
        document["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
        world.apply(&document).await?;
    }
    let schema = format!("/openapi/v3/apis/{}/v1", world.group());
    wait::until("the field to be published", wait::DEADLINE, async || {
        let text = world.client().request_text(http::Request::get(&schema).body(Vec::new())?).await?;
        Ok(if text.contains("\"externalId\"") { Seen::Met(()) } else { Seen::Instead(text) })
    })
    .await
}

async fn wait_for_doubt(world: &World) -> Result<Value> {
    wait_for_told_doubt(world, "web", 1).await
}

async fn wait_until_in_sync(world: &World) -> Result<Value> {
    wait_until_named_in_sync(world, "web").await
}

async fn wait_until_named_in_sync(world: &World, name: &str) -> Result<Value> {
    wait::until(format!("{name} to be in sync"), JUDGED_WITHIN, async || {
        let object = world.proxy(name).await?.unwrap_or_default();
        let is_so = describe(&object, names::DRIFT_OBSERVED) == "False/InSync";
        Ok(if is_so { Seen::Met(object) } else { Seen::Instead(object["status"].to_string()) })
    })
    .await
}

#[tokio::test]
async fn a_slow_answer_makes_one_resource() -> Result<()> {
    World::run("slow-create", async |world| {
        let server = Keyless::start(world, |_, item| Answer::json(201, item).after(Duration::from_secs(15))).await?;
        world.apply_target(&server.target(world, false)?).await?;
        world.start_both().await?;
        world.create_some_proxy("web").await?;
        wait_until_in_sync(world).await?;
        ensure!(server.count() == 1, "made {}", server.count());
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn an_id_that_was_lost_needs_a_person() -> Result<()> {
    World::run("lost-id", async |world| {
        let server = Keyless::start(world, |number, item| match number {
            1 => Answer::status(502),
            _ => Answer::json(201, item),
        })
        .await?;
        keep_ids(world).await?;
        world.apply_target(&server.target(world, true)?).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        world.create_some_proxy("web").await?;
        let object = wait_for_doubt(world).await?;
        let told = message(&object, names::DRIFT_CORRECTED);
        ensure!(told.contains("1 create was sent") && told.contains("up to 1 may exist"), "{told}");

        controller.kill().await?;
        world.start_controller().await?;
        world.patch_proxy("web", json!({"spec": {"upstream": "127.0.0.1:3"}})).await?;
        wait::throughout("no second create", SOME_PAUSES, async || {
            Ok(if server.count() == 1 { Seen::Met(()) } else { Seen::Instead(server.count().to_string()) })
        })
        .await?;
        wait_for_doubt(world).await?;

        // Perhaps nobody leads yet.
        let retry =
            json!({names::RETRY_REQUESTED_ANNOTATION: (jiff::Timestamp::now() + Duration::from_secs(1)).to_string()});
        world.patch_proxy("web", json!({"metadata": {"annotations": retry}})).await?;
        let healed = wait_until_in_sync(world).await?;
        ensure!(healed["status"]["externalId"] == "i-2" && server.count() == 2, "{healed}");
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_deletion_waits_for_the_id_of_a_lost_create() -> Result<()> {
    World::run("deleted-in-doubt", async |world| {
        let server = Keyless::start(world, |_, _| Answer::status(502)).await?;
        keep_ids(world).await?;
        world.apply_target(&server.target(world, true)?).await?;
        world.start_both().await?;
        world.create_some_proxy("web").await?;
        wait_for_doubt(world).await?;
        world.delete_proxy("web").await?;
        world.wait_for_note("web", "False", "DeletionUnclear").await?;
        wait::throughout("the object to stay", SOME_PAUSES, async || {
            let object = world.proxy("web").await?;
            Ok(if object.is_some() && server.count() == 1 {
                Seen::Met(())
            } else {
                Seen::Instead(format!("{object:?}"))
            })
        })
        .await?;
        // A person writes the id.
        world.patch_proxy_status("web", json!({"status": {"externalId": "i-1"}})).await?;
        world.wait_until_gone("web").await?;
        ensure!(server.count() == 0, "the resource is deleted");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_removed_or_changed_id_stops_every_request() -> Result<()> {
    World::run("stored-id", async |world| {
        let server = Keyless::start(world, |_, item| Answer::json(201, item)).await?;
        keep_ids(world).await?;
        world.apply_target(&server.target(world, true)?).await?;
        world.start_both().await?;
        world.create_some_proxy("web").await?;
        wait_until_in_sync(world).await?;
        let id = |id: Value| json!({"status": {"externalId": id}});

        world.patch_proxy_status("web", id(Value::Null)).await?;
        world.wait_for_note("web", "False", "StoredIdChanged").await?;
        wait::throughout("no second create", SOME_PAUSES, async || {
            Ok(if server.count() == 1 { Seen::Met(()) } else { Seen::Instead(server.count().to_string()) })
        })
        .await?;
        world.patch_proxy_status("web", id(json!("i-1"))).await?;
        world.wait_for_note("web", "True", "CorrectionApplied").await?;

        world.patch_proxy_status("web", id(json!("i-2"))).await?;
        world.delete_proxy("web").await?;
        world.wait_for_note("web", "False", "StoredIdChanged").await?;
        let deletes = server.outside.count("DELETE");
        ensure!(deletes == 0 && server.count() == 1, "{deletes} deletions, {} resources", server.count());
        world.patch_proxy_status("web", id(json!("i-1"))).await?;
        world.wait_until_gone("web").await?;
        ensure!(server.count() == 0, "the resource is deleted");
        Ok(())
    })
    .await
}
