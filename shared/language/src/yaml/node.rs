//! YAML as a tree in which each node has its position.
//!
//! Only this module uses the YAML library, except for the translation of its errors. It rejects duplicate keys and is
//! independent of targets.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Budget, DuplicateKeyPolicy, Options, Spanned};

use crate::yaml::position::{Cursor, Position};
use crate::yaml::yaml_mistakes::told;

/// Maximum events that anchors may repeat in one document: plenty for sharing a header, too few for a bomb.
const MAX_REPLAYED_EVENTS: usize = 10_000;

/// Maximum nesting of a document. Each level is one of recursion here and in every function that walks the tree.
const MAX_DEPTH: usize = 32;

/// A mistake with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: Position,
    pub(crate) message: String,
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) content: Content,
    pub(crate) at: Position,
    /// The position of its key. `None` for an item of a list and for a document.
    pub(crate) key_at: Option<Position>,
    /// Its byte range in the document, including quotes. Empty if unknown.
    span: Range<usize>,
    /// The range of the node that an alias refers to; its own for any other node.
    defined: Range<usize>,
}

/// The content of a node.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: Position,
    /// The byte range of the key in the document, including quotes.
    pub(crate) key_bytes: Range<usize>,
    pub(crate) value: Node,
}

/// Parses one document.
///
/// # Errors
/// Returns the first YAML error.
pub(crate) fn parse(text: &str) -> Result<Node, Fault> {
    let mut options = Options::default();
    // `duplicates` reports all duplicates together.
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.strict_booleans = true;
    options.with_snippet = false;
    options.reject_unsupported_tags = true;
    let mut budget = Budget::default();
    budget.max_depth = MAX_DEPTH;
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = MAX_REPLAYED_EVENTS;
    serde_saphyr::from_str_with_options::<Node>(text, options).map_err(|error| {
        let at = error.location().map(|location| position(&location)).unwrap_or_default();
        let (at, message) = told(&error, text, at);
        Fault { at, message }
    })
}

/// Formats a value as YAML for display. Falls back to JSON, which is valid YAML, if the library fails.
#[must_use]
pub fn to_yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| format!("{value:#}\n"))
}

fn position(location: &serde_saphyr::Location) -> Position {
    let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Position { line: index(location.line()), column: index(location.column()) }
}

fn bytes_of(location: &serde_saphyr::Location) -> Range<usize> {
    let bytes = location.span();
    let index = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    match (index(bytes.byte_offset()), index(bytes.byte_len())) {
        (Some(start), Some(length)) => start..start.saturating_add(length),
        _ => 0..0,
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Content>::deserialize(deserializer)?;
        let (span, defined) = (bytes_of(&spanned.referenced), bytes_of(&spanned.defined));
        Ok(Self { content: spanned.value, at: position(&spanned.referenced), key_at: None, span, defined })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_none<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Content, E> {
        Ok(Content::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Content, E> {
        Ok(Content::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Content, E> {
        Ok(Content::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Content, E> {
        Number::from_f64(number).map(Content::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Content, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Content::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Node>()? {
            let name = match key.content {
                Content::Text(name) => name,
                Content::Bool(truth) => truth.to_string(),
                Content::Number(number) => number.to_string(),
                Content::Null | Content::List(_) | Content::Map(_) => {
                    return Err(A::Error::custom("a key must be a text"));
                }
            };
            let value = Node { key_at: Some(key.at), ..map.next_value()? };
            entries.push(Entry { key: name, key_at: key.at, key_bytes: key.span, value });
        }
        Ok(Content::Map(entries))
    }
}

impl Node {
    /// Describes the type of the content.
    pub(crate) fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "true or false",
            Content::Number(_) => "a number",
            Content::Text(_) => "a text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// Returns the text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a key, if it is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// The same, for modification.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.content {
            Content::Map(entries) => entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value),
            _ => None,
        }
    }

    /// Returns the values of a map, for modification.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        let entries = match &mut self.content {
            Content::Map(entries) => entries.as_mut_slice(),
            _ => &mut [],
        };
        entries.iter_mut().map(|entry| &mut entry.value)
    }

    /// Returns the items of a list, for modification.
    pub(crate) fn items_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        let items = match &mut self.content {
            Content::List(items) => items.as_mut_slice(),
            _ => &mut [],
        };
        items.iter_mut()
    }

    /// Returns true if it is a map with this key and no other.
    pub(crate) fn has_only(&self, key: &str) -> bool {
        matches!(&self.content, Content::Map(entries) if matches!(&**entries, [entry] if entry.key == key))
    }

    /// Makes a map or a text the only item of a list at its place.
    pub(crate) fn make_list(&mut self) {
        if matches!(self.content, Content::Map(_) | Content::Text(_)) {
            let item = Self { key_at: None, ..self.clone() };
            self.content = Content::List(vec![item]);
        }
    }

    /// Returns it as a list: a map or a text as the only item.
    pub(crate) fn as_list(&self) -> Cow<'_, Self> {
        match self.content {
            Content::Map(_) | Content::Text(_) => {
                let mut list = self.clone();
                list.make_list();
                Cow::Owned(list)
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// Makes it the value of this key in a map at its place.
    pub(crate) fn put_below(&mut self, key: &str) {
        let value = self.clone();
        self.content = Content::Map(vec![Entry { key: key.to_owned(), key_at: self.at, key_bytes: 0..0, value }]);
    }

    /// Adds a text to a map, at the place of the map.
    pub(crate) fn add_text(&mut self, key: &str, text: &str) {
        let value = Self { content: Content::Text(text.to_owned()), ..self.clone() };
        if let Content::Map(entries) = &mut self.content {
            entries.push(Entry { key: key.to_owned(), key_at: self.at, key_bytes: 0..0, value });
        }
    }

    /// Returns the first item of a list.
    pub(crate) fn first_item(&self) -> Option<&Self> {
        match &self.content {
            Content::List(items) => items.first(),
            _ => None,
        }
    }

    /// Converts the node to JSON, without positions.
    pub(crate) fn to_json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(truth) => Value::Bool(*truth),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text) => Value::from(text.as_str()),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Map(entries) => {
                let fields = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    /// Collects every duplicate key of a map, at its second position.
    pub(crate) fn duplicates(&self, found: &mut Vec<Fault>) {
        match &self.content {
            Content::List(items) => items.iter().for_each(|item| item.duplicates(found)),
            Content::Map(entries) => {
                for (position, entry) in entries.iter().enumerate() {
                    if let Some(first) = entries[..position].iter().find(|earlier| earlier.key == entry.key) {
                        // Relative to this key, so that it is valid wherever the document is embedded.
                        let first = match entry.key_at.line.saturating_sub(first.key_at.line) {
                            0 => "in the same line".to_owned(),
                            1 => "one line above".to_owned(),
                            lines => format!("{lines} lines above"),
                        };
                        let message = format!("`{}` is written twice here, first {first}", entry.key);
                        found.push(Fault { at: entry.key_at, message });
                    }
                    entry.value.duplicates(found);
                }
            }
            _ => {}
        }
    }

    /// Returns its byte range in the document. Empty if unknown.
    pub(crate) fn bytes(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns the byte range of the node that an alias refers to, and its own for any other node.
    pub(crate) fn defined_bytes(&self) -> Range<usize> {
        self.defined.clone()
    }

    /// Returns true if it is written in double quotes with backslashes, which YAML interprets itself.
    pub(crate) fn has_escapes(&self, document: &str) -> bool {
        document.get(self.span.clone()).is_some_and(|raw| raw.starts_with('"') && raw.contains('\\'))
    }

    /// Returns the position of the character `offset` of this node's text in the document, or the position of the node
    /// if an escape makes it uncertain.
    pub(crate) fn locate(&self, document: &str, offset: usize) -> Position {
        let text = self.as_text().unwrap_or_default();
        let raw = document.get(self.span.clone()).unwrap_or_default();
        let mut cursor = Cursor::new(raw, self.at);
        let mut characters = text.chars();
        for character in characters.by_ref().take(offset) {
            if !character.is_whitespace() && !cursor.pass(character) {
                return self.at;
            }
        }
        if characters.next().is_some_and(|character| !character.is_whitespace()) {
            cursor.skip_whitespace();
        }
        cursor.at
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn values_keep_their_types() {
        let node =
            parse("a: 1\nb: [true, 1.5, text, '1', yes, ~, -3, 18446744073709551615]\nc: {d: x}\n1: one\n").unwrap();
        let expected = json!({
            "a": 1, "b": [true, 1.5, "text", "1", "yes", null, -3, 18_446_744_073_709_551_615_u64], "c": {"d": "x"}, "1": "one",
        });
        assert_eq!(node.to_json(), expected);
    }

    #[test]
    fn a_syntax_error_has_its_place() {
        let fault = parse("a: 1\nb: [1, 2\n").unwrap_err();
        assert!(fault.at.line >= 2, "{fault:?}");
        assert!(parse("a: 1\n---\nb: 2\n").is_err());
        assert!(parse("? [a]\n: b\n").is_err());
    }

    #[test]
    fn each_mistake_is_told_where_it_is_mended() {
        let tab = "a tab does not indent in YAML: write spaces";
        let table = [
            ("a:\n\tb: 1\n", (2, 1), tab),
            ("a:\n  b: 1\n  \tc: 2\n", (3, 3), tab),
            ("a: |\n\tb\n", (2, 1), tab),
            ("a: |\n\n\n\tb\n", (4, 1), tab),
            ("a:\n  b: [c,\n\td]\n", (3, 1), tab),
            ("a: b # c\n\td: 1\n", (2, 1), tab),
            ("a: 1\nb: [c: [d]\n", (2, 4), "this `[` is not closed"),
            ("a: 1\nb: [c}\n", (2, 4), "this `[` is not closed: a `}` comes before its end"),
        ];
        for (document, (line, column), message) in table {
            let found = parse(document).map(|node| node.to_json());
            assert_eq!(
                found,
                Err(Fault { at: Position { line, column }, message: message.to_owned() }),
                "{document:?}"
            );
        }
    }

    #[test]
    fn anchors_work_but_cannot_explode() {
        let node = parse("a: &x {b: 1}\nc: *x\n").unwrap();
        assert_eq!(node.to_json(), json!({"a": {"b": 1}, "c": {"b": 1}}));
        let mut bomb = "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n".to_owned();
        for level in 1..10 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        assert!(parse(&bomb).is_err());
    }

    #[test]
    fn deep_documents_and_foreign_tags_are_refused() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert!(parse(&nested(MAX_DEPTH + 1)).is_err());
        assert!(parse("a: !secret b").is_err());
        assert!(parse("a: !!str 1").is_ok());
    }

    #[test]
    fn every_duplicate_is_found() {
        let mut found = Vec::new();
        parse("a: 1\nb: {c: 1, c: 2}\na: 2\n").unwrap().duplicates(&mut found);
        let places: Vec<_> =
            found.iter().map(|fault| (fault.at.line, fault.at.column, fault.message.as_str())).collect();
        assert_eq!(
            places,
            [
                (2, 11, "`c` is written twice here, first in the same line"),
                (3, 1, "`a` is written twice here, first 2 lines above")
            ]
        );
    }

    #[test]
    fn a_character_of_a_text_is_found_in_the_document() {
        let table = [
            ("a: plain X", 1, 10),
            ("a: \"quoted X\"", 1, 12),
            ("a: 'it''s X'", 1, 11),
            ("a: \"a \\\"b\\\" X\"", 1, 13),
            ("a: |\n  first\n  second X\n", 3, 10),
            ("a: >-\n  first\n  second X\n", 3, 10),
            ("a: first\n  second X\n", 2, 10),
            ("a: \"tab\\tand X\"", 1, 4),
        ];
        for (document, line, column) in table {
            let node = parse(document).unwrap();
            let text = node.get("a").unwrap();
            let offset = text.as_text().unwrap().chars().position(|character| character == 'X').unwrap();
            assert_eq!(text.locate(document, offset), Position { line, column }, "{document}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "[a-c:\\-\\[\\]{}\"'|>&*!#%@ \n\t?,~<é]{0,60}") {
            if let Ok(node) = parse(&text) {
                node.duplicates(&mut Vec::new());
                node.locate(&text, 5);
            }
        }
    }
}
