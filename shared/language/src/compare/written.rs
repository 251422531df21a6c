//! One rule as written: a path and one or more effects.

use serde_json::Value;

use super::effects::{Effects, Empty, Extra, ListKind};
use super::form::Form;
use super::rule_tree::Step;
use crate::section::{Leaf, Section, distinct, literal, text, typed, words};
use crate::values::decimal::Decimal;
use crate::yaml::{Content, Fields, Node, Position, Reader};

/// Maximum number of key fields of one list. More fields are not a sensible key.
const MAX_KEYS: usize = 8;
/// Matches every key and every item.
const EVERY: &str = "*";
/// One rule as written.
pub(crate) struct WrittenRule {
    /// Its path in the document: `compare.rules[0]`.
    pub(super) place: String,
    /// Position of its path.
    pub(super) at: Position,
    pub(super) pointer: String,
    pub(super) path: Vec<Step>,
    pub(super) effects: Effects,
}

/// The list kind before its keys are known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListWord {
    Ordered,
    Set,
    Map,
}

/// One rule as its keys say.
#[derive(Section)]
#[section(value = WrittenRule, check = Self::make)]
pub(crate) struct RuleKeys {
    /// A JSON Pointer into desired. * is every key or item.
    #[key(text(read_pointer))]
    path: (Position, String, Vec<Step>),
    /// Default: ordered.
    #[key(words(LISTS))]
    list: Option<ListWord>,
    /// Fields that identify an item, with list: map. 1 to 8.
    #[key(distinct(1..=MAX_KEYS, literal(parse_key)))]
    keys: Option<Vec<String>>,
    /// More than desired. Default: drift in lists, allow in maps.
    #[key(words(EXTRAS))]
    extra: Option<Extra>,
    /// If empty texts, lists and maps equal a missing field. Default: present.
    #[key(words(EMPTIES))]
    empty: Option<Empty>,
    /// How values are read. Default: as they are.
    #[key(words(&Form::WORDS), name = "as")]
    form: Option<Form>,
    /// How far apart numbers may be. Above 0, default: exact.
    #[key(typed(&["number"], read_tolerance))]
    tolerance: Option<Decimal>,
    /// Neither compared nor sent.
    #[key(flag(), default)]
    ignore: bool,
    /// Compared and sent, but never shown.
    #[key(flag(), default)]
    redact: bool,
    /// Shown although the name looks secret.
    #[key(flag(), default)]
    show: bool,
    /// A difference here replaces the resource.
    #[key(words(&[("replace", ())]))]
    change: Option<()>,
}

/// The values of `list`.
const LISTS: &[(&str, ListWord)] = &[("ordered", ListWord::Ordered), ("set", ListWord::Set), ("map", ListWord::Map)];
/// The values of `extra`.
const EXTRAS: &[(&str, Extra)] = &[("drift", Extra::Drift), ("driftBelow", Extra::DriftBelow), ("allow", Extra::Allow)];
/// The values of `empty`.
const EMPTIES: &[(&str, Empty)] = &[("absent", Empty::Absent), ("present", Empty::Present)];

impl RuleKeys {
    fn make(self, reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<WrittenRule> {
        let Self { path: (at, pointer, path), list, keys, extra, empty, form, tolerance, ignore, redact, show, change } =
            self;
        let list = list_kind(reader, fields, list, keys)?;
        let effects = Effects { list, extra, empty, form, tolerance, ignore, redact, show, replace: change.is_some() };
        let place = fields.own_place();
        let refusal = match effects.words().as_slice() {
            // Other keys are reported as unknown elsewhere.
            [] if fields.entries().len() > 1 => return None,
            [] => Some(
                "a rule says what holds at its path: one of list, extra, empty, as, tolerance, ignore, redact, show, change",
            ),
            [_, _, ..] if effects.ignore => Some("what is ignored is not compared, so no other effect can hold there"),
            _ if effects.redact && effects.show => Some("redact and show contradict each other"),
            _ if effects.ignore && path.is_empty() => Some("the whole of desired cannot be ignored"),
            _ => None,
        };
        match refusal {
            Some(message) => reader.refuse(fields.at(), format!("{place}: {message}")),
            None => Some(WrittenRule { place: place.to_owned(), at, pointer, path, effects }),
        }
    }
}

fn list_kind(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    word: Option<ListWord>,
    keys: Option<Vec<String>>,
) -> Option<Option<ListKind>> {
    let place = fields.place("list");
    match (word, keys) {
        (Some(ListWord::Map), Some(keys)) => Some(Some(ListKind::Map(keys))),
        (Some(ListWord::Map), None) => reader.refuse(
            fields.at(),
            format!("{place}: a map needs keys, the fields that tell its items apart: write for example keys: [name]"),
        ),
        (_, Some(_)) => reader.refuse(fields.at(), format!("{}: only list: map has keys", fields.place("keys"))),
        (Some(ListWord::Set), None) => Some(Some(ListKind::Set)),
        (Some(ListWord::Ordered), None) => Some(Some(ListKind::Ordered)),
        (None, None) => Some(None),
    }
}

fn parse_key(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("a key is the name of a field".to_owned()) } else { Ok(text.to_owned()) }
}

fn read_tolerance(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Decimal> {
    let number = match &node.content {
        Content::Number(number) => Decimal::of(number),
        _ => None,
    };
    match number.filter(|number| !number.is_negative() && !number.is_zero()) {
        Some(number) => Some(number),
        None => reader.refuse(node.at, format!("{place}: a number above 0 is needed, for example 0.01")),
    }
}

/// `true`. Its absence is false.
fn flag() -> impl Leaf<Value = bool> {
    typed(&["boolean"], |reader: &mut Reader<'_>, node: &Node, place: &str| match reader.truth(node, place)? {
        true => Some(true),
        false => reader.refuse(node.at, format!("{place}: only true makes sense; leave it out instead")),
    })
}

/// Reads a JSON Pointer. The empty text is the whole of `desired`.
pub(super) fn read_pointer(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<(Position, String, Vec<Step>)> {
    if matches!(&node.content, Content::Text(text) if text.is_empty()) {
        return Some((node.at, String::new(), Vec::new()));
    }
    let text = reader.literal(node, place)?;
    let Some(pointer) = text.strip_prefix('/').filter(|pointer| !pointer.is_empty()) else {
        return reader
            .refuse(node.at, format!("{place}: `{text}` is no path; write for example /listen or /labels/tier"));
    };
    if pointer.split('/').any(|segment| segment == "**") {
        let above = text.split("/**").next().unwrap_or_default();
        let whole = if above.is_empty() { "''" } else { above };
        let message = format!(
            "{place}: `**` is no step of a path; a rule holds for all that is below its path: write {whole}, or {above}/* for each key or \
             item there"
        );
        return reader.refuse(node.at, message);
    }
    let steps = pointer.split('/').map(read_step).collect::<Option<Vec<_>>>();
    match steps {
        Some(steps) => Some((node.at, text.to_owned(), steps)),
        None => {
            reader.refuse(node.at, format!("{place}: in a path, a `~` of a name is written ~0, and a `/` of a name ~1"))
        }
    }
}

fn read_step(segment: &str) -> Option<Step> {
    if segment == EVERY {
        return Some(Step::Every);
    }
    let is_escaped = segment.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    is_escaped.then(|| Step::Name(segment.replace("~1", "/").replace("~0", "~")))
}

/// Describes the type of a value.
pub(super) const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
