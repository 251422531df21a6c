//! Deletes DriftReports that no target keeps. The garbage collector deletes those of deleted objects.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::report::{is_made_by, report_fields};
use drift_kube::cleanup::{Selection, is_left_report, namespaces_of};
use drift_kube::reports::report_kind;
use drift_kube::subscriptions::Orphan;
use drift_kube::{CallError, ObjectPages, ReportClient, WriteError};
use drift_language::Target;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::run::context::Context;

/// Time between two looks without a cause: objects that were deleted without their dependents cause none.
const BETWEEN_LOOKS: Duration = Duration::from_hours(1);

/// Time after a change in which the targets begin and end, so that the first look finds what they leave.
const AFTER_CHANGE: Duration = Duration::from_secs(10);

/// Looks for reports that no target keeps until the future is dropped. Two looks with the patience between them must find one, so that a
/// target that returns keeps its reports.
pub async fn sweep(context: &Context, reports: ReportClient) {
    let mut configuration = context.configuration.clone();
    let mut orphans = context.watches.hear_of_orphans();
    // Until then, the targets of a new process may not be listed.
    tokio::time::sleep(context.patience).await;
    loop {
        tokio::time::sleep(AFTER_CHANGE).await;
        configuration.mark_unchanged();
        while orphans.try_recv().is_ok() {}
        let suspected = look(context, |_| false, &reports).await;
        if !suspected.is_empty() {
            tokio::time::sleep(context.patience).await;
            look(context, |uid| suspected.contains(uid), &reports).await;
        }
        tokio::select! {
            changed = configuration.changed() => if changed.is_err() { return },
            () = hear_of_left(&mut orphans) => {}
            () = tokio::time::sleep(BETWEEN_LOOKS) => {}
        }
    }
}

/// Waits until a target loses an object. Other orphans carry marks of their own, and have no report.
async fn hear_of_left(orphans: &mut UnboundedReceiver<Orphan>) {
    loop {
        match orphans.recv().await {
            Some(Orphan { has_left: true, .. }) => return,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

/// Returns the reports that no target keeps, and deletes those of them that were `suspected` before.
async fn look(context: &Context, suspected: impl Fn(&Uid) -> bool, reports: &ReportClient) -> HashSet<Uid> {
    let (mut left, mut is_limited) = (HashSet::new(), false);
    let mut pages = pages_of(context, &[]);
    loop {
        let page = match pages.next().await {
            Ok(Some(page)) => page,
            Ok(None) => return left,
            Err(error) => {
                let namespaces = namespaces_with_reports(context);
                if error.code() == Some(403) && !is_limited && !namespaces.is_empty() {
                    // The rights are bound in namespaces.
                    (pages, is_limited) = (pages_of(context, &namespaces), true);
                    continue;
                }
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
                    tracing::debug!(namespace, name, cause = error, "the report is not deleted");
                }
            }
        }
    }
}

fn pages_of(context: &Context, namespaces: &[String]) -> ObjectPages {
    ObjectPages::new(&context.client, &report_kind(), namespaces, report_fields())
}

/// Returns the namespaces in which targets keep reports. Empty also if one keeps them in all.
fn namespaces_with_reports(context: &Context) -> Vec<String> {
    let configuration = context.configuration.borrow();
    let keeps = |target: &&Arc<Target>| target.objects.keeps_reports();
    let selections: Vec<_> = configuration.targets.values().filter(keeps).map(|target| Selection::of(target)).collect();
    namespaces_of(selections.iter())
}

/// Without the CustomResourceDefinition there are no reports.
fn tell(error: &CallError) {
    if error.code() == Some(404) {
        tracing::debug!(cause = %error, "no reports");
    } else {
        tracing::warn!(cause = %error, "reports that no target keeps are not looked for");
    }
}

fn is_left(context: &Context, report: &LeanObject) -> bool {
    let configuration = context.configuration.borrow();
    // Other installations keep their reports by targets of their own.
    is_made_by(report, &context.installation)
        && context.watches.asks(|dispatch| is_left_report(report, &configuration, dispatch))
}
