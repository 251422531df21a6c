//! Failures of an operation, as fixed texts.
//!
//! The server's own messages contain DNs and values. They are kept as they came, for the reason of a refused change,
//! and no text here shows them.

use std::io;

use crate::ldap::result_code::ResultCode;
use drift_api::secrets::labelled_secrets::CredentialError;

use crate::PAUSE_WHEN_NOT_TOLD;
use crate::guard::failure::SystemFailure;
use crate::guard::host_health::HostReply;
use crate::refusal::ServerText;

/// The reason for a missing result. Contains no value, address or credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LdapFailure {
    /// A failure that every kind of system can have.
    #[error(transparent)]
    System(#[from] SystemFailure),
    /// The server rejected the bind, so no operation was sent.
    #[error("bind: {0}")]
    NotBound(ResultCode, ServerText),
    /// The server rejected the operation.
    #[error("{0}")]
    Answered(ResultCode, ServerText),
    /// The entry does not show an attribute of this name that the target says every entry has.
    #[error(
        "the entry does not show its attribute {0}, which read.ldap.present names: the account may not read it, or it was removed"
    )]
    AttributeHidden(String),
    /// The result is empty, and the account does not see where the entry would be.
    #[error(
        "no entry was found, and that proves nothing: the entry above it, or the base of the search, does not exist, or the account does not see it"
    )]
    ContainerHidden,
}

impl From<CredentialError> for LdapFailure {
    fn from(error: CredentialError) -> Self {
        Self::System(error.into())
    }
}

impl From<io::Error> for LdapFailure {
    fn from(error: io::Error) -> Self {
        Self::System(error.into())
    }
}

impl LdapFailure {
    /// Returns the words of the server.
    #[must_use]
    pub const fn said(&self) -> Option<&ServerText> {
        match self {
            Self::NotBound(_, said) | Self::Answered(_, said) => Some(said),
            _ => None,
        }
    }

    /// Returns the evidence about the host.
    #[must_use]
    pub fn heard(&self) -> Option<HostReply> {
        match self {
            Self::NotBound(code, _) | Self::Answered(code, _) if code.is_outage() => {
                Some(HostReply::AskedToWait(PAUSE_WHEN_NOT_TOLD))
            }
            Self::NotBound(..) | Self::Answered(..) | Self::AttributeHidden(_) | Self::ContainerHidden => {
                Some(HostReply::Answer)
            }
            Self::System(failure) => failure.heard(),
        }
    }
}
