//! Failures that a request to any kind of system can have, as fixed texts.

use std::io;

use drift_api::secrets::labelled_secrets::CredentialError;

use crate::guard::connect_errors::describe;
use crate::guard::dialling::AddressRefused;
use crate::guard::host_health::HostReply;
use crate::guard::roots::NoBundle;

/// The reason for a missing result, whatever the kind of system. Contains no value, address or credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemFailure {
    /// DNS, connect, TLS, reset, or a server that does not follow the protocol. No part of a response came.
    #[error("no connection: {0}")]
    Unreachable(&'static str),
    /// The Secret is missing, not labelled for this program, lacks a key, or may not be sent to this host.
    #[error("credential: {0}")]
    CredentialUnavailable(String),
    /// The host's address is in a network that must not be dialled. Nothing was sent.
    #[error("{host} is not asked: {AddressRefused}")]
    AddressRefused {
        /// Host and port.
        host: String,
    },
    /// The result is not usable, for the reason in this fixed text.
    #[error("the result: {0}")]
    Unreadable(&'static str),
}

impl SystemFailure {
    /// Returns the evidence about the host. `None` if nothing was sent to it.
    #[must_use]
    pub const fn heard(&self) -> Option<HostReply> {
        match self {
            Self::Unreachable(_) => Some(HostReply::Unreachable),
            Self::Unreadable(_) => Some(HostReply::Answer),
            Self::CredentialUnavailable(_) | Self::AddressRefused { .. } => None,
        }
    }
}

impl From<CredentialError> for SystemFailure {
    fn from(error: CredentialError) -> Self {
        Self::CredentialUnavailable(error.to_string())
    }
}

impl From<io::Error> for SystemFailure {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(describe(&error))
    }
}

impl From<NoBundle> for SystemFailure {
    fn from(error: NoBundle) -> Self {
        Self::CredentialUnavailable(format!("the connection's Secret, key ca.crt: {error}"))
    }
}
