//! `each`: one request, with its pages, that returns all objects at once.
//!
//! Rules about a single entry read `item`.

use serde_json::Value;

use crate::cel::{EvaluationError, Expression, Scope, Variables};
use crate::systems::keys::{Keys, read_keys};
use crate::yaml::{Fields, Reader, expression, read_expression};

/// Keys of `read.http` for collections only.
pub(crate) const COLLECTION_KEYS: &[&str] = &["each", "key", "next"];

/// A collection of external resources.
#[derive(Debug)]
pub struct Collection {
    /// The entries of one page.
    each: Expression,
    /// The keys of entries.
    pub keys: Keys,
    /// The location of the next page.
    pub next: NextPage,
    /// Rule that marks an entry as absent.
    pub absent_when: Option<Expression>,
}

/// The location of the next page of a collection.
#[derive(Debug)]
pub enum NextPage {
    /// There is only one page.
    None,
    /// The header `Link` with `rel="next"`.
    Link,
    /// A URL or a path, or a map of fields for the body or the query. Empty after the last page.
    At(Expression),
}

impl Collection {
    /// Returns the entries of a page.
    ///
    /// # Errors
    /// Fails if `each` cannot be evaluated for this response, or does not yield a list.
    pub fn entries(&self, response: &Value) -> Result<Vec<Value>, EvaluationError> {
        let variables = Variables { response: Some(response), ..Variables::of_object(&Value::Null) };
        match self.each.evaluate(&variables)? {
            Some(Value::Array(entries)) => Ok(entries),
            _ => Err(self.each.site().error("no list")),
        }
    }
}

/// Reads the keys of a collection. The inner `None` means that the read has no `each`.
pub(crate) fn read_collection(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Option<Collection>> {
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
    let keys =
        reader.needed(fields, "key", |reader, node, place| read_keys(reader, node, place, "item", Scope::ItemAlone));
    let next = reader.or(fields, "next", NextPage::None, |reader, node, place| {
        if node.as_text() == Some("link") {
            return Some(NextPage::Link);
        }
        expression(Scope::Page)(reader, node, place).map(NextPage::At)
    });
    let absent_when = reader.optional(fields, "absentWhen", expression(Scope::Item));
    Some(Some(Collection { each: each?, keys: keys?, next: next?, absent_when: absent_when? }))
}
