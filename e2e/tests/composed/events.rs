//! All events of a random history, and their probabilities.
//!
//! An event that is impossible now does nothing.

use drift_api::names::{
    DRIFT_CORRECTED, DRIFT_OBSERVED, FINALIZER, GIVE_UP_ANNOTATION, ORPHAN_ANNOTATION, PAUSED_ANNOTATION,
    POLL_REQUESTED_ANNOTATION, RETRY_REQUESTED_ANNOTATION,
};
use drift_language::TargetState;
use serde_json::{Value, json};

use crate::approvals::approve;
use crate::jobs::JobEvent;
use crate::known::PLAIN;
use crate::outside::{Answers, FAULTS, Fault};
use crate::random::Random;
use crate::targets::{KEYLESS, NAMES, Text, key_in};
use crate::watch::{Which, uid_of};
use crate::world::{Who, World};

/// Names of the objects. Random histories use the first two.
pub(crate) const OBJECTS: [&str; 3] = ["a", "b", "c"];
/// Names of the external resources. Random histories use the first two.
pub(crate) const RESOURCES: [&str; 3] = ["r1", "r2", "r3"];

/// Number of external systems, each with a resource of each name.
const SYSTEMS: usize = 2;

/// Returns the key of a resource. Those of the other system follow after those of the first.
pub(crate) fn key(resource: usize) -> String {
    let elsewhere = Text { elsewhere: resource >= RESOURCES.len(), ..PLAIN };
    key_in(elsewhere.scope(), RESOURCES[resource % RESOURCES.len()])
}

/// Returns the keys of all resources.
pub(crate) fn keys() -> impl Iterator<Item = String> {
    (0..SYSTEMS * RESOURCES.len()).map(key)
}

/// A single event of a history.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    /// Advances one task by a step.
    Step(Who, u8, Fault),
    /// Advances the first task by this many steps without a fault, and leaves it unfinished.
    Advance(Who, u8),
    Attend(Who),
    Deliver(Who, u8),
    DeliverReports(Who, u8),
    Repeat(Who, u8),
    List(Who),
    Configure(Who),
    /// Lets no text of the target that a program starts to use find its kind, or lets it.
    Bar {
        who: Who,
        target: usize,
        rejected: bool,
    },
    Crash(Who),
    /// The controller loses its Lease and ends after this many steps.
    EndTerm(u8),
    Renew,
    /// This many seconds pass.
    Pass(u16),
    /// Everything that can continue does so.
    Rest,
    /// Later objects have no generation, like those of some kinds.
    Ungenerated,
    Create {
        object: usize,
        resource: usize,
        value: u8,
        labels: u8,
    },
    Edit {
        object: usize,
        resource: usize,
        value: u8,
    },
    Forbid {
        object: usize,
        forbidden: bool,
    },
    Relabel {
        object: usize,
        labels: u8,
    },
    Pause {
        object: usize,
        paused: bool,
    },
    /// Makes its deletion leave the external resource, or reverts that.
    Orphan {
        object: usize,
        orphan: bool,
    },
    /// Makes the object give up a resource, or reverts that.
    /// A person approves the correction that the object awaits.
    Approve {
        object: usize,
    },
    GiveUp {
        object: usize,
        resource: Option<usize>,
    },
    /// Requests one more correction.
    Retry {
        object: usize,
        request: u8,
    },
    /// Requests a poll.
    Ask {
        object: usize,
        request: u8,
    },
    Delete {
        object: usize,
    },
    Strip {
        object: usize,
        observed: bool,
    },
    /// Writes another text into a condition.
    Alter {
        object: usize,
        observed: bool,
        value: u8,
    },
    StripFinalizer {
        object: usize,
    },
    /// A person deletes the report of an object, or removes a condition from it, or all that it says.
    SpoilReport {
        object: usize,
        how: u8,
    },
    /// Restores an earlier verdict.
    Replay {
        object: usize,
    },
    Remove {
        resource: usize,
    },
    Change {
        resource: usize,
        value: u8,
    },
    Make {
        resource: usize,
        value: u8,
    },
    /// Moves the resource away from its address, where reads still find it, or back.
    Move {
        resource: usize,
        away: bool,
    },
    /// No deletion is answered as done from now on.
    NeverDone,
    /// Hides a resource from every read, or shows it again.
    Hide {
        resource: usize,
        hidden: bool,
    },
    Target {
        target: usize,
        text: Option<Text>,
    },
    /// The program learns another state of a target by its ConfigMaps.
    State {
        who: Who,
        target: usize,
        state: TargetState,
    },
    /// Removes a target and restores it unchanged after this many seconds.
    Absence {
        target: usize,
        seconds: u16,
    },
    Jobs(JobEvent),
    RefuseStatus(bool),
    RefuseCredential(bool),
    /// Every write ends like this from now on, deletions included.
    Answer(Fault),
    /// Every read ends like this from now on. A rate limit asks for a delay.
    AnswerReads(Fault),
    /// The requests of others pause the host for this many seconds.
    PauseHost(u16),
    /// Every deletion ends like this from now on.
    AnswerDeletions(Fault),
    /// Changes the Secret that corrections send.
    Rotate,
    /// Removes that Secret, or restores it.
    TakeSecret(bool),
    /// Sets the wall clock back.
    SetBack(u16),
}

/// Applies an event to the world.
pub(crate) fn apply(world: &mut World, event: &Event) {
    match *event {
        Event::Step(who, index, fault) => world.step(who, usize::from(index), fault),
        Event::Advance(who, steps) => (0..steps).for_each(|_| world.step(who, 0, Fault::None)),
        Event::Attend(who) => world.attend(who),
        Event::Deliver(who, events) => world.deliver(who, Which::Objects, usize::from(events)),
        Event::DeliverReports(who, events) => world.deliver(who, Which::Reports, usize::from(events)),
        Event::Repeat(who, events) => world.repeat(who, usize::from(events)),
        Event::List(who) => world.list(who),
        Event::Configure(who) => world.configure(who),
        Event::Bar { who, target, rejected } => world.bar(who, NAMES[target], rejected),
        Event::Crash(who) => world.crash(who),
        Event::EndTerm(steps) => world.end_term(steps),
        Event::Renew => world.renew(),
        Event::Pass(seconds) => world.pass(u64::from(seconds)),
        Event::Rest => world.rest(),
        Event::Target { target, text: Some(text) } => {
            let before = world.documents.insert(NAMES[target], text.of_document());
            if before.is_some_and(|before| before.reports != text.reports) {
                // What it left in the former place is cleaned up, as that of a removed target.
                world.ledger.target_gone.extend(world.api.objects.values().map(uid_of));
            }
        }
        Event::Target { target, text: None } => drop(remove(world, NAMES[target])),
        Event::State { who, target, state } => world.govern(who, NAMES[target], state),
        Event::Absence { target, seconds } => absence(world, NAMES[target], seconds),
        Event::Jobs(event) => world.happen_to_jobs(event),
        Event::Ungenerated => world.api.has_no_generations = true,
        Event::RefuseStatus(refuses) => world.api.refuses_status = refuses,
        Event::RefuseCredential(refuses) => world.outside.refuses_credential = refuses,
        Event::Answer(fault) => {
            let reads = world.outside.answers.reads;
            world.outside.answers = Answers { reads, writes: fault, deletions: fault };
        }
        Event::AnswerReads(fault) => world.outside.answers.reads = fault,
        Event::PauseHost(seconds) => world.pause_host(u64::from(seconds)),
        Event::AnswerDeletions(fault) => world.outside.answers.deletions = fault,
        Event::Rotate => world.rotate(),
        Event::TakeSecret(taken) => world.take_secret(taken),
        Event::SetBack(seconds) => world.clock.back += u64::from(seconds),
        Event::Remove { resource } => drop(world.outside.resources.remove(&key(resource))),
        Event::Make { resource, value } => {
            let claimants = world.ledger.claims.by_claim(&key(resource), &world.api);
            world.outside.make(&key(resource), i64::from(value), &claimants);
        }
        Event::Move { resource, away: true } => drop(world.outside.moved.insert(key(resource))),
        Event::Move { resource, away: false } => drop(world.outside.moved.remove(&key(resource))),
        Event::NeverDone => world.outside.never_done = true,
        Event::Hide { resource, hidden: true } => {
            world.outside.hidden.insert(key(resource));
            world.ledger.creates.note_hidden(&key(resource));
        }
        Event::Hide { resource, hidden: false } => drop(world.outside.hidden.remove(&key(resource))),
        Event::Change { resource, value } => {
            if let Some(resource) = world.outside.resources.get_mut(&key(resource)) {
                resource.value = i64::from(value);
            }
        }
        _ => edit(world, event),
    }
    world.check();
}

/// Applies a user's or another writer's change to an object.
fn edit(world: &mut World, event: &Event) {
    match *event {
        Event::Create { object, resource, value, labels } => {
            let _ = world.api.create(OBJECTS[object], spec(resource, value), labels_of(labels));
        }
        Event::Edit { object, resource, value } => world.api.edit(OBJECTS[object], |object| {
            object["spec"] = spec(resource, value);
        }),
        Event::Forbid { object, forbidden } => {
            world.api.edit(OBJECTS[object], |object| object["spec"]["forbidden"] = json!(forbidden));
        }
        Event::Relabel { object, labels } => {
            let World { api, ledger, .. } = world;
            api.edit(OBJECTS[object], |object| {
                object["metadata"]["labels"] = labels_of(labels);
                ledger.left.insert(uid_of(object));
            });
        }
        Event::Pause { object, paused } => annotate(world, OBJECTS[object], PAUSED_ANNOTATION, paused.to_string()),
        Event::Orphan { object, orphan } => annotate(world, OBJECTS[object], ORPHAN_ANNOTATION, orphan.to_string()),
        Event::GiveUp { object, resource: Some(resource) } => {
            annotate(world, OBJECTS[object], GIVE_UP_ANNOTATION, RESOURCES[resource].to_owned());
        }
        Event::GiveUp { object, resource: None } => world.api.edit(OBJECTS[object], |object| {
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.remove(GIVE_UP_ANNOTATION);
            }
        }),
        Event::Retry { object, request } => {
            annotate(world, OBJECTS[object], RETRY_REQUESTED_ANNOTATION, request.to_string());
        }
        Event::Ask { object, request } => {
            let World { api, ledger, .. } = world;
            api.edit(OBJECTS[object], |object| {
                ledger.note_asked(uid_of(object), &request.to_string());
                object["metadata"]["annotations"][POLL_REQUESTED_ANNOTATION] = json!(request.to_string());
            });
        }
        Event::Delete { object } => _ = world.api.delete(OBJECTS[object]),
        Event::Strip { object, observed } => strip(world, OBJECTS[object], observed),
        Event::Alter { object, observed, value } => alter(world, OBJECTS[object], observed, value),
        Event::StripFinalizer { object } => world.api.edit(OBJECTS[object], |object| {
            if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
                finalizers.retain(|finalizer| finalizer != FINALIZER);
            }
        }),
        Event::Approve { object } => approve(world, OBJECTS[object]),
        Event::Replay { object } => replay(world, OBJECTS[object]),
        Event::SpoilReport { object, how } => world.api.edit_report(OBJECTS[object], |report| {
            let conditions = report["status"]["conditions"].as_array_mut();
            match how {
                0 => return false,
                1 => report["status"] = Value::Null,
                2 => report["object"]["uid"] = json!("another"),
                _ => conditions.into_iter().for_each(|all| all.retain(|entry| entry["type"] != DRIFT_OBSERVED)),
            }
            true
        }),
        _ => {}
    }
}

fn annotate(world: &mut World, name: &str, annotation: &str, value: String) {
    world.api.edit(name, |object| object["metadata"]["annotations"][annotation] = json!(value));
}

fn spec(resource: usize, value: u8) -> Value {
    json!({"resource": RESOURCES[resource], "value": value, "forbidden": false})
}

fn labels_of(labels: u8) -> Value {
    let label = |bit: u8| if labels & bit > 0 { "yes" } else { "no" };
    json!({NAMES[0]: label(1), NAMES[1]: label(2)})
}

fn strip(world: &mut World, name: &str, observed: bool) {
    let kind = if observed { DRIFT_OBSERVED } else { DRIFT_CORRECTED };
    let World { api, ledger, .. } = world;
    ledger.note_changes(api);
    api.edit(name, |object| {
        if let Some(conditions) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
            conditions.retain(|entry| entry["type"] != kind);
        }
        ledger.stripped.insert(uid_of(object));
        if !observed {
            ledger.claims.note_strip(&uid_of(object));
        }
    });
}

fn alter(world: &mut World, name: &str, observed: bool, value: u8) {
    let kind = if observed { DRIFT_OBSERVED } else { DRIFT_CORRECTED };
    let World { api, ledger, .. } = world;
    api.edit(name, |object| {
        let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
        let entry = conditions.and_then(|all| all.iter_mut().find(|entry| entry["type"] == kind));
        if let Some(entry) = entry {
            let message = entry["message"].as_str().unwrap_or_default();
            // Keeps the head and the scope of a note, and the tag of a verdict.
            entry["message"] = match (observed, message.split_once(": "), message.rsplit_once(" [")) {
                (false, Some((head, _)), Some((_, scope))) => json!(format!("{head}: altered {value} [{scope}")),
                (false, Some((head, _)), None) => json!(format!("{head}: altered {value}")),
                (true, _, Some((_, tag))) => json!(format!("altered {value} [{tag}")),
                _ => json!(format!("altered {value}")),
            };
            ledger.stripped.insert(uid_of(object));
        }
    });
}

fn remove(world: &mut World, name: &str) -> Option<Text> {
    let World { api, ledger, documents, .. } = world;
    ledger.target_gone.extend(api.objects.values().map(uid_of));
    documents.remove(name)
}

fn absence(world: &mut World, name: &'static str, seconds: u16) {
    let Some(text) = remove(world, name) else { return };
    for who in [Who::Poller, Who::Controller] {
        world.configure(who);
    }
    world.pass(u64::from(seconds));
    world.documents.insert(name, text);
    for who in [Who::Poller, Who::Controller] {
        world.configure(who);
    }
}

fn replay(world: &mut World, name: &str) {
    let World { api, ledger, verdicts, .. } = world;
    api.edit(name, |object| {
        let uid = uid_of(object);
        let Some(verdict) = verdicts.get(&uid) else { return };
        let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
        let entry = conditions.and_then(|all| all.iter_mut().find(|entry| entry["type"] == DRIFT_OBSERVED));
        if let Some(entry) = entry.filter(|entry| *entry != verdict) {
            *entry = verdict.clone();
            ledger.replaying.insert(uid);
        }
    });
}

/// Returns a random text of a target.
pub(crate) fn text(random: &mut Random) -> Text {
    Text {
        correct: !random.one_in(6),
        adopt: random.one_in(3),
        deletes: !random.one_in(3),
        suspended: random.one_in(8),
        edition: if random.one_in(4) { KEYLESS } else { random.below(2) },
        by_job: random.one_in(3),
        ..PLAIN
    }
}

fn who(random: &mut Random) -> Who {
    if random.one_in(2) { Who::Poller } else { Who::Controller }
}

fn two(random: &mut Random) -> usize {
    usize::from(random.below(2))
}

/// Returns a random event.
pub(crate) fn event(random: &mut Random) -> Event {
    match random.below(100) {
        0..26 => {
            let faulty = random.one_in(4);
            let fault = if faulty { FAULTS[usize::from(random.below(12))] } else { Fault::None };
            Event::Step(who(random), random.below(8), fault)
        }
        26..28 => Event::Bar { who: who(random), target: two(random), rejected: !random.one_in(3) },
        28..34 => Event::Advance(who(random), 1 + random.below(12)),
        34..44 => Event::Attend(who(random)),
        44..52 => Event::Deliver(who(random), 1 + random.below(6)),
        52 => Event::Repeat(who(random), random.below(12)),
        53 => Event::List(who(random)),
        54..57 => Event::Configure(who(random)),
        57 => Event::Crash(who(random)),
        58 if random.one_in(2) => Event::EndTerm(random.below(6)),
        58 => Event::Crash(who(random)),
        59..62 => Event::Renew,
        62..66 => Event::Pass(1 + u16::from(random.below(12))),
        66 => Event::Pass(u16::from(random.below(200)) * 4),
        67..75 => Event::Rest,
        75..77 => Event::Target { target: two(random), text: (!random.one_in(2)).then(|| text(random)) },
        83 => Event::Absence { target: two(random), seconds: u16::from(random.below(3)) * 350 },
        77 => Event::RefuseStatus(random.one_in(2)),
        78 => Event::RefuseCredential(random.one_in(2)),
        79 => Event::SetBack(u16::from(random.below(100))),
        80..83 => Event::Remove { resource: two(random) },
        84..86 => Event::Change { resource: two(random), value: random.below(3) },
        87 => Event::Rotate,
        88 => Event::TakeSecret(random.one_in(2)),
        86 => Event::Make { resource: two(random), value: random.below(3) },
        89..91 => Event::Jobs(job_event(random)),
        91 => Event::Hide { resource: two(random), hidden: !random.one_in(3) },
        _ => object_event(random),
    }
}

fn job_event(random: &mut Random) -> JobEvent {
    match random.below(8) {
        0..2 => JobEvent::StandStill(random.one_in(2)),
        2 => JobEvent::Hold(random.one_in(2)),
        3..5 => JobEvent::Write,
        5..7 => JobEvent::Fail,
        _ => JobEvent::Remove,
    }
}

pub(crate) fn object_event(random: &mut Random) -> Event {
    let object = two(random);
    match random.below(19) {
        0..2 => Event::Create { object, resource: two(random), value: random.below(3), labels: random.below(4) },
        2..5 => Event::Edit { object, resource: two(random), value: random.below(3) },
        5 => Event::Forbid { object, forbidden: random.one_in(2) },
        6 => Event::Relabel { object, labels: random.below(4) },
        7 => Event::Pause { object, paused: random.one_in(2) },
        8..10 => Event::Delete { object },
        10 => Event::Strip { object, observed: random.one_in(2) },
        11 => Event::StripFinalizer { object },
        13 => Event::Orphan { object, orphan: random.one_in(2) },
        14 => Event::Retry { object, request: random.below(4) },
        12 => Event::Alter { object, observed: random.one_in(2), value: random.below(3) },
        15 => Event::GiveUp { object, resource: (!random.one_in(3)).then(|| two(random)) },
        16 => Event::Relabel { object, labels: random.below(4) },
        _ => Event::Replay { object },
    }
}
