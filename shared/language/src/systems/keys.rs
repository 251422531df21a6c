//! `key`: the keys of collection entries, and the key of an object's entry.

use serde_json::Value;

use crate::cel::{EvaluationError, Expression, Expressions, Scope, TextTemplate, Variables};
use crate::section::{Section, text};
use crate::yaml::text_template;

/// Maximum length of an entry's key, in bytes: the characters of an identity, four bytes each at most.
const MAX_KEY_BYTES: usize = 1_012;

/// The keys of entries and objects.
#[derive(Debug)]
pub struct Keys {
    /// The key of an entry.
    entry: TextTemplate,
    /// The key of an object's entry; default its identity.
    object: Option<TextTemplate>,
}

impl Keys {
    /// Returns the key of an entry.
    ///
    /// # Errors
    /// Fails if the entry has no valid key.
    pub fn of_entry(&self, entry: &Value) -> Result<String, EvaluationError> {
        // Only one of the two variables exists in the template.
        let nobody = Variables::of_object(&Value::Null);
        let key = self.entry.render(&Variables { item: Some(entry), row: Some(entry), ..nobody })?;
        checked(key, &self.entry)
    }

    /// Returns the key of the entry of an object with that identity.
    ///
    /// # Errors
    /// Fails if the template cannot be evaluated for this object.
    pub fn of_object(&self, object: &Value, identity: &str) -> Result<String, EvaluationError> {
        let own = |key: &TextTemplate| checked(key.render(&Variables::of_object(object))?, key);
        self.object.as_ref().map_or_else(|| Ok(identity.to_owned()), own)
    }
}

/// The template of an entry's key reads no field of an object.
impl Expressions for Keys {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.entry.visit(visit);
        self.object.visit(visit);
    }
}

/// Checks the length of a key. No entry has an empty key, so an object with an empty key would never find one.
fn checked(key: String, template: &TextTemplate) -> Result<String, EvaluationError> {
    match key.len() {
        0 => Err(template.site().error("the key is empty")),
        1..=MAX_KEY_BYTES => Ok(key),
        _ => Err(template.site().error(format!("the key is longer than {MAX_KEY_BYTES} bytes"))),
    }
}

/// The section `key` of a collection.
#[derive(Section)]
#[section(value = Keys, check = |keys: Self, _, _, ()| Some(Keys { entry: keys.item, object: keys.object }))]
pub(crate) struct ItemKeys {
    /// The name of an entry, over item.
    #[key(text(text_template(Scope::ItemAlone)))]
    item: TextTemplate,
    /// The name of an object's entry. Default: identity.
    #[key(text(text_template(Scope::Object)))]
    object: Option<TextTemplate>,
}

/// The section `key` of a query.
#[derive(Section)]
#[section(value = Keys, check = |keys: Self, _, _, ()| Some(Keys { entry: keys.row, object: keys.object }))]
pub(crate) struct RowKeys {
    /// The name of a row, over row.
    #[key(text(text_template(Scope::RowAlone)))]
    row: TextTemplate,
    /// The name of an object's row. Default: identity.
    #[key(text(text_template(Scope::Object)))]
    object: Option<TextTemplate>,
}
