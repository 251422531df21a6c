//! Searches and changes, each in a session of its own. A dropped future closes the connection.

use crate::guard::failure::SystemFailure;
use std::time::Duration;

use crate::ldap::result_code::ResultCode;
use drift_language::Network;
use drift_language::ldap::{Change, Search, SearchScope};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::failure::LdapFailure;
use super::messages::{self, SearchLimits, message, start_tls};
use super::parameters::{DirectoryParameters, Protection};
use super::responses::{RESULT_BYTES, Response, SEARCH_BYTES, SEARCH_VALUES, SearchAnswer, read_message};
use crate::guard::allowance::Allowance;
use crate::guard::dialling::DialRules;
use crate::guard::stream::{Wire, connect, handshake, in_time, trusting};
use crate::guard::write_progress::WriteProgress;

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
        let found = session.find(search, SearchLimits { entries: ENOUGH_ENTRIES, seconds }).await;
        session.close().await;
        found
    }

    /// Changes one entry. `progress` records if the change was sent.
    ///
    /// # Errors
    /// Fails if the server rejects the change, or if its result is unknown.
    pub async fn change(self, change: &Change, progress: &WriteProgress) -> Result<(), LdapFailure> {
        let mut session = self.open().await?;
        progress.begin();
        let done = session.change(change).await;
        session.close().await;
        done
    }

    async fn open(self) -> Result<Session, LdapFailure> {
        let rules = DialRules { has_chosen_host: false, allowed: self.allow_networks.to_vec() };
        Session::open(self.parameters, &rules).await
    }
}

const UNEXPECTED: LdapFailure =
    LdapFailure::System(SystemFailure::Unreachable("the answer is not the one to the request"));

/// One session, bound as an account.
pub(super) struct Session {
    wire: Box<dyn Wire>,
    last_id: u32,
}

impl Session {
    /// Connects and binds.
    pub(super) async fn open(parameters: &DirectoryParameters, rules: &DialRules) -> Result<Self, LdapFailure> {
        let mut session = Self { wire: in_time(dial(parameters, rules)).await?, last_id: 1 };
        session.send(&messages::bind(&parameters.bind_dn, parameters.password.expose_secret())).await?;
        let answer = session.receive(&mut { RESULT_BYTES }).await?;
        match Response::parse(&answer, session.last_id)? {
            Response::Bind(ResultCode::SUCCESS, _) => Ok(session),
            Response::Bind(code, said) => Err(LdapFailure::NotBound(code, said)),
            _ => Err(UNEXPECTED),
        }
    }

    /// Searches for one entry. A directory hides what the account may not see, so an empty result counts only if the
    /// account sees the entry above.
    async fn find(&mut self, search: &Search, limits: SearchLimits) -> Result<SearchAnswer, LdapFailure> {
        let found = self.search(search, limits).await?;
        if !found.is_empty() {
            return Ok(found);
        }
        match self.search(&messages::container_of(search), limits).await {
            Ok(container) if !container.is_empty() => Ok(found),
            Ok(_) | Err(LdapFailure::AttributeHidden(_)) => Err(LdapFailure::ContainerHidden),
            Err(failure) => Err(failure),
        }
    }

    async fn search(&mut self, search: &Search, limits: SearchLimits) -> Result<SearchAnswer, LdapFailure> {
        self.send(&messages::search(search, limits)).await?;
        let (mut bytes, mut values) = (SEARCH_BYTES, SEARCH_VALUES);
        let mut found: Vec<Value> = Vec::new();
        loop {
            let answer = self.receive(&mut bytes).await?;
            match Response::parse(&answer, self.last_id)? {
                // The server ignores the limit. What follows is left unread, because the session ends.
                Response::Entry(_) if found.len() >= limits.entries as usize => {
                    return Ok(SearchAnswer::Entries(found));
                }
                Response::Entry(entry) => found.push(entry.to_result(search, &mut values)?),
                // What is there is unknown, so a missing entry proves nothing.
                Response::Reference => {
                    return Err(LdapFailure::System(SystemFailure::Unreadable(
                        "a part of it is on another server (referral)",
                    )));
                }
                Response::SearchDone(ResultCode::SUCCESS, _) => return Ok(SearchAnswer::Entries(found)),
                // More entries than asked for: the answer is ambiguous in any case.
                Response::SearchDone(ResultCode::SIZE_LIMIT_EXCEEDED, _) if found.len() > 1 => {
                    return Ok(SearchAnswer::Entries(found));
                }
                // Below a missing base, nothing is known about entries: the base itself can be wrong.
                Response::SearchDone(ResultCode::NO_SUCH_OBJECT, _) if search.scope == SearchScope::Base => {
                    return Ok(SearchAnswer::NoBase);
                }
                Response::SearchDone(code, said) => return Err(LdapFailure::Answered(code, said)),
                _ => return Err(UNEXPECTED),
            }
        }
    }

    pub(super) async fn change(&mut self, change: &Change) -> Result<(), LdapFailure> {
        self.send(&messages::change(change)).await?;
        let answer = self.receive(&mut { RESULT_BYTES }).await?;
        match Response::parse(&answer, self.last_id)? {
            Response::Changed(ResultCode::SUCCESS, _) => Ok(()),
            Response::Changed(code, said) => Err(LdapFailure::Answered(code, said)),
            _ => Err(UNEXPECTED),
        }
    }

    /// Ends the session, so that the server does not log a lost connection. The result is known already.
    pub(super) async fn close(mut self) {
        let _ = self.send(&messages::unbind()).await;
        let _ = self.wire.shutdown().await;
    }

    async fn send(&mut self, operation: &[u8]) -> Result<(), LdapFailure> {
        self.last_id += 1;
        let message = messages::message(self.last_id, operation);
        self.wire.write_all(&message).await?;
        Ok(self.wire.flush().await?)
    }

    async fn receive(&mut self, allowance: &mut Allowance) -> Result<Vec<u8>, LdapFailure> {
        read_message(&mut self.wire, allowance).await
    }
}

/// Message ID of StartTLS, the first message of its connection.
const START_TLS_ID: u32 = 1;

/// Opens a connection that is ready for the bind.
pub(super) async fn dial(parameters: &DirectoryParameters, rules: &DialRules) -> Result<Box<dyn Wire>, LdapFailure> {
    let mut stream = connect(&parameters.host, parameters.port, rules).await?;
    match parameters.protection {
        Protection::None => return Ok(Box::new(stream)),
        Protection::Tls => {}
        Protection::StartTls => ask_for_tls(&mut stream).await?,
    }
    Ok(Box::new(handshake(stream, &parameters.host, trusting(parameters.ca.as_ref())?).await?))
}

/// Reads exactly one message: anything after it was not sent under TLS, and the handshake rejects it.
async fn ask_for_tls(stream: &mut TcpStream) -> Result<(), LdapFailure> {
    stream.write_all(&message(START_TLS_ID, &start_tls())).await?;
    let mut allowance = RESULT_BYTES;
    match Response::parse(&read_message(stream, &mut allowance).await?, START_TLS_ID)? {
        Response::Extended(code) if code.0 == 0 => Ok(()),
        _ => Err(LdapFailure::System(SystemFailure::Unreachable("the server does not begin TLS"))),
    }
}
