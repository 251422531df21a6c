//! Reads and writes DriftReports: the conditions of objects whose own status cannot keep them.

mod listed;

use drift_api::names::{REPORT_API_VERSION, REPORT_KIND, REPORT_PLURAL};
use drift_api::object::report::{ReportState, SeenReport, new_report, report_fields, report_name};
use drift_api::object::status_patch::into_patch;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::resource_version::ResourceVersion;
use json_patch::Patch;
use kube::core::{ApiResource, GroupVersion};
use serde_json::Value;

use crate::client::{CallError, ObjectClient, ResolvedKind, WriteError};

pub use listed::{ListedReports, ReportsUnread, read_report};

/// Message for a report that cannot be created because its own kind is not there.
const NOT_INSTALLED: &str =
    "the cluster has no driftreports.driftpoller.dev: apply the CustomResourceDefinition of the installation";

/// The plural of namespaces, by which the API server names a missing one.
const NAMESPACES: &str = "namespaces";

/// Returns the kind of the reports.
#[must_use]
pub fn report_kind() -> ResolvedKind {
    let version = REPORT_API_VERSION.parse::<GroupVersion>().unwrap_or_else(|_| GroupVersion::gv("", ""));
    let resource = ApiResource::from_gvk_with_plural(&version.with_kind(REPORT_KIND), REPORT_PLURAL);
    ResolvedKind { resource, namespaced: true }
}

/// Reads and writes the reports of one kind's objects.
#[derive(Clone, Debug)]
pub struct ReportClient {
    objects: ObjectClient,
    report: ResolvedKind,
    /// The installation that written reports name.
    installation: String,
}

impl ReportClient {
    /// Creates a client that sends its requests like this one.
    #[must_use]
    pub fn new(objects: ObjectClient, installation: &str) -> Self {
        Self { objects, report: report_kind(), installation: installation.to_owned() }
    }

    /// Reads the report of an object live, and attaches it.
    ///
    /// # Errors
    /// Fails if the API server does not answer or refuses.
    pub async fn attach(&self, kind: &ResolvedKind, object: LeanObject) -> Result<LeanObject, WriteError> {
        let id = report_of(kind, &object.id, "");
        let found = self.objects.find(&self.report, &id, &report_fields()).await?;
        Ok(object.with_report(found.map_or_else(|| SeenReport::absent(None), SeenReport::of)))
    }

    /// Writes a patch to the report of `object`, whose state is `known`. A report that does not exist, or that is about a
    /// former object of the same name, is written as a whole. Returns the object with its report after the write.
    ///
    /// # Errors
    /// [`WriteError`]: `Moved` if the report is not in that state.
    pub async fn write(
        &self,
        kind: &ResolvedKind,
        (object, known): (&LeanObject, &ReportState),
        patch: Patch,
    ) -> Result<LeanObject, WriteError> {
        let (objects, fields) = (&self.objects, &report_fields());
        let written = match &known.stored {
            Some(report) if report.object == object.id.uid => {
                let id = report_of(kind, &object.id, &report.uid);
                let Patch(mut operations) = patch;
                operations.extend(into_patch(report.naming(&self.installation)).0);
                let patch = Patch(operations);
                // The report is gone. The object may well be there.
                objects.patch(&self.report, &id, patch, fields).await.map_err(moved_if_gone)
            }
            Some(former) => {
                let whole = self.whole(kind, object, &patch, Some(&former.resource_version))?;
                let id = report_of(kind, &object.id, &former.uid);
                objects.replace(&self.report, &id, &whole, fields).await.map_err(moved_if_gone)
            }
            None => {
                let whole = self.whole(kind, object, &patch, None)?;
                let id = report_of(kind, &object.id, "");
                objects.create(&self.report, &id, &whole, fields).await.map_err(not_created)
            }
        };
        Ok(object.clone().with_report(SeenReport::of(written?)))
    }

    /// Tries to create the report of an object without one as a dry run. Returns the whole resulting report.
    ///
    /// # Errors
    /// [`CallError`], from the API server's response: 409 if there is a report, which passed all checks.
    pub async fn try_create(
        &self,
        kind: &ResolvedKind,
        object: &LeanObject,
        patch: &Patch,
    ) -> Result<Value, CallError> {
        let whole = self.whole(kind, object, patch, None).map_err(|error| CallError::Unreadable(error.to_string()))?;
        self.objects.try_create(&self.report, &report_of(kind, &object.id, ""), &whole).await
    }

    /// Returns the whole report with a patch applied, in place of the stored `version`.
    fn whole(
        &self,
        kind: &ResolvedKind,
        object: &LeanObject,
        patch: &Patch,
        version: Option<&ResourceVersion>,
    ) -> Result<Value, WriteError> {
        let mut report = new_report(&self.installation, (&kind.resource.api_version, &kind.resource.kind), &object.id);
        json_patch::patch(&mut report, patch).map_err(|error| WriteError::Refused(error.to_string()))?;
        if let Some(version) = version {
            report["metadata"]["resourceVersion"] = version.to_string().into();
        }
        Ok(report)
    }
}

/// Returns the identity of an object's report, which has this uid.
fn report_of(kind: &ResolvedKind, id: &ObjectId, uid: &str) -> ObjectId {
    let name = report_name(&kind.resource.group, &kind.resource.kind, &id.name);
    ObjectId { namespace: id.namespace.clone(), name: (&*name).into(), uid: uid.into() }
}

/// Returns the reason for which a report was not created. Without its namespace, the object of the report is gone too.
fn not_created(error: CallError) -> WriteError {
    match &error {
        CallError::Answered(status) if status.code == 404 => {
            let lacks_namespace = status.details.as_ref().is_some_and(|details| details.kind == NAMESPACES);
            if lacks_namespace { WriteError::Gone } else { WriteError::Refused(NOT_INSTALLED.to_owned()) }
        }
        _ => error.into(),
    }
}

fn moved_if_gone(error: WriteError) -> WriteError {
    if matches!(error, WriteError::Gone) { WriteError::Moved } else { error }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{answering, refuse, reply};
    use drift_api::object::field_paths::FieldPaths;
    use kube::core::GroupVersionKind;
    use serde_json::json;

    #[tokio::test]
    async fn a_missing_namespace_is_not_a_missing_kind() {
        let kind = GroupVersionKind::gvk("g.example", "v1", "Ox");
        let kind = ResolvedKind { resource: ApiResource::from_gvk_with_plural(&kind, "oxen"), namespaced: true };
        let metadata = json!({"namespace": "n", "name": "a", "uid": "u", "resourceVersion": "5"});
        let object = LeanObject::prune(&json!({"metadata": metadata}), &FieldPaths::default());
        for (details, expected) in
            [(json!({"kind": "namespaces", "name": "n"}), "gone"), (json!({}), "refused"), (Value::Null, "refused")]
        {
            let (client, log) = answering(move |_| match details.clone() {
                Value::Null => refuse(404, "NotFound", "the server could not find the requested resource"),
                details => reply(
                    404,
                    &json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
                    "message": "not found", "details": details}),
                ),
            });
            let reports = ReportClient::new(ObjectClient::new(client, "drift-poller"), "drift-system/drift-poller");
            let patch = || Patch(Vec::new());
            let written = reports.write(&kind, (&object, &ReportState::default()), patch()).await;
            assert_eq!(written.unwrap_err().as_label(), expected);
            assert_eq!(log.lines().len(), 1);
        }
    }
    const OURS: &str = "drift-system/drift-poller";

    fn report(object: &str, annotations: &Value) -> Value {
        let metadata =
            json!({"namespace": "n", "name": "r", "uid": "ru", "resourceVersion": "7", "annotations": annotations});
        let condition = json!({"type": "driftObserved", "status": "True", "reason": "FieldsDiffer", "message": "m"});
        json!({"metadata": metadata, "object": {"uid": object}, "status": {"conditions": [condition]}})
    }

    /// Writes a patch of the reason to an object with this report. Returns the method and body that are sent.
    async fn written(report: &Value) -> (String, Value) {
        let (client, log) = answering(|sent| reply(200, &sent.json()));
        let reports = ReportClient::new(ObjectClient::new(client, "poller"), OURS);
        let version = GroupVersionKind::gvk("g.example", "v1", "Ox");
        let kind = ResolvedKind { resource: ApiResource::from_gvk_with_plural(&version, "oxen"), namespaced: true };
        let metadata = json!({"namespace": "n", "name": "a", "uid": "u", "resourceVersion": "5"});
        let object = LeanObject::prune(&json!({ "metadata": metadata }), &FieldPaths::default());
        let object = object.with_report(SeenReport::of(LeanObject::prune(report, &report_fields())));
        let patch = json!([{"op": "add", "path": "/status", "value": {"fields": "/a"}}]);
        let known = object.report.clone().unwrap();
        // The answer to a patch is none of a real API server, and not looked at.
        let _ = reports.write(&kind, (&object, &known), serde_json::from_value(patch).unwrap()).await;
        let sent = &log.all()[0];
        (log.lines()[0].split(' ').next().unwrap().to_owned(), sent.json())
    }

    #[tokio::test]
    async fn a_write_takes_the_report_of_another_installation_over() {
        let path = "/metadata/annotations";
        let key = "driftpoller.dev~1installation";
        let named = |path: &str, value: Value| vec![json!({"op": "add", "path": path, "value": value})];
        for (annotations, expected) in [
            (json!({"driftpoller.dev/installation": OURS}), vec![]),
            (
                json!({"driftpoller.dev/installation": "other/drift-poller"}),
                named(&format!("{path}/{key}"), json!(OURS)),
            ),
            (json!({"of-a-person": "x"}), named(&format!("{path}/{key}"), json!(OURS))),
            (Value::Null, named(path, json!({"driftpoller.dev/installation": OURS}))),
        ] {
            let (method, sent) = written(&report("u", &annotations)).await;
            assert_eq!(method, "PATCH");
            assert_eq!(sent.as_array().unwrap()[1..], expected, "{annotations}");
        }
    }

    #[tokio::test]
    async fn the_report_of_a_former_object_is_replaced() {
        let (method, sent) = written(&report("former", &json!({"of-a-person": "x"}))).await;
        assert_eq!(method, "PUT");
        let metadata = &sent["metadata"];
        assert_eq!((&metadata["resourceVersion"], &sent["object"]["uid"]), (&json!("7"), &json!("u")));
        assert_eq!(metadata["annotations"], json!({"driftpoller.dev/installation": OURS}));
        assert_eq!(sent["status"], json!({"fields": "/a"}), "nothing of the former one");
    }
}
