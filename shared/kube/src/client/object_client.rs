//! Reads and patches single objects with deadlines, and classifies the responses for the writer.
//!
//! Both programs write one condition, or a finalizer, by JSON Patch onto exactly the state that it was computed for.
//! [`WriteError`] tells the writer how to continue.

use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{Request, Status};
use serde_json::Value;

use crate::client;
use crate::client::ResolvedKind;
use crate::client::patch_body::escaped;
use crate::client::{CALL_DEADLINE, CallError, MAX_ANSWER_BYTES};
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::kept_fields::KeptFields;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::resource_version::ResourceVersion;

/// The API server's message for a JSON Patch that does not apply: a failed `test`, or a missing path. A failed
/// validation says "is invalid" and names its causes. A webhook uses any words.
const PATCH_DOES_NOT_APPLY: &str = "the server rejected our request due to an error in our request";

/// The reason of a failed write to an object.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A test in the patch failed, or a conflict: the object is not in the expected state.
    #[error("the object moved")]
    Moved,
    /// The object no longer exists.
    #[error("the object is gone")]
    Gone,
    /// The API server refuses this write: 403, 422 by validation, other 4xx, 500. The message is for display and
    /// contains no values.
    #[error("refused: {0}")]
    Refused(String),
    /// No response in time, or 429/502/503/504. It is unknown if the write took effect.
    #[error("the API server is unavailable: {0}")]
    Unavailable(CallError),
    /// Nothing was sent, because we do not hold the Lease.
    #[error("the Lease is not ours any more")]
    NotLeading,
}

impl WriteError {
    /// Returns the label for metrics.
    #[must_use]
    pub const fn as_label(&self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Gone => "gone",
            Self::Refused(_) => "refused",
            Self::Unavailable(_) => "unavailable",
            Self::NotLeading => "not_leading",
        }
    }
}

impl From<CallError> for WriteError {
    fn from(error: CallError) -> Self {
        match &error {
            CallError::Answered(status) if status.code == 404 => Self::Gone,
            CallError::Answered(status) if status.code == 409 || is_failed_test(status) => Self::Moved,
            passing if passing.is_passing() => Self::Unavailable(error),
            _ => Self::Refused(error.to_string()),
        }
    }
}

/// Returns true if the response says that the patch does not apply to the object's state.
fn is_failed_test(status: &Status) -> bool {
    let has_causes = status.details.as_ref().is_some_and(|details| !details.causes.is_empty());
    status.code == 422 && !has_causes && status.message.starts_with(PATCH_DOES_NOT_APPLY)
}

/// Reads and patches single objects. Every call has a deadline.
#[derive(Clone)]
pub struct ObjectClient {
    client: kube::Client,
    manager: &'static str,
}

impl std::fmt::Debug for ObjectClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ObjectClient").field("manager", &self.manager).finish_non_exhaustive()
    }
}

impl ObjectClient {
    /// Creates a client for one field manager (`names::POLLER_MANAGER` or `CONTROLLER_MANAGER`).
    #[must_use]
    pub const fn new(client: kube::Client, manager: &'static str) -> Self {
        Self { client, manager }
    }

    /// Reads an object live. `None` if it is gone or has another uid.
    ///
    /// # Errors
    /// Fails if the API server does not answer or refuses.
    pub async fn read(
        &self,
        kind: &ResolvedKind,
        id: &ObjectId,
        fields: &FieldPaths,
    ) -> Result<Option<LeanObject>, WriteError> {
        let request = collection_of(kind, id).get(&id.name, &GetParams::default());
        match self.answer(request, id, fields).await {
            Ok(object) => Ok(Some(object)),
            Err(WriteError::Gone) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the API client.
    #[must_use]
    pub const fn client(&self) -> &kube::Client {
        &self.client
    }

    /// Finds an object by name, with any uid. `None` if there is none.
    ///
    /// # Errors
    /// Fails if the API server does not answer or refuses.
    pub async fn find(
        &self,
        kind: &ResolvedKind,
        id: &ObjectId,
        fields: &FieldPaths,
    ) -> Result<Option<LeanObject>, WriteError> {
        let request = collection_of(kind, id).get(&id.name, &GetParams::default());
        let request = request.map_err(|error| WriteError::Refused(error.to_string()))?;
        match self.decoded(request, fields).await.map_err(WriteError::from) {
            Err(WriteError::Gone) => Ok(None),
            object => Ok(Some(object?)),
        }
    }

    /// Applies a JSON Patch to `/status`. Returns the object after the write.
    ///
    /// # Errors
    /// Returns a [`WriteError`].
    pub async fn patch_status(
        &self,
        kind: &ResolvedKind,
        id: &ObjectId,
        patch: json_patch::Patch,
        fields: &FieldPaths,
    ) -> Result<LeanObject, WriteError> {
        let patch = Patch::<Value>::Json(patch);
        let request = collection_of(kind, id).patch_subresource("status", &id.name, &self.parameters(), &patch);
        self.answer(request.map(escaped), id, fields).await
    }

    /// Tries a JSON Patch on `/status` as a dry run. Returns the whole resulting object.
    ///
    /// # Errors
    /// Returns [`CallError`], from the API server's response.
    pub async fn try_status(
        &self,
        kind: &ResolvedKind,
        id: &ObjectId,
        patch: json_patch::Patch,
    ) -> Result<Value, CallError> {
        let parameters = PatchParams { dry_run: true, ..self.parameters() };
        let patch = Patch::<Value>::Json(patch);
        let request = collection_of(kind, id).patch_subresource("status", &id.name, &parameters, &patch);
        client::request(&self.client, CALL_DEADLINE, request.map(escaped)?).await
    }

    /// Applies a JSON Patch to the object itself (finalizers).
    ///
    /// # Errors
    /// Returns a [`WriteError`].
    pub async fn patch(
        &self,
        kind: &ResolvedKind,
        id: &ObjectId,
        patch: json_patch::Patch,
        fields: &FieldPaths,
    ) -> Result<LeanObject, WriteError> {
        let request = collection_of(kind, id).patch(&id.name, &self.parameters(), &Patch::<Value>::Json(patch));
        self.answer(request.map(escaped), id, fields).await
    }

    /// Applies a merge patch to the object itself, under its own field manager. The patch must contain the uid, so that
    /// it never applies to another object of that name.
    ///
    /// # Errors
    /// Returns [`CallError`], from the API server's response.
    pub async fn merge(
        &self,
        kind: &ResolvedKind,
        id: &ObjectId,
        patch: &Value,
        manager: &str,
        fields: &FieldPaths,
    ) -> Result<LeanObject, CallError> {
        let parameters = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        let request = collection_of(kind, id).patch(&id.name, &parameters, &Patch::Merge(patch));
        self.decoded(request?, fields).await
    }

    /// Creates an object of this name. Returns it after the write.
    ///
    /// # Errors
    /// Returns [`CallError`], from the API server's response.
    pub async fn create(
        &self,
        kind: &ResolvedKind,
        id: &ObjectId,
        whole: &Value,
        fields: &FieldPaths,
    ) -> Result<LeanObject, CallError> {
        let request = collection_of(kind, id).create(&self.whole_parameters(), whole.to_string().into_bytes());
        self.decoded(request?, fields).await
    }

    /// Tries to create an object of this name as a dry run. Returns the whole resulting object.
    ///
    /// # Errors
    /// Returns [`CallError`], from the API server's response.
    pub async fn try_create(&self, kind: &ResolvedKind, id: &ObjectId, whole: &Value) -> Result<Value, CallError> {
        let parameters = PostParams { dry_run: true, ..self.whole_parameters() };
        let request = collection_of(kind, id).create(&parameters, whole.to_string().into_bytes());
        client::request(&self.client, CALL_DEADLINE, request?).await
    }

    /// Replaces an object in the version that `whole` names. Returns it after the write.
    ///
    /// # Errors
    /// [`WriteError`]: `Moved` if it has another version.
    pub async fn replace(
        &self,
        kind: &ResolvedKind,
        id: &ObjectId,
        whole: &Value,
        fields: &FieldPaths,
    ) -> Result<LeanObject, WriteError> {
        let whole = whole.to_string().into_bytes();
        let request = collection_of(kind, id).replace(&id.name, &self.whole_parameters(), whole);
        self.answer(request, id, fields).await
    }

    /// Deletes an object in this version.
    ///
    /// # Errors
    /// [`WriteError`]: `Moved` if it has another version, `Gone` if there is none.
    pub async fn delete(
        &self,
        kind: &ResolvedKind,
        id: &ObjectId,
        version: &ResourceVersion,
    ) -> Result<(), WriteError> {
        let preconditions =
            Preconditions { uid: Some(id.uid.to_string()), resource_version: Some(version.to_string()) };
        let parameters = DeleteParams::default().preconditions(preconditions);
        let request = collection_of(kind, id).delete(&id.name, &parameters);
        let request = request.map_err(|error| WriteError::Refused(error.to_string()))?;
        client::read_bytes(&self.client, CALL_DEADLINE, request, MAX_ANSWER_BYTES).await?;
        Ok(())
    }

    fn whole_parameters(&self) -> PostParams {
        PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() }
    }

    fn parameters(&self) -> PatchParams {
        PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() }
    }

    async fn answer(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
        id: &ObjectId,
        fields: &FieldPaths,
    ) -> Result<LeanObject, WriteError> {
        let request = request.map_err(|error| WriteError::Refused(error.to_string()))?;
        let object = self.decoded(request, fields).await?;
        if object.id.uid == id.uid { Ok(object) } else { Err(WriteError::Gone) }
    }

    async fn decoded(&self, request: http::Request<Vec<u8>>, fields: &FieldPaths) -> Result<LeanObject, CallError> {
        let bytes = client::read_bytes(&self.client, CALL_DEADLINE, request, MAX_ANSWER_BYTES).await?;
        let kept = KeptFields::new(fields.clone()).decode(&mut serde_json::Deserializer::from_slice(&bytes));
        Ok(LeanObject::of_kept(&kept.map_err(client::not_asked_for)?, fields))
    }
}

fn collection_of(kind: &ResolvedKind, id: &ObjectId) -> Request {
    Request::new(kind.path(id.namespace.as_deref()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::client::fake_api::{Log, answering, client, refuse, reply};
    use crate::process::clock;
    use drift_api::names::POLLER_MANAGER;
    use serde_json::json;

    fn kind(namespaced: bool) -> ResolvedKind {
        let resource = kube::core::ApiResource {
            group: "demo.example".to_owned(),
            version: "v1".to_owned(),
            api_version: "demo.example/v1".to_owned(),
            kind: "Proxy".to_owned(),
            plural: "proxies".to_owned(),
        };
        ResolvedKind { resource, namespaced }
    }

    fn id() -> ObjectId {
        ObjectId { namespace: Some("team-a".into()), name: "p".into(), uid: "u1".into() }
    }

    fn object(uid: &str) -> Value {
        json!({"metadata": {"namespace": "team-a", "name": "p", "uid": uid, "resourceVersion": "7"}})
    }

    fn patch() -> json_patch::Patch {
        serde_json::from_value(json!([{"op": "test", "path": "/metadata/uid", "value": "u1"}])).unwrap()
    }

    async fn write(client: kube::Client) -> Result<LeanObject, WriteError> {
        let client = ObjectClient::new(client, POLLER_MANAGER);
        client.patch_status(&kind(true), &id(), patch(), &FieldPaths::default()).await
    }

    fn only(log: &Log) -> (String, String, String) {
        let [sent] = log.all().try_into().unwrap_or_else(|all| panic!("one request expected: {all:?}"));
        (sent.line(), sent.content_type, sent.body)
    }

    #[tokio::test]
    async fn a_status_patch_is_one_exact_request() {
        let (client, log) = answering(|_| reply(200, &object("u1")));
        assert_eq!(write(client).await.unwrap().resource_version.to_string(), "7");
        let (line, content_type, body) = only(&log);
        let path = "/apis/demo.example/v1/namespaces/team-a/proxies/p/status";
        assert_eq!(line, format!("PATCH {path}?&fieldManager=drift-poller"));
        assert_eq!(content_type, "application/json-patch+json");
        assert_eq!(body, r#"[{"op":"test","path":"/metadata/uid","value":"u1"}]"#);
    }

    #[tokio::test]
    async fn a_cluster_scoped_object_is_patched_without_a_namespace() {
        let (client, log) = answering(|_| reply(200, &object("u1")));
        let client = ObjectClient::new(client, POLLER_MANAGER);
        client.patch(&kind(false), &id(), patch(), &FieldPaths::default()).await.unwrap();
        assert_eq!(only(&log).0, "PATCH /apis/demo.example/v1/proxies/p?&fieldManager=drift-poller");
    }

    #[tokio::test]
    async fn a_read_finds_only_the_object_of_that_uid() {
        for (answer, found) in [(200, true), (404, false)] {
            let (client, log) =
                answering(
                    move |_| if answer == 200 { reply(200, &object("u1")) } else { refuse(404, "NotFound", "no") },
                );
            let read = ObjectClient::new(client, POLLER_MANAGER).read(&kind(true), &id(), &FieldPaths::default()).await;
            assert_eq!(read.unwrap().is_some(), found);
            assert_eq!(only(&log).0, "GET /apis/demo.example/v1/namespaces/team-a/proxies/p");
        }
        let (client, _) = answering(|_| reply(200, &object("another")));
        let read = ObjectClient::new(client, POLLER_MANAGER).read(&kind(true), &id(), &FieldPaths::default()).await;
        assert_eq!(read.unwrap(), None);
    }

    #[tokio::test]
    async fn each_answer_to_a_write_says_what_to_do_next() {
        let failed_test = "the server rejected our request due to an error in our request";
        let cases = [
            (404, "NotFound", "proxies \"p\" not found", "gone"),
            (409, "Conflict", "the object has been modified", "moved"),
            (422, "Invalid", failed_test, "moved"),
            (422, "Invalid", "Proxy \"p\" is invalid: status.x: Required value", "refused"),
            (422, "Invalid", "admission webhook \"w\" denied the request: no", "refused"),
            (400, "BadRequest", "bad", "refused"),
            (401, "Unauthorized", "Unauthorized", "refused"),
            (403, "Forbidden", "forbidden", "refused"),
            (413, "RequestEntityTooLarge", "large", "refused"),
            (500, "InternalError", "oops", "refused"),
            (429, "TooManyRequests", "slow down", "unavailable"),
            (502, "", "bad gateway", "unavailable"),
            (503, "ServiceUnavailable", "no", "unavailable"),
            (504, "Timeout", "no", "unavailable"),
        ];
        for (code, reason, message, expected) in cases {
            let (client, log) = answering(move |_| refuse(code, reason, message));
            let error = write(client).await.unwrap_err();
            let got = error.as_label();
            assert_eq!(got, expected, "{code} {message}: {error}");
            assert_eq!(log.all().len(), 1, "{code} must not be tried again here");
        }
    }

    #[tokio::test]
    async fn a_validation_with_causes_is_no_failed_test() {
        let (client, _) = answering(|_| {
            let status = json!({"kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid",
                "message": "the server rejected our request due to an error in our request",
                "details": {"causes": [{"field": "status.x", "reason": "FieldValueRequired", "message": "secret"}]}});
            reply(422, &status)
        });
        let text = write(client).await.unwrap_err().to_string();
        assert_eq!(text, "refused: 422 Invalid: status.x (FieldValueRequired)");
    }

    #[tokio::test]
    async fn a_write_on_another_uid_is_not_ours() {
        let (client, _) = answering(|_| reply(200, &object("another")));
        assert!(matches!(write(client).await, Err(WriteError::Gone)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_without_an_answer_ends_at_its_deadline() {
        let (client, _) = client(|_| Box::pin(std::future::pending()));
        let before = clock::now();
        assert!(matches!(write(client).await, Err(WriteError::Unavailable(_))));
        assert_eq!(clock::now() - before, CALL_DEADLINE);
    }
}
