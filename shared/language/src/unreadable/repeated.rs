//! Finds a secret's mask in the body of a write before it is sent.
//!
//! The body repeats an answer where a field that no read gives back has the same value in both. The place of a field of
//! `writeOnly` in the body is not known, so its path may begin anywhere. Another write shows the place of its field.

use drift_api::secrets::secret_names::looks_secret;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::{UnreadableField, pointer, unreadable_fields};
use crate::cel::SecretValues;
use crate::systems::Destination;
use crate::systems::http::correct_step::HttpStep;
use crate::systems::http::request::body::Body;
use crate::target::Target;

/// Runs of letters that APIs show in place of a secret or of a part of it.
const MASKING: &[&str] = &["***", "•••", "●●●"];

/// Words that APIs show in place of a secret, in brackets or alone.
const MASKS: &[&str] = &["encrypted", "hidden", "masked", "omitted", "redacted", "sensitive", "sensitivevalue"];

impl Target {
    /// Returns the reason if the body of a write repeats what an answer gave for a field that no read gives back, or a
    /// mask in a field with the name of a secret. `sent` is the rendered body, and `answers` those of earlier steps.
    /// The reason names nothing of an answer.
    #[must_use]
    pub fn repeated_answer(
        &self,
        step: &HttpStep,
        sent: &[u8],
        answers: &Value,
        secrets: &SecretValues,
    ) -> Option<String> {
        let Some(Destination::Http(http)) = &self.correct.destination else { return None };
        let body = match step.request.body.as_ref().filter(|_| step.request.may_vary() || step.for_each.is_some())? {
            Body::Json(_) => serde_json::from_slice(sent).ok()?,
            Body::Form(_) => {
                let pairs =
                    form_urlencoded::parse(sent).map(|(name, value)| (name.into_owned(), value.into_owned().into()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            Body::Text(_) | Body::Xml(_) | Body::Raw(_) => return None,
        };
        let answers = || answers.as_object().into_iter().flat_map(Map::values).filter_map(|answer| answer.get("body"));
        let repeats = |path: &[String], sent: Vec<&Value>| {
            let mut sent = sent.into_iter().filter(|value| !secrets.occur_in(value));
            sent.any(|value| answers().any(|answer| found_at(answer, path).contains(&value)))
        };
        let is_own = |secret: &str| self.compare.write_only.iter().any(|field| field.secret == secret);
        let is_repeated = |field: &UnreadableField| match field.is_declared {
            true => repeats(&field.path, found_at(&body, &field.path)),
            false => repeats(&field.path, value_at(&body, &field.path).into_iter().collect()),
        };
        let unread = unreadable_fields(&self.compare, None, http);
        let field = unread.iter().find(|field| is_own(&field.secret) && is_repeated(field));
        if let Some(field) = field {
            return Some(format!(
                "the body repeats what an answer gives for {}, which no read gives back: set it from its Secret or leave it out",
                pointer(&field.path)
            ));
        }
        let mut names = Vec::new();
        secret_names(&body, &mut names);
        let is_masked = names.into_iter().map(|name| [name]).any(|path| {
            let masks = found_at(&body, &path).into_iter().filter(|value| is_mask(value));
            repeats(&path, masks.collect())
        });
        is_masked.then(|| {
            "the body repeats a mask that an answer shows in place of a secret: set the field or leave it out"
                .to_owned()
        })
    }
}

/// Returns the values at a path that may begin at any map of the value.
fn found_at<'v>(value: &'v Value, path: &[String]) -> Vec<&'v Value> {
    let here = value_at(value, path);
    let below: Vec<&Value> = match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    here.into_iter().chain(below.into_iter().flat_map(|value| found_at(value, path))).collect()
}

fn value_at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.as_object()?.get(name))
}

/// Collects the names of fields that look like those of secrets.
fn secret_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if looks_secret(name) && !names.contains(name) {
                    names.push(name.clone());
                }
                secret_names(field, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| secret_names(item, names)),
        _ => {}
    }
}

/// Returns true if a value looks like a mask.
fn is_mask(value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    let word: String = text.chars().filter(|letter| letter.is_alphabetic()).flat_map(char::to_lowercase).collect();
    MASKING.iter().any(|run| text.contains(run)) || MASKS.contains(&word.as_str())
}
