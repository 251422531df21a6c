//! A server-side dry run of a write of `driftObserved`, and whether the API server would keep all of it. With
//! `objects.conditions: Report` it is the creation of a report.
//!
//! Schemas are not enough: CEL rules, admission policies and webhooks decide too.

use drift_api::condition::{Condition, StatusFields};
use drift_api::names::{PERSON_MANAGER, REPORT_API_VERSION, REPORT_KIND};
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::report::SeenReport;
use drift_api::object::status_patch::condition_patch;
use drift_kube::client::ResolvedKind;
use drift_kube::client::{CallError, ObjectClient, WriteError};
use drift_kube::kinds::{KindError, locate_served_kind, lost_field};
use drift_kube::process::clock;
use drift_kube::reports::{ReportClient, ReportsUnread, report_kind};
use drift_language::Target;
use serde_json::Value;

use super::target_findings::TargetFindings;
use super::troubles::{changed_fields, lost_fields, trial_condition};
use crate::check::document::Severity;
use crate::cluster::get;
use drift_kube::client::FORBIDDEN;

/// How often it is tried where other writers are faster: each look takes milliseconds, so several of them do not come
/// between often. Each try takes another object, as far as there are others.
pub(super) const TRIES: usize = 5;

/// The statuses of internal failures, and of webhooks without support of dry runs.
const NOT_OF_THE_WRITE: [u16; 2] = [400, 500];

/// How a refusal of the admission policy of reports begins, which lets only the programs write them. The API server
/// validates the report before it.
const BY_REPORT_POLICY: &str = "ValidatingAdmissionPolicy 'drift-reports";

/// The meaning of a failed trial.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// Another writer was faster.
    Overtaken,
    /// The user may not write it; the programs may still have the right.
    NotAllowed,
    /// It says nothing of the target.
    Unasked,
    /// The programs' writes would be refused too.
    Refused,
}

/// Tries it on one of the target's objects with the user's rights. Without objects nothing is tried.
pub(super) async fn try_write(
    client: &kube::Client,
    (target, kind): (&Target, &ResolvedKind),
    candidates: &[LeanObject],
    found: &mut TargetFindings,
) {
    if target.objects.keeps_reports() {
        return try_report(client, kind, candidates.first(), found).await;
    }
    let fields = FieldPaths::default().with_generation_in(found.generation_place);
    for (candidate, tries_left) in candidates.iter().cycle().zip((0..TRIES).rev()) {
        let whole = match read_whole(client, kind, candidate).await {
            Ok(Some(whole)) => whole,
            Ok(None) if tries_left > 0 => continue,
            Ok(None) => return found.unasked(&question(kind), WriteError::Moved),
            Err(error) => return found.unasked(&question(kind), error),
        };
        let object = LeanObject::prune(&whole, &fields);
        let sent = trial_condition(&object, &clock::wall_seconds());
        let place = format!("tried on {}, without changing it", object.id);
        let before = match &found.stored {
            None => Ok(Some(whole)),
            Some(stored) => read_whole(client, stored, candidate).await,
        };
        let before = match before {
            Ok(Some(before)) if is_same_version(&before, &object) => before,
            Ok(_) if tries_left > 0 => continue,
            Ok(_) => return found.unasked(&question(kind), WriteError::Moved),
            Err(error) => return found.unasked(&question(kind), error),
        };
        match try_once(client, kind, (&object, &sent)).await {
            Ok(answer) => {
                let changed = changed_fields(&before, &answer);
                if !changed.is_empty() {
                    let severity = if found.stored.is_some() { Severity::Error } else { Severity::Warning };
                    let message = format!("a write of the condition also changes {} ({place})", changed.join(", "));
                    found.said.push((severity, message));
                }
                let sent = sent.stored_in(found.generation_place);
                let lost = lost_fields(&sent, &answer).into_iter().filter_map(|field| lost_field(kind, field));
                return lost.for_each(|sentence| found.error(format!("{sentence} ({place})")));
            }
            Err(error) => match (error.to_string(), failure_of(error)) {
                (_, Failure::Overtaken) if tries_left > 0 => {}
                (_, Failure::NotAllowed) => {
                    let plural = &kind.resource.plural;
                    return found.untried = Some(format!("you may not patch {plural}/status"));
                }
                (error, Failure::Overtaken | Failure::Unasked) => return found.unasked(&question(kind), error),
                (error, Failure::Refused) => {
                    return found.error(format!("a write of the condition is refused: {error} ({place})"));
                }
            },
        }
    }
}

/// The installation of a report that is only tried.
const TRIED_FOR: &str = "";

/// Tries to create the report of one of the target's objects. Without objects only the kind of reports is looked for.
async fn try_report(
    client: &kube::Client,
    kind: &ResolvedKind,
    candidate: Option<&LeanObject>,
    found: &mut TargetFindings,
) {
    let (reports, question) = (report_kind(), format!("whether the reports of {} are kept", kind.resource.plural));
    let served = locate_served_kind(client, &reports.resource.group, REPORT_KIND, std::iter::once(REPORT_API_VERSION));
    match served.await {
        Ok(_) => {}
        Err(KindError::Missing { .. }) => return found.error(ReportsUnread::NotInstalled.to_string()),
        Err(error) => return found.unasked(&question, error),
    }
    let Some(object) = candidate.map(|object| object.clone().with_report(SeenReport::absent(None))) else { return };
    let sent = trial_condition(&object, &clock::wall_seconds());
    let patch = condition_patch(&object, None, &sent, &StatusFields::NONE);
    let writer = ReportClient::new(ObjectClient::new(client.clone(), PERSON_MANAGER), TRIED_FOR);
    let place = format!("tried for {}, without creating it", object.id);
    match writer.try_create(kind, &object, &patch).await {
        Ok(answer) => {
            let lost = lost_fields(&sent.stored_in(object.conditions.generation_place), &answer)
                .into_iter()
                .filter_map(|field| lost_field(&reports, field));
            lost.for_each(|sentence| found.error(format!("{sentence} ({place})")));
        }
        Err(error) if is_of_accepted_report(&error) => {}
        Err(error) => match (error.to_string(), failure_of(error)) {
            (_, Failure::NotAllowed) => found.untried = Some("you may not create driftreports".to_owned()),
            (error, Failure::Refused) => found.error(format!("a report is refused: {error} ({place})")),
            (error, Failure::Overtaken | Failure::Unasked) => found.unasked(&question, error),
        },
    }
}

/// Returns true if the report passed all checks: it exists already, or only the programs may write it.
fn is_of_accepted_report(error: &CallError) -> bool {
    let CallError::Answered(status) = error else { return false };
    let is_by_policy = status.code == FORBIDDEN && status.message.contains(BY_REPORT_POLICY);
    is_by_policy || (status.code == 409 && status.reason == "AlreadyExists")
}

/// The whole object in this version of its kind. `None` if it is not there any more.
async fn read_whole(
    client: &kube::Client,
    kind: &ResolvedKind,
    listed: &LeanObject,
) -> Result<Option<Value>, CallError> {
    get(client, &kind.path(listed.id.namespace.as_deref()), &listed.id.name).await
}

/// Returns true if the object is the same in two reads.
fn is_same_version(whole: &Value, object: &LeanObject) -> bool {
    whole["metadata"]["resourceVersion"] == object.resource_version.to_string()
}

fn question(kind: &ResolvedKind) -> String {
    format!("whether {} keep the condition", kind.resource.plural)
}

async fn try_once(
    client: &kube::Client,
    kind: &ResolvedKind,
    (object, sent): (&LeanObject, &Condition),
) -> Result<Value, CallError> {
    let patch = condition_patch(object, None, sent, &StatusFields::NONE);
    ObjectClient::new(client.clone(), PERSON_MANAGER).try_status(kind, &object.id, patch).await
}

fn failure_of(error: CallError) -> Failure {
    let code = error.code();
    if code == Some(FORBIDDEN) && !is_by_admission(&error) {
        return Failure::NotAllowed;
    }
    match WriteError::from(error) {
        WriteError::Moved => Failure::Overtaken,
        WriteError::Refused(_) if code.is_some_and(|code| !NOT_OF_THE_WRITE.contains(&code)) => Failure::Refused,
        _ => Failure::Unasked,
    }
}

/// Returns true if admission refuses what is written: a webhook, a policy, or a plug-in. A missing right is told of the user.
fn is_by_admission(error: &CallError) -> bool {
    let CallError::Answered(status) = error else { return false };
    let said = &status.message;
    let is_of_user = said.contains(" is forbidden: User ");
    !is_of_user
        && [" denied the request", " denied request: ", " is forbidden: "].iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;
    use serde_json::json;

    #[test]
    fn only_a_refused_write_is_the_targets_mistake() {
        let failed_test = "the server rejected our request due to an error in our request";
        let cause =
            json!({"causes": [{"reason": "FieldValueInvalid", "field": "status.conditions[0]", "message": "m"}]});
        for (code, message, details, expected) in [
            (409, "the object has been modified", json!({}), Failure::Overtaken),
            (422, failed_test, json!({}), Failure::Overtaken),
            (422, "Record \"one\" is invalid", cause, Failure::Refused),
            (422, "admission webhook \"w\" denied the request: no", json!({}), Failure::Refused),
            (403, "may not", json!({}), Failure::NotAllowed),
            (
                403,
                "oxen.demo \"a\" is forbidden: User \"ann\" cannot patch resource \"oxen\"",
                json!({}),
                Failure::NotAllowed,
            ),
            (403, "admission webhook \"w\" denied the request: no", json!({}), Failure::Refused),
            (
                403,
                "oxen.demo \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no",
                json!({}),
                Failure::Refused,
            ),
            (400, "admission webhook \"w\" does not support dry run", json!({}), Failure::Unasked),
            (404, "not found", json!({}), Failure::Unasked),
            (500, "failed calling webhook", json!({}), Failure::Unasked),
            (503, "busy", json!({}), Failure::Unasked),
        ] {
            let status =
                json!({"status": "Failure", "code": code, "message": message, "reason": "", "details": details});
            let status: Status = serde_json::from_value(status).expect("a status");
            assert_eq!(failure_of(CallError::Answered(Box::new(status))), expected, "{code} {message}");
        }
        assert_eq!(failure_of(CallError::Transport("no route".to_owned())), Failure::Unasked);
    }

    #[test]
    fn a_report_that_only_the_programs_may_write_is_accepted() {
        for (code, reason, message, expected) in [
            (409, "AlreadyExists", "driftreports \"a\" already exists", true),
            (409, "Conflict", "the object has been modified", false),
            (
                403,
                "Forbidden",
                "driftreports.driftpoller.dev \"a\" is forbidden: ValidatingAdmissionPolicy 'drift-reports' with binding \
                 'drift-reports' denied request: only drift-poller and drift-controller may write a DriftReport",
                true,
            ),
            (403, "Forbidden", "driftreports is forbidden: User \"ann\" cannot create resource", false),
            (422, "Invalid", "DriftReport \"a\" is invalid: object.uid: Required value", false),
        ] {
            let status = json!({"status": "Failure", "code": code, "message": message, "reason": reason});
            let status: Status = serde_json::from_value(status).expect("a status");
            assert_eq!(is_of_accepted_report(&CallError::Answered(Box::new(status))), expected, "{message}");
        }
    }
}
