//! The kind of an object of the cluster that stands for the external resource: any kind but Secrets.
//!
//! What is read is compared, and differences are shown to people, so a Secret is never read in this way; and none is written,
//! since templates would carry its values through objects. This file must not know what is done with the kind.

use std::sync::Arc;

use crate::spec::objects::{read_api_version, read_kind};
use crate::yaml::raw::{Fields, Reader};

/// The kind of Secrets, in the group without a name.
const SECRET: &str = "Secret";

/// Reads `apiVersion` and `kind`, which are literal.
pub(crate) fn read_cluster_kind(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<(Arc<str>, Arc<str>)> {
    let (api_version, kind) = (read_api_version(reader, fields), read_kind(reader, fields));
    let (api_version, kind) = (api_version?, kind?);
    if kind == SECRET && !api_version.contains('/') {
        let at = fields.get("kind").map_or(fields.at(), |node| node.at);
        let message = format!("{}: a Secret is never read or written as a resource", fields.place("kind"));
        return reader.refuse(at, message);
    }
    Some((api_version.into(), kind.into()))
}
