//! A JSON Patch that changes one condition and the fields written with it, and nothing else.
//!
//! Test operations in the patch make the API server reject it if the object was replaced, its spec changed, or our
//! entry moved in the list. So other writers' conditions survive ours on every kind of list, and a result is never
//! applied to another state than it was computed for.

use json_patch::Patch;
use serde_json::{Value, json};

use crate::condition::{
    Condition, ConditionKind, Conditions, ConditionsList, EntryWrite, GenerationPlace, Placed, StatusFields,
    named_fields,
};
use crate::names::OBSERVED_GENERATION;
use crate::object::LeanObject;
use crate::object::report::StoredReport;
use crate::resource_version::ResourceVersion;

/// Returns the patch on `/status` of `object`, as it was read, that replaces its condition of this kind, or adds it if
/// it never existed, and writes `fields` besides the conditions. With `generation` the write requires it. If the object
/// has a report, the patch is one of the report, and of a new one without conditions if there is none of this object.
#[must_use]
pub fn condition_patch(
    object: &LeanObject,
    generation: Option<i64>,
    condition: &Condition,
    fields: &StatusFields,
) -> Patch {
    let placed = object.conditions.placed(condition.kind);
    let mut operations = identity_tests(object, generation);
    match placed {
        Some(placed) => {
            operations.extend(entry_tests(placed));
            let value = condition.stored_in(object.conditions.generation_place);
            operations.push(json!({"op": "replace", "path": place_path(placed), "value": value}));
        }
        None => operations.extend(first_entry(object, condition)),
    }
    operations.extend(fields.operations());
    operations.extend(entry_operations(&object.conditions, placed.is_none(), &fields.entries));
    if let Some(report) = object.report.as_ref().filter(|_| condition.kind == ConditionKind::Observed) {
        let named = named_fields(condition.message.sentence()).join(", ");
        let is_named = report.about(&object.id.uid).is_some_and(|report| report.names_fields);
        match named.is_empty() {
            true if is_named => operations.push(json!({"op": "remove", "path": "/status/fields"})),
            true => {}
            false => operations.push(json!({"op": "add", "path": "/status/fields", "value": named})),
        }
    }
    into_patch(operations)
}

/// The operations for further entries. Removals come last and from the end, because each one shifts what follows it.
fn entry_operations(conditions: &Conditions, is_first: bool, entries: &[EntryWrite]) -> Vec<Value> {
    let read = if let ConditionsList::Of(length) = conditions.list { length } else { 0 };
    let mut length = read + u32::from(is_first);
    let mut operations = Vec::new();
    for EntryWrite { placed, condition } in entries {
        let Some(condition) = condition else { continue };
        if let Some(placed) = placed {
            operations.extend(entry_tests(placed));
            operations.push(json!({"op": "replace", "path": place_path(placed), "value": condition.to_json()}));
        } else {
            operations.extend(append(length, condition, conditions.generation_place));
            length += 1;
        }
    }
    let gone = entries.iter().filter(|entry| entry.condition.is_none()).filter_map(|entry| entry.placed.as_ref());
    operations.extend(removals(gone));
    operations
}

fn removals<'p>(placed: impl Iterator<Item = &'p Placed>) -> Vec<Value> {
    let mut placed: Vec<_> = placed.collect();
    placed.sort_by_key(|placed| std::cmp::Reverse(placed.index));
    let remove = |placed: &Placed| json!({"op": "remove", "path": place_path(placed)});
    placed.into_iter().flat_map(|placed| entry_tests(placed).chain([remove(placed)]).collect::<Vec<_>>()).collect()
}

/// The operations for our first entry. It must be appended right after the entries that were read. A longer list may
/// already have one of ours, and a shorter one is not the list that was judged. So changes to the rest of the object
/// never make the patch fail, unlike a test of its resourceVersion.
fn first_entry(object: &LeanObject, condition: &Condition) -> Vec<Value> {
    let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    let mut operations = Vec::new();
    let length = match object.conditions.list {
        ConditionsList::Of(length) => Some(length),
        ConditionsList::None | ConditionsList::NoStatus => None,
    };
    if length.is_none() {
        // Otherwise our list would replace one that another writer created meanwhile.
        let version = match &object.report {
            Some(report) => report.about(&object.id.uid).map(|report| &report.resource_version),
            None => Some(&object.resource_version),
        };
        let test = |version: &ResourceVersion| json!({"op": "test", "path": "/metadata/resourceVersion", "value": version.to_string()});
        operations.extend(version.map(test));
        if object.conditions.list == ConditionsList::NoStatus {
            operations.push(add("/status", json!({})));
        }
        operations.push(add("/status/conditions", json!([])));
    }
    operations.extend(append(length.unwrap_or_default(), condition, object.conditions.generation_place));
    operations
}

/// Appends an entry to a list of this length, and tests that the list had no more and no fewer entries.
fn append(length: u32, condition: &Condition, generation_place: GenerationPlace) -> [Value; 2] {
    let place = format!("/status/conditions/{length}/type");
    [
        json!({"op": "add", "path": "/status/conditions/-", "value": condition.stored_in(generation_place)}),
        json!({"op": "test", "path": place, "value": condition.kind.as_str()}),
    ]
}

/// Returns the patch on `/status` that removes the entry at `placed`, and with a verdict the conditions of `ready: true`.
#[must_use]
pub fn removal_patch(object: &LeanObject, placed: &Placed) -> Patch {
    let mut operations = identity_tests(object, None);
    let is_with_readiness =
        placed.condition.kind == ConditionKind::Observed && placed.condition.message.tag().is_some_and(|tag| tag.ready);
    let readiness =
        object.conditions.readiness.iter().filter(|_| is_with_readiness).flat_map(|entries| &entries.placed);
    operations.extend(removals(readiness.chain([placed])));
    if is_with_readiness {
        operations.extend([(OBSERVED_GENERATION, Value::Null)].into_iter().collect::<StatusFields>().operations());
    }
    into_patch(operations)
}

/// Tests that the object was not deleted and created again.
#[must_use]
pub fn uid_test(object: &LeanObject) -> Value {
    json!({"op": "test", "path": "/metadata/uid", "value": &*object.id.uid})
}

fn identity_tests(object: &LeanObject, generation: Option<i64>) -> Vec<Value> {
    if let Some(report) = &object.report {
        // The generation of the object is in the condition. No write of the report can test it.
        let test = |path: &str, uid: &str| json!({"op": "test", "path": path, "value": uid});
        let tests = |known: &StoredReport| [test("/metadata/uid", &known.uid), test("/object/uid", &object.id.uid)];
        return report.about(&object.id.uid).into_iter().flat_map(tests).collect();
    }
    let mut operations = vec![uid_test(object)];
    operations.extend(
        generation.map(|generation| json!({"op": "test", "path": "/metadata/generation", "value": generation})),
    );
    operations
}

fn place_path(placed: &Placed) -> String {
    format!("/status/conditions/{}", placed.index)
}

/// Tests that our entry has the same index and content as it was read. A late write, from a process that slept or was
/// replaced, must not overwrite a newer condition.
fn entry_tests(placed: &Placed) -> impl Iterator<Item = Value> {
    let Condition { kind, reason, .. } = &placed.condition;
    let path = place_path(placed);
    [("type", kind.as_str().into()), ("reason", reason.as_str().into()), ("message", placed.stored_message())]
        .into_iter()
        // A foreign entry may lack a field, and a test of a missing field always fails.
        .filter(|(_, value)| !value.is_empty())
        .map(move |(field, value)| json!({"op": "test", "path": format!("{path}/{field}"), "value": value}))
}

/// Converts operations that are valid by construction. Others give an empty patch, which the API server refuses, so a bug
/// cannot change an object.
#[must_use]
pub fn into_patch(operations: Vec<Value>) -> Patch {
    serde_json::from_value(Value::Array(operations)).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::condition::ConditionStatus;
    use crate::object::field_paths::FieldPaths;

    fn condition(reason: &str) -> Condition {
        Condition {
            kind: ConditionKind::Observed,
            status: ConditionStatus::True,
            reason: reason.into(),
            message: "m".into(),
            observed_generation: Some(3),
            last_transition_time: "2026-01-01T00:00:00Z".into(),
        }
    }

    /// The patch on an object that was read like this.
    fn patch(read: &Value, condition: &Condition, fields: &StatusFields) -> Patch {
        condition_patch(&LeanObject::prune(read, &FieldPaths::default()), Some(3), condition, fields)
    }

    fn patched(object: &Value, condition: &Condition) -> Result<Value, json_patch::PatchError> {
        let patch = patch(object, condition, &StatusFields::NONE);
        let mut object = object.clone();
        json_patch::patch(&mut object, &patch).map(|()| object)
    }

    fn object(status: &Value) -> Value {
        json!({"metadata": {"uid": "u", "resourceVersion": "5", "generation": 3}, "status": status})
    }

    #[test]
    fn the_first_write_adds_what_is_missing() {
        let mut bare = object(&Value::Null);
        bare.as_object_mut().unwrap().remove("status");
        for before in [bare, object(&json!({})), object(&json!({"conditions": [{"type": "Ready"}]}))] {
            let after = patched(&before, &condition("FieldsDiffer")).unwrap();
            let conditions = Conditions::from_status(after.get("status"));
            assert_eq!(conditions.observed(), Some(&condition("FieldsDiffer")));
        }
    }

    #[test]
    fn fields_come_with_the_condition_on_any_status() {
        let ours = condition("FieldsDiffer").to_json();
        let mut bare = object(&Value::Null);
        bare.as_object_mut().unwrap().remove("status");
        let current = object(&json!({"conditions": [{"type": "Ready"}, ours], "phase": "Up", "old": 1}));
        let fields: StatusFields = [("id", json!("lb-1")), ("old", Value::Null)].into_iter().collect();
        for before in [bare, object(&json!({})), current] {
            let patch = patch(&before, &condition("InSync"), &fields);
            let mut after = before.clone();
            json_patch::patch(&mut after, &patch).unwrap();
            assert_eq!(after["status"]["id"], "lb-1");
            assert_eq!(
                (&after["status"]["old"], &after["status"]["phase"]),
                (&Value::Null, &before["status"]["phase"])
            );
            assert_eq!(Conditions::from_status(after.get("status")).observed(), Some(&condition("InSync")));
        }
    }

    #[test]
    fn a_later_write_touches_only_its_own_entry() {
        let ours = condition("FieldsDiffer").to_json();
        let before = object(&json!({"conditions": [{"type": "Ready", "odd": 1}, ours, {"type": "Other"}], "x": 1}));
        let after = patched(&before, &condition("ExternalMissing")).unwrap();
        let mut expected = before.clone();
        expected["status"]["conditions"][1]["reason"] = json!("ExternalMissing");
        assert_eq!(after, expected);
    }

    #[test]
    fn a_kind_without_the_field_keeps_the_generation_in_the_tag() {
        let theirs = json!({"type": "Available", "reason": "MinimumReplicas"});
        let paths = FieldPaths::default().with_generation_in(GenerationPlace::Tag);
        let write = |before: &Value, reason: &str| {
            let read = LeanObject::prune(before, &paths);
            let patch = condition_patch(&read, Some(3), &condition(reason), &StatusFields::NONE);
            let mut after = before.clone();
            json_patch::patch(&mut after, &patch).unwrap();
            after
        };
        let read = |written: &Value| LeanObject::prune(written, &paths).conditions.observed().cloned();
        let first = write(&object(&json!({"conditions": [theirs]})), "FieldsDiffer");
        let entry = &first["status"]["conditions"][1];
        assert_eq!((&entry["message"], entry.get("observedGeneration")), (&json!("m [generation 3]"), None));
        assert_eq!(read(&first), Some(condition("FieldsDiffer")));
        let second = write(&first, "InSync");
        assert_eq!(read(&second), Some(condition("InSync")));

        // The kind got the field later: the next write uses it.
        let patch = patch(&second, &condition("FieldsDiffer"), &StatusFields::NONE);
        let mut third = second;
        json_patch::patch(&mut third, &patch).unwrap();
        assert_eq!(third["status"]["conditions"][1], condition("FieldsDiffer").to_json());

        let mut gone = first;
        let placed = LeanObject::prune(&gone, &paths).conditions.observed.unwrap();
        let removal = removal_patch(&LeanObject::prune(&gone, &FieldPaths::default()), &placed);
        json_patch::patch(&mut gone, &removal).unwrap();
        assert_eq!(gone["status"]["conditions"], json!([theirs]));
    }

    #[test]
    fn a_state_that_moved_refuses_the_patch() {
        let ours = condition("FieldsDiffer").to_json();
        let read = object(&json!({"conditions": [ours]}));
        let later = patch(&read, &condition("InSync"), &StatusFields::NONE);
        let moved = |pointer: &str, value: Value| {
            let mut live = read.clone();
            *live.pointer_mut(pointer).unwrap() = value;
            live
        };
        for (pointer, value) in [
            ("/metadata/uid", json!("other")),
            ("/metadata/generation", json!(4)),
            ("/status/conditions/0/type", json!("Ready")),
            ("/status/conditions/0/reason", json!("InSync")),
            ("/status/conditions/0/message", json!("another word")),
        ] {
            assert!(json_patch::patch(&mut moved(pointer, value), &later).is_err(), "{pointer}");
        }
        assert!(json_patch::patch(&mut moved("/metadata/resourceVersion", json!("6")), &later).is_ok());
    }

    #[test]
    fn a_first_write_insists_on_the_entries_read_alone() {
        let first = |status: &Value| patch(&object(status), &condition("InSync"), &StatusFields::NONE);
        let theirs = |count: usize| json!({"conditions": vec![json!({"type": "Ready", "reason": "Read"}); count]});
        let lands = |read: &Value, mut live: Value| json_patch::patch(&mut live, &first(read)).is_ok();
        let mut busy = object(&json!({"conditions": [{"type": "Ready", "reason": "Changed"}]}));
        busy["metadata"]["resourceVersion"] = json!("6");
        assert!(lands(&theirs(1), busy));
        for count in [0, 2] {
            assert!(!lands(&theirs(1), object(&theirs(count))), "{count} entries where one was read");
        }
        let mut made_meanwhile = object(&theirs(1));
        made_meanwhile["metadata"]["resourceVersion"] = json!("6");
        assert!(!lands(&json!({}), made_meanwhile), "their list would be replaced");
    }
}
