//! docs/cookbook/postgres.md: a role of a PostgreSQL cluster.

use anyhow::{Result, ensure};
use drift_api::names::{READABLE_LABEL, TRUE};
use drift_e2e::programs::Which;
use drift_e2e::systems::postgres::Postgres;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, condition, describe, message, right};
use serde_json::{Value, json};

use crate::page::{self, Subject};

/// The page's required setup, and the groups of its object.
pub(crate) const BEFORE: &str = "CREATE ROLE drift_poller LOGIN PASSWORD 'change-me'; \
     CREATE ROLE drift_controller LOGIN CREATEROLE PASSWORD 'change-me'; CREATE ROLE app_readers; CREATE ROLE app_writers";

/// The role of the page's object.
const ROLE: &str = "SELECT r.rolcanlogin, r.rolconnlimit, ARRAY(SELECT m.roleid::regrole FROM pg_auth_members m \
     WHERE m.member = r.oid) FROM pg_roles r WHERE rolname = 'web'";

/// Every role with the attributes that an object could change.
const ALL_ROLES: &str = "SELECT rolname, rolcanlogin, rolsuper, rolconnlimit FROM pg_roles ORDER BY 1";

/// Ends the sessions of both programs.
const TERMINATE: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename LIKE 'drift\\_%'";

/// The password on the page, its replacement, and one that the server gets as its verifier.
const FIRST: &str = "change-me-too";
const SECOND: &str = "second-5e0b71c9";
const THIRD: &str = "third-5e0b71c9";

#[tokio::test]
async fn a_role_in_postgresql_is_kept() -> Result<()> {
    World::run("postgres", async |world| {
        let mut server = Postgres::start(world.folder(), "").await?;
        server.administrate(BEFORE).await?;
        let subject = page::apply(world, "postgres.md", &[("orders.db.svc:5432", &server.address())]).await?;
        wait_for_passwords(world).await?;
        world.start_both().await?;
        subject.wait_until_healed_by(1).await?;
        let wanted = ["t|10|{app_readers}"];
        ensure!(server.administrate(ROLE).await? == wanted);

        let history = subject.watch().await?;
        let drifted = [("True", "FieldsDiffer"), ("False", "InSync")];
        server.administrate("ALTER ROLE web NOLOGIN CONNECTION LIMIT 5").await?;
        history.wait_for_transitions("driftObserved", &drifted).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(server.administrate(ROLE).await? == wanted);

        server.administrate("GRANT app_writers TO web; REVOKE app_readers FROM web").await?;
        subject.wait_until_healed_by(3).await?;
        ensure!(server.administrate(ROLE).await? == wanted);

        server.administrate("DROP ROLE web").await?;
        subject.wait_until_healed_by(4).await?;

        ensure!(server.administrate(TERMINATE).await? == ["2"], "one connection of each program");
        server.administrate("ALTER ROLE web CONNECTION LIMIT 6").await?;
        subject.wait_until_healed_by(5).await?;
        ensure!(server.administrate(ROLE).await? == wanted);

        server.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        server.start_again().await?;
        subject.wait_until_healed_by(5).await?;

        subject.edit(json!({"spec": {"memberOf": ["app_nobody"]}})).await?;
        let told = "update, step grant: SQLSTATE 42704: role";
        subject.wait_until_told(told).await?;
        ensure!(server.administrate(ROLE).await? == wanted, "a part of a correction that was refused was kept");
        subject.edit(json!({"spec": {"memberOf": ["app_readers"]}})).await?;
        subject.wait_for_verdict("False/InSync").await?;

        let_hostile_objects_try(world, &server).await?;
        subject.delete().await?;
        ensure!(server.administrate(ROLE).await?.is_empty());
        ensure!(
            server
                .administrate("SELECT count(*) FROM pg_roles WHERE rolname IN ('app_readers', 'app_writers')")
                .await?
                == ["2"]
        );
        Ok(())
    })
    .await
}

/// Applies the page in the world's own group, because a kind can have only one page's text at a time.
pub(crate) async fn apply_in_own_group(world: &World, server: &Postgres) -> Result<Subject> {
    let roles = ["poller", "controller"].map(|program| {
        let written = format!("drift-{program}-postgresroles");
        (written, format!("drift-{program}-{}", world.objects_namespace()))
    });
    let address = server.address();
    let mut replaced = vec![("orders.db.svc:5432", &*address), ("db.example", world.group())];
    replaced.extend(roles.iter().map(|(written, own)| (&**written, &**own)));
    let subject = page::apply(world, "postgres.md", &replaced).await?;
    wait_for_passwords(world).await?;
    Ok(subject)
}

/// Without the right the controller would retry only after half a minute.
async fn wait_for_passwords(world: &World) -> Result<()> {
    world.wait_for_right(Which::Controller, right("", "secrets", "list", world.objects_namespace()), true).await
}

async fn set_password(world: &World, password: &str) -> Result<()> {
    let metadata = json!({"name": "web-password", "namespace": world.objects_namespace(),
        "labels": {READABLE_LABEL: TRUE}});
    let data = json!({"password": password});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
    world.apply(&secret).await.map(drop)
}

#[tokio::test]
async fn a_rotated_password_is_the_roles() -> Result<()> {
    World::run("password", async |world| {
        let server = Postgres::start(world.folder(), "").await?;
        server.administrate(BEFORE).await?;
        let subject = apply_in_own_group(world, &server).await?;
        let programs = [world.start_poller().await?, world.start_controller().await?];
        subject.wait_until_healed_by(1).await?;
        ensure!(server.lets_in("web", FIRST).await?, "the page's password is not the role's");

        let history = subject.watch().await?;
        set_password(world, SECOND).await?;
        let is_told =
            |object: &Value| message(object, "driftObserved").starts_with("1 field differs: /password changed");
        history.wait_for("the password differs", is_told).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(server.lets_in("web", SECOND).await? && !server.lets_in("web", FIRST).await?, "not the new one");

        // A foreign password cannot be read back. The next correction restores the Secret's.
        server.administrate("ALTER ROLE web PASSWORD 'theirs' CONNECTION LIMIT 5").await?;
        subject.wait_until_healed_by(3).await?;
        ensure!(server.lets_in("web", SECOND).await? && !server.lets_in("web", "theirs").await?, "theirs stays");

        server.administrate(&format!("CREATE ROLE pattern PASSWORD '{THIRD}'")).await?;
        let verifier = server.administrate("SELECT rolpassword FROM pg_authid WHERE rolname = 'pattern'").await?;
        set_password(world, &verifier.concat()).await?;
        subject.wait_until_healed_by(4).await?;
        ensure!(server.lets_in("web", THIRD).await?, "a verifier is taken for a password");

        let object = subject.get().await?.to_string();
        for program in programs {
            let shown = [program.log_text()?, program.page("/metrics").await?.1, object.clone()].concat();
            ensure!(!shown.contains(SECOND) && !shown.contains(&verifier.concat()), "a password is shown");
        }
        Ok(())
    })
    .await
}

/// Checks that objects with malicious names change only their own roles and verdicts.
async fn let_hostile_objects_try(world: &World, server: &Postgres) -> Result<()> {
    let before = server.administrate(ALL_ROLES).await?;
    let names = [
        r#"a"; DROP ROLE web; ALTER ROLE drift_poller SUPERUSER; --"#.to_owned(),
        r"b'; DROP ROLE web; --".to_owned(),
        r"c\'; DROP ROLE web; --E'\''".to_owned(),
        "d$$; DROP ROLE web; $$ $1 ${1} /*".to_owned(),
    ];
    for (position, name) in names.iter().enumerate() {
        let object = role(world, &format!("hostile-{position}"), json!({"roleName": name}));
        world.apply(&object).await?;
        wait_for(world, &object, |object| describe(object, "driftObserved") == "False/InSync").await?;
        let made = server.administrate(&format!("SELECT count(*) FROM pg_roles WHERE rolname = $x${name}$x$")).await?;
        ensure!(made == ["1"], "{name}: {made:?}");
    }
    for group in ["pg_execute_server_program", "app_readers; DROP ROLE web"] {
        let member = role(world, "member", json!({"roleName": "member", "memberOf": [group]}));
        ensure!(world.apply(&member).await.is_err(), "the kind lets an object ask for {group}");
    }
    let refused = [
        ("long", json!({"roleName": "é".repeat(32)})),
        ("longer-than-web", json!({"roleName": format!("web{}", "x".repeat(61))})),
        ("large", json!({"roleName": "x".repeat(1_000_000)})),
    ];
    for (label, spec) in refused {
        let object = role(world, label, spec);
        world.apply(&object).await?;
        // A name of that size is not a valid identity, or cannot be written.
        wait_for(world, &object, |object| {
            describe(object, "driftObserved") == "Unknown/RuleError"
                || describe(object, "driftCorrected") == "False/CorrectionFailed"
        })
        .await?;
    }
    let after = server.administrate(ALL_ROLES).await?;
    let is_own = |role: &&String| names.iter().any(|name| role.starts_with(name.as_str()));
    let others: Vec<_> = after.iter().filter(|role| !is_own(role)).collect();
    ensure!(others.iter().copied().eq(before.iter()), "{before:#?}\n{after:#?}");
    Ok(())
}

fn role(world: &World, name: &str, spec: Value) -> Value {
    let metadata = json!({"name": name, "namespace": world.objects_namespace()});
    json!({"apiVersion": "db.example/v1", "kind": "PostgresRole", "metadata": metadata, "spec": spec})
}

async fn wait_for(world: &World, object: &Value, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let api = world.api("db.example/v1", "PostgresRole", Some(world.objects_namespace()))?;
    wait::until(format!("{name}: its verdict"), wait::DEADLINE, async || {
        let object = serde_json::to_value(api.get(name).await?)?;
        let said = json!([condition(&object, "driftObserved"), condition(&object, "driftCorrected")]);
        Ok(if wanted(&object) { Seen::Met(object) } else { Seen::Instead(said.to_string()) })
    })
    .await
}
