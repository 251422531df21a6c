//! One rule as written: a path and one or more effects.

use std::collections::HashSet;

use serde_json::Value;

use super::effects::{Effects, Empty, Extra, ListKind};
use super::form::Form;
use super::rule_tree::Step;
use crate::values::decimal::Decimal;
use crate::yaml::{Content, Fields, Node, Position, Reader};

/// Maximum number of key fields of one list. More fields are not a sensible key.
const MAX_KEYS: usize = 8;
/// Matches every key and every item.
const EVERY: &str = "*";
/// The keys of a rule.
pub(crate) const RULE_KEYS: [&str; 11] =
    ["path", "list", "keys", "extra", "empty", "as", "tolerance", "ignore", "redact", "show", "change"];

/// One rule as written.
pub(super) struct WrittenRule {
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

pub(super) fn read_rule(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<WrittenRule> {
    let fields = reader.fields(node, place, &RULE_KEYS)?;
    let path = reader.needed(&fields, "path", read_pointer);
    let effects = read_effects(reader, &fields);
    let (at, pointer, path) = path?;
    let effects = effects?;
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

fn read_effects(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Effects> {
    let list = read_list(reader, fields);
    let extra = reader.optional(fields, "extra", |reader, node, place| {
        reader.choice(
            node,
            place,
            &[("drift", Extra::Drift), ("driftBelow", Extra::DriftBelow), ("allow", Extra::Allow)],
        )
    });
    let empty = reader.optional(fields, "empty", |reader, node, place| {
        reader.choice(node, place, &[("absent", Empty::Absent), ("present", Empty::Present)])
    });
    let form = reader.optional(fields, "as", |reader, node, place| reader.choice(node, place, Form::WORDS.as_slice()));
    let tolerance = reader.optional(fields, "tolerance", read_tolerance);
    let [ignore, redact, show] = ["ignore", "redact", "show"].map(|key| reader.or(fields, key, false, read_flag));
    let replace =
        reader.optional(fields, "change", |reader, node, place| reader.choice(node, place, &[("replace", ())]));
    Some(Effects {
        list: list?,
        extra: extra?,
        empty: empty?,
        form: form?,
        tolerance: tolerance?,
        ignore: ignore?,
        redact: redact?,
        show: show?,
        replace: replace?.is_some(),
    })
}

fn read_list(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Option<ListKind>> {
    let words = [("ordered", ListWord::Ordered), ("set", ListWord::Set), ("map", ListWord::Map)];
    let word = reader.optional(fields, "list", |reader, node, place| reader.choice(node, place, &words))?;
    let keys = reader.optional(fields, "keys", read_keys)?;
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

fn read_keys(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<String>> {
    let mut known = HashSet::new();
    reader.list(node, place, 1..=MAX_KEYS, |reader, item, place| {
        let key = reader.literal(item, place)?;
        if key.is_empty() {
            return reader.refuse(item.at, format!("{place}: a key is the name of a field"));
        }
        if !known.insert(key.to_owned()) {
            return reader.refuse(item.at, format!("{place}: `{key}` is written twice"));
        }
        Some(key.to_owned())
    })
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

fn read_flag(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<bool> {
    match reader.truth(node, place)? {
        true => Some(true),
        false => reader.refuse(node.at, format!("{place}: only true makes sense; leave it out instead")),
    }
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
