//! Parses untrusted XML to the value that rules read, within the limits of JSON.
//!
//! An element with neither attributes nor children is its text. Any other element is a map: children by local name,
//! attributes as `@name`, its own text as `#text`. A repeated name is a list.

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::values::json::MAP_NODES;

/// Maximum nesting of elements. Each can add two levels to the value, a map and a list, and serde_json limits JSON to
/// 128 levels.
const MAX_DEPTH: usize = 60;

/// Reasons why a text is rejected. Contains nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// It is not well-formed, not UTF-8, nested too deep, a page for browsers, or it has a DOCTYPE or unknown entities.
    #[error("not XML")]
    Malformed,
    /// It has more values than allowed.
    #[error("too many values")]
    TooManyNodes,
}

impl From<quick_xml::Error> for XmlError {
    fn from(_: quick_xml::Error) -> Self {
        Self::Malformed
    }
}

/// Parses one XML document with a maximum number of nodes, counted as in JSON. Elements with a name in `lists` are
/// always a list. The value is a map with the root element as its one key.
///
/// # Errors
/// Fails if it is not XML, or too large.
pub fn parse_xml(text: &[u8], lists: &[String], max_nodes: usize) -> Result<Value, XmlError> {
    let text = std::str::from_utf8(text).map_err(|_| XmlError::Malformed)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_characters(text)?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let mut parsing = Parsing { lists, left: max_nodes, open: Vec::new(), root: None };
    loop {
        match reader.read_event()? {
            Event::Start(start) => parsing.open(&start)?,
            Event::Empty(start) => {
                parsing.open(&start)?;
                parsing.close()?;
            }
            Event::End(_) => parsing.close()?,
            Event::Text(text) => parsing.text(&text.xml10_content())?,
            Event::CData(text) => parsing.characters(&text.xml10_content())?,
            Event::GeneralRef(reference) => parsing.reference(&reference)?,
            Event::Decl(declaration) if parsing.is_fresh() => {
                let encoding = declaration.encoding().transpose().map_err(|_| XmlError::Malformed)?;
                let known = |name: &str| ["utf-8", "us-ascii"].iter().any(|known| known.eq_ignore_ascii_case(name));
                if encoding.is_some_and(|name| !known(&name)) {
                    return Err(XmlError::Malformed);
                }
            }
            Event::Decl(_) | Event::DocType(_) => return Err(XmlError::Malformed),
            Event::Comment(_) | Event::PI(_) => {}
            Event::Eof => return parsing.end(),
        }
    }
}

/// An element that is not closed yet.
#[derive(Default)]
struct Element {
    name: String,
    fields: Map<String, Value>,
    text: String,
}

struct Parsing<'l> {
    lists: &'l [String],
    /// Remaining nodes.
    left: usize,
    open: Vec<Element>,
    root: Option<(String, Value)>,
}

impl Parsing<'_> {
    fn is_fresh(&self) -> bool {
        self.open.is_empty() && self.root.is_none()
    }

    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), XmlError> {
        let name = start.local_name().into_inner();
        // An error page in XHTML is no answer of an API.
        let is_page = self.open.is_empty() && name.eq_ignore_ascii_case("html");
        if !is_name(start.name().into_inner())
            || name.is_empty()
            || is_page
            || self.root.is_some()
            || self.open.len() >= MAX_DEPTH
        {
            return Err(XmlError::Malformed);
        }
        let mut element = Element { name: name.to_owned(), ..Element::default() };
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|_| XmlError::Malformed)?;
            let is_namespace = attribute.key.as_namespace_binding().is_some();
            if attribute.value.contains('<') || !is_name(attribute.key.into_inner()) {
                return Err(XmlError::Malformed);
            }
            let value = attribute.normalized_value(XmlVersion::Implicit1_0)?;
            check_characters(&value)?;
            if !is_namespace {
                self.take(1)?;
                let name = format!("@{}", attribute.key.local_name().into_inner());
                self.insert(&mut element.fields, name, Value::from(value))?;
            }
        }
        self.open.push(element);
        Ok(())
    }

    fn close(&mut self) -> Result<(), XmlError> {
        self.take(1)?;
        let Some(Element { name, mut fields, text }) = self.open.pop() else { return Err(XmlError::Malformed) };
        let value = if fields.is_empty() {
            Value::String(text)
        } else {
            if !is_space(&text) {
                self.take(1)?;
                fields.insert("#text".to_owned(), Value::String(text));
            }
            Value::Object(fields)
        };
        match self.open.pop() {
            None => self.root = Some((name, value)),
            Some(mut parent) => {
                self.insert(&mut parent.fields, name, value)?;
                self.open.push(parent);
            }
        }
        Ok(())
    }

    /// Adds a child or an attribute. Values are no lists themselves, so a list always holds repetitions.
    fn insert(&mut self, fields: &mut Map<String, Value>, name: String, value: Value) -> Result<(), XmlError> {
        if fields.is_empty() {
            self.take(MAP_NODES)?;
        }
        match fields.entry(name) {
            Entry::Vacant(entry) => {
                let is_list = self.lists.contains(entry.key());
                self.take(usize::from(is_list))?;
                entry.insert(if is_list { Value::Array(vec![value]) } else { value });
            }
            Entry::Occupied(mut entry) => match entry.get_mut() {
                Value::Array(items) => items.push(value),
                single => {
                    self.take(1)?;
                    *single = Value::Array(vec![single.take(), value]);
                }
            },
        }
        Ok(())
    }

    /// Adds text of the document, which is only whitespace outside of the root element.
    fn text(&mut self, text: &str) -> Result<(), XmlError> {
        if self.open.is_empty() && is_space(text) { Ok(()) } else { self.characters(text) }
    }

    fn characters(&mut self, text: &str) -> Result<(), XmlError> {
        self.open.last_mut().ok_or(XmlError::Malformed)?.text.push_str(text);
        Ok(())
    }

    fn reference(&mut self, reference: &BytesRef<'_>) -> Result<(), XmlError> {
        match reference.resolve_char_ref()? {
            Some(character) => {
                let text = character.to_string();
                check_characters(&text)?;
                self.characters(&text)
            }
            None => {
                let text = quick_xml::escape::resolve_xml_entity(reference).ok_or(XmlError::Malformed)?;
                self.characters(text)
            }
        }
    }

    fn take(&mut self, nodes: usize) -> Result<(), XmlError> {
        self.left = self.left.checked_sub(nodes).ok_or(XmlError::TooManyNodes)?;
        Ok(())
    }

    fn end(self) -> Result<Value, XmlError> {
        match (self.root, self.open.is_empty()) {
            (Some((name, value)), true) => Ok(Value::Object(Map::from_iter([(name, value)]))),
            _ => Err(XmlError::Malformed),
        }
    }
}

/// Rejects characters that no XML document can carry.
fn check_characters(text: &str) -> Result<(), XmlError> {
    if text.chars().all(is_character) { Ok(()) } else { Err(XmlError::Malformed) }
}

/// Returns true if a text can name an element or an attribute, with or without a prefix. The parser takes any text.
pub(super) fn is_name(text: &str) -> bool {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_' || !letter.is_ascii();
    let is_later = |letter: char| is_first(letter) || letter.is_ascii_digit() || matches!(letter, '-' | '.' | ':');
    text.starts_with(is_first) && text.chars().all(is_later)
}

/// Returns true if an XML document can carry the character.
pub(super) fn is_character(letter: char) -> bool {
    !(letter < ' ' && !matches!(letter, '\t' | '\n' | '\r') || matches!(letter, '\u{fffe}' | '\u{ffff}'))
}

fn is_space(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn parse(text: &str) -> Result<Value, XmlError> {
        parse_xml(text.as_bytes(), &["item".to_owned(), "member".to_owned()], 1_000)
    }

    #[test]
    fn elements_become_texts_maps_and_lists() {
        let table = [
            ("<a/>", json!({"a": ""})),
            ("<a></a>", json!({"a": ""})),
            ("<a> x </a>", json!({"a": " x "})),
            ("\u{feff}<?xml version='1.0' encoding='UTF-8'?>\n<a>1</a>\n", json!({"a": "1"})),
            ("<a><b>1</b>\n <c/></a>", json!({"a": {"b": "1", "c": ""}})),
            ("<a><b>1</b><b>2</b><b>3</b></a>", json!({"a": {"b": ["1", "2", "3"]}})),
            ("<a><item>1</item></a>", json!({"a": {"item": ["1"]}})),
            ("<a><item/><item>2</item></a>", json!({"a": {"item": ["", "2"]}})),
            ("<a><member><b/></member></a>", json!({"a": {"member": [{"b": ""}]}})),
            ("<a b='1'/>", json!({"a": {"@b": "1"}})),
            ("<a b='1'>x</a>", json!({"a": {"@b": "1", "#text": "x"}})),
            ("<a>x<b>1</b> y</a>", json!({"a": {"b": "1", "#text": "x y"}})),
            ("<s:a xmlns:s='u' xmlns='v' s:t='1'><s:b/></s:a>", json!({"a": {"@t": "1", "b": ""}})),
            ("<a x:b='1' y:b='2'/>", json!({"a": {"@b": ["1", "2"]}})),
            ("<a>&lt;&gt;&amp;&apos;&quot;&#65;&#x42;</a>", json!({"a": "<>&'\"AB"})),
            ("<a b='&lt;&#10;&quot;'/>", json!({"a": {"@b": "<\n\""}})),
            ("<a><![CDATA[<b>&amp;]]>c</a>", json!({"a": "<b>&amp;c"})),
            ("<!-- x --><?p q?><a>1<!-- y -->2</a><!-- z -->", json!({"a": "12"})),
            ("<a>1\r\n2\r3</a>", json!({"a": "1\n2\n3"})),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_document_of_an_api_is_refused() {
        let table = [
            "",
            " ",
            "x",
            "{}",
            "<a>",
            "</a>",
            "<a></b>",
            "<a/><b/>",
            "<a/>x",
            "x<a/>",
            "<a/><![CDATA[x]]>",
            "<a/>&amp;",
            "<a>&nbsp;</a>",
            "<a>&</a>",
            "<a>&#0;</a>",
            "<a>&#1;</a>",
            "<a>\u{1}</a>",
            "<a b='&#1;'/>",
            "<a b='&x;'/>",
            "<a b='<'/>",
            "<a b=1/>",
            "<a &lt;='1'/>",
            "<&lt;/>",
            "<1/>",
            "<x:/>",
            "<a b='1' b='2'/>",
            "<a><!-- -- --></a>",
            "<!DOCTYPE a><a/>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
            "<?xml version='1.0' encoding='ISO-8859-1'?><a/>",
            "<a><?xml version='1.0'?></a>",
            "<html><body>502</body></html>",
            "<HTML/>",
        ];
        for text in table {
            assert_eq!(parse(text), Err(XmlError::Malformed), "{text}");
        }
        assert_eq!(parse_xml(b"<a>\xff</a>", &[], 9), Err(XmlError::Malformed));
    }

    #[test]
    fn depth_and_values_are_limited() {
        let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(parse(&nested(MAX_DEPTH + 1)), Err(XmlError::Malformed));
        let many = |item: &str| format!("<r>{}</r>", item.repeat(100));
        // The root is a map (9), its child a list (1). An item is a text (1), or a map with an attribute (10).
        for (item, nodes) in [("<a/>", 9 + 1 + 100), ("<a b=''/>", 9 + 1 + 1_000), ("<a><b/></a>", 9 + 1 + 1_000)] {
            assert!(parse_xml(many(item).as_bytes(), &[], nodes).is_ok(), "{item}");
            assert_eq!(parse_xml(many(item).as_bytes(), &[], nodes - 1), Err(XmlError::TooManyNodes), "{item}");
        }
    }

    fn nodes(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(nodes).sum(),
            Value::Object(fields) => MAP_NODES + fields.values().map(nodes).sum::<usize>(),
            _ => 0,
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_value_within_the_limits(text in "(<[ab]( b='[x&;]{0,2}')?>|</[ab]>|<a/>|<!--|-->|[ <>&;x/?!']){0,30}") {
            if let Ok(value) = parse_xml(text.as_bytes(), &["b".to_owned()], 20) {
                // The map around the root is not counted.
                prop_assert!(nodes(&value) <= 20 + 1 + MAP_NODES, "{}", value);
            }
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(parse_xml(&bytes, &[], 60).is_ok_and(|value| value.is_object()) || parse_xml(&bytes, &[], 60).is_err());
        }

        #[test]
        fn texts_and_attributes_survive_escaping(text in "[ -~äß]{0,20}") {
            let escaped = quick_xml::escape::escape(text.as_str());
            let parsed = parse_xml(format!("<r a=\"{escaped}\"><t>{escaped}</t></r>").as_bytes(), &[], 60);
            prop_assert_eq!(parsed, Ok(json!({"r": {"@a": text, "t": text}})));
        }
    }
}
