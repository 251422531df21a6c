//! The second act, step by step. A step that does not happen fails the demonstration.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::super::kubectl_watch::{KubectlWatch, correction, in_sync, verdict};
use super::super::terminal::Terminal;
use super::row;
use super::stage::{NAMESPACE, Stage};
use crate::world::describe;

/// The objects, each with the name of its role.
const NAMES: [&str; 3] = ["batch", "report", "web"];

/// Their kind and namespace.
const OBJECTS: (&str, &str) = ("postgresroles", NAMESPACE);

/// The role that is changed outside, and the statement.
const CHANGED: &str = "web";
const ALTERATION: &str = "ALTER ROLE web CONNECTION LIMIT 5; GRANT app_writers TO web";

/// Reads the roles from the server.
const ROLES: &str = "SELECT r.rolname, r.rolcanlogin AS login, r.rolconnlimit AS limit, \
     ARRAY(SELECT m.roleid::regrole FROM pg_auth_members m WHERE m.member = r.oid ORDER BY 1) AS groups \
     FROM pg_roles r WHERE r.rolname IN ('batch', 'report', 'web') ORDER BY 1";

/// Time for which a stopped server is observed: several intervals.
const STOPPED_FOR: Duration = Duration::from_secs(3);

/// Tells the whole story.
pub(super) async fn tell(terminal: &Terminal, stage: &mut Stage) -> Result<()> {
    terminal.start_clock();
    let watch = create_objects(terminal, stage).await?;
    stage.installation.start_programs(terminal).await?;
    see_created(terminal, stage, &watch).await?;
    alter_and_heal(terminal, stage, &watch).await?;
    row::change_and_heal(terminal, stage).await?;
    stop_and_start(terminal, stage, &watch).await?;
    delete(terminal, stage).await?;
    stage.installation.ensure_programs_run().await?;
    terminal.well("\u{2713} every step above happened and was checked against the API server and PostgreSQL")
}

async fn create_objects(terminal: &Terminal, stage: &Stage) -> Result<KubectlWatch> {
    terminal.step("Three PostgresRole objects are created")?;
    let file = stage.objects.display().to_string();
    let applied = stage.installation.kubectl.run(&["apply", "--server-side", "-f", &file]).await?;
    terminal.command("kubectl apply --server-side -f roles.yaml")?;
    terminal.note(applied.output.trim_end())?;
    let roles = stage.server.administrate(ROLES).await?;
    ensure!(roles.is_empty(), "the server has roles already: {roles:?}");
    let watch = KubectlWatch::start(&stage.installation, OBJECTS, NAMES.len()).await?;
    terminal.command(&watch.command())?;
    Ok(watch)
}

async fn see_created(terminal: &Terminal, stage: &Stage, watch: &KubectlWatch) -> Result<()> {
    terminal.step("The poller finds that the roles do not exist, and the controller creates them")?;
    for name in NAMES {
        let wanted = |object: &Value| describe(object, "driftObserved") == "True/NotCreated";
        let version = watch.wait_for(name, 0, "driftObserved True, NotCreated", wanted).await?;
        terminal.say(&verdict(name, &version.object))?;
    }
    for name in NAMES {
        let version = watch.wait_for(name, 0, "in sync", in_sync).await?;
        terminal.say(&verdict(name, &version.object))?;
    }
    let expected = ["batch|t|2|{app_readers,app_writers}", "report|f|-1|{}", "web|t|10|{app_readers}"];
    show_roles(terminal, stage, &expected).await
}

async fn alter_and_heal(terminal: &Terminal, stage: &Stage, watch: &KubectlWatch) -> Result<()> {
    terminal.step("A database administrator alters a role")?;
    let before = watch.count()?;
    stage.server.administrate(ALTERATION).await?;
    let began = Instant::now();
    terminal.command(&format!("psql -c \"{ALTERATION}\""))?;

    terminal.step("The poller sets driftObserved to True. kubectl printed:")?;
    let drifted = |object: &Value| describe(object, "driftObserved") == "True/FieldsDiffer";
    let version = watch.wait_for(CHANGED, before, "driftObserved True, FieldsDiffer", drifted).await?;
    terminal.note(&version.text)?;

    terminal.step("The controller alters it back, in one transaction, and the poller confirms")?;
    let healed = |object: &Value| in_sync(object) && correction(object) > correction(&version.object);
    let healed = watch.wait_for(CHANGED, before, "in sync again, with a correction more", healed).await?;
    terminal.say(&verdict(CHANGED, &healed.object))?;
    terminal.say(&format!("healed within {:.2} s", began.elapsed().as_secs_f64()))?;
    let expected = ["batch|t|2|{app_readers,app_writers}", "report|f|-1|{}", "web|t|10|{app_readers}"];
    show_roles(terminal, stage, &expected).await
}

/// Stops and starts the server. While it does not answer, the state of its roles is unknown.
async fn stop_and_start(terminal: &Terminal, stage: &mut Stage, watch: &KubectlWatch) -> Result<()> {
    terminal.step("The server stops: verdicts become Unknown, and nothing is corrected")?;
    let before = watch.count()?;
    stage.server.stop().await?;
    terminal.command("pg_ctl stop")?;
    let unknown = |object: &Value| describe(object, "driftObserved") == "Unknown/ExternalUnreachable";
    let mut corrections = Vec::new();
    for name in NAMES {
        let version = watch.wait_for(name, before, "Unknown", unknown).await?;
        terminal.say(&verdict(name, &version.object))?;
        corrections.push(correction(&version.object));
    }
    tokio::time::sleep(STOPPED_FOR).await;

    terminal.step("The server starts again")?;
    let before = watch.count()?;
    stage.server.start_again().await?;
    terminal.command("pg_ctl start")?;
    for (name, correction_before) in NAMES.into_iter().zip(corrections) {
        let version = watch.wait_for(name, before, "in sync again", in_sync).await?;
        terminal.say(&verdict(name, &version.object))?;
        ensure!(correction(&version.object) == correction_before, "{name} was corrected:\n{}", version.text);
    }
    stage.installation.show_table(terminal, OBJECTS).await
}

async fn delete(terminal: &Terminal, stage: &Stage) -> Result<()> {
    terminal.step("An object is deleted, and its finalizer takes the role with it")?;
    // kubectl returns once the object is gone, after the release of the finalizer.
    let arguments = ["delete", "postgresrole", CHANGED, "--namespace", NAMESPACE, "--timeout=50s"];
    let deleted = stage.installation.kubectl.run(&arguments).await?;
    terminal.command(&format!("kubectl {}", arguments[..5].join(" ")))?;
    terminal.note(deleted.output.trim_end())?;
    show_roles(terminal, stage, &["batch|t|2|{app_readers,app_writers}", "report|f|-1|{}"]).await
}

async fn show_roles(terminal: &Terminal, stage: &Stage, expected: &[&str]) -> Result<()> {
    let roles = stage.server.administrate(ROLES).await?;
    terminal.command("psql -c \"SELECT \u{2026} FROM pg_roles \u{2026}\"")?;
    terminal.note(&roles.join("\n"))?;
    ensure!(roles == expected, "the server has {roles:?}, not {expected:?}");
    Ok(())
}
