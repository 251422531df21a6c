//! `spec.secrets`: the Secrets that a correction sends, each under a name of the target's own.
//!
//! It contains names of Secrets, not their values.

pub(crate) mod secret_key;

use serde_json::Value;

use crate::cel::{EvaluationError, Expressions as _, SECRETS, Scope, TextTemplate, Variables, is_word};
use crate::secrets::secret_key::{SecretKey, parse_data_key, token_key};
use crate::section::{Leaf, Section, literal, map_of, section, text};
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

/// One secret as written.
#[derive(Section)]
#[section(value = SecretSource, rules = check_source, check = make_source)]
struct WrittenSecret {
    /// A Secret in the programs' namespace.
    #[key(token_key())]
    secret_ref: Option<SecretKey>,
    /// A Secret in the object's namespace: ${self.spec.passwordRef.name}.
    #[key(text(text_template(Scope::Object)))]
    from_object: Option<TextTemplate>,
    /// With fromObject: the key in the Secret.
    #[key(literal(parse_data_key))]
    key: Option<String>,
}

fn check_source(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
    match reader.exactly_one(fields, &["secretRef", "fromObject"])? {
        ("secretRef", _) if fields.get("key").is_some() => {
            let message = format!("{}: it stands in secretRef: {{name, key}}", fields.place("key"));
            reader.refuse(fields.at(), message)
        }
        ("secretRef", _) => Some(()),
        _ => reader.required(fields, "key").map(drop),
    }
}

fn make_source(written: WrittenSecret, _: &mut Reader<'_>, _: &Fields<'_>, (): ()) -> Option<SecretSource> {
    match written {
        WrittenSecret { secret_ref: Some(own), .. } => Some(SecretSource::Own(own)),
        WrittenSecret { from_object, key, .. } => {
            Some(SecretSource::OfObject(ObjectSecret { secret: from_object?, key: key? }))
        }
    }
}

/// The secrets by their names. Templates that are read later know the names.
pub(crate) fn declared_secrets() -> impl Leaf<Value = Vec<DeclaredSecret>> {
    map_of(section::<WrittenSecret>(()), read_secrets)
}

fn read_secrets(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<DeclaredSecret>> {
    let fields = reader.any_fields(node, place)?;
    // Invalid secrets count too: their uses must not be reported as unknown.
    reader.names_mut().secrets = fields.entries().iter().map(|entry| entry.key.clone()).collect();
    if !(1..=MAX_SECRETS).contains(&fields.entries().len()) {
        return reader.refuse(node.at, format!("{place}: 1 to {MAX_SECRETS} secrets are needed"));
    }
    all(fields.entries().iter().map(|entry| {
        let place = fields.place(&entry.key);
        let name = check_name(reader, entry, &place);
        let source = WrittenSecret::read(reader, &entry.value, &place, ());
        Some(DeclaredSecret { name: name?, source: source? })
    }))
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
