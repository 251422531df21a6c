//! Session credentials in the requests and answers of several steps, such as the cookie or the token of a log-in step.

use std::collections::BTreeSet;

use drift_api::secrets::secret_names::is_named_like_a_secret;
use drift_api::secrets::session_names::names_credential;
use drift_language::HttpRequest;
use http::header::CONTENT_TYPE;
use serde_json::Value;
use url::form_urlencoded;

/// Minimum characters of a value that is hidden wherever it occurs. A shorter one occurs by chance.
const MIN_CHARS: usize = 4;

/// Values beside tokens that say how to send them: `"token_type": "Bearer"`.
const SCHEMES: [&str; 2] = ["basic", "bearer"];

/// The media type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// Returns the session credentials of several steps: texts that the answers name like one, and texts that the answers
/// share with what was sent as a credential. Each answer is one as templates see it.
#[must_use]
pub fn session_values<'v>(
    answers: impl IntoIterator<Item = &'v Value>,
    sent: impl IntoIterator<Item = &'v String>,
) -> BTreeSet<String> {
    let (mut answered, mut found) = (BTreeSet::new(), BTreeSet::new());
    for answer in answers {
        each_text(answer, false, &mut |text, is_secret| {
            if is_secret {
                found.extend(forms(text));
            }
            answered.extend(long(text));
        });
    }
    for sent in sent {
        found.extend(answered.iter().filter(|text| sent.contains(**text)).copied());
        found.extend(forms(sent).filter(|form| answered.iter().any(|text| text.contains(form))));
    }
    found.into_iter().map(str::to_owned).collect()
}

/// Returns the texts in headers, query and fields of a request that are named like a credential.
#[must_use]
pub fn credentials_sent(request: &HttpRequest) -> BTreeSet<String> {
    let mut sent = BTreeSet::new();
    each_sent(request, &mut |text, is_secret| {
        if is_secret {
            sent.insert(text.to_owned());
        }
    });
    sent
}

/// Returns the decoded fields of a form; `None` for another body.
#[must_use]
pub fn form_fields(request: &HttpRequest) -> Option<form_urlencoded::Parse<'_>> {
    let media = request.headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let is_form = media.split(';').next()?.trim().eq_ignore_ascii_case(FORM);
    request.body.as_ref().filter(|_| is_form).map(|body| form_urlencoded::parse(body))
}

/// The text, the credential behind a scheme (`Bearer …`), and the value of a cookie.
fn forms(text: &str) -> impl Iterator<Item = &str> {
    let cookie = text.split(';').next().and_then(|pair| pair.split_once('=')).map(|(_, value)| value);
    let last = text.rsplit(' ').next();
    std::iter::once(text).chain(cookie).chain(last).filter_map(long)
}

fn long(text: &str) -> Option<&str> {
    let is_scheme = |text: &str| SCHEMES.iter().any(|scheme| text.eq_ignore_ascii_case(scheme));
    Some(text.trim()).filter(|text| text.chars().count() >= MIN_CHARS && !is_scheme(text))
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
        each_text(&json, false, &mut |text, is_secret| visit(text, is_secret));
    }
}

/// Visits the texts of a value, and if they have the name of a credential or are below one.
fn each_text<'v>(value: &'v Value, is_secret: bool, visit: &mut dyn FnMut(&'v str, bool)) {
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
