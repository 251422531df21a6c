//! The API server's audit log: who wrote what.
//!
//! Its metrics count writes; only the audit log says by whom, which is what "the poller touches nothing but
//! `/status`" needs. Reads are not noted: they are many and prove nothing here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::Deserialize;

/// The log's file name in the control plane's folder.
pub(super) const LOG: &str = "audit.jsonl";

const POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "None", "verbs": ["get", "list", "watch"]},
    {"level": "None", "users": ["system:apiserver"]},
    {"level": "Metadata"}
  ]
}"#;

/// One answered write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// For a ServiceAccount `system:serviceaccount:NAMESPACE:NAME`.
    pub user: String,
    /// `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// Empty for the core group.
    pub group: String,
    /// The plural: `proxies`.
    pub resource: String,
    /// Empty, or `status`.
    pub subresource: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Empty for a create with a generated name.
    pub name: String,
    /// The HTTP status of the answer.
    pub code: u16,
    /// When the API server received it, by its own clock.
    pub received: Timestamp,
}

impl AuditRecord {
    /// Whether the API server did it.
    #[must_use]
    pub fn accepted(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

/// Writes the policy file and returns its path.
pub(super) fn write_policy(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("audit-policy.json");
    fs::write(&path, POLICY)?;
    Ok(path)
}

/// The records whose line contains `needle`: asked for first, since parsing everything would be slow.
pub(super) fn read(folder: &Path, needle: &str) -> Result<Vec<AuditRecord>> {
    let path = folder.join(LOG);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    // The last line may be half written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter(|line| line.contains(needle)).filter_map(|line| parse(line).transpose()).collect()
}

fn parse(line: &str) -> Result<Option<AuditRecord>> {
    let event: Event = serde_json::from_str(line).with_context(|| format!("audit line {line}"))?;
    let received = event.request_received_timestamp.parse().with_context(|| format!("audit line {line}"))?;
    Ok(event.object_ref.map(|object| AuditRecord {
        received,
        user: event.user.username,
        verb: event.verb,
        group: object.api_group,
        resource: object.resource,
        subresource: object.subresource,
        namespace: object.namespace,
        name: object.name,
        code: event.response_status.map_or(0, |status| status.code),
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    user: User,
    object_ref: Option<ObjectReference>,
    response_status: Option<Answer>,
    request_received_timestamp: String,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ObjectReference {
    resource: String,
    namespace: String,
    name: String,
    api_group: String,
    subresource: String,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    code: u16,
}
