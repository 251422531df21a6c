//! The leaf fields of `.spec` by the schema of a kind, and the expressions that read them.

use drift_api::secrets::secret_names::looks_secret;
use serde_json::Value;

/// Words that CEL takes for values or operators.
const NO_FIELDS: [&str; 4] = ["in", "true", "false", "null"];

/// A field of `.spec` that has no declared fields below it.
#[derive(Debug)]
pub(super) struct Field {
    /// The names from `.spec` to it.
    pub(super) path: Vec<String>,
    /// The type of its value.
    pub(super) form: Form,
    /// The position in the path from which on an object may lack it. The length of the path if no object does.
    pub(super) optional_from: usize,
    /// Its schema.
    pub(super) schema: Value,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Number,
    Truth,
    /// The schema leaves it open.
    Open,
    /// A list of scalars.
    List,
    /// A map from any keys to scalars.
    Map,
    /// A schema that a draft does not compare, by its name in messages.
    Nested(&'static str),
}

/// The leaf fields of an object's schema, in the order of their names.
pub(super) fn fields_of(schema: &Value) -> Vec<Field> {
    let mut found = Vec::new();
    collect(&schema["properties"]["spec"], &[], None, &mut found);
    found
}

fn collect(schema: &Value, path: &[String], optional_from: Option<usize>, found: &mut Vec<Field>) {
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
        let is_optional = !required && below.get("default").is_none();
        let optional_from = optional_from.or_else(|| is_optional.then_some(path.len()));
        let path = [path, std::slice::from_ref(name)].concat();
        if below["properties"].as_object().is_some_and(|fields| !fields.is_empty()) {
            collect(below, &path, optional_from, found);
        } else {
            let optional_from = optional_from.unwrap_or(path.len());
            found.push(Field { path, form: form_of(below), optional_from, schema: below.clone() });
        }
    }
}

/// The type of a value with this schema.
pub(super) fn form_of(schema: &Value) -> Form {
    let is_scalar = |below: &Value| matches!(form_of(below), Form::Text | Form::Number | Form::Truth | Form::Open);
    match schema["type"].as_str() {
        _ if schema["x-kubernetes-int-or-string"] == true => Form::Open,
        Some("string") => Form::Text,
        Some("integer" | "number") => Form::Number,
        Some("boolean") => Form::Truth,
        Some("array") if is_scalar(&schema["items"]) => Form::List,
        Some("array") => Form::Nested("a list of objects or lists"),
        Some("object") if schema.get("additionalProperties").is_some_and(is_scalar) => Form::Map,
        _ => Form::Nested("an object without declared fields"),
    }
}

impl Field {
    /// Returns true if an object may lack it.
    pub(super) const fn is_optional(&self) -> bool {
        self.optional_from < self.path.len()
    }

    /// Returns true if its value may be a secret. `key` alone is none of the words that the programs hide.
    pub(super) fn looks_secret(&self) -> bool {
        let is_text = !matches!(self.form, Form::Number | Form::Truth);
        is_text && self.path.iter().any(|name| looks_secret(name) || plain(name).ends_with("key"))
    }

    /// The CEL expression that reads it.
    pub(super) fn expression(&self) -> String {
        let steps = self.path.iter().enumerate().map(|(at, name)| step(name, at >= self.optional_from));
        format!("self.spec{}", steps.collect::<String>())
    }

    /// The CEL expression that reads it where every object has it.
    pub(super) fn present(&self) -> String {
        format!("self.spec{}", self.path.iter().map(|name| step(name, false)).collect::<String>())
    }

    /// The CEL condition that an object has it; `None` if every object does.
    pub(super) fn presence(&self) -> Option<String> {
        let depth = |end: usize| self.path[..end].iter().map(|name| step(name, false)).collect::<String>();
        let tests = (self.optional_from + 1..=self.path.len()).map(|end| format!("has(self.spec{})", depth(end)));
        self.is_optional().then(|| tests.collect::<Vec<_>>().join(" && "))
    }

    /// The path in messages: `spec.zone.name`.
    pub(super) fn shown(&self) -> String {
        format!("spec.{}", self.path.join("."))
    }
}

/// A step of an expression to a field.
pub(super) fn step(name: &str, is_optional: bool) -> String {
    let question = if is_optional { "?" } else { "" };
    if is_word(name) && !NO_FIELDS.contains(&name) {
        return format!(".{question}{name}");
    }
    format!("[{question}'{}']", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Returns true if a name needs no quotes.
pub(super) fn is_word(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// A name without case and separators: `max_connections` and `maxConnections` are the same.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a name in lower case: `recordType` and `record_type` are `record` and `type`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let begins = !letter.is_alphanumeric() || (was_lower && letter.is_uppercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words
}
