//! Values in an XML document: escaped texts, and maps as elements.
//!
//! The reverse of [`parse_xml`](crate::parse_xml): a map becomes the elements that are read as this map.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::values::xml::{is_character, is_name};

/// Error of a character that no XML document can carry.
const UNFIT: &str = "the value holds characters that XML cannot carry";
/// Error of a list without a name.
const NAMELESS: &str = "a list needs a name for its elements: write ${{'NAME': list}}";

/// Renders a value in a document: a map as elements for element content, and anything else by `text`, escaped for element
/// content and attributes.
pub(crate) fn xml_text(value: Value, text: fn(Value) -> Result<String, String>) -> Result<String, String> {
    let mut written = String::new();
    match value {
        Value::Object(fields) => write_children(&fields, text, &mut written)?,
        Value::Array(_) => return Err(NAMELESS.to_owned()),
        scalar => escape(&text(scalar)?, &mut written)?,
    }
    Ok(written)
}

fn write_children(
    fields: &Map<String, Value>,
    text: fn(Value) -> Result<String, String>,
    written: &mut String,
) -> Result<(), String> {
    for (name, value) in fields.iter().filter(|(name, _)| *name != "#text") {
        check_name(name)?;
        let items = match value {
            Value::Array(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        for item in items {
            write_element(name, item, text, written)?;
        }
    }
    fields.get("#text").map_or(Ok(()), |own| escape(&text(own.clone())?, written))
}

fn write_element(
    name: &str,
    value: &Value,
    text: fn(Value) -> Result<String, String>,
    written: &mut String,
) -> Result<(), String> {
    match value {
        Value::Null => return Ok(()),
        Value::Object(fields) => {
            let (attributes, children): (Vec<_>, Vec<_>) = fields.iter().partition(|(name, _)| name.starts_with('@'));
            written.push_str(&format!("<{name}"));
            for (name, value) in attributes.into_iter().filter(|(_, value)| !value.is_null()) {
                let name = name.strip_prefix('@').unwrap_or(name);
                check_name(name)?;
                written.push_str(&format!(" {name}=\""));
                escape(&text(value.clone())?, written)?;
                written.push('"');
            }
            written.push('>');
            let children = children.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            write_children(&children, text, written)?;
        }
        Value::Array(_) => return Err(NAMELESS.to_owned()),
        scalar => {
            written.push_str(&format!("<{name}>"));
            escape(&text(scalar.clone())?, written)?;
        }
    }
    written.push_str(&format!("</{name}>"));
    Ok(())
}

/// Rejects names that could end a tag. A name may have a prefix.
fn check_name(name: &str) -> Result<(), String> {
    // The name may come from an object, so it is not repeated.
    if is_name(name) { Ok(()) } else { Err("a key of a map is no name of an element".to_owned()) }
}

/// Escapes a text. White space becomes references, because parsers change it in attributes.
fn escape(text: &str, written: &mut String) -> Result<(), String> {
    for letter in text.chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&apos;"),
            '\t' | '\n' | '\r' => drop(write!(written, "&#{};", u32::from(letter))),
            _ if is_character(letter) => written.push(letter),
            _ => return Err(UNFIT.to_owned()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_xml;
    use proptest::prelude::*;
    use serde_json::json;

    fn text(value: Value) -> Result<String, String> {
        Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    #[test]
    fn values_become_texts_and_elements() {
        let table = [
            (json!("a<b>&\"'\n"), Ok("a&lt;b&gt;&amp;&quot;&apos;&#10;")),
            (json!(1), Ok("1")),
            (json!(true), Ok("true")),
            (json!({"b": ["1", 2], "a": null}), Ok("<b>1</b><b>2</b>")),
            (json!({"a": {"@b": "\"", "#text": "x", "c": {}}}), Ok("<a b=\"&quot;\"><c></c>x</a>")),
            (json!({"n:a": ""}), Ok("<n:a></n:a>")),
            (json!({}), Ok("")),
            (json!(["a"]), Err(NAMELESS)),
            (json!({"a": [["b"]]}), Err(NAMELESS)),
            (json!({"a><b": "x"}), Err("a key of a map is no name of an element")),
            (json!({"@a": "x"}), Err("a key of a map is no name of an element")),
            (json!({"a": {"@b c": "x"}}), Err("a key of a map is no name of an element")),
            (json!({"a": {"@b": null, "@c": "1", "d": null}}), Ok("<a c=\"1\"></a>")),
            (json!({"a": {"@@b": "x"}}), Err("a key of a map is no name of an element")),
            (json!("\u{1}"), Err(UNFIT)),
        ];
        for (value, expected) in table {
            assert_eq!(xml_text(value.clone(), text).as_deref(), expected.map_err(str::to_owned).as_deref(), "{value}");
        }
    }

    proptest! {
        #[test]
        fn a_text_keeps_its_place_and_comes_back(value in "[ -~\t\n\rä]{0,20}") {
            let escaped = xml_text(Value::from(value.clone()), text);
            let document = format!("<r a=\"{0}\" b='{0}'><t>{0}</t></r>", escaped.unwrap_or_default());
            let expected = json!({"r": {"@a": value, "@b": value, "t": value}});
            prop_assert_eq!(parse_xml(document.as_bytes(), &[], 60), Ok(expected));
        }

        #[test]
        fn elements_are_read_as_the_map(keys in proptest::collection::btree_map("[a-c]|@[d-e]", "[a-z<&]{0,3}", 1..4)) {
            let value = json!({"r": keys});
            let written = xml_text(value.clone(), text).unwrap_or_default();
            prop_assert_eq!(parse_xml(written.as_bytes(), &[], 60), Ok(value));
        }
    }
}
