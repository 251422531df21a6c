//! JSONPath for `-o jsonpath` and `--sort-by`, in kubectl's spelling: `{.items[*].name}`, `{range …}`, `{end}`.
//!
//! `jsonpath_rust` has the paths of RFC 9535. kubectl's lack the `$`, and escape a dot in a key as `\.`.

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
        match parse_json_path(&in_brackets(&absolute)) {
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
        match inside.chars().next().filter(|first| matches!(first, '"' | '\'')) {
            None => JsonPath::parse(inside).map(Self::Path),
            Some(quote) => match unquoted(inside, quote) {
                Some(text) => Ok(Self::Text(text)),
                None => Err(format!("`{inside}` is no text: write for example \"\\n\"")),
            },
        }
    }
}

/// Writes the keys that RFC 9535 takes only in brackets so: those with an escape, a hyphen or a slash. In brackets and
/// filters, quoted texts lose the backslash before a dot.
fn in_brackets(path: &str) -> String {
    let (mut written, mut rest, mut is_number) = (String::new(), path, false);
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        rest = match letter {
            '"' | '\'' => {
                let end = end_of_quotes(after, letter).map_or(after.len(), |end| end + letter.len_utf8());
                written.push(letter);
                written.push_str(&after[..end].replace("\\.", "."));
                &after[end..]
            }
            '.' if !is_number => {
                let (key, after) = key_of(after);
                let is_descent = written.ends_with('.');
                let is_bracketed = !is_shorthand(&key) || (key.is_empty() && after.starts_with('['));
                written.push_str(if is_bracketed && !is_descent { "" } else { "." });
                written.push_str(&if is_shorthand(&key) { key } else { bracketed(&key) });
                after
            }
            _ => {
                written.push(letter);
                after
            }
        };
        // The dot of a number in a filter, such as 1.5, begins no key.
        is_number = letter.is_ascii_digit();
    }
    written
}

/// Returns true if a key needs no brackets.
fn is_shorthand(key: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    key.chars().all(is_part) && !key.starts_with(|first: char| first.is_ascii_digit())
}

/// The key at the beginning of a text without its escapes, and the rest.
fn key_of(text: &str) -> (String, &str) {
    let (mut key, mut is_escaped) = (String::new(), false);
    for (place, letter) in text.char_indices() {
        match letter {
            '\\' if !is_escaped => {
                is_escaped = true;
                continue;
            }
            _ if !is_escaped && (letter.is_whitespace() || ".,[](){}$@*?=!<>&|'\"".contains(letter)) => {
                return (key, &text[place..]);
            }
            _ => key.push(letter),
        }
        is_escaped = false;
    }
    (key, "")
}

fn bracketed(key: &str) -> String {
    format!("['{}']", key.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// The escapes, a subset of those of Go.
const ESCAPES: [(char, char); 4] = [('n', '\n'), ('t', '\t'), ('r', '\r'), ('\\', '\\')];

/// The text in quotation marks, with its escapes read; `None` if it does not end, or has an unknown escape.
fn unquoted(quoted: &str, quote: char) -> Option<String> {
    let inside = &quoted[quote.len_utf8()..];
    let inside = inside.strip_suffix(quote).filter(|inside| end_of_quotes(inside, quote).is_none())?;
    let (mut text, mut letters) = (String::new(), inside.chars());
    while let Some(letter) = letters.next() {
        text.push(match letter {
            '\\' => match letters.next()? {
                'u' => {
                    let digits: String = letters.by_ref().take(4).collect();
                    let is_number = digits.len() == 4 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
                    char::from_u32(u32::from_str_radix(&digits, 16).ok().filter(|_| is_number)?)?
                }
                escaped if escaped == quote => quote,
                escaped => ESCAPES.iter().find(|(known, _)| *known == escaped)?.1,
            },
            other => other,
        });
    }
    Some(text)
}

/// The place of the closing quotation mark that no backslash escapes.
fn end_of_quotes(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(place, letter)| {
        let is_end = letter == quote && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end.then_some(place)
    })
}

/// The place of the closing brace, outside of quotation marks.
fn end_of_braces(text: &str) -> Option<usize> {
    let place = text.find(['}', '"', '\''])?;
    let quote = text[place..].chars().next().filter(|letter| *letter != '}');
    let Some(quote) = quote else { return Some(place) };
    let inside = place + quote.len_utf8();
    let after = inside + end_of_quotes(&text[inside..], quote)? + quote.len_utf8();
    Some(after + end_of_braces(&text[after..])?)
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

/// The order of two values: numbers, then texts and others, then nothing.
pub(super) fn order(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    let rank = |value: Option<&Value>| match value {
        Some(Value::Number(_)) => 0,
        None | Some(Value::Null) => 2,
        Some(_) => 1,
    };
    let text = |value: Option<&Value>| value.map(plain).unwrap_or_default();
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => rank(one).cmp(&rank(other)).then_with(|| text(one).cmp(&text(other))),
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
            ("{range .items[*]}{.name}{'\\n'}{end}", "a\nb\n"),
            ("{.items[0].name}{\"\\t\\u0041\\\\\"}{'it\\'s }'}", "a\tA\\it's }"),
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
            ("{'a'b'}", "`{'a'b'}` lacks its `}`"),
            ("{'a'b}", "`'a'b` is no text: write for example \"\\n\""),
        ] {
            assert_eq!(Template::parse(template).map(|_| ()), Err(expected.to_owned()), "{template}");
        }
    }

    #[test]
    fn keys_are_escaped_as_for_kubectl() {
        let value = json!({"a.b/c": 1, "a": {"b": 2, "b-c": 3}, "a1": {"b": 5}, "list": [{"k.l": "x", "n": 1.5}]});
        for (path, expected) in [
            ("{.a\\.b/c}", "1"),
            ("a\\.b/c", "1"),
            ("{['a.b/c']}", "1"),
            ("{['a\\.b/c']}", "1"),
            ("{.['a.b/c']}", "1"),
            ("{.a.b}", "2"),
            ("{.a.b-c}", "3"),
            ("{.a['b','b-c']}", "2 3"),
            ("{..b-c}", "3"),
            ("{..k\\.l}", "x"),
            ("{.list[?(@.k\\.l==\"x\")].n}", "1.5"),
            ("{.list[?(@.n>1.4)].k\\.l}", "x"),
            ("{.list[?(@.n>1.6)].k\\.l}", ""),
            ("{.list[*].n}", "1.5"),
            ("{.list[0:1].n}", "1.5"),
            ("{.a1.b}", "5"),
        ] {
            let rendered = Template::parse(path).map(|parsed| parsed.render(&value));
            assert_eq!(rendered.as_deref(), Ok(expected), "{path}");
        }
    }

    #[test]
    fn values_have_a_total_order() {
        let values = [json!(-1.5), json!(2), json!(10), json!("10"), json!("5x"), json!("a"), json!(true)];
        let values: Vec<Option<&Value>> = values.iter().map(Some).chain([None]).collect();
        for (place, one) in values.iter().enumerate() {
            for (other_place, other) in values.iter().enumerate() {
                assert_eq!(order(*one, *other), place.cmp(&other_place), "{one:?} {other:?}");
            }
        }
        assert_eq!(order(None, Some(&Value::Null)), Ordering::Equal);
    }
}
