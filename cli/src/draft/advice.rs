//! Proposals for the CustomResourceDefinition of a draft, as blocks to copy.

use super::definition::Definition;
use super::fields::Field;
use drift_api::names::DRIFT_OBSERVED;

/// The status that both programs write.
const STATUS: &str = "status:
  type: object
  properties:
    observedGeneration: {type: integer, format: int64}
    conditions:
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

/// The columns of `kubectl get`.
const COLUMNS: &str = "additionalPrinterColumns:
- {name: Drift, type: string, jsonPath: '.status.conditions[?(@.type==\"driftObserved\")].status'}
- {name: Reason, type: string, jsonPath: '.status.conditions[?(@.type==\"driftObserved\")].reason'}";

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

/// The fields of a condition, as in [`STATUS`].
const CONDITION_FIELDS: [(&str, &str); 6] = [
    ("type", "{type: string}"),
    ("status", "{type: string}"),
    ("reason", "{type: string}"),
    ("message", "{type: string}"),
    ("observedGeneration", "{type: integer, format: int64}"),
    ("lastTransitionTime", "{type: string, format: date-time}"),
];

/// The fields that the items of declared conditions lack. Without them `check` refuses the target.
fn condition_fields(conditions: &serde_json::Value, root: &str) -> Option<Proposal> {
    let items = &conditions["items"];
    let declared = items["properties"].as_object().filter(|_| items["x-kubernetes-preserve-unknown-fields"] != true)?;
    let lacking = CONDITION_FIELDS.iter().filter(|(name, _)| !declared.contains_key(*name));
    let lines: Vec<_> = lacking.map(|(name, schema)| format!("{name}: {schema}")).collect();
    (!lines.is_empty()).then(|| Proposal {
        reason: "Required: without these fields of a condition, `check` refuses this target.".to_owned(),
        place: format!("{root}.status.properties.conditions.items.properties"),
        block: lines.join("\n"),
    })
}

/// The proposals for a definition and the fields that name its external resources.
pub(super) fn proposals(definition: &Definition, naming: &[&Field]) -> Vec<Proposal> {
    let mut all = Vec::new();
    let spec = &definition.manifest["spec"];
    let has_name = |version: &&serde_json::Value| version["name"] == definition.kind.version.as_str();
    let version = spec["versions"].as_array().into_iter().flatten().find(has_name);
    if version.is_none_or(|version| version["subresources"]["status"].is_null()) {
        all.push(Proposal {
            reason: "Required: the programs write conditions to the status subresource.".to_owned(),
            place: String::new(),
            block: "subresources: {status: {}}".to_owned(),
        });
    }
    let shows_drift =
        |version: &serde_json::Value| version["additionalPrinterColumns"].to_string().contains(DRIFT_OBSERVED);
    if !version.is_some_and(shows_drift) {
        all.push(Proposal {
            reason: "Optional: `kubectl get` shows the verdict.".to_owned(),
            place: String::new(),
            block: COLUMNS.to_owned(),
        });
    }
    let root = ".schema.openAPIV3Schema.properties";
    let status = &definition.schema["properties"]["status"];
    if status["properties"]["conditions"].is_null() && status["x-kubernetes-preserve-unknown-fields"] != true {
        all.push(Proposal {
            reason: "Required: the conditions that the programs write.".to_owned(),
            place: root.to_owned(),
            block: STATUS.to_owned(),
        });
    }
    all.extend(condition_fields(&status["properties"]["conditions"], root));
    for field in naming {
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
        if !lines.is_empty() {
            all.push(Proposal {
                reason: format!(
                    "{} names the external resource, and an edit of it renames nothing outside.",
                    field.shown()
                ),
                place: format!("{root}.spec.properties.{}", field.path.join(".properties.")),
                block: lines.join("\n"),
            });
        }
    }
    all
}
