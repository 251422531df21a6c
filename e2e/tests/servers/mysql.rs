//! docs/cookbook/mysql.md: an account of a MySQL server.

use anyhow::{Result, ensure};
use drift_e2e::programs::Which;
use drift_e2e::world::{World, right};
use serde_json::json;

use crate::mariadb::MariaDb;
use crate::page::{self, Subject};

/// The page's required setup, and its database.
const BEFORE: [&str; 7] = [
    "CREATE DATABASE shop",
    "CREATE USER 'drift_poller'@'%' IDENTIFIED BY 'change-me'",
    "GRANT SELECT (User, Host, max_user_connections) ON mysql.user TO 'drift_poller'@'%'",
    "GRANT SELECT ON mysql.db TO 'drift_poller'@'%'",
    "CREATE USER 'drift_controller'@'%' IDENTIFIED BY 'change-me'",
    "GRANT CREATE USER ON *.* TO 'drift_controller'@'%'",
    "GRANT ALL PRIVILEGES ON shop.* TO 'drift_controller'@'%' WITH GRANT OPTION",
];

/// The account of the page's object.
const ACCOUNT: &str = "SELECT u.max_user_connections, d.Select_priv, d.Insert_priv, d.Drop_priv FROM mysql.user u \
     JOIN mysql.db d ON d.User = u.User AND d.Host = u.Host WHERE u.User = 'app_web'";
const ALL_ACCOUNTS: &str = "SELECT User, Host FROM mysql.user ORDER BY User, Host";

/// The password on the page, and its replacement.
const FIRST: &str = "change-me-too";
const SECOND: &str = r"second-'\5e0b71c9";

#[tokio::test]
async fn a_mysql_account_is_kept() -> Result<()> {
    World::run("mysql", async |world| {
        let mut server = MariaDb::start(world.folder(), &[]).await?;
        server.prepare(&BEFORE).await?;
        let subject = page::apply(world, "mysql.md", &[("shop.db.svc:3306", &server.address())]).await?;
        world.wait_for_right(Which::Controller, right("", "secrets", "list", world.objects_namespace()), true).await?;
        let programs = [world.start_poller().await?, world.start_controller().await?];
        subject.wait_until_healed_by(1).await?;
        let wanted = ["10|Y|N|N"];
        ensure!(server.administrate(ACCOUNT).await? == wanted);
        ensure!(server.lets_in("app_web", FIRST).await?, "the page's password is not the account's");

        let history = subject.watch().await?;
        server.administrate("ALTER USER 'app_web'@'%' WITH MAX_USER_CONNECTIONS 5").await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        server.administrate("GRANT INSERT, DROP ON shop.* TO 'app_web'@'%'").await?;
        subject.wait_until_healed_by(3).await?;
        ensure!(server.administrate(ACCOUNT).await? == wanted);
        server.administrate("DROP USER 'app_web'@'%'").await?;
        subject.wait_until_healed_by(4).await?;
        ensure!(server.administrate(ACCOUNT).await? == wanted);

        let metadata = json!({"name": "web-password", "namespace": world.objects_namespace(),
            "labels": {"driftpoller.dev/readable": "true"}});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata,
            "stringData": {"password": SECOND}});
        world.apply(&secret).await?;
        subject.wait_until_healed_by(5).await?;
        ensure!(
            server.lets_in("app_web", SECOND).await? && !server.lets_in("app_web", FIRST).await?,
            "not the new one"
        );

        server.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        server.start_again().await?;
        subject.wait_until_healed_by(5).await?;

        hide_drift(&server, &subject).await?;

        let object = subject.get().await?.to_string();
        for program in programs {
            let shown = [program.log_text()?, program.page("/metrics").await?.1, object.clone()].concat();
            let passwords = [FIRST, SECOND, "5e0b71c9", "change-me"];
            ensure!(!passwords.iter().any(|password| shown.contains(password)), "a password is shown");
        }
        subject.delete().await?;
        ensure!(server.administrate(ACCOUNT).await?.is_empty());
        Ok(())
    })
    .await
}

/// Checks that drift is not corrected while the poller's password is wrong.
async fn hide_drift(server: &MariaDb, subject: &Subject) -> Result<()> {
    let accounts = server.administrate(ALL_ACCOUNTS).await?;
    server.administrate("ALTER USER 'drift_poller'@'%' IDENTIFIED BY 'another'").await?;
    server.administrate("KILL USER drift_poller").await?;
    server.administrate("ALTER USER 'app_web'@'%' WITH MAX_USER_CONNECTIONS 6").await?;
    subject.wait_for_verdict("Unknown/Unauthorized").await?;
    ensure!(server.administrate(ACCOUNT).await? == ["6|Y|N|N"]);
    server.administrate("ALTER USER 'app_web'@'%' WITH MAX_USER_CONNECTIONS 10").await?;
    server.administrate("ALTER USER 'drift_poller'@'%' IDENTIFIED BY 'change-me'").await?;
    subject.wait_until_healed_by(5).await?;
    ensure!(server.administrate(ALL_ACCOUNTS).await? == accounts);
    Ok(())
}
