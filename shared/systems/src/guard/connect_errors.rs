//! Reasons of a failed or broken connection, as fixed texts without names, addresses or numbers.

use std::io;

/// Returns true for a reset, or for TLS without close_notify.
pub(crate) const fn is_drop(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(kind, ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof)
}

/// Returns the reason of a failure while connecting or later.
pub(crate) fn describe(error: &io::Error) -> &'static str {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(error) => describe_tls(error),
        None => describe_io(error.kind()).unwrap_or("connecting failed"),
    }
}

pub(crate) fn describe_tls(error: &rustls::Error) -> &'static str {
    use rustls::{CertificateError as Bad, Error as Tls};
    match error {
        // A replaced CA of the same name appears as a bad signature.
        Tls::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
            "TLS: the certificate's issuer is not trusted"
        }
        Tls::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "TLS: the certificate is for another name"
        }
        Tls::InvalidCertificate(
            Bad::Expired | Bad::ExpiredContext { .. } | Bad::NotValidYet | Bad::NotValidYetContext { .. },
        ) => "TLS: the certificate is not valid at this time",
        Tls::InvalidCertificate(_) => "TLS: the certificate is not valid",
        _ => "TLS: the handshake failed",
    }
}

pub(crate) const fn describe_io(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::ConnectionRefused => "the connection was refused",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "there is no route",
        io::ErrorKind::TimedOut => "connecting took too long",
        // Errors of a unix socket.
        io::ErrorKind::NotFound => "there is no such socket",
        io::ErrorKind::PermissionDenied => "the socket may not be opened",
        io::ErrorKind::UnexpectedEof => "the connection was closed before an answer came",
        kind if is_drop(kind) => "the connection was reset",
        _ => return None,
    })
}
