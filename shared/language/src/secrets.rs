//! `spec.secrets`: the Secrets that a correction sends, each under a name of the target's own.
//!
//! It contains names of Secrets, not their values.

pub(crate) mod needed_secret;
pub(crate) mod secret_key;

use serde_json::Value;

use crate::cel::{EvaluationError, Expressions as _, SECRETS, Scope, TextTemplate, Variables, is_word};
use crate::secrets::secret_key::{SecretKey, read_data_key, read_secret_key};
use crate::values::names::is_dns_subdomain;
use crate::yaml::{Entry, Fields, Node, Reader, all, text_template};
use drift_api::object::field_paths::FieldPaths;

/// Maximum number of secrets of one target. Their marks are in the note of every object, which shares its message
/// with a sentence.
const MAX_SECRETS: usize = 16;
/// Maximum characters of a name, for the same reason.
const MAX_NAME_CHARS: usize = 32;

/// A Secret of which a correction sends one value.
#[derive(Debug)]
pub struct DeclaredSecret {
    /// Its name in the target.
    pub name: String,
    /// The Secret and its data key.
    pub source: SecretSource,
}

/// The location of a secret.
#[derive(Debug)]
pub enum SecretSource {
    /// In a Secret of our own namespace, shared by all objects.
    Own(SecretKey),
    /// In a Secret of the object's namespace.
    OfObject(ObjectSecret),
}

/// A Secret in the object's namespace.
#[derive(Debug)]
pub struct ObjectSecret {
    secret: TextTemplate,
    /// The data key.
    pub key: String,
}

impl ObjectSecret {
    /// Renders the Secret's name.
    ///
    /// # Errors
    /// Fails if the template cannot be evaluated for this object, or does not yield the name of a Secret.
    pub fn secret_of(&self, object: &Value) -> Result<String, EvaluationError> {
        let name = self.secret.render(&Variables::of_object(object))?;
        if is_dns_subdomain(&name) {
            Ok(name)
        } else {
            Err(self.secret.site().error("the result is no name of a Secret"))
        }
    }
}

impl DeclaredSecret {
    /// Returns true if it is in the object's namespace, not in ours.
    #[must_use]
    pub const fn is_of_object(&self) -> bool {
        matches!(self.source, SecretSource::OfObject(_))
    }

    /// Returns the data key of a Secret in the object's namespace.
    #[must_use]
    pub fn key_of_object(&self) -> Option<&str> {
        match &self.source {
            SecretSource::Own(_) => None,
            SecretSource::OfObject(of_object) => Some(&of_object.key),
        }
    }

    /// The fields under `self` that select the Secret.
    pub(crate) fn fields(&self) -> FieldPaths {
        match &self.source {
            SecretSource::Own(_) => FieldPaths::default(),
            SecretSource::OfObject(of_object) => of_object.secret.fields(),
        }
    }
}

/// Returns the name of a secret in expressions.
pub(crate) fn secret_variable(name: &str) -> String {
    format!("{SECRETS}.{name}")
}

/// Reads this key. Templates that are read later know the names.
pub(crate) fn read_secrets(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<DeclaredSecret>> {
    let fields = reader.any_fields(node, place)?;
    // Invalid secrets count too: their uses must not be reported as unknown.
    reader.names_mut().secrets = fields.entries().iter().map(|entry| entry.key.clone()).collect();
    if !(1..=MAX_SECRETS).contains(&fields.entries().len()) {
        return reader.refuse(node.at, format!("{place}: 1 to {MAX_SECRETS} secrets are needed"));
    }
    all(fields.entries().iter().map(|entry| read_secret(reader, &fields, entry)))
}

fn read_secret(reader: &mut Reader<'_>, secrets: &Fields<'_>, entry: &Entry) -> Option<DeclaredSecret> {
    let place = secrets.place(&entry.key);
    let name = check_name(reader, entry, &place);
    let fields = reader.fields(&entry.value, &place, &["secretRef", "fromObject", "key"])?;
    let source = match (fields.get("secretRef"), fields.get("fromObject")) {
        (Some(_), None) if fields.get("key").is_some() => {
            let message = format!("{}: it stands in secretRef: {{name, key}}", fields.place("key"));
            reader.refuse(fields.at(), message)
        }
        (Some(node), None) => read_secret_key(reader, node, &fields.place("secretRef")).map(SecretSource::Own),
        (None, Some(node)) => read_object_secret(reader, &fields, node).map(SecretSource::OfObject),
        _ => reader.refuse(fields.at(), format!("{place}: exactly one of secretRef, fromObject is needed")),
    };
    Some(DeclaredSecret { name: name?, source: source? })
}

fn read_object_secret(reader: &mut Reader<'_>, fields: &Fields<'_>, node: &Node) -> Option<ObjectSecret> {
    let secret = text_template(Scope::Object)(reader, node, &fields.place("fromObject"));
    let key = read_data_key(reader, fields);
    Some(ObjectSecret { secret: secret?, key: key? })
}

fn check_name(reader: &mut Reader<'_>, entry: &Entry, place: &str) -> Option<String> {
    let name = entry.key.as_str();
    if !is_word(name) || name.starts_with('_') || name.len() > MAX_NAME_CHARS {
        let message = format!(
            "{place}: `{name}` is no name of a secret: use at most {MAX_NAME_CHARS} letters, digits and _, a letter first"
        );
        return reader.refuse(entry.key_at, message);
    }
    Some(name.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
