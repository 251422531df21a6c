//! PostgreSQL literals.
//!
//! Literals other than numbers and booleans have no type, so that the server infers it from the context.

use serde_json::Value;

/// Maximum length of a name in bytes. PostgreSQL silently truncates a longer one, which would then name
/// another thing (NAMEDATALEN).
const MAX_NAME_BYTES: usize = 63;

/// The error for a value with a NUL character.
const NUL: &str = "the value holds a NUL character, which PostgreSQL cannot take";

/// Returns a value as a literal of a statement: numbers and booleans bare, texts as `E'…'`, null as NULL, lists as
/// array literals and maps as JSON, both quoted.
///
/// # Errors
/// Fails if PostgreSQL cannot store it.
pub(in crate::systems::sql) fn literal(value: &Value) -> Result<String, &'static str> {
    Ok(match text(value)? {
        None => "NULL".to_owned(),
        Some(text) if matches!(value, Value::Bool(_) | Value::Number(_)) => text,
        Some(text) => quoted(&text),
    })
}

/// Returns a value as the text of a parameter, or `None` for null.
///
/// # Errors
/// Fails if PostgreSQL cannot store it.
pub(in crate::systems::sql) fn text(value: &Value) -> Result<Option<String>, &'static str> {
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

/// Returns true if a text in the value contains NUL. JSON would encode it as `\u0000`, which jsonb rejects
/// and json keeps.
fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => fields.iter().any(|(name, field)| name.contains('\0') || holds_nul(field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// An array literal: `{"a","b",NULL}`.
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

/// In an `E'…'` literal, backslashes have the same meaning for every server setting.
fn quoted(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Returns a name in double quotes.
///
/// # Errors
/// Fails if it is not a name, or longer than PostgreSQL keeps.
pub(in crate::systems::sql) fn ident(value: &Value) -> Result<String, &'static str> {
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

/// Returns names in double quotes, separated by commas.
///
/// # Errors
/// Same as [`ident`], and fails if there are none.
pub(in crate::systems::sql) fn idents(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::Array(names) if names.is_empty() => Err("the list of names is empty; skip the statement with `when`"),
        Value::Array(names) => Ok(names.iter().map(ident).collect::<Result<Vec<_>, _>>()?.join(", ")),
        _ => Err("idents takes a list of texts"),
    }
}
