//! Values as `explain` shows them, with secrets masked.

use drift_api::secrets::secret_names::is_named_like_a_secret;
use drift_api::secrets::secret_names::looks_secret;
use drift_api::secrets::secret_texts::{REDACTED, holds_secret, without_userinfo};
use drift_api::secrets::session_names::names_credential;
use drift_language::{ListKind, RulePlace, Target};
use serde_json::Value;

use drift_poller::engine::judgement::comparison::without_ignored;
use drift_poller::engine::judgement::description::Description;
use drift_poller::engine::judgement::difference::{Difference, find_differences, find_moved};
use drift_poller::engine::judgement::drift::Subject;

/// Differences that are shown one by one: as many as a person can page through.
const MAX_LINES: usize = 1_000;

/// The observation without the values that a condition hides too.
#[must_use]
pub fn observed(target: &Target, subject: Subject<'_>, observed: &Value) -> Value {
    let root = Some(target.compare.rules.root());
    match subject.credentials {
        Some(credentials) => masked(&credentials.values().conceal(observed, REDACTED), root),
        None => masked(observed, root),
    }
}

/// A value without what a condition would hide either: what rules redact at these places, texts whose names or content look
/// like a secret's, credentials in URLs.
#[must_use]
pub(super) fn masked(value: &Value, place: Option<RulePlace<'_>>) -> Value {
    mask(value, place, false, looks_secret)
}

/// A value of a request or an answer, without texts whose names or content look like a credential's.
#[must_use]
pub(super) fn masked_outside(value: &Value) -> Value {
    mask(value, None, false, names_credential)
}

fn mask(value: &Value, place: Option<RulePlace<'_>>, is_secret: bool, names: fn(&str) -> bool) -> Value {
    let is_scalar = !value.is_object() && !value.is_array();
    if place.is_some_and(|place| place.is_redacted() || (place.redacts_below() && is_scalar)) {
        return Value::from(REDACTED);
    }
    match value {
        Value::String(text) => Value::from(mask_text(text, place, is_secret, names)),
        Value::Array(items) => {
            let item = |(position, item): (usize, &Value)| {
                let below = place.map(|place| match place.list() {
                    ListKind::Ordered => place.item(position),
                    _ => place.any_item(),
                });
                let is_hidden = place.is_some_and(RulePlace::redacts_single_items);
                if is_hidden {
                    Value::from(REDACTED)
                } else {
                    mask(item, below, is_secret || is_named_like_a_secret(item), names)
                }
            };
            items.iter().enumerate().map(item).collect()
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let below = place.map(|place| place.field(name));
                (name.clone(), mask(value, below, is_secret || names(name), names))
            };
            Value::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

/// The text of a field of a form.
pub(super) fn masked_field(name: &str, text: &str) -> String {
    mask_text(text, None, names_credential(name), names_credential)
}

/// A text, and one that holds JSON from inside.
fn mask_text(text: &str, place: Option<RulePlace<'_>>, is_secret: bool, names: fn(&str) -> bool) -> String {
    if holds_secret(text) || (is_secret && !place.is_some_and(RulePlace::is_shown)) {
        return REDACTED.to_owned();
    }
    match serde_json::from_str::<Value>(text) {
        Ok(inner) if inner.is_object() || inner.is_array() => {
            let masked = mask(&inner, place.map(RulePlace::inside_text), is_secret, names);
            // Shown as it came, unless something in it is hidden.
            if masked == inner && is_all_of(&inner, text) { text.to_owned() } else { masked.to_string() }
        }
        _ => without_userinfo(text),
    }
}

/// Returns true if a text of JSON has nothing beside the value: a key that is written twice hides the first one.
fn is_all_of(value: &Value, text: &str) -> bool {
    let sorted = |text: &str| {
        let mut bytes: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        bytes.sort_unstable();
        bytes
    };
    sorted(&value.to_string()) == sorted(text)
}

/// The fields that differ, in the words of a condition, but more of them.
#[must_use]
pub fn differing(target: &Target, subject: Subject<'_>, observed: &Value) -> Vec<String> {
    let Ok(desired) = target.desired_of(subject.object) else { return Vec::new() };
    let mut description = Description::without(subject.credentials).with_room(MAX_LINES);
    let mut found = |difference: &Difference<'_, '_>| description.add(difference);
    let observed = without_ignored(target, subject.object, observed);
    if find_differences(&target.compare.rules, &desired, &observed, &mut found).is_err() {
        return Vec::new();
    }
    find_moved(target, subject.moved, &target.object_may.ignored(subject.object), &mut found);
    description.lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_language::fixtures::proxies::ruled;
    use serde_json::json;

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        let value = json!({"a": "x", "password": "hunter2", "tokens": {"b": "hunter2"}, "tokenLimit": 3,
            "list": [{"secret": ["hunter2"]}, "dsn user=me password=hunter2"]});
        let shown = masked(&value, None);
        assert!(!shown.to_string().contains("hunter2"), "{shown}");
        assert_eq!((&shown["a"], &shown["tokenLimit"]), (&json!("x"), &json!(3)));
        let hidden = [
            json!({"env": [{"name": "DB_PASSWORD", "value": "hunter2"}]}),
            json!({"url": "postgres://app:hunter2@db/x"}),
            json!({"config": "{\"password\":\"hunter2\",\"url\":\"http://a:hunter2@b\"}"}),
        ];
        for value in hidden {
            assert!(!masked(&value, None).to_string().contains("hunter2"), "{value}");
        }
    }

    #[test]
    fn a_text_that_holds_json_is_shown_as_it_came() {
        for text in ["{\"b\":2,\"a\":1}", "[ 1 ]", "{\"a\":1.0,\"u\":\"http://h/\"}", "a\tb\u{a0}"] {
            assert_eq!(masked(&json!({ "t": text }), None), json!({ "t": text }));
        }
        let twice = masked(&json!({"t": "{\"password\":\"hunter2\",\"password\":5}"}), None);
        assert_eq!(twice, json!({"t": "{\"password\":5}"}));
    }

    #[test]
    fn what_a_rule_redacts_is_masked_whatever_stands_there() {
        let target = ruled("{path: /config/seed, redact: true}, {path: /token, show: true}");
        let shown = |value: Value| masked(&value, Some(target.compare.rules.root())).to_string();
        for value in
            [json!({"config": {"seed": "hunter2"}}), json!({"config": "hunter2"}), json!({"config": {"seed": 42}})]
        {
            assert!(!shown(value.clone()).contains("hunter2") && !shown(value.clone()).contains("42"), "{value}");
        }
        assert_eq!(shown(json!({"token": "public", "name": "a"})), r#"{"name":"a","token":"public"}"#);
    }
}
