//! An entry of a directory that the poller's account may not see: it is not added again and again.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_api::names::DRIFT_CORRECTED;
use drift_e2e::world::{World, describe, note};

use crate::page;
use crate::slapd::Slapd;

/// Hides groups with this description from the poller.
const HIDING: &str = "access to dn.subtree=\"ou=groups,dc=example,dc=org\" filter=\"(description=hidden)\"\n  \
     by dn.exact=\"cn=drift-controller,ou=services,dc=example,dc=org\" write\n  by * none\n";

/// Time in which corrections without effect are repeated after 2, 6 and 18 seconds.
const SOME_PAUSES: Duration = Duration::from_secs(12);

const MODIFY: &str = "dn: cn=payments,ou=groups,dc=example,dc=org\nchangetype: modify\nreplace: description\n";

#[tokio::test]
async fn a_hidden_entry_is_added_once() -> Result<()> {
    World::run("ldap-hidden", async |world| {
        let server = Slapd::start_ruled(world.folder(), "", HIDING).await?;
        let subject = page::apply(world, "ldap.md", &[("directory.ldap.svc:389", &server.address)]).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        subject.wait_until_healed_by(1).await?;
        let before = server.groups().await?;

        server.change(&format!("{MODIFY}description: hidden\n")).await?;
        subject.wait_for_verdict("Unknown/AbsenceContradicted").await?;
        let refusals = || Ok::<_, anyhow::Error>(controller.log_text()?.matches("entryAlreadyExists").count());
        let seen = refusals()?;
        tokio::time::sleep(SOME_PAUSES).await;
        ensure!(refusals()? == seen, "it is added again");
        let object = subject.wait_for_verdict("Unknown/AbsenceContradicted").await?;
        ensure!(describe(&object, DRIFT_CORRECTED) == "False/CorrectionFailed", "{object}");
        ensure!(note(&object).correction == 2, "one add: {object}");

        server.change(&format!("{MODIFY}description: Payments team\n")).await?;
        subject.wait_for_verdict("False/InSync").await?;
        ensure!(server.groups().await? == before);
        Ok(())
    })
    .await
}
