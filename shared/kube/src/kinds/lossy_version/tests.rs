use super::*;
use crate::client::fake_api::{Sent, answering, refuse, reply};
use crate::kinds::{find_kind, locate_writable_kind, resolve_kind};
use crate::process::clock;
use axum::body::Body;
use axum::http::Response;
use base64::Engine as _;
use drift_language::Target;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// A cluster that serves v1alpha1 and v1 of Stack, which v1alpha1 knows without `spec.extra`.
#[derive(Clone, Copy)]
struct Cluster {
    /// The version whose hash discovery names. Empty if it names none.
    hashed: &'static str,
    /// True if v1alpha1 has all fields.
    is_covered: bool,
    /// The name of the schema component, before the version.
    component: &'static str,
    /// The conversion strategy, or the status of the refusal to read the definition.
    definition: Result<&'static str, u16>,
    /// The version whose schema is not published. Empty if all are.
    unpublished: &'static str,
}

const LOSSY: Cluster =
    Cluster { hashed: "v1", is_covered: false, component: "com.pulumi", definition: Ok("None"), unpublished: "" };

fn schema(has_extra: bool) -> Value {
    let text = json!({"type": "string"});
    let condition = json!({"type": "object", "properties": {"type": text, "status": text, "reason": text, "message": text,
        "observedGeneration": {"type": "integer"}, "lastTransitionTime": text}});
    let status = json!({"type": "object", "properties": {"conditions": {"type": "array", "items": condition}}});
    let spec = if has_extra { json!({"size": text, "extra": text}) } else { json!({"size": text}) };
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": status}})
}

impl Cluster {
    fn schema_of(self, version: &str) -> Value {
        schema(self.is_covered || version == "v1")
    }

    fn resources(self) -> Value {
        let digest = Sha256::digest(format!("pulumi.com/{}/Stack", self.hashed));
        let hash = base64::engine::general_purpose::STANDARD.encode(&digest[..8]);
        let hash = if self.hashed.is_empty() { String::new() } else { hash };
        json!({"kind": "APIResourceList", "groupVersion": "pulumi.com/v1", "resources": [
            {"name": "stacks", "singularName": "stack", "namespaced": true, "kind": "Stack",
             "verbs": ["get", "list", "watch", "patch"], "storageVersionHash": hash}]})
    }

    fn document(self, version: &str) -> Value {
        let mut kind = self.schema_of(version);
        kind["x-kubernetes-group-version-kind"] = json!([{"group": "pulumi.com", "version": version, "kind": "Stack"}]);
        let path = format!("/apis/pulumi.com/{version}/namespaces/{{namespace}}/stacks/{{name}}/status");
        json!({"paths": {path: {"patch": {}}}, "components": {"schemas": {format!("{}.{version}.Stack", self.component): kind}}})
    }

    fn definition(self, strategy: &str) -> Value {
        let is_served = |name: &str| name != "v2";
        let version = |name: &str, is_stored: bool| {
            json!({"name": name, "served": is_served(name), "storage": is_stored, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": self.schema_of(if name == "v2" { "v1" } else { name })}})
        };
        let stored = if self.hashed.is_empty() { "v2" } else { self.hashed };
        let versions: Vec<_> = ["v1alpha1", "v1", "v2"].map(|name| version(name, name == stored)).to_vec();
        json!({"kind": "CustomResourceDefinition", "spec": {"group": "pulumi.com", "scope": "Namespaced",
            "names": {"kind": "Stack", "plural": "stacks"}, "versions": versions, "conversion": {"strategy": strategy}}})
    }

    fn answer(self, sent: &Sent) -> Response<Body> {
        let versions = ["v1alpha1", "v1"]
            .map(|version| json!({"groupVersion": format!("pulumi.com/{version}"), "version": version}));
        let group = json!({"kind": "APIGroup", "name": "pulumi.com", "versions": versions});
        match (sent.uri.as_str(), self.definition) {
            (path, _) if path.strip_prefix("/openapi/v3/apis/pulumi.com/") == Some(self.unpublished) => {
                refuse(404, "NotFound", "404 page not found")
            }
            ("/apis/pulumi.com", _) => reply(200, &group),
            ("/apis/pulumi.com/v1" | "/apis/pulumi.com/v1alpha1", _) => reply(200, &self.resources()),
            ("/openapi/v3/apis/pulumi.com/v1", _) => reply(200, &self.document("v1")),
            ("/openapi/v3/apis/pulumi.com/v1alpha1", _) => reply(200, &self.document("v1alpha1")),
            (_, Ok(strategy)) => reply(200, &self.definition(strategy)),
            (_, Err(code)) => refuse(code, "no", "no"),
        }
    }

    fn client(self) -> (kube::Client, crate::client::fake_api::Log) {
        answering(move |sent| self.answer(sent))
    }
}

fn target(version: &str) -> Target {
    drift_language::fixtures::target(&format!(
        "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: t}}, spec: {{objects: {{apiVersion: \
         pulumi.com/{version}, kind: Stack}}, identity: x, read: {{http: {{url: 'https://h/x'}}}}, compare: {{desired: {{a: 1}}}}}}}}"
    ))
}

const LOST: &str =
    "stacks.pulumi.com are stored as v1, and each write through v1alpha1 removes spec.extra from the stored object";

#[tokio::test]
async fn a_version_that_loses_fields_is_refused() {
    let unknown = "stacks.pulumi.com are stored in a version that is not served, and a write through v1alpha1 may remove fields: \
                   grant `get` on customresourcedefinitions stacks.pulumi.com to find out";
    let unserved = "stacks.pulumi.com are stored as v2, which is not served, and each write through v1alpha1 removes spec.extra \
                    from the stored object: serve v2, and write apiVersion pulumi.com/v2";
    let named = format!("{LOST}: write apiVersion pulumi.com/v1");
    let doubtful = format!(
        "{LOST}, unless a webhook converts them: write apiVersion pulumi.com/v1, or grant `get` on customresourcedefinitions \
         stacks.pulumi.com to find out"
    );
    for (cluster, expected) in [
        (LOSSY, Some(named.as_str())),
        (Cluster { definition: Ok("Webhook"), ..LOSSY }, None),
        (Cluster { definition: Err(403), ..LOSSY }, Some(doubtful.as_str())),
        (Cluster { definition: Err(404), ..LOSSY }, None),
        (Cluster { is_covered: true, ..LOSSY }, None),
        (Cluster { hashed: "v1alpha1", ..LOSSY }, None),
        (Cluster { component: "com.example.go.types", ..LOSSY }, None),
        (Cluster { hashed: "", ..LOSSY }, Some(unserved)),
        (Cluster { hashed: "", definition: Ok("Webhook"), ..LOSSY }, None),
        (Cluster { hashed: "", is_covered: true, ..LOSSY }, None),
        (Cluster { hashed: "", definition: Err(403), ..LOSSY }, Some(unknown)),
        (Cluster { hashed: "", definition: Err(404), ..LOSSY }, None),
    ] {
        let (client, _) = cluster.client();
        let lossy = find_lossy_version(&client, "pulumi.com/v1alpha1", "Stack").await;
        assert_eq!(lossy.map(|lossy| lossy.map(|lossy| lossy.to_string())), Ok(expected.map(str::to_owned)));
    }
    let (client, _) = Cluster { definition: Err(503), ..LOSSY }.client();
    let unasked = find_lossy_version(&client, "pulumi.com/v1alpha1", "Stack").await;
    assert!(matches!(unasked, Err(KindError::Unavailable(_))), "{unasked:?}");
    assert_eq!(find_lossy_version(&client, "pulumi.com/v1alpha1", "Gone").await, Ok(None));
}

#[tokio::test]
async fn the_stored_version_needs_no_further_request() {
    let (client, log) = LOSSY.client();
    assert_eq!(find_lossy_version(&client, "pulumi.com/v1", "Stack").await, Ok(None));
    assert_eq!(log.lines(), ["GET /apis/pulumi.com/v1"]);
    let (client, log) = Cluster { is_covered: true, ..LOSSY }.client();
    assert_eq!(find_lossy_version(&client, "pulumi.com/v1alpha1", "Stack").await, Ok(None));
    assert!(log.lines().iter().all(|line| !line.contains("customresourcedefinitions")), "{:?}", log.lines());
}

#[tokio::test]
async fn a_target_of_a_lossy_version_is_refused() {
    let (client, _) = LOSSY.client();
    let refused = resolve_kind(&client, &target("v1alpha1")).await.map(|found| found.kind.resource.api_version);
    assert_eq!(refused, Err(KindError::Unsuitable(vec![format!("{LOST}: write apiVersion pulumi.com/v1")])));
    let taken = resolve_kind(&client, &target("v1")).await.map(|found| found.kind.resource.api_version);
    assert_eq!(taken, Ok("pulumi.com/v1".to_owned()));
}

#[tokio::test]
async fn a_write_that_needs_no_version_avoids_a_lossy_one() {
    for (cluster, expected) in [
        (LOSSY, Ok("pulumi.com/v1")),
        (Cluster { hashed: "v1alpha1", ..LOSSY }, Ok("pulumi.com/v1alpha1")),
        (Cluster { definition: Ok("Webhook"), ..LOSSY }, Ok("pulumi.com/v1alpha1")),
        (Cluster { definition: Err(403), ..LOSSY }, Ok("pulumi.com/v1")),
        (Cluster { hashed: "", definition: Err(403), ..LOSSY }, Err("may remove fields")),
    ] {
        let (client, _) = cluster.client();
        let noted = ["pulumi.com/v1alpha1"].into_iter();
        let found = locate_writable_kind(&client, "pulumi.com", "Stack", noted).await;
        let found = found.map(|found| found.resource.api_version).map_err(|error| error.to_string());
        let is_so = match (&found, expected) {
            (Ok(version), Ok(expected)) => version == expected,
            (Err(error), Err(expected)) => error.contains(expected),
            _ => false,
        };
        assert!(is_so, "{found:?} instead of {expected:?}");
    }
}

#[tokio::test]
async fn a_kind_with_an_unpublished_schema_is_not_gone() {
    for unpublished in ["v1alpha1", "v1"] {
        let (client, _) = Cluster { unpublished, ..LOSSY }.client();
        let noted = ["pulumi.com/v1alpha1"].into_iter();
        let found = locate_writable_kind(&client, "pulumi.com", "Stack", noted).await;
        assert!(matches!(&found, Err(KindError::Unavailable(error)) if error.contains(unpublished)), "{found:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_schema_of_the_stored_version_is_awaited_silently() {
    let begun = clock::now();
    let (client, _) = answering(move |sent| {
        let is_published = clock::now() - begun >= Duration::from_millis(2500);
        Cluster { is_covered: true, unpublished: if is_published { "" } else { "v1" }, ..LOSSY }.answer(sent)
    });
    let kind = find_kind(&client, &target("v1alpha1"), |error| panic!("reported {error}")).await.kind;
    assert_eq!(kind.resource.api_version, "pulumi.com/v1alpha1");
}
