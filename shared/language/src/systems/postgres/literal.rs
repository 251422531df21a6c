//! Values as PostgreSQL reads them.
//!
//! A literal carries no type of its own beside numbers and booleans, so that the server takes it as whatever stands there needs.

use serde_json::Value;

/// Bytes of a name; PostgreSQL cuts a longer one silently, and would then speak of another thing (NAMEDATALEN).
const MAX_NAME_BYTES: usize = 63;

/// Said of a value with a NUL character.
const NUL: &str = "the value holds a NUL character, which PostgreSQL cannot take";

/// A value as it is written into a statement: numbers and booleans bare, texts as `E'…'`, null as NULL, lists as array
/// literals and maps as JSON, both in quotes.
///
/// # Errors
/// Fails if PostgreSQL cannot hold it.
pub(super) fn literal(value: &Value) -> Result<String, &'static str> {
    Ok(match text(value)? {
        None => "NULL".to_owned(),
        Some(text) if matches!(value, Value::Bool(_) | Value::Number(_)) => text,
        Some(text) => quoted(&text),
    })
}

/// A value as the text of a parameter; `None` for null.
///
/// # Errors
/// Fails if PostgreSQL cannot hold it.
pub(super) fn text(value: &Value) -> Result<Option<String>, &'static str> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => array(items),
        Value::Object(_) => value.to_string(),
    };
    if text.contains('\0') || holds_nul(value) { Err(NUL) } else { Ok(Some(text)) }
}

/// In JSON it is written `\u0000`, which jsonb refuses and json keeps.
fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => fields.iter().any(|(name, field)| name.contains('\0') || holds_nul(field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// `{"a","b",NULL}`.
fn array(items: &[Value]) -> String {
    let item = |item: &Value| match item {
        Value::Null => "NULL".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => array(items),
        Value::String(text) => array_item(text),
        Value::Object(_) => array_item(&item.to_string()),
    };
    format!("{{{}}}", items.iter().map(item).collect::<Vec<_>>().join(","))
}

fn array_item(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// In a quote of this kind a backslash means the same whatever the server is set to.
fn quoted(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A name in double quotes.
///
/// # Errors
/// Fails if it is no name, or a longer one than PostgreSQL keeps.
pub(super) fn ident(value: &Value) -> Result<String, &'static str> {
    let Value::String(name) = value else { return Err("ident takes a text") };
    match name.len() {
        0 => Err("the name is empty"),
        length if length > MAX_NAME_BYTES => {
            Err("the name is longer than 63 bytes, which is all that PostgreSQL keeps")
        }
        _ if name.contains('\0') => Err(NUL),
        _ => Ok(format!("\"{}\"", name.replace('"', "\"\""))),
    }
}

/// Names in double quotes, with commas between.
///
/// # Errors
/// Same as [`ident`], and where there is none.
pub(super) fn idents(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::Array(names) if names.is_empty() => Err("the list of names is empty; skip the statement with `when`"),
        Value::Array(names) => Ok(names.iter().map(ident).collect::<Result<Vec<_>, _>>()?.join(", ")),
        _ => Err("idents takes a list of texts"),
    }
}
