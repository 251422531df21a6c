//! Follows the objects of a kind for a reader only: there is no subscribed target, and nothing is kept.

use tokio::sync::mpsc;

use crate::client::LeanObjects;
use crate::client::ResolvedKind;
use crate::reports::report_kind;
use crate::watch::Change;
use crate::watch::collection::{Collection, follow};
use drift_api::object::SeenObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::report::report_fields;

/// Follows the objects of a kind in one namespace (`None`: in all), with only metadata and conditions, until the
/// receiver is gone or the future is dropped. Each change has `number`.
pub async fn follow_objects(
    client: kube::Client,
    kind: ResolvedKind,
    namespace: Option<String>,
    told: (usize, mpsc::Sender<(usize, Change<SeenObject>)>),
) {
    follow_all(client, (kind, namespace), FieldPaths::default(), told).await;
}

/// Follows the reports in one namespace (`None`: in all), like [`follow_objects`].
pub async fn follow_reports(
    client: kube::Client,
    namespace: Option<String>,
    told: (usize, mpsc::Sender<(usize, Change<SeenObject>)>),
) {
    follow_all(client, (report_kind(), namespace), report_fields(), told).await;
}

async fn follow_all(
    client: kube::Client,
    (kind, namespace): (ResolvedKind, Option<String>),
    fields: FieldPaths,
    (number, changes): (usize, mpsc::Sender<(usize, Change<SeenObject>)>),
) {
    let path = kind.path(namespace.as_deref());
    let collection = Collection { path, label_selector: None, heard: None };
    follow(client, collection, LeanObjects::new(kind, fields), number, changes).await;
}
