//! Finds the sentence of a refusal in a response body: at the usual places of JSON and XML, in the title of a page, or
//! in the first line of a text.

use drift_api::secrets::secret_texts::REDACTED;
use drift_api::secrets::session_names::names_credential;
use drift_language::{parse_json, parse_xml, without_entities};
use serde_json::{Map, Value};

/// Bytes of a body that is parsed. An error of an API has a few hundred.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Bytes of a body that is one JSON number or word.
const MAX_SCALAR_BYTES: usize = 32;

/// Values of such a body, with a map counting as nine.
const MAX_NODES: usize = 10_000;

/// Levels that are looked at: `Envelope.Body.Fault.Detail` has four.
const MAX_DEPTH: usize = 5;

/// Errors of a list that are named. A person fixes the first ones and looks again.
const MAX_ERRORS: usize = 3;

/// Keys of a sentence, in this order.
const SENTENCES: [&str; 10] = [
    "message",
    "error_description",
    "reason",
    "msg",
    "errorMessage",
    "error_message",
    "faultstring",
    "description",
    "Text",
    "#text",
];

/// Codes that say what is wrong with a token (RFC 6750, 3.1, and RFC 8628, 3.5). Another code that names a credential may
/// stand before its value.
const TOKEN_ERRORS: [&str; 2] = ["invalid_token", "expired_token"];

/// Keys of errors, in this order.
const ERRORS: [&str; 4] = ["error", "errors", "fault", "faults"];

/// Keys of what an error is in.
const WRAPPERS: [&str; 5] = ["ErrorResponse", "Response", "Envelope", "Body", "responseError"];

/// Keys of the field that an error is about.
const FIELDS: [&str; 5] = ["field", "path", "attribute", "param", "property"];

/// Returns the sentence in the body of an error.
pub(super) fn of_error(bytes: &[u8]) -> Option<String> {
    let text = text_of(bytes)?;
    match parsed(&text) {
        Some(value) => of_value(&value, 0),
        None if text.starts_with('<') => title(&text),
        // JSON with a mistake, or too long: its lines may be values.
        None if ["{", "[{", "[\""].iter().any(|start| text.starts_with(start)) => None,
        None => first_line(&text).map(str::to_owned),
    }
}

/// Returns the sentence of an error in the body of any other answer: only at the places of errors.
pub(super) fn of_answer(bytes: &[u8]) -> Option<String> {
    errors_of(parsed(&text_of(bytes)?)?.as_object()?, 0)
}

/// Returns the first line with a word.
pub(super) fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// Returns the text of a body. `None` for what is no text.
fn text_of(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes.get(..MAX_BODY_BYTES).unwrap_or(bytes));
    let text = text.trim_start_matches('\u{feff}').trim();
    (!text.contains('\0')).then(|| text.to_owned())
}

fn parsed(text: &str) -> Option<Value> {
    match text.chars().next()? {
        '{' | '[' | '"' => parse_json(text.as_bytes(), MAX_NODES).ok(),
        '<' => parse_xml(text.as_bytes(), &[], MAX_NODES).ok(),
        // `null` and numbers are JSON too.
        _ if text.len() <= MAX_SCALAR_BYTES => parse_json(text.as_bytes(), MAX_NODES).ok(),
        _ => None,
    }
}

/// Returns the title of a page for people.
fn title(page: &str) -> Option<String> {
    // In ASCII lower case, so that positions stay.
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let title = &page[start..start + lower[start..].find('<')?];
    let title = without_entities(title.trim());
    (!title.is_empty()).then_some(title)
}

fn of_value(value: &Value, depth: usize) -> Option<String> {
    match value {
        _ if depth > MAX_DEPTH => None,
        Value::String(text) => first_line(text).map(|_| text.clone()),
        Value::Array(items) => joined(items.iter().filter_map(|item| of_item(item, depth + 1))),
        Value::Object(fields) => of_object(fields, depth).or_else(|| of_fields(fields)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns the sentence of a map, if it has one at the usual places.
fn of_object(fields: &Map<String, Value>, depth: usize) -> Option<String> {
    if let Some(problem) = problem(fields, depth) {
        return Some(problem);
    }
    // In JSON-RPC and others, a text under `error` is a code, and the sentence is beside it.
    let code = text_at(fields, "error");
    let errors = || errors_of(fields, depth);
    for key in SENTENCES {
        let Some(said) = at(fields, key).and_then(|value| of_value(value, depth + 1)) else { continue };
        let is_code = matches!(key, "error_description" | "reason");
        return Some(match (code, is_code) {
            (Some(code), true) => before(code, &said),
            (None, _) => at(fields, "errors").and_then(|_| errors()).map_or(said.clone(), |more| before(&said, &more)),
            (Some(_), false) => said,
        });
    }
    errors().or_else(|| of_wrapped(fields, depth, of_object))
}

/// Returns `title: detail` of RFC 9457, or what there is of both.
fn problem(fields: &Map<String, Value>, depth: usize) -> Option<String> {
    let title = text_at(fields, "title");
    let detail = at(fields, "detail").and_then(|detail| of_value(detail, depth + 1));
    match (title, detail) {
        // NeutronError has both, and its detail is often a type.
        _ if at(fields, "message").is_some() => None,
        (Some(title), Some(detail)) => Some(before(title, &detail)),
        (title, detail) => detail.or_else(|| title.map(str::to_owned)),
    }
}

fn errors_of(fields: &Map<String, Value>, depth: usize) -> Option<String> {
    let mut found = ERRORS.iter().filter_map(|key| at(fields, key).and_then(|value| of_value(value, depth + 1)));
    found.next().or_else(|| of_wrapped(fields, depth, errors_of))
}

/// Looks into the map that an error is wrapped in.
fn of_wrapped(
    fields: &Map<String, Value>,
    depth: usize,
    look: fn(&Map<String, Value>, usize) -> Option<String>,
) -> Option<String> {
    let known = WRAPPERS.iter().find_map(|key| at(fields, key));
    let alone = || fields.values().next().filter(|_| fields.len() == 1);
    known.or_else(alone)?.as_object().filter(|_| depth < MAX_DEPTH).and_then(|inner| look(inner, depth + 1))
}

/// Returns the sentence of one error in a list, with the field that it is about.
fn of_item(item: &Value, depth: usize) -> Option<String> {
    let Some(fields) = item.as_object() else { return of_value(item, depth) };
    let said = of_object(fields, depth).or_else(|| text_at(fields, "code").map(str::to_owned));
    let place = at(fields, "loc").and_then(Value::as_array).and_then(|place| place.last()).and_then(Value::as_str);
    let field = place.or_else(|| FIELDS.iter().find_map(|key| text_at(fields, key)));
    match (said, field) {
        (Some(said), Some(field)) => Some(of_field(field, said)),
        (said, _) => said.or_else(|| of_fields(fields)),
    }
}

/// Returns the errors of a map from fields to texts: `name: has already been taken`.
fn of_fields(fields: &Map<String, Value>) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Option<Vec<_>> = items.iter().map(Value::as_str).collect();
            texts.filter(|texts| !texts.is_empty()).map(|texts| texts[..texts.len().min(MAX_ERRORS)].join(", "))
        }
        _ => None,
    };
    let is_list = fields.values().all(|value| value.is_array());
    let errors = || fields.iter().filter_map(|(name, value)| Some(of_field(name, text(value)?)));
    is_list.then(|| joined(errors())).flatten()
}

fn of_field(name: &str, said: String) -> String {
    if names_credential(name) { format!("{name}: {REDACTED}") } else { format!("{name}: {said}") }
}

/// Joins the first errors of a list.
fn joined(errors: impl Iterator<Item = String>) -> Option<String> {
    let errors: Vec<_> = errors.take(MAX_ERRORS).collect();
    (!errors.is_empty()).then(|| errors.join("; "))
}

/// Returns a short text before the sentence, unless it says the same. An error code such as `invalid_token` follows the
/// sentence, which would look like a secret behind it.
fn before(short: &str, said: &str) -> String {
    let code = short.trim_end_matches(['.', ':', ' ']);
    match said.starts_with(short) {
        true => said.to_owned(),
        false if TOKEN_ERRORS.contains(&code) => format!("{said} ({code})"),
        false => format!("{code}: {said}"),
    }
}

fn text_at<'f>(fields: &'f Map<String, Value>, key: &str) -> Option<&'f str> {
    at(fields, key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn at<'f>(fields: &'f Map<String, Value>, key: &str) -> Option<&'f Value> {
    fields.get(key).or_else(|| fields.iter().find_map(|(name, value)| name.eq_ignore_ascii_case(key).then_some(value)))
}
