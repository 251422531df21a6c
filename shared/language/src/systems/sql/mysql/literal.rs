//! MySQL literals, with backslash escapes: each connection turns `NO_BACKSLASH_ESCAPES` off and checks it.

use serde_json::Value;

/// The error for a value with a NUL character. A name cannot contain one, and the other dialect rejects it too.
const NUL: &str = "the value holds a NUL character, which MySQL does not take in a name or a text";
/// The error for a list of names without an entry.
const NO_NAMES: &str = "the list of names is empty; skip the statement with `when`";

/// Returns a value as a literal of a statement: numbers and booleans bare, texts as `'…'`, null as NULL, lists and maps
/// as JSON in quotes.
///
/// # Errors
/// Fails if it has a NUL character.
pub(in crate::systems::sql) fn literal(value: &Value) -> Result<String, &'static str> {
    Ok(match text(value)? {
        None => "NULL".to_owned(),
        Some(text) if matches!(value, Value::Bool(_) | Value::Number(_)) => text,
        Some(text) => quoted(&text),
    })
}

/// Returns a value as the text of a parameter, or `None` for null. Booleans are 1 and 0, as MySQL stores them.
///
/// # Errors
/// Fails if it has a NUL character.
pub(in crate::systems::sql) fn text(value: &Value) -> Result<Option<String>, &'static str> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::Bool(truth) => u8::from(*truth).to_string(),
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    if text.contains('\0') { Err(NUL) } else { Ok(Some(text)) }
}

/// Returns the parameter marker of a value. MySQL compares a text with a number as doubles, so that a large integer
/// would equal its neighbours. The cast keeps integers exact.
pub(in crate::systems::sql) fn marker(value: &Value) -> &'static str {
    match value {
        Value::Number(number) if number.is_i64() => "CAST(? AS SIGNED)",
        Value::Number(number) if number.is_u64() => "CAST(? AS UNSIGNED)",
        _ => "?",
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Returns a name in backticks.
///
/// # Errors
/// Fails if it is not a name that MySQL keeps unchanged.
pub(in crate::systems::sql) fn ident(value: &Value) -> Result<String, &'static str> {
    let Value::String(name) = value else { return Err("ident takes a text") };
    checked(name).map(|name| format!("`{}`", name.replace('`', "``")))
}

/// Returns names in backticks, separated by commas.
///
/// # Errors
/// Same as [`ident`], and fails if there are none.
pub(in crate::systems::sql) fn idents(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::Array(names) if names.is_empty() => Err(NO_NAMES),
        Value::Array(names) => Ok(names.iter().map(ident).collect::<Result<Vec<_>, _>>()?.join(", ")),
        _ => Err("idents takes a list of texts"),
    }
}

/// Returns an account as `'user'@'host'`. The last `@` separates them, because a host contains none.
///
/// # Errors
/// Fails if it is not an account that MySQL keeps unchanged.
pub(in crate::systems::sql) fn account(value: &Value) -> Result<String, &'static str> {
    let Value::String(account) = value else { return Err("account takes a text") };
    let parts = account.rsplit_once('@').filter(|(user, host)| !user.is_empty() && !host.is_empty());
    let (user, host) = parts.ok_or("account takes a text such as user@host or user@%")?;
    Ok(format!("{}@{}", quoted(checked(user)?), quoted(checked(host)?)))
}

/// Checks a name. MySQL stores names without characters beyond U+FFFF, so one of them would name another thing.
fn checked(name: &str) -> Result<&str, &'static str> {
    match name {
        "" => Err("the name is empty"),
        name if name.contains('\0') => Err(NUL),
        name if name.chars().any(|letter| letter > '\u{ffff}') => {
            Err("the name holds a character beyond U+FFFF, which MySQL does not keep")
        }
        name => Ok(name),
    }
}
