//! Failures of a statement, as fixed texts.
//!
//! The server's own messages contain values, names and addresses. They are kept as they came, for the reason of a
//! refused statement, and no text here shows them.

use std::io;

use crate::sql::state::SqlState;
use drift_api::secrets::labelled_secrets::CredentialError;

use crate::guard::connect_errors::describe;
use crate::guard::failure::SystemFailure;
use crate::guard::host_health::HostReply;
use crate::refusal::ServerText;

/// The reason for a missing result. Contains no value, address or credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlFailure {
    /// A failure that every kind of system can have.
    #[error(transparent)]
    System(#[from] SystemFailure),
    /// The server asks for a way to log in that is not used. No statement was sent.
    #[error("login: {0}")]
    LoginUnsupported(&'static str),
    /// The server returned an error.
    #[error("SQLSTATE {0}")]
    Answered(SqlState, ServerText),
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
        Self::System(error.into())
    }
}

impl From<io::Error> for SqlFailure {
    fn from(error: io::Error) -> Self {
        Self::System(error.into())
    }
}

impl From<tokio_postgres::Error> for SqlFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(error) = error.as_db_error() {
            // Without its detail, which may be a whole row. An invalid code does not come from PostgreSQL.
            return SqlState::parse(error.code().code())
                .map_or(Self::System(SystemFailure::Unreachable("the answer is not PostgreSQL's")), |state| {
                    Self::Answered(state, error.message().into())
                });
        }
        let source = error.into_source();
        let io = source.as_deref().and_then(|source| source.downcast_ref::<io::Error>());
        let Some(error) = io else { return SystemFailure::Unreachable(CLOSED).into() };
        let over = error.get_ref().and_then(|inner| inner.downcast_ref::<OverCap>());
        let failure = over.map_or_else(
            || SystemFailure::Unreachable(describe(error)),
            |over| SystemFailure::Unreadable(over.mistake()),
        );
        failure.into()
    }
}

impl SqlFailure {
    /// Returns the evidence about the host.
    #[must_use]
    pub fn heard(&self) -> Option<HostReply> {
        match self {
            failure if failure.is_loss() => Some(HostReply::Unreachable),
            Self::Answered(..) | Self::LoginUnsupported(_) => Some(HostReply::Answer),
            Self::System(failure) => failure.heard(),
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
            Self::Answered(state, _) => matches!(state.class(), "08") || state.is_shutdown(),
            Self::System(failure) => matches!(failure, SystemFailure::Unreachable(_)),
            Self::LoginUnsupported(_) => false,
        }
    }
}
