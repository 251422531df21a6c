//! Deletes DriftReports that no target keeps. The garbage collector deletes those of deleted objects.

use drift_api::object::LeanObject;
use drift_api::object::report::report_fields;
use drift_kube::cleanup::{Judgement, KnownTargets, ReportSweep, SweepStep, judge_report};
use drift_kube::process::clock;
use drift_kube::reports::report_kind;
use drift_kube::subscriptions::Orphan;
use drift_kube::{CallError, ObjectPages, ObjectWriter, WriteError};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::run::context::Context;

/// Deletes the reports that no target keeps until the future is dropped, for one term of leadership.
pub async fn sweep(context: &Context) {
    let mut configuration = context.configuration.clone();
    let mut orphans = context.watches.hear_of_orphans();
    let mut sweep = ReportSweep::new(&context.installation, context.patience, clock::now());
    let writer = context.writer(report_kind(), report_fields());
    let mut pages = None;
    loop {
        let step = ask(context, |known, judge| sweep.step(known, judge, clock::now()));
        match step {
            SweepStep::Wait(until) => tokio::select! {
                changed = configuration.changed() => match changed {
                    Ok(()) => sweep.note_change(clock::now()),
                    Err(_) => return,
                },
                () = hear_of_left(&mut orphans) => sweep.note_change(clock::now()),
                () = tokio::time::sleep_until(clock::instant_of(until)) => {}
            },
            SweepStep::Read(place) => {
                let new = || ObjectPages::new(&context.client, &report_kind(), place.as_slice(), report_fields());
                match pages.get_or_insert_with(new).next().await {
                    Ok(Some(page)) => {
                        sweep.take_page(page);
                        continue;
                    }
                    Ok(None) => sweep.end_list(),
                    // Without the CustomResourceDefinition there are no reports.
                    Err(error) if error.code() == Some(404) => sweep.end_list(),
                    Err(error) => fail(context, &mut sweep, place.as_deref(), &error),
                }
                pages = None;
            }
            SweepStep::Delete(report) => {
                let is_gone = delete(context, &sweep, (&writer, &report)).await;
                sweep.end_deletion(is_gone);
            }
            SweepStep::Forget(notes) => {
                let targets: Vec<_> = notes.iter().map(|note| note.target.as_str()).collect();
                tracing::info!(?targets, "no report of removed targets is left");
                context.notes.forget(&notes);
            }
        }
    }
}

/// Calls `ask` with the targets that are known now, and the judgement of reports.
fn ask<R>(context: &Context, ask: impl FnOnce(KnownTargets<'_>, &dyn Fn(&LeanObject) -> Judgement) -> R) -> R {
    context.watches.asks(|dispatch| {
        context.notes.know(&context.configuration.borrow(), |known| {
            ask(known, &|report: &LeanObject| judge_report(report, known, dispatch))
        })
    })
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

fn fail(context: &Context, sweep: &mut ReportSweep, namespace: Option<&str>, error: &CallError) {
    let is_news = ask(context, |known, _| sweep.fail_list(known, error.code(), &error.to_string()));
    if is_news {
        tracing::warn!(namespace, cause = %error, "DriftReports of removed targets stay, because they cannot be listed");
    }
}

/// Deletes a report, unless a target keeps it by now. Returns true if it is gone.
async fn delete(context: &Context, sweep: &ReportSweep, (writer, report): (&ObjectWriter, &LeanObject)) -> bool {
    let slot = writer.slots.enter().await;
    if !ask(context, |_, judge| sweep.confirms(judge)) {
        return false;
    }
    let deleted = writer.delete(&slot, report).await;
    context.cleaned.count(deleted.as_ref().map_or_else(WriteError::as_label, |()| "cleaned"));
    if let Err(error) = &deleted {
        let (namespace, name, uid) = (report.id.namespace.as_deref(), &*report.id.name, &*report.id.uid);
        tracing::debug!(namespace, name, uid, cause = %error, "the report is not deleted");
    }
    matches!(deleted, Ok(()) | Err(WriteError::Gone))
}
