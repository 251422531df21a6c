//! The actions during which a program may die: how each is started, and when it is at rest.

use anyhow::{Context as _, Result};
use drift_api::condition::CorrectionStatus;
use drift_api::names::{DRIFT_CORRECTED, DRIFT_OBSERVED, FINALIZER};
use drift_e2e::systems::outside::Outside;
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, is_verified, message};
use serde_json::{Value, json};

/// The action in progress when a program dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Create,
    Update,
    Delete,
    Adopt,
    /// The target no longer deletes.
    Release,
    /// The object leaves the selection.
    LetGo,
}

impl Action {
    /// Returns true if both programs have to work before the action can begin.
    pub(super) fn needs_both_before(self) -> bool {
        matches!(self, Self::Update | Self::Delete | Self::Release | Self::LetGo)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Adopt => "adopt",
            Self::Release => "release",
            Self::LetGo => "let-go",
        }
    }
}

/// Long, so that every poll has a cause. A day is the maximum of a target.
const INTERVAL: &str = "24h";
/// An address without a listener. Each update uses another.
const UPSTREAM: &str = "127.0.0.1:9";

/// The real external system, and a recorder in front of it.
pub(super) struct Bed<'a> {
    pub(super) world: &'a World,
    pub(super) toxiproxy: Toxiproxy,
    pub(super) outside: Outside,
}

/// The final state of an object and its external resource, without times, numbers and texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Gone { outside_too: bool },
    Stands { observed: String, noted: String, owned: bool, finalizers: Vec<String>, fulfilled: bool },
}

impl<'a> Bed<'a> {
    pub(super) async fn lay(world: &'a World) -> Result<Self> {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        let bed = Self { world, toxiproxy, outside };
        bed.apply_targets(true).await?;
        Ok(bed)
    }

    /// Applies a target that refuses existing resources and one that adopts, chosen by the objects' labels. With
    /// `deletes`, both hold a finalizer.
    pub(super) async fn apply_targets(&self, deletes: bool) -> Result<()> {
        let url = self.outside.url();
        // The resource exists after the first step and is in the desired state after the second.
        let create = json!([
            {"method": "POST", "url": format!("{url}/proxies"), "accept": [201],
             "body": {"name": "${self.metadata.name}", "listen": "${desired.listen}",
                      "upstream": "${desired.upstream}", "enabled": false}},
            {"method": "POST", "url": format!("{url}/proxies/${{self.metadata.name}}"),
             "body": {"enabled": "${desired.enabled}"}},
        ]);
        let target = Target::shipped(self.world, url)?
            .with("/spec/interval", json!(INTERVAL))
            .with("/spec/correct/http/create", create);
        let target = if deletes { target } else { target.without("/spec/correct/http/delete") };
        let adopting = target
            .clone()
            .named("adopting")
            .with("/spec/objects/labelSelector", json!("adopt=true"))
            .with("/spec/correct/existing", json!("Adopt"));
        let refusing = target.with("/spec/objects/labelSelector", json!("adopt notin (true,neither)"));
        self.world.apply_targets(&[refusing, adopting]).await
    }

    /// Prepares an object for the action. Returns its name.
    pub(super) async fn prepare(&self, action: Action, number: usize) -> Result<String> {
        let world = self.world;
        let name = match action {
            // A release and a new hold are not corrections, so one object is enough.
            Action::Release => "kept".to_owned(),
            // Another correction of the same object would have to wait.
            _ => format!("{}-{number}", action.as_str()),
        };
        match action {
            Action::Create => {}
            Action::Adopt => {
                self.toxiproxy.create(&name, &world.free_listen_address()?, "127.0.0.1:8").await?;
            }
            Action::Update | Action::Delete | Action::Release | Action::LetGo => {
                if world.proxy(&name).await?.is_none() {
                    self.create(&name).await?;
                }
                self.apply_targets(true).await?;
                self.wait_for_rest(Action::Create, &name).await?;
            }
        }
        Ok(name)
    }

    /// Starts the action. One of the programs does not run.
    pub(super) async fn set_off(&self, action: Action, name: &str, number: usize) -> Result<()> {
        match action {
            Action::Create => self.create(name).await,
            Action::Update => {
                let upstream = format!("127.0.0.1:{}", 1000 + number);
                self.world.patch_proxy(name, json!({"spec": {"upstream": upstream}})).await.map(drop)
            }
            Action::Delete => self.world.delete_proxy(name).await,
            Action::Adopt => {
                let found = self.toxiproxy.proxy(name).await?.context("nothing to adopt")?;
                let spec = json!({"listen": found.listen, "upstream": UPSTREAM});
                self.world.create_proxy_with(name, json!({"labels": {"adopt": "true"}}), spec).await.map(drop)
            }
            Action::Release => self.apply_targets(false).await,
            Action::LetGo => {
                let patch = json!({"metadata": {"labels": {"adopt": "neither"}}});
                self.world.patch_proxy(name, patch).await.map(drop)
            }
        }
    }

    async fn create(&self, name: &str) -> Result<()> {
        let spec = json!({"listen": self.world.free_listen_address()?, "upstream": UPSTREAM});
        self.world.create_proxy(name, spec).await.map(drop)
    }

    /// Waits until the action has completed, and returns the final state.
    pub(super) async fn wait_for_rest(&self, action: Action, name: &str) -> Result<End> {
        let what = format!("{} {name} to come to rest", action.as_str());
        wait::until(what, wait::DEADLINE, async || {
            let object = self.world.proxy(name).await?;
            Ok(match &object {
                None if action == Action::Delete => Seen::Met(()),
                Some(object) if is_at_rest(action, object) => Seen::Met(()),
                _ => Seen::Instead(format!("{object:?}")),
            })
        })
        .await?;
        self.end(name).await
    }

    async fn end(&self, name: &str) -> Result<End> {
        let outside = self.toxiproxy.proxy(name).await?;
        let Some(object) = self.world.proxy(name).await? else {
            return Ok(End::Gone { outside_too: outside.is_none() });
        };
        let spec = &object["spec"];
        let fulfilled = outside.is_some_and(|proxy| {
            spec["upstream"] == proxy.upstream.as_str() && spec["listen"] == proxy.listen.as_str() && proxy.enabled
        });
        let note = CorrectionStatus::parse(message(&object, DRIFT_CORRECTED));
        let owned = note.owned().is_some_and(|owned| &*owned.identity == name);
        let (observed, noted) = (describe(&object, DRIFT_OBSERVED), describe(&object, DRIFT_CORRECTED));
        Ok(End::Stands { observed, noted, owned, finalizers: finalizers(&object), fulfilled })
    }
}

fn is_at_rest(action: Action, object: &Value) -> bool {
    let is_in_sync = describe(object, DRIFT_OBSERVED) == "False/InSync, generation 0 behind" && is_verified(object);
    let is_held = finalizers(object).iter().any(|finalizer| finalizer == FINALIZER);
    match action {
        Action::Delete => false,
        Action::Release | Action::LetGo => is_in_sync && !is_held,
        Action::Create | Action::Update | Action::Adopt => is_in_sync && is_held,
    }
}

fn finalizers(object: &Value) -> Vec<String> {
    serde_json::from_value(object["metadata"]["finalizers"].clone()).unwrap_or_default()
}

fn describe(object: &Value, kind: &str) -> String {
    let short = drift_e2e::world::describe(object, kind);
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    let spoken_of = condition(object, kind).and_then(|found| found["observedGeneration"].as_i64()).unwrap_or_default();
    format!("{short}, generation {} behind", generation - spoken_of)
}
