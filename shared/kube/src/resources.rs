//! Cluster objects as external resources: read, created, changed and deleted by name, over separate connections.
//!
//! For reads they are a host like any other, with a host's limit and pauses, and they take no connection from the
//! watches and the writes to objects. Each kind counts as a separate host, because one may hang behind a webhook or
//! another API server while the others respond. A kind is resolved before the first of its objects, and cached until
//! the API server no longer knows its path.

mod known_kinds;

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::CONTENT_TYPE;
use kube::api::GetParams;
use kube::core::{Request, Status};
use serde_json::{Value, json};

use crate::client;
use crate::client::{CALL_DEADLINE, CallError, ClientNotes, ConnectError, MAX_ANSWER_BYTES, ResolvedKind};
use drift_api::names::MANIFEST_MANAGER;
use drift_api::object::cluster_resource::{ClusterResource, ResourceError};
use known_kinds::KnownKinds;

/// Content type of a JSON body.
const JSON: &str = "application/json";
/// Content type of an applied manifest: JSON is YAML.
const APPLY: &str = "application/apply-patch+yaml";
/// Parameters of every manifest: its field manager, and strict validation, so that unknown fields are
/// not dropped silently.
fn writing() -> String {
    format!("fieldManager={MANIFEST_MANAGER}&fieldValidation=Strict")
}

/// Reason of the status if an object of that name exists.
const ALREADY_EXISTS: &str = "AlreadyExists";

/// Reads and writes objects of any kind. Clones share the cache.
#[derive(Clone)]
pub struct ResourceClient {
    client: kube::Client,
    host: Arc<str>,
    kinds: KnownKinds,
}

impl std::fmt::Debug for ResourceClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ResourceClient").field("host", &self.host).finish_non_exhaustive()
    }
}

impl ResourceClient {
    /// Creates a client with this configuration.
    ///
    /// # Errors
    /// Fails if its credentials or certificates cannot be used.
    pub fn of(config: kube::Config, program: &'static str) -> Result<Self, ConnectError> {
        Self::noting(config, program, ClientNotes::default())
    }

    /// Same as [`of`](Self::of). The requests are noted.
    ///
    /// # Errors
    /// Same as [`of`](Self::of).
    pub(crate) fn noting(
        config: kube::Config,
        program: &'static str,
        notes: ClientNotes,
    ) -> Result<Self, ConnectError> {
        let url = &config.cluster_url;
        let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("http") { 80 } else { 443 });
        let host = format!("{}:{port}", url.host().unwrap_or_default());
        Ok(Self::new(client::client_noting(config, program, notes)?, &host))
    }

    /// Creates it from this client. `host` names its API server.
    #[must_use]
    pub fn new(client: kube::Client, host: &str) -> Self {
        Self { kinds: KnownKinds::new(client.clone()), client, host: host.into() }
    }

    /// Returns the kind's host name, the key for limits and pauses of reads.
    #[must_use]
    pub fn place_of(&self, resource: &ClusterResource) -> String {
        format!("{} {} {}", self.host, resource.api_version, resource.kind)
    }

    /// Returns `host:port` of the API server, the key for limits and pauses.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Resolves a kind at the API server.
    ///
    /// # Errors
    /// Returns a [`ResourceError`].
    pub async fn resolve(&self, api_version: &Arc<str>, kind: &Arc<str>) -> Result<ResolvedKind, ResourceError> {
        let (api_version, kind) = (api_version.clone(), kind.clone());
        self.kinds.resolve(&ClusterResource { api_version, kind, namespace: None, name: String::new() }).await
    }

    /// Reads an object. `None` if the API server states that exactly this object does not exist.
    ///
    /// # Errors
    /// Returns a [`ResourceError`].
    pub async fn get(&self, resource: &ClusterResource, deadline: Duration) -> Result<Option<Value>, ResourceError> {
        let kind = self.kinds.resolve(resource).await?;
        let request = Request::new(collection_of(&kind, resource)?)
            .get(&resource.name, &GetParams::default())
            .map_err(|error| ResourceError::Unreachable(error.to_string()))?;
        match client::read_bytes(&self.client, deadline, request, MAX_ANSWER_BYTES).await {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|_| ResourceError::Unreadable),
            Err(CallError::Answered(status)) if says_absent(&status, &kind, &resource.name) => Ok(None),
            Err(CallError::Answered(status)) if status.code == 404 => {
                self.kinds.forget(resource).await;
                Err(resource.not_served())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Creates an object. Returns the created object, or `None` if one of that name exists already.
    ///
    /// # Errors
    /// [`ResourceError`]; status 409 if the request conflicts with another one, for example about a quota.
    pub async fn create(&self, resource: &ClusterResource, manifest: &Value) -> Result<Option<Value>, ResourceError> {
        let (_, path) = self.writable_collection(resource).await?;
        let written = self.write(Method::POST, &format!("{path}?{}", writing()), JSON, manifest).await;
        if matches!(&written, Err(CallError::Answered(status)) if status.code == 409 && status.reason == ALREADY_EXISTS)
        {
            return Ok(None);
        }
        // The namespace may be missing, which the details of the status show.
        self.judge(resource, written, |status| status.details.is_some()).await.map(Some)
    }

    /// Applies a manifest, and takes over its fields from other field managers. With the `resourceVersion` of an object
    /// that was read, it applies to exactly that state or fails.
    ///
    /// # Errors
    /// [`ResourceError`]; status 409 if the object is in another state.
    pub async fn apply(&self, resource: &ClusterResource, manifest: &Value) -> Result<Value, ResourceError> {
        let (kind, path) = self.writable_collection(resource).await?;
        let path = format!("{path}/{}?{}&force=true", resource.name, writing());
        let written = self.write(Method::PATCH, &path, APPLY, manifest).await;
        self.judge(resource, written, |status| says_absent(status, &kind, &resource.name)).await
    }

    /// Deletes the object with that uid. Its dependents are garbage-collected after it. Returns the rest of it: the
    /// object itself if its finalizers have work to do.
    ///
    /// # Errors
    /// [`ResourceError`]; status 404 if it is gone, 409 if another object has its name.
    pub async fn delete(&self, resource: &ClusterResource, uid: &str) -> Result<Value, ResourceError> {
        let (kind, path) = self.writable_collection(resource).await?;
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": {"uid": uid}});
        let written = self.write(Method::DELETE, &format!("{path}/{}", resource.name), JSON, &options).await;
        self.judge(resource, written, |status| says_absent(status, &kind, &resource.name)).await
    }

    /// Returns the kind and the path of its objects, if a write there changes no other field of a stored object. A deletion
    /// is such a write, too: it stores the time of the deletion while finalizers run.
    async fn writable_collection(&self, resource: &ClusterResource) -> Result<(ResolvedKind, String), ResourceError> {
        let kind = self.kinds.resolve(resource).await?;
        self.kinds.ensure_writable(resource).await?;
        let path = collection_of(&kind, resource)?;
        Ok((kind, path))
    }

    async fn write(&self, method: Method, path: &str, content_type: &str, body: &Value) -> Result<Vec<u8>, CallError> {
        let request = http::Request::builder().method(method).uri(path).header(CONTENT_TYPE, content_type);
        let request = request.body(body.to_string().into_bytes())?;
        client::read_bytes(&self.client, CALL_DEADLINE, request, MAX_ANSWER_BYTES).await
    }

    /// Evaluates the result of a write. A 404 counts only if `is_about_this` confirms that it is about the intended
    /// object. Any other 404 may come from the path, while it is not served, or from a proxy in between.
    async fn judge(
        &self,
        resource: &ClusterResource,
        written: Result<Vec<u8>, CallError>,
        is_about_this: impl Fn(&Status) -> bool,
    ) -> Result<Value, ResourceError> {
        match written {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| ResourceError::Unreadable),
            Err(CallError::Answered(status)) if status.code == 404 && !is_about_this(&status) => {
                self.kinds.forget(resource).await;
                Err(resource.not_served())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the path of the kind's objects, in the namespace of this one.
fn collection_of(kind: &ResolvedKind, resource: &ClusterResource) -> Result<String, ResourceError> {
    if kind.namespaced && resource.namespace.is_none() {
        return Err(ResourceError::NoNamespace(resource.kind.clone()));
    }
    Ok(kind.path(resource.namespace.as_deref()))
}

impl From<CallError> for ResourceError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::TimedOut(_) => Self::TimedOut,
            CallError::TooLarge(_) => Self::TooLarge,
            CallError::Unreadable(cause) | CallError::Transport(cause) => Self::Unreachable(cause),
            CallError::Answered(ref status) => {
                let (status, retry_after) = (status.code, error.retry_after());
                Self::Refused { status, sentence: error.reason(), retry_after }
            }
        }
    }
}

/// Returns true if a response is the API server's own statement about exactly this object. A response about the path
/// (the kind was just removed, or is not served yet) and one of a proxy in between name no object.
fn says_absent(status: &Status, kind: &ResolvedKind, name: &str) -> bool {
    let details = status.details.as_ref();
    let is_named = |group: &str, plural: &str, named: &str| {
        (group, plural, named) == (kind.resource.group.as_str(), kind.resource.plural.as_str(), name)
    };
    status.code == 404
        && status.reason == "NotFound"
        && details.is_some_and(|details| is_named(&details.group, &details.kind, &details.name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::known_kinds::NOT_SERVED_FOR;
    use super::*;
    use crate::client::fake_api::{Sent, answering, refuse, reply};
    use axum::body::Body;
    use axum::http::Response;
    use serde_json::json;

    const DEADLINE: Duration = Duration::from_secs(1);

    fn resource(namespace: Option<&str>) -> ClusterResource {
        ClusterResource {
            api_version: "apps/v1".into(),
            kind: "StatefulSet".into(),
            namespace: namespace.map(str::to_owned),
            name: "db".to_owned(),
        }
    }

    fn kinds() -> Response<Body> {
        reply(
            200,
            &json!({"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [
                {"name": "statefulsets/scale", "singularName": "", "namespaced": true, "kind": "Scale", "verbs": ["get"]},
                {"name": "statefulsets", "singularName": "", "namespaced": true, "kind": "StatefulSet", "verbs": ["get"]}]}),
        )
    }

    fn not_found(group: &str, plural: &str, name: &str) -> Response<Body> {
        let details = json!({"group": group, "kind": plural, "name": name});
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
            "reason": "NotFound", "message": "no", "details": details});
        reply(404, &status)
    }

    fn client(answer: impl Fn(&Sent) -> Response<Body> + Clone + Send + Sync + 'static) -> ResourceClient {
        let (client, _) = answering(move |sent| if sent.uri == "/apis/apps/v1" { kinds() } else { answer(sent) });
        ResourceClient::new(client, "api:443")
    }

    #[tokio::test]
    async fn an_object_is_read_by_the_name_of_its_collection() {
        let (client, log) = answering(|sent| match sent.uri.as_str() {
            "/apis/apps/v1" => kinds(),
            _ => reply(200, &json!({"spec": {"replicas": 3}})),
        });
        let client = ResourceClient::new(client, "api:443");
        for _ in 0..2 {
            let found = client.get(&resource(Some("n")), DEADLINE).await.unwrap();
            assert_eq!(found, Some(json!({"spec": {"replicas": 3}})));
        }
        let get = "GET /apis/apps/v1/namespaces/n/statefulsets/db";
        assert_eq!(log.lines(), ["GET /apis/apps/v1", get, get], "a kind is looked up once");
    }

    #[tokio::test]
    async fn only_the_servers_word_about_this_object_is_absence() {
        let said =
            async |answer: fn() -> Response<Body>| client(move |_| answer()).get(&resource(Some("n")), DEADLINE).await;
        assert_eq!(said(|| not_found("apps", "statefulsets", "db")).await.unwrap(), None);
        let others: [fn() -> Response<Body>; 5] = [
            || refuse(404, "NotFound", "404 page not found"),
            || not_found("apps", "statefulsets", "other"),
            || not_found("apps", "deployments", "db"),
            || not_found("", "statefulsets", "db"),
            || reply(404, &json!({})),
        ];
        for answer in others {
            let found = said(answer).await;
            assert!(
                matches!(found, Err(ResourceError::NotServed { .. } | ResourceError::Refused { status: 0, .. })),
                "{found:?}"
            );
        }
        for code in [401, 403, 410, 429, 500, 503] {
            let found = client(move |_| refuse(code, "x", "x")).get(&resource(Some("n")), DEADLINE).await;
            assert!(matches!(found, Err(ResourceError::Refused { status, .. }) if status == code), "{found:?}");
        }
    }

    #[tokio::test]
    async fn only_already_exists_tells_of_an_existing_object() {
        let said = async |code, reason: &'static str| {
            client(move |_| refuse(code, reason, "x")).create(&resource(Some("n")), &json!({})).await
        };
        assert_eq!(said(409, "AlreadyExists").await.unwrap(), None);
        for (code, reason) in [(409, "Conflict"), (409, "x"), (422, "AlreadyExists")] {
            let written = said(code, reason).await;
            assert!(matches!(written, Err(ResourceError::Refused { status, .. }) if status == code), "{written:?}");
        }
    }

    #[tokio::test]
    async fn a_write_of_what_is_gone_is_told_as_strictly() {
        let about_this: fn() -> Response<Body> = || not_found("apps", "statefulsets", "db");
        let others: [fn() -> Response<Body>; 3] = [
            || not_found("apps", "statefulsets", "other"),
            || not_found("", "namespaces", "n"),
            || refuse(404, "NotFound", "404 page not found"),
        ];
        let said = async |answer: fn() -> Response<Body>| {
            let client = client(move |_| answer());
            let resource = resource(Some("n"));
            [client.delete(&resource, "u").await, client.apply(&resource, &json!({})).await]
        };
        for written in said(about_this).await {
            assert!(matches!(written, Err(ResourceError::Refused { status: 404, .. })), "{written:?}");
        }
        for answer in others {
            for written in said(answer).await {
                assert!(matches!(written, Err(ResourceError::NotServed { .. })), "{written:?}");
            }
        }
        let nowhere = client(|_| not_found("", "namespaces", "n")).create(&resource(Some("n")), &json!({})).await;
        assert!(matches!(nowhere, Err(ResourceError::Refused { status: 404, .. })), "{nowhere:?}");
    }

    #[tokio::test]
    async fn a_kind_that_is_not_served_is_looked_up_again() {
        let (client, log) = answering(|sent| match sent.uri.as_str() {
            "/apis/apps/v1" => kinds(),
            _ => refuse(404, "NotFound", "404 page not found"),
        });
        let client = ResourceClient::new(client, "api:443");
        for _ in 0..2 {
            let found = client.get(&resource(Some("n")), DEADLINE).await;
            assert!(matches!(found, Err(ResourceError::NotServed { .. })), "{found:?}");
        }
        assert_eq!(log.lines().iter().filter(|line| *line == "GET /apis/apps/v1").count(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_for_an_unserved_kind_is_answered_for_seconds() {
        let (client, log) = answering(|_| kinds());
        let client = ResourceClient::new(client, "api:443");
        let unknown = ClusterResource { kind: "Stateful".into(), ..resource(Some("n")) };
        let ask = async || {
            assert!(matches!(client.get(&unknown, DEADLINE).await, Err(ResourceError::NotServed { .. })));
            log.lines().len()
        };
        assert_eq!((ask().await, ask().await), (1, 1));
        tokio::time::advance(NOT_SERVED_FOR + DEADLINE).await;
        assert_eq!(ask().await, 2);
    }

    #[tokio::test]
    async fn what_needs_a_namespace_is_not_asked_without() {
        let client = client(|_| reply(200, &json!({})));
        let found = client.get(&resource(None), DEADLINE).await;
        assert!(matches!(found, Err(ResourceError::NoNamespace(_))), "{found:?}");
    }

    #[tokio::test]
    async fn an_answer_that_is_no_json_is_none() {
        let client = client(|_| Response::new(Body::from("<html>")));
        let found = client.get(&resource(Some("n")), DEADLINE).await;
        assert!(matches!(found, Err(ResourceError::Unreadable)), "{found:?}");
    }

    /// A cluster that stores v1 of Stack, with a field that v1alpha1 lacks.
    fn of_two_versions(sent: &Sent) -> Response<Body> {
        let version = |name: &str, storage: bool, spec: &Value| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"properties": {"spec": spec}}}});
        let (old, new) = (json!({"properties": {}}), json!({"properties": {"extra": {"type": "string"}}}));
        let kind = json!({"properties": {"spec": old}, "x-kubernetes-group-version-kind":
            [{"group": "pulumi.com", "version": "v1alpha1", "kind": "Stack"}]});
        let versions = json!([version("v1alpha1", false, &old), version("v1", true, &new)]);
        match sent.uri.as_str() {
            "/apis/pulumi.com/v1alpha1" => reply(
                200,
                &json!({"kind": "APIResourceList", "groupVersion": "pulumi.com/v1alpha1",
                "resources": [{"name": "stacks", "singularName": "", "namespaced": true, "kind": "Stack", "verbs": ["get"]}]}),
            ),
            "/apis/pulumi.com" => reply(200, &json!({"kind": "APIGroup", "name": "pulumi.com", "versions": []})),
            "/openapi/v3/apis/pulumi.com/v1alpha1" => {
                reply(200, &json!({"components": {"schemas": {"com.pulumi.v1alpha1.Stack": kind}}}))
            }
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/stacks.pulumi.com" => reply(
                200,
                &json!({
                "kind": "CustomResourceDefinition", "spec": {"group": "pulumi.com", "scope": "Namespaced",
                "names": {"kind": "Stack", "plural": "stacks"}, "versions": versions}}),
            ),
            _ => reply(200, &json!({"kind": "Stack"})),
        }
    }

    fn stack() -> ClusterResource {
        ClusterResource { api_version: "pulumi.com/v1alpha1".into(), kind: "Stack".into(), ..resource(Some("n")) }
    }

    #[tokio::test]
    async fn a_kind_forgotten_before_the_check_is_not_written() {
        let (client, _) = answering(of_two_versions);
        let kinds = KnownKinds::new(client);
        kinds.resolve(&stack()).await.unwrap();
        kinds.forget(&stack()).await;
        let checked = kinds.ensure_writable(&stack()).await;
        assert!(matches!(checked, Err(ResourceError::NotServed { .. })), "{checked:?}");
    }

    #[tokio::test]
    async fn a_write_that_would_take_stored_fields_is_not_sent() {
        let (client, log) = answering(of_two_versions);
        let client = ResourceClient::new(client, "api:443");
        let stack = stack();
        client.get(&stack, DEADLINE).await.unwrap();
        for written in [
            client.create(&stack, &json!({})).await.map(drop),
            client.apply(&stack, &json!({})).await.map(drop),
            client.delete(&stack, "u").await.map(drop),
        ] {
            let error = written.unwrap_err();
            assert!(matches!(error, ResourceError::LossyVersion(_)), "{error}");
            assert!(error.to_string().contains("removes spec.extra"), "{error}");
        }
        assert!(log.lines().iter().all(|line| line.starts_with("GET ")), "{:?}", log.lines());
    }
}
