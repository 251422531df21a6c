//! Fingerprints of a document: what it says, not how it is written.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::yaml::Node;
use drift_model::condition::canonical;

/// Bytes of the SHA-256 that are kept: 16 hex digits tell apart all texts that a target ever had.
const HASH_BYTES: usize = 8;

/// The sections that a verdict depends on.
const VERDICT_SECTIONS: &[&str] = &["objects", "identity", "require", "suspendWhen", "read", "compare", "confirm"];

/// Of the whole document; comments, order of keys and white space make no difference.
pub(super) fn document_hash(document: &Node) -> String {
    hash(&document.to_json())
}

/// Of the sections of `spec` that a verdict depends on.
pub(super) fn verdict_hash(spec: &Node) -> String {
    let section = |name: &&str| Some(((*name).to_owned(), spec.get(name)?.to_json()));
    hash(&Value::Object(VERDICT_SECTIONS.iter().filter_map(section).collect::<Map<_, _>>()))
}

fn hash(value: &Value) -> String {
    let digest = Sha256::digest(canonical(value).as_bytes());
    let mut text = String::with_capacity(HASH_BYTES * 2);
    for byte in &digest[..HASH_BYTES] {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
