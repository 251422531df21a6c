//! Every string that others see: API groups, condition types, annotations, labels, field managers.
//!
//! They are contracts with users and between the two programs, so each stands here once.
//! This file knows no behaviour.

/// The API group of the target language and prefix of every label, annotation and finalizer.
pub const GROUP: &str = "driftpoller.dev";
/// The only `apiVersion` of a target document.
pub const TARGET_API_VERSION: &str = "driftpoller.dev/v1alpha1";
/// The only `kind` of a target document.
pub const TARGET_KIND: &str = "PollTarget";

/// The poller's verdict on an object's `.status.conditions`.
pub const DRIFT_OBSERVED: &str = "driftObserved";
/// The controller's note on an object's `.status.conditions`.
pub const DRIFT_CORRECTED: &str = "driftCorrected";

/// Field manager of the poller's writes.
pub const POLLER_MANAGER: &str = "drift-poller";
/// Field manager of the controller's writes.
pub const CONTROLLER_MANAGER: &str = "drift-controller";
/// Field manager of what people set by the commands of `kubectl-drift`.
pub const PERSON_MANAGER: &str = "kubectl-drift";
/// Name of the Lease that the leading poller holds; the controller reads it to see that the poller attests.
pub const POLLER_LEASE: &str = "drift-poller";
/// Name of the Lease that the leading controller holds.
pub const CONTROLLER_LEASE: &str = "drift-controller";

/// The right, on `/status` of a kind, to write what targets `publish` there; the admission policies ask for it.
pub const PUBLISH_VERB: &str = "publish";
/// The same for what targets `store`.
pub const STORE_VERB: &str = "store";

/// The right, on a kind, to wake its operator by a change of annotations and labels; the admission policy asks for it.
pub const NUDGE_VERB: &str = "nudge";
/// The right, on a kind, to make, change and delete its objects by the manifest of a target.
pub const CORRECT_VERB: &str = "correct";
/// Field manager of what the controller writes to wake an operator: such fields are no desired state.
pub const NUDGE_MANAGER: &str = "drift-controller-nudge";
/// Field manager of the objects of the cluster that the controller makes and keeps by a manifest.
pub const MANIFEST_MANAGER: &str = "drift-controller-manifest";
/// Annotation on such an object: the uid of the object that it was made for.
pub const MADE_FOR_ANNOTATION: &str = "driftpoller.dev/made-for";

/// Label of a Job, and of its Pods: the uid of the object that it corrects for.
pub const JOB_OBJECT_LABEL: &str = "driftpoller.dev/object";
/// Label of a Job, and of its Pods: the target that says what it runs.
pub const JOB_TARGET_LABEL: &str = "driftpoller.dev/target";

/// The finalizer that the controller puts on an object whose external resource it will delete.
pub const FINALIZER: &str = "driftpoller.dev/external";

/// Label that marks a ConfigMap as a holder of target documents; its value is [`TRUE`].
pub const TARGETS_LABEL: &str = "driftpoller.dev/targets";
/// Label by which a Secret's owner allows a program to use it; the value is a program's [`CREDENTIAL_POLLER`] or [`CREDENTIAL_CONTROLLER`].
pub const CREDENTIAL_LABEL: &str = "driftpoller.dev/credential";
/// Value of [`CREDENTIAL_LABEL`] that allows the poller.
pub const CREDENTIAL_POLLER: &str = "poller";
/// Value of [`CREDENTIAL_LABEL`] that allows the controller.
pub const CREDENTIAL_CONTROLLER: &str = "controller";
/// Label by which the owner of a Secret beside objects lets corrections of these send what is in it; its value is [`TRUE`].
pub const READABLE_LABEL: &str = "driftpoller.dev/readable";
/// Annotation on a Secret: the comma-separated hosts (or host:port) it may be sent to; absent means any.
pub const HOSTS_ANNOTATION: &str = "driftpoller.dev/hosts";
/// Annotation on an object: with any value but `false` nothing is created, updated or deleted outside; polling goes on.
pub const PAUSED_ANNOTATION: &str = "driftpoller.dev/paused";
/// Annotation on an object: with any value but `false` its deletion leaves the external resource as it is.
pub const ORPHAN_ANNOTATION: &str = "driftpoller.dev/orphan";
/// Annotation on an object: a changed value asks for a poll at once.
pub const POLL_REQUESTED_ANNOTATION: &str = "driftpoller.dev/poll-requested-at";
/// Annotation on an object: a changed value asks for one more correction after the attempts are exhausted.
pub const RETRY_REQUESTED_ANNOTATION: &str = "driftpoller.dev/retry-requested-at";
/// Annotation with an identity that the object gives up: while it stands, the object takes no part in that resource.
pub const GIVE_UP_ANNOTATION: &str = "driftpoller.dev/give-up";
/// Annotations that owners of objects may set.
pub const OBJECT_ANNOTATIONS: &[&str] =
    &[PAUSED_ANNOTATION, ORPHAN_ANNOTATION, POLL_REQUESTED_ANNOTATION, RETRY_REQUESTED_ANNOTATION, GIVE_UP_ANNOTATION];
/// Annotation on the poller's Lease: the targets it attests, as JSON of target name to [`crate::attestation::Attestation`].
pub const ATTESTED_TARGETS_ANNOTATION: &str = "driftpoller.dev/attested-targets";
/// Annotation on the controller's Lease: the corrections that it holds, as JSON of [`crate::held_corrections`].
pub const HELD_CORRECTIONS_ANNOTATION: &str = "driftpoller.dev/held-corrections";

/// Annotation on each program's own Lease: what its targets select or selected, as a JSON list. It says where conditions
/// and finalizers of ours may stand when a target is gone.
pub const SELECTIONS_ANNOTATION: &str = "driftpoller.dev/selections";

/// The value of a label or annotation that is on.
pub const TRUE: &str = "true";
