//! `compare.writeOnly`: fields that corrections send and no read returns. They differ if their Secret changed since
//! it was sent.

use super::rule_tree::Step;
use super::rules::Rules;
use super::written::read_pointer;
use crate::cel::{Node as Template, ValueTemplate};
use crate::suggest::did_you_mean;
use crate::yaml::{Node, Reader};

/// Maximum number of write-only fields of one target, the same as of its secrets.
const MAX_WRITE_ONLY: usize = 16;

/// A field of the external resource that no read returns.
#[derive(Debug)]
pub struct WriteOnly {
    /// The path from the root of the desired state, with at least one name.
    pub path: Vec<String>,
    /// The secret that the field holds.
    pub secret: String,
}

impl WriteOnly {
    /// The top-level key of the path, which corrections find in `differs`.
    #[must_use]
    pub fn field(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// Returns true if a difference here requires a deletion and a creation.
    #[must_use]
    pub fn is_replaced(&self, rules: &Rules) -> bool {
        self.path.iter().fold(rules.root(), |place, name| place.field(name)).is_replaced()
    }
}

pub(super) fn read_write_only(
    reader: &mut Reader<'_>,
    node: &Node,
    place: &str,
    desired: Option<&ValueTemplate>,
) -> Option<Vec<WriteOnly>> {
    let items = reader.items(node, place, 1..=MAX_WRITE_ONLY)?;
    let mut fields: Vec<Option<WriteOnly>> = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        let place = format!("{place}[{position}]");
        let field = read_field(reader, item, &place, desired);
        let twice = field.as_ref().is_some_and(|field| fields.iter().flatten().any(|known| known.path == field.path));
        fields.push(field);
        if twice {
            reader.refuse::<()>(item.at, format!("{place}.path: it is written twice here"));
        }
    }
    fields.into_iter().collect()
}

fn read_field(reader: &mut Reader<'_>, node: &Node, place: &str, desired: Option<&ValueTemplate>) -> Option<WriteOnly> {
    let fields = reader.fields(node, place, &["path", "secret"])?;
    let path = reader.needed(&fields, "path", |reader, node, place| {
        let (at, _, steps) = read_pointer(reader, node, place)?;
        let Some(path) = names_of(steps).filter(|path| !path.is_empty()) else {
            return reader.refuse(at, format!("{place}: write out one field, for example /password"));
        };
        if desired.is_some_and(|desired| is_written(desired.root(), &path)) {
            let message =
                format!("{place}: desired says what is to be there, so it is compared; take it out of one of the two");
            return reader.refuse(at, message);
        }
        Some(path)
    });
    let secret = reader.needed(&fields, "secret", |reader, node, place| {
        let secret = reader.literal(node, place)?;
        let known = reader.names_mut().secrets.clone();
        if !known.iter().any(|name| name == secret) {
            let hint = did_you_mean(secret, known.iter().map(String::as_str));
            return reader.refuse(node.at, format!("{place}: spec.secrets has no `{secret}`{hint}"));
        }
        Some(secret.to_owned())
    });
    Some(WriteOnly { path: path?, secret: secret? })
}

fn names_of(steps: Vec<Step>) -> Option<Vec<String>> {
    let name = |step| match step {
        Step::Name(name) => Some(name),
        Step::Every => None,
    };
    steps.into_iter().map(name).collect()
}

/// Returns true if `desired` has a value at a path, as far as known without an object.
fn is_written(desired: &Template, path: &[String]) -> bool {
    let Some((name, below)) = path.split_first() else { return true };
    match desired {
        Template::Expression(_) => false,
        Template::Map(entries) => entries.iter().any(|(known, child)| known == name && is_written(child, below)),
        Template::Constant(value) => {
            let child = value.as_object().map(|fields| fields.get(name));
            // A value that is not a map has no fields below it.
            child.is_none_or(|child| child.is_some_and(|child| is_written(&Template::Constant(child.clone()), below)))
        }
        Template::Text(_) | Template::List(_) => true,
    }
}
