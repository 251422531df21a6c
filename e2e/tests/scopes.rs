//! An external resource that two targets name, and targets whose scope is edited.

use anyhow::{Result, ensure};
use drift_api::identity::ScopeId;
use drift_api::names::DRIFT_CORRECTED;
use drift_e2e::systems::outside::Outside;
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::world::{Target, World, describe, message, note};
use serde_json::json;

/// Long, so that every poll has a cause.
const INTERVAL: &str = "24h";
const OURS: &str = "127.0.0.1:9";
const FOREIGN: &str = "127.0.0.1:8";
/// Number of times that the two targets swap places.
const ROUNDS: usize = 2;

/// A real external system and a recorder in front of it; a resource is named by its object's label `resource`.
struct Bed<'a> {
    world: &'a World,
    toxiproxy: Toxiproxy,
    outside: Outside,
}

impl<'a> Bed<'a> {
    async fn new(world: &'a World) -> Result<Self> {
        let (toxiproxy, outside) = (world.start_toxiproxy().await?, world.start_outside().await?);
        outside.forward_to(toxiproxy.url());
        Ok(Self { world, toxiproxy, outside })
    }

    /// A target for the objects of one tier.
    fn target(&self, tier: &str) -> Result<Target> {
        let identity = "${self.metadata.labels.resource}";
        let one = format!("{}/proxies/{identity}", self.outside.url());
        Ok(Target::shipped(self.world, self.outside.url())?
            .named(tier)
            .with("/spec/interval", json!(INTERVAL))
            .with("/spec/objects/labelSelector", json!(format!("tier={tier}")))
            .with("/spec/identity", json!(identity))
            .with("/spec/read/http/url", json!(one))
            .with("/spec/correct/http/create/0/body/name", json!(identity))
            .with("/spec/correct/http/update/0/url", json!(one))
            .with("/spec/correct/http/delete/0/url", json!(one)))
    }

    async fn create(&self, name: &str, tier: &str, resource: &str) -> Result<()> {
        let labels = json!({"labels": {"tier": tier, "resource": resource}});
        let spec = json!({"listen": self.world.free_listen_address()?, "upstream": OURS});
        self.world.create_proxy_with(name, labels, spec).await.map(drop)
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.world.delete_proxy(name).await?;
        self.world.wait_until_gone(name).await
    }

    async fn upstream(&self, resource: &str) -> Result<Option<String>> {
        Ok(self.toxiproxy.proxy(resource).await?.map(|proxy| proxy.upstream))
    }
}

#[tokio::test]
async fn neither_target_deletes_what_the_other_names() -> Result<()> {
    World::run("two targets, one resource", async |world| {
        let bed = Bed::new(world).await?;
        world.apply_targets(&[bed.target("one")?, bed.target("two")?]).await?;
        world.start_both().await?;
        for round in 0..ROUNDS {
            let (first, second) = if round % 2 == 0 { ("one", "two") } else { ("two", "one") };
            let resource = format!("shared-{round}");
            let (owner, other) = (format!("owner-{round}"), format!("other-{round}"));
            bed.create(&owner, first, &resource).await?;
            world.wait_until_verified(&owner).await?;
            for deleted in [&other, &owner] {
                bed.create(&other, second, &resource).await?;
                world.wait_for_note(&other, "False", "IdentityTaken").await?;
                bed.delete(deleted).await?;
                ensure!(bed.upstream(&resource).await?.as_deref() == Some(OURS), "{deleted} took {resource} along");
            }
            if round == 0 {
                world.wait_for_event("ExternalLeftBehind", &owner).await?;
            }
            world.wait_for_note(&other, "False", "NotOurs").await?;
            bed.delete(&other).await?;
            ensure!(bed.upstream(&resource).await?.is_some(), "{resource} is gone");
        }
        let (writes, deletes) = (bed.outside.writes(), bed.outside.count("DELETE"));
        ensure!((writes, deletes) == (ROUNDS, 0), "{writes} writes outside, {deletes} of them deletions");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_edited_scope_takes_over_nothing() -> Result<()> {
    World::run("edited scope", async |world| {
        let bed = Bed::new(world).await?;
        // The query shows which text the poll used.
        let url = format!("{}/proxies/${{self.metadata.labels.resource}}", bed.outside.url());
        let scoped = |tier: &str, scope: &str| -> Result<Target> {
            let url = json!(format!("{url}?scope={scope}"));
            let target = bed.target(tier)?.with("/spec/interval", json!("3s"));
            Ok(target.with("/spec/scope", json!(scope)).with("/spec/read/http/url", url))
        };
        let here = [scoped("one", "here")?, scoped("two", "here")?];
        let moved = [scoped("one", "elsewhere")?, scoped("two", "here")?];
        let says = |id: &str, scope: &str| id.contains(&format!("[scope {}", ScopeId::of(scope)));
        world.apply_targets(&here).await?;
        world.start_both().await?;
        bed.create("web", "one", "web").await?;
        let object = world.wait_until_verified("web").await?;
        ensure!(says(message(&object, DRIFT_CORRECTED), "here"), "{object}");
        bed.create("other", "two", "web").await?;
        world.wait_for_note("other", "False", "IdentityTaken").await?;

        let polls = |scope: &str| bed.outside.requests_to("GET", &format!("/proxies/web?scope={scope}")).len();
        let move_away = async |before: usize| {
            world.apply_targets(&moved).await?;
            bed.outside.wait_for_next("GET", "/proxies/web?scope=elsewhere", before).await
        };
        move_away(polls("elsewhere")).await?;
        bed.toxiproxy.update("web", json!({"upstream": FOREIGN})).await?;
        let changed = |object: &serde_json::Value| describe(object, DRIFT_CORRECTED) == "False/IdentityChanged";
        let object = world.wait_for_proxy("web", "IdentityChanged", changed).await?;
        ensure!(note(&object).owned().is_some() && says(message(&object, DRIFT_CORRECTED), "here"), "{object}");
        // The claim of another scope does not count, and the target does not adopt.
        world.wait_for_note("other", "False", "NotOurs").await?;
        bed.outside.nothing_is_written_for(std::time::Duration::from_secs(3)).await?;
        ensure!(bed.upstream("web").await?.as_deref() == Some(FOREIGN), "it was updated");

        world.apply_targets(&here).await?;
        world.wait_until_healed_by("web", 2).await?;
        ensure!(bed.upstream("web").await?.as_deref() == Some(OURS), "it was not healed");
        move_away(polls("elsewhere")).await?;
        bed.delete("web").await?;
        world.wait_for_event("ExternalLeftBehind", "web").await?;
        ensure!(bed.upstream("web").await?.as_deref() == Some(OURS), "it was deleted");
        world.wait_for_note("other", "False", "NotOurs").await?;
        ensure!(bed.outside.writes() == 2, "{:#?}", bed.outside.requests());
        Ok(())
    })
    .await
}
