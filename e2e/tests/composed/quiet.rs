//! The end of a history: faults stop, rejections are lifted, and within a bounded time everything must be correct and
//! stay so.
//!
//! The correct state follows only from the objects, the targets and the claims.

use drift_api::condition::{ConditionStatus, CurrentVerdict, ObservedReason};
use drift_api::identity::Uid;
use drift_api::names::{
    DRIFT_CORRECTED, DRIFT_OBSERVED, FINALIZER, GIVE_UP_ANNOTATION, POLL_REQUESTED_ANNOTATION,
    RETRY_REQUESTED_ANNOTATION,
};
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_language::TargetState;
use serde_json::{Value, json};

use crate::approvals::approve;
use crate::events::{Event, OBJECTS, apply, keys};
use crate::jobs::JobEvent;
use crate::ledger::{entry, owns};
use crate::outside::{Answers, Fault};
use crate::targets::{NAMES, Text, gives_up, named, owner, owner_of, target};
use crate::watch::uid_of;
use crate::world::{Who, World};

/// Seconds between two checks: less than the silence after which a verdict is too old.
const STEP: u64 = 100;
/// Number of consecutive checks without a write that count as quiet: longer than the longest pause between corrections.
const QUIET_STEPS: usize = 5;
/// Maximum number of checks: more than twice the hour between two attempts of an exhausted object.
const MOST_LOOKS: usize = 100;

/// The rejection that stays to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// No rejection at all.
    Free,
    /// No status can be written, and every object is deleted. The deletions must complete, except for one that finds
    /// nothing where the last verdict found the resource, or a create in doubt may have made it.
    StatusRefused,
    /// Another writer undoes the same thing every other second for five minutes. We answer at our own pace.
    War(War),
}

/// A repeated action of another writer on every object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum War {
    StripObserved,
    StripCorrected,
    AlterObserved,
    AlterCorrected,
    StripFinalizer,
    ChangeOutside,
    /// The external system accepts every write and changes nothing.
    IgnoreWrites,
    /// No read shows a resource, and its creation is refused because it exists.
    Hide,
}

/// All repeated actions of another writer.
pub(crate) const WARS: [War; 8] = [
    War::StripObserved,
    War::StripCorrected,
    War::AlterObserved,
    War::AlterCorrected,
    War::StripFinalizer,
    War::ChangeOutside,
    War::IgnoreWrites,
    War::Hide,
];

/// Number of repetitions.
const BATTLES: u8 = 150;
/// Writes to two objects in that time: six at once and one a minute each, by each program, plus those of a correction.
const MOST_WRITES: usize = 80;
/// Corrections of two objects in ten minutes.
const MOST_CORRECTIONS: usize = 18;

/// Advances everything until it is quiet.
pub(crate) fn come_to_rest(world: &mut World, ending: Ending) {
    lift_bars(world, ending);
    if let Ending::War(war) = ending {
        settle(world, Ending::Free);
        wage(world, war);
    }
    settle(world, ending);
}

/// Repeats the action for five minutes.
fn wage(world: &mut World, war: War) {
    let (writes, requests, contradicted) = (world.ledger.writes, world.outside.writes, world.outside.contradicted);
    let objects = world.api.objects.len();
    if war == War::IgnoreWrites {
        let ignored = Fault::Maintenance;
        world.outside.answers = Answers { writes: ignored, deletions: ignored, ..Answers::default() };
    }
    for battle in 0..BATTLES {
        for object in 0..OBJECTS.len() {
            let value = battle % 7;
            apply(
                world,
                &match war {
                    War::StripObserved => Event::Strip { object, observed: true },
                    War::StripCorrected => Event::Strip { object, observed: false },
                    War::AlterObserved => Event::Alter { object, observed: true, value },
                    War::AlterCorrected => Event::Alter { object, observed: false, value },
                    War::StripFinalizer => Event::StripFinalizer { object },
                    War::ChangeOutside | War::IgnoreWrites => Event::Change { resource: object, value: value + 10 },
                    War::Hide => Event::Hide { resource: object, hidden: true },
                },
            );
        }
        world.clock.moment += std::time::Duration::from_secs(2);
        world.hear();
        world.rest();
        if world.ledger.violation.is_some() {
            return;
        }
    }
    world.outside.answers = Answers::default();
    world.outside.hidden.clear();
    let contradicted = world.outside.contradicted - contradicted;
    // One create for each object, because the next one is due in an hour.
    if contradicted > objects {
        world
            .ledger
            .violate(format!("what exists is created again and again: {contradicted} times for {objects} objects"));
    }
    let (writes, requests) = (world.ledger.writes - writes, world.outside.writes - requests);
    // A replacement deletes, makes and updates.
    let replaces = world.documents.values().any(|text| text.replaces);
    let for_each = world.documents.values().any(|text| text.for_each);
    if writes > MOST_WRITES || requests > MOST_CORRECTIONS * if replaces || for_each { 3 } else { 2 } {
        world.ledger.violate(format!(
            "another writer is answered without a limit: {war:?} with {writes} writes and {requests} requests"
        ));
    }
}

fn settle(world: &mut World, ending: Ending) {
    if world.ledger.violation.is_some() {
        return;
    }
    let mut quiet = 0;
    let mut before = (world.ledger.writes, world.outside.writes);
    let mut wrong = None;
    for look in 0..MOST_LOOKS {
        world.clock.moment += std::time::Duration::from_secs(STEP);
        confirm(world, look);
        world.hear();
        world.rest();
        if world.ledger.violation.is_some() {
            return;
        }
        let now = (world.ledger.writes, world.outside.writes);
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
        wrong = whats_wrong(world, ending);
        if wrong.is_none() && (quiet >= QUIET_STEPS || ending == Ending::StatusRefused) {
            return;
        }
    }
    world.ledger.violate(wrong.unwrap_or_else(|| "it is never quiet".to_owned()));
}

/// Looks between two requests of a person. Each repeats a deletion, whose result takes two polls to confirm.
const LOOKS_BETWEEN_REQUESTS: usize = 4;

/// Approves as a person what waits for it, and confirms that the resources are gone that the read does not find any more, and that a resource whose
/// replacement did not help is replaced once more.
fn confirm(world: &mut World, look: usize) {
    OBJECTS.into_iter().for_each(|name| approve(world, name));
    let is_lost = |object: &Value| entry(object, DRIFT_OBSERVED).is_some_and(|entry| entry["reason"] == "AllMissing");
    let is_held = |object: &Value| is_lost(object) || is_replaced_in_vain(object);
    let held: Vec<String> =
        world.api.objects.iter().filter(|(_, object)| is_held(object)).map(|(name, _)| name.clone()).collect();
    for name in held {
        world.api.edit(&name, |object| {
            object["metadata"]["annotations"][RETRY_REQUESTED_ANNOTATION] =
                format!("look {}", look / LOOKS_BETWEEN_REQUESTS).into();
        });
    }
}

/// Returns true if the object says that its replaced resource differs as before.
fn is_replaced_in_vain(object: &Value) -> bool {
    let note = entry(object, DRIFT_CORRECTED).and_then(|note| note["message"].as_str());
    note.is_some_and(|note| note.contains("not replaced again"))
}

fn lift_bars(world: &mut World, ending: Ending) {
    world.api.refuses_status = ending == Ending::StatusRefused;
    world.outside.refuses_credential = false;
    world.outside.answers = Answers::default();
    world.outside.hidden.clear();
    world.take_secret(false);
    world.pause_host(0);
    for (who, name) in [Who::Poller, Who::Controller].into_iter().flat_map(|who| NAMES.map(|name| (who, name))) {
        world.bar(who, name, false);
    }
    world.happen_to_jobs(JobEvent::StandStill(false));
    world.happen_to_jobs(JobEvent::Hold(false));
    for text in world.documents.values_mut() {
        text.suspended = false;
    }
    let names: Vec<String> = world.api.objects.keys().cloned().collect();
    for name in names {
        world.api.edit(&name, |object| {
            object["spec"]["forbidden"] = json!(false);
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.retain(|name, _| [GIVE_UP_ANNOTATION, POLL_REQUESTED_ANNOTATION].contains(&name.as_str()));
            }
        });
    }
    if ending == Ending::StatusRefused {
        OBJECTS.into_iter().for_each(|name| _ = world.api.delete(name));
    }
    for (who, name) in [Who::Poller, Who::Controller].into_iter().flat_map(|who| NAMES.map(|name| (who, name))) {
        world.govern(who, name, TargetState::Live);
    }
    world.configure(Who::Poller);
    world.configure(Who::Controller);
}

/// Returns true if a deletion cannot find a resource that the last verdict found, or that a create in doubt may have
/// made. Only a poll ends that, and its verdict cannot be written.
fn is_unclear(world: &World, object: &Value) -> bool {
    let lean = LeanObject::prune(object, &FieldPaths::default());
    let was_found = lean.conditions.observed().and_then(CurrentVerdict::read);
    let was_found =
        was_found.is_some_and(|current| current.reason.is_presence() || current.reason == ObservedReason::AllMissing);
    let is_in_doubt = lean.conditions.correction_status().unseen.is_some();
    let is_missing = |resource: &String| !world.outside.resources.contains_key(resource);
    // The controller has the record that another writer removed.
    let texts = &world.documents;
    let targets: Vec<_> = texts.iter().map(|(name, text)| target(name, *text)).collect();
    let owner = owner(object, targets.iter().map(|target| &**target));
    let may_own = || owns(object).or_else(|| named(object, owner?.scope.id));
    let is_stripped = world.ledger.stripped.contains(&uid_of(object));
    (was_found || is_in_doubt || is_stripped) && may_own().as_ref().is_some_and(is_missing)
}

fn whats_wrong(world: &World, ending: Ending) -> Option<String> {
    let texts = &world.documents;
    let targets: Vec<_> = texts.iter().map(|(name, text)| target(name, *text)).collect();
    let target_of = |object: &Value| {
        owner_of(object, targets.iter().map(|target| &**target)).and_then(|name| texts.get(name).copied())
    };
    for (name, object) in &world.api.objects {
        let held = object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|it| it == FINALIZER));
        if !object["metadata"]["deletionTimestamp"].is_null() {
            if ending == Ending::StatusRefused && is_unclear(world, object) {
                continue;
            }
            return Some(format!("a deleted object is held for ever: {name}"));
        }
        let text = target_of(object);
        if held && !text.is_some_and(|text| text.claims() && text.deletes) {
            return Some(format!("{name} has a finalizer that nobody needs"));
        }
    }
    if ending == Ending::StatusRefused {
        return None;
    }
    let corrects = |uid: &Uid| {
        let object = world.api.objects.values().find(|object| uid_of(object) == *uid);
        object.and_then(target_of).is_some_and(|text| text.claims())
    };
    let reason_of = |uid: &Uid| {
        let object = world.api.objects.values().find(|object| uid_of(object) == *uid)?;
        Some(entry(object, DRIFT_CORRECTED)?["reason"].as_str()?.to_owned())
    };
    // A target in mode Observe must not write.
    for resource in keys() {
        let owners: Vec<&Uid> = world.ledger.claims.claiming(&resource).collect();
        let contested = |uid: &&&Uid| corrects(uid) && reason_of(uid).as_deref() != Some("IdentityContested");
        if let Some(uid) = owners.iter().find(contested).filter(|_| owners.len() > 1) {
            return Some(format!("a resource has two owners, and one does not say so: {resource} {uid}"));
        }
    }
    if let Some(job) = world.api.jobs.open().next() {
        return Some(format!("{job} has not ended"));
    }
    let keeps = |object: &&Value| {
        let keeps = owns(object).is_some_and(|owned| gives_up(object, &owned));
        keeps && target_of(object).is_some_and(|text| text.claims())
    };
    if let Some(object) = world.api.objects.values().find(keeps) {
        return Some(format!("a claim that is given up stays: that of {}", uid_of(object)));
    }
    let is_begun =
        |object: &Value| entry(object, DRIFT_CORRECTED).is_some_and(|noted| noted["reason"] == "CorrectionStarted");
    let mut corrected = world.api.objects.values().filter(|object| target_of(object).is_some_and(|text| text.claims()));
    if let Some(object) = corrected.find(|object| is_begun(object)) {
        return Some(format!("a correction has no end: that of {}", object["metadata"]["uid"]));
    }
    let is_whole = |name: &str| world.attestation(name).is_some_and(|word| word.except.is_empty());
    let unattested = texts.keys().find(|name| !is_whole(name));
    let wrong = keys().find_map(|resource| wrong_outside(world, &resource, &target_of));
    let wrong = wrong.or_else(|| unanswered(world, &target_of));
    let wrong = wrong.or_else(|| unpublished(world, &target_of));
    let wrong = wrong.or_else(|| misplaced(world, &target_of));
    wrong.or_else(|| unattested.map(|name| format!("a target is not attested as a whole: {name}")))
}

/// Returns an object as its target reads it.
fn read(world: &World, object: &Value, text: Option<Text>) -> LeanObject {
    let lean = LeanObject::prune(object, &FieldPaths::default());
    if text.is_some_and(|text| text.reports) { world.api.with_report(lean) } else { lean }
}

/// Checks that both conditions of each object are in their place only, and that a report says what is outside.
fn misplaced(world: &World, target_of: &impl Fn(&Value) -> Option<Text>) -> Option<String> {
    let reporting = |object: &Value| target_of(object).filter(|text| text.reports);
    for (name, object) in &world.api.objects {
        let Some(text) = reporting(object) else {
            if world.api.reports.contains_key(name) {
                return Some(format!("{name} has a report that no target keeps"));
            }
            continue;
        };
        if LeanObject::prune(object, &FieldPaths::default()).carries_ours() {
            return Some(format!("{name} has a mark of ours beside its report: {object}"));
        }
        let shown = read(world, object, Some(text)).conditions;
        let observed =
            shown.observed().filter(|shown| shown.observed_generation == object["metadata"]["generation"].as_i64());
        let real = named(object, text.scope()).and_then(|named| world.outside.resources.get(&named));
        let drifts = real.map(|real| json!(real.value)) != object.pointer("/spec/value").cloned();
        let wanted = if drifts { ConditionStatus::True } else { ConditionStatus::False };
        if observed.map(|observed| observed.status) != Some(wanted) {
            return Some(format!("the report of {name} does not say that drift is {drifts}: {observed:?}"));
        }
    }
    world
        .api
        .reports
        .keys()
        .find(|name| !world.api.objects.contains_key(*name))
        .map(|name| format!("{name} left a report"))
}

/// Checks that each requested poll of a selected object is answered.
fn unanswered(world: &World, target_of: &impl Fn(&Value) -> Option<Text>) -> Option<String> {
    let is_answered = |object: &Value| read(world, object, target_of(object)).is_poll_answered();
    let mut selected = world.api.objects.values().filter(|object| target_of(object).is_some());
    let object = selected.find(|object| !is_answered(object))?;
    Some(format!("a requested poll is not answered: that of {}", uid_of(object)))
}

/// Checks that each object shows the incarnation of its resource, if its target publishes it.
fn unpublished(world: &World, target_of: &impl Fn(&Value) -> Option<Text>) -> Option<String> {
    let is_stale = |object: &&Value| {
        let text = target_of(object).filter(|text| text.publishes && !text.reports);
        let named = text.and_then(|text| named(object, text.scope()));
        let real = named.and_then(|named| world.outside.resources.get(&named));
        real.is_some_and(|real| object["status"]["incarnation"] != json!(real.incarnation))
    };
    let object = world.api.objects.values().find(is_stale)?;
    Some(format!("a published field is not as observed: {} of {}", object["status"], uid_of(object)))
}

/// Checks the external state. The object with the claim makes the resource as its spec says, if allowed. Without a
/// claim, the oldest object that names the resource and may claim it does. If two objects claim it, neither acts. The
/// others report that they wait.
fn wrong_outside(world: &World, resource: &str, target_of: &impl Fn(&Value) -> Option<Text>) -> Option<String> {
    let wants = |object: &Value| {
        let named = target_of(object).and_then(|text| named(object, text.scope()));
        named.as_deref() == Some(resource)
    };
    let owned = |object: &Value| owns(object).as_deref() == Some(resource);
    let claims = &world.ledger.claims;
    let claiming: Vec<&Uid> = claims.claiming(resource).collect();
    let is_selected = |object: &Value| target_of(object).is_some() && !gives_up(object, resource);
    let selected = || world.api.objects.values().filter(|object| is_selected(object));
    let may_claim = |object: &&Value| {
        wants(object) && owns(object).is_none() && target_of(object).is_some_and(|text| text.claims())
    };
    let age = |object: &&Value| (object["metadata"]["creationTimestamp"].to_string(), uid_of(object));
    let holder = match &*claiming {
        [] => selected().filter(may_claim).min_by_key(age)?,
        [only] => selected().find(|object| uid_of(object) == **only)?,
        _ => return None,
    };
    let mut waiting = selected().filter(|object| may_claim(object) && uid_of(object) != uid_of(holder));
    let says_so =
        |object: &&Value| entry(object, DRIFT_CORRECTED).is_some_and(|note| note["reason"] == "IdentityTaken");
    if let Some(object) = waiting.find(|object| !says_so(object)) {
        return Some(format!("an object does not say that another one has its resource: {}", uid_of(object)));
    }
    let text = target_of(holder).filter(|text| text.claims() && wants(holder))?;
    let real = world.outside.resources.get(resource);
    let may = owned(holder) || real.is_none() || text.adopt;
    let elsewhere = owns(holder).is_some_and(|owned| owned != resource);
    // A foreign resource keeps its password, and a password without a record in the note is not compared.
    let is_noted = !text.by_job && holder["status"]["conditions"].to_string().contains("secrets ");
    let sent = real.filter(|real| is_noted && real.made_by.is_some()).and_then(|real| real.password);
    if let Some(sent) = sent.filter(|sent| may && !elsewhere && *sent != world.clock.secret) {
        return Some(format!("{resource} has the secret in version {sent}, not {}", world.clock.secret));
    }
    let as_desired = real.map(|real| json!(real.value)) == holder.pointer("/spec/value").cloned();
    (may && !elsewhere && !as_desired).then(|| {
        format!(
            "a resource is not as desired: {resource} is {real:?} and {} wants {}",
            holder["metadata"]["uid"], holder["spec"]["value"]
        )
    })
}
