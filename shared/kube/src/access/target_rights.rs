//! The rights that each program needs for a target, for checks at run time and for `rbac`.

use drift_api::names::{CORRECT_VERB, NUDGE_VERB, PUBLISH_VERB, READY_VERB, STORE_VERB};
use drift_language::{ConditionsPlace, DeclaredSecret, Target};
use kube::core::{ApiResource, GroupVersionKind};

use crate::access::Right;
use crate::access::rights::{
    right_to_report, rights_beside, rights_on, rights_on_jobs, rights_on_reports, rights_to_tell,
};
use crate::client::ResolvedKind;

/// The verbs of both programs on DriftReports. They replace the report of a former object.
const WRITES_OF_REPORTS: [&str; 3] = ["create", "update", "patch"];

/// Returns the poller's rights for a target, without those on the resources of `read.kubernetes`.
#[must_use]
pub fn rights_of_poller(target: &Target, kind: &ResolvedKind) -> Vec<Right> {
    let mut rights = rights_on(kind, &target.objects, &["get", "list", "watch"], "");
    rights.extend(rights_to_see_reports(target));
    rights.extend(rights_to_write_conditions(target, kind));
    if target.objects.keeps_reports() {
        // Of reports that no target keeps.
        rights.extend(rights_on_reports(&target.objects, &["delete"]));
    }
    if !target.publish.is_empty() {
        rights.extend(rights_on(kind, &target.objects, &[PUBLISH_VERB], "status"));
    }
    if target.ready {
        rights.extend(rights_on(kind, &target.objects, &[READY_VERB], "status"));
    }
    rights.extend(rights_to_tell(&target.objects));
    rights
}

fn rights_to_see_reports(target: &Target) -> Vec<Right> {
    match target.objects.conditions {
        ConditionsPlace::Object => Vec::new(),
        ConditionsPlace::Report => rights_on_reports(&target.objects, &["get", "list", "watch"]),
    }
}

fn rights_to_write_conditions(target: &Target, kind: &ResolvedKind) -> Vec<Right> {
    match target.objects.conditions {
        ConditionsPlace::Object => rights_on(kind, &target.objects, &["patch"], "status"),
        ConditionsPlace::Report => {
            let mut rights = rights_on_reports(&target.objects, &WRITES_OF_REPORTS);
            rights.extend(right_to_report());
            rights
        }
    }
}

/// Returns the poller's rights on the resources of `read.kubernetes`, including a watch if the target needs one, in
/// this namespace. `None` means the namespaces of the target's objects. The user grants them. A read without the
/// right reports it.
#[must_use]
pub fn rights_to_read(target: &Target, namespace: Option<&str>, kind: &ResolvedKind) -> Vec<Right> {
    let verbs: &[&'static str] = if target.watched_read().is_some() { &["get", "list", "watch"] } else { &["get"] };
    rights_beside(kind, namespace, &target.objects, verbs)
}

/// Returns the controller's rights on Secrets in the namespaces of a target's objects. They are selected by label, to
/// which a right cannot be restricted. If no object names a Secret, a missing right has no effect.
#[must_use]
pub fn rights_on_secrets(target: &Target) -> Vec<Right> {
    if target.correct.mode.corrects() && target.secrets.iter().any(DeclaredSecret::is_of_object) {
        let kind = GroupVersionKind::gvk("", "v1", "Secret");
        let secrets = ResolvedKind { resource: ApiResource::from_gvk_with_plural(&kind, "secrets"), namespaced: true };
        rights_on(&secrets, &target.objects, &["list", "watch"], "")
    } else {
        Vec::new()
    }
}

/// Returns the controller's rights for a target. A target that only observes is only watched. If a finalizer or a
/// condition must be removed, a missing right is reported then.
#[must_use]
pub fn rights_of_controller(target: &Target, kind: &ResolvedKind) -> Vec<Right> {
    let mut rights = rights_on(kind, &target.objects, &["get", "list", "watch"], "");
    rights.extend(rights_to_see_reports(target));
    if target.correct.mode.corrects() {
        rights.extend(rights_to_write_conditions(target, kind));
        if target.correct.stored().next().is_some() {
            rights.extend(rights_on(kind, &target.objects, &[STORE_VERB], "status"));
        }
        if target.correct.runs_jobs() {
            rights.extend(rights_on_jobs(&target.objects, &["create", "delete", "get", "list"]));
        }
        if target.correct.actions().nudge {
            rights.extend(rights_on(kind, &target.objects, &["patch", NUDGE_VERB], ""));
        }
        if target.correct.actions().delete {
            rights.extend(rights_on(kind, &target.objects, &["patch"], ""));
        }
        rights.extend(rights_to_tell(&target.objects));
    }
    rights
}

/// Returns the controller's rights on the cluster objects that a target's manifest creates, in this namespace. `None`
/// means the namespaces of the target's objects.
#[must_use]
pub fn rights_on_resource(target: &Target, namespace: Option<&str>, kind: &ResolvedKind) -> Vec<Right> {
    let deletes = target.correct.actions().delete;
    let verbs = ["get", "create", "patch", CORRECT_VERB].into_iter().chain(deletes.then_some("delete"));
    rights_beside(kind, namespace, &target.objects, &verbs.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::names::REPORT_VERB;
    use drift_language::fixtures;
    use std::collections::BTreeSet;

    const ROLES: &str = include_str!("../../../../manifests/base/reports-rbac.yaml");

    fn target(correct: &str) -> Target {
        fixtures::target(&format!(
            "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: t}}, spec: {{objects: {{apiVersion: \
             g.example/v1, kind: Ox, namespaces: [a], conditions: Report}}, identity: x, read: {{http: {{url: 'https://h/x'}}}}, \
             compare: {{desired: {{a: 1}}}}, correct: {correct}}}}}"
        ))
    }

    fn kind() -> ResolvedKind {
        let kind = GroupVersionKind::gvk("g.example", "v1", "Ox");
        ResolvedKind { resource: ApiResource::from_gvk_with_plural(&kind, "oxen"), namespaced: true }
    }

    /// The verbs by resource. But for the one of the policy, all are in the namespace of the selection.
    fn shown(rights: &[Right]) -> BTreeSet<String> {
        for right in rights {
            assert_eq!(right.namespace.as_deref(), (right.verb != REPORT_VERB).then_some("a"), "{right:?}");
        }
        rights.iter().map(|right| format!("{} {}/{}", right.verb, right.resource, right.subresource)).collect()
    }

    fn words(resource: &str, verbs: &[&str]) -> BTreeSet<String> {
        verbs.iter().map(|verb| format!("{verb} {resource}/")).collect()
    }

    /// The verbs on reports of a shipped ClusterRole.
    fn shipped(name: &str) -> BTreeSet<String> {
        let role = drift_language::manifests_of(ROLES).into_iter().find(|role| role["metadata"]["name"] == name);
        let verbs = role.map(|role| role["rules"][0]["verbs"].clone()).unwrap_or_default();
        let verbs: Vec<&str> = verbs.as_array().into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
        words("driftreports", &verbs)
    }

    #[test]
    fn a_report_needs_no_right_on_the_status() {
        let watched = words("oxen", &["get", "list", "watch"]);
        let events = words("events", &["create"]);
        let nudging = target("{mode: Correct, settle: 1s, nudge: {annotations: {a: b}}}");
        let poller = shown(&rights_of_poller(&nudging, &kind()));
        let expected = [watched.clone(), events.clone(), shipped("drift-poller-reports"), shipped("drift-reports")];
        assert_eq!(poller, expected.into_iter().flatten().collect());
        let controller = shown(&rights_of_controller(&nudging, &kind()));
        let woken = words("oxen", &["patch", NUDGE_VERB]);
        let expected = [watched.clone(), woken, events, shipped("drift-controller-reports"), shipped("drift-reports")];
        assert_eq!(controller, expected.into_iter().flatten().collect());
        let observing = shown(&rights_of_controller(&target("{mode: Observe}"), &kind()));
        let expected = [watched, words("driftreports", &["get", "list", "watch"])];
        assert_eq!(observing, expected.into_iter().flatten().collect());
    }
}
