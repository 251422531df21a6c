//! The values of secrets for the templates of a correction, and the search for them in texts.
//!
//! No value is ever shown.

mod encodings;

use std::collections::HashSet;
use std::fmt;

use serde_json::Value;

use self::encodings::Readings;

/// Minimum characters of a recognised piece of a secret. Most words in error messages are shorter.
const MIN_PIECE_CHARS: usize = 8;

/// A piece of this many characters counts as recognised, regardless of the secret's length.
const MAX_PIECE_CHARS: usize = 16;

/// Minimum characters of a secret that a mask replaces alone. A server may quote a text in which a user listed guesses,
/// and a mask among them would show the right one. A secret of this length cannot be guessed.
const MIN_UNGUESSABLE_CHARS: usize = 16;

/// The values of secrets, by their names.
#[derive(Clone, Default)]
pub struct SecretValues(Value);

impl SecretValues {
    /// Returns the values for expressions.
    pub(in crate::cel) const fn json(&self) -> &Value {
        &self.0
    }

    /// Adds secrets with other names.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        if let (Some(values), Some(others)) = (self.0.as_object_mut(), others.0.as_object()) {
            values.extend(others.clone());
        } else if self.0.is_null() {
            self.0.clone_from(&others.0);
        }
        self
    }

    /// Adds secrets that may have the same names. Former values of Secrets are searched for like the current ones.
    #[must_use]
    pub fn and_former(self, former: &Self) -> Self {
        let moved = former.texts().filter(|text| !self.texts().any(|own| own == *text));
        let moved: Self = moved.map(|text| (format!("former {text}"), text.to_owned())).collect();
        moved.and(&self)
    }

    /// Returns true if a text of the value contains a secret, as it is or without the trailing newline that files have.
    #[must_use]
    pub fn occur_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.occur_in_text(text),
            Value::Array(items) => items.iter().any(|item| self.occur_in(item)),
            Value::Object(fields) => {
                fields.iter().any(|(name, field)| self.occur_in_text(name) || self.occur_in(field))
            }
            Value::Number(number) => {
                let text = number.to_string();
                self.texts().any(|secret| text == secret.trim())
            }
            Value::Null | Value::Bool(_) => false,
        }
    }

    /// Returns true if a line for display contains a secret or a piece of one.
    #[must_use]
    pub fn occur_in_line(&self, line: &str) -> bool {
        self.occur_in_text(line) || self.pieces_occur_in(line)
    }

    fn occur_in_text(&self, text: &str) -> bool {
        let readings = Readings::of(text);
        self.texts().any(|secret| readings.repeat(secret))
    }

    /// Returns a copy in which `mask` replaces each text, number and field name that contains a secret or a piece of
    /// one.
    #[must_use]
    pub fn conceal(&self, value: &Value, mask: &str) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.conceal(item, mask)).collect(),
            Value::Object(fields) => {
                let field = |(name, field): (&String, &Value)| {
                    let is_secret = self.occur_in_line(name);
                    (if is_secret { mask.to_owned() } else { name.clone() }, self.conceal(field, mask))
                };
                Value::Object(fields.iter().map(field).collect())
            }
            Value::String(text) if self.occur_in_line(text) => Value::from(mask),
            scalar if self.occur_in(scalar) => Value::from(mask),
            scalar => scalar.clone(),
        }
    }

    /// Returns a text in which `mask` replaces each long secret that occurs in it as a word. Short secrets, those
    /// inside of words and other forms stay, so look for them with [`Self::occur_in`].
    #[must_use]
    pub fn without(&self, text: &str, mask: &str) -> String {
        let is_unguessable = |secret: &&str| secret.chars().count() >= MIN_UNGUESSABLE_CHARS;
        let mut secrets: Vec<&str> = self.texts().map(str::trim).filter(is_unguessable).collect();
        // One secret may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.iter().fold(text.to_owned(), |text, word| with_mask(&text, word, mask))
    }

    /// Returns true if a line for display contains a piece of a secret, in any case of letters. Servers quote the input
    /// that they reject, truncate it, and put it into lower case.
    #[must_use]
    pub fn pieces_occur_in(&self, line: &str) -> bool {
        let line = line.to_lowercase();
        self.texts().any(|secret| {
            let secret = secret.trim().to_lowercase();
            let piece = (secret.chars().count() / 2).clamp(MIN_PIECE_CHARS, MAX_PIECE_CHARS);
            let pieces: HashSet<&str> = windows(&secret, piece).collect();
            windows(&line, piece).any(|window| pieces.contains(window))
        })
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let values = self.0.as_object().into_iter().flat_map(|values| values.values());
        values.filter_map(Value::as_str).filter(|text| !text.trim().is_empty())
    }
}

/// Returns a text in which `mask` replaces a word, where it has no letter or digit beside it.
fn with_mask(text: &str, word: &str, mask: &str) -> String {
    let is_inner = |beside: Option<char>| beside.is_some_and(char::is_alphanumeric);
    let (mut shown, mut end) = (String::new(), 0);
    for (at, _) in text.match_indices(word) {
        let after = at + word.len();
        if !is_inner(text[..at].chars().next_back()) && !is_inner(text[after..].chars().next()) {
            shown = shown + &text[end..at] + mask;
            end = after;
        }
    }
    shown + &text[end..]
}

/// Returns every part of a text with this many characters.
fn windows(text: &str, chars: usize) -> impl Iterator<Item = &str> {
    let starts = || text.char_indices().map(|(at, _)| at);
    let ends = starts().chain([text.len()]).skip(chars);
    starts().zip(ends).filter_map(|(start, end)| text.get(start..end))
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
    use base64::Engine;
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
            (r"\\\\", json!(r"C:\data"), false),
            (r"\\\\", json!(r"is \\\\ good?"), true),
            (r"\\\a", json!(r"C:\data"), false),
            ("", json!(""), false),
            (" \n", json!(" "), false),
        ];
        for (secret, value, expected) in table {
            assert_eq!(values(secret).occur_in(&value), expected, "{secret:?} in {value}");
        }
    }

    #[test]
    fn an_encoded_secret_is_found() {
        let secret = r#"hün"ter 2/+"#;
        let base64 = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
        let url_safe = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!("u:{secret}"));
        let texts = [
            "/login?p=h%C3%BCn%22ter%202%2f%2B&x=1".to_owned(),
            "p=h%c3%bcn%22ter+2%2F%2B".to_owned(),
            base64(secret.to_owned()),
            format!("Basic {} is refused", base64(format!("u:{secret}"))),
            format!("Basic {} is refused", base64(format!("us:{secret}"))),
            base64(format!("use:{secret}:more")),
            url_safe,
            r"refused: '\x68C3BC6e2274657220322f2b'".to_owned(),
            r#"{"p": "hün\"ter 2/+"}"#.to_owned(),
            r#"{"p": "{\"q\": \"hün\\\"ter 2/+\"}"}"#.to_owned(),
        ];
        for text in texts {
            assert!(values(secret).occur_in(&json!(text)), "{text}");
        }
        let others = ["hunter 2", "100% of u+2", "aMO8biJ0ZXI", "no"];
        assert!(others.iter().all(|text| !values(secret).occur_in(&json!(text))));
    }

    #[test]
    fn a_secret_encoded_twice_or_in_other_case_is_found() {
        let secret = "Correct-Horse:42/ä";
        let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let url_safe = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
        let hex = |between: &str| secret.bytes().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(between);
        let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let texts = [
            ("upper case", secret.to_uppercase()),
            ("lower case", format!("is {} good?", secret.to_lowercase())),
            ("base64 twice", base64(&base64(secret))),
            ("base64 twice after a user", base64(&format!("u:{}", base64(&format!("us:{secret}"))))),
            ("base64 twice, URL-safe", url_safe(&url_safe(secret))),
            ("base64 of hex", base64(&hex(""))),
            ("hex with colons", hex(":")),
            ("hex with spaces", hex(" ")),
            ("hex with dashes", hex("-")),
            ("hex with commas", hex(", ")),
            ("hex with prefixes", hex(", 0x")),
            ("hex with \\x", hex("\\x")),
            ("percent", escaped(secret)),
            ("percent twice", escaped(&escaped(secret))),
            ("base64, percent", escaped(&base64(secret))),
        ];
        for (encoding, text) in texts {
            assert!(values(secret).occur_in(&json!(text)), "{encoding}: {text}");
            assert!(values(secret).occur_in_line(&format!("refused: {text}")), "{encoding} in a line: {text}");
        }
        for text in ["correct horse", "a:b:c:d", "0x0a, 0x0b", "Zm9v", "100%"] {
            assert!(!values(secret).occur_in(&json!(text)), "{text}");
        }
        for text in ["&amp;", "it''s", r"\u0041", "&#x110000; &#; &nosuch; &"] {
            assert!(!values(secret).occur_in(&json!(text)), "{text}");
        }
        assert!(!values("data").occur_in(&json!("DATA")), "a short word in other case is no secret");
    }

    #[test]
    fn a_secret_in_sql_markup_or_json_escapes_is_found() {
        let table = [
            ("Xk49p'Q9z!mT", "syntax error near 'Xk49p''Q9z!mT'"),
            ("'Xk49p", "near '''Xk49p'"),
            ("Xk49p\"Q9z!mT", "no column \"Xk49p\"\"Q9z!mT\""),
            ("Xk49p`Q9z!mT", "no table `Xk49p``Q9z!mT`"),
            (r"Xk\49p'Q9z!mT", r"near 'Xk\\49p''Q9z!mT'"),
            ("Xk49p''Q9z!mT", "near 'Xk49p''''Q9z!mT'"),
            ("p&ss", "no &lt;p&amp;ss&gt;"),
            ("p'ss\"<é>", "p&#39;ss&quot;&lt;&#xe9;&gt;"),
            ("p'ss\"<é>", "p&apos;ss&#34;&#60;&#xE9;&#0062;"),
            ("p&ss", "p&amp;amp;ss"),
            ("p&ss", "p%26amp%3Bss"),
            ("p&ss", "p&AMP;ss"),
            ("p ss&", "p&nbsp;ss&amp;"),
            ("p&ss<é>", r"p\u0026ss\u003c\u00e9\u003E"),
            ("p&/ss", r"p\u0026\/ss"),
        ];
        for (secret, text) in table {
            assert!(values(secret).occur_in(&json!(text)), "{secret} in {text}");
        }
        assert!(!values("''''").occur_in(&json!("it's")), "quotes alone are no text");
    }

    #[test]
    fn a_piece_of_a_secret_is_found() {
        let long = "0123456789abcdefghijklmnopqrstuvwxyz";
        let table = [
            (long, "refused: 'cdefghijklmnopqr…'", true),
            (long, "refused: 'cdefghij'", false),
            ("correct-horse", "not correct-h…", true),
            ("correct-horse", "a correct-answer", true),
            ("correct-horse", "is incorrect", false),
            ("Correct-Horse", "no user correct-horse", true),
            ("hunter2", "hunter", false),
        ];
        for (secret, line, expected) in table {
            assert_eq!(values(secret).pieces_occur_in(line), expected, "{secret:?} in {line:?}");
        }
    }

    #[test]
    fn a_mask_replaces_a_secret_alone() {
        let secrets: SecretValues = [("a", "a-long-secret-17x\n"), ("b", "a-long-secret-17x-9"), ("c", "hunter2-long")]
            .map(|(name, text)| (name.into(), text.into()))
            .into_iter()
            .collect();
        let table = [
            ("is a-long-secret-17x good? a-long-secret-17x!", "is * good? *!"),
            ("not a-long-secret-17x-9", "not *"),
            ("hunter2-long stays: a guess", "hunter2-long stays: a guess"),
            ("a-long-secret-17xy and xa-long-secret-17x", "a-long-secret-17xy and xa-long-secret-17x"),
        ];
        for (text, expected) in table {
            assert_eq!(secrets.without(text, "*"), expected);
        }
    }

    #[test]
    fn debug_output_shows_no_value() {
        assert_eq!(format!("{:?}", values("hunter2")), "SecretValues");
    }
}
