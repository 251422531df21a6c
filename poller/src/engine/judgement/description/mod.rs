//! Describes a list of differences in one sentence for people, without secrets and with bounded length.
//!
//! The sentence appears in a condition, in Events and in logs, which every user with read access sees.

mod secrecy;
mod texts;
mod values;

use drift_api::printable::printable;
use drift_api::secrets::secret_names::is_named_like_a_secret;
use drift_api::secrets::secret_texts::REDACTED;
use drift_language::RulePlace;
use serde_json::Value;

use self::secrecy::{is_hidden_key, is_hidden_text, names_secret};
use self::texts::{show_text, show_texts};
use self::values::{cut_path, show_item, show_value};
use crate::engine::judgement::credentials::Credentials;
use crate::engine::judgement::difference::{Change, Difference, Key, Segment};

/// Fields named before "and N more": a person fixes the first ones and looks again.
const MAX_FIELDS: usize = 8;
/// Maximum bytes of a key that is shown without quotes.
const MAX_KEY_BYTES: usize = 64;

/// Description of a drift. It keeps the first differences and counts the others.
#[derive(Debug)]
pub struct Description<'c> {
    credentials: Option<&'c Credentials<'c>>,
    lines: Vec<String>,
    room: usize,
    count: usize,
    rule: Option<&'static str>,
}

impl<'c> Description<'c> {
    /// Creates the description for a condition. It contains none of the credentials.
    #[must_use]
    pub const fn without(credentials: Option<&'c Credentials<'c>>) -> Self {
        Self { credentials, lines: Vec::new(), room: MAX_FIELDS, count: 0, rule: None }
    }

    /// Returns the description with room for this number of differences.
    #[must_use]
    pub fn with_room(self, room: usize) -> Self {
        Self { room, ..self }
    }

    /// Adds a difference to the description.
    pub fn add(&mut self, difference: &Difference<'_, '_>) {
        self.count += 1 + difference.more;
        if self.lines.len() < self.room {
            let line = describe(difference, self.credentials);
            // A rule that fits would show how a hidden value differs.
            if self.rule.is_none() && !line.contains(REDACTED) {
                self.rule = rule_for(difference);
            }
            self.lines.push(line);
        }
    }

    /// Returns the rule of `compare` that would end the first difference for which there is one.
    #[must_use]
    pub const fn rule(&self) -> Option<&'static str> {
        self.rule
    }

    /// Returns the sentence, for example `2 fields differ: /a desired 10, observed 5; /b desired true, observed
    /// absent`; `None` without differences.
    #[must_use]
    pub fn sentence(self) -> Option<String> {
        let count = self.count;
        let head = if count == 1 { "1 field differs".to_owned() } else { format!("{count} fields differ") };
        (count > 0).then(|| format!("{head}: {}", self.lines().join("; ")))
    }

    /// Returns a line for each kept difference, and one that counts the others.
    #[must_use]
    pub fn lines(mut self) -> Vec<String> {
        let more = self.count - self.lines.len();
        if more > 0 {
            self.lines.push(format!("and {more} more"));
        }
        self.lines
    }
}

/// Returns the rule that would end a difference which consists of another form of the same value.
fn rule_for(difference: &Difference<'_, '_>) -> Option<&'static str> {
    match &difference.change {
        Change::Value { desired, observed } => {
            let (place, observed) = (difference.place, observed.unwrap_or(&Value::Null));
            place.missing_empty(desired, observed).or_else(|| place.missing_form(desired, observed))
        }
        Change::Unexpected(value) if matches!(difference.path.last(), Some(Segment::Field(_))) => {
            difference.place.missing_empty(&Value::Null, value)
        }
        Change::Order => Some("list: set"),
        _ => None,
    }
}

/// Describes a single difference, without credentials.
fn describe(difference: &Difference<'_, '_>, credentials: Option<&Credentials<'_>>) -> String {
    let line = describe_difference(difference);
    match credentials.filter(|credentials| credentials.occur_in(difference, &describe_observed(difference))) {
        Some(credentials) => without_values(difference.path, credentials),
        None => line,
    }
}

/// Describes the path of a difference without its values, because the response repeats a credential.
fn without_values(path: &[Segment<'_>], credentials: &Credentials<'_>) -> String {
    match show_path(path) {
        path if credentials.values().occur_in_line(&path) => REDACTED.to_owned(),
        path => format!("{path} {REDACTED}"),
    }
}

/// Describes the observed part of a difference. It omits names that occur only in the object, such as the last one on
/// the path to an absent field.
fn describe_observed(difference: &Difference<'_, '_>) -> String {
    let path = difference.path;
    match &difference.change {
        Change::Unexpected(_) => describe_difference(difference),
        Change::Value { desired, observed: Some(value) } => {
            let shown = show_both(desired, Some(value), false).map(|[_, observed]| observed).unwrap_or_default();
            format!("{} {shown}", show_path(path))
        }
        Change::Value { observed: None, .. } | Change::Missing(_) => show_path(&path[..path.len().saturating_sub(1)]),
        Change::Repeated(_) | Change::Moved | Change::Order | Change::Length { .. } => show_path(path),
    }
}

fn describe_difference(difference: &Difference<'_, '_>) -> String {
    let Difference { path, place, change, .. } = difference;
    let is_secret = names_secret(path);
    let text = match change {
        Change::Value { desired, observed } => describe_change(place, is_secret, desired, *observed),
        Change::Missing(item) => describe_element("missing", place, is_secret, path, item),
        Change::Unexpected(item) => describe_element("unexpected", place, is_secret, path, item),
        Change::Repeated(2) => "observed twice".to_owned(),
        Change::Repeated(times) => format!("observed {times} times"),
        Change::Moved => "changed".to_owned(),
        Change::Order if place.is_redacted() || place.redacts_below() => REDACTED.to_owned(),
        Change::Order => "in another order".to_owned(),
        Change::Length { desired, observed } => format!("desired {desired} items, observed {observed}"),
    };
    format!("{} {text}", show_path(path))
}

fn describe_change(place: &RulePlace<'_>, is_secret: bool, desired: &Value, observed: Option<&Value>) -> String {
    let is_text_hidden = |value: &Value| value.as_str().is_some_and(|text| is_hidden_text(place, text, is_secret));
    // A text in place of a map or a list may contain its secrets.
    let is_container = |value: &Value| value.is_object() || value.is_array();
    let is_unlike = observed.is_some_and(|real| is_container(desired) != is_container(real));
    let is_hidden =
        place.is_redacted() || place.redacts_below() || is_text_hidden(desired) || observed.is_some_and(is_text_hidden);
    if is_hidden {
        return REDACTED.to_owned();
    }
    match show_both(desired, observed, is_unlike) {
        Some([expected, real]) => format!(
            "desired {expected}{}, observed {real}{}",
            missed_type(place, desired),
            observed.map(|real| missed_type(place, real)).unwrap_or_default()
        ),
        None => REDACTED.to_owned(),
    }
}

/// Returns both values as they are shown. `None` if they differ only in what is hidden.
fn show_both(desired: &Value, observed: Option<&Value>, is_unlike: bool) -> Option<[String; 2]> {
    if let (Value::String(desired), Some(Value::String(observed))) = (desired, observed) {
        return show_texts(desired, observed);
    }
    let show = |value: &Value| if is_unlike && value.is_string() { "a text".to_owned() } else { show_value(value) };
    Some([show(desired), observed.map_or_else(|| "absent".to_owned(), show)])
}

/// Returns ` (no time)` for a value that is not of the type that a rule compares.
fn missed_type(place: &RulePlace<'_>, value: &Value) -> String {
    place.type_missed_by(value).map(|missed| format!(" (no {missed})")).unwrap_or_default()
}

/// Returns text such as `missing "bob"`. An item that its keys already identify is not repeated.
fn describe_element(word: &str, place: &RulePlace<'_>, is_secret: bool, path: &[Segment<'_>], item: &Value) -> String {
    match path.last() {
        Some(Segment::Keyed { .. }) => word.to_owned(),
        _ => format!("{word} {}", show_item(item, place, is_secret || is_named_like_a_secret(item))),
    }
}

/// Returns a JSON Pointer in which an item of a keyed list appears as `[name=www]` after its list. Ambiguous names, and
/// keys that are no plain words, are quoted like in JSON.
fn show_path(path: &[Segment<'_>]) -> String {
    let mut shown = String::new();
    for segment in path {
        match segment {
            Segment::Field(name) => {
                shown.push('/');
                shown.push_str(&show_name(name));
            }
            Segment::Item { position, .. } => shown.push_str(&format!("/{position}")),
            Segment::Keyed { keys, .. } => {
                let parts: Vec<_> = keys.iter().map(show_key).collect();
                shown.push_str(&format!("[{}]", parts.join(",")));
            }
        }
    }
    if shown.is_empty() { "/".to_owned() } else { cut_path(&printable(&shown)) }
}

fn show_name(name: &str) -> String {
    let escaped = name.replace('~', "~0").replace('/', "~1");
    if escaped.contains(['[', ']', '"']) { Value::from(escaped).to_string() } else { escaped }
}

fn show_key(key: &Key<'_>) -> String {
    let value = match key.value {
        _ if is_hidden_key(key) => REDACTED.to_owned(),
        Value::String(text) if is_plain_word(text) => text.clone(),
        Value::String(text) => format!("\"{}\"", show_text(text).replace('"', "\\\"")),
        value => show_value(value),
    };
    format!("{}={value}", show_name(key.name))
}

/// Returns true if a text is unambiguous without quotes.
fn is_plain_word(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    begins && text.len() <= MAX_KEY_BYTES && text.chars().all(is_letter) && !matches!(text, "true" | "false" | "null")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
