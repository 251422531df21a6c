//! `tls`: the trusted CA of a connection besides the public roots, and the client certificate.
//!
//! It names Secrets and never holds one.

use crate::secrets::secret_key::{SecretKey, read_secret_key, read_whole_secret};
use crate::yaml::{Node, Reader};

/// TLS settings of a target. At least one of the two is present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tls {
    /// PEM bundle that replaces the built-in roots.
    pub ca: Option<SecretKey>,
    /// The Secret with our certificate and its key, of type `kubernetes.io/tls`.
    pub certificate: Option<String>,
}

pub(crate) fn read_tls(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Tls> {
    const KEYS: &[&str] = &["caSecretRef", "certificateSecretRef"];
    let fields = reader.fields(node, place, KEYS)?;
    if fields.entries().is_empty() {
        return reader.refuse(node.at, format!("{place}: one of {} is needed", KEYS.join(", ")));
    }
    let ca = reader.optional(&fields, "caSecretRef", read_secret_key);
    let certificate = reader.optional(&fields, "certificateSecretRef", read_whole_secret);
    Some(Tls { ca: ca?, certificate: certificate? })
}
