//! The objects in the API server's answers, decoded into what their consumer keeps: whole, or lean.
//!
//! A page or an event is parsed once, and what nobody keeps of it never becomes a value. This file must not know which
//! requests are made.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::Value;

use crate::kinds::ResolvedKind;
use drift_model::field_paths::FieldPaths;
use drift_model::kept_fields::KeptFields;
use drift_model::object::{LeanObject, SeenObject};
use drift_model::packed_text::Dictionary;

/// How objects are decoded.
pub(crate) trait Decode: Clone + Send + Sync + 'static {
    /// What becomes of one.
    type Object: Send;

    /// Whether the API server is to send no more of each than its metadata.
    const METADATA_ONLY: bool = false;

    /// Decodes one.
    fn decode<'de, D: Deserializer<'de>>(&self, json: D) -> Result<Self::Object, D::Error>;

    /// Its `metadata.resourceVersion`.
    fn version(object: &Self::Object) -> Option<Cow<'_, str>>;
}

/// Keeps objects as they are.
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

/// Keeps of the objects of a kind what templates read.
#[derive(Clone, Debug)]
pub(crate) struct LeanObjects {
    kind: ResolvedKind,
    kept: KeptFields,
    /// Made of the first of them that is large enough, against which the views of all later ones are packed.
    dictionary: Arc<OnceLock<Dictionary>>,
}

impl LeanObjects {
    /// Of that kind, with these fields.
    pub(crate) fn new(kind: ResolvedKind, fields: FieldPaths) -> Self {
        Self { kind, kept: KeptFields::new(fields), dictionary: Arc::default() }
    }
}

impl Decode for LeanObjects {
    type Object = SeenObject;

    fn decode<'de, D: Deserializer<'de>>(&self, json: D) -> Result<SeenObject, D::Error> {
        let mut kept = self.kept.decode(json)?;
        complete(&mut kept.json, &self.kind);
        let object = LeanObject::of_kept(&kept, self.kept.fields(), self.dictionary.get());
        if self.dictionary.get().is_none()
            && let Some(dictionary) = object.view.to_dictionary()
        {
            self.dictionary.get_or_init(|| dictionary);
        }
        Ok(SeenObject { object, labels: kept.json.pointer_mut("/metadata/labels").map(Value::take) })
    }

    fn version(seen: &SeenObject) -> Option<Cow<'_, str>> {
        Some(seen.object.resource_version.to_string().into())
    }
}

/// Lists of built-in kinds leave out what every item has in common.
fn complete(object: &mut Value, kind: &ResolvedKind) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("apiVersion").or_insert_with(|| kind.resource.api_version.clone().into());
        fields.entry("kind").or_insert_with(|| kind.resource.kind.clone().into());
    }
}

/// One page of a list.
pub(crate) struct ListAnswer<T> {
    /// The objects.
    pub(crate) items: Vec<T>,
    /// What is said of the list.
    pub(crate) metadata: ListMetadata,
}

/// What is said of a list, or by a bookmark.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMetadata {
    /// The version of the list.
    pub(crate) resource_version: String,
    /// Where the list goes on.
    #[serde(rename = "continue")]
    pub(crate) next: Option<String>,
}

/// One event of a watch.
pub(crate) enum WatchAnswer<T> {
    /// Added or modified.
    Changed(T),
    /// Deleted.
    Deleted(T),
    /// Nothing happened up to this version.
    Bookmark(String),
    /// The watch is over.
    Error(Box<kube::core::Status>),
}

/// Parses a page.
pub(crate) fn parse_list<K: Decode>(decode: &K, json: &[u8]) -> Result<ListAnswer<K::Object>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let answer = deserializer.deserialize_map(List(decode))?;
    deserializer.end()?;
    Ok(answer)
}

/// Parses an event: its type first, which says what its object is.
pub(crate) fn parse_event<K: Decode>(decode: &K, json: &[u8]) -> Result<WatchAnswer<K::Object>, serde_json::Error> {
    let EventType { kind } = serde_json::from_slice(json)?;
    serde_json::Deserializer::from_slice(json).deserialize_map(Event { decode, kind: &kind })
}

#[derive(Deserialize)]
struct EventType {
    #[serde(rename = "type")]
    kind: String,
}

struct List<'a, K>(&'a K);

impl<'de, K: Decode> Visitor<'de> for List<'_, K> {
    type Value = ListAnswer<K::Object>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut answer = ListAnswer { items: Vec::new(), metadata: ListMetadata::default() };
        while let Some(field) = map.next_key::<String>()? {
            match field.as_str() {
                "items" => answer.items = map.next_value_seed(Items(self.0))?,
                "metadata" => answer.metadata = map.next_value()?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(answer)
    }
}

struct Items<'a, K>(&'a K);

impl<'de, K: Decode> DeserializeSeed<'de> for Items<'_, K> {
    type Value = Vec<K::Object>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // A list of nothing may be null.
        deserializer.deserialize_any(self)
    }
}

impl<'de, K: Decode> Visitor<'de> for Items<'_, K> {
    type Value = Vec<K::Object>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("objects")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(Item(self.0))? {
            items.push(item);
        }
        Ok(items)
    }
}

struct Item<'a, K>(&'a K);

impl<'de, K: Decode> DeserializeSeed<'de> for Item<'_, K> {
    type Value = K::Object;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.decode(deserializer)
    }
}

struct Event<'a, K> {
    decode: &'a K,
    kind: &'a str,
}

impl<'de, K: Decode> Visitor<'de> for Event<'_, K> {
    type Value = WatchAnswer<K::Object>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut event = None;
        while let Some(field) = map.next_key::<String>()? {
            if field != "object" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            event = Some(match self.kind {
                "ADDED" | "MODIFIED" => WatchAnswer::Changed(map.next_value_seed(Item(self.decode))?),
                "DELETED" => WatchAnswer::Deleted(map.next_value_seed(Item(self.decode))?),
                "BOOKMARK" => WatchAnswer::Bookmark(map.next_value::<Bookmark>()?.metadata.resource_version),
                "ERROR" => WatchAnswer::Error(Box::new(map.next_value()?)),
                _ => return Err(A::Error::custom("an event of no known type")),
            });
        }
        event.ok_or_else(|| A::Error::missing_field("object"))
    }
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: ListMetadata,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_model::kept_fields::MAX_KEPT_BYTES;
    use serde_json::json;

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

    #[test]
    fn views_are_packed_against_the_first_large_one() {
        let decode = services("spec");
        let item = |name: &str, text: &str| json!({"metadata": {"name": name}, "spec": {"text": text}});
        let (oversized, text) =
            ("x".repeat(MAX_KEPT_BYTES), "one that is long enough to be what others are packed against");
        let items = [item("huge", &oversized), item("small", ""), item("a", text), item("b", text), item("small", "")];
        let list = json!({"items": items, "metadata": {}}).to_string();
        let answer = parse_list(&decode, list.as_bytes()).unwrap();
        let views: Vec<_> = answer.items.iter().map(|item| &item.object.view).collect();
        let dictionaries: Vec<_> = views.iter().map(|view| view.dictionary()).collect();
        assert_eq!(dictionaries[..3], [None; 3]);
        assert!(dictionaries[3].is_some() && dictionaries[3] == views[2].to_dictionary().as_ref());
        assert_eq!((views[3], views[4]), (views[2], views[1]));
    }
}
