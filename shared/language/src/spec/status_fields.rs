//! `publish` and `store`: fields of an object's `.status` besides the conditions.
//!
//! A status is read by people and kept permanently, so values are limited in size and field names are restricted.

use serde_json::Value;

use crate::cel::{EvaluationError, Expression, Expressions, Scope, ValueTemplate, Variables};
use crate::yaml::durations::KIB;
use crate::yaml::{Entry, Fields, Node, Reader, all, read_value};
use drift_api::condition::{StatusFields, canonical};

/// Maximum fields of one `publish` or `store`. A status is not a copy of the external system.
const MAX_FIELDS: usize = 16;
/// Maximum characters of a field's name. Kubernetes' own kinds stay far below.
const MAX_NAME_CHARS: usize = 63;
/// Maximum bytes of one value as JSON: a name, an address, or a handful of them. The message of a condition has 1 KiB.
const MAX_VALUE_BYTES: usize = 4 * KIB;
/// Maximum nesting depth of a value.
const MAX_DEPTH: usize = 4;
/// The field that the programs write themselves.
const CONDITIONS: &str = "conditions";

/// Fields of `.status`, each with the template of its value.
#[derive(Debug, Default)]
pub struct StatusTemplates(Vec<(String, ValueTemplate)>);

impl StatusTemplates {
    /// The names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns true if there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Renders the fields that an observation publishes. A field without value is to be removed.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated, or yields a value that is not allowed in a status.
    pub fn publish(&self, variables: &Variables<'_>) -> Result<StatusFields, EvaluationError> {
        self.0.iter().map(|(name, template)| Ok((name, checked(template, template.render(variables)?)?))).collect()
    }

    /// Returns all fields without values.
    #[must_use]
    pub fn cleared(&self) -> StatusFields {
        self.names().map(|name| (name, Value::Null)).collect()
    }

    /// Renders the fields to keep from a response. An optional without value leaves its field unchanged.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated, or yields null or a value that is not allowed in a status.
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
}

impl Expressions for StatusTemplates {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.0.visit(visit);
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

/// Returns a reader of the fields of a `publish` or `store`. The scope decides which variables their templates see.
pub(crate) fn status_templates(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<StatusTemplates> {
    move |reader, node, place| {
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
}

/// Rejects a published field that is written by another key too. `others` has these fields, each with its writer.
pub(crate) fn check_published<'f>(
    reader: &mut Reader<'_>,
    spec: &Fields<'_>,
    publish: &StatusTemplates,
    mut others: impl Iterator<Item = (&'f str, &'static str)>,
) -> Option<()> {
    let both = others.find(|(name, _)| publish.names().any(|own| own == *name));
    match (both, spec.get("publish")) {
        (Some((name, writer)), Some(node)) => {
            reader.refuse(node.at, format!("publish.{name}: {writer} it too; one of the two can write it"))
        }
        _ => Some(()),
    }
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
