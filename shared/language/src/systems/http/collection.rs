//! `each`: one request, with its pages, that returns all objects at once.
//!
//! Rules about a single entry read `item`.

use serde_json::Value;

use crate::cel::{EvaluationError, Expression, Scope, Variables};
use crate::section::{Leaf as _, Section, section, text};
use crate::systems::keys::{ItemKeys, Keys};
use crate::yaml::{Fields, Node, Reader, expression};

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
    /// Adds the rule that marks an entry as absent.
    pub(super) fn with_absence(self, absent_when: Option<Expression>) -> Self {
        Self { absent_when, ..self }
    }

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

/// The keys of a collection as written.
#[derive(Section)]
#[section(value = Option<Collection>, rules = check_keys, check = Self::make)]
pub(crate) struct WrittenCollection {
    /// The entries of a page. One request serves all objects.
    #[key(text(expression(Scope::Page)))]
    each: Option<Expression>,
    /// Required with each: how entries and objects match. A text is the name of an entry.
    #[key(section::<ItemKeys>(()).or_short("item"))]
    key: Option<Keys>,
    /// URL, path or fields of the next page, or: link.
    #[key(text(read_next), default = NextPage::None)]
    next: NextPage,
}

impl WrittenCollection {
    fn make(self, _: &mut Reader<'_>, _: &Fields<'_>, (): ()) -> Option<Option<Collection>> {
        let Self { each: Some(each), key, next } = self else { return Some(None) };
        Some(Some(Collection { each, keys: key?, next, absent_when: None }))
    }
}

fn check_keys(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
    if fields.get("each").is_some() {
        return reader.required(fields, "key").map(drop);
    }
    for key in ["key", "next"] {
        if let Some(node) = fields.get(key) {
            reader.refuse::<()>(node.at, format!("{}: it belongs to a collection; write each", fields.place(key)));
        }
    }
    Some(())
}

fn read_next(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<NextPage> {
    if node.as_text() == Some("link") {
        return Some(NextPage::Link);
    }
    expression(Scope::Page)(reader, node, place).map(NextPage::At)
}
