//! Failures of a statement, as fixed texts.
//!
//! The server's own messages contain values, names and addresses. They are kept as they came, for the reason of a
//! refused statement, and no text here shows them.

use std::io;

use drift_api::{CredentialError, SqlState};

use crate::guard::connect_errors::describe;
use crate::guard::dialling::AddressRefused;
use crate::guard::host_health::HostReply;
use crate::guard::roots::NoBundle;
use crate::guard::stream::DialError;
use crate::refusal::ServerText;

/// The reason for a missing result. Contains no value, address or credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlFailure {
    /// DNS, connect, TLS, reset, or not a server of this dialect.
    #[error("no connection: {0}")]
    Unreachable(&'static str),
    /// The Secret is missing, not labelled for this program, or has no valid connection parameters.
    #[error("credential: {0}")]
    CredentialUnavailable(String),
    /// The server asks for a way to log in that is not used. No statement was sent.
    #[error("login: {0}")]
    LoginUnsupported(&'static str),
    /// The host's address is in a network that must not be dialled.
    #[error("{host} is not asked: {AddressRefused}")]
    AddressRefused {
        /// Host and port.
        host: String,
    },
    /// The server returned an error.
    #[error("SQLSTATE {0}")]
    Answered(SqlState, ServerText),
    /// The result is not usable, for the reason in this fixed text.
    #[error("the result: {0}")]
    Unreadable(&'static str),
}

/// The message about a closed connection.
pub(crate) const CLOSED: &str = "the connection was closed before an answer came";
/// The message about a result that exceeds the target's limit.
pub(crate) const TOO_LARGE: &str = "larger than maxBytes";

/// The message about a result whose types consist of too many others.
pub(crate) const TOO_MANY_TYPES: &str = "its columns have too many types to look up: cast them in the query";

/// The allowance of a connection is exceeded.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("more than the cap")]
pub(crate) enum OverCap {
    /// The server sent too much.
    Incoming,
    /// The client would have to send too many requests.
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

impl From<DialError> for SqlFailure {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Unreachable(text) => Self::Unreachable(text),
            DialError::AddressRefused { host } => Self::AddressRefused { host },
            DialError::Bundle(bundle) => Self::no_bundle(bundle),
        }
    }
}

impl From<io::Error> for SqlFailure {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(describe(&error))
    }
}

impl From<tokio_postgres::Error> for SqlFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(error) = error.as_db_error() {
            // Without its detail, which may be a whole row. An invalid code does not come from PostgreSQL.
            return SqlState::parse(error.code().code())
                .map_or(Self::Unreachable("the answer is not PostgreSQL's"), |state| {
                    Self::Answered(state, error.message().into())
                });
        }
        let source = error.into_source();
        let io = source.as_deref().and_then(|source| source.downcast_ref::<io::Error>());
        let Some(error) = io else { return Self::Unreachable(CLOSED) };
        let over = error.get_ref().and_then(|inner| inner.downcast_ref::<OverCap>());
        over.map_or_else(|| Self::Unreachable(describe(error)), |over| Self::Unreadable(over.mistake()))
    }
}

impl SqlFailure {
    pub(crate) fn no_bundle(error: NoBundle) -> Self {
        Self::CredentialUnavailable(format!("the connection's Secret, key ca.crt: {error}"))
    }

    /// Returns the evidence about the host.
    #[must_use]
    pub fn heard(&self) -> Option<HostReply> {
        match self {
            failure if failure.is_loss() => Some(HostReply::Unreachable),
            Self::Answered(..) | Self::LoginUnsupported(_) | Self::Unreadable(_) => Some(HostReply::Answer),
            // Nothing was sent to the host.
            Self::Unreachable(_) | Self::CredentialUnavailable(_) | Self::AddressRefused { .. } => None,
        }
    }

    /// Returns true if the server rejects the role or lacks a right for it.
    pub(crate) fn is_denial(&self) -> bool {
        matches!(self, Self::Answered(state, _) if state.is_denial())
    }

    /// Returns true if the connection itself is lost, not only this statement.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Answered(state, _) => matches!(state.class(), "08") || state.is_shutdown(),
            Self::CredentialUnavailable(_)
            | Self::LoginUnsupported(_)
            | Self::AddressRefused { .. }
            | Self::Unreadable(_) => false,
        }
    }
}
