//! Proposals for the CustomResourceDefinition of a draft, as blocks to copy.

use serde_json::Value;

use super::definition::Definition;
use super::fields::Field;
use super::place::Place;
use drift_api::names::DRIFT_OBSERVED;

/// The list of conditions that both programs write.
const CONDITIONS: &str = "conditions:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [type]
  items:
    type: object
    required: [type, status]
    properties:
      type: {type: string}
      status: {type: string}
      reason: {type: string}
      message: {type: string}
      observedGeneration: {type: integer, format: int64}
      lastTransitionTime: {type: string, format: date-time}";

/// The head of a status that has nothing but conditions.
const STATUS: &str = "status:
  type: object
  properties:
    observedGeneration: {type: integer, format: int64}";

/// The columns of `kubectl get`.
const COLUMNS: &str = "additionalPrinterColumns:
- {name: Drift, type: string, jsonPath: '.status.conditions[?(@.type==\"driftObserved\")].status'}
- {name: Reason, type: string, jsonPath: '.status.conditions[?(@.type==\"driftObserved\")].reason'}";

/// The place of the fields of an object below a version.
const ROOT: &str = ".schema.openAPIV3Schema.properties";
/// The key of validation rules.
const RULES: &str = "x-kubernetes-validations";

/// A block to add to the definition.
#[derive(Debug)]
pub(super) struct Proposal {
    /// The reason.
    pub(super) reason: String,
    /// The path below the version.
    pub(super) place: String,
    /// The YAML to add there.
    pub(super) block: String,
}

/// The fields that a condition needs, as in [`CONDITIONS`]. Without `observedGeneration`, the message carries it.
const CONDITION_FIELDS: [(&str, &str); 5] = [
    ("type", "{type: string}"),
    ("status", "{type: string}"),
    ("reason", "{type: string}"),
    ("message", "{type: string}"),
    ("lastTransitionTime", "{type: string, format: date-time}"),
];

/// The fields that the items of declared conditions lack.
fn condition_fields(conditions: &Value, reason: &str) -> Option<Proposal> {
    let items = &conditions["items"];
    let declared = items["properties"].as_object().filter(|_| items["x-kubernetes-preserve-unknown-fields"] != true)?;
    let lacking = CONDITION_FIELDS.iter().filter(|(name, _)| !declared.contains_key(*name));
    let lines: Vec<_> = lacking.map(|(name, schema)| format!("{name}: {schema}")).collect();
    (!lines.is_empty()).then(|| Proposal {
        reason: reason.to_owned(),
        place: format!("{ROOT}.status.properties.conditions.items.properties"),
        block: lines.join("\n"),
    })
}

/// The proposals for a definition and the fields that name its external resources.
pub(super) fn proposals(definition: &Definition, naming: &[&Field], place: &Place) -> Vec<Proposal> {
    let mut all = Vec::new();
    let reason = match place {
        Place::Object => "Required: the programs write conditions to the status.",
        Place::Report(_) => {
            "If the kind is yours, its status can keep the conditions. Then remove `conditions: Report`."
        }
        Place::Nowhere(_) => "Required: without it, `check` refuses this target.",
    };
    let spec = &definition.manifest["spec"];
    let has_name = |version: &&Value| version["name"] == definition.kind.version.as_str();
    let version = spec["versions"].as_array().into_iter().flatten().find(has_name);
    if version.is_none_or(|version| version["subresources"]["status"].is_null()) {
        all.push(Proposal {
            reason: reason.to_owned(),
            place: String::new(),
            block: "subresources: {status: {}}".to_owned(),
        });
    }
    let shows_drift = |version: &Value| version["additionalPrinterColumns"].to_string().contains(DRIFT_OBSERVED);
    if !place.is_report() && !version.is_some_and(shows_drift) {
        all.push(Proposal {
            reason: "Optional: `kubectl get` shows the verdict.".to_owned(),
            place: String::new(),
            block: COLUMNS.to_owned(),
        });
    }
    let status = &definition.schema["properties"]["status"];
    // Without a schema of its own, the status is kept as the whole object is.
    let keeping = if status.is_null() { &definition.schema } else { status };
    if status["properties"]["conditions"].is_null() && keeping["x-kubernetes-preserve-unknown-fields"] != true {
        all.push(conditions(status, reason));
    }
    all.extend(condition_fields(&status["properties"]["conditions"], reason));
    // Nothing is owned by what stands in a report, so an edit of the identity loses nothing.
    let naming = if place.is_report() { &[] } else { naming };
    all.extend(naming.iter().filter_map(|field| fixed(field)));
    all
}

/// The list of conditions, in the status that the kind has, if it has one.
fn conditions(status: &Value, reason: &str) -> Proposal {
    let reason = reason.to_owned();
    if status["properties"].is_object() {
        return Proposal { reason, place: format!("{ROOT}.status.properties"), block: CONDITIONS.to_owned() };
    }
    let reason = if status.is_null() { reason } else { format!("{reason} This replaces the present status.") };
    let indented: String = CONDITIONS.lines().map(|line| format!("\n    {line}")).collect();
    Proposal { reason, place: ROOT.to_owned(), block: format!("{STATUS}{indented}") }
}

/// The rules that keep a field of the identity from changing.
fn fixed(field: &Field) -> Option<Proposal> {
    let name = field.path.last().map(String::as_str).unwrap_or_default();
    let mut lines = Vec::new();
    let is_text = field.schema["type"] == "string";
    let lacks = |keys: &[&str]| keys.iter().all(|key| field.schema.get(key).is_none());
    if is_text && lacks(&["minLength", "pattern", "enum", "format"]) {
        lines.push("minLength: 1".to_owned());
    }
    if is_text && lacks(&["maxLength", "enum"]) {
        lines.push("maxLength: 253".to_owned());
    }
    if !field.schema[RULES].to_string().contains("oldSelf") {
        lines.push(format!("{RULES}:\n- {{rule: self == oldSelf, message: {name} cannot be changed}}"));
    }
    (!lines.is_empty()).then(|| Proposal {
        reason: format!("If {} names the external resource, an edit of it renames nothing outside.", field.shown()),
        place: format!("{ROOT}.spec.properties.{}", field.path.join(".properties.")),
        block: lines.join("\n"),
    })
}
