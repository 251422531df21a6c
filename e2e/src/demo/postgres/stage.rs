//! Setup of the second act: a PostgreSQL server, and the examples with its address.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::super::installation::Installation;
use super::super::terminal::Terminal;
use super::super::things_to_try::ThingsToTry;
use crate::manifests;
use crate::pages::blocks;
use crate::systems::postgres::Postgres;

/// The server's addresses in the examples.
const ADDRESSES: [&str; 2] = ["orders.db.svc:5432", "shop.db.svc:5432"];

/// The interval of the roles' target and its replacement, which avoids waits of half a minute.
const INTERVALS: (&str, &str) = ("interval: 30s", "interval: 1s");

/// The namespace of the examples' objects.
pub(super) const NAMESPACE: &str = "team-a";

/// The examples' files in the order in which they are applied.
const FILES: [(&str, &[&str]); 2] = [
    ("postgres-roles", &["kind.yaml", "rbac.yaml", "network-policy.yaml", "secrets.yaml", "targets.yaml"]),
    ("postgres-rows", &["kind.yaml", "rbac.yaml", "network-policy.yaml", "secrets.yaml", "target.yaml"]),
];

/// The page with the table, its trigger and the programs' roles.
const TABLE: &str = "docs/cookbook/postgres-rows.md";

/// Additional setup by the server's administrator: drift-controller may create roles, and the groups exist.
const BEFORE: [&str; 2] =
    ["ALTER ROLE drift_controller CREATEROLE", "CREATE ROLE app_readers; CREATE ROLE app_writers"];

/// Three roles with different settings.
const OBJECTS: &str = "
apiVersion: db.example/v1
kind: PostgresRole
metadata: {name: web, namespace: team-a}
spec: {roleName: web, login: true, connectionLimit: 10, memberOf: [app_readers]}
---
apiVersion: db.example/v1
kind: PostgresRole
metadata: {name: batch, namespace: team-a}
spec: {roleName: batch, login: true, connectionLimit: 2, memberOf: [app_readers, app_writers]}
---
apiVersion: db.example/v1
kind: PostgresRole
metadata: {name: report, namespace: team-a}
spec: {roleName: report}
";

/// The running setup.
pub(super) struct Stage {
    pub(super) installation: Installation,
    pub(super) server: Postgres,
    /// The file with the three objects.
    pub(super) objects: PathBuf,
}

impl Stage {
    /// Builds missing programs, starts the systems and applies the manifests and the example.
    pub(super) async fn build(terminal: &Terminal) -> Result<Self> {
        terminal.step("Preparing the control plane and the external system")?;
        // First what may be missing: else everything else would be built before that is said.
        crate::systems::postgres::locate().await?;
        let installation = Installation::start(terminal).await?;
        let server = Postgres::start(&installation.folder, "").await?;
        terminal.say(&format!("PostgreSQL, the external system, is ready at {}", server.address()))?;
        set_up_database(terminal, &server).await?;
        let objects = installation.folder.join("roles.yaml");
        fs::write(&objects, OBJECTS)?;
        let stage = Self { installation, server, objects };
        stage.installation.apply_manifests(terminal, "base", None).await?;
        stage.installation.kubectl.run(&["create", "namespace", NAMESPACE]).await?;
        stage.apply_examples(terminal).await?;
        Ok(stage)
    }

    /// Applies the shipped examples with the server's address and the shorter interval.
    async fn apply_examples(&self, terminal: &Terminal) -> Result<()> {
        for (example, files) in FILES {
            for file in files {
                let path = self.copy(example, file)?;
                let path = path.to_str().context("a path that is not UTF-8")?;
                let applied = self.installation.kubectl.run(&["apply", "-f", path]).await?;
                terminal.command(&format!("kubectl apply -f manifests/examples/{example}/{file}"))?;
                terminal.note(applied.output.trim_end())?;
            }
        }
        self.installation.wait_for_kind("postgresroles.db.example").await?;
        self.installation.wait_for_kind("featureflags.shop.example").await?;
        terminal.say("roles are polled every second here, and every 30 s as shipped; rows every 5 min")
    }

    fn copy(&self, example: &str, file: &str) -> Result<PathBuf> {
        let mut text = fs::read_to_string(manifests::folder().join("examples").join(example).join(file))?;
        for address in ADDRESSES {
            text = text.replace(address, &self.server.address());
        }
        let path = self.installation.folder.join(format!("{example}-{file}"));
        fs::write(&path, text.replace(INTERVALS.0, INTERVALS.1))?;
        Ok(path)
    }

    /// Returns the text that `--keep` prints.
    pub(super) async fn things_to_try(&self) -> Result<String> {
        let address = self.server.address();
        let uri = format!("postgresql://postgres:{}@{address}/postgres", crate::systems::postgres::PASSWORD);
        let things = ThingsToTry {
            outside: ("PostgreSQL", uri.clone()),
            change: format!("psql {uri} -c 'ALTER ROLE batch NOLOGIN'"),
            other_change: format!("psql {uri} -c 'ALTER ROLE report CONNECTION LIMIT 3'"),
            changed: ["postgresrole/batch -n team-a", "postgresrole/report -n team-a"],
            target: "postgresroles",
        };
        things.text(&self.installation).await
    }
}

/// Runs the page's statements on the server, and the additional setup.
async fn set_up_database(terminal: &Terminal, server: &Postgres) -> Result<()> {
    let page = fs::read_to_string(manifests::folder().join("..").join(TABLE))?;
    let statements = blocks(&page, "sql").concat();
    ensure!(!statements.is_empty(), "{TABLE} has no statements");
    server.administrate(&statements).await?;
    terminal
        .say(&format!("a table of feature flags with its trigger, and a role for each program, as {TABLE} says"))?;
    for statement in BEFORE {
        server.administrate(statement).await?;
        terminal.command(&format!("psql -c \"{statement}\""))?;
    }
    Ok(())
}
