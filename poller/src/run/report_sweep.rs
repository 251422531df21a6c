//! Deletes DriftReports that no target keeps.
//!
//! The garbage collector deletes the report of a deleted object. This is for the others: their target was removed or
//! keeps its conditions on the objects now, or the object is no longer selected, or was deleted without its dependents.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::report::report_fields;
use drift_kube::reports::report_kind;
use drift_kube::{CallError, KindName, ObjectPages, ReportClient, WriteError};
use drift_language::{ConditionsPlace, Target};
use serde_json::Value;

use crate::run::context::Context;

/// Time between two looks without a cause: objects that were deleted without their dependents cause none.
const BETWEEN_LOOKS: Duration = Duration::from_hours(1);

/// Looks for such reports until the future is dropped.
pub async fn sweep(context: &Context, reports: ReportClient) {
    let mut configuration = context.configuration.clone();
    let mut orphans = context.watches.hear_of_orphans();
    loop {
        // A target that returns within the patience keeps its reports.
        tokio::time::sleep(context.patience).await;
        configuration.mark_unchanged();
        while orphans.try_recv().is_ok() {}
        let suspected = look(context, |_| false, &reports).await;
        if !suspected.is_empty() {
            tokio::time::sleep(context.patience).await;
            look(context, |uid| suspected.contains(uid), &reports).await;
        }
        tokio::select! {
            changed = configuration.changed() => if changed.is_err() { return },
            Some(_) = orphans.recv() => {}
            () = tokio::time::sleep(BETWEEN_LOOKS) => {}
        }
    }
}

/// Returns the reports that no target keeps, and deletes those of them that were `suspected` before.
async fn look(context: &Context, suspected: impl Fn(&Uid) -> bool, reports: &ReportClient) -> HashSet<Uid> {
    let mut left = HashSet::new();
    let mut pages = ObjectPages::new(&context.client, &report_kind(), &[], report_fields());
    loop {
        let page = match pages.next().await {
            Ok(Some(page)) => page,
            Ok(None) => return left,
            Err(error) => {
                tell(&error);
                return left;
            }
        };
        for report in page.iter().filter(|report| is_left(context, report)) {
            left.insert(report.id.uid.clone());
            if suspected(&report.id.uid) && context.leadership.is_held() {
                let _slot = context.slots.enter().await;
                let deleted = reports.delete(report).await;
                let outcome = deleted.as_ref().map_or_else(WriteError::as_label, |()| "cleaned");
                context.cleaned.count(outcome);
                if let Err(error) = deleted.as_ref().map_err(ToString::to_string) {
                    let (namespace, name) = (report.id.namespace.as_deref(), &*report.id.name);
                    tracing::debug!(namespace, name, "the report is not deleted: {error}");
                }
            }
        }
    }
}

/// Without the CustomResourceDefinition there are no reports.
fn tell(error: &CallError) {
    if error.code() == Some(404) {
        tracing::debug!("no reports: {error}");
    } else {
        tracing::warn!("reports that no target keeps are not looked for: {error}");
    }
}

/// Returns true if no target keeps the report. As long as a document is invalid, no target counts as removed.
fn is_left(context: &Context, report: &LeanObject) -> bool {
    let view = report.view.open();
    let object = |field: &str| view.pointer("/object").and_then(|object| object.get(field)).and_then(Value::as_str);
    let (Some(api_version), Some(kind), Some(uid)) = (object("apiVersion"), object("kind"), object("uid")) else {
        return true;
    };
    let configuration = context.configuration.borrow();
    if !configuration.loaded || !configuration.problems.is_empty() || !configuration.unsettled.is_empty() {
        return false;
    }
    let (kind, uid, namespace) = (KindName::new(api_version, kind), Uid::from(uid), report.id.namespace.as_deref());
    let keeps = |target: &&Arc<Target>| {
        let is_inside = || target.objects.namespaces.iter().any(|one| Some(&**one) == namespace);
        target.objects.conditions == ConditionsPlace::Report && (target.objects.namespaces.is_empty() || is_inside())
    };
    let keepers: Vec<&Arc<Target>> = configuration.of_kind(&kind).filter(keeps).collect();
    context.watches.asks(|dispatch| {
        let is_told = keepers.iter().any(|keeper| dispatch.told(&uid).any(|target| **target == *keeper.name));
        !is_told && keepers.iter().all(|keeper| dispatch.is_listed(&keeper.name))
    })
}
