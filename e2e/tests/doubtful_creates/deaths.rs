//! The controller dies around the request of a create that a repetition would duplicate.

use anyhow::{Result, ensure};
use drift_e2e::process::Exit;
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::outside::{Answer, Hold};
use drift_e2e::world::World;
use drift_kube::process::kill_point::KillPoint::{self, *};
use serde_json::json;

use super::{Keyless, create_labelled, keep_ids, prove_reads, wait_for_told_doubt, wait_until_named_in_sync};

/// SIGABRT, which ends an aborting process.
const ABORTED: Exit = Exit::Signal(6);

/// A death during the create of one object.
struct Death {
    object: &'static str,
    /// Label of its target.
    label: &'static str,
    /// `None`: killed once the answer 502 is recorded.
    at: Option<KillPoint>,
    /// Creates after which the object comes to rest.
    creates: usize,
}

impl Death {
    const fn new(object: &'static str, label: &'static str, at: Option<KillPoint>, creates: usize) -> Self {
        Self { object, label, at, creates }
    }
}

const DEATHS: [Death; 6] = [
    Death::new("note-id", "id", Some(ControllerBeforeNote), 1),
    Death::new("answer-id", "id", Some(ControllerAfterStep), 1),
    Death::new("gateway-id", "id", None, 1),
    Death::new("request-id", "id", Some(ControllerBeforeStep), 0),
    Death::new("answer-name", "name", Some(ControllerAfterStep), 1),
    Death::new("request-name", "name", Some(ControllerBeforeStep), 1),
];

async fn die(world: &World, death: &Death) -> Result<()> {
    create_labelled(world, death.object, death.label).await?;
    let options = death.at.map_or_else(Options::default, |point| Options::dying_at(point, 1));
    let victim = world.start(Which::Controller, options.named(format!("controller-{}", death.object))).await?;
    if let Some(point) = death.at {
        let exit = victim.wait_until_ended().await?;
        ensure!(exit == ABORTED, "it was to abort at {point:?}, and ended with {exit}");
    } else {
        world.wait_for_note(death.object, "False", "CorrectionFailed").await?;
        victim.kill().await?;
    }
    world.clear_lease(Which::Controller.name()).await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_restart_while_in_doubt_makes_no_second_resource() -> Result<()> {
    World::run("doubt-deaths", async |world| {
        let server = Keyless::start(world, |_, item| match item["name"].as_str() {
            Some(name) if name.starts_with("first-") || name == "request-name" => Answer::json(201, item),
            _ => Answer::status(502),
        })
        .await?;
        keep_ids(world).await?;
        let targets = [server.labelled_target(world, "name", false)?, server.labelled_target(world, "id", true)?];
        world.apply_targets(&targets).await?;
        world.start_poller().await?;
        let first = world.start_controller().await?;
        prove_reads(world, &["name", "id"]).await?;
        first.stop().await?;
        for death in &DEATHS {
            die(world, death).await?;
        }
        world.start(Which::Controller, Options::default().named("controller-last".to_owned())).await?;
        for death in &DEATHS {
            match death.label {
                "id" => wait_for_told_doubt(world, death.object, 1).await?,
                _ => wait_until_named_in_sync(world, death.object).await?,
            };
            let (posts, made) = (server.posts_of(death.object), server.count_of(death.object));
            ensure!((posts, made) == (death.creates, death.creates), "{}: {posts}, {made}", death.object);
        }
        server.wait_for_no_more_than(server.outside.count("POST")).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_deletion_after_a_death_waits_for_the_id() -> Result<()> {
    World::run("deleted-after-death", async |world| {
        let hold = Hold::default();
        let held = hold.clone();
        let server = Keyless::start(world, move |_, item| Answer::json(201, item).held_by(&held)).await?;
        keep_ids(world).await?;
        let keyed = server.labelled_target(world, "key", true)?;
        let targets = [
            server.labelled_target(world, "id", true)?,
            keyed.with("/spec/correct/http/create/0/idempotent", json!(true)),
        ];
        world.apply_targets(&targets).await?;
        world.start_poller().await?;
        let objects = [("web-id", "id"), ("web-key", "key")];
        let first = world.start_controller().await?;
        for (object, label) in objects {
            create_labelled(world, object, label).await?;
            server.wait_for_posts(object, 1).await?;
        }
        first.kill().await?;
        world.clear_lease(Which::Controller.name()).await?;
        hold.release();
        for (object, _) in objects {
            world.delete_proxy(object).await?;
        }
        world.start(Which::Controller, Options::default().named("controller-last".to_owned())).await?;
        for (object, _) in objects {
            world.wait_for_note(object, "False", "DeletionUnclear").await?;
        }
        // A person writes the ids.
        for (object, id) in [("web-id", "i-1"), ("web-key", "i-2")] {
            ensure!(server.count_of(object) == 1, "{:?}", server.made);
            world.patch_proxy_status(object, json!({"status": {"externalId": id}})).await?;
            world.wait_until_gone(object).await?;
        }
        ensure!(server.count() == 0, "{:?}", server.made);
        Ok(())
    })
    .await
}
