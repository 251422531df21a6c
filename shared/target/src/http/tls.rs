//! `tls`: whom a connection trusts beyond the public roots.
//!
//! It names Secrets and never holds one.

use crate::http::secret_key::{SecretKey, read_secret_key};
use crate::raw::Reader;
use crate::yaml::Node;

/// TLS of a target beyond the public roots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tls {
    /// PEM bundle that replaces the built-in roots.
    pub ca: SecretKey,
}

pub(crate) fn read_tls(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Tls> {
    let fields = reader.fields(node, place, &["caSecretRef"])?;
    Some(Tls { ca: read_secret_key(reader, &fields, "caSecretRef")? })
}
