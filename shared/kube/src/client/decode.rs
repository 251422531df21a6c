//! Decodes the objects in the API server's responses to the form that their consumer keeps: whole, or lean.
//!
//! A page or an event is parsed once, and unused fields never become values.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Error, Value, json};

use crate::client::ResolvedKind;
use crate::client::json_parts::Parts;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::kept_fields::{KeptFields, KeptObject};
use drift_api::object::{LeanObject, SeenObject};

/// Decodes objects of a response.
pub(crate) trait Decode: Clone + Send + Sync + 'static {
    /// The decoded object.
    type Object: Send;

    /// Requests only the metadata of each object.
    const METADATA_ONLY: bool = false;

    /// Decodes one object.
    fn decode<'de, D: Deserializer<'de>>(&self, json: D) -> Result<Self::Object, D::Error>;

    /// Returns the readable part of an object that cannot be decoded, so that it does not look deleted.
    fn remains(&self, _json: &[u8]) -> Option<Self::Object> {
        None
    }

    /// Returns its `metadata.resourceVersion`.
    fn version(object: &Self::Object) -> Option<Cow<'_, str>>;
}

/// Keeps objects whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeObjects;

impl Decode for WholeObjects {
    type Object = Value;

    fn decode<'de, D: Deserializer<'de>>(&self, json: D) -> Result<Value, D::Error> {
        Value::deserialize(json)
    }

    fn version(object: &Value) -> Option<Cow<'_, str>> {
        object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(Cow::Borrowed)
    }
}

/// Keeps only the fields that templates read.
#[derive(Clone, Debug)]
pub(crate) struct LeanObjects {
    kind: ResolvedKind,
    kept: KeptFields,
}

impl LeanObjects {
    /// Creates a decoder for a kind with these fields.
    pub(crate) fn new(kind: ResolvedKind, fields: FieldPaths) -> Self {
        Self { kind, kept: KeptFields::new(fields) }
    }
}

impl Decode for LeanObjects {
    type Object = SeenObject;

    fn decode<'de, D: Deserializer<'de>>(&self, json: D) -> Result<SeenObject, D::Error> {
        let mut kept = self.kept.decode(json)?;
        complete(&mut kept.json, &self.kind);
        let object = LeanObject::of_kept(&kept, self.kept.fields());
        Ok(SeenObject { object, labels: kept.json.pointer_mut("/metadata/labels").map(Value::take) })
    }

    fn remains(&self, json: &[u8]) -> Option<SeenObject> {
        let kept = KeptFields::new(FieldPaths::default()).decode(&mut serde_json::Deserializer::from_slice(json));
        let json =
            kept.map(|kept| kept.json).or_else(|_| serde_json::from_slice::<Remains>(json).map(Remains::into_json));
        let mut kept = KeptObject { json: json.ok()?, is_oversized: true };
        let object = LeanObject::of_kept(&kept, self.kept.fields());
        let is_known = !object.id.uid.is_empty() && !object.id.name.is_empty();
        is_known.then(|| SeenObject { object, labels: kept.json.pointer_mut("/metadata/labels").map(Value::take) })
    }

    fn version(seen: &SeenObject) -> Option<Cow<'_, str>> {
        Some(seen.object.resource_version.to_string().into())
    }
}

/// The minimal part of an object whose metadata and conditions cannot be decoded.
#[derive(Deserialize)]
struct Remains {
    metadata: RemainingMetadata,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct RemainingMetadata {
    namespace: Option<String>,
    name: String,
    uid: String,
    resource_version: Option<String>,
    deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

impl Remains {
    fn into_json(self) -> Value {
        json!({ "metadata": self.metadata })
    }
}

/// Adds kind and apiVersion, which lists of built-in kinds omit from their items.
fn complete(object: &mut Value, kind: &ResolvedKind) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("apiVersion").or_insert_with(|| kind.resource.api_version.clone().into());
        fields.entry("kind").or_insert_with(|| kind.resource.kind.clone().into());
    }
}

/// One page of a list.
pub(crate) struct ListAnswer<T> {
    /// The decoded objects.
    pub(crate) items: Vec<T>,
    /// The metadata of the list.
    pub(crate) metadata: ListMetadata,
}

/// The metadata of a list or of a bookmark.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMetadata {
    /// The version of the list.
    pub(crate) resource_version: String,
    /// The continue token.
    #[serde(rename = "continue")]
    pub(crate) next: Option<String>,
}

/// One event of a watch.
pub(crate) enum WatchAnswer<T> {
    /// An added or modified object.
    Changed(T),
    /// A deleted object.
    Deleted(T),
    /// No further event up to this version, if it is known.
    Bookmark(Option<String>),
    /// The watch has ended.
    Error(Box<kube::core::Status>),
}

/// Parses a page. For an item that cannot be decoded, keeps its readable part, if any, and logs its name.
pub(crate) fn parse_list<K: Decode>(decode: &K, json: &[u8]) -> Result<ListAnswer<K::Object>, Error> {
    let mut answer = ListAnswer { items: Vec::new(), metadata: ListMetadata::default() };
    Parts::of(json).for_each_field(|field, part| {
        match field {
            // An empty list may be null.
            "items" if part != b"null" => {
                Parts::of(part).for_each_item(|item| answer.items.extend(decoded(decode, item)))?;
            }
            "metadata" => answer.metadata = serde_json::from_slice(part)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(answer)
}

/// Parses an event. For an object that cannot be decoded, keeps its readable part, if any, and logs its name.
pub(crate) fn parse_event<K: Decode>(decode: &K, json: &[u8]) -> Result<WatchAnswer<K::Object>, Error> {
    let (mut kind, mut object) = (String::new(), None);
    Parts::of(json).for_each_field(|field, part| {
        match field {
            "type" => kind = serde_json::from_slice(part)?,
            "object" => object = Some(part),
            _ => {}
        }
        Ok(())
    })?;
    let object = object.ok_or_else(|| Error::missing_field("object"))?;
    let of_object = |answer: fn(K::Object) -> WatchAnswer<K::Object>| match decoded(decode, object) {
        Some(object) => answer(object),
        None => WatchAnswer::Bookmark(metadata_text(object, "resourceVersion")),
    };
    Ok(match kind.as_str() {
        "ADDED" | "MODIFIED" => of_object(WatchAnswer::Changed),
        "DELETED" => of_object(WatchAnswer::Deleted),
        "BOOKMARK" => {
            let Bookmark { metadata } = serde_json::from_slice(object)?;
            WatchAnswer::Bookmark(Some(metadata.resource_version))
        }
        "ERROR" => WatchAnswer::Error(Box::new(serde_json::from_slice(object)?)),
        _ => return Err(Error::custom("an event of no known type")),
    })
}

/// Decodes one object. An object that cannot be decoded must not affect the others of its kind.
fn decoded<K: Decode>(decode: &K, json: &[u8]) -> Option<K::Object> {
    let error = match decode.decode(&mut serde_json::Deserializer::from_slice(json)) {
        Ok(object) => return Some(object),
        Err(error) => error,
    };
    let remains = decode.remains(json);
    let [kind, namespace, name, uid] = ["kind", "namespace", "name", "uid"].map(|field| metadata_text(json, field));
    let (at, is_ignored) = (error.column(), remains.is_none());
    // The error's own text quotes the object.
    let error = error.classify();
    tracing::warn!(kind, namespace, name, uid, is_ignored, ?error, byte = at, "an object cannot be read");
    remains
}

/// Returns a text in the metadata of an object that cannot be decoded, or its kind.
fn metadata_text(json: &[u8], field: &str) -> Option<String> {
    let mut fields = FieldPaths::default();
    fields.insert(vec!["kind".to_owned()]);
    let kept = KeptFields::new(fields).decode(&mut serde_json::Deserializer::from_slice(json)).ok()?.json;
    let text = if field == "kind" { kept.get("kind") } else { kept.get("metadata")?.get(field) };
    text?.as_str().map(str::to_owned)
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: ListMetadata,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::client::ObjectNames;

    fn services(field: &str) -> LeanObjects {
        let resource = kube::core::ApiResource::erase::<k8s_openapi::api::core::v1::Service>(&());
        let mut fields = FieldPaths::default();
        fields.insert(vec![field.to_owned()]);
        LeanObjects::new(ResolvedKind { resource, namespaced: true }, fields)
    }

    #[test]
    fn items_of_lists_get_back_their_kind() {
        let decode = services("kind");
        let list = json!({"items": [{"metadata": {"name": "p"}}], "metadata": {"resourceVersion": "7"}}).to_string();
        let answer = parse_list(&decode, list.as_bytes()).unwrap();
        assert_eq!(*answer.items[0].object.view.open(), json!({"kind": "Service"}));
        assert!(parse_list(&decode, br#"{"items": null, "metadata": {}}"#).unwrap().items.is_empty());
    }

    fn nested(levels: usize) -> String {
        format!("{}{}", r#"{"a":"#.repeat(levels) + "1", "}".repeat(levels))
    }

    fn item(name: &str, version: u32, spec: &str) -> String {
        format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}},"spec":{spec}}}"#)
    }

    fn list(items: &[String]) -> String {
        format!(r#"{{"kind":"List","items":[{}],"metadata":{{"resourceVersion":"7"}}}}"#, items.join(" , "))
    }

    #[test]
    fn a_deep_object_is_oversized_by_itself() {
        let decode = services("spec");
        let list = list(&[item("a", 1, "1"), item("deep", 2, &nested(5000)), item("b", 3, "1")]);
        let answer = parse_list(&decode, list.as_bytes()).unwrap();
        let seen: Vec<_> =
            answer.items.iter().map(|seen| (seen.object.id.name.as_str(), seen.object.oversize.is_some())).collect();
        assert_eq!(seen, [("a", false), ("deep", true), ("b", false)]);
        let event = format!(r#"{{"type":"ADDED","object":{}}}"#, item("deep", 9, &nested(5000)));
        let WatchAnswer::Changed(seen) = parse_event(&decode, event.as_bytes()).unwrap() else { panic!("no change") };
        assert!(seen.object.oversize.is_some() && seen.object.resource_version.to_string() == "9");
    }

    #[test]
    fn an_unreadable_object_is_not_gone() {
        let decode = services("spec");
        let metadata = |more: &str| {
            format!(r#"{{"uid":"u","name":"n","namespace":"a","resourceVersion":"2","labels":{{"l":"v"}}{more}}}"#)
        };
        let condition = r#"{"type":"driftObserved","status":"True","reason":"InSync"}"#;
        let in_spec = format!(
            r#"{{"metadata":{},"spec":1e999,"status":{{"conditions":[{condition}]}}}}"#,
            metadata(r#","finalizers":["f"]"#)
        );
        let in_metadata = format!(r#"{{"metadata":{}}}"#, metadata(r#","generation":1e999"#));
        for (object, has_condition) in [(in_spec, true), (in_metadata, false)] {
            let seen = parse_list(&decode, list(std::slice::from_ref(&object)).as_bytes()).unwrap().items.remove(0);
            assert!(seen.object.oversize.is_some() && seen.object.view.open().is_null());
            let id = &seen.object.id;
            assert_eq!((&*id.uid, &*id.name, id.namespace.as_deref()), ("u", "n", Some("a")));
            assert_eq!(seen.labels, Some(json!({"l": "v"})));
            assert_eq!(
                (seen.object.conditions.observed.is_some(), seen.object.finalizers.len()),
                match has_condition {
                    true => (true, 1),
                    false => (false, 0),
                }
            );
            let event = format!(r#"{{"type":"MODIFIED","object":{object}}}"#);
            let WatchAnswer::Changed(changed) = parse_event(&decode, event.as_bytes()).unwrap() else {
                panic!("no change")
            };
            assert_eq!(changed, seen);
        }
        let nameless = r#"{"metadata":{"uid":"u"},"spec":1e999}"#.to_owned();
        assert!(parse_list(&decode, list(&[nameless]).as_bytes()).unwrap().items.is_empty());
    }

    #[test]
    fn an_item_without_a_name_is_left_out() {
        let strange = r#"{"metadata":{"name":7,"resourceVersion":{}}}"#.to_owned();
        let items = [item("a", 1, "1"), item("deep", 2, &nested(200)), strange, "7".to_owned(), item("b", 3, "1")];
        let whole = parse_list(&WholeObjects, list(&items).as_bytes()).unwrap();
        assert_eq!(whole.items.len(), 4, "only the deep one cannot be kept whole");
        let names = parse_list(&ObjectNames, list(&items).as_bytes()).unwrap();
        let named: Vec<_> = names.items.iter().map(|item| item.name.name.as_str()).collect();
        assert_eq!((named, names.metadata.resource_version.as_str()), (vec!["a", "deep", "b"], "7"));
    }

    #[test]
    fn a_broken_list_is_an_error() {
        let broken = ["", "7", "{", "[]", r#"{"items":[{]}"#, r#"{"items":[{}"#, r#"{"items":[]} x"#, r#"{"items":7}"#];
        for broken in broken {
            assert!(parse_list(&WholeObjects, broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
