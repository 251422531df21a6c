//! The rights that each program needs for a target, for checks at run time and for `rbac`.

use drift_api::names::{CORRECT_VERB, NUDGE_VERB, PUBLISH_VERB, READY_VERB, STORE_VERB};
use drift_language::{DeclaredSecret, Target};
use kube::core::{ApiResource, GroupVersionKind};

use crate::access::Right;
use crate::access::rights::{rights_beside, rights_on, rights_on_jobs, rights_to_tell};
use crate::client::ResolvedKind;

/// Returns the poller's rights for a target, without those on the resources of `read.kubernetes`.
#[must_use]
pub fn rights_of_poller(target: &Target, kind: &ResolvedKind) -> Vec<Right> {
    let mut rights = rights_on(kind, &target.objects, &["get", "list", "watch"], "");
    rights.extend(rights_on(kind, &target.objects, &["patch"], "status"));
    if !target.publish.is_empty() {
        rights.extend(rights_on(kind, &target.objects, &[PUBLISH_VERB], "status"));
    }
    if target.ready {
        rights.extend(rights_on(kind, &target.objects, &[READY_VERB], "status"));
    }
    rights.extend(rights_to_tell(&target.objects));
    rights
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

/// Returns the controller's rights for a target. A target that only observes is only watched. If a finalizer must be
/// removed, a missing right is reported then.
#[must_use]
pub fn rights_of_controller(target: &Target, kind: &ResolvedKind) -> Vec<Right> {
    let mut rights = rights_on(kind, &target.objects, &["get", "list", "watch"], "");
    if target.correct.mode.corrects() {
        rights.extend(rights_on(kind, &target.objects, &["patch"], "status"));
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
