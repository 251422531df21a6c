//! docs/cookbook/postgres-all-roles.md: many roles, read by a single query.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::progress;
use drift_e2e::systems::postgres::Postgres;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::json;

use crate::page;
use crate::postgres::{BEFORE, apply_in_own_group};

/// Set at build time for the measurement in docs/design/performance.md.
const LONG: bool = option_env!("DRIFT_MANY_ROLES").is_some();
/// Roles beside that of the page's object, each with an object.
const ROLES: usize = if LONG { 10_000 } else { 300 };
/// Time limit to create 10,000 objects, and for their first verdicts.
const MANY_WITHIN: Duration = Duration::from_secs(if LONG { 600 } else { 60 });
/// Replaces the interval of other pages' tests: a query must end before the next is due.
const INTERVAL: (&str, &str) = ("interval: 3s", if LONG { "interval: 10s" } else { "interval: 3s" });
/// Number of counted polls of every object.
const ROUNDS: usize = 3;
/// Number of concurrent creations, which wait for etcd rather than for a core.
const CREATED_AT_ONCE: usize = 16;
/// The server logs the user and the whole text of every statement.
const LOGGED: &str = "log_statement = 'all'\nlog_line_prefix = 'by %u: '";

/// Returns the poller's number of queries for roles so far, by the server's own log.
fn queries(world: &World) -> Result<usize> {
    let log = fs::read_to_string(world.folder().join("postgres.log"))?;
    let asked = log.split("by drift_poller: ").skip(1).filter_map(|rest| rest.split("\nby ").next());
    Ok(asked.filter(|statement| statement.contains("execute") && statement.contains("r.rolname::text AS name")).count())
}

async fn make_roles(world: &World, server: &Postgres) -> Result<()> {
    let made = format!(
        "DO $$ BEGIN FOR n IN 1..{ROLES} LOOP EXECUTE format('CREATE ROLE %I LOGIN CONNECTION LIMIT 3', 'role-' || n); \
         END LOOP; END $$"
    );
    server.administrate(&made).await?;
    let object = |number: usize| {
        let name = format!("role-{number}");
        json!({"apiVersion": format!("{}/v1", world.group()), "kind": "PostgresRole",
            "metadata": {"name": name, "namespace": world.objects_namespace()},
            "spec": {"roleName": name, "login": true, "connectionLimit": 3}})
    };
    let creations = (1..=ROLES).map(|number| async move { world.apply(&object(number)).await.map(drop) });
    futures::stream::iter(creations).buffer_unordered(CREATED_AT_ONCE).try_collect::<()>().await
}

/// Waits until all objects, that of the page too, are in sync.
async fn wait_until_in_sync(poller: &Program) -> Result<()> {
    let all = (ROLES + 1) as f64;
    wait::until("all roles to be in sync", MANY_WITHIN, async || {
        let in_sync = poller.metrics().await?.sum("drift_poller_objects", &[("reason", "InSync")]);
        Ok(if in_sync == all { Seen::Met(()) } else { Seen::Instead(in_sync.to_string()) })
    })
    .await
}

/// Returns the number of queries for some rounds of polls.
async fn count_queries(world: &World, poller: &Program) -> Result<usize> {
    let polls = async || Ok::<_, anyhow::Error>(poller.metrics().await?.sum("drift_poller_polls_total", &[]));
    let (began, asked, polled) = (Instant::now(), queries(world)?, polls().await?);
    let wanted = polled + (ROUNDS * (ROLES + 1)) as f64;
    wait::until("some polls of every role", MANY_WITHIN, async || {
        let polled = polls().await?;
        Ok(if polled >= wanted { Seen::Met(()) } else { Seen::Instead(format!("{polled} of {wanted}")) })
    })
    .await?;
    let (polled, taken) = (polls().await? - polled, queries(world)? - asked);
    let seconds = began.elapsed().as_secs_f64();
    progress::say(format!("{polled} polls of {} roles in {seconds:.1} s: {taken} queries", ROLES + 1));
    Ok(taken)
}

#[tokio::test]
async fn one_query_serves_all_roles() -> Result<()> {
    World::run_crowded("all roles", async |world| {
        let server = Postgres::start(world.folder(), LOGGED).await?;
        server.administrate(BEFORE).await?;
        let subject = apply_in_own_group(world, &server).await?;
        let target = page::documents(world, "postgres-all-roles.md", &[("db.example", world.group()), INTERVAL])?;
        world.apply(target.first().context("a page without a target")?).await?;
        make_roles(world, &server).await?;
        let options = || Options { log_level: Some("info".to_owned()), ..Options::default() };
        let poller = world.start(Which::Poller, options()).await?;
        world.start(Which::Controller, options()).await?;
        wait_until_in_sync(&poller).await?;
        subject.wait_until_healed_by(1).await?;
        ensure!(world.writes().await?.refused == 0, "{:?}", world.writes().await?);

        let taken = count_queries(world, &poller).await?;
        // The last round may be counted in part, and the first started before.
        ensure!((ROUNDS..=ROUNDS + 1).contains(&taken), "{taken} queries for {ROUNDS} rounds");

        // An existing role belongs to no object: it is observed and kept.
        server.administrate("ALTER ROLE \"role-7\" CONNECTION LIMIT 4; ALTER ROLE web CONNECTION LIMIT 4").await?;
        subject.wait_until_healed_by(2).await?;
        wait::until("one role alone to differ", wait::DEADLINE, async || {
            let metrics = poller.metrics().await?;
            let count = |reason: &str| metrics.sum("drift_poller_objects", &[("reason", reason)]);
            let (differ, in_sync) = (count("FieldsDiffer"), count("InSync"));
            let met = differ == 1.0 && in_sync == ROLES as f64;
            Ok(if met { Seen::Met(()) } else { Seen::Instead(format!("{differ} differ, {in_sync} in sync")) })
        })
        .await
    })
    .await
}
