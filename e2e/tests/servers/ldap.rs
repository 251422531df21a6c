//! docs/cookbook/ldap.md: a group of a directory and its members.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, condition, describe, note, yaml};
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

const CLOSED: &str =
    "dn: ou=closed,ou=groups,dc=example,dc=org\nchangetype: add\nobjectClass: organizationalUnit\nou: closed\n";

/// Returns the change that moves the group from one container to another.
fn moved(from: &str, to: &str) -> String {
    format!("dn: cn=payments,{from}\nchangetype: modrdn\nnewrdn: cn=payments\ndeleteoldrdn: 0\nnewsuperior: {to}\n")
}

#[tokio::test]
async fn an_entry_that_was_moved_keeps_its_object() -> Result<()> {
    World::run("ldap-moved", async |world| {
        let server = Slapd::start(world.folder(), "").await?;
        let by_dn = "base: \"cn=${self.spec.name},ou=groups,dc=example,dc=org\"";
        let by_name = "base: ou=groups,dc=example,dc=org\n          scope: subtree\n          \
                       filter: \"(&(objectClass=groupOfNames)(cn=${self.spec.name}))\"";
        let replaced = [("directory.ldap.svc:389", &*server.address), (by_dn, by_name)];
        let subject = page::follow(world, "ldap.md", &replaced).await?;
        subject.wait_until_healed_by(1).await?;
        let (here, closed) = ("ou=groups,dc=example,dc=org", "ou=closed,ou=groups,dc=example,dc=org");
        server.change(CLOSED).await?;
        server.change(&moved(here, closed)).await?;
        subject.request_deletion().await?;
        let told = subject.wait_until_told("the read still finds the external resource").await?;
        ensure!(told["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty()), "{told}");
        ensure!(server.groups().await?.contains(&format!("dn: cn=payments,{closed}")), "it outlives its address");
        server.change(&moved(closed, here)).await?;
        subject.wait_until_gone().await?;
        ensure!(server.groups().await?.is_empty(), "{:?}", server.groups().await?);
        Ok(())
    })
    .await
}

/// Rules that take these from the poller.
fn hidden(what: &str) -> String {
    format!("access to {what}\n  by dn.exact=\"cn=drift-poller,ou=services,dc=example,dc=org\" none\n  by * break\n")
}

#[tokio::test]
async fn what_the_reader_may_not_see_is_no_drift() -> Result<()> {
    World::run("ldap-unseen", async |world| {
        let mut server = Slapd::start(world.folder(), "").await?;
        let subject = page::follow(world, "ldap.md", &[("directory.ldap.svc:389", &server.address)]).await?;
        subject.wait_until_healed_by(1).await?;
        let (written, groups) = (server.changes().await?, "dn.subtree=\"ou=groups,dc=example,dc=org\"");
        for (what, told) in [
            (format!("{groups} attrs=member"), "does not show its attribute member"),
            (format!("{groups} attrs=objectClass"), "that proves nothing"),
            (groups.to_owned(), "that proves nothing"),
        ] {
            server.start_again_with(&hidden(&what)).await?;
            let seen = subject.wait_for_verdict("Unknown/Forbidden").await?;
            let message = condition(&seen, names::DRIFT_OBSERVED).map(|observed| observed["message"].to_string());
            ensure!(message.as_ref().is_some_and(|message| message.contains(told)), "{what}: {message:?}");
            wait::throughout("no write to the directory", SOME_POLLS, async || {
                let now = server.changes().await?;
                Ok(if now == written { Seen::Met(()) } else { Seen::Instead(format!("{now:?}")) })
            })
            .await?;
            subject.wait_for_verdict("Unknown/Forbidden").await?;
            server.start_again_with("").await?;
            subject.wait_until_healed_by(1).await?;
        }
        ensure!(server.changes().await? == written);
        Ok(())
    })
    .await
}

/// Hides groups with this description from the poller.
const HIDING: &str = "access to dn.subtree=\"ou=groups,dc=example,dc=org\" filter=\"(description=hidden)\"\n  \
     by dn.exact=\"cn=drift-controller,ou=services,dc=example,dc=org\" write\n  by * none\n";

/// Time in which corrections without effect are repeated after 2, 6 and 18 seconds.
const SOME_PAUSES: Duration = Duration::from_secs(12);

#[tokio::test]
async fn a_hidden_entry_is_added_once() -> Result<()> {
    World::run("ldap-hidden", async |world| {
        let mut server = Slapd::start(world.folder(), "").await?;
        server.start_again_with(HIDING).await?;
        let subject = page::apply(world, "ldap.md", &[("directory.ldap.svc:389", &server.address)]).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        subject.wait_until_healed_by(1).await?;
        let before = server.groups().await?;

        server.change(&format!("{MODIFY}replace: description\ndescription: hidden\n")).await?;
        subject.wait_for_verdict("Unknown/AbsenceContradicted").await?;
        let refusals = || Ok::<_, anyhow::Error>(controller.log_text()?.matches("entryAlreadyExists").count());
        let seen = refusals()?;
        wait::throughout("no further add", SOME_PAUSES, async || {
            let now = refusals()?;
            Ok(if now == seen { Seen::Met(()) } else { Seen::Instead(now.to_string()) })
        })
        .await?;
        let object = subject.wait_for_verdict("Unknown/AbsenceContradicted").await?;
        ensure!(describe(&object, names::DRIFT_CORRECTED) == "False/CorrectionFailed", "{object}");
        ensure!(note(&object).correction == 2, "one add: {object}");

        server.change(&format!("{MODIFY}replace: description\ndescription: Payments team\n")).await?;
        subject.wait_for_verdict("False/InSync").await?;
        ensure!(server.groups().await? == before);
        Ok(())
    })
    .await
}
