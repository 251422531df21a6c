//! Checks a kind's OpenAPI v3 schema for the list of conditions.
//!
//! The API server silently drops fields that the schema does not declare, so a condition would seem written and never
//! change. The target is rejected instead, with the addition to the CRD and its place. Pure.

pub(super) mod advice;

use kube::core::ApiResource;
use regex_automata::meta::Regex;
use serde_json::Value;

use self::advice::{Advice, Problem, REPORT};
use crate::client::ResolvedKind;
use drift_api::condition::{
    ConditionStatus, CorrectedReason, GenerationPlace, MAX_GENERATION_BYTES, MAX_MESSAGE_BYTES, ObservedReason,
};
use drift_api::names::{DRIFT_CORRECTED, DRIFT_OBSERVED};

/// The fields of a condition and their JSON types.
const FIELDS: [(&str, &str); 6] = [
    ("type", "string"),
    ("status", "string"),
    ("reason", "string"),
    ("message", "string"),
    (GENERATION, "integer"),
    ("lastTransitionTime", "string"),
];

/// The field that the tag can replace.
const GENERATION: &str = "observedGeneration";

/// Path of the list of conditions in the schema of a kind's version.
const CONDITIONS: &str = ".properties.status.properties.conditions";

/// The conditions of both programs.
const OWN_CONDITIONS: u64 = 2;

/// Usual messages of both conditions, to try patterns with.
const MESSAGES: [&str; 3] = [
    "the external resource matches the spec [desired 2f0effaa9ac007e4, correction 2]",
    "1 field differs: /size desired 2, observed \"x\" [desired 2f0effaa9ac007e4]",
    "correction 1, owns \"web\": created [scope f1ad3af3]",
];

/// Fields that every object has, regardless of its schema.
pub(super) const OF_EVERY_OBJECT: &[&str] = &["apiVersion", "kind", "metadata"];

/// Maximum number of followed references, because a document may refer to itself.
const MAX_REFERENCES: usize = 8;

/// Returns the message about a condition field that was dropped by the API server, with the required addition and its
/// place. `None` for another field.
#[must_use]
pub fn lost_field(kind: &ResolvedKind, field: &str) -> Option<String> {
    let (_, wanted) = FIELDS.iter().find(|(known, _)| *known == field)?;
    let schema = Schema { document: &Value::Null, kind };
    let problem = format!("loses the field {field} of a condition that is written");
    let place = format!("{CONDITIONS}.items.properties");
    Some(schema.say(&problem, &format!("{field}: {{type: {wanted}}}"), &place).sentence(Advice::default()))
}

/// A schema document, and the kind to find in it.
pub(super) struct Schema<'a> {
    pub(super) document: &'a Value,
    pub(super) kind: &'a ResolvedKind,
}

impl<'a> Schema<'a> {
    /// Returns the kind with its version, for display.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.kind.resource.api_version, self.kind.resource.kind)
    }

    /// Returns everything that prevents the kind from storing the conditions, one sentence each with the required addition
    /// and its place, and with what the target can do instead.
    pub(super) fn problems(&self, advice: Advice) -> Vec<String> {
        let mut problems = Vec::new();
        if !self.has_status_subresource() {
            problems.push(self.say("has no /status subresource", "subresources: {status: {}}", ""));
        }
        match self.of_kind() {
            Some(root) => problems.extend(self.condition_problems(root, advice)),
            None => {
                let unpublished = format!("{} publishes no schema", self.name());
                return problems.into_iter().map(|problem| problem.sentence(advice)).chain([unpublished]).collect();
            }
        }
        problems.into_iter().map(|problem| problem.sentence(advice)).collect()
    }

    /// Returns the facts about the kind that keep a verdict from being written for a while.
    pub(super) fn doubts(&self, advice: Advice) -> Vec<String> {
        let doubt = self.of_kind().and_then(|root| self.required_status(root));
        let report = if advice.may_report { format!(", or {REPORT}") } else { String::new() };
        doubt.map(|doubt| doubt + &report).into_iter().collect()
    }

    /// Returns the place of the generation in the conditions: the tag if their items cannot have its field.
    pub(super) fn generation_place(&self) -> GenerationPlace {
        let conditions = self.of_kind().and_then(|root| self.property(self.property(root, "status")?, "conditions"));
        let items = conditions.and_then(|conditions| conditions.get("items")).map(|items| self.resolve(items));
        let lacks = items.is_some_and(|items| self.lacks(items, GENERATION));
        if lacks { GenerationPlace::Tag } else { GenerationPlace::Field }
    }

    /// Returns true if an object with this schema cannot have the field.
    fn lacks(&self, schema: &'a Value, field: &str) -> bool {
        self.property(schema, field).is_none() && !keeps_everything(schema)
    }

    /// Returns a problem, what to add, and the place below the version's schema in the CRD.
    fn say(&self, problem: &str, addition: &str, place: &str) -> Problem {
        self.say_how(problem, &format!("add {addition}"), place)
    }

    /// Returns a problem, its fix, and the place below the version's schema in the CRD.
    fn say_how(&self, problem: &str, fix: &str, place: &str) -> Problem {
        let may_change = self.kind.resource.group.contains('.');
        let mend = may_change.then(|| format!("{fix} at {}", self.place(place)));
        Problem { what: format!("{} {problem}", self.name()), mend, instead: None }
    }

    /// Formats a place below the version's schema in the CRD.
    fn place(&self, place: &str) -> String {
        let resource = &self.kind.resource;
        let place = if place.is_empty() { String::new() } else { format!(".schema.openAPIV3Schema{place}") };
        let (version, plural, group) = (&resource.version, &resource.plural, &resource.group);
        format!(".spec.versions[name={version}]{place} of CustomResourceDefinition {plural}.{group}")
    }

    /// Says that the API server refuses a status without fields that other writers set.
    fn required_status(&self, root: &'a Value) -> Option<String> {
        let status = self.property(root, "status")?;
        let required = status.get("required").and_then(Value::as_array)?.iter().filter_map(Value::as_str);
        let has_default =
            |field: &str| self.property(status, field).is_some_and(|schema| schema.get("default").is_some());
        let foreign: Vec<_> = required.filter(|field| *field != "conditions" && !has_default(field)).collect();
        (!foreign.is_empty()).then(|| {
            format!(
                "{} requires {} in .status: until another writer has set them, the API server refuses each verdict of an object (Event \
                 WriteRefused). If nothing sets them, remove them at {}",
                self.name(),
                foreign.join(", "),
                self.place(".properties.status.required")
            )
        })
    }

    fn has_status_subresource(&self) -> bool {
        let ending = format!("/{}/{{name}}/status", self.kind.resource.plural);
        let paths = self.document.get("paths").and_then(Value::as_object);
        paths.into_iter().flatten().any(|(path, methods)| path.ends_with(&ending) && methods.get("patch").is_some())
    }

    /// Returns true if the schema alone decides which fields an object has: Kubernetes' own kinds and aggregated APIs have
    /// defaults in code. The schema of a CustomResourceDefinition is published in one piece, without references.
    pub(super) fn is_complete(&self, root: &Value) -> bool {
        let group = &self.kind.resource.group;
        let spec = root.pointer("/properties/spec");
        let refers = |spec: &Value| ["$ref", "allOf"].into_iter().any(|key| spec.get(key).is_some());
        group.contains('.') && !group.ends_with(".k8s.io") && !spec.is_some_and(refers)
    }

    /// Returns the schema of the kind itself.
    pub(super) fn of_kind(&self) -> Option<&'a Value> {
        self.component().map(|(_, schema)| schema)
    }

    /// Returns the schema of the kind itself, if its name is that of a CustomResourceDefinition's kind: its group
    /// backwards, its version and its kind. Kubernetes' own kinds have the names of their Go packages, and so have those
    /// of most aggregated APIs.
    pub(super) fn of_custom_kind(&self) -> Option<&'a Value> {
        let ApiResource { group, version, kind, .. } = &self.kind.resource;
        let backwards: Vec<&str> = group.rsplit('.').collect();
        let custom = format!("{}.{version}.{kind}", backwards.join("."));
        self.component().filter(|(name, _)| **name == custom).map(|(_, schema)| schema)
    }

    /// Returns the schema of the kind itself with its name in the document.
    fn component(&self) -> Option<(&'a String, &'a Value)> {
        let resource = &self.kind.resource;
        let is_it = |named: &Value| {
            let text = |field: &str| named.get(field).and_then(Value::as_str);
            (text("group"), text("version"), text("kind"))
                == (Some(&resource.group), Some(&resource.version), Some(&resource.kind))
        };
        let schemas = self.document.pointer("/components/schemas")?.as_object()?;
        schemas.iter().find(|(_, schema)| {
            let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
            kinds.is_some_and(|kinds| kinds.iter().any(is_it))
        })
    }

    fn condition_problems(&self, root: &'a Value, advice: Advice) -> Vec<Problem> {
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
        let most = conditions.get("maxItems").and_then(Value::as_u64).filter(|most| *most < OWN_CONDITIONS);
        let too_few = most.map(|most| {
            let problem =
                format!("allows {most} of the {OWN_CONDITIONS} conditions of the programs in .status.conditions");
            let mend = format!("raise maxItems to {OWN_CONDITIONS}, or more if there are other writers,");
            self.say_how(&problem, &mend, CONDITIONS)
        });
        let items = self.resolve(conditions.get("items").unwrap_or(&Value::Null));
        too_few.into_iter().chain(self.item_problems(items, &format!("{CONDITIONS}.items"), advice)).collect()
    }

    fn item_problems(&self, items: &'a Value, place: &str, advice: Advice) -> Vec<Problem> {
        let is_tagged = self.lacks(items, GENERATION);
        let mut problems = Vec::new();
        for (field, wanted) in FIELDS {
            let declared = self.property(items, field);
            let is = declared.and_then(|schema| schema.get("type")).and_then(Value::as_str);
            let addition = format!("{field}: {{type: {wanted}}}");
            let place = format!("{place}.properties");
            match (declared, is) {
                (None, _) if keeps_everything(items) => {}
                (None, _) if field == GENERATION && advice.about_generation().is_none() => {}
                (None, _) => {
                    let problem = format!("has no field {field} in the items of .status.conditions");
                    let instead = advice.about_generation().filter(|_| field == GENERATION);
                    problems.push(Problem { instead, ..self.say(&problem, &addition, &place) });
                }
                (Some(_), Some(is)) if is != wanted => {
                    let problem = format!("has a field {field} of type {is} in the items of .status.conditions");
                    problems.push(self.say(&problem, &addition, &place));
                }
                (Some(schema), _) => {
                    problems.extend(self.narrowness((field, is_tagged), schema, &format!("{place}.{field}")));
                }
            }
        }
        let required = items.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let foreign: Vec<_> = required.filter(|field| FIELDS.iter().all(|(ours, _)| ours != field)).collect();
        if !foreign.is_empty() {
            let fields = foreign.join(", ");
            let problem =
                format!("requires {fields} in the items of .status.conditions, which the programs do not write");
            problems.push(self.say_how(&problem, &format!("remove {fields}"), &format!("{place}.required")));
        }
        problems
    }

    /// Returns the reasons why a field does not accept all values that are written to it. CEL rules are not evaluated: a
    /// rejected write is reported on its object.
    fn narrowness(&self, (field, is_tagged): (&str, bool), schema: &Value, place: &str) -> Vec<Problem> {
        let allowed = schema.get("enum").and_then(Value::as_array);
        let is_missing = |word: &&str| allowed.is_some_and(|allowed| !allowed.iter().any(|one| one == word));
        let missing: Vec<&str> = words_of(field).into_iter().filter(|word| is_missing(word)).collect();
        if !missing.is_empty() {
            let problem = format!("does not take {} as {field} in .status.conditions", missing.join(", "));
            return vec![self.say(&problem, &missing.join(", "), &format!("{place}.enum"))];
        }
        let pattern = self.pattern_problem(field, schema, place);
        pattern.into_iter().chain(self.length_problem((field, is_tagged), schema, place)).collect()
    }

    /// Returns the problem if a pattern excludes a word or a usual message.
    fn pattern_problem(&self, field: &str, schema: &Value, place: &str) -> Option<Problem> {
        let pattern = schema.get("pattern").and_then(Value::as_str)?;
        // The API server has another engine: what this one does not read is left to the dry run.
        let regex = Regex::new(pattern).ok()?;
        let written = if field == "message" { MESSAGES.to_vec() } else { words_of(field) };
        let refused = written.into_iter().find(|text| !regex.is_match(*text))?;
        let problem = format!("does not take `{refused}` as {field} in .status.conditions, by its pattern");
        Some(self.say(&problem, "a pattern that takes it", &format!("{place}.pattern")))
    }

    /// Returns the problem if a field takes only shorter or longer texts than those that are written to it.
    fn length_problem(&self, (field, is_tagged): (&str, bool), schema: &Value, place: &str) -> Option<Problem> {
        let limit = |key: &str| schema.get(key).and_then(Value::as_u64);
        let lengths = || words_of(field).into_iter().map(str::len);
        let message = MAX_MESSAGE_BYTES + if is_tagged { MAX_GENERATION_BYTES } else { 0 };
        let longest = if field == "message" { Some(message) } else { lengths().max() }? as u64;
        if let Some(most) = limit("maxLength").filter(|most| *most < longest) {
            let problem = format!("takes no more than {most} characters as {field} in .status.conditions");
            return Some(self.say_how(&problem, &format!("raise maxLength to {longest} or more"), place));
        }
        let shortest = lengths().min()? as u64;
        let least = limit("minLength").filter(|least| *least > shortest)?;
        let problem = format!("takes no fewer than {least} characters as {field} in .status.conditions");
        Some(self.say_how(&problem, &format!("lower minLength to {shortest} or less"), place))
    }

    /// Returns true if an object here has only declared fields.
    pub(super) fn declares_all(schema: &Value) -> bool {
        let is_object = schema.get("properties").is_some() || schema.get("type").is_some_and(|kind| kind == "object");
        let is_embedded = schema.get("x-kubernetes-embedded-resource").is_some_and(|embedded| *embedded == true);
        is_object && !is_embedded && !keeps_everything(schema)
    }

    /// Returns the schema of a field, if it is declared.
    pub(super) fn property(&self, schema: &'a Value, name: &str) -> Option<&'a Value> {
        schema.get("properties")?.get(name).map(|property| self.resolve(property))
    }

    /// Follows references: built-in kinds refer to shared schemas, directly or in an `allOf` of one.
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

/// Returns the values that the two programs write to a condition field, if they are a fixed set.
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

/// Returns true if the API server keeps fields that the schema does not declare.
fn keeps_everything(schema: &Value) -> bool {
    let preserves = schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool);
    preserves == Some(true) || schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
