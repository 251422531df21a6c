//! `key`: what the entries of a collection are called, and which of them is an object's.

use serde_json::Value;

use crate::cel::{EvaluationError, Scope, TextTemplate, Variables};
use crate::yaml::Node;
use crate::yaml::reader::Reader;
use crate::yaml::templates::text_template;
use drift_api::object::field_paths::FieldPaths;

/// Longest name of an entry: an identity's characters, of four bytes each at most.
const MAX_KEY_BYTES: usize = 1_012;

/// What entries are called.
#[derive(Debug)]
pub struct Keys {
    /// What an entry is called.
    entry: TextTemplate,
    /// What an object's entry is called; default its identity.
    object: Option<TextTemplate>,
}

impl Keys {
    /// What an entry is called.
    ///
    /// # Errors
    /// Fails if the entry has no such name.
    pub fn of_entry(&self, entry: &Value) -> Result<String, EvaluationError> {
        // Only one of the two exists where the template stands.
        let nobody = Variables::of_object(&Value::Null);
        let key = self.entry.render(&Variables { item: Some(entry), row: Some(entry), ..nobody })?;
        checked(key, &self.entry)
    }

    /// What the entry of an object with that identity is called.
    ///
    /// # Errors
    /// Fails if the template cannot be evaluated for this object.
    pub fn of_object(&self, object: &Value, identity: &str) -> Result<String, EvaluationError> {
        let own = |key: &TextTemplate| checked(key.render(&Variables::of_object(object))?, key);
        self.object.as_ref().map_or_else(|| Ok(identity.to_owned()), own)
    }

    /// The fields under `self` that its templates read.
    pub(crate) fn fields(&self) -> FieldPaths {
        self.object.as_ref().map(TextTemplate::fields).unwrap_or_default()
    }
}

/// No entry has an empty name, so an object that asks for it would always find nothing.
fn checked(key: String, template: &TextTemplate) -> Result<String, EvaluationError> {
    match key.len() {
        0 => Err(template.site().error("the key is empty")),
        1..=MAX_KEY_BYTES => Ok(key),
        _ => Err(template.site().error(format!("the key is longer than {MAX_KEY_BYTES} bytes"))),
    }
}

/// Reads `key`, in which an entry's own name stands under this word and sees this scope.
pub(crate) fn read_keys(reader: &mut Reader<'_>, node: &Node, place: &str, word: &str, scope: Scope) -> Option<Keys> {
    let fields = reader.fields(node, place, &[word, "object"])?;
    let entry = reader.needed(&fields, word, text_template(scope));
    let object = reader.optional(&fields, "object", text_template(Scope::Object));
    Some(Keys { entry: entry?, object: object? })
}
