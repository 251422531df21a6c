//! `compare.writeOnly`: fields that corrections send and no read returns. They differ if their Secret changed since
//! it was sent.

use super::rule_tree::Step;
use super::rules::Rules;
use super::written::read_pointer;
use crate::cel::{Node as Template, ValueTemplate};
use crate::section::{Section, text};
use crate::suggest::did_you_mean;
use crate::yaml::{Node, Position, Reader};

/// Maximum number of write-only fields of one target, the same as of its secrets.
pub(super) const MAX_WRITE_ONLY: usize = 16;

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

/// The keys of one field.
#[derive(Section)]
pub(crate) struct WriteOnlyKeys {
    /// A JSON Pointer that desired does not have: /password.
    #[key(text(read_path))]
    path: (Position, Vec<String>),
    /// A name of secrets.
    #[key(text(read_secret))]
    secret: String,
}

/// Returns a reader of fields that the desired state does not have.
pub(super) fn write_only(
    desired: Option<&ValueTemplate>,
) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Vec<WriteOnly>> {
    move |reader, node, place| {
        let mut known = Vec::new();
        reader.list(node, place, 1..=MAX_WRITE_ONLY, |reader, item, place| {
            let WriteOnlyKeys { path: (at, path), secret } = WriteOnlyKeys::read(reader, item, place, ())?;
            if known.contains(&path) {
                return reader.refuse(item.at, format!("{place}.path: it is written twice here"));
            }
            if desired.is_some_and(|desired| is_written(desired.root(), &path)) {
                let message = format!(
                    "{place}.path: desired says what is to be there, so it is compared; take it out of one of the two"
                );
                return reader.refuse(at, message);
            }
            known.push(path.clone());
            Some(WriteOnly { path, secret })
        })
    }
}

fn read_path(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<(Position, Vec<String>)> {
    let (at, _, steps) = read_pointer(reader, node, place)?;
    match names_of(steps).filter(|path| !path.is_empty()) {
        Some(path) => Some((at, path)),
        None => reader.refuse(at, format!("{place}: write out one field, for example /password")),
    }
}

fn read_secret(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    let secret = reader.literal(node, place)?;
    let names = reader.names();
    if !names.secrets.iter().any(|name| name == secret) {
        let hint = did_you_mean(secret, names.secrets.iter().map(String::as_str));
        return reader.refuse(node.at, format!("{place}: spec.secrets has no `{secret}`{hint}"));
    }
    Some(secret.to_owned())
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
