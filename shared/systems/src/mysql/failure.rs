//! Errors of the client, as fixed texts and codes.

use mysql_async::{DriverError, Error, IoError};

use drift_api::requests::sql_state::SqlState;

use crate::guard::connect_errors::{describe, describe_tls};
use crate::guard::roots::NoBundle;
use crate::sql::SqlFailure;
use crate::sql::failure::{CLOSED, TOO_LARGE};

/// The message about a login that the client does not do: passwords in clear text, or of servers before MySQL 4.1.
const OTHER_LOGIN: &str = "the server asks for another way to log in";
/// The message about parameters that the client counts differently.
const PARAMETERS: &str = "a `:` in the statement reads as a parameter: write a space behind it";

impl From<Error> for SqlFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::Server(error) => SqlState::parse_mysql(&error.state, error.code)
                .map_or(Self::Unreachable("the answer is not MySQL's"), |state| {
                    Self::Answered(state, error.message.as_str().into())
                }),
            Error::Io(IoError::Io(error)) => Self::Unreachable(describe(&error)),
            Error::Io(IoError::Tls(error)) => Self::of_tls(&error),
            Error::Driver(error) => Self::of_driver(&error),
            Error::Other(_) | Error::Url(_) => Self::Unreachable(CLOSED),
        }
    }
}

impl SqlFailure {
    fn of_tls(error: &mysql_async::TlsError) -> Self {
        match error {
            mysql_async::TlsError::Tls(error) => Self::Unreachable(describe_tls(error)),
            mysql_async::TlsError::InvalidDnsName(_) => {
                Self::Unreachable("the host is no name that a certificate could be for")
            }
            mysql_async::TlsError::Pem(_) | mysql_async::TlsError::VerifierBuilderError(_) => Self::no_bundle(NoBundle),
        }
    }

    fn of_driver(error: &DriverError) -> Self {
        match error {
            DriverError::NoClientSslFlagFromServer => {
                Self::Unreachable("the server has no TLS; sslmode disable connects without")
            }
            DriverError::UnknownAuthPlugin { .. }
            | DriverError::CleartextPluginDisabled
            | DriverError::MysqlOldPasswordDisabled => Self::CredentialUnavailable(OTHER_LOGIN.to_owned()),
            DriverError::PacketTooLarge => Self::Unreadable(TOO_LARGE),
            DriverError::MixedParams | DriverError::Params(_) | DriverError::StmtParamsMismatch { .. } => {
                Self::Unreadable(PARAMETERS)
            }
            DriverError::LocalInfile(_) => Self::Unreadable("the server asks for a file of this program"),
            _ => Self::Unreachable(CLOSED),
        }
    }
}
