//! `each`: one request and its pages that answer for all objects at once.
//!
//! What it says of a single entry is asked with `item`. This file must not know how pages are fetched.

use serde_json::Value;

use crate::cel::{EvaluationError, Expression, Scope, TextTemplate, Variables};
use crate::raw::{Fields, Reader};
use crate::templates::read_expression;
use crate::yaml::Node;
use drift_model::field_paths::FieldPaths;

/// Longest name of an entry: an identity's characters, of four bytes each at most.
const MAX_KEY_BYTES: usize = 1_012;

/// Keys of `read.http` that only a collection has.
pub(super) const COLLECTION_KEYS: &[&str] = &["each", "key", "next"];

/// A collection of external resources.
#[derive(Debug)]
pub struct Collection {
    /// The entries of one page.
    each: Expression,
    /// What an entry is called.
    item_key: TextTemplate,
    /// What an object's entry is called; default its identity.
    object_key: Option<TextTemplate>,
    /// Where the next page is.
    pub next: NextPage,
    /// Says of an entry that it is gone.
    pub absent_when: Option<Expression>,
}

/// Where the next page of a collection is.
#[derive(Debug)]
pub enum NextPage {
    /// There is one page.
    None,
    /// Where the header `Link` says `rel="next"`.
    Link,
    /// A URL or a path, or nothing after the last page.
    At(Expression),
}

impl Collection {
    /// The entries of a page.
    ///
    /// # Errors
    /// When `each` cannot be evaluated for this answer, or gives no list.
    pub fn entries(&self, response: &Value) -> Result<Vec<Value>, EvaluationError> {
        let variables = Variables { response: Some(response), ..Variables::of_object(&Value::Null) };
        match self.each.evaluate(&variables)? {
            Some(Value::Array(entries)) => Ok(entries),
            _ => Err(self.each.site().error("no list")),
        }
    }

    /// What an entry is called.
    ///
    /// # Errors
    /// When the entry has no such name.
    pub fn key_of_item(&self, item: &Value) -> Result<String, EvaluationError> {
        let key = self.item_key.render(&Variables { item: Some(item), ..Variables::of_object(&Value::Null) })?;
        checked_key(key, &self.item_key)
    }

    /// What the entry of an object with that identity is called.
    ///
    /// # Errors
    /// When the template cannot be evaluated for this object.
    pub fn key_of_object(&self, object: &Value, identity: &str) -> Result<String, EvaluationError> {
        let own = |key: &TextTemplate| checked_key(key.render(&Variables::of_object(object))?, key);
        self.object_key.as_ref().map_or_else(|| Ok(identity.to_owned()), own)
    }

    /// The fields under `self` that its templates read.
    pub(super) fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        self.object_key.iter().for_each(|key| fields.extend(&key.fields()));
        self.absent_when.iter().for_each(|rule| fields.extend(rule.fields()));
        fields
    }
}

/// No entry has an empty name, so an object that asks for it would always find nothing.
fn checked_key(key: String, template: &TextTemplate) -> Result<String, EvaluationError> {
    match key.len() {
        0 => Err(template.site().error("the key is empty")),
        1..=MAX_KEY_BYTES => Ok(key),
        _ => Err(template.site().error(format!("the key is longer than {MAX_KEY_BYTES} bytes"))),
    }
}

/// Reads the keys of a collection; `None` inside where the read has no `each`.
pub(super) fn read_collection(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Option<Collection>> {
    let Some(each) = fields.get("each") else {
        for key in ["key", "next"] {
            if let Some(node) = fields.get(key) {
                reader.refuse::<()>(node.at, format!("{}: it belongs to a collection; write each", fields.place(key)));
            }
        }
        return Some(None);
    };
    let site = reader.site(&fields.place("each"), Scope::Page);
    let each = read_expression(reader, each, &site);
    let keys = reader.required(fields, "key").and_then(|node| read_keys(reader, node, &fields.place("key")));
    let next = reader.or(fields, "next", NextPage::None, |reader, node, place| {
        if node.as_text() == Some("link") {
            return Some(NextPage::Link);
        }
        let site = reader.site(place, Scope::Page);
        read_expression(reader, node, &site).map(NextPage::At)
    });
    let absent_when = reader.optional(fields, "absentWhen", |reader, node, place| {
        let site = reader.site(place, Scope::Item);
        read_expression(reader, node, &site)
    });
    let (item_key, object_key) = keys?;
    Some(Some(Collection { each: each?, item_key, object_key, next: next?, absent_when: absent_when? }))
}

/// `item` and `object` of `key`.
fn read_keys(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<(TextTemplate, Option<TextTemplate>)> {
    let fields = reader.fields(node, place, &["item", "object"])?;
    let item = reader
        .required(&fields, "item")
        .and_then(|node| read_key(reader, node, &fields.place("item"), Scope::ItemAlone));
    let object = reader.optional(&fields, "object", |reader, node, place| read_key(reader, node, place, Scope::Object));
    Some((item?, object?))
}

fn read_key(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<TextTemplate> {
    let text = reader.text(node, place)?;
    let site = reader.site(place, scope);
    reader.compiled(node, place, TextTemplate::parse(text, &site))
}
