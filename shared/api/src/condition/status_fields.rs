//! Fields of `.status` and conditions of `ready: true`, which are written together with one of our conditions.
//!
//! Each is set or removed separately, so that the fields of other writers stay unchanged.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::condition::{EntryWrite, canonical};

/// Top-level fields of `.status` and further conditions to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusFields {
    /// The fields. Null means that a field is removed.
    fields: BTreeMap<String, Value>,
    /// The further conditions.
    pub(crate) entries: Vec<EntryWrite>,
}

impl StatusFields {
    /// The empty set of fields.
    pub const NONE: Self = Self { fields: BTreeMap::new(), entries: Vec::new() };

    /// Sets the further conditions to write.
    #[must_use]
    pub fn with_entries(self, entries: Vec<EntryWrite>) -> Self {
        Self { entries, ..self }
    }

    /// Sets a field.
    pub fn set(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value);
    }

    /// Adds all fields of `later`, which win.
    pub fn extend(&mut self, later: Self) {
        self.fields.extend(later.fields);
        self.entries.extend(later.entries);
    }

    /// Returns true if there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.entries.is_empty()
    }

    /// Returns the fields with their values. Null means that a field is removed.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Writes the fields into the status of an object, as the API server does when they are patched.
    pub fn write_into(&self, object: &mut Value) {
        for (name, value) in &self.fields {
            match value {
                Value::Null => drop(object["status"].as_object_mut().and_then(|status| status.remove(name))),
                value => object["status"][name.as_str()] = value.clone(),
            }
        }
    }

    /// Returns true if any value satisfies the condition.
    #[must_use]
    pub fn any(&self, holds: impl Fn(&Value) -> bool) -> bool {
        self.fields.values().any(holds)
    }

    /// Returns the fields whose value does not satisfy the condition, and the names of the others, which stay unchanged
    /// on an object.
    #[must_use]
    pub fn without(mut self, holds: impl Fn(&Value) -> bool) -> (Self, Vec<String>) {
        let mut left_out = Vec::new();
        self.fields.retain(|name, value| {
            let is_left_out = holds(value);
            left_out.extend(is_left_out.then(|| name.clone()));
            !is_left_out
        });
        (self, left_out)
    }

    /// Returns the fields that an object does not have with this value.
    #[must_use]
    pub fn missing_in(&self, object: &Value) -> Self {
        let missing = self.fields.iter().filter(|(name, value)| !stands(object, name, value));
        missing.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns the fields that an object has with this value.
    #[must_use]
    pub fn shown_by(&self, object: &Value) -> Self {
        let shown = self.fields.iter().filter(|(name, value)| stands(object, name, value));
        shown.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns an object with the fields written to it, without the conditions.
    #[must_use]
    pub fn put_on(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if self.is_empty() || !object.is_object() {
            return object;
        }
        if !object["status"].is_object() {
            object["status"] = json!({});
        }
        for (name, value) in &self.fields {
            match (value, object["status"].as_object_mut()) {
                (Value::Null, Some(status)) => drop(status.remove(name)),
                (value, _) => object["status"][name.as_str()] = value.clone(),
            }
        }
        object
    }

    /// The JSON Patch operations for an object with a `.status`, regardless of its present fields.
    pub(crate) fn operations(&self) -> Vec<Value> {
        let mut operations = Vec::new();
        for (name, value) in &self.fields {
            let path = format!("/status/{}", name.replace('~', "~0").replace('/', "~1"));
            operations.push(json!({"op": "add", "path": path, "value": value}));
            if value.is_null() {
                // A missing field cannot be removed, so it is added first.
                operations.push(json!({"op": "remove", "path": path}));
            }
        }
        operations
    }
}

fn stands(object: &Value, name: &str, value: &Value) -> bool {
    let current = object.get("status").and_then(|status| status.get(name)).unwrap_or(&Value::Null);
    current == value || canonical(current) == canonical(value)
}

impl<N: Into<String>> FromIterator<(N, Value)> for StatusFields {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(fields: I) -> Self {
        let fields = fields.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { fields, entries: Vec::new() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn fields(value: &Value) -> StatusFields {
        value.as_object().unwrap().clone().into_iter().collect()
    }

    fn patched(mut object: Value, fields: &StatusFields) -> Value {
        let patch: json_patch::Patch = serde_json::from_value(Value::Array(fields.operations())).unwrap();
        json_patch::patch(&mut object, &patch).unwrap();
        object
    }

    #[test]
    fn fields_are_put_and_taken_one_by_one() {
        let table = [
            (json!({"a": 1}), json!({}), json!({"a": 1})),
            (json!({"a": 1}), json!({"a": 2, "b": 3}), json!({"a": 1, "b": 3})),
            (json!({"a": null}), json!({"a": 2, "b": 3}), json!({"b": 3})),
            (json!({"a": null}), json!({"b": 3}), json!({"b": 3})),
            (json!({"a/b~c": [1]}), json!({}), json!({"a/b~c": [1]})),
        ];
        for (written, before, after) in table {
            let (fields, object) = (fields(&written), json!({"status": before}));
            assert_eq!(patched(object.clone(), &fields), json!({"status": after}), "{written}");
            assert_eq!(fields.put_on(&object), json!({"status": after}), "{written}");
            assert!(fields.missing_in(&fields.put_on(&object)).is_empty(), "{written}");
        }
        assert_eq!(fields(&json!({"a": 1})).put_on(&json!({})), json!({"status": {"a": 1}}));
    }

    #[test]
    fn only_what_stands_otherwise_is_missing() {
        let wanted = fields(&json!({"same": "x", "number": 1, "other": "x", "gone": null, "absent": null}));
        let object = json!({"status": {"same": "x", "number": 1.0, "other": "y", "gone": 1, "foreign": 1}});
        assert_eq!(wanted.missing_in(&object), fields(&json!({"other": "x", "gone": null})));
        assert_eq!(wanted.missing_in(&json!({})), fields(&json!({"same": "x", "number": 1, "other": "x"})));
        let parted = fields(&json!({"a": 1, "b": 2})).without(|value| *value == 1);
        assert_eq!(parted, (fields(&json!({"b": 2})), vec!["a".to_owned()]));
    }
}
