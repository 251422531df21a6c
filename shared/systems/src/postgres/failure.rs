//! Why a statement came to nothing, in closed words.
//!
//! The server's own messages carry values, names and addresses; only its SQLSTATE goes on. This file judges nothing.

use std::io;

use drift_api::requests::sql_state::SqlState;
use drift_api::secrets::labelled_secrets::CredentialError;

use crate::guard::dialling::AddressRefused;
use crate::guard::host_health::HostReply;

/// Why there is no result. Holds no value, address or credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlFailure {
    /// DNS, connect, TLS, reset, or no PostgreSQL at the other end.
    #[error("no connection: {0}")]
    Unreachable(&'static str),
    /// The Secret is missing, not labelled for this program, or says nothing that can be connected by.
    #[error("credential: {0}")]
    CredentialUnavailable(String),
    /// The host's address is in a network that must not be dialled.
    #[error("{host} is not asked: {AddressRefused}")]
    AddressRefused {
        /// Host and port.
        host: String,
    },
    /// The server said no.
    #[error("SQLSTATE {0}")]
    Answered(SqlState),
    /// The result is no observation, for the reason in this closed text.
    #[error("the result: {0}")]
    Unreadable(&'static str),
}

/// Said of a connection that ended.
pub(super) const CLOSED: &str = "the connection was closed before an answer came";
/// Said of a result that is larger than what the target takes.
pub(super) const TOO_LARGE: &str = "larger than maxBytes";

/// Said of a result whose types consist of too many others.
pub(super) const TOO_MANY_TYPES: &str = "its columns have too many types to look up: cast them in the query";

/// More than the allowance of a connection.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("more than the cap")]
pub(super) enum OverCap {
    /// The server sent more.
    Incoming,
    /// The client would have to ask more.
    Outgoing,
}

impl OverCap {
    const fn mistake(self) -> &'static str {
        match self {
            Self::Incoming => TOO_LARGE,
            Self::Outgoing => TOO_MANY_TYPES,
        }
    }
}

impl From<CredentialError> for SqlFailure {
    fn from(error: CredentialError) -> Self {
        Self::CredentialUnavailable(error.to_string())
    }
}

impl From<tokio_postgres::Error> for SqlFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(state) = error.code() {
            // A code that is none comes from something that is no PostgreSQL.
            return SqlState::parse(state.code())
                .map_or(Self::Unreachable("the answer is not PostgreSQL's"), Self::Answered);
        }
        let source = error.into_source();
        let io = source.as_deref().and_then(|source| source.downcast_ref::<io::Error>());
        let Some(error) = io else { return Self::Unreachable(CLOSED) };
        let over = error.get_ref().and_then(|inner| inner.downcast_ref::<OverCap>());
        over.map_or_else(|| Self::of_io(error), |over| Self::Unreadable(over.mistake()))
    }
}

impl SqlFailure {
    pub(super) fn of_io(error: &io::Error) -> Self {
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
            return Self::Unreachable(crate::guard::connect_errors::describe_tls(error));
        }
        Self::Unreachable(crate::guard::connect_errors::describe_io(error.kind()).unwrap_or("connecting failed"))
    }

    /// Returns what it reveals about the host.
    #[must_use]
    pub fn heard(&self) -> Option<HostReply> {
        match self {
            failure if failure.is_loss() => Some(HostReply::Unreachable),
            Self::Answered(_) | Self::Unreadable(_) => Some(HostReply::Answer),
            // Nothing was sent there.
            Self::Unreachable(_) | Self::CredentialUnavailable(_) | Self::AddressRefused { .. } => None,
        }
    }

    /// Returns true if the server refuses who asks, or what the role may not do.
    pub(super) fn is_denial(&self) -> bool {
        matches!(self, Self::Answered(state) if state.is_denial())
    }

    /// Returns true if the connection itself is lost, and not only this statement.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Answered(state) => matches!(state.class(), "08") || state.is_shutdown(),
            Self::CredentialUnavailable(_) | Self::AddressRefused { .. } | Self::Unreadable(_) => false,
        }
    }
}
