//! Whether a kind can carry the conditions, judged by its OpenAPI v3 schema.
//!
//! A field that the schema does not declare is dropped by the API server without a word, so a condition would seem
//! written and never change; better to refuse the target and say what to add to the CRD, and where.
//! Pure; this file must not know how a schema is fetched.

use serde_json::Value;

use crate::kinds::ResolvedKind;
use drift_model::condition::{ConditionStatus, CorrectedReason, MAX_MESSAGE_BYTES, ObservedReason};
use drift_model::names::{DRIFT_CORRECTED, DRIFT_OBSERVED};

/// The fields of a condition and the JSON types that they need.
const FIELDS: [(&str, &str); 6] = [
    ("type", "string"),
    ("status", "string"),
    ("reason", "string"),
    ("message", "string"),
    ("observedGeneration", "integer"),
    ("lastTransitionTime", "string"),
];

/// How many references are followed at most; a document may refer to itself.
const MAX_REFERENCES: usize = 8;

/// Everything that keeps the kind from carrying the conditions, each a sentence that says what to add and where.
#[must_use]
pub fn schema_problems(document: &Value, kind: &ResolvedKind) -> Vec<String> {
    let schema = Schema { document, kind };
    let mut problems = Vec::new();
    if !schema.has_status_subresource() {
        problems.push(schema.say("has no /status subresource", "subresources: {status: {}}", ""));
    }
    match schema.of_kind() {
        Some(root) => problems.extend(schema.condition_problems(root)),
        None => problems.push(format!("{} publishes no schema", schema.name())),
    }
    problems
}

struct Schema<'a> {
    document: &'a Value,
    kind: &'a ResolvedKind,
}

impl<'a> Schema<'a> {
    fn name(&self) -> String {
        format!("{} {}", self.kind.resource.api_version, self.kind.resource.kind)
    }

    /// A problem, what to add for it, and the place below the version's schema in the CRD.
    fn say(&self, problem: &str, addition: &str, place: &str) -> String {
        let resource = &self.kind.resource;
        if !resource.group.contains('.') {
            return format!("{} {problem}, and a built-in kind cannot be changed", self.name());
        }
        let place = if place.is_empty() { String::new() } else { format!(".schema.openAPIV3Schema{place}") };
        format!(
            "{} {problem}: add {addition} at .spec.versions[name={}]{place} of CustomResourceDefinition {}.{}",
            self.name(),
            resource.version,
            resource.plural,
            resource.group
        )
    }

    fn has_status_subresource(&self) -> bool {
        let ending = format!("/{}/{{name}}/status", self.kind.resource.plural);
        let paths = self.document.get("paths").and_then(Value::as_object);
        paths.into_iter().flatten().any(|(path, methods)| path.ends_with(&ending) && methods.get("patch").is_some())
    }

    fn of_kind(&self) -> Option<&'a Value> {
        let resource = &self.kind.resource;
        let is_it = |named: &Value| {
            let text = |field: &str| named.get(field).and_then(Value::as_str);
            (text("group"), text("version"), text("kind"))
                == (Some(&resource.group), Some(&resource.version), Some(&resource.kind))
        };
        let schemas = self.document.pointer("/components/schemas")?.as_object()?;
        schemas.values().find(|schema| {
            let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
            kinds.is_some_and(|kinds| kinds.iter().any(is_it))
        })
    }

    fn condition_problems(&self, root: &'a Value) -> Vec<String> {
        const CONDITIONS: &str = ".properties.status.properties.conditions";
        if keeps_everything(root) && root.pointer("/properties/status").is_none() {
            return Vec::new();
        }
        let Some(status) = self.property(root, "status") else {
            return vec![self.say("has no .status", "a status with a list of conditions", ".properties")];
        };
        let Some(conditions) = self.property(status, "conditions") else {
            if keeps_everything(status) {
                return Vec::new();
            }
            return vec![self.say(
                "has no .status.conditions",
                "a list of conditions",
                ".properties.status.properties",
            )];
        };
        if conditions.get("type").and_then(Value::as_str) != Some("array") {
            if keeps_everything(conditions) && conditions.get("type").is_none() {
                return Vec::new();
            }
            return vec![self.say("has a .status.conditions that is no list", "type: array", CONDITIONS)];
        }
        let items = self.resolve(conditions.get("items").unwrap_or(&Value::Null));
        self.item_problems(items, &format!("{CONDITIONS}.items"))
    }

    fn item_problems(&self, items: &Value, place: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for (field, wanted) in FIELDS {
            let declared = self.property(items, field);
            let is = declared.and_then(|schema| schema.get("type")).and_then(Value::as_str);
            let addition = format!("{field}: {{type: {wanted}}}");
            let place = format!("{place}.properties");
            match (declared, is) {
                (None, _) if keeps_everything(items) => {}
                (None, _) => {
                    let problem = format!("has no field {field} in the items of .status.conditions");
                    problems.push(self.say(&problem, &addition, &place));
                }
                (Some(_), Some(is)) if is != wanted => {
                    let problem = format!("has a field {field} of type {is} in the items of .status.conditions");
                    problems.push(self.say(&problem, &addition, &place));
                }
                (Some(schema), _) => problems.extend(self.narrowness(field, schema, &format!("{place}.{field}"))),
            }
        }
        let required = items.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let foreign: Vec<_> = required.filter(|field| FIELDS.iter().all(|(ours, _)| ours != field)).collect();
        if !foreign.is_empty() {
            let problem = format!("requires {} in the items of .status.conditions", foreign.join(", "));
            problems.push(self.say(
                &problem,
                "nothing but the six fields of a condition",
                &format!("{place}.required"),
            ));
        }
        problems
    }

    /// What keeps a field from taking all that is written into it. Rules in CEL are not judged: a write that they refuse
    /// shows on its object.
    fn narrowness(&self, field: &str, schema: &Value, place: &str) -> Option<String> {
        let allowed = schema.get("enum").and_then(Value::as_array);
        let is_missing = |word: &&str| allowed.is_some_and(|allowed| !allowed.iter().any(|one| one == word));
        let missing: Vec<&str> = words_of(field).into_iter().filter(|word| is_missing(word)).collect();
        if !missing.is_empty() {
            let problem = format!("does not take {} as {field} in .status.conditions", missing.join(", "));
            return Some(self.say(&problem, "them", &format!("{place}.enum")));
        }
        let most = schema.get("maxLength").and_then(Value::as_u64).filter(|_| field == "message")?;
        let needed = MAX_MESSAGE_BYTES as u64;
        let problem = format!("takes no more than {most} characters as message in .status.conditions");
        (most < needed).then(|| self.say(&problem, &format!("maxLength: {needed} or more"), place))
    }

    fn property(&self, schema: &'a Value, name: &str) -> Option<&'a Value> {
        schema.get("properties")?.get(name).map(|property| self.resolve(property))
    }

    /// The schema that is meant: built-in kinds refer to shared ones, alone or in an `allOf` of one.
    fn resolve(&self, mut schema: &'a Value) -> &'a Value {
        for _ in 0..MAX_REFERENCES {
            let inner = schema.get("allOf").and_then(Value::as_array).filter(|all| all.len() == 1);
            let referring = inner.and_then(|all| all.first()).unwrap_or(schema);
            let Some(reference) = referring.get("$ref").and_then(Value::as_str) else { return schema };
            let Some(next) = reference.strip_prefix('#').and_then(|pointer| self.document.pointer(pointer)) else {
                return schema;
            };
            schema = next;
        }
        schema
    }
}

/// The words that the two programs write into a field of their conditions, where they are a closed set.
fn words_of(field: &str) -> Vec<&'static str> {
    match field {
        "type" => vec![DRIFT_OBSERVED, DRIFT_CORRECTED],
        "status" => [ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown]
            .map(ConditionStatus::as_str)
            .to_vec(),
        "reason" => {
            let observed = ObservedReason::ALL.iter().map(|reason| reason.as_str());
            observed.chain(CorrectedReason::ALL.iter().map(|reason| reason.as_str())).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the API server keeps fields that the schema does not declare.
fn keeps_everything(schema: &Value) -> bool {
    let preserves = schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool);
    preserves == Some(true) || schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind() -> ResolvedKind {
        let resource = kube::core::ApiResource {
            group: "demo.example".to_owned(),
            version: "v1".to_owned(),
            api_version: "demo.example/v1".to_owned(),
            kind: "Proxy".to_owned(),
            plural: "proxies".to_owned(),
        };
        ResolvedKind { resource, namespaced: true }
    }

    fn items() -> Value {
        let time = json!({"type": "string", "format": "date-time"});
        json!({"type": "object", "required": ["type", "status"], "properties": {
            "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
            "message": {"type": "string"}, "observedGeneration": {"type": "integer"}, "lastTransitionTime": time}})
    }

    fn document(status: &Value) -> Value {
        json!({
            "paths": {"/apis/demo.example/v1/namespaces/{namespace}/proxies/{name}/status": {"get": {}, "patch": {}}},
            "components": {"schemas": {
                "other": {"type": "object"},
                "shared.Condition": items(),
                "example.demo.v1.Proxy": {
                    "type": "object",
                    "properties": {"spec": {"type": "object"}, "status": status},
                    "x-kubernetes-group-version-kind": [{"group": "demo.example", "version": "v1", "kind": "Proxy"}]}}}
        })
    }

    fn status(items: &Value) -> Value {
        json!({"type": "object", "properties": {"conditions": {"type": "array", "items": items}}})
    }

    #[test]
    fn a_kind_that_can_carry_conditions_has_no_problem() {
        let preserve = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let shared = json!({"default": {}, "allOf": [{"$ref": "#/components/schemas/shared.Condition"}]});
        let mut free = document(&Value::Null);
        free.pointer_mut("/components/schemas/example.demo.v1.Proxy/properties")
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove("status");
        free["components"]["schemas"]["example.demo.v1.Proxy"]["x-kubernetes-preserve-unknown-fields"] = json!(true);
        let good = [
            document(&status(&items())),
            document(&status(&preserve)),
            document(&status(&shared)),
            document(&status(&json!({"$ref": "#/components/schemas/shared.Condition"}))),
            document(&preserve),
            free,
        ];
        for document in good {
            assert_eq!(schema_problems(&document, &kind()), Vec::<String>::new(), "{document}");
        }
    }

    #[test]
    fn what_is_missing_is_said_with_its_place() {
        let place = "at .spec.versions[name=v1].schema.openAPIV3Schema.properties";
        let crd = "of CustomResourceDefinition proxies.demo.example";
        let mut old = items();
        old["properties"].as_object_mut().unwrap().remove("observedGeneration");
        let mut typed = items();
        typed["properties"]["observedGeneration"]["type"] = json!("string");
        let generation = "observedGeneration: {type: integer}";
        let cases = [
            (
                json!({"type": "object"}),
                format!(
                    "demo.example/v1 Proxy has no .status.conditions: add a list of conditions {place}.status.properties {crd}"
                ),
            ),
            (
                json!({"type": "object", "properties": {"conditions": {"type": "object"}}}),
                format!(
                    "demo.example/v1 Proxy has a .status.conditions that is no list: add type: array {place}.status.properties.conditions {crd}"
                ),
            ),
            (
                status(&old),
                format!(
                    "demo.example/v1 Proxy has no field observedGeneration in the items of .status.conditions: add {generation} {place}.status.properties.conditions.items.properties {crd}"
                ),
            ),
            (
                status(&typed),
                format!(
                    "demo.example/v1 Proxy has a field observedGeneration of type string in the items of .status.conditions: add {generation} {place}.status.properties.conditions.items.properties {crd}"
                ),
            ),
        ];
        for (status, expected) in cases {
            assert_eq!(schema_problems(&document(&status), &kind()), [expected], "{status}");
        }
    }

    #[test]
    fn a_kind_without_the_subresource_is_refused() {
        let mut document = document(&status(&items()));
        document["paths"] = json!({"/apis/demo.example/v1/namespaces/{namespace}/others/{name}/status": {"patch": {}}});
        let problems = schema_problems(&document, &kind());
        assert_eq!(
            problems,
            [
                "demo.example/v1 Proxy has no /status subresource: add subresources: {status: {}} at .spec.versions[name=v1] of CustomResourceDefinition proxies.demo.example"
            ]
        );
    }

    #[test]
    fn nobody_is_told_to_change_a_built_in_kind() {
        let mut built_in = kind();
        built_in.resource.group = String::new();
        let problems = schema_problems(&json!({}), &built_in);
        assert_eq!(
            problems[0],
            "demo.example/v1 Proxy has no /status subresource, and a built-in kind cannot be changed"
        );
    }

    #[test]
    fn a_condition_that_requires_more_is_refused() {
        let mut strict = items();
        strict["required"] = json!(["type", "severity"]);
        let problems = schema_problems(&document(&status(&strict)), &kind());
        assert!(problems.len() == 1 && problems[0].contains("requires severity in"), "{problems:?}");
    }

    #[test]
    fn a_field_that_is_too_narrow_for_ours_is_refused() {
        let place = "at .spec.versions[name=v1].schema.openAPIV3Schema.properties.status.properties.conditions.items.properties";
        let crd = "of CustomResourceDefinition proxies.demo.example";
        let cases = [
            (
                "type",
                json!({"type": "string", "enum": ["Ready", "driftObserved"]}),
                format!("does not take driftCorrected as type in .status.conditions: add them {place}.type.enum {crd}"),
            ),
            (
                "message",
                json!({"type": "string", "maxLength": 64}),
                format!(
                    "takes no more than 64 characters as message in .status.conditions: add maxLength: 1024 or more {place}.message {crd}"
                ),
            ),
        ];
        for (field, schema, expected) in cases {
            let mut narrow = items();
            narrow["properties"][field] = schema;
            let problems = schema_problems(&document(&status(&narrow)), &kind());
            assert_eq!(problems, [format!("demo.example/v1 Proxy {expected}")]);
        }
        let mut wide = items();
        wide["properties"]["status"]["enum"] = json!(["True", "False", "Unknown", "Maybe"]);
        wide["properties"]["message"]["maxLength"] = json!(32768);
        wide["properties"]["type"]["maxLength"] = json!(316);
        assert_eq!(schema_problems(&document(&status(&wide)), &kind()), Vec::<String>::new());
        wide["properties"]["reason"]["enum"] = json!(["AsExpected"]);
        let problems = schema_problems(&document(&status(&wide)), &kind());
        assert!(problems.len() == 1 && problems[0].contains("does not take InSync, NotCreated"), "{problems:?}");
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let mut document = document(&json!({"$ref": "#/components/schemas/loop"}));
        document["components"]["schemas"]["loop"] = json!({"$ref": "#/components/schemas/loop"});
        assert_eq!(schema_problems(&document, &kind()).len(), 1);
    }
}
