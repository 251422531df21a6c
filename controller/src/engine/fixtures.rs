//! Objects and situations for the tests of the engine.

use std::time::Duration;

use drift_api::condition::{
    Claim, Conditions, CorrectedReason, CorrectionStatus, DesiredHash, DifferingFields, ObservedReason, Placed,
    SecretMarks, StoredIds, Tag, Verdict,
};
use drift_api::identity::{Ownership, ResourceName, Rights, ScopeId};
use drift_api::names::FINALIZER;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::object_view::ObjectView;
use drift_api::timing::moment::Moment;
use drift_language::{Actions, CorrectLimits, Destination, Existing, Mode, RepeatedCreate};
use serde_json::json;

use crate::engine::correction_limits::Room;
use crate::engine::corrections::{Action, Correction, Doubt, FailedStep, Outcome, Reach, Refusal, Uncertainty};
use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::decide::situation::{Situation, Surroundings};
use crate::engine::memory::ObjectMemory;
use crate::engine::rendering::sent_secrets::SentSecrets;
use crate::engine::rendering::{CorrectionJob, Unrenderable};

/// A situation that owns its parts. By default, a drifted object of ours is about to be updated.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Scene {
    pub(in crate::engine) object: LeanObject,
    pub(in crate::engine) facts: ObjectFacts,
    pub(in crate::engine) target: TargetFacts,
    pub(in crate::engine) memory: ObjectMemory,
    pub(in crate::engine) secrets: Option<SecretMarks>,
    pub(in crate::engine) declared_secrets: Option<SecretMarks>,
    pub(in crate::engine) surroundings: Surroundings,
    pub(in crate::engine) now: Moment,
}

pub(in crate::engine) const CORRECT_HASH: u64 = 42;

pub(in crate::engine) fn at(seconds: u64) -> Moment {
    Moment::from_start(Duration::from_secs(seconds))
}

pub(in crate::engine) fn desired_hash() -> DesiredHash {
    DesiredHash::of(&json!("as desired"))
}

pub(in crate::engine) fn bare_object() -> LeanObject {
    let metadata = json!({
        "namespace": "team-a", "name": "orders", "uid": "u-1", "resourceVersion": "5", "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    LeanObject::prune(&json!({"metadata": metadata, "status": {"conditions": []}}), &FieldPaths::default())
}

pub(in crate::engine) fn target() -> TargetFacts {
    TargetFacts {
        kind: "Database.example.com".into(),
        mode: Mode::Correct,
        existing: Existing::Refuse,
        limits: CorrectLimits { concurrent: 4, per_minute: 60, max_drifted_percent: 20, attempts: 10 },
        actions: Actions { create: true, update: true, ..Actions::default() },
        repeated_create: RepeatedCreate::Harmless,
        read_finds_created: true,
        by_job: false,
        settle: Duration::ZERO,
        correct_hash: CORRECT_HASH,
        verdict_hash: "1".into(),
        sends: SentSecrets::default(),
        stores: Box::default(),
    }
}

pub(in crate::engine) fn facts() -> ObjectFacts {
    ObjectFacts {
        desired_hash: Some(desired_hash()),
        identity: Some("db".into()),
        scope: Some(scope()),
        suspended: Some(false),
        allowed: Some(true),
        stored: StoredIds::default(),
    }
}

pub(in crate::engine) fn set_observed(conditions: &mut Conditions, verdict: &Verdict) {
    let condition = verdict.to_condition(conditions.observed(), "2026-01-01T00:00:00Z");
    conditions.observed = Some(Placed::new(0, condition));
}

pub(in crate::engine) fn set_corrected(conditions: &mut Conditions, status: &CorrectionStatus) {
    let condition = status.to_condition(conditions.corrected(), "2026-01-01T00:00:00Z");
    conditions.corrected = condition.map(|condition| Box::new(Placed::new(1, condition)));
}

fn scope() -> ScopeId {
    ScopeId::of("GET http://h/${…}")
}

/// A resource in the scope of the target.
pub(in crate::engine) fn resource(identity: &str) -> ResourceName {
    ResourceName { scope: scope(), identity: identity.into() }
}

/// Returns a resource in another scope.
pub(in crate::engine) fn elsewhere(identity: &str) -> ResourceName {
    ResourceName { scope: ScopeId::of("elsewhere"), ..resource(identity) }
}

pub(in crate::engine) fn owns(identity: &str) -> Option<Claim> {
    Some(Claim::Owns(resource(identity).into()))
}

pub(in crate::engine) fn claims(identity: &str) -> Option<Claim> {
    Some(Claim::Claims(resource(identity).into()))
}

/// The same claim, made in another scope.
pub(in crate::engine) fn moved(claim: Option<Claim>) -> Option<Claim> {
    claim.map(|claim| match claim {
        Claim::Owns(name) => Claim::Owns(elsewhere(&name.identity).into()),
        Claim::Claims(name) => Claim::Claims(elsewhere(&name.identity).into()),
    })
}

/// Returns a status without a reason.
pub(in crate::engine) fn status(correction: u64, claim: Option<Claim>) -> CorrectionStatus {
    CorrectionStatus { correction, claim, ..CorrectionStatus::default() }
}

/// The eighth correction of an object that is ours.
pub(in crate::engine) fn correction(action: Action) -> Correction {
    Correction {
        action,
        number: 8,
        resource: resource("db"),
        claim_first: false,
        put_finalizer: false,
        generation: Some(3),
        desired_hash: Some(desired_hash()),
        fields: DifferingFields::default(),
        correct_hash: CORRECT_HASH,
        sent_versions: 0,
        approved_secrets: SecretMarks::new(),
        before: status(7, owns("db")),
        was_in_doubt: false,
        resumes: false,
        by_job: false,
        was_begun: false,
        creating: None,
        looks_first: false,
        looks_again: false,
        expects_resource: false,
    }
}

/// A first step that was refused.
pub(in crate::engine) fn refused(status: u16) -> Outcome {
    let reach = if status >= 400 { Reach::Unwritten } else { Reach::FirstWrite };
    Outcome::Refused(FailedStep { label: None, reach }, Refusal { code: status.into(), because: None })
}

/// Returns an outcome in doubt at the first step.
pub(in crate::engine) fn doubtful(why: Doubt) -> Outcome {
    doubtful_until(why, None)
}

/// The same, with a delay that the external system requested.
pub(in crate::engine) fn doubtful_until(why: Doubt, retry_after: Option<Duration>) -> Outcome {
    let reach = match why {
        why if why.asked_nobody() => Reach::Unsent,
        why if why.sent_nothing() => Reach::Unwritten,
        _ => Reach::FirstWrite,
    };
    Outcome::Doubtful(FailedStep { label: None, reach }, Uncertainty { retry_after, ..Uncertainty::unanswered(why) })
}

/// Returns a Job that updates.
pub(in crate::engine) fn job_of(
    change: impl FnOnce(&mut LeanObject, &mut Correction),
) -> Result<CorrectionJob, Unrenderable> {
    let text = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: tools}
spec:
  objects: {apiVersion: demo.example/v1, kind: Role}
  identity: "${self.metadata.name}"
  read: {http: {url: "https://h.example/x"}}
  compare: {desired: {login: "${self.spec.login}"}}
  correct:
    mode: Correct
    job:
      update:
        activeDeadlineSeconds: 60
        template:
          metadata: {labels: {app: tool}}
          spec:
            securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
            containers:
            - name: tool
              image: registry.example/tool:1
              args: ["${correction}", "${desired.login}"]
              securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
"#;
    let target = drift_language::fixtures::target(text);
    let Some(Destination::Job(job)) = &target.correct.destination else { return Err(Unrenderable::new("no Job")) };
    let (mut object, mut correction) = (bare_object(), correction(Action::Update));
    object.view = ObjectView::of(&json!({"spec": {"login": true}}));
    change(&mut object, &mut correction);
    CorrectionJob::new(&target, job, &object, &correction)
}

/// The same, as a correction creates it.
pub(crate) fn correction_job() -> CorrectionJob {
    job_of(|_, _| {}).unwrap_or_else(|error| unreachable!("{error}"))
}

impl Scene {
    pub(in crate::engine) fn new() -> Self {
        let surroundings = Surroundings {
            listed: true,
            state: drift_language::TargetState::Live,
            rights: Rights { ownership: Ownership::Held, shared: false },
            scope_complete: true,
            attested: true,
            breaker_holds: false,
            window_opens: None,
            may_create: true,
            room: Room::Free,
        };
        let memory = ObjectMemory::new(at(0), None);
        Self {
            object: bare_object(),
            facts: facts(),
            target: target(),
            memory,
            secrets: None,
            declared_secrets: None,
            surroundings,
            now: at(1000),
        }
        .corrected(CorrectedReason::CorrectionApplied, 7, owns("db"))
        .observed(ObservedReason::FieldsDiffer)
    }

    /// Sets the current verdict for this generation, desired state and K.
    pub(in crate::engine) fn observed(self, reason: ObservedReason) -> Self {
        let correction = self.object.conditions.correction();
        self.observed_with(reason, Tag { desired_hash: Some(desired_hash()), correction, ..Tag::default() })
    }

    pub(in crate::engine) fn observed_with(mut self, reason: ObservedReason, tag: Tag) -> Self {
        let verdict = Verdict { reason, text: "text".into(), tag, generation: self.object.generation };
        set_observed(&mut self.object.conditions, &verdict);
        self
    }

    /// Sets the controller's current status.
    pub(in crate::engine) fn corrected(
        mut self,
        reason: CorrectedReason,
        correction: u64,
        claim: Option<Claim>,
    ) -> Self {
        let status = status(correction, claim).keeping(reason, "text", self.object.generation);
        set_corrected(&mut self.object.conditions, &status);
        self
    }

    pub(in crate::engine) fn without_status(mut self) -> Self {
        self.object.conditions.corrected = None;
        self
    }

    pub(in crate::engine) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(in crate::engine) fn with_finalizer(self) -> Self {
        self.with(|scene| scene.object.finalizers = [FINALIZER.into()].into())
    }

    pub(in crate::engine) fn giving_up(self, identity: &str) -> Self {
        self.with(|scene| scene.object.asked.get_or_insert_default().give_up = Some(identity.into()))
    }

    pub(in crate::engine) fn situation(&self) -> Situation<'_> {
        Situation {
            object: &self.object,
            facts: &self.facts,
            target: &self.target,
            memory: &self.memory,
            secrets: self.secrets.as_ref(),
            declared_secrets: self.declared_secrets.as_ref(),
            surroundings: self.surroundings.clone(),
            now: self.now,
        }
    }

    pub(in crate::engine) fn decide(&self) -> crate::engine::decide::decision::Decision {
        crate::engine::decide::decide(&self.situation())
    }
}
