//! One session with one server, as one account. Its requests follow one another.

use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use drift_api::requests::ldap::result_code::ResultCode;
use drift_api::requests::ldap::{Change, Search, SearchScope};

use super::dial::dial;
use super::failure::LdapFailure;
use super::messages::{self, SearchLimits};
use super::parameters::DirectoryParameters;
use super::responses::{MAX_RESULT_BYTES, Response, SearchAnswer, read_message};
use crate::guard::dialling::DialRules;
use crate::guard::stream::{Wire, in_time};

/// Maximum bytes of the entries of a search. A group with 10,000 members has about 600 KiB.
const MAX_SEARCH_BYTES: usize = 1024 * 1024;

const UNEXPECTED: LdapFailure = LdapFailure::Unreachable("the answer is not the one to the request");

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
        let answer = session.receive(&mut { MAX_RESULT_BYTES }).await?;
        match Response::parse(&answer, session.last_id)? {
            Response::Bind(ResultCode::SUCCESS) => Ok(session),
            Response::Bind(code) => Err(LdapFailure::NotBound(code)),
            _ => Err(UNEXPECTED),
        }
    }

    pub(super) async fn search(&mut self, search: &Search, limits: SearchLimits) -> Result<SearchAnswer, LdapFailure> {
        self.send(&messages::search(search, limits)).await?;
        let mut allowance = MAX_SEARCH_BYTES;
        let mut found: Vec<Value> = Vec::new();
        loop {
            let answer = self.receive(&mut allowance).await?;
            match Response::parse(&answer, self.last_id)? {
                Response::Entry(entry) => found.push(entry.to_json(&search.attributes)?),
                // What is there is unknown, so a missing entry proves nothing.
                Response::Reference => {
                    return Err(LdapFailure::Unreadable("a part of it is on another server (referral)"));
                }
                Response::SearchDone(ResultCode::SUCCESS) => return Ok(SearchAnswer::Entries(found)),
                // More entries than asked for: the answer is ambiguous in any case.
                Response::SearchDone(ResultCode::SIZE_LIMIT_EXCEEDED) if found.len() > 1 => {
                    return Ok(SearchAnswer::Entries(found));
                }
                // Below a missing base, nothing is known about entries: the base itself can be wrong.
                Response::SearchDone(ResultCode::NO_SUCH_OBJECT) if search.scope == SearchScope::Base => {
                    return Ok(SearchAnswer::NoBase);
                }
                Response::SearchDone(code) => return Err(LdapFailure::Answered(code)),
                _ => return Err(UNEXPECTED),
            }
        }
    }

    pub(super) async fn change(&mut self, change: &Change) -> Result<(), LdapFailure> {
        self.send(&messages::change(change)).await?;
        let answer = self.receive(&mut { MAX_RESULT_BYTES }).await?;
        match Response::parse(&answer, self.last_id)? {
            Response::Changed(ResultCode::SUCCESS) => Ok(()),
            Response::Changed(code) => Err(LdapFailure::Answered(code)),
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

    async fn receive(&mut self, allowance: &mut usize) -> Result<Vec<u8>, LdapFailure> {
        read_message(&mut self.wire, allowance).await
    }
}
