//! The API server's audit log, which records the author of each write.
//!
//! The API server's metrics count writes but do not name their authors. Tests such as "the poller touches nothing but
//! `/status`" need them. With the kinds of a hundred tests, one scrape is also ten megabytes. Reads are not logged:
//! they are many and prove nothing here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::Deserialize;

/// The log's file name in the control plane's folder.
pub(super) const LOG: &str = "audit.jsonl";

/// The annotation in which the API server lists the failures of policies with the action `Audit`.
const POLICY_FAILURES: &str = "validation.policy.admission.k8s.io/validation_failure";

const POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "None", "verbs": ["get", "list", "watch"]},
    {"level": "None", "users": ["system:apiserver"]},
    {"level": "Metadata"}
  ]
}"#;

/// A write that the API server has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// The user, for a ServiceAccount `system:serviceaccount:NAMESPACE:NAME`.
    pub user: String,
    /// One of `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The API group, empty for the core group.
    pub group: String,
    /// The plural name, such as `proxies`.
    pub resource: String,
    /// Empty or `status`.
    pub subresource: String,
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// The name, empty for a create with a generated name.
    pub name: String,
    /// The HTTP status of the response.
    pub code: u16,
    /// True if a policy with the action `Audit` failed.
    pub fails_a_policy: bool,
    /// Time of its arrival, by the clock of the API server.
    pub received: Timestamp,
}

impl AuditRecord {
    /// Returns true if the API server accepted the write.
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

/// Distance from the end of the file at which the search for the last line begins: many times the length of a line.
const LAST_LINES: u64 = 64 * 1024;

/// The audit log from a given moment on. Each read parses only the new records, because the log grows to tens of
/// megabytes and tests read it often.
#[derive(Debug)]
pub struct AuditTail {
    path: PathBuf,
    needles: Vec<String>,
    /// Always the start of a line.
    position: u64,
    records: Vec<AuditRecord>,
}

impl AuditTail {
    /// Reads from the beginning. Skips lines that contain none of `needles`, because parsing all of them would be slow.
    pub(super) fn whole(folder: &Path, needles: Vec<String>) -> Self {
        Self { path: folder.join(LOG), needles, position: 0, records: Vec::new() }
    }

    /// Reads from the current end of the log.
    pub(super) fn from_now(folder: &Path, needles: Vec<String>) -> Result<Self> {
        let mut tail = Self::whole(folder, needles);
        if tail.path.exists() {
            tail.position = File::open(&tail.path)?.metadata()?.len().saturating_sub(LAST_LINES);
            tail.position += tail.whole_lines()?.len() as u64;
        }
        Ok(tail)
    }

    /// Returns all records so far, in the order of their responses.
    pub fn read(&mut self) -> Result<Vec<AuditRecord>> {
        let lines = self.whole_lines().with_context(|| format!("reading {}", self.path.display()))?;
        let text = std::str::from_utf8(&lines)?;
        let ours = |line: &&str| self.needles.iter().any(|needle| line.contains(needle));
        let fresh = text.lines().filter(ours).filter_map(|line| parse(line).transpose()).collect::<Result<Vec<_>>>()?;
        self.position += lines.len() as u64;
        self.records.extend(fresh);
        Ok(self.records.clone())
    }

    /// Returns the bytes after the position, up to the last end of line. The last line may be incomplete.
    fn whole_lines(&self) -> Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.position))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        Ok(bytes)
    }
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
        fails_a_policy: event.annotations.contains_key(POLICY_FAILURES),
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
    #[serde(default)]
    annotations: BTreeMap<String, String>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(user: &str, code: u16) -> String {
        format!(
            r#"{{"verb":"patch","user":{{"username":"{user}"}},"objectRef":{{"resource":"proxies","name":"a"}},"responseStatus":{{"code":{code}}},"requestReceivedTimestamp":"2026-01-01T00:00:00Z"}}"#
        )
    }

    #[test]
    fn each_look_takes_in_whole_lines_that_came_since() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(LOG);
        let needles = || vec!["ours".to_owned()];
        let codes = |records: Vec<AuditRecord>| records.iter().map(|record| record.code).collect::<Vec<_>>();
        let mut early = AuditTail::from_now(folder.path(), needles())?;
        let (first, second, third) = (line("ours", 201), line("ours", 202), line("ours", 203));
        fs::write(&path, format!("{first}\n{}\n{}", line("theirs", 500), &second[..20]))?;
        assert_eq!(codes(early.read()?), [201]);
        let mut late = AuditTail::from_now(folder.path(), needles())?;
        assert_eq!(codes(late.read()?), [0_u16; 0]);
        fs::write(&path, format!("{first}\n{}\n{second}\n{third}\n", line("theirs", 500)))?;
        assert_eq!(codes(early.read()?), [201, 202, 203]);
        assert_eq!(codes(late.read()?), [202, 203]);
        assert_eq!(codes(late.read()?), [202, 203]);
        assert_eq!(codes(AuditTail::whole(folder.path(), needles()).read()?), [201, 202, 203]);
        Ok(())
    }
}
