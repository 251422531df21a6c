//! Recognises names of secrets, independently of the target.
//!
//! Values with such a name are never shown.

use serde_json::Value;

/// A name that contains one of these words counts as a secret's.
const SECRET_LOOKING: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
];

/// Fields that name the items of lists: an item with the name `API_TOKEN` contains a secret.
const NAMING_FIELDS: [&str; 5] = ["name", "key", "id", "field", "header"];

/// Returns true if the value of this name must be hidden.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    let plain: Vec<u8> = letters.collect();
    // Names and words are short: a naive search takes a fraction of the set-up time of a better one.
    (0..plain.len()).any(|start| SECRET_LOOKING.iter().any(|word| plain[start..].starts_with(word.as_bytes())))
}

/// Returns true if an item of a list has a name like a secret: `{name: DB_PASSWORD, value: …}`.
#[must_use]
pub fn is_named_like_a_secret(item: &Value) -> bool {
    NAMING_FIELDS.iter().any(|field| item.get(field).and_then(Value::as_str).is_some_and(looks_secret))
}
