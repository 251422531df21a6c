use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use drift_api::condition::{Conditions, DesiredHash, SecretMarks};
use drift_api::held_corrections::BreakerCounts;
use drift_api::identity::{Claimant, ObjectRef, Ownership, Rights};
use drift_api::names::{FINALIZER, PAUSED_ANNOTATION};
use drift_api::object::{LeanObject, ObjectId};
use drift_language::{JobStage, SecretValues};
use drift_systems::{HttpReply, ReplyBody};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::*;
use crate::engine::corrections::outcome::Doubt;
use crate::engine::decide::mass_drift_breaker::Transition;
use crate::engine::execution::{Destinations, Event, Failure, News, Operation, Probes, Write};
use crate::engine::rendering::{JobReply, ObjectSecrets, Reply, Requests, SecretChange};

/// A target that shares nothing with other targets.
struct Alone {
    /// True if the poller attests the verdicts.
    attests: bool,
    /// True if a credential of the requests is missing.
    lacks_credential: bool,
}

impl Default for Alone {
    fn default() -> Self {
        Self { attests: true, lacks_credential: false }
    }
}

impl SharedState for Alone {
    fn insert(&mut self, _: &Uid, _: Claimant) -> Vec<Uid> {
        Vec::new()
    }

    fn remove(&mut self, _: &Uid) -> Vec<Uid> {
        Vec::new()
    }

    fn claim(&mut self, _: &Uid, _: Claimant) -> bool {
        true
    }

    fn rights(&self, _: &Uid, _: &Claimant) -> Rights {
        Rights { ownership: Ownership::Held, shared: false }
    }

    fn sees(&self, _: &ObjectRef) -> bool {
        true
    }

    fn note_listed(&mut self) {}

    fn is_scope_complete(&self, _: bool) -> bool {
        true
    }

    fn awaited(&self, _: bool) -> Option<String> {
        None
    }

    fn hold(&mut self, _: &Uid, _: Claimant) {}

    fn release(&mut self, _: &Uid) {}

    fn begin(&mut self, _: &Uid) -> bool {
        true
    }

    fn end(&mut self, _: &Uid) {}

    fn leave(&mut self) {}

    fn attestation(&self, _: Moment) -> Option<Attestation> {
        self.attests.then(|| Attestation { hash: "h".to_owned(), except: [].into_iter().collect() })
    }

    fn attests(&self, _: &ObjectId, _: Moment) -> bool {
        self.attests
    }

    fn secrets_of(&self, _: &LeanObject) -> Option<SecretMarks> {
        None
    }

    fn declared_secrets_of(&self, _: &LeanObject) -> Option<SecretMarks> {
        None
    }

    fn sent_secrets_of(&self, _: &LeanObject) -> Option<ObjectSecrets> {
        Some(ObjectSecrets::default())
    }

    fn may_begin(&self) -> bool {
        true
    }

    fn destinations(&self, _: &dyn Requests) -> Destinations {
        let missing = self.lacks_credential.then(|| (Doubt::SecretUnavailable, "no Secret x".to_owned()));
        Destinations { hosts: Vec::new(), missing }
    }

    fn take_probes(&self, _: &[String], _: Moment) -> Result<Probes, Moment> {
        Ok(Probes::new())
    }

    fn take_secret_change(&mut self) -> SecretChange {
        SecretChange::Beside(BTreeSet::new())
    }
}

const TARGET: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: roles}
spec:
  objects: {apiVersion: demo.example/v1, kind: Role}
  identity: "${self.metadata.name}"
  read: {http: {url: "https://h.example/roles/${self.metadata.name}"}}
  compare: {desired: {login: "${self.spec.login}"}}
  correct:
    mode: Correct
    http:
      create: [{method: PUT, url: "https://h.example/roles/${self.metadata.name}", body: "${desired}"}]
      delete: [{method: DELETE, url: "https://h.example/roles/${self.metadata.name}"}]
"#;

struct Bench {
    engine: Target<Alone>,
    now: Now,
}

impl Bench {
    fn new() -> Self {
        Self::of(TARGET)
    }

    fn of(text: &str) -> Self {
        let text = Arc::new(drift_language::fixtures::target(text));
        Self { engine: Target::new(text, Alone::default(), Handover::default()), now: Now::default() }
    }

    fn see(&mut self, uid: &str, version: u32, metadata: &Value) -> Vec<Effect> {
        let object = self.lean(uid, version, metadata);
        self.step(Input::Seen(Box::new(object)))
    }

    fn lean(&self, uid: &str, version: u32, metadata: &Value) -> LeanObject {
        let mut object = json!({
            "metadata": {"name": uid, "namespace": "a", "uid": uid, "resourceVersion": version.to_string(), "generation": 1},
            "spec": {"login": "yes"},
            "status": {"conditions": [{
                "type": "driftCorrected", "status": "True", "reason": "CorrectionApplied",
                "message": format!("correction 7, owns \"{uid}\": updated"),
            }]},
        });
        object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        LeanObject::prune(&object, &self.engine.text.all_fields)
    }

    /// The same with the verdict that its resource is missing.
    fn drifted(&self, version: u32, metadata: &Value) -> LeanObject {
        self.drifted_as("u", version, metadata)
    }

    fn drifted_as(&self, uid: &str, version: u32, metadata: &Value) -> LeanObject {
        let mut object = self.lean(uid, version, metadata);
        let desired_hash = DesiredHash::of(&json!([uid, {"login": "yes"}]));
        let verdict = json!({
            "type": "driftObserved", "status": "True", "reason": "ExternalMissing", "observedGeneration": 1,
            "message": format!("nothing is there [desired {desired_hash}, correction 7]"),
        });
        object.conditions = Conditions::from_status(Some(&json!({"conditions": [verdict, {
            "type": "driftCorrected", "status": "True", "reason": "CorrectionApplied",
            "message": format!("correction 7, owns \"{uid}\": updated"),
        }]})));
        object
    }

    fn done(&mut self, done: Event) -> Vec<Effect> {
        self.step(Input::Done("u".into(), done))
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        self.engine.step(self.now, input)
    }
}

/// Sums the reported changes of held objects.
fn held(effects: &[Effect]) -> BTreeMap<&'static str, i64> {
    let mut held = BTreeMap::new();
    for effect in effects {
        if let Effect::Report(Report::HeldBy(why, by)) = effect {
            *held.entry(why.as_str()).or_default() += by;
        }
    }
    held.retain(|_, count| *count != 0);
    held
}

#[test]
fn reports_add_up_to_what_is_held_and_to_nothing() {
    let mut bench = Bench::new();
    let paused = json!({"annotations": {PAUSED_ANNOTATION: "true"}});
    let mut effects = bench.see("u", 1, &paused);
    effects.extend(bench.see("v", 1, &paused));
    effects.extend(bench.step(Input::Listed));
    effects.extend(bench.step(Input::Tick));
    assert_eq!(held(&effects), BTreeMap::from([("Paused", 2)]));
    effects.extend(bench.step(Input::Left("v".into())));
    assert_eq!(held(&effects), BTreeMap::from([("Paused", 1)]));
    effects.extend(bench.engine.supersede(bench.now).1);
    assert_eq!(held(&effects), BTreeMap::new(), "the gauge forgets the target");
}

#[test]
fn a_hold_is_measured_once_it_ends() {
    let mut bench = Bench::new();
    let ended = |effects: &[Effect]| -> Vec<_> {
        let span = |effect: &Effect| match effect {
            Effect::Report(Report::HeldFor(why, lasted)) => Some((*why, lasted.as_secs())),
            _ => None,
        };
        effects.iter().filter_map(span).collect()
    };
    let paused = json!({"annotations": {PAUSED_ANNOTATION: "true"}});
    let mut effects = bench.step(Input::Listed);
    effects.extend(bench.see("u", 1, &paused));
    for _ in 0..4 {
        effects.extend(bench.step(Input::Tick));
        bench.now.moment += Duration::from_secs(10);
    }
    assert_eq!(ended(&effects), [], "it lasts");
    effects = bench.see("u", 2, &json!({}));
    effects.extend(bench.step(Input::Tick));
    assert_eq!(ended(&effects), [(Held::Paused, 40)]);
    effects = bench.see("v", 1, &paused);
    effects.extend(bench.step(Input::Tick));
    bench.now.moment += Duration::from_secs(7);
    effects.extend(bench.step(Input::Left("v".into())));
    assert_eq!(ended(&effects), [(Held::Paused, 7)]);
    bench.now.moment += Duration::from_secs(7);
    assert_eq!(ended(&bench.step(Input::Left("u".into()))), [], "what holds nobody up is not measured");
}

#[test]
fn a_paused_deletion_is_reported_once() {
    let mut bench = Bench::new();
    let deleting = json!({
        "annotations": {PAUSED_ANNOTATION: "true"}, "finalizers": [FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z",
    });
    let mut effects = bench.step(Input::Listed);
    for version in 1..4 {
        effects.extend(bench.see("u", version, &deleting));
        effects.extend(bench.step(Input::Tick));
        bench.now.moment += Duration::from_secs(1);
    }
    let reports = effects.iter().filter(|effect| matches!(effect, Effect::Report(Report::DeletionHeld(..))));
    assert_eq!(reports.count(), 1);
}

/// The reports of holds, in their order.
fn published(effects: &[Effect]) -> Vec<&TargetHeld> {
    let report = |effect| match effect {
        &Effect::Report(Report::Holds(ref held)) => Some(held),
        _ => None,
    };
    effects.iter().filter_map(report).collect()
}

#[test]
fn an_open_breaker_is_published_until_it_closes() {
    let mut bench = Bench::new();
    let mut effects = bench.step(Input::Listed);
    effects.extend(bench.step(Input::Tick));
    assert_eq!(published(&effects), [&TargetHeld::default()]);
    for number in 0..12 {
        let object = bench.drifted_as(&format!("u{number}"), 1, &json!({}));
        effects.extend(bench.step(Input::Seen(Box::new(object))));
    }
    let counts = BreakerCounts { drifted: 12, judged: 12, limit: 20 };
    let open = TargetHeld { breaker: Some(counts), ..TargetHeld::default() };
    effects = bench.step(Input::Tick);
    assert_eq!(published(&effects), [&open]);
    for _ in 0..3 {
        bench.now.moment += HOUSEKEEPING;
        assert_eq!(published(&bench.step(Input::Tick)), Vec::<&TargetHeld>::new(), "a steady state reports nothing");
    }
    for number in 0..12 {
        bench.step(Input::Left(format!("u{number}").as_str().into()));
    }
    assert_eq!(published(&bench.step(Input::Tick)), [&TargetHeld::default()]);
}

/// The transitions of the breaker, in their order.
fn transitions(effects: &[Effect]) -> Vec<Transition> {
    let report = |effect: &Effect| match effect {
        Effect::Report(Report::Breaker(transition)) => Some(*transition),
        _ => None,
    };
    effects.iter().filter_map(report).collect()
}

#[test]
fn an_edited_limit_says_if_it_suffices() {
    let limited = |limits: &str| TARGET.replace("mode: Correct", &format!("mode: Correct\n    limits: {limits}"));
    let counts = BreakerCounts { drifted: 12, judged: 12, limit: 20 };
    for (limits, expected, is_corrected) in [
        ("{perMinute: 1, maxDriftedPercent: 5}", vec![], false),
        ("{perMinute: 601}", vec![], false),
        ("{maxDriftedPercent: 30}", vec![Transition::StaysOpen(counts, 30)], false),
        ("{maxDriftedPercent: 100}", vec![Transition::Closed], true),
    ] {
        let mut bench = Bench::new();
        let list = |bench: &mut Bench| {
            for number in 0..12 {
                let object = bench.drifted_as(&format!("u{number:02}"), 1, &json!({"finalizers": [FINALIZER]}));
                bench.step(Input::Seen(Box::new(object)));
            }
            bench.step(Input::Listed);
            bench.now.moment += Duration::from_secs(60);
            bench.step(Input::Tick)
        };
        assert_eq!(transitions(&list(&mut bench)), [Transition::Opened(counts)]);
        let (handover, _) = bench.engine.supersede(bench.now);
        let text = Arc::new(drift_language::fixtures::target(&limited(limits)));
        bench.engine = Target::new(text, Alone::default(), handover);
        let effects = list(&mut bench);
        assert_eq!(transitions(&effects), expected, "{limits}");
        assert_eq!(!operations(&effects).is_empty(), is_corrected, "{limits}: {effects:?}");
    }
}

#[test]
fn an_unsendable_correction_is_published_with_its_next_try() {
    let mut bench = Bench::new();
    let object = Box::new(bench.drifted(1, &json!({"finalizers": [FINALIZER]})));
    bench.step(Input::Seen(object.clone()));
    bench.step(Input::Listed);
    bench.now.moment += Duration::from_secs(60);
    bench.engine.program.lacks_credential = true;
    bench.step(Input::Tick);
    let recorded = bench.drifted(2, &json!({"finalizers": [FINALIZER]}));
    bench.done(Event::Written(Ok(Box::new(recorded))));
    bench.step(Input::Tick);
    bench.now.moment += HOUSEKEEPING;
    let effects = bench.step(Input::Tick);
    let held = published(&effects);
    let listed = held.last().map(|held| &held.objects[..]);
    let uid = Uid::from("u");
    assert!(matches!(listed, Some([(listed, Held::Unsendable, Some(_))]) if *listed == uid), "{held:?}");
    bench.step(Input::Left("u".into()));
    bench.now.moment += HOUSEKEEPING;
    assert_eq!(published(&bench.step(Input::Tick)), [&TargetHeld::default()]);
}

#[test]
fn a_step_ends_with_the_time_of_the_next() {
    let mut bench = Bench::new();
    let wake = |effects: Vec<Effect>| match effects.last() {
        Some(Effect::WakeAt(at)) => *at,
        other => panic!("{other:?}"),
    };
    let housekeeping = wake(bench.step(Input::Tick));
    assert!(housekeeping > bench.now.moment, "nothing is due at once");
    bench.now.moment = housekeeping;
    assert!(wake(bench.step(Input::Tick)) > housekeeping);
}

/// Returns the operations for the object, and their end.
fn operations(effects: &[Effect]) -> Vec<&'static str> {
    let operation = |effect: &Effect| match effect {
        Effect::Do(_, Operation::Read(_)) => Some("read"),
        Effect::Do(_, Operation::ReadAgain) => Some("read again"),
        Effect::Do(_, Operation::ReadHolders(..)) => Some("read holders"),
        Effect::Do(_, Operation::Write(_)) => Some("write"),
        Effect::Do(_, Operation::Send(_)) => Some("send"),
        Effect::End(_) => Some("end"),
        _ => None,
    };
    effects.iter().filter_map(operation).collect()
}

/// An object whose deletion begins.
fn deleting() -> Bench {
    let mut bench = Bench::new();
    bench.see("u", 1, &json!({"finalizers": [FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z"}));
    bench.step(Input::Listed);
    let effects = bench.step(Input::Tick);
    assert_eq!(operations(&effects), ["read"]);
    bench
}

#[test]
fn what_is_under_way_outlives_the_text() {
    let mut bench = deleting();
    let (_, effects) = bench.engine.supersede(bench.now);
    assert!(bench.engine.is_at_work() && operations(&effects).is_empty(), "{effects:?}");
    // No decision follows the read.
    let object = bench.lean("u", 2, &json!({}));
    let effects = bench.step(Input::Done("u".into(), Event::Read(Ok(Some(Box::new(object))))));
    assert_eq!(operations(&effects), ["end"]);
    assert!(!bench.engine.is_at_work());
    assert!(operations(&bench.step(Input::Tick)).is_empty());
}

#[test]
fn a_correction_that_lacks_a_secret_reads_nothing() {
    let mut bench = Bench::new();
    bench.engine.program.lacks_credential = true;
    bench.see("u", 1, &json!({"finalizers": [FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z"}));
    bench.step(Input::Listed);
    let effects = bench.step(Input::Tick);
    assert_eq!(operations(&effects), ["write"], "only its condition says so");
    let causes = |effects: &[Effect]| effects.iter().filter(|effect| is_cause(effect, false)).count();
    assert_eq!(causes(&effects), 1);
}

/// Returns true if the effect reports why a correction cannot be sent.
fn is_cause(effect: &Effect, known: bool) -> bool {
    matches!(effect, Effect::Report(Report::Correction { news: News::Unsendable(_), is_known, .. }) if *is_known == known)
}

/// A creation whose request is running.
fn sent() -> Bench {
    let mut bench = Bench::new();
    let object = Box::new(bench.drifted(1, &json!({"finalizers": [FINALIZER]})));
    bench.step(Input::Seen(object.clone()));
    bench.step(Input::Listed);
    bench.now.moment += Duration::from_secs(60);
    let effects = bench.step(Input::Tick);
    assert_eq!(operations(&effects), ["read"]);
    let effects = bench.done(Event::Read(Ok(Some(object))));
    assert_eq!(operations(&effects), ["send"]);
    bench
}

/// A Job that was created.
fn running_job() -> Bench {
    let (before, _) = TARGET.split_once("    http:\n").unwrap();
    let job = r#"    job:
      create:
        activeDeadlineSeconds: 60
        template:
          spec:
            securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
            containers:
            - name: tool
              image: registry.example/tool:1
              securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
"#;
    let mut bench = Bench::of(&format!("{before}{job}"));
    let object = Box::new(bench.drifted(1, &json!({})));
    bench.step(Input::Seen(object.clone()));
    bench.step(Input::Listed);
    bench.now.moment += Duration::from_secs(60);
    bench.step(Input::Tick);
    let effects = bench.done(Event::Read(Ok(Some(object.clone()))));
    assert_eq!(operations(&effects), ["send"], "a look at other Jobs");
    let effects = bench.done(Event::Replied(Reply::Job(JobReply::Clear)));
    assert_eq!(operations(&effects), ["write"], "the announcement");
    let effects = bench.done(Event::Written(Ok(object)));
    assert_eq!(operations(&effects), ["send"]);
    bench
}

/// A creation whose outcome the API server temporarily refuses.
fn unrecorded() -> Bench {
    let mut bench = sent();
    let response =
        HttpReply { status: StatusCode::CREATED, headers: HeaderMap::new(), body: ReplyBody::Whole(Vec::new()) };
    let effects = bench.done(Event::Replied(Reply::Http { response: Ok(response), sent: SecretValues::default() }));
    assert_eq!(operations(&effects), ["write"]);
    let effects = bench.done(Event::Written(Err(Failure::Unavailable)));
    assert!(operations(&effects).is_empty(), "it waits: {effects:?}");
    bench
}

#[test]
fn a_job_that_stalls_after_an_edit_holds_nothing() {
    for is_superseded in [false, true] {
        let mut bench = running_job();
        if is_superseded {
            assert!(held(&bench.engine.supersede(bench.now).1).is_empty());
        }
        let open = JobReply::Open(Some(JobStage::WithoutPod));
        let effects = bench.done(Event::Replied(Reply::Job(open)));
        assert_eq!(held(&effects).is_empty(), is_superseded, "{effects:?}");
    }
}

#[test]
fn a_deletion_cuts_a_pause_short_once() {
    let mut bench = unrecorded();
    let change = bench.drifted(2, &json!({"finalizers": [FINALIZER]}));
    let effects = bench.step(Input::Seen(Box::new(change)));
    assert!(operations(&effects).is_empty(), "a living object waits: {effects:?}");
    let deleting = json!({"finalizers": [FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z"});
    let deleted = bench.drifted(3, &deleting);
    let effects = bench.step(Input::Seen(Box::new(deleted)));
    assert_eq!(operations(&effects), ["read again"]);
    let deleted = bench.drifted(4, &deleting);
    assert!(operations(&bench.step(Input::Seen(Box::new(deleted)))).is_empty());
}

#[test]
fn objects_are_decided_on_again_when_the_attestation_comes() {
    let mut bench = Bench::new();
    bench.engine.program.attests = false;
    let drifted = bench.drifted(1, &json!({"finalizers": [FINALIZER]}));
    bench.step(Input::Seen(Box::new(drifted)));
    bench.step(Input::Listed);
    bench.now.moment += Duration::from_secs(60);
    assert!(operations(&bench.step(Input::Tick)).is_empty());
    bench.engine.program.attests = true;
    bench.now.moment += Duration::from_millis(1);
    let mut effects = bench.step(Input::AttestationChanged);
    effects.extend(bench.step(Input::Tick));
    assert_eq!(operations(&effects), ["read"]);
}

#[test]
fn the_live_read_is_what_the_approval_must_match() {
    let text = TARGET
        .replace("mode: Correct", "mode: Approve")
        .replace("body: \"${desired}\"", "body: \"${desired}\", headers: {owner: \"${self.metadata.labels.owner}\"}");
    let mut bench = Bench::of(&text);
    let metadata = |owner: &str, approved: Option<&str>| {
        let annotations = approved.map(|hash| json!({"driftpoller.dev/approved": hash}));
        json!({"finalizers": [FINALIZER], "labels": {"owner": owner}, "annotations": annotations})
    };
    // The hash that the engine asks for.
    let asked = |effects: &[Effect]| {
        effects.iter().find_map(|effect| match effect {
            Effect::Do(_, Operation::Write(Write::Status(status, _))) => status.awaits_approval().map(str::to_owned),
            _ => None,
        })
    };
    let see = |bench: &mut Bench, version: u32, metadata: &Value| {
        let object = bench.drifted(version, metadata);
        bench.step(Input::Seen(Box::new(object)));
        bench.step(Input::Tick)
    };
    let read = |bench: &mut Bench, version: u32, metadata: &Value| {
        let object = bench.drifted(version, metadata);
        bench.done(Event::Read(Ok(Some(Box::new(object)))))
    };
    see(&mut bench, 1, &metadata("alice", None));
    bench.step(Input::Listed);
    bench.now.moment += Duration::from_secs(60);
    let hash = asked(&bench.step(Input::Tick)).unwrap();
    bench.done(Event::Written(Err(Failure::Moved)));
    bench.now.moment += Duration::from_secs(60);
    let effects = see(&mut bench, 2, &metadata("alice", Some(&hash)));
    assert_eq!(operations(&effects), ["read"], "it may be sent");
    let again = asked(&read(&mut bench, 3, &metadata("root", Some(&hash))));
    assert!(again.is_some_and(|again| again != hash), "the label changed before the live read");
}

#[test]
fn a_former_target_corrects_again_once_it_is_live() {
    let mut bench = Bench::new();
    bench.step(Input::StateChanged(TargetState::Former));
    let drifted = bench.drifted(1, &json!({"finalizers": [FINALIZER]}));
    bench.step(Input::Seen(Box::new(drifted)));
    bench.step(Input::Listed);
    bench.now.moment += Duration::from_secs(60);
    assert!(operations(&bench.step(Input::Tick)).is_empty());
    bench.now.moment += Duration::from_millis(1);
    let mut effects = bench.step(Input::StateChanged(TargetState::Live));
    effects.extend(bench.step(Input::Tick));
    assert_eq!(operations(&effects), ["read"]);
}

/// An object of a target whose create is a POST, with these conditions.
fn posted(bench: &Bench, uid: &str, version: u32, observed: (&str, &str), record: &str) -> Input {
    let mut object = bench.lean(uid, version, &json!({"finalizers": [FINALIZER]}));
    let desired_hash = DesiredHash::of(&json!([uid, {"login": "yes"}]));
    let (reason, tag) = observed;
    let status = if reason == "InSync" { "False" } else { "True" };
    let verdict = json!({
        "type": "driftObserved", "status": status, "reason": reason, "observedGeneration": 1,
        "message": format!("text [desired {desired_hash}, {tag}]"),
    });
    object.conditions = Conditions::from_status(Some(&json!({"conditions": [verdict, {
        "type": "driftCorrected", "status": "False", "reason": "CorrectionFailed", "message": record,
    }]})));
    Input::Seen(Box::new(object))
}

#[test]
fn one_create_is_open_until_the_read_has_found_something() {
    let text = TARGET.replace(
        "{method: PUT, url: \"https://h.example/roles/${self.metadata.name}\"",
        "{method: POST, url: \"https://h.example/roles\"",
    );
    let absent =
        |bench: &Bench, uid: &str| posted(bench, uid, 1, ("ExternalMissing", "correction 7"), "correction 7: failed");
    let mut bench = Bench::of(&text);
    for uid in ["a", "b", "c"] {
        bench.step(absent(&bench, uid));
    }
    bench.step(Input::Listed);
    bench.now.moment += Duration::from_secs(60);
    let effects = bench.step(Input::Tick);
    assert_eq!((operations(&effects).len(), held(&effects)), (1, [("ReadUnproved", 2)].into()));
    // A create that was never sent is none.
    bench.step(Input::Done("a".into(), Event::Read(Ok(None))));
    let effects = bench.step(Input::Tick);
    assert_eq!((operations(&effects).len(), held(&effects)), (1, [("ReadUnproved", -1)].into()));

    let scope = bench.engine.text.scope.id;
    let owned = |ending: &str| format!("correction 8, owns \"a\": create: no answer [scope {scope}{ending}]");
    let in_doubt = owned(", creating 8-3f2a9c71-1");
    let mut bench = Bench::of(&text);
    let open = posted(&bench, "a", 1, ("ExternalMissing", "correction 7"), &in_doubt);
    bench.step(open);
    bench.step(absent(&bench, "b"));
    bench.step(Input::Listed);
    bench.now.moment += Duration::from_secs(60);
    let effects = bench.step(Input::Tick);
    assert_eq!((operations(&effects).len(), held(&effects).get("ReadUnproved")), (0, Some(&1)), "it was sent");
    let unfound = posted(&bench, "a", 2, ("ExternalMissing", "unfound, correction 8"), &in_doubt);
    bench.step(unfound);
    assert_eq!(held(&bench.step(Input::Tick)).get("ReadUnproved"), None, "the read does not find it");
    let found = posted(&bench, "a", 3, ("InSync", "correction 8"), &owned(""));
    bench.step(found);
    let effects = bench.step(Input::Tick);
    assert_eq!(held(&effects).get("ReadUnproved"), Some(&-1), "{effects:?}");
}

#[test]
fn nothing_is_done_about_words_of_a_newer_version() {
    for (tag, record) in [
        ("later, correction 7", "correction 7, owns \"u\": text [scope 3f2a9c71]"),
        ("correction 7", "correction 7, owns \"u\": text [scope 3f2a9c71, later 9]"),
    ] {
        let mut bench = Bench::new();
        bench.step(posted(&bench, "u", 1, ("ExternalMissing", tag), record));
        bench.step(Input::Listed);
        bench.now.moment += Duration::from_secs(60);
        let effects = bench.step(Input::Tick);
        assert_eq!((operations(&effects).len(), held(&effects)), (0, [("NewerVersion", 1)].into()), "{tag} {record}");
        let Input::Seen(mut deleting) = posted(&bench, "u", 2, ("ExternalMissing", tag), record) else {
            unreachable!()
        };
        deleting.deleting = true;
        bench.step(Input::Seen(deleting));
        assert!(operations(&bench.step(Input::Tick)).is_empty(), "not even the finalizer is removed");
    }
}
