//! docs/cookbook/postgres-rows.md: rows of a table, with a trigger that reports changes.
//!
//! The page's interval is five minutes, so any change that shows within seconds was reported by a hint.

use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use drift_api::names::POLL_REQUESTED_ANNOTATION;
use drift_e2e::pages::blocks;
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::progress;
use drift_e2e::systems::postgres::Postgres;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, describe};
use futures::StreamExt as _;
use kube::api::{WatchEvent, WatchParams};
use serde_json::json;

use crate::page;

/// File name of the page.
const PAGE: &str = "postgres-rows.md";
/// Limit of the fastest of some changes, from its commit to the condition.
const AT_ONCE: Duration = Duration::from_millis(100);
/// Limit of a hint on a busy machine: far below the interval.
const SOON: Duration = Duration::from_secs(20);
/// The new values of the row, with their verdicts. The page's object desires 25.
const CHANGES: [(u8, &str); 6] = [
    (1, "True/FieldsDiffer"),
    (25, "False/InSync"),
    (2, "True/FieldsDiffer"),
    (25, "False/InSync"),
    (3, "True/FieldsDiffer"),
    (25, "False/InSync"),
];
/// Prompt polls of one object are at least a second apart.
const APART: Duration = Duration::from_millis(1_100);

/// The poller's connection that listens.
const LISTENERS: &str = "FROM pg_stat_activity WHERE application_name = 'drift-poller hints'";

/// Reads the whole table.
const ROWS: &str = "SELECT * FROM features";

const HINTS: &str = "drift_poller_hints_total";

#[tokio::test]
async fn a_row_that_changes_shows_at_once() -> Result<()> {
    World::run("postgres-rows", async |world| {
        let mut server = Postgres::start(world.folder(), "").await?;
        server.administrate(&statements()?).await?;
        let subject = page::apply(world, PAGE, &[("shop.db.svc:5432", &server.address())]).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        subject.wait_until_healed_by(1).await?;
        wait_until_connected(&poller, 1.0).await?;
        rotate_password(world, &server).await?;
        wait_until_connected(&poller, 1.0).await?;
        // Repeated changes are corrected with growing delays, which are not measured here.
        controller.stop().await?;

        let mut taken = changes_until_seen(world, &server).await?;
        taken.sort();
        let shown: Vec<u128> = taken.iter().map(Duration::as_millis).collect();
        progress::say(format!("from the commit to the condition: {shown:?} ms"));
        ensure!(taken[0] <= AT_ONCE && taken.iter().all(|time| *time < SOON), "{shown:?} ms");

        count_what_nobody_has(&poller, &server).await?;
        lose_a_change(&poller, &server).await?;
        subject.wait_for_verdict("True/FieldsDiffer").await?;
        let again = Options::default().named("drift-controller-again".to_owned());
        world.start(Which::Controller, again).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(server.administrate(ROWS).await? == ["dark-mode|t|25"]);

        server.stop().await?;
        subject.edit(json!({"metadata": {"annotations": {POLL_REQUESTED_ANNOTATION: "now"}}})).await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        server.start_again().await?;
        subject.wait_until_healed_by(2).await?;
        subject.delete().await?;
        ensure!(server.administrate(ROWS).await?.is_empty());
        Ok(())
    })
    .await
}

/// Returns the page's statements for the server.
fn statements() -> Result<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cookbook").join(PAGE);
    Ok(blocks(&std::fs::read_to_string(page)?, "sql").concat())
}

/// Changes the password. The listener soon uses the new one without a restart, and later measurements use its session.
async fn rotate_password(world: &World, server: &Postgres) -> Result<()> {
    let sessions = format!("SELECT pid {LISTENERS}");
    let before = server.administrate(&sessions).await?;
    server.administrate("ALTER ROLE drift_poller PASSWORD 'rotated'").await?;
    let uri = format!("postgresql://drift_poller:rotated@{}/postgres?sslmode=disable", server.address());
    world.apply_credential("shop-read", "poller", json!({"uri": uri})).await?;
    wait::until("a session by the new password", wait::DEADLINE, async || {
        let now = server.administrate(&sessions).await?;
        let is_another = now.len() == 1 && now != before;
        Ok(if is_another { Seen::Met(()) } else { Seen::Instead(format!("{before:?}, then {now:?}")) })
    })
    .await
}

async fn wait_until_connected(poller: &Program, wanted: f64) -> Result<()> {
    wait::until("the poller to listen", wait::DEADLINE, async || {
        let connected = poller.metrics().await?.sum("drift_poller_hints_connected", &[]);
        Ok(if connected == wanted { Seen::Met(()) } else { Seen::Instead(connected.to_string()) })
    })
    .await
}

/// Changes the row back and forth. Returns the time of each change from its commit to the condition.
async fn changes_until_seen(world: &World, server: &Postgres) -> Result<Vec<Duration>> {
    let api = world.api("shop.example/v1", "FeatureFlag", Some(world.objects_namespace()))?;
    let mut taken = Vec::new();
    for (percent, wanted) in CHANGES {
        // Keeps the distance between prompt polls.
        tokio::time::sleep(APART).await;
        let now = api.get("dark-mode").await?.metadata.resource_version.context("no resourceVersion")?;
        let mut changes = pin!(api.watch(&WatchParams::default(), &now).await?);
        server.administrate(&format!("UPDATE features SET percent = {percent} WHERE name = 'dark-mode'")).await?;
        let committed = Instant::now();
        while let Some(change) = tokio::time::timeout(wait::DEADLINE, changes.next()).await? {
            let WatchEvent::Modified(object) = change? else { continue };
            if describe(&serde_json::to_value(object)?, "driftObserved") == wanted {
                break;
            }
        }
        taken.push(committed.elapsed());
    }
    Ok(taken)
}

/// Checks that unknown names are counted, and that a flood of them blocks nothing.
async fn count_what_nobody_has(poller: &Program, server: &Postgres) -> Result<()> {
    let before = poller.metrics().await?;
    let polls = |metrics: &drift_e2e::metrics::Metrics| metrics.sum("drift_poller_polls_total", &[]);
    server.administrate("SELECT count(pg_notify('features', 'nobody-' || n)) FROM generate_series(1, 20000) n").await?;
    let counted = wait::until("all notifications to be counted", wait::DEADLINE, async || {
        let now = poller.metrics().await?;
        let count =
            |outcome: &str| now.sum(HINTS, &[("outcome", outcome)]) - before.sum(HINTS, &[("outcome", outcome)]);
        let (unknown, dropped) = (count("unknown"), count("dropped"));
        let all = unknown + dropped == 20_000.0;
        Ok(if all { Seen::Met((unknown, dropped, now)) } else { Seen::Instead(format!("{unknown} and {dropped}")) })
    })
    .await?;
    let (unknown, dropped, now) = counted;
    progress::say(format!("of 20,000 notifications about nobody {unknown} were looked up and {dropped} dropped"));
    ensure!(unknown >= 10_000.0 && polls(&now) - polls(&before) <= 2.0, "they caused polls");
    Ok(())
}

/// Makes a change while the poller does not listen, and then reconnects it.
async fn lose_a_change(poller: &Program, server: &Postgres) -> Result<()> {
    let polls = async || Ok::<_, anyhow::Error>(poller.metrics().await?.sum("drift_poller_polls_total", &[]));
    server.administrate("ALTER ROLE drift_poller NOLOGIN").await?;
    let ended = server.administrate(&format!("SELECT pg_terminate_backend(pid) {LISTENERS}")).await?;
    ensure!(ended == ["t"], "one connection listens: {ended:?}");
    wait_until_connected(poller, 0.0).await?;
    let before = polls().await?;
    server.administrate("UPDATE features SET enabled = false WHERE name = 'dark-mode'").await?;
    wait::throughout("no poll while nobody listens", 2 * APART, async || {
        let now = polls().await?;
        Ok(if now == before { Seen::Met(()) } else { Seen::Instead(format!("{before} polls, then {now}")) })
    })
    .await?;
    server.administrate("ALTER ROLE drift_poller LOGIN").await?;
    wait_until_connected(poller, 1.0).await?;
    let log = poller.log_text()?;
    ensure!(
        log.contains(r#""message":"hints do not come""#) && log.contains(r#""cause":"SQLSTATE 57P01"#),
        "a lost listener is said in the log"
    );
    ensure!(!log.contains("change-me"));
    Ok(())
}
