//! A target and objects of its kind, for the tests of several files.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use drift_api::object::LeanObject;
use drift_language::Target;
use serde_json::{Value, json};

pub(crate) const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy}
  identity: "${self.spec.id}"
  interval: 30s
  require: [{that: "${self.spec.id != 'forbidden'}", else: this identity is forbidden}]
  suspendWhen: "${self.spec.?asleep.orValue(false)}"
  read: {http: {url: "http://h/${self.spec.id}"}}
  compare: {desired: {a: "${self.spec.a}"}}
"#;

pub(crate) fn target(text: &str) -> Arc<Target> {
    Arc::new(drift_language::fixtures::target(text))
}

pub(crate) fn object(target: &Target, uid: &str, spec: &Value, status: &Value) -> LeanObject {
    let metadata = json!({"uid": uid, "name": uid, "resourceVersion": "1", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:01Z"});
    LeanObject::prune(&json!({"metadata": metadata, "spec": spec, "status": status}), &target.poll_fields)
}

/// A target that wishes all of `spec`, compared by these rules: `{path: /members, list: set}`.
pub(crate) fn ruled(rules: &str) -> Arc<Target> {
    let compare = format!("{{desired: \"${{self.spec}}\", rules: [{rules}]}}");
    target(&TEXT.replace("{desired: {a: \"${self.spec.a}\"}}", &compare))
}
