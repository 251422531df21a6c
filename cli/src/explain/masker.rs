//! The mask over everything that `explain` shows: known secrets, places that rules redact, and names and texts that
//! look like a credential's.

use std::collections::BTreeSet;

use drift_api::secrets::secret_lines::redacted;
use drift_api::secrets::secret_names::is_named_like_a_secret;
use drift_api::secrets::secret_names::looks_secret;
use drift_api::secrets::secret_texts::{REDACTED, holds_secret, without_userinfo};
use drift_api::secrets::session_names::{names_credential, sets_session};
use drift_language::{ListKind, RulePlace, SecretValues, Target};
use serde_json::Value;
use url::{Url, form_urlencoded};

use drift_poller::engine::judgement::comparison::without_ignored;
use drift_poller::engine::judgement::description::Description;
use drift_poller::engine::judgement::difference::{Change, Difference, Segment, find_differences, find_moved};
use drift_poller::engine::judgement::drift::Subject;

use super::markup::without_secret_elements;

/// Differences that are shown one by one: as many as a person can page through.
const MAX_LINES: usize = 1_000;

/// Hides secret values in the texts of one place.
#[derive(Clone, Copy)]
pub(super) struct Masker<'m> {
    /// Credentials of the read.
    credentials: Option<&'m SecretValues>,
    /// Session credentials in the answers of the read.
    sessions: Option<&'m SecretValues>,
    /// Rules of the target at the root of the value.
    rules: Option<RulePlace<'m>>,
    /// Returns true for a name whose value is hidden.
    names: fn(&str) -> bool,
}

impl<'m> Masker<'m> {
    /// For values of an object, and for an observation: what a condition would hide too.
    pub(super) fn of_object(rules: Option<RulePlace<'m>>) -> Self {
        Self { credentials: None, sessions: None, rules, names: looks_secret }
    }

    /// For requests and answers, whose names tell a session too.
    pub(super) fn outside() -> Self {
        Self { names: names_credential, ..Self::of_object(None) }
    }

    /// Also hides the credentials of a read.
    pub(super) fn hiding_credentials(self, subject: Subject<'m>) -> Self {
        Self { credentials: subject.credentials.map(|credentials| credentials.values()), ..self }
    }

    /// Also hides these session credentials.
    pub(super) fn hiding_sessions(self, sessions: &'m SecretValues) -> Self {
        Self { sessions: Some(sessions), ..self }
    }

    fn values(&self) -> impl Iterator<Item = &'m SecretValues> {
        self.credentials.into_iter().chain(self.sessions)
    }

    /// Masks a value.
    pub(super) fn json(&self, value: &Value) -> Value {
        let without = |value: Value, hidden: &SecretValues| hidden.conceal(&value, REDACTED);
        self.mask(&self.values().fold(value.clone(), without), self.rules, false)
    }

    /// Masks the value of a form's field.
    pub(super) fn field(&self, name: &str, text: &str) -> String {
        self.mask_text(&self.line(text), None, (self.names)(name))
    }

    /// Masks a line that contains one of the known values.
    pub(super) fn line(&self, line: &str) -> String {
        if self.values().any(|hidden| hidden.occur_in_line(line)) { REDACTED.to_owned() } else { line.to_owned() }
    }

    /// Masks an answer that contains a credential of the read.
    pub(super) fn answer(&self, text: &str) -> String {
        Self { sessions: None, ..*self }.line(text)
    }

    /// Masks the lines of a text, and the elements of markup.
    pub(super) fn text(&self, text: &str) -> String {
        let line = |line: &str| match holds_secret(line) || sets_session(line) {
            true => REDACTED.to_owned(),
            false => self.line(&without_userinfo(&redacted(line, 1).0)),
        };
        without_secret_elements(text).split('\n').map(line).collect::<Vec<_>>().join("\n")
    }

    /// Masks the value of a header; `None` if it is no text.
    pub(super) fn header(&self, value: Option<&str>) -> String {
        let is_shown = |text: &&str| !holds_secret(text) && !sets_session(text);
        self.line(value.filter(is_shown).unwrap_or(REDACTED))
    }

    /// Masks a URL as it is sent: values of its query, and segments of its path.
    pub(super) fn url(&self, url: &Url) -> String {
        let is_known = |text: &str| self.values().any(|hidden| hidden.occur_in_line(text));
        let pair = |pair: &str| match form_urlencoded::parse(pair.as_bytes()).next() {
            Some((name, value)) if ((self.names)(&name) && !value.is_empty()) || is_known(&value) => {
                format!("{}={REDACTED}", pair.split('=').next().unwrap_or_default())
            }
            _ => pair.to_owned(),
        };
        let query = url.query().map(|query| query.split('&').map(pair).collect::<Vec<_>>().join("&"));
        let mut shown = url.clone();
        shown.set_query(query.as_deref());
        let path: Vec<_> = url.path().split('/').map(|segment| self.line(segment)).collect();
        shown.set_path(&path.join("/"));
        shown.to_string()
    }

    fn mask(&self, value: &Value, place: Option<RulePlace<'_>>, is_secret: bool) -> Value {
        let is_scalar = !value.is_object() && !value.is_array();
        if place.is_some_and(|place| place.is_redacted() || (place.redacts_below() && is_scalar)) {
            return Value::from(REDACTED);
        }
        match value {
            Value::String(text) => Value::from(self.mask_text(text, place, is_secret)),
            Value::Array(items) => {
                let item = |(position, item): (usize, &Value)| {
                    let below = place.map(|place| match place.list() {
                        ListKind::Ordered => place.item(position),
                        _ => place.any_item(),
                    });
                    match place.is_some_and(RulePlace::redacts_single_items) {
                        true => Value::from(REDACTED),
                        false => self.mask(item, below, is_secret || is_named_like_a_secret(item)),
                    }
                };
                items.iter().enumerate().map(item).collect()
            }
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| {
                    let below = place.map(|place| place.field(name));
                    (name.clone(), self.mask(value, below, is_secret || (self.names)(name)))
                };
                Value::Object(fields.iter().map(field).collect())
            }
            other => other.clone(),
        }
    }

    /// Masks a text, and one that holds JSON from inside.
    fn mask_text(&self, text: &str, place: Option<RulePlace<'_>>, is_secret: bool) -> String {
        if holds_secret(text) || (is_secret && !place.is_some_and(RulePlace::is_shown)) {
            return REDACTED.to_owned();
        }
        match serde_json::from_str::<Value>(text) {
            Ok(inner) if inner.is_object() || inner.is_array() => {
                let masked = self.mask(&inner, place.map(RulePlace::inside_text), is_secret);
                // Shown as it came, unless something in it is hidden.
                if masked == inner && is_all_of(&inner, text) { text.to_owned() } else { masked.to_string() }
            }
            _ => without_userinfo(text),
        }
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

/// The observation without the values that a condition hides too.
#[must_use]
pub fn observed(target: &Target, subject: Subject<'_>, observed: &Value) -> Value {
    Masker::of_object(Some(target.compare.rules.root())).hiding_credentials(subject).json(observed)
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

/// The fields that differ, without any value: as JSON Pointers up to the first item of a list. A field that the desired
/// state lacks is named by the one above it.
pub(super) fn differing_names(target: &Target, subject: Subject<'_>, observed: &Value) -> Vec<String> {
    let Ok(desired) = target.desired_of(subject.object) else { return Vec::new() };
    let mut names = BTreeSet::new();
    let mut found = |difference: &Difference<'_, '_>| {
        let is_unexpected = matches!(difference.change, Change::Unexpected(_));
        let known = difference.path.len().saturating_sub(usize::from(is_unexpected));
        let fields = difference.path.iter().take(known).map_while(|segment| match segment {
            Segment::Field(name) => Some(format!("/{name}")),
            _ => None,
        });
        let name = Some(fields.collect::<String>()).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| "/".to_owned());
        // The author of a plan wrote the names: a name hidden because a credential contains it would confirm a guess.
        names.insert(Masker::outside().line(&name));
    };
    let observed = without_ignored(target, subject.object, observed);
    if find_differences(&target.compare.rules, &desired, &observed, &mut found).is_err() {
        return Vec::new();
    }
    find_moved(target, subject.moved, &target.object_may.ignored(subject.object), &mut found);
    names.into_iter().collect()
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
        let shown = Masker::of_object(None).json(&value);
        assert!(!shown.to_string().contains("hunter2"), "{shown}");
        assert_eq!((&shown["a"], &shown["tokenLimit"]), (&json!("x"), &json!(3)));
        let hidden = [
            json!({"env": [{"name": "DB_PASSWORD", "value": "hunter2"}]}),
            json!({"url": "postgres://app:hunter2@db/x"}),
            json!({"config": "{\"password\":\"hunter2\",\"url\":\"http://a:hunter2@b\"}"}),
        ];
        for value in hidden {
            assert!(!Masker::of_object(None).json(&value).to_string().contains("hunter2"), "{value}");
        }
    }

    #[test]
    fn names_of_fields_have_no_observed_key() {
        let rules = "{path: /map, extra: drift}, {path: /list, list: map, keys: [id]}, {path: '', extra: drift}";
        let target = ruled(rules);
        let object =
            json!({"metadata": {}, "spec": {"a": 1, "map": {"own": 1}, "list": [{"id": "own", "b": {"c": 1}}]}});
        let names = |observed: Value| differing_names(&target, Subject::from(&object), &observed);
        let list = |id: &str, c: i64| json!([{"id": id, "b": {"c": c}}]);
        for (observed, expected) in [
            (json!({"a": 1, "map": {"own": 1}, "list": list("own", 1)}), &[][..]),
            (json!({"a": 2, "map": {"own": 1}, "list": list("own", 1)}), &["/a"]),
            (json!({"a": 1, "map": {"own": 1, "alice": 1}, "list": list("own", 1)}), &["/map"]),
            (json!({"a": 1, "map": {"own": 2}, "list": list("own", 1)}), &["/map/own"]),
            (json!({"a": 1, "map": {"own": 1}, "list": list("own", 2)}), &["/list"]),
            (json!({"a": 1, "map": {"own": 1}, "list": list("alice", 1)}), &["/list"]),
            (json!({"a": 1, "map": {"own": 1}, "list": list("own", 1), "alice": 1}), &["/"]),
        ] {
            assert_eq!(names(observed.clone()), expected, "{observed}");
        }
    }

    #[test]
    fn a_known_value_is_hidden_in_every_form() {
        let known: SecretValues = [("session".to_owned(), "canary-17".to_owned())].into_iter().collect();
        let masker = Masker::outside().hiding_sessions(&known);
        let url = Url::parse("https://h/canary-17/x?page=canary-17&a=b").unwrap();
        for (shown, expected) in [
            (masker.json(&json!({"a": "canary-17", "b": 1})).to_string(), r#"{"a":"(redacted)","b":1}"#),
            (masker.field("a", "canary-17"), REDACTED),
            (masker.line("go on at canary-17"), REDACTED),
            (masker.text("<a>\n<b>canary-17</b>\n</a>"), "<a>\n(redacted)\n</a>"),
            (masker.header(Some("canary-17")), REDACTED),
            (masker.url(&url), "https://h/(redacted)/x?page=(redacted)&a=b"),
            (
                masker.answer("only a credential of the read hides all: canary-17"),
                "only a credential of the read hides all: canary-17",
            ),
        ] {
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn a_query_is_shown_as_it_is_sent() {
        let url = Url::parse("https://h/x?api_key=hunter2&zone=a%20b&tagging").unwrap();
        assert_eq!(Masker::outside().url(&url), "https://h/x?api_key=(redacted)&zone=a%20b&tagging");
    }

    #[test]
    fn a_text_that_holds_json_is_shown_as_it_came() {
        for text in ["{\"b\":2,\"a\":1}", "[ 1 ]", "{\"a\":1.0,\"u\":\"http://h/\"}", "a\tb\u{a0}"] {
            assert_eq!(Masker::of_object(None).json(&json!({ "t": text })), json!({ "t": text }));
        }
        let twice = Masker::of_object(None).json(&json!({"t": "{\"password\":\"hunter2\",\"password\":5}"}));
        assert_eq!(twice, json!({"t": "{\"password\":5}"}));
    }

    #[test]
    fn what_a_rule_redacts_is_masked_whatever_stands_there() {
        let target = ruled("{path: /config/seed, redact: true}, {path: /token, show: true}");
        let shown = |value: Value| Masker::of_object(Some(target.compare.rules.root())).json(&value).to_string();
        for value in
            [json!({"config": {"seed": "hunter2"}}), json!({"config": "hunter2"}), json!({"config": {"seed": 42}})]
        {
            assert!(!shown(value.clone()).contains("hunter2") && !shown(value.clone()).contains("42"), "{value}");
        }
        assert_eq!(shown(json!({"token": "public", "name": "a"})), r#"{"name":"a","token":"public"}"#);
    }
}
