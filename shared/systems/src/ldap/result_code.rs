//! Result codes of LDAP operations (RFC 4511, appendix A).
//!
//! The code is the only displayed part of a server's response. Diagnostic messages contain DNs and values.

use std::fmt;

/// The result code of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResultCode(pub u32);

impl ResultCode {
    /// The operation succeeded.
    pub const SUCCESS: Self = Self(0);
    /// The server's time limit passed.
    pub const TIME_LIMIT_EXCEEDED: Self = Self(3);
    /// More entries match than the limit allows.
    pub const SIZE_LIMIT_EXCEEDED: Self = Self(4);
    /// The attribute or the value to remove does not exist.
    pub const NO_SUCH_ATTRIBUTE: Self = Self(16);
    /// The server is too busy.
    pub const BUSY: Self = Self(51);
    /// The server is shutting down or a part of it is offline.
    pub const UNAVAILABLE: Self = Self(52);
    /// The entry does not exist.
    pub const NO_SUCH_OBJECT: Self = Self(32);
    /// The entry to add exists already.
    pub const ENTRY_ALREADY_EXISTS: Self = Self(68);

    /// The account lacks a right.
    pub const INSUFFICIENT_ACCESS_RIGHTS: Self = Self(50);

    /// Returns true if the server rejects the credential or lacks a right for it: authMethodNotSupported,
    /// strongerAuthRequired, confidentialityRequired, inappropriateAuthentication, invalidCredentials and
    /// insufficientAccessRights.
    #[must_use]
    pub const fn is_denial(self) -> bool {
        matches!(self.0, 7 | 8 | 13 | 48 | 49 | 50)
    }

    /// Returns true if the server accepts no operation at present: busy and unavailable.
    #[must_use]
    pub const fn is_outage(self) -> bool {
        matches!(self, Self::BUSY | Self::UNAVAILABLE)
    }

    /// Returns true if the failure may be temporary: operationsError, adminLimitExceeded, loopDetect and other.
    #[must_use]
    pub const fn is_server_error(self) -> bool {
        self.is_outage() || matches!(self.0, 1 | 11 | 54 | 80)
    }
}

/// The names of common codes.
const NAMES: &[(u32, &str)] = &[
    (1, "operationsError"),
    (2, "protocolError"),
    (3, "timeLimitExceeded"),
    (4, "sizeLimitExceeded"),
    (7, "authMethodNotSupported"),
    (8, "strongerAuthRequired"),
    (10, "referral"),
    (11, "adminLimitExceeded"),
    (13, "confidentialityRequired"),
    (16, "noSuchAttribute"),
    (17, "undefinedAttributeType"),
    (18, "inappropriateMatching"),
    (19, "constraintViolation"),
    (20, "attributeOrValueExists"),
    (21, "invalidAttributeSyntax"),
    (32, "noSuchObject"),
    (34, "invalidDNSyntax"),
    (48, "inappropriateAuthentication"),
    (49, "invalidCredentials"),
    (50, "insufficientAccessRights"),
    (51, "busy"),
    (52, "unavailable"),
    (53, "unwillingToPerform"),
    (54, "loopDetect"),
    (64, "namingViolation"),
    (65, "objectClassViolation"),
    (66, "notAllowedOnNonLeaf"),
    (67, "notAllowedOnRDN"),
    (68, "entryAlreadyExists"),
    (80, "other"),
];

impl fmt::Display for ResultCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(code, _)| *code == self.0) {
            Some((code, name)) => write!(formatter, "LDAP result {code} {name}"),
            None => write!(formatter, "LDAP result {}", self.0),
        }
    }
}
