//! Searches and changes, each in a session of its own. A dropped future closes the connection.

use std::time::Duration;

use drift_api::requests::ldap::{Change, Search};
use drift_language::Network;

use super::failure::LdapFailure;
use super::messages::SearchLimits;
use super::parameters::DirectoryParameters;
use super::responses::SearchAnswer;
use super::session::Session;
use crate::guard::dialling::DialRules;

/// Entry limit of a search: a second entry shows that the result is ambiguous.
const ENOUGH_ENTRIES: u32 = 2;

/// Access to a server.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryServer<'a> {
    /// The address and the account.
    pub parameters: &'a DirectoryParameters,
    /// Networks that may be dialled although the address guard would reject them.
    pub allow_networks: &'a [Network],
}

impl DirectoryServer<'_> {
    /// Searches for one entry. The server stops the search at the timeout.
    ///
    /// # Errors
    /// Fails if the result is missing or incomplete.
    pub async fn search(self, search: &Search, timeout: Duration) -> Result<SearchAnswer, LdapFailure> {
        // The protocol has whole seconds, and 0 is no limit.
        let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX).max(1);
        let mut session = self.open().await?;
        let found = session.search(search, SearchLimits { entries: ENOUGH_ENTRIES, seconds }).await;
        session.close().await;
        found
    }

    /// Changes one entry.
    ///
    /// # Errors
    /// Fails if the server rejects the change, or if its result is unknown.
    pub async fn change(self, change: &Change) -> Result<(), LdapFailure> {
        let mut session = self.open().await?;
        let done = session.change(change).await;
        session.close().await;
        done
    }

    async fn open(self) -> Result<Session, LdapFailure> {
        let rules = DialRules { has_chosen_host: false, allowed: self.allow_networks.to_vec() };
        Session::open(self.parameters, &rules).await
    }
}
