//! Checks a kind's OpenAPI v3 schema for the list of conditions.
//!
//! The API server silently drops fields that the schema does not declare, so a condition would seem written and never
//! change. The target is rejected instead, with the addition to the CRD and its place. Pure.

pub(super) mod advice;
mod combinations;

use kube::core::ApiResource;
use regex_automata::meta::Regex;
use serde_json::{Value, json};

use self::advice::{Advice, Problem, REPORT};
use self::combinations::{excluding, excluding_whole};
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

/// Path of the status in the schema of a kind's version.
const STATUS: &str = ".properties.status";

/// The field of the list of conditions.
const CONDITIONS: &str = "conditions";

/// The conditions of both programs.
const OWN_CONDITIONS: u64 = 2;

/// Usual messages of both conditions, to try patterns with.
const MESSAGES: [&str; 3] = [
    "the external resource matches the spec [desired 2f0effaa9ac007e4, correction 2]",
    "1 field differs: /size desired 2, observed \"x\" [desired 2f0effaa9ac007e4]",
    "correction 1, owns \"web\": created [scope f1ad3af3]",
];

/// Conditions of both programs in each status.
fn sample_conditions(has_generation: bool) -> Vec<Value> {
    let words =
        [(DRIFT_OBSERVED, ObservedReason::InSync.as_str()), (DRIFT_CORRECTED, CorrectedReason::ALL[0].as_str())];
    let all = words.into_iter().flat_map(|of_type| words_of("status").into_iter().map(move |status| (of_type, status)));
    all.map(|((kind, reason), status)| {
        let mut one = json!({"type": kind, "status": status, "reason": reason, "message": MESSAGES[0],
            "lastTransitionTime": "2026-11-24T19:41:03Z"});
        if has_generation {
            one[GENERATION] = 1.into();
        }
        one
    })
    .collect()
}

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
    let place = format!("{STATUS}.properties.{CONDITIONS}.items.properties");
    Some(schema.say(&problem, &format!("{field}: {{type: {wanted}}}"), &place).sentence(Advice::default()))
}

/// The part of a field that the API server keeps in an object.
#[derive(Clone, Copy, Debug)]
enum Kept<'a> {
    /// The part with this schema: that of the field, or the one of all fields without their own.
    By(&'a Value),
    /// The whole value.
    Whole,
    /// A value that is no object. Below `additionalProperties: true`, pruning empties objects, also those of a list
    /// (`prune` of k8s.io/apiextensions-apiserver).
    Scalar,
    /// Nothing.
    Nothing,
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
        let by = |schema: &'a Value, field: &str| match self.kept(schema, field) {
            Kept::By(schema) => Some(schema),
            _ => None,
        };
        let conditions = self.of_kind().and_then(|root| by(by(root, "status")?, CONDITIONS));
        let items = conditions.and_then(|conditions| conditions.get("items")).map(|items| self.resolve(items));
        let lacks = items.is_some_and(|items| self.lacks(items, GENERATION));
        if lacks { GenerationPlace::Tag } else { GenerationPlace::Field }
    }

    /// Returns true if an object with this schema cannot have the field.
    fn lacks(&self, schema: &'a Value, field: &str) -> bool {
        matches!(self.kept(schema, field), Kept::Nothing)
    }

    /// Returns the part of a field that an object with this schema can have.
    fn kept(&self, schema: &'a Value, field: &str) -> Kept<'a> {
        let more = schema.get("additionalProperties");
        match (self.property(schema, field), more) {
            (Some(declared), _) => Kept::By(declared),
            (None, Some(Value::Object(of_all))) if !of_all.is_empty() => {
                more.map_or(Kept::Whole, |of_all| Kept::By(self.resolve(of_all)))
            }
            (None, _) if preserves(schema) => Kept::Whole,
            (None, Some(Value::Bool(true))) => Kept::Scalar,
            (None, Some(Value::Object(_))) => Kept::Whole,
            (None, _) => Kept::Nothing,
        }
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
        let required = status.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let has_default =
            |field: &str| self.property(status, field).is_some_and(|schema| schema.get("default").is_some());
        let foreign: Vec<_> = required.filter(|field| *field != CONDITIONS && !has_default(field)).collect();
        let alone = || sample_conditions(true).into_iter().map(|one| json!({CONDITIONS: [one]}));
        let (what, instead, key) = match foreign.is_empty() {
            false => (format!("requires {} in .status", foreign.join(", ")), "remove them", "required"),
            true => {
                let key = alone().find_map(|alone| excluding_whole(status, &alone))?;
                (format!("takes no .status with conditions alone, by its {key}"), "correct it", key)
            }
        };
        Some(format!(
            "{} {what}: until another writer has set its fields, the API server refuses each verdict of an object (Event \
             WriteRefused). If nothing sets them, {instead} at {}",
            self.name(),
            self.place(&format!("{STATUS}.{key}"))
        ))
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
        let status = match self.kept(root, "status") {
            Kept::Whole => return Vec::new(),
            Kept::By(status) => status,
            Kept::Scalar | Kept::Nothing => {
                return vec![self.say("has no .status", "a status with a list of conditions", ".properties")];
            }
        };
        if let Some(other) = type_of(status).filter(|is| *is != "object") {
            return vec![self.say(&format!("has a .status of type {other}"), "type: object", STATUS)];
        }
        let declare = "declare a list of conditions in properties, in the place of additionalProperties,";
        let conditions = match self.kept(status, CONDITIONS) {
            Kept::Whole => return Vec::new(),
            Kept::By(conditions) => conditions,
            Kept::Scalar => {
                return vec![self.say_how("keeps no fields of conditions in .status", declare, STATUS)];
            }
            Kept::Nothing => {
                let place = format!("{STATUS}.properties");
                return vec![self.say("has no .status.conditions", "a list of conditions", &place)];
            }
        };
        let place = self.place_of_conditions(status);
        let kind = type_of(conditions);
        if kind.is_none() && preserves(conditions) {
            return Vec::new();
        }
        if kind != Some("array") {
            return match self.property(status, CONDITIONS) {
                Some(_) => vec![self.say("has a .status.conditions that is no list", "type: array", &place)],
                None => {
                    let problem = format!("has in .status fields of type {} alone, no list", kind.unwrap_or("object"));
                    vec![self.say_how(&problem, declare, STATUS)]
                }
            };
        }
        let most = conditions.get("maxItems").and_then(Value::as_u64).filter(|most| *most < OWN_CONDITIONS);
        let too_few = most.map(|most| {
            let problem =
                format!("allows {most} of the {OWN_CONDITIONS} conditions of the programs in .status.conditions");
            let mend = format!("raise maxItems to {OWN_CONDITIONS}, or more if there are other writers,");
            self.say_how(&problem, &mend, &place)
        });
        let items = self.resolve(conditions.get("items").unwrap_or(&Value::Null));
        let mut problems: Vec<Problem> = too_few.into_iter().collect();
        problems.extend(self.item_problems(items, &format!("{place}.items"), advice));
        // A field that is too narrow is said on its own.
        if problems.is_empty() {
            problems.extend(self.combination_problem(conditions, &place));
        }
        problems
    }

    /// Returns the place of the schema of the conditions below the version's schema.
    fn place_of_conditions(&self, status: &Value) -> String {
        let own = status.get("properties").is_some_and(|fields| fields.get(CONDITIONS).is_some());
        if own { format!("{STATUS}.properties.{CONDITIONS}") } else { format!("{STATUS}.additionalProperties") }
    }

    /// Returns the problem if `allOf`, `anyOf`, `oneOf` or `not` excludes a condition of the programs.
    fn combination_problem(&self, conditions: &'a Value, place: &str) -> Option<Problem> {
        let items = self.resolve(conditions.get("items").unwrap_or(&Value::Null));
        let samples = sample_conditions(!self.lacks(items, GENERATION));
        let excluding = |one: &Value| {
            let of_list = excluding(conditions, &json!([one]));
            of_list.or_else(|| excluding(items, one).map(|key| format!(".items{key}")))
        };
        let key = samples.iter().find_map(excluding)?;
        let problem = format!("does not take a condition of the programs in .status.conditions, by its {}", &key[1..]);
        Some(self.say_how(&problem, "correct it", &format!("{place}{key}")))
    }

    fn item_problems(&self, items: &'a Value, place: &str, advice: Advice) -> Vec<Problem> {
        let is_tagged = self.lacks(items, GENERATION);
        let mut problems = Vec::new();
        for (field, wanted) in FIELDS {
            let addition = format!("{field}: {{type: {wanted}}}");
            let place = format!("{place}.properties");
            match self.kept(items, field) {
                Kept::Whole | Kept::Scalar => {}
                Kept::Nothing if field == GENERATION && advice.about_generation().is_none() => {}
                Kept::Nothing => {
                    let problem = format!("has no field {field} in the items of .status.conditions");
                    let instead = advice.about_generation().filter(|_| field == GENERATION);
                    problems.push(Problem { instead, ..self.say(&problem, &addition, &place) });
                }
                Kept::By(schema) => match type_of(schema).filter(|is| *is != wanted) {
                    Some(is) => {
                        let problem = format!("has a field {field} of type {is} in the items of .status.conditions");
                        problems.push(self.say(&problem, &addition, &place));
                    }
                    None => problems.extend(self.narrowness((field, is_tagged), schema, &format!("{place}.{field}"))),
                },
            }
        }
        let is_written =
            |field: &str| FIELDS.iter().any(|(ours, _)| *ours == field) && !(is_tagged && field == GENERATION);
        let required = items.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let foreign: Vec<_> = required.filter(|field| !is_written(field)).collect();
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
        is_object && !is_embedded && !takes_more(schema)
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

/// Returns true if an object with this schema can have fields that it does not declare.
fn takes_more(schema: &Value) -> bool {
    preserves(schema) || schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
}

/// Returns true if the API server keeps undeclared fields as they are.
fn preserves(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool) == Some(true)
}

fn type_of(schema: &Value) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
