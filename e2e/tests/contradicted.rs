//! An external system that hides a resource from the read and refuses to create it, because it exists already.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::systems::outside::{Answer, Hold};
use drift_e2e::systems::postgres::{PASSWORD, Postgres};
use drift_e2e::world::{Target, World, describe, message, note, tag};
use serde_json::{Value, json};

/// Path at which the shipped target creates.
const CREATE: &str = "/proxies";

/// Time in which corrections without effect are repeated after 2, 6 and 18 seconds.
const SOME_PAUSES: Duration = Duration::from_secs(10);

/// Two roles. Only the controller's may see the schema: `information_schema` hides what a role has no right to.
const ROLES: &str = "CREATE ROLE reader LOGIN PASSWORD 'change-me'; CREATE ROLE writer LOGIN PASSWORD 'change-me'; \
     GRANT CREATE ON DATABASE postgres TO writer; CREATE SEQUENCE tries; GRANT USAGE ON SEQUENCE tries TO writer; \
     CREATE SCHEMA web AUTHORIZATION writer";

async fn request_retry(world: &World, request: &str) -> Result<()> {
    let annotations = json!({names::RETRY_REQUESTED_ANNOTATION: request});
    world.patch_proxy("web", json!({"metadata": {"annotations": annotations}})).await.map(drop)
}

/// Waits until the contradiction after this correction is on the object.
async fn wait_for_contradiction(world: &World, correction: u64) -> Result<Value> {
    let wanted = |object: &Value| {
        describe(object, names::DRIFT_OBSERVED) == "Unknown/AbsenceContradicted"
            && (note(object).correction, tag(object).correction) == (correction, correction)
    };
    world.wait_for_proxy("web", &format!("correction {correction} contradicts the poll"), wanted).await
}

/// Returns a target that keeps schemas of the database.
fn schemas(world: &World) -> Result<Target> {
    let query = "SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name = ${self.metadata.name}";
    let create = json!(["SELECT nextval('public.tries')", "CREATE SCHEMA ${ident(self.metadata.name)}"]);
    Ok(named_in_postgres(world, query, &create)?.with("/spec/correct/existing", json!("Adopt")))
}

/// Returns a target whose resources are rows or schemas with the name of their object.
pub(crate) fn named_in_postgres(world: &World, query: &str, create: &Value) -> Result<Target> {
    let name = "${self.metadata.name}";
    let connection = |secret: &str| json!({"secretRef": {"name": secret}});
    let postgres = json!({"connection": connection("db-write"), "create": create});
    Ok(Target::shipped(world, "http://unused.example")?
        .with("/spec/identity", json!(name))
        .with("/spec/confirm", json!({"absent": 1}))
        .with("/spec/read", json!({"postgres": {"connection": connection("db-read"), "query": query}}))
        .with("/spec/compare", json!({"desired": {"name": name}}))
        .with("/spec/correct", json!({"mode": "Correct", "postgres": postgres})))
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_hidden_schema_is_created_once() -> Result<()> {
    World::run("contradicted-postgres", async |world| {
        let server = Postgres::start(world.folder(), "").await?;
        server.administrate(ROLES).await?;
        for (secret, user, role) in [("db-read", "poller", "reader"), ("db-write", "controller", "writer")] {
            let uri = format!("postgresql://{role}:{PASSWORD}@{}/postgres?sslmode=disable", server.address());
            world.apply_credential(secret, user, json!({"uri": uri})).await?;
        }
        world.apply_target(&schemas(world)?).await?;
        world.start_both().await?;
        let history = world.watch_object("web").await?;
        world.create_some_proxy("web").await?;
        let refused = wait_for_contradiction(world, 1).await?;
        let told = message(&refused, names::DRIFT_CORRECTED);
        ensure!(told.contains("SQLSTATE 42P06"), "{told}");
        world.nothing_is_written_for(SOME_PAUSES).await?;
        let tries = async || server.administrate("SELECT last_value, is_called FROM tries").await;
        ensure!(tries().await? == ["1|t"], "{:?}", tries().await?);

        request_retry(world, "now").await?;
        wait_for_contradiction(world, 2).await?;
        world.nothing_is_written_for(SOME_PAUSES).await?;
        ensure!(tries().await? == ["2|t"], "{:?}", tries().await?);

        server.administrate("GRANT USAGE ON SCHEMA web TO reader").await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        // It was not made by the object, and no correction adopted it yet.
        world.wait_for_note("web", "False", "NotOurs").await?;
        world.nothing_is_written_for(Duration::from_secs(3)).await?;
        ensure!(tries().await? == ["2|t"], "{:?}", tries().await?);
        let (absent, unknown) = (("True", "NotCreated"), ("Unknown", "AbsenceContradicted"));
        let expected = [absent, unknown, absent, unknown, ("False", "InSync")];
        history.wait_for_transitions(names::DRIFT_OBSERVED, &expected).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_answer_409_stops_the_creates_until_an_edit() -> Result<()> {
    World::run("contradicted", async |world| {
        let outside = world.start_outside().await?;
        outside.on("GET", "/proxies/*", Answer::json(404, &json!({})));
        outside.on("POST", CREATE, Answer::json(409, &json!({"error": "exists"})));
        let target = Target::shipped(world, outside.url())?.with("/spec/confirm", json!({"absent": 1}));
        world.apply_target(&target).await?;
        world.start_both().await?;
        let listen = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"});
        world.create_proxy("web", listen).await?;
        let refused = wait_for_contradiction(world, 1).await?;
        ensure!(message(&refused, names::DRIFT_CORRECTED).contains("409"), "{refused}");
        world.nothing_is_written_for(SOME_PAUSES).await?;
        ensure!(outside.count("POST") == 1, "{:?}", outside.requests());

        world.patch_proxy("web", json!({"spec": {"upstream": "127.0.0.1:3"}})).await?;
        outside.wait_for_next("POST", CREATE, 1).await?;
        wait_for_contradiction(world, 2).await?;
        world.nothing_is_written_for(SOME_PAUSES).await?;
        ensure!(outside.count("POST") == 2, "{:?}", outside.requests());

        // It goes, and the next requested create succeeds.
        let hold = Hold::default();
        outside.on("POST", CREATE, Answer::json(201, &json!({})).held_by(&hold));
        request_retry(world, "now").await?;
        hold.wait_until_reached().await?;
        let found = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:3", "enabled": true});
        outside.on("GET", "/proxies/*", Answer::json(200, &found));
        hold.release();
        world.wait_until_healed_by("web", 3).await?;
        ensure!(outside.count("POST") == 3, "{:?}", outside.requests());
        Ok(())
    })
    .await
}
