//! The JSON Schema of target documents, with which editors complete and check them.
//!
//! Keys, words and bounds are recorded from the reader while it reads samples that cover every section. Only the
//! descriptions of keys are separate. So the schema always contains every key that the reader knows. It is less strict
//! than the reader: the content of texts is not checked.

mod annotated;
mod descriptions;
mod required;

use serde_json::{Map, Value, json};

pub use self::annotated::annotated_target;
use self::descriptions::{ALIKE, DESCRIBED_AT, DESCRIPTIONS};
use self::required::{REQUIRED, TYPES};
use crate::document::sections::RECORDED;
use crate::yaml::recording::{Expectation, Recording};

/// Returns the schema in draft 7, which editors support.
#[must_use]
pub fn json_schema() -> Value {
    let recording = &*RECORDED;
    let mut schema = Map::from_iter([
        ("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#")),
        ("title".to_owned(), json!("A poll target of drift-poller and drift-controller")),
    ]);
    if let Value::Object(root) = schema_at(recording, "") {
        schema.extend(root);
    }
    Value::Object(schema)
}

fn schema_at(recording: &Recording, place: &str) -> Value {
    let place = alike(place);
    let mut schema = match recording.at(&place) {
        _ if types(&place).is_some() => match types(&place).unwrap_or_default() {
            [] => json!({}),
            [only] => json!({"type": only}),
            several => json!({"type": several}),
        },
        None => json!({}),
        Some(Expectation::Text) => json!({"type": "string"}),
        Some(Expectation::Map) => match format!("{place}.*") {
            every if recording.at(&every).is_some() => {
                json!({"type": "object", "additionalProperties": schema_at(recording, &every)})
            }
            _ => json!({"type": "object"}),
        },
        Some(Expectation::List) => json!({"type": "array", "items": schema_at(recording, &format!("{place}[]"))}),
        Some(Expectation::Truth) => json!({"type": "boolean"}),
        Some(Expectation::Whole(least, most)) => {
            let number = |text: &str| text.parse::<u64>().map_or(Value::Null, Value::from);
            json!({"type": "integer", "minimum": number(least), "maximum": number(most)})
        }
        Some(Expectation::Words(words)) => json!({"enum": words}),
        Some(Expectation::Keys(keys)) => section(recording, &place, keys),
    };
    if let Some(description) = description(&place) {
        schema["description"] = json!(description);
    }
    schema
}

fn section(recording: &Recording, place: &str, keys: &[String]) -> Value {
    let fields: Map<String, Value> =
        keys.iter().map(|key| (key.clone(), schema_at(recording, &below(place, key)))).collect();
    let required: Vec<&str> =
        keys.iter().map(String::as_str).filter(|key| REQUIRED.contains(&&*below(place, key))).collect();
    let mut schema = json!({"type": "object", "additionalProperties": false, "properties": fields});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Returns the place of a key. Places below `spec` count from there.
fn below(place: &str, key: &str) -> String {
    if place.is_empty() || place == "spec" { key.to_owned() } else { format!("{place}.{key}") }
}

/// Returns the place that has the description of a repeated section.
fn alike(place: &str) -> String {
    let found = ALIKE.iter().find_map(|(prefix, described)| Some((described, place.strip_prefix(prefix)?)));
    found.map_or_else(|| place.to_owned(), |(described, rest)| format!("{described}{rest}"))
}

fn types(place: &str) -> Option<&'static [&'static str]> {
    TYPES.iter().find(|(typed, _)| *typed == place).map(|(_, types)| *types)
}

fn description(place: &str) -> Option<&'static str> {
    let found = |place: &str| {
        let is_it = |described: &str| match described.strip_prefix('*') {
            Some(end) => place.ends_with(end),
            None => described == place,
        };
        DESCRIPTIONS.iter().find(|(described, _)| is_it(described)).map(|(_, description)| *description)
    };
    let elsewhere = || {
        let mut places = DESCRIBED_AT.iter();
        places.find_map(|(prefix, described)| found(&format!("{described}{}", place.strip_prefix(prefix)?)))
    };
    found(place).or_else(elsewhere)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Collects the place of every key of the schema.
    fn places(recording: &Recording, place: &str, found: &mut Vec<String>) {
        let place = alike(place);
        match recording.at(&place) {
            Some(Expectation::Keys(keys)) => {
                for key in keys {
                    found.push(alike(&below(&place, key)));
                    places(recording, &below(&place, key), found);
                }
            }
            Some(Expectation::List) => places(recording, &format!("{place}[]"), found),
            _ => {}
        }
    }

    #[test]
    fn every_key_is_described_and_no_other() {
        let recording = &*RECORDED;
        let mut found = Vec::new();
        places(recording, "", &mut found);
        found.sort();
        found.dedup();
        let missing: Vec<_> = found.iter().filter(|place| description(place).is_none()).collect();
        assert!(missing.is_empty(), "no description, and for a section perhaps no sample: {missing:#?}");
        let unknown: Vec<_> = DESCRIPTIONS
            .iter()
            .filter(|(place, _)| !place.starts_with('*') && !found.iter().any(|known| known == place))
            .collect();
        assert!(unknown.is_empty(), "no such key: {unknown:#?}");
        let unasked: Vec<_> =
            found.iter().filter(|place| recording.at(place).is_none() && types(place).is_none()).collect();
        assert!(unasked.is_empty(), "no sample reads these, or they are open: {unasked:#?}");
    }
}
