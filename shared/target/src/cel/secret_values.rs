//! The values of secrets, as the templates of a correction see them, and whether a text repeats one.
//!
//! Nothing here shows a value. This file must not know where the values come from, nor where they are sent.

use std::fmt;

use serde_json::Value;

/// Characters of a secret that can be told from a part of another word; a shorter one counts only where it is the whole.
const MIN_TELLING_CHARS: usize = 4;

/// The values of secrets, by their names.
#[derive(Clone, Default)]
pub struct SecretValues(Value);

impl SecretValues {
    /// As expressions see them.
    pub(super) const fn json(&self) -> &Value {
        &self.0
    }

    /// Whether a value has one of them in any of its texts: as it is, or without the line end that files leave behind.
    #[must_use]
    pub fn occur_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.texts().any(|secret| repeats(text, secret)),
            Value::Array(items) => items.iter().any(|item| self.occur_in(item)),
            Value::Object(fields) => fields
                .iter()
                .any(|(name, field)| self.texts().any(|secret| repeats(name, secret)) || self.occur_in(field)),
            Value::Number(number) => {
                let text = number.to_string();
                self.texts().any(|secret| text == secret.trim())
            }
            Value::Null | Value::Bool(_) => false,
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let values = self.0.as_object().into_iter().flat_map(|values| values.values());
        values.filter_map(Value::as_str).filter(|text| !text.trim().is_empty())
    }
}

fn repeats(text: &str, secret: &str) -> bool {
    let secret = secret.trim();
    text.trim() == secret || secret.chars().count() >= MIN_TELLING_CHARS && text.contains(secret)
}

impl FromIterator<(String, String)> for SecretValues {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(values: T) -> Self {
        Self(Value::Object(values.into_iter().map(|(name, value)| (name, Value::String(value))).collect()))
    }
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretValues")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(secret: &str) -> SecretValues {
        [("password".to_owned(), secret.to_owned())].into_iter().collect()
    }

    #[test]
    fn a_repeated_secret_is_found_wherever_it_stands() {
        let table = [
            ("hunter2", json!("hunter2"), true),
            ("hunter2\n", json!("is hunter2 good?"), true),
            ("hunter2", json!({"a": [{"b": "xhunter2x"}]}), true),
            ("hunter2", json!({"hunter2": 1}), true),
            ("1234", json!(1234), true),
            ("1234", json!(12345), false),
            ("a", json!("a"), true),
            ("a", json!("abc"), false),
            ("hunter2", json!(["hunter", 2, null, true]), false),
            ("", json!(""), false),
            (" \n", json!(" "), false),
        ];
        for (secret, value, expected) in table {
            assert_eq!(values(secret).occur_in(&value), expected, "{secret:?} in {value}");
        }
    }

    #[test]
    fn debug_output_shows_no_value() {
        assert_eq!(format!("{:?}", values("hunter2")), "SecretValues");
    }
}
