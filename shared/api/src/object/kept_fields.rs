//! Decodes an object's JSON directly into its kept fields.
//!
//! A whole object as a tree of values takes many times its bytes. So unused fields are skipped during parsing, and the
//! kept size is limited: a single huge object must not end a program with a hundred thousand. Pure.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::names;
use crate::object::field_paths::FieldPaths;

/// Maximum kept size of one object: the bytes of its texts, and `NODE_BYTES` for each value. Far above the size of a
/// desired state, and five hundred such objects fit within the memory limit of 128 MiB.
pub const MAX_KEPT_BYTES: usize = 256 * 1024;

/// Maximum depth of a kept value. serde_json fails at 128 levels of the whole text. The API server accepts far deeper
/// objects, and kinds with free-form fields stay below thirty.
const MAX_DEPTH: usize = 64;

/// Bytes of a map entry, without its text.
const NODE_BYTES: usize = 64;

/// The fields that are kept of objects.
#[derive(Clone, Debug)]
pub struct KeptFields {
    fields: FieldPaths,
    plan: Plan,
}

/// The kept fields of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptObject {
    /// Its metadata, its conditions and the kept fields, and nothing else.
    pub json: Value,
    /// True if fields were dropped because they exceed [`MAX_KEPT_BYTES`] or the maximum depth.
    pub is_oversized: bool,
}

/// The plan for one value.
#[derive(Clone, Debug)]
enum Plan {
    /// Keep the whole value.
    Whole,
    /// Keep nothing of it.
    Nothing,
    /// Keep our own entries of a list of conditions, each at its index.
    OurConditions,
    /// Keep these fields of a map, and all others if `others` is true. A value that is not a map is kept whole.
    Fields { named: BTreeMap<String, Plan>, others: bool },
}

impl KeptFields {
    /// Creates a plan for `fields`, and for the metadata and the two conditions, which both programs need
    /// of every object.
    #[must_use]
    pub fn new(fields: FieldPaths) -> Self {
        let mut plan = Plan::none();
        for path in fields.iter() {
            plan.keep(path);
        }
        for field in ["namespace", "name", "uid", "resourceVersion", "generation", "labels", "finalizers"] {
            plan.keep(&["metadata".to_owned(), field.to_owned()]);
        }
        for field in ["creationTimestamp", "deletionTimestamp"] {
            plan.keep(&["metadata".to_owned(), field.to_owned()]);
        }
        for name in names::OBJECT_ANNOTATIONS {
            plan.keep(&["metadata".to_owned(), "annotations".to_owned(), (*name).to_owned()]);
        }
        plan.put("metadata", "managedFields", Plan::Nothing);
        plan.put("status", "conditions", Plan::OurConditions);
        if fields.readiness {
            plan.keep(&["status".to_owned(), names::OBSERVED_GENERATION.to_owned()]);
        }
        Self { fields, plan }
    }

    /// Returns the fields that the templates read.
    #[must_use]
    pub const fn fields(&self) -> &FieldPaths {
        &self.fields
    }

    /// Decodes one object.
    ///
    /// # Errors
    /// Fails if it is not JSON.
    pub fn decode<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<KeptObject, D::Error> {
        let budget = Budget::new();
        let json = Seed { plan: &self.plan, budget: &budget, may_drop: true, depth: 0 }.deserialize(deserializer)?;
        Ok(KeptObject { json, is_oversized: budget.is_spent.get() })
    }
}

impl Plan {
    const fn none() -> Self {
        Self::Fields { named: BTreeMap::new(), others: false }
    }

    /// Keeps the whole field at the end of a path.
    fn keep(&mut self, path: &[String]) {
        let Self::Fields { named, others } = self else { return };
        match path {
            [] => *others = true,
            _ if *others => {}
            [field, below @ ..] => named.entry(field.clone()).or_insert_with(Self::none).keep(below),
        }
    }

    /// Sets the plan for one subfield of a top-level field, regardless of its other subfields.
    fn put(&mut self, top: &str, field: &str, plan: Self) {
        let Self::Fields { named, others } = self else { return };
        let below = named.entry(top.to_owned()).or_insert(Self::Fields { named: BTreeMap::new(), others: *others });
        if let Self::Fields { named, .. } = below {
            named.insert(field.to_owned(), plan);
        }
    }

    /// Returns the plan of a map's field.
    fn of(&self, field: &str) -> &Self {
        match self {
            Self::Fields { named, others } => {
                named.get(field).unwrap_or(if *others { &Self::Whole } else { &Self::Nothing })
            }
            other => other,
        }
    }
}

/// The remaining bytes of the object.
struct Budget {
    left: Cell<usize>,
    is_spent: Cell<bool>,
}

impl Budget {
    const fn new() -> Self {
        Self { left: Cell::new(MAX_KEPT_BYTES), is_spent: Cell::new(false) }
    }

    fn charge(&self, bytes: usize) {
        match self.left.get().checked_sub(bytes) {
            Some(left) => self.left.set(left),
            None => self.is_spent.set(true),
        }
    }
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    plan: &'a Plan,
    budget: &'a Budget,
    /// True if the value may be dropped after the budget is spent. Never for metadata and conditions, whose size is
    /// limited by the API server or by us.
    may_drop: bool,
    /// Number of lists and maps around the value.
    depth: usize,
}

impl Seed<'_> {
    fn value(&self, value: impl Into<Value>, text: usize) -> Value {
        self.budget.charge(NODE_BYTES + text);
        if self.may_drop && self.budget.is_spent.get() { Value::Null } else { value.into() }
    }

    /// Returns true if a list or a map is too deep to be kept, which makes the object oversized.
    fn is_too_deep(&self) -> bool {
        let is_too_deep = self.depth >= MAX_DEPTH;
        self.budget.is_spent.set(self.budget.is_spent.get() || is_too_deep);
        is_too_deep
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        // A map with only some kept fields is still searched for those that may not be dropped.
        let is_dropped = matches!(self.plan, Plan::Whole) && self.may_drop && self.budget.is_spent.get();
        if is_dropped || matches!(self.plan, Plan::Nothing) {
            return deserializer.deserialize_ignored_any(IgnoredAny).map(|_| Value::Null);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(self.value(value, 0))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(self.value(value, 0))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(self.value(value, 0))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(self.value(value, 0))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(self.value(value, value.len()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(self.value(Value::Null, 0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        if self.is_too_deep() {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        }
        self.budget.charge(NODE_BYTES);
        let mut kept = Vec::new();
        if matches!(self.plan, Plan::OurConditions) {
            while let Some(condition) = list.next_element_seed(Condition)? {
                self.budget.charge(NODE_BYTES);
                kept.push(condition);
            }
            return Ok(Value::Array(kept));
        }
        while let Some(value) = list.next_element_seed(Seed { plan: &Plan::Whole, depth: self.depth + 1, ..self })? {
            if !(self.may_drop && self.budget.is_spent.get()) {
                kept.push(value);
            }
        }
        Ok(Value::Array(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.budget.charge(NODE_BYTES);
        let mut kept = Map::new();
        if self.is_too_deep() || matches!(self.plan, Plan::OurConditions) {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        }
        while let Some(field) = map.next_key::<String>()? {
            let plan = self.plan.of(&field);
            let may_drop = self.may_drop && field != "metadata" && !matches!(plan, Plan::OurConditions);
            let value = map.next_value_seed(Seed { plan, may_drop, depth: self.depth + 1, ..self })?;
            let is_dropped = may_drop && self.budget.is_spent.get() && value.is_null();
            if !is_dropped && !matches!(plan, Plan::Nothing) {
                self.budget.charge(field.len());
                kept.insert(field, value);
            }
        }
        Ok(Value::Object(kept))
    }
}

/// One condition: ours, or null in its place. Foreign conditions are not needed.
struct Condition;

impl<'de> DeserializeSeed<'de> for Condition {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let seed = Seed { plan: &Plan::Whole, budget: &Budget::new(), may_drop: true, depth: 0 };
        seed.deserialize(deserializer).map(|condition| if is_ours(&condition) { condition } else { Value::Null })
    }
}

fn is_ours(condition: &Value) -> bool {
    let kind = condition.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| names::CONDITION_TYPES.contains(&kind))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::object::{LeanObject, Oversize};
    use proptest::prelude::*;
    use serde_json::json;

    fn decode(object: &Value, fields: &FieldPaths) -> LeanObject {
        let text = object.to_string();
        let kept = KeptFields::new(fields.clone());
        let decoded = kept.decode(&mut serde_json::Deserializer::from_str(&text)).unwrap();
        LeanObject::of_kept(&decoded, fields)
    }

    fn object() -> Value {
        json!({"apiVersion": "a/v1", "kind": "K",
            "metadata": {"namespace": "n", "name": "o", "uid": "u", "resourceVersion": "5", "generation": 3,
                "creationTimestamp": "t", "deletionTimestamp": "t", "finalizers": ["x", names::FINALIZER],
                "labels": {"tier": "1"}, "managedFields": [{"manager": "m"}],
                "annotations": {"other": "x", names::PAUSED_ANNOTATION: "true", names::ORPHAN_ANNOTATION: "true",
                    names::POLL_REQUESTED_ANNOTATION: "1", names::RETRY_REQUESTED_ANNOTATION: "1"}},
            "spec": {"a": {"b": 1, "c": [1, {"d": null}]}, "list": [{"x": 1.5}], "text": "t", "none": null},
            "status": {"phase": "Up", "conditions": [{"type": "Ready", "message": "foreign"},
                {"type": names::DRIFT_OBSERVED, "status": "True", "reason": "FieldsDiffer", "message": "m"}, 7,
                {"type": names::DRIFT_CORRECTED, "status": "True", "reason": "CorrectionApplied"}]}})
    }

    fn some_paths() -> impl Strategy<Value = FieldPaths> {
        let field = prop::sample::select(vec![
            "spec",
            "a",
            "b",
            "list",
            "x",
            "metadata",
            "name",
            "labels",
            "status",
            "conditions",
            "phase",
            "annotations",
            "managedFields",
            "text",
            "none",
            "absent",
        ]);
        let path = prop::collection::vec(field.prop_map(str::to_owned), 0..4);
        prop::collection::vec(path, 0..5).prop_map(|paths| {
            let mut fields = FieldPaths::default();
            paths.into_iter().for_each(|path| fields.insert(path));
            fields
        })
    }

    proptest! {
        #[test]
        fn decoding_keeps_what_pruning_the_whole_keeps(fields in some_paths(), has_status: bool) {
            let mut object = object();
            if !has_status {
                object["status"] = Value::Null;
            }
            prop_assert_eq!(decode(&object, &fields), LeanObject::prune(&object, &fields));
        }
    }

    #[test]
    fn an_object_over_the_cap_keeps_its_conditions_only() {
        let mut fields = FieldPaths::default();
        fields.insert(vec!["spec".to_owned()]);
        for large in [json!("x".repeat(MAX_KEPT_BYTES)), json!(vec![json!({"": 0}); MAX_KEPT_BYTES / NODE_BYTES])] {
            let mut object = object();
            object["spec"]["large"] = large;
            let lean = decode(&object, &fields);
            assert!(lean.oversize == Some(Oversize::Object) && lean.view.open().is_null());
            assert_eq!((&*lean.id.uid, lean.paused, lean.has_finalizer()), ("u", true, true));
            assert!(lean.conditions.observed.is_some() && lean.conditions.corrected.is_some());
            assert_eq!(decode(&object, &FieldPaths::default()).oversize, None, "nobody reads it");
        }
        let mut object = object();
        let foreign = json!({"type": "Ready", "message": "x".repeat(MAX_KEPT_BYTES)});
        object["status"]["conditions"].as_array_mut().unwrap().insert(0, foreign);
        let lean = decode(&object, &fields);
        assert!(lean.oversize.is_none() && lean.conditions.observed.is_some_and(|placed| placed.index == 2));
    }

    #[test]
    fn an_object_that_nests_too_deep_keeps_its_conditions_only() {
        let mut fields = FieldPaths::default();
        fields.insert(vec!["spec".to_owned()]);
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!({ "a": [inner] }));
        let mut object = object();
        object["spec"]["deep"] = nested(MAX_DEPTH / 2 - 1);
        assert_eq!(decode(&object, &fields).oversize, None);
        object["spec"]["deep"] = nested(MAX_DEPTH / 2);
        let lean = decode(&object, &fields);
        assert!(lean.oversize == Some(Oversize::Object) && lean.view.open().is_null());
        assert!(lean.conditions.observed.is_some() && lean.conditions.corrected.is_some());
        assert_eq!(decode(&object, &FieldPaths::default()).oversize, None, "nobody reads it");
        object["spec"]["deep"] = Value::Null;
        object["metadata"]["annotations"][names::PAUSED_ANNOTATION] = nested(MAX_DEPTH);
        object["status"]["conditions"][0] = nested(MAX_DEPTH);
        let lean = decode(&object, &fields);
        assert!(lean.conditions.observed.is_some() && lean.conditions.corrected.is_some());
    }
}
