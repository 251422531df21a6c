//! `publish` and `store`: what is kept in fields of an object's `.status` beside the conditions.
//!
//! A status is read by people and kept for ever, so a value has a bound, and a name that can be nothing else. This file must not
//! know when a field is written.

use serde_json::Value;

use crate::cel::{EvaluationError, Scope, ValueTemplate, Variables};
use crate::yaml::durations::KIB;
use crate::yaml::reader::{Reader, all};
use crate::yaml::templates::read_value;
use crate::yaml::{Entry, Node};
use drift_api::condition::{StatusFields, canonical};
use drift_api::object::field_paths::FieldPaths;

/// Fields of one `publish` or `store`: a status is no copy of the external system.
const MAX_FIELDS: usize = 16;
/// Characters of a field's name: what Kubernetes' own kinds stay far below.
const MAX_NAME_CHARS: usize = 63;
/// Bytes of one value as JSON: a name, an address, a handful of them. The message of a condition has 1 KiB.
const MAX_VALUE_BYTES: usize = 4 * KIB;
/// How deep a value nests.
const MAX_DEPTH: usize = 4;
/// The field that has writers of its own.
const CONDITIONS: &str = "conditions";

/// Fields of `.status`, and what comes to stand in each.
#[derive(Debug, Default)]
pub struct StatusTemplates(Vec<(String, ValueTemplate)>);

impl StatusTemplates {
    /// The names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns true if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What an observation publishes; a field without value is to be taken away.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated, or gives what cannot stand in a status.
    pub fn publish(&self, variables: &Variables<'_>) -> Result<StatusFields, EvaluationError> {
        self.0.iter().map(|(name, template)| Ok((name, checked(template, template.render(variables)?)?))).collect()
    }

    /// Nothing in any of the fields.
    #[must_use]
    pub fn cleared(&self) -> StatusFields {
        self.names().map(|name| (name, Value::Null)).collect()
    }

    /// What is to be kept of an answer; an optional without value leaves its field as it stands.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated, or gives null or what cannot stand in a status.
    pub fn store(&self, variables: &Variables<'_>) -> Result<StatusFields, EvaluationError> {
        let mut stored = StatusFields::default();
        for (name, template) in &self.0 {
            match template.render_optional(variables)? {
                None => {}
                Some(Value::Null) => return Err(template.site().error("the value is null")),
                Some(Value::String(text)) if text.is_empty() => {
                    return Err(template.site().error("the value is empty"));
                }
                Some(value) => stored.set(name, checked(template, value)?),
            }
        }
        Ok(stored)
    }

    /// Returns true if one of them reads a variable of the language.
    pub(crate) fn reads(&self, variable: &str) -> bool {
        self.0.iter().any(|(_, template)| template.reads(variable))
    }

    /// The fields under `self` that the templates read.
    pub(crate) fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        self.0.iter().for_each(|(_, template)| fields.extend(&template.fields()));
        fields
    }
}

fn checked(template: &ValueTemplate, value: Value) -> Result<Value, EvaluationError> {
    let refuse = |cause: String| Err(template.site().error(cause));
    if depth(&value) > MAX_DEPTH {
        return refuse(format!("the value nests more than {MAX_DEPTH} deep"));
    }
    match canonical(&value).len() {
        0..=MAX_VALUE_BYTES => Ok(value),
        _ => refuse(format!("the value is longer than {MAX_VALUE_BYTES} bytes")),
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Reads the fields of a `publish` or `store`, whose templates see what the scope has.
pub(crate) fn read_status_templates(
    reader: &mut Reader<'_>,
    node: &Node,
    place: &str,
    scope: Scope,
) -> Option<StatusTemplates> {
    let fields = reader.any_fields(node, place)?;
    if !(1..=MAX_FIELDS).contains(&fields.entries().len()) {
        return reader.refuse(node.at, format!("{place}: 1 to {MAX_FIELDS} fields of the status are needed"));
    }
    let templates = fields.entries().iter().map(|entry| {
        let place = fields.place(&entry.key);
        let name = check_name(reader, entry, &place);
        let value = read_value(reader, &entry.value, &reader.site(&place, scope));
        name.and(value).map(|value| (entry.key.clone(), value))
    });
    all(templates).map(StatusTemplates)
}

fn check_name(reader: &mut Reader<'_>, entry: &Entry, place: &str) -> Option<()> {
    let name = entry.key.as_str();
    if name == CONDITIONS {
        return reader
            .refuse(entry.key_at, format!("{place}: the conditions have writers of their own; name another field"));
    }
    let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'));
    if !is_word || name.len() > MAX_NAME_CHARS {
        let message =
            format!("{place}: `{name}` is no field of the status: use letters, digits, _ and -, a letter first");
        return reader.refuse(entry.key_at, message);
    }
    Some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
