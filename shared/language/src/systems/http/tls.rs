//! `tls`: the trusted CA of a connection besides the public roots, and the client certificate.
//!
//! It names Secrets and never holds one.

use crate::secrets::secret_key::{SecretKey, data_key, whole_secret};
use crate::section::Section;
use crate::yaml::{Fields, Reader};

/// TLS settings of a target. At least one of the two is present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Section)]
#[section(rules = |reader: &mut Reader<'_>, fields: &Fields<'_>, ()| reader.at_least_one(fields, &Self::names(())))]
pub struct Tls {
    /// A PEM bundle that replaces the system's roots.
    #[key(data_key(), name = "caSecretRef")]
    pub ca: Option<SecretKey>,
    /// A client certificate, kubernetes.io/tls.
    #[key(whole_secret(), name = "certificateSecretRef")]
    pub certificate: Option<String>,
}
