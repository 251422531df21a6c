//! Checks a kind's OpenAPI v3 schema for the fields that a target reads and writes.
//!
//! The API server drops fields that a schema does not declare. With `.?` and a default, such a field would have the
//! default for every object, and a misspelt field would be written to all of them. Pure.

use serde_json::Value;

use crate::kinds::ExaminedKind;
use crate::kinds::schema::{OF_EVERY_OBJECT, Schema};
use drift_api::object::field_paths::FieldPaths;
use drift_language::cel::did_you_mean;
use drift_language::{KindSchema, TypeMistake, UnknownField, type_mistakes};

/// The key of a target that writes [`drift_api::names::OBSERVED_GENERATION`].
const READY: &str = "ready";
/// The fix for a kind without that field.
const NEEDED_BY_READY: &str =
    ": add observedGeneration: {type: integer, format: int64} to the properties of status in its schema";

impl ExaminedKind {
    /// Returns the templates of a target's text that certainly fail on some object of the kind.
    #[must_use]
    pub fn type_mistakes(&self, text: &str) -> Vec<TypeMistake> {
        mistakes_by(&Schema { document: &self.document, kind: &self.kind }, text)
    }
}

/// Returns the templates of a target's text that certainly fail on some object of a kind with this schema.
pub(super) fn mistakes_by(schema: &Schema<'_>, text: &str) -> Vec<TypeMistake> {
    let Some(root) = schema.of_kind() else { return Vec::new() };
    let name = schema.name();
    let is_complete = schema.is_complete(root);
    type_mistakes(text, KindSchema { name: &name, root, document: schema.document, is_complete })
}

/// Returns each read field that no object of the kind can have, with a message.
pub(super) fn undeclared_fields(schema: &Schema<'_>, read: &FieldPaths) -> Vec<UnknownField> {
    let Some(root) = schema.of_kind() else { return Vec::new() };
    let paths = read.iter().filter(|path| path.first().is_some_and(|first| !OF_EVERY_OBJECT.contains(&first.as_str())));
    let mut problems: Vec<UnknownField> = paths.filter_map(|path| undeclared(schema, root, path, None)).collect();
    problems.dedup();
    problems
}

/// Returns each written status field that the kind does not have. Fields are given with the target key
/// that writes them.
pub(super) fn undeclared_status<'t>(
    schema: &Schema<'_>,
    written: impl IntoIterator<Item = (&'static str, &'t str)>,
) -> Vec<UnknownField> {
    let Some(root) = schema.of_kind() else { return Vec::new() };
    let problem = |(key, field): (&'static str, &str)| {
        undeclared(schema, root, &["status".to_owned(), field.to_owned()], Some(key))
    };
    let mut problems: Vec<UnknownField> = written.into_iter().filter_map(problem).collect();
    problems.dedup();
    problems
}

/// Checks one path. `written_by` is the key that writes it, or `None` for a template that reads it.
fn undeclared(
    schema: &Schema<'_>,
    root: &Value,
    path: &[String],
    written_by: Option<&'static str>,
) -> Option<UnknownField> {
    let mut place = root;
    for (depth, field) in path.iter().enumerate() {
        if !Schema::declares_all(place) {
            return None;
        }
        let Some(next) = schema.property(place, field) else {
            let known = place.get("properties").and_then(Value::as_object);
            let hint = match written_by {
                Some(READY) => NEEDED_BY_READY.to_owned(),
                _ => did_you_mean(field, known.into_iter().flatten().map(|(name, _)| name.as_str())),
            };
            let use_of_it = written_by.map_or_else(|| "a template reads".to_owned(), |key| format!("`{key}` writes"));
            let message =
                format!("{} has no field {}, which {use_of_it}{hint}", schema.name(), path[..=depth].join("."));
            // The key that writes it names the field itself, even if the kind has no status at all.
            let path = if written_by.is_some() { path.to_vec() } else { path[..=depth].to_vec() };
            return Some(UnknownField { path, written_by, message });
        };
        place = next;
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::ResolvedKind;
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::json;

    fn record() -> (Value, ResolvedKind) {
        let kind = json!({
            "x-kubernetes-group-version-kind": [{"group": "g.example", "version": "v1", "kind": "Record"}],
            "properties": {
                "metadata": {"type": "object"},
                "spec": {"type": "object", "properties": {
                    "ttl": {"type": "integer"},
                    "zone": {"allOf": [{"$ref": "#/components/schemas/zone"}]},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "empty": {"type": "object"},
                    "values": {"type": "array", "items": {"type": "object"}}}},
                "status": {"type": "object", "properties": {"externalId": {"type": "string"}}}}});
        let zone = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let document = json!({"components": {"schemas": {"record": kind, "zone": zone}}});
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("g.example", "v1", "Record"));
        (document, ResolvedKind { resource, namespaced: true })
    }

    fn messages(unknown: Vec<UnknownField>) -> Vec<String> {
        unknown.into_iter().map(|field| field.message).collect()
    }

    fn problems(paths: &[&str]) -> Vec<String> {
        let (document, kind) = record();
        let mut read = FieldPaths::default();
        paths.iter().for_each(|path| read.insert(path.split('.').map(str::to_owned).collect()));
        messages(undeclared_fields(&Schema { document: &document, kind: &kind }, &read))
    }

    #[test]
    fn an_unknown_field_is_told_with_the_nearest() {
        let said = |path: &str| problems(&[path]).concat();
        let no = |field: &str| format!("g.example/v1 Record has no field {field}, which a template reads");
        assert_eq!(said("spec.tll"), format!("{}: did you mean `ttl`?", no("spec.tll")));
        assert_eq!(said("spec.zone.nmae"), format!("{}: did you mean `name`?", no("spec.zone.nmae")));
        assert_eq!(said("spec.empty.x"), no("spec.empty.x"));
        assert_eq!(said("status.externalID"), format!("{}: did you mean `externalId`?", no("status.externalID")));
        assert_eq!(said("sepc.ttl"), format!("{}: did you mean `spec`?", no("sepc")));
        assert_eq!(problems(&["spec.a", "spec.b.c"]).len(), 2, "all at once");
    }

    #[test]
    fn a_status_field_that_is_written_must_be_declared() {
        let (document, kind) = record();
        let schema = Schema { document: &document, kind: &kind };
        let said = |key, field| messages(undeclared_status(&schema, [(key, field)])).concat();
        assert_eq!(said("store", "externalId"), "");
        let ready = said("ready", "observedGeneration");
        assert!(ready.contains("which `ready` writes: add observedGeneration: {type: integer,"), "{ready}");
        assert_eq!(
            said("publish", "externalID"),
            "g.example/v1 Record has no field status.externalID, which `publish` writes: did you mean `externalId`?"
        );
    }

    #[test]
    fn what_a_schema_leaves_open_is_taken() {
        let open = [
            "spec.ttl",
            "spec.zone.name",
            "spec.labels.any",
            "spec.free.any.thing",
            "spec.values",
            "spec",
            "metadata.labels.x",
            "status.externalId",
            "spec.ttl.x",
        ];
        assert_eq!(problems(&open), Vec::<String>::new());
    }
}
