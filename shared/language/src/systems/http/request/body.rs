//! The body of a request: a tree sent as JSON, a form, a text, an XML document, or bytes.

use http::HeaderValue;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::cel::{
    EvaluationError, Expression, Expressions, Scope, Site, TemplateError, TextTemplate, ValueTemplate, Variables,
};
use crate::section::{Section, any, text, typed};
use crate::systems::http::request::kind::RequestKind;
use crate::yaml::{Content, Node, Reader, expression, read_value};

/// The error for a JSON tree written as a text.
const JSON_AS_TEXT: &str = "a text that begins like JSON, which is sent as one JSON string: write the tree itself (body: {a: \"${desired.a}\"}), or \
                            `text` in place of `body` with a header content-type: application/json";

/// The error for a value that no form can carry.
const NO_FIELD: &str = "a field of a form is a text, a number, true or false, or a list of them";

/// The error for fields of a next page that have no place in the request.
const NO_FIELDS: &str = "next gives fields, and the body of the request has none";

/// The body of a request.
#[derive(Debug, Section)]
#[section(context = RequestKind, optional)]
pub enum Body {
    /// Sent as JSON.
    #[key(any(json(context.scope())), name = "body")]
    Json(ValueTemplate),
    /// Sent as a form, in place of body. A list repeats its key.
    #[key(typed(&["object", "string"], form_tree(context.scope())))]
    Form(ValueTemplate),
    /// Sent as it is, in place of body.
    #[key(text(whole_text(context.scope(), TextTemplate::parse)))]
    Text(TextTemplate),
    /// Sent as XML, in place of body. Values are escaped.
    #[key(text(whole_text(context.scope(), TextTemplate::parse_xml)))]
    Xml(TextTemplate),
    /// Bytes, in place of body: ${base64.decode(…)}.
    // Raw bytes come from responses.
    #[key(text(expression(context.scope())), only = context.is_write())]
    Raw(Expression),
}

impl Body {
    /// Returns the default content type. `None` for raw bytes, whose type only the target knows.
    #[must_use]
    pub const fn content_type(&self) -> Option<HeaderValue> {
        Some(HeaderValue::from_static(match self {
            Self::Raw(_) => return None,
            Self::Json(_) => "application/json",
            Self::Form(_) => "application/x-www-form-urlencoded",
            Self::Text(_) => "text/plain; charset=utf-8",
            Self::Xml(_) => "application/xml",
        }))
    }

    /// Renders the bytes to send.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated, or its value has no such form.
    pub fn render(&self, variables: &Variables<'_>) -> Result<Vec<u8>, EvaluationError> {
        match self {
            Self::Json(tree) => {
                let value = tree.render(variables)?;
                serde_json::to_vec(&value).map_err(|_| tree.site().error("the body has no JSON form"))
            }
            Self::Form(tree) => form(&tree.render(variables)?).map_err(|cause| tree.site().error(cause)),
            Self::Text(text) | Self::Xml(text) => text.render(variables).map(String::into_bytes),
            Self::Raw(bytes) => bytes.evaluate_bytes(variables),
        }
    }

    /// Returns the sent body with further fields: the request for the next page of a collection. Fields of a form are
    /// replaced. Maps in JSON are merged.
    ///
    /// # Errors
    /// Fails if the body has no fields.
    pub fn with_fields(&self, sent: &[u8], fields: &Map<String, Value>) -> Result<Vec<u8>, String> {
        match self {
            Self::Json(_) => {
                let mut body = serde_json::from_slice(sent).map_err(|_| NO_FIELDS.to_owned())?;
                merge(&mut body, &Value::Object(fields.clone()));
                serde_json::to_vec(&body).map_err(|_| NO_FIELDS.to_owned())
            }
            Self::Form(_) => form_with_fields(sent, fields).map(String::into_bytes),
            Self::Text(_) | Self::Xml(_) | Self::Raw(_) => Err(NO_FIELDS.to_owned()),
        }
    }

    /// The expressions in it, each with its path in a JSON body or a form. Others have no paths.
    pub(crate) fn placed_expressions(&self) -> Vec<(Vec<&str>, &Expression)> {
        let mut found = Vec::new();
        match self {
            Self::Json(tree) | Self::Form(tree) => tree.root().collect_expressions(&mut Vec::new(), &mut found),
            other => other.visit(&mut |expression| found.push((Vec::new(), expression))),
        }
        found
    }

    /// Renders the parts that read none of the unknown variables, to find their errors.
    ///
    /// # Errors
    /// Same as [`Body::render`].
    pub(crate) fn try_without(&self, unknown: &[&str], variables: &Variables<'_>) -> Result<(), EvaluationError> {
        match self {
            body if !unknown.iter().any(|variable| body.reads(variable)) => body.render(variables).map(drop),
            Self::Json(tree) | Self::Form(tree) => tree.try_without(unknown, variables),
            Self::Text(_) | Self::Xml(_) | Self::Raw(_) => Ok(()),
        }
    }
}

impl Expressions for Body {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        match self {
            Self::Json(tree) | Self::Form(tree) => tree.visit(visit),
            Self::Text(text) | Self::Xml(text) => text.visit(visit),
            Self::Raw(bytes) => visit(bytes),
        }
    }
}

/// Returns a form, or the query of a URL, with these fields in place of those with the same names.
///
/// # Errors
/// Fails if a value has no place in a form.
pub fn form_with_fields(sent: &[u8], fields: &Map<String, Value>) -> Result<String, String> {
    let is_kept = |part: &&[u8]| form_urlencoded::parse(part).all(|(name, _)| !fields.contains_key(&*name));
    // Those that stay are sent as they were: servers read `+` and `%20` differently.
    let kept: Vec<_> = sent.split(|byte| *byte == b'&').filter(is_kept).map(String::from_utf8_lossy).collect();
    let mut form = form_urlencoded::Serializer::new(kept.join("&"));
    fields.iter().try_for_each(|(name, value)| append(&mut form, name, value))?;
    Ok(form.finish())
}

/// Merges maps into maps. Any other value replaces the one before it.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            from.iter().for_each(|(name, value)| merge(into.entry(name).or_insert(Value::Null), value));
        }
        (into, from) => *into = from.clone(),
    }
}

fn form(value: &Value) -> Result<Vec<u8>, String> {
    let Value::Object(fields) = value else { return Err("a form is a map".to_owned()) };
    let mut form = form_urlencoded::Serializer::new(String::new());
    for (name, value) in fields {
        append(&mut form, name, value)?;
    }
    Ok(form.finish().into_bytes())
}

/// Appends one field. A list repeats it, or counts it if its name has a part `N`: `Tag.N` becomes `Tag.1`, `Tag.2`.
fn append(form: &mut form_urlencoded::Serializer<'_, String>, name: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Null => {}
        Value::Bool(truth) => drop(form.append_pair(name, if *truth { "true" } else { "false" })),
        Value::Number(number) => drop(form.append_pair(name, &number.to_string())),
        Value::String(text) => drop(form.append_pair(name, text)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                match (counted(name, index + 1), item) {
                    (Some(counted), Value::Object(fields)) => {
                        let mut parts = fields.iter();
                        parts.try_for_each(|(part, value)| append(form, &format!("{counted}.{part}"), value))?;
                    }
                    (_, Value::Array(_)) => return Err(NO_FIELD.to_owned()),
                    (counted, single) => append(form, counted.as_deref().unwrap_or(name), single)?,
                }
            }
        }
        // The name of a field may come from an object, so it is not repeated.
        Value::Object(_) => return Err(NO_FIELD.to_owned()),
    }
    Ok(())
}

/// Returns the name with this number in place of its first part `N`.
fn counted(name: &str, number: usize) -> Option<String> {
    let mut parts: Vec<&str> = name.split('.').collect();
    let place = parts.iter().skip(1).position(|part| *part == "N")? + 1;
    let number = number.to_string();
    parts[place] = &number;
    Some(parts.join("."))
}

fn json(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<ValueTemplate> {
    move |reader, node, place| {
        let tree = read_value(reader, node, &reader.site(place, scope).sending())?;
        if node.as_text().is_some_and(|text| text.trim_start().starts_with(['{', '['])) {
            reader.doubt(node.at, JSON_AS_TEXT);
        }
        Some(tree)
    }
}

fn form_tree(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<ValueTemplate> {
    move |reader, node, place| {
        let tree = read_value(reader, node, &reader.site(place, scope).sending())?;
        if !matches!(node.content, Content::Map(_) | Content::Text(_)) {
            return reader.refuse(node.at, format!("{place}: a map is needed here, not {}", node.kind()));
        }
        Some(tree)
    }
}

/// A template of a whole text.
type ParseText = fn(&str, &Site) -> Result<TextTemplate, Vec<TemplateError>>;

fn whole_text(scope: Scope, parse: ParseText) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<TextTemplate> {
    move |reader, node, place| {
        let text = reader.text(node, place)?;
        let site = reader.site(place, scope).sending();
        reader.compiled(node, &site, parse(text, &site))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_the_next_page_replace_those_before() {
        let fields = json!({"token": "a&b", "params": {"cursor": 1}});
        let fields = fields.as_object().cloned().unwrap_or_default();
        let site = Site::new("here", crate::cel::Scope::Object);
        let tree = || ValueTemplate::parse("${1}", &site).ok();
        let json =
            tree().map(Body::Json).map(|body| body.with_fields(br#"{"token": 1, "params": {"a": [2]}}"#, &fields));
        let merged = br#"{"params":{"a":[2],"cursor":1},"token":"a&b"}"#;
        assert_eq!(json, Some(Ok(merged.to_vec())));
        let only = Map::from_iter([("token".to_owned(), Value::from("a&b"))]);
        let form = tree().map(Body::Form).map(|body| body.with_fields(b"token=1&x=%20y&token=2", &only));
        assert_eq!(form, Some(Ok(b"x=%20y&token=a%26b".to_vec())));
        assert_eq!(form_with_fields(b"versions&q=a%20b", &only).as_deref(), Ok("versions&q=a%20b&token=a%26b"));
        let raw = Expression::parse("${b'a'}", &site).ok().map(Body::Raw).map(|body| body.with_fields(b"a", &only));
        assert_eq!(raw, Some(Err(NO_FIELDS.to_owned())));
    }

    #[test]
    fn a_form_repeats_and_counts_lists() {
        let cases = [
            (json!({"a": "x y&z=ä", "b": 1}), Ok("a=x+y%26z%3D%C3%A4&b=1")),
            (json!({"a": ["x", true], "b": null}), Ok("a=x&a=true")),
            (json!({}), Ok("")),
            (json!({"a": {"b": 1}}), Err(())),
            (json!({"a": [[1]]}), Err(())),
            (json!("a=b"), Err(())),
            (json!({"a.N": ["x", "y"], "b.N.c": [1]}), Ok("a.1=x&a.2=y&b.1.c=1")),
            (json!({"a.N": [{"k": "x", "v.N": ["y", "z"]}, {"k": null}]}), Ok("a.1.k=x&a.1.v.1=y&a.1.v.2=z")),
            (json!({"a.N": [], "N": ["x"], "N.b": ["y"], "aN": ["z"]}), Ok("N=x&N.b=y&aN=z")),
            (json!({"a.N": "x"}), Ok("a.N=x")),
            (json!({"a.N": [["x"]]}), Err(())),
            (json!({"a.N": [{"b": {}}]}), Err(())),
            (json!({"a": [{"b": 1}]}), Err(())),
        ];
        for (value, expected) in cases {
            let got = form(&value).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            assert_eq!(got.as_deref().map_err(drop), expected, "{value}");
        }
    }
}
