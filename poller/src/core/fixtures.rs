//! What tests of several files begin with: a target, objects of its kind, and moments.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_language::Target;
use serde_json::{Value, json};

use super::schedule::Now;

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

pub(crate) fn at(seconds: u64) -> Now {
    let span = Duration::from_secs(seconds);
    Now { moment: Moment::from_start(span), wall: Duration::from_secs(1_700_000_000) + span }
}

/// The longer the uid, the younger the object.
pub(crate) fn object(target: &Target, uid: &str, spec: &Value, status: &Value) -> LeanObject {
    let created = format!("2026-01-01T00:00:0{}Z", uid.len());
    let metadata =
        json!({"uid": uid, "name": uid, "resourceVersion": "1", "generation": 1, "creationTimestamp": created});
    LeanObject::prune(&json!({"metadata": metadata, "spec": spec, "status": status}), &target.poll_fields)
}

/// A target whose wish is all of `spec`, compared by these rules: `{path: /members, list: set}`.
pub(crate) fn ruled(rules: &str) -> Arc<Target> {
    // Tests with random values ask for the same a hundred times.
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Target>>>> = LazyLock::new(Mutex::default);
    let compare = match rules {
        "" => "{desired: \"${self.spec}\"}".to_owned(),
        rules => format!("{{desired: \"${{self.spec}}\", rules: [{rules}]}}"),
    };
    let text = TEXT.replace("{desired: {a: \"${self.spec.a}\"}}", &compare);
    KNOWN.lock().unwrap().entry(rules.to_owned()).or_insert_with(|| target(&text)).clone()
}
