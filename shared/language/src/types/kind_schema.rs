//! The types of a kind's fields, by its OpenAPI v3 schema.
//!
//! A type that the schema leaves open is [`Type::Any`], about which nothing is reported.

use std::rc::Rc;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::cel::functions::table::Kind;
use crate::suggest::did_you_mean;

/// The type of a value in an expression.
#[derive(Clone, Debug)]
pub(super) enum Type<'s> {
    /// Unknown. Fits everywhere.
    Any,
    /// The items of an empty list.
    Nothing,
    Bool,
    /// A whole number or a double: JSON does not tell them apart.
    Number,
    Text,
    Bytes,
    /// A duration or a timestamp.
    Time,
    List(Box<Type<'s>>),
    /// A map with any keys.
    Map(Box<Type<'s>>),
    /// A map with the fields of a schema.
    Object(Rc<ObjectSchema<'s>>),
    Optional(Box<Type<'s>>),
}

/// An object in the schema.
#[derive(Debug)]
pub(super) struct ObjectSchema<'s> {
    schema: &'s Value,
    /// The path from the root: `spec.members[]`. Empty for the root.
    path: String,
    /// The validation rules from the root to here. A field that they name may be required by them.
    rules: String,
}

/// A field of an object.
pub(super) enum Field<'s> {
    /// The schema declares it. True if an object may lack it.
    Declared(Type<'s>, bool),
    /// No object has it. The text is the nearest field.
    Unknown(String),
    /// The schema leaves it open.
    Open,
}

/// The schema of a kind.
#[derive(Clone, Copy)]
pub struct KindSchema<'s> {
    /// The kind with its version, for messages.
    pub name: &'s str,
    /// The schema of the whole object.
    pub root: &'s Value,
    /// The document that references are resolved in.
    pub document: &'s Value,
    /// True if the schema alone decides which fields an object has. Kubernetes' own kinds have defaults in code.
    pub is_complete: bool,
}

/// Maximum number of followed references, because a document may refer to itself.
const MAX_REFERENCES: usize = 8;
/// Keywords that may require fields beside `required`.
const COMBINING: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];
/// The metadata of every object.
static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let texts = json!({"type": "object", "additionalProperties": text});
    let list = json!({"type": "array"});
    json!({"type": "object", "properties": {
        "name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text, "resourceVersion": text,
        "generation": number, "creationTimestamp": text, "deletionTimestamp": text, "deletionGracePeriodSeconds": number,
        "labels": texts, "annotations": texts, "ownerReferences": list, "finalizers": list, "managedFields": list}})
});

impl<'s> KindSchema<'s> {
    /// Returns the type of the whole object.
    pub(super) fn object(self) -> Type<'s> {
        Type::Object(Rc::new(ObjectSchema { schema: self.root, path: String::new(), rules: rules_of(self.root) }))
    }

    /// Looks up a field of an object.
    pub(super) fn field(self, object: &ObjectSchema<'s>, name: &str) -> Field<'s> {
        let path = object.path_of(name);
        match path.as_str() {
            "apiVersion" | "kind" => return Field::Declared(Type::Text, false),
            "metadata" => return Field::Declared(self.type_of(&METADATA, path, ""), false),
            _ => {}
        }
        let properties = object.schema.get("properties").and_then(Value::as_object);
        let Some(written) = properties.and_then(|properties| properties.get(name)) else {
            return match properties {
                Some(known) if is_closed(object.schema) => {
                    Field::Unknown(did_you_mean(name, known.keys().map(String::as_str)))
                }
                _ => Field::Open,
            };
        };
        let schema = self.resolve(written);
        let is_optional = self.may_lack(object, name, &path, [written, schema]);
        Field::Declared(self.type_of(schema, path, &object.rules), is_optional)
    }

    /// Returns true if the schema certainly lets an object lack this field.
    fn may_lack(self, object: &ObjectSchema<'s>, name: &str, path: &str, schemas: [&Value; 2]) -> bool {
        let required = object.schema.get("required").and_then(Value::as_array);
        let is_required = required.is_some_and(|required| required.iter().any(|one| one == name));
        let has_default = schemas.iter().any(|schema| schema.get("default").is_some() || is_nullable(schema));
        // Generated definitions do not require the spec, and no object comes without one.
        let is_always_there = path == "spec" || path.starts_with("metadata.");
        let is_certain = is_required || has_default || is_always_there || object.has_all_properties();
        self.is_complete && !is_certain && !names(&object.rules, name)
    }

    fn type_of(self, schema: &'s Value, path: String, rules: &str) -> Type<'s> {
        let schema = self.resolve(schema);
        let says = |key: &str| schema.get(key).is_some_and(|value| *value == true);
        let is_open = says("x-kubernetes-int-or-string") || says("x-kubernetes-embedded-resource");
        if is_open || is_nullable(schema) || schema.get("format").is_some_and(|format| format == "int-or-string") {
            return Type::Any;
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => Type::Bool,
            Some("integer" | "number") => Type::Number,
            Some("string") => Type::Text,
            Some("array") => {
                let item = schema.get("items").map(|items| self.type_of(items, format!("{path}[]"), rules));
                Type::List(Box::new(item.unwrap_or(Type::Any)))
            }
            Some("object") if schema.get("properties").is_some() => {
                let rules = format!("{rules}{}", rules_of(schema));
                Type::Object(Rc::new(ObjectSchema { schema, path, rules }))
            }
            Some("object") => match schema.get("additionalProperties") {
                Some(values) => Type::Map(Box::new(self.type_of(values, format!("{path}{{}}"), rules))),
                None => Type::Any,
            },
            _ => Type::Any,
        }
    }

    /// Follows references, directly or in an `allOf` of one.
    fn resolve(self, mut schema: &'s Value) -> &'s Value {
        for _ in 0..MAX_REFERENCES {
            let inner = schema.get("allOf").and_then(Value::as_array).filter(|all| all.len() == 1);
            let referring = inner.and_then(|all| all.first()).unwrap_or(schema);
            let Some(reference) = referring.get("$ref").and_then(Value::as_str) else { return schema };
            let Some(next) = reference.strip_prefix('#').and_then(|pointer| self.document.pointer(pointer)) else {
                return &Value::Null;
            };
            schema = next;
        }
        &Value::Null
    }
}

impl ObjectSchema<'_> {
    /// Returns the path of a field of this object.
    pub(super) fn path_of(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    /// Returns the minimum number of properties.
    pub(super) fn least_properties(&self) -> u64 {
        self.schema.get("minProperties").and_then(Value::as_u64).unwrap_or(0)
    }

    /// Returns true if an object with fewer than all declared properties is invalid.
    fn has_all_properties(&self) -> bool {
        let declared = self.schema.get("properties").and_then(Value::as_object).map_or(0, serde_json::Map::len);
        is_closed(self.schema) && usize::try_from(self.least_properties()).is_ok_and(|least| least >= declared)
    }
}

impl Type<'_> {
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Bool => Self::Bool,
            Kind::Bytes => Self::Bytes,
            Kind::List => Self::List(Box::new(Self::Any)),
            Kind::Map => Self::Map(Box::new(Self::Any)),
            Kind::Number => Self::Number,
            Kind::Text => Self::Text,
            Kind::Time => Self::Time,
        }
    }

    /// Returns the kind of a certain type; `None` if it is not certain.
    const fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Any | Self::Nothing | Self::Optional(_) => return None,
            Self::Bool => Kind::Bool,
            Self::Number => Kind::Number,
            Self::Text => Kind::Text,
            Self::Bytes => Kind::Bytes,
            Self::Time => Kind::Time,
            Self::List(_) => Kind::List,
            Self::Map(_) | Self::Object(_) => Kind::Map,
        })
    }

    /// Describes a certain type; `None` if it is not certain.
    pub(super) fn described(&self) -> Option<&'static str> {
        self.kind().map(Kind::described)
    }

    /// Returns true if both are certain and no value has both types.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        matches!((self.kind(), other.kind()), (Some(left), Some(right)) if left != right)
    }

    /// Returns true if it is certain and none of these.
    pub(super) fn is_none_of(&self, wanted: &[Kind]) -> bool {
        self.kind().is_some_and(|kind| !wanted.contains(&kind))
    }

    /// Returns the type of a value that is one or the other.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::List(left), Self::List(right)) => Self::List(Box::new(left.or(*right))),
            (Self::Optional(left), Self::Optional(right)) => Self::Optional(Box::new(left.or(*right))),
            (Self::Map(left), Self::Map(right)) => Self::Map(Box::new(left.or(*right))),
            (Self::Object(left), Self::Object(right)) if left.path == right.path => Self::Object(left),
            (left @ (Self::Bool | Self::Number | Self::Text | Self::Bytes), right) if left.kind() == right.kind() => {
                left
            }
            _ => Self::Any,
        }
    }
}

fn is_nullable(schema: &Value) -> bool {
    schema.get("nullable").is_some_and(|nullable| *nullable == true)
}

/// Returns true if an object here has only declared fields.
fn is_closed(schema: &Value) -> bool {
    let keeps = |key: &str| schema.get(key).is_some_and(|value| *value != false);
    !keeps("x-kubernetes-preserve-unknown-fields")
        && !keeps("x-kubernetes-embedded-resource")
        && !keeps("additionalProperties")
}

/// The rules of an object that may require its fields.
fn rules_of(schema: &Value) -> String {
    let keys = COMBINING.into_iter().chain(["x-kubernetes-validations"]);
    keys.filter_map(|key| schema.get(key)).map(Value::to_string).collect()
}

/// Returns true if a text has this word.
fn names(text: &str, word: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(word)
        .any(|(start, _)| !text[..start].ends_with(is_word) && !text[start + word.len()..].starts_with(is_word))
}
