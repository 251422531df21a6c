//! Session credentials in the answers of a read, such as the cookie or the token of a log-in step.

use std::collections::BTreeSet;
use std::iter::repeat;

use drift_api::requests::http_request::HttpRequest;
use drift_api::secrets::session_names::names_credential;
use drift_language::{SecretValues, Source, Target};
use drift_poller::engine::judgement::description::is_named_like_a_secret;
use drift_systems::{Answer, RecordedExchange};
use serde_json::Value;

use crate::explain::request_body::form_fields;

/// Minimum characters of a value that is hidden wherever it occurs. A shorter one occurs by chance.
const MIN_CHARS: usize = 4;

/// Returns the session credentials of a read: texts that its answers name like one, and texts that its answers share
/// with headers, query keys and fields of its requests that are named like one.
pub(in crate::explain) fn session_values(target: &Target, exchanges: &[RecordedExchange]) -> SecretValues {
    let Source::Http(read) = &target.read.source else { return SecretValues::default() };
    let formats = read.steps().map(|step| &step.format).chain(repeat(&read.first.format));
    let answers = exchanges.iter().zip(formats);
    let answers = answers.filter_map(|(exchange, format)| Answer::of(exchange.reply.as_ref()?, format).ok());
    let (mut answered, mut found) = (BTreeSet::new(), BTreeSet::new());
    for answer in answers {
        each_text(&answer.variable, false, &mut |text, is_secret| {
            if is_secret {
                found.extend(forms(text));
            }
            answered.extend(long(text));
        });
    }
    for exchange in exchanges {
        each_sent(&exchange.request, &mut |sent, is_secret| {
            let is_shared = |text: &&String| sent.contains(text.as_str());
            if is_secret {
                found.extend(answered.iter().filter(is_shared).cloned());
                found.extend(forms(sent).filter(|form| answered.iter().any(|text| text.contains(form))));
            }
        });
    }
    found.into_iter().map(|text| (text.clone(), text)).collect()
}

/// The text, the credential behind a scheme (`Bearer …`), and the value of a cookie.
fn forms(text: &str) -> impl Iterator<Item = String> {
    let cookie = text.split(';').next().and_then(|pair| pair.split_once('=')).map(|(_, value)| value);
    let last = text.rsplit(' ').next();
    std::iter::once(text).chain(cookie).chain(last).filter_map(long)
}

fn long(text: &str) -> Option<String> {
    let text = text.trim();
    (text.chars().count() >= MIN_CHARS).then(|| text.to_owned())
}

/// Visits the headers, query and fields of a request, and if their names are a credential's.
fn each_sent(request: &HttpRequest, visit: &mut dyn FnMut(&str, bool)) {
    for (name, value) in &*request.headers {
        visit(value.to_str().unwrap_or_default(), names_credential(name.as_str()));
    }
    for (name, value) in request.url.query_pairs().chain(form_fields(request).into_iter().flatten()) {
        visit(&value, names_credential(&name));
    }
    if let Some(json) = request.body.as_ref().and_then(|body| serde_json::from_slice(body).ok()) {
        each_text(&json, false, visit);
    }
}

/// Visits the texts of a value, and if they have the name of a credential or are below one.
fn each_text(value: &Value, is_secret: bool, visit: &mut dyn FnMut(&str, bool)) {
    match value {
        Value::String(text) => visit(text, is_secret),
        Value::Array(items) => {
            items.iter().for_each(|item| each_text(item, is_secret || is_named_like_a_secret(item), visit));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| each_text(field, is_secret || names_credential(name), visit));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
