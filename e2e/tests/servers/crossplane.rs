//! docs/cookbook/crossplane.md: a role that Crossplane's provider-sql owns and is woken to correct.
//!
//! No Crossplane runs here: the test plays the provider, by its source code.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::systems::postgres::Postgres;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::page::{self, Subject};

/// The page's statement, and the observed role.
const BEFORE: &str = "CREATE ROLE drift_reader LOGIN PASSWORD 'change-me'";
const ROLE: &str = "SELECT rolcanlogin, rolcreatedb, rolconnlimit FROM pg_roles WHERE rolname = 'orders-api'";
const WANTED: [&str; 1] = ["t|f|10"];
const DRIFT: &str = "ALTER ROLE \"orders-api\" CONNECTION LIMIT 3";
/// Several polls of the test's interval, and the page's `settle` as it is here.
const SOME_POLLS: Duration = Duration::from_secs(8);

/// The annotations that Crossplane reads and writes.
const NAMED: &str = "crossplane.io/external-name";
const REQUESTED: &str = "crossplane.io/reconcile-requested-at";
const PAUSED: &str = "crossplane.io/paused";

fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

/// The provider: names every role, and applies new, edited and requested ones.
async fn operate(world: &World, server: &Postgres) -> Result<()> {
    let (version, kind) = ("postgresql.sql.m.crossplane.io/v1alpha1", "Role");
    let roles: Api<DynamicObject> = world.api(version, kind, Some(world.objects_namespace()))?;
    let mut handled = BTreeMap::new();
    loop {
        for object in roles.list(&ListParams::default()).await? {
            let object = serde_json::to_value(object)?;
            let name = object["metadata"]["name"].as_str().context("a Role without a name")?;
            if annotation(&object, NAMED).is_empty() {
                let patch = Patch::Merge(json!({"metadata": {"annotations": {NAMED: name}}}));
                roles.patch(name, &PatchParams::default(), &patch).await?;
                continue;
            }
            let seen = (object["metadata"]["generation"].clone(), annotation(&object, REQUESTED).to_owned());
            if annotation(&object, PAUSED) != "true" && handled.insert(name.to_owned(), seen.clone()) != Some(seen) {
                bring_out(server, name, &object["spec"]["forProvider"]).await?;
            }
        }
        tokio::time::sleep(wait::ASK_EVERY).await;
    }
}

async fn bring_out(server: &Postgres, name: &str, desired: &Value) -> Result<()> {
    if server.administrate(&format!("SELECT 1 FROM pg_roles WHERE rolname = '{name}'")).await?.is_empty() {
        server.administrate(&format!("CREATE ROLE \"{name}\"")).await?;
    }
    let word = |field: &str, word: &str| {
        let no = if desired["privileges"][field] == true { "" } else { "NO" };
        format!("{no}{word}")
    };
    let (login, create, limit) = (word("login", "LOGIN"), word("createDb", "CREATEDB"), &desired["connectionLimit"]);
    let altered = format!("ALTER ROLE \"{name}\" {login} {create} CONNECTION LIMIT {limit}");
    server.administrate(&altered).await.map(drop)
}

/// Fails if the provider is woken or the role changes.
async fn nobody_is_woken(subject: &Subject, server: &Postgres) -> Result<()> {
    let before = (annotation(&subject.get().await?, REQUESTED).to_owned(), server.administrate(ROLE).await?);
    wait::throughout("nobody is woken", SOME_POLLS, async || {
        let now = (annotation(&subject.get().await?, REQUESTED).to_owned(), server.administrate(ROLE).await?);
        Ok(if now == before { Seen::Met(()) } else { Seen::Instead(format!("{before:?}, then {now:?}")) })
    })
    .await
}

async fn story(subject: &Subject, server: &Postgres) -> Result<()> {
    let created = subject.wait_for_verdict("False/InSync").await?;
    ensure!(annotation(&created, REQUESTED).is_empty(), "woken before it had its turn: {created}");
    ensure!(server.administrate(ROLE).await? == WANTED);

    let history = subject.watch().await?;
    server.administrate(DRIFT).await?;
    history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
    let healed = subject.wait_until_healed_by(1).await?;
    ensure!(annotation(&healed, REQUESTED) == "drift-1" && server.administrate(ROLE).await? == WANTED, "{healed}");
    ensure!(healed["metadata"].get("finalizers").is_none(), "{healed}");

    server.administrate("DROP ROLE \"orders-api\"").await?;
    subject.wait_until_healed_by(2).await?;
    ensure!(server.administrate(ROLE).await? == WANTED);

    let pause = |value: Value| json!({"metadata": {"annotations": {PAUSED: value}}});
    subject.edit(pause(json!("true"))).await?;
    subject.wait_for_verdict("Unknown/Suspended").await?;
    server.administrate(DRIFT).await?;
    nobody_is_woken(subject, server).await?;
    subject.edit(pause(Value::Null)).await?;
    subject.wait_until_healed_by(3).await?;
    ensure!(server.administrate(ROLE).await? == WANTED);

    let terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'drift_reader'";
    server.administrate("ALTER ROLE drift_reader NOLOGIN").await?;
    server.administrate(terminate).await?;
    subject.wait_for_verdict("Unknown/Unauthorized").await?;
    server.administrate(DRIFT).await?;
    nobody_is_woken(subject, server).await?;
    server.administrate("ALTER ROLE drift_reader LOGIN").await?;
    subject.wait_until_healed_by(4).await?;
    subject.delete().await
}

#[tokio::test]
async fn a_provider_is_woken_for_its_role() -> Result<()> {
    World::run("crossplane", async |world| {
        let server = Postgres::start(world.folder(), "").await?;
        server.administrate(BEFORE).await?;
        let address = server.address();
        let replaced = [("orders.db.svc:5432", &*address), ("settle: 30s", "settle: 2s")];
        let subject = page::follow(world, "crossplane.md", &replaced).await?;
        tokio::select! {
            told = story(&subject, &server) => told,
            ended = operate(world, &server) => ended.context("the provider ended"),
        }
    })
    .await
}
