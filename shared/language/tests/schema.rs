//! The committed JSON Schema matches the reader, accepts every documented target, and rejects every unknown key.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use drift_language::{DocumentName, json_schema, parse_document};
use serde_json::Value;

const WRITTEN: &str = include_str!("../../../docs/target.schema.json");

/// A validator for the part of draft 7 that our schema uses. Returns the first error of a value and its place.
fn mistake(schema: &Value, value: &Value, place: &str) -> Option<String> {
    if let Some(forms) = schema["anyOf"].as_array() {
        let mistakes: Vec<_> = forms.iter().map(|form| mistake(form, value, place)).collect();
        return mistakes.into_iter().reduce(|first, next| first.and(next)).flatten();
    }
    let is_type = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema knows a type {other}"),
    };
    let has_type = match &schema["type"] {
        Value::String(name) => is_type(name),
        Value::Array(names) => names.iter().any(|name| is_type(name.as_str().unwrap())),
        _ => true,
    };
    if !has_type {
        return Some(format!("{place}: no {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Some(format!("{place}: none of {}", schema["enum"]));
    }
    let outside = |least: &Value, most: &Value| {
        value.as_u64().is_some_and(|number| {
            least.as_u64().is_some_and(|least| number < least) || most.as_u64().is_some_and(|most| number > most)
        })
    };
    if outside(&schema["minimum"], &schema["maximum"]) {
        return Some(format!("{place}: out of bounds"));
    }
    if let Some(items) = value.as_array() {
        return items
            .iter()
            .enumerate()
            .find_map(|(position, item)| mistake(&schema["items"], item, &format!("{place}[{position}]")));
    }
    let required = schema["required"].as_array().into_iter().flatten().map(|key| key.as_str().unwrap());
    let fields = value.as_object()?;
    if let Some(missing) = required.into_iter().find(|key| !fields.contains_key(*key)) {
        return Some(format!("{place}: {missing} is missing"));
    }
    fields.iter().find_map(|(key, field)| match schema["properties"].get(key) {
        None if schema["additionalProperties"] == false => Some(format!("{place}: unknown key {key}")),
        None if schema["additionalProperties"].is_object() => {
            mistake(&schema["additionalProperties"], field, &format!("{place}.{key}"))
        }
        None => None,
        Some(schema) => mistake(schema, field, &format!("{place}.{key}")),
    })
}

#[test]
fn the_schema_that_is_checked_in_is_the_readers() {
    let schema = format!("{:#}\n", json_schema());
    if schema != WRITTEN {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target.schema.json");
        fs::write(&file, schema).unwrap();
        panic!(
            "docs/target.schema.json is old; as it is now, and as `kubectl drift schema` prints it: {}",
            file.display()
        );
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_text = path.extension().is_some_and(|extension| extension == "md" || extension == "yaml");
        if path.is_dir() {
            files(&path, found);
        } else if is_text {
            found.push(path);
        }
    }
}

/// The target documents of a text: the text itself, its blocks, or the values of its ConfigMaps.
fn targets(text: &str) -> Vec<Value> {
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block);
    let texts = if text.contains("```yaml") { blocks.collect() } else { vec![text] };
    let mut found = Vec::new();
    for text in texts.into_iter().filter(|text| text.contains("kind: PollTarget")) {
        let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap_or_default();
        for document in documents {
            if document["kind"] == "PollTarget" {
                found.push(document);
            } else {
                let texts = document["data"].as_object().into_iter().flatten().filter_map(|(_, text)| text.as_str());
                found.extend(texts.filter_map(|text| serde_saphyr::from_str(text).ok()));
            }
        }
    }
    found
}

#[test]
fn every_target_in_manifests_and_documentation_is_good() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md")];
    ["docs", "manifests"].iter().for_each(|folder| files(&root.join(folder), &mut paths));
    let schema = json_schema();
    let mut count = 0;
    for path in paths {
        for target in targets(&fs::read_to_string(&path).unwrap()) {
            assert_eq!(mistake(&schema, &target, "document"), None, "{}", path.display());
            let name =
                DocumentName { config_map: path.display().to_string(), key: target["metadata"]["name"].to_string() };
            // JSON is valid YAML.
            let problems = parse_document(&name, &target.to_string()).err().unwrap_or_default();
            assert!(problems.is_empty(), "{problems:#?}");
            count += 1;
        }
    }
    assert!(count >= 8, "only {count} targets were found");
    let good: Value = serde_saphyr::from_str(include_str!("bad_documents/target.yaml")).unwrap();
    assert_eq!(mistake(&schema, &good, "document"), None);
}

#[test]
fn every_unknown_key_of_the_bad_documents_is_refused() {
    let (schema, target) = (json_schema(), include_str!("bad_documents/target.yaml"));
    let mut count = 0;
    for case in include_str!("bad_documents/cases.txt").split("\n\n").filter(|case| case.contains(" unknown key `")) {
        let line = |mark: &str| {
            let mut lines = case.lines().filter_map(|line| line.strip_prefix(mark));
            lines.next().filter(|_| lines.next().is_none())
        };
        let (Some(old), Some(new)) = (line("< "), line("> ")) else { continue };
        let Ok(document) = serde_saphyr::from_str::<Value>(&target.replacen(old, new, 1)) else { continue };
        assert!(mistake(&schema, &document, "document").is_some(), "taken: {new}");
        count += 1;
    }
    assert!(count >= 20, "only {count} documents with an unknown key");
}
