//! An INSERT whose connection is lost while the server commits it.

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::systems::postgres::{PASSWORD, Postgres};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, message};
use serde_json::json;

use crate::contradicted::named_in_postgres;

use super::{SOME_PAUSES, wait_until_in_sync};

/// A table without a key. A commit of a row waits until `go` has a row.
const SETUP: &str = "CREATE TABLE items (name text); CREATE TABLE go (n int); \
     CREATE FUNCTION wait_to_go() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
     WHILE NOT EXISTS (SELECT FROM public.go) LOOP PERFORM pg_sleep(0.05); END LOOP; RETURN NULL; END $$; \
     CREATE CONSTRAINT TRIGGER wait_to_go AFTER INSERT ON items DEFERRABLE INITIALLY DEFERRED \
     FOR EACH ROW EXECUTE FUNCTION wait_to_go(); \
     CREATE ROLE reader LOGIN PASSWORD 'change-me'; CREATE ROLE writer LOGIN PASSWORD 'change-me'; \
     GRANT SELECT ON items TO reader; GRANT INSERT ON items TO writer; GRANT SELECT ON go TO writer";

/// Sessions of the controller that wait in the trigger.
const COMMITTING: &str = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'writer' AND wait_event = 'PgSleep'";

fn rows(world: &World) -> Result<Target> {
    let name = "${self.metadata.name}";
    let query = format!("SELECT name FROM public.items WHERE name = {name}");
    named_in_postgres(world, &query, &json!([format!("INSERT INTO public.items (name) VALUES ({name})")]))
}

#[tokio::test]
async fn a_lost_commit_makes_one_row() -> Result<()> {
    World::run("lost-commit", async |world| {
        let server = Postgres::start(world.folder(), "").await?;
        server.administrate(SETUP).await?;
        let (network, line) = (world.start_toxiproxy().await?, world.free_listen_address()?);
        network.create("line", &line, &server.address()).await?;
        let direct = server.address();
        for (secret, user, role, address) in
            [("db-read", "poller", "reader", &direct), ("db-write", "controller", "writer", &line)]
        {
            let uri = format!("postgresql://{role}:{PASSWORD}@{address}/postgres?sslmode=disable");
            world.apply_credential(secret, user, json!({"uri": uri})).await?;
        }
        world.apply_target(&rows(world)?).await?;
        world.start_both().await?;
        world.create_some_proxy("web").await?;
        wait::until("the commit to be under way", wait::DEADLINE, async || {
            let waiting = server.administrate(COMMITTING).await?;
            Ok(if waiting == ["1"] { Seen::Met(()) } else { Seen::Instead(format!("{waiting:?}")) })
        })
        .await?;
        network.delete("line").await?;
        let failed = world.wait_for_note("web", "False", "CorrectionFailed").await?;
        let text = message(&failed, names::DRIFT_CORRECTED);
        ensure!(text.contains("no answer from the external system") && text.contains("creating 1-"), "{text}");
        server.administrate("INSERT INTO go VALUES (1)").await?;
        network.create("line", &line, &direct).await?;
        wait_until_in_sync(world).await?;
        wait::throughout("one row", SOME_PAUSES, async || {
            let made = server.administrate("SELECT count(*) FROM items").await?;
            Ok(if made == ["1"] { Seen::Met(()) } else { Seen::Instead(format!("{made:?}")) })
        })
        .await?;
        Ok(())
    })
    .await
}
