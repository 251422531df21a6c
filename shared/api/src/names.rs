//! Every externally visible string: API groups, condition types, annotations, labels, field managers.
//!
//! They are contracts with users and between the two programs, so each is defined here once. This file
//! has no behaviour.

/// The API group of the target language and prefix of every label, annotation and finalizer.
pub const GROUP: &str = "driftpoller.dev";
/// The only `apiVersion` of a target document.
pub const TARGET_API_VERSION: &str = "driftpoller.dev/v1alpha1";
/// The only `kind` of a target document.
pub const TARGET_KIND: &str = "PollTarget";

/// The `apiVersion` of a DriftReport.
pub const REPORT_API_VERSION: &str = "driftpoller.dev/v1alpha1";
/// The kind that keeps the conditions of an object whose own status cannot.
pub const REPORT_KIND: &str = "DriftReport";
/// The plural of that kind.
pub const REPORT_PLURAL: &str = "driftreports";
/// Annotation on a DriftReport: namespace and name of the poller's Lease of the installation that made it.
pub const INSTALLATION_ANNOTATION: &str = "driftpoller.dev/installation";

/// The poller's verdict in an object's `.status.conditions`.
pub const DRIFT_OBSERVED: &str = "driftObserved";
/// The controller's record in an object's `.status.conditions`.
pub const DRIFT_CORRECTED: &str = "driftCorrected";

/// The condition of kstatus that says whether an object has reached its desired state.
pub const READY: &str = "Ready";
/// The condition of kstatus that is present while an object is on its way to its desired state.
pub const RECONCILING: &str = "Reconciling";
/// The condition of kstatus that is present while an object cannot reach its desired state without a person.
pub const STALLED: &str = "Stalled";
/// The types of all conditions that the programs may write.
pub const CONDITION_TYPES: [&str; 5] = [DRIFT_OBSERVED, DRIFT_CORRECTED, READY, RECONCILING, STALLED];
/// The field of `.status` with the generation that the conditions refer to.
pub const OBSERVED_GENERATION: &str = "observedGeneration";

/// Field manager of the poller's writes.
pub const POLLER_MANAGER: &str = "drift-poller";
/// Field manager of the controller's writes.
pub const CONTROLLER_MANAGER: &str = "drift-controller";
/// Field manager of fields that people set with `kubectl-drift`.
pub const PERSON_MANAGER: &str = "kubectl-drift";
/// Name of the Lease of the leading poller. The controller reads it to check the poller's attestation.
pub const POLLER_LEASE: &str = "drift-poller";
/// Name of the Lease of the leading controller.
pub const CONTROLLER_LEASE: &str = "drift-controller";

/// The verb on `/status` of a kind that permits writes of `publish`. The admission policies require it.
pub const PUBLISH_VERB: &str = "publish";
/// The verb on `/status` of a kind that permits the conditions of `ready: true`.
pub const READY_VERB: &str = "ready";
/// The verb on `/status` of a kind that permits writes of `store`.
pub const STORE_VERB: &str = "store";

/// The verb on DriftReports, in the whole cluster, by which the admission policy knows the programs.
pub const REPORT_VERB: &str = "report";
/// The verb on a kind that permits waking its operator through annotations and labels. The admission
/// policy requires it.
pub const NUDGE_VERB: &str = "nudge";
/// The verb on a kind that permits creating, changing and deleting its objects through a target's manifest.
pub const CORRECT_VERB: &str = "correct";
/// Field manager of the controller's nudges. Such fields are not a desired state.
pub const NUDGE_MANAGER: &str = "drift-controller-nudge";
/// Field manager of the cluster objects that the controller manages through a manifest.
pub const MANIFEST_MANAGER: &str = "drift-controller-manifest";
/// Annotation on such an object: the uid of the object that it was made for.
pub const MADE_FOR_ANNOTATION: &str = "driftpoller.dev/made-for";

/// Default folder of the projected tokens of the programs' ServiceAccounts.
pub const PROJECTED_TOKENS: &str = "/var/run/secrets/driftpoller.dev/tokens";

/// Label of a Job, and of its Pods: the uid of the object that it corrects for.
pub const JOB_OBJECT_LABEL: &str = "driftpoller.dev/object";
/// Label of a Job, and of its Pods: the target that defines it.
pub const JOB_TARGET_LABEL: &str = "driftpoller.dev/target";

/// The finalizer that the controller puts on an object whose external resource it will delete.
pub const FINALIZER: &str = "driftpoller.dev/external";

/// Label that marks a ConfigMap as a holder of target documents; its value is [`TRUE`].
pub const TARGETS_LABEL: &str = "driftpoller.dev/targets";
/// The labelled ConfigMap with the targets that a person forgot: target name to the hashes of its notes.
pub const FORGOTTEN_CONFIG_MAP: &str = "drift-forgotten";
/// Label with which a Secret's owner allows a program to use it. The value is a program's
/// [`CREDENTIAL_POLLER`] or [`CREDENTIAL_CONTROLLER`].
pub const CREDENTIAL_LABEL: &str = "driftpoller.dev/credential";
/// Value of [`CREDENTIAL_LABEL`] that allows the poller.
pub const CREDENTIAL_POLLER: &str = "poller";
/// Value of [`CREDENTIAL_LABEL`] that allows the controller.
pub const CREDENTIAL_CONTROLLER: &str = "controller";
/// Label with which the owner of a Secret in the objects' namespace allows their corrections to send it. Its
/// value is [`TRUE`].
pub const READABLE_LABEL: &str = "driftpoller.dev/readable";
/// Annotation on a Secret: the comma-separated hosts (or host:port) to which it may be sent. Absent means any.
pub const HOSTS_ANNOTATION: &str = "driftpoller.dev/hosts";
/// Annotation on an object. Any value but `false` stops creates, updates and deletions outside. Polling continues. A value
/// other than `true` is the reason, for people.
pub const PAUSED_ANNOTATION: &str = "driftpoller.dev/paused";
/// Annotation on an object. With any value but `false`, its deletion leaves the external resource unchanged.
pub const ORPHAN_ANNOTATION: &str = "driftpoller.dev/orphan";
/// Annotation on an object. A changed value requests an immediate poll.
pub const POLL_REQUESTED_ANNOTATION: &str = "driftpoller.dev/poll-requested-at";
/// Annotation on an object. A changed value requests one more correction or deletion of what exhausted attempts, a
/// contradicted absence, an unclear deletion or an open breaker holds.
pub const RETRY_REQUESTED_ANNOTATION: &str = "driftpoller.dev/retry-requested-at";
/// Annotation with an identity that the object gives up. While it is present, the object does not participate
/// in that resource.
pub const GIVE_UP_ANNOTATION: &str = "driftpoller.dev/give-up";
/// Annotation on an object. Until this time (RFC 3339), corrections and deletions of the object may begin outside of the
/// target's windows.
pub const WINDOW_OPEN_UNTIL_ANNOTATION: &str = "driftpoller.dev/window-open-until";
/// Annotation on an object of a target that permits it: keys of the desired state that another owner manages, separated
/// by commas.
pub const IGNORE_ANNOTATION: &str = "driftpoller.dev/ignore";
/// Annotation on an object of a target that permits it: a longer interval between polls.
pub const INTERVAL_ANNOTATION: &str = "driftpoller.dev/interval";
/// Annotation on an object: the hash of the correction that a person approves.
pub const APPROVED_ANNOTATION: &str = "driftpoller.dev/approved";
/// Annotations that owners of objects may set.
pub const OBJECT_ANNOTATIONS: &[&str] = &[
    PAUSED_ANNOTATION,
    ORPHAN_ANNOTATION,
    POLL_REQUESTED_ANNOTATION,
    RETRY_REQUESTED_ANNOTATION,
    GIVE_UP_ANNOTATION,
    WINDOW_OPEN_UNTIL_ANNOTATION,
    IGNORE_ANNOTATION,
    INTERVAL_ANNOTATION,
    APPROVED_ANNOTATION,
];
/// Annotation on the poller's Lease: the attested targets, as JSON of target
/// name to [`crate::attestation::Attestation`].
pub const ATTESTED_TARGETS_ANNOTATION: &str = "driftpoller.dev/attested-targets";
/// Annotation on the poller's Lease: the verdicts that it cannot write, as JSON of [`crate::unwritten`].
pub const UNWRITTEN_ANNOTATION: &str = "driftpoller.dev/unwritten";

/// Annotation on the poller's Lease: the hash of the whole document of each attested target, as JSON of target name to
/// hash.
pub const ATTESTED_TEXTS_ANNOTATION: &str = "driftpoller.dev/attested-texts";
/// Annotation on the controller's Lease: the corrections that it holds, as JSON of [`crate::held_corrections`].
pub const HELD_CORRECTIONS_ANNOTATION: &str = "driftpoller.dev/held-corrections";

/// Annotation on each program's own Lease: the present and former selections of its targets, as a JSON list. It shows
/// where our conditions and finalizers may remain after a target is removed.
pub const SELECTIONS_ANNOTATION: &str = "driftpoller.dev/selections";

/// The value of an enabled label or annotation.
pub const TRUE: &str = "true";
