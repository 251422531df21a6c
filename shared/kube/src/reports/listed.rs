//! The reports of many objects by one list, and of one object by one read, for a reader only.

use std::collections::{BTreeSet, HashMap};

use drift_api::collections::shared_text::SharedText;
use drift_api::object::report::{SeenReport, report_fields};
use drift_api::object::{LeanObject, ObjectId};
use kube::api::GetParams;
use kube::core::Request;
use serde_json::Value;

use super::{NOT_INSTALLED, report_kind, report_of};
use crate::access::Right;
use crate::access::missing::rules;
use crate::client::{self, CALL_DEADLINE, CallError, ObjectPages, ResolvedKind};

/// The verbs of a reader of reports, as the role for viewers has them. All commands together need the three.
const READER_VERBS: [&str; 3] = ["get", "list", "watch"];

/// The reason why reports are not known.
#[derive(Debug, thiserror::Error)]
pub enum ReportsUnread {
    /// The user lacks the right.
    #[error("you may not read driftreports, which have the conditions: {0}")]
    Forbidden(String),
    /// The cluster has no such kind.
    #[error("{NOT_INSTALLED}")]
    NotInstalled,
    /// The API server does not answer, or refuses otherwise.
    #[error("the driftreports cannot be read: {0}")]
    Unanswered(CallError),
}

impl ReportsUnread {
    /// Classifies the response to a read in these namespaces (empty: all).
    #[must_use]
    pub fn of(error: CallError, namespaces: &[String]) -> Self {
        match error.code() {
            Some(403) => Self::Forbidden(rules(&reader_rights(namespaces))),
            Some(404) => Self::NotInstalled,
            _ => Self::Unanswered(error),
        }
    }
}

fn reader_rights(namespaces: &[String]) -> BTreeSet<Right> {
    let kind = report_kind();
    let places = if namespaces.is_empty() { vec![None] } else { namespaces.iter().cloned().map(Some).collect() };
    let rights = places.iter().flat_map(|namespace| {
        READER_VERBS.map(|verb| Right {
            verb,
            group: kind.resource.group.clone(),
            resource: kind.resource.plural.clone(),
            subresource: "",
            name: None,
            namespace: namespace.clone(),
        })
    });
    rights.collect()
}

/// The reports of a collection.
#[derive(Clone, Debug, Default)]
pub struct ListedReports {
    known: HashMap<(Option<SharedText>, SharedText), SeenReport>,
}

impl ListedReports {
    /// Lists the reports in these namespaces (empty: all).
    ///
    /// # Errors
    /// [`ReportsUnread`].
    pub async fn list(client: &kube::Client, namespaces: &[String]) -> Result<Self, ReportsUnread> {
        let mut listed = Self::default();
        let mut pages = ObjectPages::new(client, &report_kind(), namespaces, report_fields());
        while let Some(page) = pages.next().await.map_err(|error| ReportsUnread::of(error, namespaces))? {
            for report in page {
                listed.insert(report);
            }
        }
        Ok(listed)
    }

    /// Adds a report that was decoded with [`report_fields`], or its newer state. Returns the former state.
    pub fn insert(&mut self, report: LeanObject) -> Option<SeenReport> {
        self.known.insert((report.id.namespace.clone(), report.id.name.clone()), SeenReport::of(report))
    }

    /// Removes a report that was deleted. Returns its last state.
    pub fn remove(&mut self, report: &ObjectId) -> Option<SeenReport> {
        self.known.remove(&(report.namespace.clone(), report.name.clone()))
    }

    /// Returns the report that has the name of this object's.
    #[must_use]
    pub fn find(&self, kind: &ResolvedKind, object: &ObjectId) -> Option<&SeenReport> {
        let ObjectId { namespace, name, .. } = report_of(kind, object, "");
        self.known.get(&(namespace, name))
    }

    /// Returns the object with its report, or with the absence of one.
    #[must_use]
    pub fn attach(&self, kind: &ResolvedKind, object: LeanObject) -> LeanObject {
        let found = self.find(kind, &object.id).cloned();
        object.with_report(found.unwrap_or_else(|| SeenReport::absent(None)))
    }
}

/// Reads the whole report that has the name of this object's. `None` if there is none.
///
/// # Errors
/// [`ReportsUnread`].
pub async fn read_report(
    client: &kube::Client,
    kind: &ResolvedKind,
    object: &ObjectId,
) -> Result<Option<Value>, ReportsUnread> {
    let id = report_of(kind, object, "");
    let request = Request::new(report_kind().path(id.namespace.as_deref())).get(&id.name, &GetParams::default());
    let request = request.map_err(|error| ReportsUnread::Unanswered(error.into()))?;
    match client::request(client, CALL_DEADLINE, request).await {
        Ok(report) => Ok(Some(report)),
        Err(error) if names_object(&error) => Ok(None),
        Err(error) => Err(ReportsUnread::of(error, id.namespace.map(|one| one.to_string()).as_slice())),
    }
}

/// Returns true if an object is missing, and not its kind.
fn names_object(error: &CallError) -> bool {
    let CallError::Answered(status) = error else { return false };
    status.code == 404 && status.details.as_ref().is_some_and(|details| !details.name.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{answering, refuse, reply};
    use drift_api::names::{REPORT_API_VERSION, REPORT_KIND};
    use drift_api::object::field_paths::FieldPaths;
    use drift_api::object::report::report_name;
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::json;

    fn kind() -> ResolvedKind {
        let version = GroupVersionKind::gvk("g.example", "v1", "Ox");
        ResolvedKind { resource: ApiResource::from_gvk_with_plural(&version, "oxen"), namespaced: true }
    }

    fn object(name: &str) -> LeanObject {
        let metadata = json!({"namespace": "n", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "5"});
        LeanObject::prune(&json!({"metadata": metadata}), &FieldPaths::default())
    }

    fn report(name: &str, uid: &str) -> Value {
        let metadata =
            json!({"namespace": "n", "name": report_name("g.example", "Ox", name), "uid": "r", "resourceVersion": "7"});
        let condition = json!({"type": "driftObserved", "status": "True", "reason": "FieldsDiffer", "message": "m"});
        json!({"apiVersion": REPORT_API_VERSION, "kind": REPORT_KIND, "metadata": metadata, "object": {"uid": uid},
            "status": {"conditions": [condition]}})
    }

    #[tokio::test]
    async fn one_list_has_the_reports_of_all_objects() {
        let (client, log) = answering(|_| {
            let items = [report("a", "uid-a"), report("b", "uid-of-a-former-b")];
            reply(200, &json!({"metadata": {"resourceVersion": "9"}, "items": items}))
        });
        let listed = ListedReports::list(&client, &["n".to_owned()]).await.unwrap();
        let has_verdict = |name: &str| listed.attach(&kind(), object(name)).conditions.observed().is_some();
        assert_eq!([has_verdict("a"), has_verdict("b"), has_verdict("c")], [true, false, false]);
        let path = "/apis/driftpoller.dev/v1alpha1/namespaces/n/driftreports";
        assert_eq!(log.lines(), [format!("GET {path}?&limit=500")]);
    }

    #[tokio::test]
    async fn a_tried_report_is_created_as_a_dry_run() {
        let (client, log) = answering(|sent| reply(201, &sent.json()));
        let objects = crate::client::ObjectClient::new(client, "person");
        let patch =
            serde_json::from_value(json!([{"op": "add", "path": "/status", "value": {"fields": "/a"}}])).unwrap();
        let tried = super::super::ReportClient::new(objects, "drift-system/drift-poller")
            .try_create(&kind(), &object("a"), &patch)
            .await
            .unwrap();
        let path = "/apis/driftpoller.dev/v1alpha1/namespaces/n/driftreports";
        assert_eq!(log.lines(), [format!("POST {path}?&dryRun=All&fieldManager=person")]);
        assert_eq!((&tried["object"]["uid"], &tried["status"]["fields"]), (&json!("uid-a"), &json!("/a")));
    }

    #[tokio::test]
    async fn a_missing_right_names_the_rule() {
        let (client, _) =
            answering(|_| refuse(403, "Forbidden", "driftreports is forbidden: User \"ann\" cannot list"));
        let of = async |namespaces: &[String]| ListedReports::list(&client, namespaces).await.unwrap_err().to_string();
        let rule = "{apiGroups: [\"driftpoller.dev\"], resources: [driftreports], verbs: [get, list, watch]}";
        let expected = "you may not read driftreports, which have the conditions: to a";
        assert_eq!(of(&["n".to_owned()]).await, format!("{expected} Role in namespace n add {rule}"));
        assert_eq!(of(&[]).await, format!("{expected} ClusterRole add {rule}"));
    }

    #[tokio::test]
    async fn a_missing_report_is_none_and_a_missing_kind_an_error() {
        let missing = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "no",
            "details": {"name": "ox.g.example.a", "kind": "driftreports"}});
        let (client, log) = answering(move |_| reply(404, &missing));
        assert_eq!(read_report(&client, &kind(), &object("a").id).await.unwrap(), None);
        let name = report_name("g.example", "Ox", "a");
        assert_eq!(log.lines(), [format!("GET /apis/driftpoller.dev/v1alpha1/namespaces/n/driftreports/{name}")]);
        let (client, _) = answering(|_| refuse(404, "NotFound", "the server could not find the requested resource"));
        let unread = read_report(&client, &kind(), &object("a").id).await.unwrap_err();
        assert!(matches!(unread, ReportsUnread::NotInstalled), "{unread}");
        let unread = ListedReports::list(&client, &[]).await.unwrap_err();
        assert!(matches!(unread, ReportsUnread::NotInstalled), "{unread}");
    }
}
