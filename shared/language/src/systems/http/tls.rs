//! `tls`: whom a connection trusts beyond the public roots, and by which certificate it proves who we are.
//!
//! It names Secrets and never holds one.

use crate::secrets::secret_key::{SecretKey, read_secret_key, read_secret_name};
use crate::yaml::Node;
use crate::yaml::raw::Reader;

/// TLS of a target beyond the public roots; one of both is always there.
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
    let ca = fields.get("caSecretRef").map(|_| read_secret_key(reader, &fields, "caSecretRef"));
    let certificate = reader.optional(&fields, "certificateSecretRef", |reader, node, place| {
        let fields = reader.fields(node, place, &["name"])?;
        read_secret_name(reader, &fields)
    });
    Some(Tls { ca: ca.map_or(Some(None), |ca| ca.map(Some))?, certificate: certificate? })
}
