//! Compares two versions of a custom kind: the fields of a stored object that a write through another version changes.
//!
//! Without a conversion webhook, the API server reads the stored object, drops every field that the schema of the
//! version in the request does not declare, adds the defaults of that schema, and stores the result. It does so for each
//! write, also for one of a label or of `/status`. The rules here are those of its pruning. Pure.

use std::collections::BTreeSet;

use drift_api::printable::first_names;
use serde_json::Value;

use crate::kinds::schema::OF_EVERY_OBJECT;

/// Fields of a message. The first ones are enough to recognise the version.
const SHOWN: usize = 4;

/// The fields of a stored object that a write through another version changes, as paths such as `spec.extra`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LostFields {
    /// Fields that it removes. `.*` at the end stands for fields that no schema names.
    removed: Vec<String>,
    /// Fields that it sets to a default of its own.
    defaulted: Vec<String>,
}

/// Compares the schema of a version that is written with the schema of the stored version.
pub(super) fn lost_fields(written: &Value, stored: &Value) -> LostFields {
    let mut lost = LostFields::default();
    let (written, stored) = (Place::of(written), Place::of(stored));
    // Version, kind and metadata of the object itself do not depend on the schema.
    for name in stored.names(written) {
        if !OF_EVERY_OBJECT.contains(&name) {
            lost.compare_field(written, stored, (name, name.to_owned()));
        }
    }
    if stored.keeps && !written.keeps {
        lost.removed.push("*".to_owned());
    }
    lost
}

impl LostFields {
    /// Returns true if a write through the version changes nothing else.
    pub(super) const fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.defaulted.is_empty()
    }

    /// Says what a write does: `removes spec.a, spec.b from the stored object`.
    pub(super) fn sentence(&self) -> String {
        let removes = (!self.removed.is_empty())
            .then(|| format!("removes {} from the stored object", first_names(&self.removed, SHOWN)));
        let sets =
            (!self.defaulted.is_empty()).then(|| format!("sets {} to a default", first_names(&self.defaulted, SHOWN)));
        removes.into_iter().chain(sets).collect::<Vec<_>>().join(" and ")
    }

    fn compare_field(&mut self, written: Place<'_>, stored: Place<'_>, (name, path): (&str, String)) {
        // The API server keeps and checks the metadata of an embedded resource by itself.
        let is_meta = OF_EVERY_OBJECT.contains(&name) && written.is_embedded() && stored.is_embedded();
        if !is_meta && let Some(stored) = stored.field(name) {
            self.compare(written.field(name), stored, path);
        }
    }

    /// Compares the values at one place. `written` is `None` if that version does not declare the field.
    fn compare(&mut self, written: Option<Place<'_>>, stored: Place<'_>, path: String) {
        let Some(written) = written else { return self.removed.push(path) };
        if written.is_anything() {
            return;
        }
        let default = written.schema.get("default");
        if default.is_some() && default != stored.schema.get("default") {
            self.defaulted.push(path.clone());
        }
        let drops_null = stored.is_nullable() && !written.is_nullable();
        if drops_null || (stored.keeps && !written.keeps) {
            return self.removed.push(if drops_null { path } else { format!("{path}.*") });
        }
        for name in stored.names(written) {
            self.compare_field(written, stored, (name, format!("{path}.{name}")));
        }
        if let Some(others) = stored.others() {
            self.compare(written.others(), others, format!("{path}.*"));
        }
        if stored.has_items() || (stored.keeps && written.has_items()) {
            self.compare(Some(written.items()), stored.items(), format!("{path}[]"));
        }
    }
}

/// The schema of one place in an object.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    /// Null if the schema says nothing about it.
    schema: &'a Value,
    /// True if fields stay that the schema does not declare. Lists pass it on to their items, and fields do not.
    keeps: bool,
}

impl<'a> Place<'a> {
    /// A place below a field that keeps everything.
    const ANYTHING: Self = Self { schema: &Value::Null, keeps: true };

    fn of(schema: &'a Value) -> Self {
        Self { schema, keeps: is_true(schema, "x-kubernetes-preserve-unknown-fields") }
    }

    fn is_anything(self) -> bool {
        self.schema.is_null() && self.keeps
    }

    fn is_embedded(self) -> bool {
        is_true(self.schema, "x-kubernetes-embedded-resource")
    }

    fn is_nullable(self) -> bool {
        is_true(self.schema, "nullable")
    }

    /// The schema of a field. `None` if the API server drops it.
    fn field(self, name: &str) -> Option<Self> {
        let declared = self.schema.get("properties").and_then(|fields| fields.get(name)).map(Self::of);
        let is_meta = self.is_embedded() && OF_EVERY_OBJECT.contains(&name);
        declared.or_else(|| is_meta.then_some(Self::ANYTHING)).or_else(|| self.others())
    }

    /// The schema of the fields that have no schema of their own. `None` if the API server drops them.
    fn others(self) -> Option<Self> {
        match self.schema.get("additionalProperties") {
            Some(Value::Bool(false)) | None => self.keeps.then_some(Self::ANYTHING),
            // `true` keeps plain values, and no fields of objects in them.
            Some(more) => Some(Self::of(more)),
        }
    }

    fn has_items(self) -> bool {
        self.schema.get("items").is_some()
    }

    fn items(self) -> Self {
        let items = Self::of(self.schema.get("items").unwrap_or(&Value::Null));
        Self { keeps: items.keeps || self.keeps, ..items }
    }

    /// The names of all fields that one of two versions declares here.
    fn names(self, other: Self) -> BTreeSet<&'a str>
    where
        Self: 'a,
    {
        let names = |place: Self| place.schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let meta = self.is_embedded().then_some(OF_EVERY_OBJECT).into_iter().flatten().copied();
        names(self).chain(names(other)).map(|(name, _)| name.as_str()).chain(meta).collect()
    }
}

fn is_true(schema: &Value, key: &str) -> bool {
    schema.get(key).is_some_and(|value| *value == true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What a write through a version with this schema of `spec` does to objects with that one.
    fn said(written: &Value, stored: &Value) -> String {
        let version =
            |spec: &Value| json!({"type": "object", "properties": {"metadata": {"type": "object"}, "spec": spec}});
        lost_fields(&version(written), &version(stored)).sentence()
    }

    fn object(fields: &Value) -> Value {
        json!({"type": "object", "properties": fields})
    }

    #[test]
    fn fields_that_a_version_lacks_are_lost() {
        let text = json!({"type": "string"});
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let map = |values: &Value| json!({"type": "object", "additionalProperties": values});
        let list = |items: &Value| json!({"type": "array", "items": items});
        let (small, large) = (object(&json!({"a": text})), object(&json!({"a": text, "b": text})));
        let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
        let either = json!({"x-kubernetes-int-or-string": true});
        let keeps_but_a =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": small}});
        for (written, stored, expected) in [
            (&large, &large, ""),
            (&large, &small, ""),
            (&small, &large, "spec.b"),
            (&object(&json!({})), &large, "spec.a, spec.b"),
            (&object(&json!({"x": small})), &object(&json!({"x": large})), "spec.x.b"),
            (&list(&small), &list(&large), "spec[].b"),
            (&list(&large), &list(&small), ""),
            (&text, &list(&large), "spec[].a, spec[].b"),
            (&list(&text), &list(&list(&small)), "spec[][].a"),
            (&map(&small), &map(&large), "spec.*.b"),
            (&map(&large), &map(&small), ""),
            (&small, &map(&text), "spec.*"),
            (&map(&text), &small, ""),
            (&map(&text), &large, ""),
            (&map(&small), &object(&json!({"x": large})), "spec.x.b"),
            (&map(&json!(true)), &map(&text), ""),
            (&map(&json!(true)), &map(&small), "spec.*.a"),
            (&map(&json!(false)), &map(&text), "spec.*"),
            (&any, &any, ""),
            (&any, &large, ""),
            (&any, &list(&large), ""),
            (&small, &any, "spec.*"),
            (&text, &any, "spec.*"),
            (&map(&any), &map(&any), ""),
            (&map(&any), &any, "spec.*"),
            (&keeps_but_a, &keeps_but_a, ""),
            (&keeps_but_a, &any, "spec.a.*"),
            (&keeps_but_a, &object(&json!({"a": large, "z": large})), "spec.a.b"),
            (&any, &embedded, ""),
            (&embedded, &embedded, ""),
            (&embedded, &any, ""),
            (
                &small,
                &json!({"type": "object", "x-kubernetes-embedded-resource": true}),
                "spec.apiVersion, spec.kind, spec.metadata",
            ),
            (&either, &either, ""),
            (&text, &either, ""),
        ] {
            let expected =
                if expected.is_empty() { String::new() } else { format!("removes {expected} from the stored object") };
            assert_eq!(said(written, stored), expected, "{written} for {stored}");
        }
    }

    #[test]
    fn defaults_and_nulls_of_another_version_count() {
        let field = |more: &Value| {
            let mut field = json!({"type": "string"});
            field
                .as_object_mut()
                .into_iter()
                .for_each(|field| field.extend(more.as_object().cloned().unwrap_or_default()));
            object(&json!({"a": field}))
        };
        let (plain, on, off) = (field(&json!({})), field(&json!({"default": "on"})), field(&json!({"default": "off"})));
        let nullable = field(&json!({"nullable": true}));
        for (written, stored, expected) in [
            (&on, &plain, "sets spec.a to a default"),
            (&on, &off, "sets spec.a to a default"),
            (&on, &on, ""),
            (&plain, &on, ""),
            (&on, &object(&json!({})), ""),
            (&plain, &nullable, "removes spec.a from the stored object"),
            (&nullable, &plain, ""),
        ] {
            assert_eq!(said(written, stored), expected, "{written} for {stored}");
        }
    }

    #[test]
    fn a_sentence_names_the_first_fields() {
        let version = |names: &[&str]| {
            let fields = names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"})));
            json!({"properties": {"status": {"properties": Value::Object(fields.collect())}}})
        };
        let lost = lost_fields(&version(&[]), &version(&["a", "b", "c", "d", "e", "f"]));
        let expected = "removes status.a, status.b, status.c, status.d and 2 more from the stored object";
        assert_eq!(lost.sentence(), expected);
        let whole = lost_fields(&json!({}), &json!({"x-kubernetes-preserve-unknown-fields": true}));
        assert_eq!(whole.sentence(), "removes * from the stored object");
        assert!(lost_fields(&json!({}), &json!({"properties": {"metadata": {"properties": {"x": {}}}}})).is_empty());
    }
}
