//! docs/cookbook/ldap.md: a group of a directory and its members.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, yaml};
use serde_json::json;

use crate::page;
use crate::slapd::{PASSWORD, Slapd};

/// The group of the page's object.
const GROUP: [&str; 4] = [
    "description: Payments team",
    "dn: cn=payments,ou=groups,dc=example,dc=org",
    "member: uid=ada,ou=people,dc=example,dc=org",
    "member: uid=grace,ou=people,dc=example,dc=org",
];

const MODIFY: &str = "dn: cn=payments,ou=groups,dc=example,dc=org\nchangetype: modify\n";

#[tokio::test]
async fn a_group_in_a_directory_is_kept() -> Result<()> {
    World::run("ldap", async |world| {
        let mut server = Slapd::start(world.folder(), "").await?;
        let subject = page::apply(world, "ldap.md", &[("directory.ldap.svc:389", &server.address)]).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        subject.wait_until_healed_by(1).await?;
        ensure!(server.groups().await? == GROUP);

        let history = subject.watch().await?;
        server.change(&format!("{MODIFY}replace: description\ndescription: Mallory's\n")).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        server.change(&format!("{MODIFY}add: member\nmember: uid=mallory,ou=people,dc=example,dc=org\n")).await?;
        subject.wait_until_healed_by(3).await?;
        ensure!(server.groups().await? == GROUP);

        server.change("dn: cn=payments,ou=groups,dc=example,dc=org\nchangetype: delete\n").await?;
        history.wait_for_transitions("driftObserved", &[("True", "ExternalMissing"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(4).await?;
        ensure!(server.groups().await? == GROUP);

        server.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        server.start_again().await?;
        subject.wait_for_verdict("False/InSync").await?;
        refuse_a_wrong_password(world, &server, &subject).await?;

        let shown = yaml(&subject.get().await?);
        subject.delete().await?;
        ensure!(server.groups().await?.is_empty());
        for text in [shown, poller.log_text()?, controller.log_text()?] {
            ensure!(!text.contains(PASSWORD) && !text.contains(WRONG), "a password is shown");
        }
        Ok(())
    })
    .await
}

/// A password that the server does not accept.
const WRONG: &str = "canary-7f31";

/// Three times the interval of the test.
const SOME_POLLS: Duration = Duration::from_secs(9);

/// Checks that a wrong password is no drift, and that nothing is corrected by it.
async fn refuse_a_wrong_password(world: &World, server: &Slapd, subject: &page::Subject) -> Result<()> {
    let credential = |password: &str| {
        json!({"url": format!("ldap://{}", server.address), "password": password,
            "bindDn": "cn=drift-poller,ou=services,dc=example,dc=org"})
    };
    world.apply_credential("directory-read", "poller", credential(WRONG)).await?;
    subject.wait_for_verdict("Unknown/Unauthorized").await?;
    let before = server.groups().await?;
    server.change(&format!("{MODIFY}replace: description\ndescription: Unseen\n")).await?;
    let drifted = server.groups().await?;
    wait::throughout("no correction without a verdict", SOME_POLLS, async || {
        let now = server.groups().await?;
        Ok(if now == drifted { Seen::Met(()) } else { Seen::Instead(format!("{now:?}")) })
    })
    .await?;
    subject.wait_for_verdict("Unknown/Unauthorized").await?;
    world.apply_credential("directory-read", "poller", credential(PASSWORD)).await?;
    subject.wait_until_healed_by(5).await?;
    ensure!(server.groups().await? == before);
    Ok(())
}
