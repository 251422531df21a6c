//! Fingerprints of a document. They depend on its content, not on its formatting.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::correct::WHEN_KEYS;
use crate::systems::steps::ACTIONS;
use crate::yaml::Node;
use drift_api::condition::canonical;

/// Bytes kept of the SHA-256. 16 hex digits distinguish all texts that a target ever had.
const HASH_BYTES: usize = 8;

/// The sections that a verdict depends on.
const VERDICT_SECTIONS: &[&str] = &[
    "objects",
    "objectMay",
    "identity",
    "scope",
    "base",
    "let",
    "require",
    "suspendWhen",
    "read",
    "compare",
    "confirm",
];

/// The keys of a step that control the wait for its response, not the request. A raised `timeout` while an outcome is
/// open must not result in another request.
const WAITING_KEYS: &[&str] = &["timeout", "idempotent"];

/// Fingerprint of the whole document. Comments, order of keys and white space do not matter.
pub(crate) fn document_hash(document: &Node) -> String {
    hash(&document.to_json())
}

/// Fingerprint of the sections of `spec` that a verdict depends on, and of `wanted`: the content of its tag, or the
/// checks that `correct` additionally requires.
///
/// A verdict from before `correct` required a check thus belongs to another text, and is no longer attested.
pub(crate) fn verdict_hash(spec: &Node, wanted: &[&str]) -> String {
    let section = |name: &&str| Some(((*name).to_owned(), spec.get(name)?.to_json()));
    let mut sections = VERDICT_SECTIONS.iter().filter_map(section).collect::<Map<_, _>>();
    if !wanted.is_empty() {
        sections.insert("correct".to_owned(), Value::from(wanted.to_vec()));
    }
    hash(&Value::Object(sections))
}

/// Bytes kept of [`asking_hash`]. With 8 bytes an author could find a harmless and a harmful document of one hash in
/// 2^32 tries, have the harmless one applied, and propose the other. With 16 bytes that takes 2^64 tries.
const ASKING_BYTES: usize = 16;

/// The sections that neither choose what a read asks nor where a credential goes.
const UNASKED_SECTIONS: &[&str] = &["compare", "confirm", "interval", "publish", "ready", "timeout"];

/// Fingerprint of everything that decides what a poll asks, of whom, and with which credential. `correct` counts with
/// its connection. A key that is not known to be harmless counts.
pub(crate) fn asking_hash(spec: &Node) -> String {
    let mut asking = spec.to_json();
    if let Some(fields) = asking.as_object_mut() {
        fields.retain(|field, _| !UNASKED_SECTIONS.contains(&field.as_str()));
        let connection = fields.remove("correct").and_then(connection_of);
        fields.extend(connection.map(|connection| ("correct".to_owned(), connection)));
    }
    hex(&asking, ASKING_BYTES)
}

/// Returns `correct` without its requests, and without the keys that control when they start.
fn connection_of(mut correct: Value) -> Option<Value> {
    let fields = correct.as_object_mut()?;
    // A nudge patches the object itself.
    fields.retain(|field, _| field != "nudge" && !WHEN_KEYS.contains(&field.as_str()));
    for section in fields.values_mut().filter_map(Value::as_object_mut) {
        section.retain(|key, _| key != "manifest" && !ACTIONS.contains(&key.as_str()));
    }
    fields.retain(|_, section| section.as_object().is_none_or(|section| !section.is_empty()));
    (!fields.is_empty()).then_some(correct)
}

/// Fingerprint of the content of the requests of `correct`. Two targets with one fingerprint send the same requests.
pub(crate) fn correct_hash(spec: &Node) -> u64 {
    let mut correct = spec.get("correct").map_or(Value::Null, Node::to_json);
    if let Some(fields) = correct.as_object_mut() {
        fields.retain(|field, _| !WHEN_KEYS.contains(&field.as_str()));
        for section in ["http", "postgres", "mysql"] {
            fields.get_mut(section).into_iter().for_each(forget_waiting);
        }
    }
    let [base, lets] = ["base", "let"].map(|key| spec.get(key).map_or(Value::Null, Node::to_json));
    let mut parts = vec![base, lets, correct];
    // A target without secrets keeps the hash from before secrets existed.
    parts.extend(spec.get("secrets").map(Node::to_json));
    let digest = Sha256::digest(canonical(&Value::from(parts)).as_bytes());
    digest.iter().take(HASH_BYTES).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// Removes keys that do not affect the requests from the steps of a section.
fn forget_waiting(section: &mut Value) {
    let actions = section.as_object_mut().into_iter().flat_map(Map::values_mut);
    let steps = actions.filter_map(Value::as_array_mut).flatten().filter_map(Value::as_object_mut);
    steps.for_each(|step| step.retain(|key, _| !WAITING_KEYS.contains(&key.as_str())));
}

fn hash(value: &Value) -> String {
    hex(value, HASH_BYTES)
}

fn hex(value: &Value, bytes: usize) -> String {
    let digest = Sha256::digest(canonical(value).as_bytes());
    digest.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}
