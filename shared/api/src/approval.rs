//! Mode Approve: the hash by which a person approves exactly one correction.
//!
//! The controller computes it for the correction that it would begin, and `kubectl drift approve` for the correction
//! that it shows. It covers the inputs of the requests and not the requests: a step that reads an answer can be rendered
//! only after the approval.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::condition::{Condition, DesiredHash, SecretMark, SecretMarks, StatusFields, canonical};
use crate::identity::ResourceName;
use crate::names::{APPROVED_ANNOTATION, FINALIZER};
use crate::object::LeanObject;

/// The action of a deletion.
const DELETE: &str = "delete";

/// Bytes kept of the SHA-256. The author of an object could search for two plans of one hash, have the harmless one
/// approved, and then write the other. With 8 bytes that takes minutes (2^32 tries), with 16 bytes 2^64 tries.
const HASH_BYTES: usize = 16;

/// Separates the part that a reader of the object and the target can compute from the versions of the sent Secrets.
const SECRETS: char = '-';

/// Digits of the versions of Secrets. The API server chooses versions, so an author cannot search for equal ones.
const SECRETS_DIGITS: usize = 8;

/// A correction that needs approval.
#[derive(Clone, Copy, Debug)]
pub struct ApprovedCorrection<'c> {
    /// The action in a word.
    pub action: &'static str,
    /// The number that the correction and its retries have.
    pub number: u64,
    /// The external resource.
    pub resource: &'c ResourceName,
    /// The desired state; `None` if it is unknown.
    pub desired_hash: Option<DesiredHash>,
    /// Fingerprint of the target's requests.
    pub correct_hash: u64,
    /// Fingerprint of the target's sections that a verdict depends on. Redacted values of `desired` and the name of a
    /// cluster object come from these.
    pub verdict_hash: &'c str,
    /// The object's fields that the requests may read.
    pub inputs: ObjectInputs,
}

impl ApprovedCorrection<'_> {
    /// Returns the hash that approves this correction of the object and no other one, without the versions of Secrets.
    ///
    /// A deletion has no number: it is repeated until the resource is gone. Observed values that the verdict does not
    /// show are not in the hash, because a reader of the condition could guess them.
    #[must_use]
    pub fn hash(&self, object: &LeanObject) -> String {
        let verdict = self.verdict(object);
        let content = json!({
            "uid": object.id.uid.to_string(),
            "generation": object.generation,
            "action": self.action,
            "number": if self.action == DELETE { 0 } else { self.number },
            "scope": self.resource.scope.to_string(),
            "identity": &*self.resource.identity,
            "desired": self.desired_hash.map(|desired| desired.to_string()),
            "observed": verdict.map(|verdict| json!([&*verdict.reason, verdict.message.sentence()])),
            // Drift that comes back is another drift, also if it looks the same.
            "since": verdict.map(|verdict| verdict.last_transition_time.to_string()),
            "fields": verdict.and_then(|verdict| Some(verdict.message.tag()?.fields.to_string())),
            "correct": self.correct_hash.to_string(),
            "target": self.verdict_hash,
            "inputs": hex(&self.inputs.0),
        });
        fingerprint(&content)
    }

    /// Returns the verdict that the correction follows from. A deletion needs none.
    #[must_use]
    pub fn verdict<'o>(&self, object: &'o LeanObject) -> Option<&'o Condition> {
        object.conditions.observed().filter(|_| self.action != DELETE)
    }
}

/// Returns the fingerprint of JSON that an author may try to repeat with other content, as 32 hex digits.
#[must_use]
pub fn fingerprint(content: &Value) -> String {
    hex(&digest(&canonical(content)))
}

/// Fingerprint of the fields of an object that templates read. It leaves out the annotation that approves and our
/// finalizer, because the approval and the correction write these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectInputs([u8; HASH_BYTES]);

impl std::fmt::Display for ObjectInputs {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl ObjectInputs {
    /// Reads the inputs of an object.
    #[must_use]
    pub fn of(object: &LeanObject) -> Self {
        Self::of_view(&object.view.open())
    }

    fn of_view(view: &Value) -> Self {
        // As text, because templates tell null from a missing field, and 1 from 1.0.
        Self(digest(&without_ours(view).to_string()))
    }

    /// Returns true if `after` is `before` with these status fields written to it, and nothing else.
    #[must_use]
    pub fn differ_only_by(stored: &StatusFields, before: &LeanObject, after: &LeanObject) -> bool {
        let (before, after) = (before.view.open(), after.view.open());
        // A field that no template reads is not in the view.
        let written = stored.shown_by(&after).put_on(&before);
        Self::of_view(&written) == Self::of_view(&after)
    }
}

/// Returns the view without the annotation that approves and without our finalizer. A map or list without another entry
/// is left out too, because it was missing before.
fn without_ours(view: &Value) -> Value {
    let mut view = view.clone();
    let Some(metadata) = view.get_mut("metadata").and_then(Value::as_object_mut) else { return view };
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(APPROVED_ANNOTATION);
    }
    if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
        finalizers.retain(|finalizer| finalizer != FINALIZER);
    }
    metadata.retain(|_, value| *value != json!({}) && *value != json!([]));
    view
}

/// Returns the hash that approves a correction: its own hash, and the versions of the Secrets that it sends, if any.
#[must_use]
pub fn with_secrets(hash: &str, sent: &SecretMarks) -> String {
    if sent.is_empty() {
        return hash.to_owned();
    }
    let line = |(name, mark): (&String, &Option<SecretMark>)| {
        format!("{name} {}", mark.map(|mark| mark.to_string()).unwrap_or_default())
    };
    let lines: Vec<String> = sent.iter().map(line).collect();
    let versions = hex(&digest(&lines.join("\n")));
    format!("{hash}{SECRETS}{}", &versions[..SECRETS_DIGITS])
}

/// Returns the hash without the versions of the Secrets, and whether it has any.
#[must_use]
pub fn without_secrets(hash: &str) -> (&str, bool) {
    hash.split_once(SECRETS).map_or((hash, false), |(hash, _)| (hash, true))
}

fn digest(text: &str) -> [u8; HASH_BYTES] {
    let mut bytes = [0; HASH_BYTES];
    bytes.copy_from_slice(&Sha256::digest(text.as_bytes())[..HASH_BYTES]);
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl LeanObject {
    /// Returns the hash of the approved correction.
    #[must_use]
    pub fn approved(&self) -> Option<&str> {
        self.asked.as_ref()?.approved.as_deref()
    }

    /// Returns the hash of the correction that awaits approval, by the object's record.
    #[must_use]
    pub fn awaits_approval(&self) -> Option<String> {
        let record = self.conditions.correction_status();
        record.awaits_approval().filter(|hash| self.approved() != Some(*hash)).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::field_paths::FieldPaths;

    fn object(whole: &Value, paths: &[&[&str]]) -> LeanObject {
        let mut fields = FieldPaths::default();
        paths.iter().for_each(|path| fields.insert(path.iter().map(|&field| field.to_owned()).collect()));
        LeanObject::prune(whole, &fields)
    }

    fn inputs(metadata: &Value, status: &Value, path: &[&str]) -> ObjectInputs {
        ObjectInputs::of(&object(&json!({"metadata": metadata, "status": status}), &[path]))
    }

    #[test]
    fn inputs_are_what_templates_read() {
        let labels = |owner: Value| json!({"labels": {"owner": owner, "other": "x"}});
        let of_owner = |owner: Value| inputs(&labels(owner), &Value::Null, &["metadata", "labels", "owner"]);
        let alice = of_owner(json!("alice"));
        for other in [json!("root"), json!("Alice"), Value::Null, json!(1), json!(1.0), json!("1")] {
            assert_ne!(of_owner(other.clone()), alice, "{other}");
        }
        let distinct = [json!(1), json!(1.0), json!("1"), Value::Null].map(of_owner);
        assert!((1..4).all(|at| !distinct[..at].contains(&distinct[at])), "templates tell these apart");
        let absent = inputs(&json!({"labels": {"other": "x"}}), &Value::Null, &["metadata", "labels", "owner"]);
        assert_ne!(of_owner(Value::Null), absent);
        let unread = json!({"labels": {"owner": "alice", "other": "y"}, "resourceVersion": "9"});
        assert_eq!(inputs(&unread, &Value::Null, &["metadata", "labels", "owner"]), alice, "no template reads it");
    }

    #[test]
    fn our_own_marks_are_no_inputs() {
        let bare = json!({"name": "web"});
        let marked = json!({"name": "web", "annotations": {APPROVED_ANNOTATION: "h"}, "finalizers": [FINALIZER]});
        let conditions = json!({"conditions": [{"type": "driftCorrected"}]});
        let paths: [&[&str]; 4] =
            [&[], &["metadata"], &["metadata", "annotations", "owner"], &["metadata", "finalizers"]];
        for path in paths {
            assert_eq!(inputs(&marked, &conditions, path), inputs(&bare, &json!({}), path), "{path:?}");
            let foreign = json!({"name": "web", "annotations": {"owner": "root"}, "finalizers": ["example.org/x"]});
            assert_ne!(inputs(&foreign, &json!({}), path), inputs(&bare, &json!({}), path), "{path:?}");
        }
    }

    #[test]
    fn only_what_the_correction_stored_is_its_own() {
        let with = |status: Value| object(&json!({"metadata": {}, "status": status}), &[&["status", "id"], &["spec"]]);
        let stored: StatusFields = [("id", json!("7")), ("unread", json!("x"))].into_iter().collect();
        let before = with(json!({}));
        let is_own = |after: &LeanObject| ObjectInputs::differ_only_by(&stored, &before, after);
        assert!(is_own(&with(json!({"id": "7", "unread": "x"}))));
        assert!(is_own(&before), "the API server dropped the field");
        assert!(!is_own(&with(json!({"id": "8"}))), "another writer's value");
        let edited =
            object(&json!({"metadata": {}, "spec": {"a": 1}, "status": {"id": "7"}}), &[&["status", "id"], &["spec"]]);
        assert!(!is_own(&edited), "another field changed too");
    }

    #[test]
    fn versions_of_secrets_end_the_hash() {
        let version = |at: &str| {
            let version =
                crate::secrets::labelled_secrets::SecretVersion { uid: "u".into(), resource_version: at.into() };
            Some(SecretMark::of("pw", "key", &version))
        };
        let sent = |mark| SecretMarks::from([("pw".to_owned(), mark)]);
        let hashes = [version("1"), version("2"), None].map(|mark| with_secrets("ab", &sent(mark)));
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
        assert_eq!(hashes[0].len(), "ab-".len() + SECRETS_DIGITS);
        assert!(hashes.iter().all(|hash| without_secrets(hash) == ("ab", true)));
        assert_eq!(without_secrets(&with_secrets("ab", &SecretMarks::new())), ("ab", false));
    }
}
