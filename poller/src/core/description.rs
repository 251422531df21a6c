//! A list of differences as one sentence for people, which shows no secret and does not grow.
//!
//! It ends in a condition that everybody with read access sees, in events and in logs. It must not know which
//! object it speaks of.

use drift_model::secret_names::looks_secret;
use drift_target::{Rule, RuleEffect};
use serde_json::Value;

use super::difference::{Difference, is_fulfilled};

/// Fields named before "and N more": a person fixes the first ones and looks again.
const MAX_FIELDS: usize = 8;
/// Characters of a shown string; the rest is cut.
const MAX_VALUE_CHARACTERS: usize = 64;
/// Characters of a shown path; a hostile key must not push the other fields out.
const MAX_PATH_CHARACTERS: usize = 128;

const REDACTED: &str = "(redacted)";

/// The sentence of a drift, for example `2 fields differ: /a desired 10, observed 5; /b desired true, observed absent`.
#[must_use]
pub fn describe(differences: &[Difference<'_>], rules: &[Rule]) -> String {
    let fields: Vec<_> = differences.iter().take(MAX_FIELDS).map(|field| describe_field(field, rules)).collect();
    let head = if differences.len() == 1 {
        "1 field differs".to_owned()
    } else {
        format!("{} fields differ", differences.len())
    };
    let more = differences.len().saturating_sub(MAX_FIELDS);
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{head}: {}{tail}", fields.join("; "))
}

fn describe_field(field: &Difference<'_>, rules: &[Rule]) -> String {
    let path = show_path(&field.path);
    if is_redacted(&field.path, rules) || holds_secret(field.desired) || field.observed.is_some_and(holds_secret) {
        return format!("{path} {REDACTED}");
    }
    match (field.desired, field.observed) {
        (Value::Array(wished), Some(Value::Array(real))) => format!("{path} {}", describe_list(wished, real)),
        (wished, real) => {
            let real = real.map_or_else(|| "absent".to_owned(), show_value);
            format!("{path} desired {}, observed {real}", show_value(wished))
        }
    }
}

fn describe_list(wished: &[Value], real: &[Value]) -> String {
    let missing = wished.iter().filter(|wish| !real.iter().any(|item| is_fulfilled(wish, Some(item)))).count();
    let extra = real.iter().filter(|item| !wished.iter().any(|wish| is_fulfilled(wish, Some(item)))).count();
    match (missing, extra) {
        (0, 0) if wished.len() == real.len() => "in another order".to_owned(),
        (0, 0) => format!("desired {} items, observed {}", wished.len(), real.len()),
        _ => format!("{missing} missing, {extra} extra"),
    }
}

fn show_path(path: &[&str]) -> String {
    let pointer: String = path.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect();
    cut(&printable(&pointer), MAX_PATH_CHARACTERS)
}

fn show_value(value: &Value) -> String {
    match value {
        Value::Null => "absent".to_owned(),
        Value::String(text) => format!("\"{}\"", cut(&printable(&without_userinfo(text)), MAX_VALUE_CHARACTERS)),
        Value::Array(items) => format!("{} items", items.len()),
        Value::Object(fields) => format!("an object of {} fields", fields.len()),
        number_or_boolean => number_or_boolean.to_string(),
    }
}

/// A string without control characters: a condition is printed on terminals.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '�' } else { letter }).collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A text in which every `scheme://user:password@host` has lost the part before the `@`.
fn without_userinfo(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|letter: char| letter.is_whitespace() || "/?#\"'".contains(letter)).unwrap_or(after.len());
        let authority = after.get(..end).unwrap_or_default();
        // A password may hold what ends an authority. What follows the colon of an honest one is a port.
        let is_cut_short = authority
            .split_once(':')
            .is_some_and(|(_, port)| port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()));
        let end = if is_cut_short && !authority.contains('@') {
            after.find(char::is_whitespace).unwrap_or(after.len())
        } else {
            end
        };
        let (authority, tail) = after.split_at(end);
        shown.push_str(before);
        shown.push_str("://");
        shown.push_str(authority.rsplit_once('@').map_or(authority, |(_, host)| host));
        rest = tail;
    }
    shown.push_str(rest);
    shown
}

fn is_redacted(path: &[&str], rules: &[Rule]) -> bool {
    let ruled = rules.iter().any(|rule| {
        let covered = rule.path.len() <= path.len() && rule.path.iter().zip(path).all(|(ours, key)| ours == key);
        // A redacted path below a field that differs as a whole hides that field too.
        let inside = rule.path.len() > path.len() && path.iter().zip(&rule.path).all(|(key, ours)| ours == key);
        rule.effect == RuleEffect::Redact && (covered || inside)
    });
    ruled || path.iter().any(|key| looks_secret(key))
}

/// Whether a text is itself a private key, or sets a password as connection strings do, whatever its field is called.
fn holds_secret(value: &Value) -> bool {
    let sets_secret = |text: &str| {
        text.split(|letter: char| letter.is_whitespace() || ";&?,".contains(letter))
            .filter_map(|part| part.split_once('='))
            .any(|(name, secret)| !secret.is_empty() && looks_secret(name))
    };
    value.as_str().is_some_and(|text| text.contains("PRIVATE KEY-----") || sets_secret(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::difference::differences;
    use proptest::prelude::*;
    use serde_json::json;

    fn sentence(desired: &Value, observed: &Value, rules: &[Rule]) -> String {
        describe(&differences(desired, observed), rules)
    }

    fn redact(path: &str) -> Rule {
        Rule { path: path.split('/').skip(1).map(str::to_owned).collect(), effect: RuleEffect::Redact }
    }

    #[test]
    fn differences_read_as_documented() {
        let cases = [
            (
                json!({"connectionLimit": 10, "login": true}),
                json!({"connectionLimit": 5, "login": false}),
                "2 fields differ: /connectionLimit desired 10, observed 5; /login desired true, observed false",
            ),
            (json!({"a": "x"}), json!({}), "1 field differs: /a desired \"x\", observed absent"),
            (
                json!({"env": ["a=1", "b=2"]}),
                json!({"env": ["a=1", "c=3"]}),
                "1 field differs: /env 1 missing, 1 extra",
            ),
            (json!({"l": [1, 2]}), json!({"l": [2, 1]}), "1 field differs: /l in another order"),
            (json!({"l": [1, 1]}), json!({"l": [1]}), "1 field differs: /l desired 2 items, observed 1"),
            (
                json!({"o": {"a": 1}}),
                json!({"o": [1, 2]}),
                "1 field differs: /o desired an object of 1 fields, observed 2 items",
            ),
            (
                json!({"db_Password": "hunter2"}),
                json!({"db_Password": "x"}),
                "1 field differs: /db_Password (redacted)",
            ),
            (
                json!({"url": "db://me:hunter2@host/x"}),
                json!({"url": "db://host/x"}),
                "1 field differs: /url desired \"db://host/x\", observed \"db://host/x\"",
            ),
        ];
        for (desired, observed, expected) in cases {
            assert_eq!(sentence(&desired, &observed, &[]), expected);
        }
    }

    #[test]
    fn a_redacted_path_hides_itself_and_what_holds_it() {
        let desired = json!({"a": {"b": "hunter2"}, "c": 1});
        for observed in [json!({"a": {"b": "x"}, "c": 1}), json!({"a": "hunter2", "c": 1}), json!({"c": 1})] {
            let text = sentence(&desired, &observed, &[redact("/a/b")]);
            assert!(text.contains(REDACTED) && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_text_that_sets_a_password_is_not_shown() {
        for secret in ["host=db password=hunter2", "Server=db;Pwd=hunter2;", "https://host/x?api_key=hunter2"] {
            let text = sentence(&json!({"dsn": secret}), &json!({"dsn": "x"}), &[]);
            assert!(text.contains(REDACTED) && !text.contains("hunter2"), "{text}");
        }
        let text = sentence(&json!({"query": "a=1&sort=token"}), &json!({"query": "b"}), &[]);
        assert!(text.contains("sort=token"), "{text}");
    }

    #[test]
    fn a_long_list_of_fields_is_cut() {
        let desired: Value =
            (0..20).map(|number| (format!("f{number:02}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
        let text = sentence(&desired, &json!({"x": 1}), &[]);
        assert!(text.starts_with("20 fields differ: /f00 ") && text.ends_with("; and 12 more"), "{text}");
    }

    proptest! {
        #[test]
        fn no_userinfo_survives(user in "[a-z]{1,8}", password in "[A-Z][A-Z0-9/#?]{7}", token in "[A-Z0-9]{8}") {
            let text = without_userinfo(&format!("see db://{user}:{password}@host/x and http://{token}@host:80/@path"));
            prop_assert!(!text.contains(&password) && !text.contains(&token), "{text}");
            prop_assert!(text.ends_with("http://host:80/@path"), "{text}");
        }

        #[test]
        fn a_field_is_short_and_printable(key in "\\PC{1,300}", value in "(?s).{0,300}") {
            let desired = json!({ key: value });
            let text = sentence(&desired, &json!({"other": 1}), &[]);
            prop_assert!(text.chars().count() < 300 && !text.chars().any(char::is_control));
        }
    }
}
