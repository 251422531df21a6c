//! JSONPath for `-o jsonpath` and `--sort-by`, in kubectl's spelling: `{.items[*].name}`, `{range …}`, `{end}`.
//!
//! `jsonpath_rust` has the paths of RFC 9535. kubectl's own are the same, apart from the missing `$`.

use std::cmp::Ordering;

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

/// A path into a JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonPath {
    text: String,
    query: JpQuery,
}

impl JsonPath {
    /// Parses a path, with or without braces, `$` and the first dot.
    ///
    /// # Errors
    /// A sentence that names the path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let bare = text.trim();
        let bare = bare.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(bare).trim();
        let rest = bare.strip_prefix(['$', '@']).unwrap_or(bare);
        let absolute = match rest.chars().next() {
            None => "$".to_owned(),
            Some('.') if rest == "." => "$".to_owned(),
            Some('.' | '[') => format!("${rest}"),
            Some(_) => format!("$.{rest}"),
        };
        match parse_json_path(&absolute) {
            Ok(query) => Ok(Self { text: text.to_owned(), query }),
            Err(_) => Err(format!("`{text}` is no JSONPath; write for example {{.driftObserved.since}}")),
        }
    }

    /// The path as it was typed.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns all values at the path.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let found = js_path_process(&self.query, value).unwrap_or_default();
        found.into_iter().map(|found| found.val).collect()
    }
}

/// A template of `-o jsonpath`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Path(JsonPath),
    /// For each value at the path.
    Range(JsonPath, Vec<Part>),
}

impl Template {
    /// Parses a template. A text without braces is a path.
    ///
    /// # Errors
    /// A sentence that names the wrong part.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if !text.contains('{') {
            return Ok(Self(vec![Part::Path(JsonPath::parse(text)?)]));
        }
        let mut open: Vec<(JsonPath, Vec<Part>)> = Vec::new();
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            parts.extend((!before.is_empty()).then(|| Part::Text(before.to_owned())));
            let end = end_of_braces(after).ok_or_else(|| format!("`{{{after}` lacks its `}}`"))?;
            let inside = after[..end].trim();
            match inside.strip_prefix("range ") {
                Some(path) => open.push((JsonPath::parse(path)?, std::mem::take(&mut parts))),
                None if inside == "end" => {
                    let (path, outer) = open.pop().ok_or("{end} without a {range …} before it")?;
                    let inner = std::mem::replace(&mut parts, outer);
                    parts.push(Part::Range(path, inner));
                }
                None => parts.push(Part::of(inside)?),
            }
            rest = &after[end + 1..];
        }
        parts.extend((!rest.is_empty()).then(|| Part::Text(rest.to_owned())));
        match open.pop() {
            None => Ok(Self(parts)),
            Some((path, _)) => Err(format!("{{range {}}} lacks its {{end}}", path.text())),
        }
    }

    /// Fills it in. A path that the value lacks gives nothing.
    pub(super) fn render(&self, value: &Value) -> String {
        rendered(&self.0, value)
    }
}

impl Part {
    fn of(inside: &str) -> Result<Self, String> {
        let quoted = inside.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let literal = match quoted {
            Some(text) => Some(text.to_owned()),
            None if inside.starts_with('"') => Some(
                serde_json::from_str(inside)
                    .map_err(|_| format!("`{inside}` is no text: write for example \"\\n\""))?,
            ),
            None => None,
        };
        literal.map_or_else(|| JsonPath::parse(inside).map(Self::Path), |text| Ok(Self::Text(text)))
    }
}

/// The place of the closing brace, outside of quotation marks.
fn end_of_braces(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(place, letter)| {
        match quote {
            None if letter == '}' => return Some(place),
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            Some(open) if open == letter => quote = None,
            _ => {}
        }
        None
    })
}

fn rendered(parts: &[Part], value: &Value) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Path(path) => path.find(value).into_iter().map(plain).collect::<Vec<_>>().join(" "),
        Part::Range(path, parts) => path.find(value).into_iter().map(|value| rendered(parts, value)).collect(),
    };
    parts.iter().map(part).collect()
}

/// A value as kubectl prints it: a text without quotation marks, and nothing for null.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The order of two values: nothing, then numbers, then texts.
pub(super) fn order(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    let text = |value: Option<&Value>| value.map(plain).unwrap_or_default();
    let is_something = |value: Option<&Value>| value.is_some_and(|value| !value.is_null());
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => is_something(one).cmp(&is_something(other)).then_with(|| text(one).cmp(&text(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn templates_are_those_of_kubectl() {
        let value =
            json!({"items": [{"name": "a", "paused": true, "n": 3}, {"name": "b", "paused": false, "n": null}]});
        for (template, expected) in [
            ("{.items[*].name}", "a b"),
            (".items[0].name", "a"),
            ("items[1].name", "b"),
            ("{$.items[-1:].name}", "b"),
            ("{range .items[*]}{.name}={@.paused}{\"\\n\"}{end}", "a=true\nb=false\n"),
            ("{range .items[*]}{.name}{': '}{.n}{end}!", "a: 3b: !"),
            ("{.items[?(@.paused==true)].name}", "a"),
            ("x {.items[0].nothing} y", "x  y"),
            ("{.items[0]}", "{\"n\":3,\"name\":\"a\",\"paused\":true}"),
            ("{range .items[?(@.name=='}')]}{.name}{end}", ""),
        ] {
            let rendered = Template::parse(template).map(|parsed| parsed.render(&value));
            assert_eq!(rendered.as_deref(), Ok(expected), "{template}");
        }
        for (template, expected) in [
            ("{.items[}", "`.items[` is no JSONPath; write for example {.driftObserved.since}"),
            ("{.items", "`{.items` lacks its `}`"),
            ("{end}", "{end} without a {range …} before it"),
            ("{range .items[*]}{.name}", "{range .items[*]} lacks its {end}"),
            ("{\"\\q\"}", "`\"\\q\"` is no text: write for example \"\\n\""),
        ] {
            assert_eq!(Template::parse(template).map(|_| ()), Err(expected.to_owned()), "{template}");
        }
    }

    #[test]
    fn values_have_an_order() {
        let values = [Value::Null, json!(2), json!(10), json!("a"), json!("b")];
        for (place, one) in values.iter().enumerate() {
            for (other_place, other) in values.iter().enumerate() {
                assert_eq!(order(Some(one), Some(other)), place.cmp(&other_place), "{one} {other}");
            }
        }
        assert_eq!(order(None, Some(&Value::Null)), Ordering::Equal);
    }
}
