//! The JSON Schema of target documents, with which editors complete and check them.
//!
//! It is made of the declarations of the sections, and so are their readers. It is less strict than the reader: the
//! content of texts is not checked.

mod annotated;

use serde_json::{Map, Value, json};

pub use self::annotated::annotated_target;
use crate::document::sections::LANGUAGE;
use crate::section::{Key, Schema};

/// Returns the schema in draft 7, which editors support.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = section(&LANGUAGE);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("A poll target of drift-poller and drift-controller");
    schema
}

fn schema_of(schema: &Schema) -> Value {
    match schema {
        Schema::Types([]) => json!({}),
        Schema::Types([only]) => json!({"type": only}),
        Schema::Types(several) => json!({"type": several}),
        Schema::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Schema::Words(words) => json!({"enum": words}),
        Schema::OrText(long) => json!({"anyOf": [{"type": "string"}, schema_of(long)]}),
        Schema::OneOrList(item) => {
            let item = schema_of(item);
            json!({"anyOf": [item, {"type": "array", "items": item}]})
        }
        Schema::List(item) => json!({"type": "array", "items": schema_of(item)}),
        Schema::Map(value) => json!({"type": "object", "additionalProperties": schema_of(value)}),
        Schema::Keys(keys) => section(keys),
    }
}

fn section(keys: &[Key]) -> Value {
    let property = |key: &Key| {
        let mut schema = schema_of(&key.schema);
        schema["description"] = json!(key.description);
        (key.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = keys.iter().map(property).collect();
    let mut schema = json!({"type": "object", "additionalProperties": false, "properties": properties});
    let required: Vec<&str> = keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::sections::section_in;

    /// Collects the keys without a description, by their places.
    fn undescribed(keys: &[Key], place: &str, found: &mut Vec<String>) {
        for key in keys {
            let place = format!("{place}.{}", key.name);
            if let Some((keys, _)) = section_in(&key.schema) {
                undescribed(keys, &place, found);
            }
            if key.description.is_empty() {
                found.push(place);
            }
        }
    }

    #[test]
    fn every_key_is_described() {
        let mut found = Vec::new();
        undescribed(&LANGUAGE, "", &mut found);
        assert!(found.is_empty(), "no doc comment: {found:#?}");
    }
}
