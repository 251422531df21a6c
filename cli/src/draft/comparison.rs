//! The section `compare` of a draft, and the fields that it leaves out.

use std::fmt::Write as _;

use drift_api::printable::printable;
use serde_json::Value;
use url::Url;

use super::fields::{Field, plain};
use super::matching::{AnswerField, Match, Matches};
use super::sample_url::values_in;
use super::text::{comment, is_special, key, quoted};
use crate::check::document::PLACEHOLDER;

/// Names that servers give to fields of their own.
const OF_SERVERS: [&str; 17] = [
    "id",
    "uid",
    "uuid",
    "guid",
    "etag",
    "href",
    "self",
    "link",
    "links",
    "url",
    "uri",
    "revision",
    "status",
    "state",
    "phase",
    "createdby",
    "updatedby",
];
/// Beginnings of names of such fields.
const BEGINNINGS: [&str; 6] = ["created", "creation", "updated", "modified", "lastmodified", "lastupdated"];

/// Compares the matched fields.
pub(super) fn compare(matches: &Matches<'_>, url: Option<&Url>) -> String {
    let mut text = "  compare:\n".to_owned();
    if matches.found.iter().any(|one| one.field.is_optional()) {
        text +=
            "    # A field with .? is compared only if the object has it. `.orValue(…)` behind it gives a default.\n";
    }
    if matches.found.iter().any(Match::parses_text) {
        text += "    # int and double fail on a quantity or a duration: compare these by a rule `as: quantity` or `as: duration`.\n";
    }
    for one in matches.found.iter().filter(|one| has_added_dot(one.answer.value, url)) {
        let note = format!(
            "The answer's {} ends with a dot, and the address does not. If the object's does not either, write `+ '.'`.",
            one.answer.shown()
        );
        text += &comment("    ", &note);
    }
    text += "    desired:\n";
    let length = matches.base.len();
    let mut all: Vec<(&[&str], &Match<'_>)> =
        matches.found.iter().map(|one| (&one.answer.path[length..], one)).collect();
    all.sort_by_key(|(path, _)| *path);
    let mut above: &[&str] = &[];
    for (path, one) in &all {
        let shared = path.iter().zip(above).take_while(|(left, right)| left == right).count();
        let (last, wrappers) = path.split_last().unwrap_or((&"", &[]));
        for (depth, name) in wrappers.iter().enumerate().skip(shared) {
            let _ = writeln!(text, "{}{}:", " ".repeat(6 + 2 * depth), key(name));
        }
        let template = quoted(&format!("${{{}}}", one.desired));
        let _ = writeln!(text, "{}{}: {template}", " ".repeat(6 + 2 * wrappers.len()), key(last));
        above = wrappers;
    }
    text + &rules(&all)
}

/// Returns true for a name of the address to which the server adds the dot of a whole DNS name.
fn has_added_dot(value: &Value, url: Option<&Url>) -> bool {
    let name = value.as_str().and_then(|text| text.strip_suffix('.'));
    name.is_some_and(|name| url.is_some_and(|url| values_in(url).iter().any(|part| part == name)))
}

/// The rules for lists without an order, and those that others may need as comments.
fn rules(all: &[(&[&str], &Match<'_>)]) -> String {
    let mut text = String::new();
    for (path, one) in all {
        let Some(rule) = rule_of(one.field) else { continue };
        if text.is_empty() {
            text += "    rules:\n";
        }
        let _ = writeln!(text, "    - {{path: {}, {rule}}}", pointer(path));
    }
    let ordered: Vec<_> = all.iter().filter(|(_, one)| one.is_ordered()).collect();
    if ordered.is_empty() {
        return text;
    }
    let head = if text.is_empty() { "    # rules:\n" } else { "" };
    text += &comment("    ", "Lists are compared in order. If yours has none, or the server sorts it, add:");
    text += head;
    for (path, one) in ordered {
        let rule = if one.has_objects() { format!("list: map, keys: [{PLACEHOLDER}]") } else { "list: set".to_owned() };
        let _ = writeln!(text, "    # - {{path: {}, {rule}}}", pointer(path));
    }
    text
}

/// The rule of a list that the schema gives no order.
fn rule_of(field: &Field) -> Option<String> {
    let keys: Option<Vec<_>> = field.schema["x-kubernetes-list-map-keys"]
        .as_array()
        .map(|keys| keys.iter().filter_map(Value::as_str).map(key).collect());
    match (field.schema["x-kubernetes-list-type"].as_str(), keys) {
        (Some("set"), _) => Some("list: set".to_owned()),
        (Some("map"), Some(keys)) => Some(format!("list: map, keys: [{}]", keys.join(", "))),
        _ => None,
    }
}

/// The JSON Pointer of a field of the answer.
fn pointer(path: &[&str]) -> String {
    let pointer: String = path.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect();
    if pointer.contains(is_special) { quoted(&pointer) } else { pointer }
}

/// The fields that are not compared, each with the reason.
pub(super) fn remarks(matches: &Matches<'_>) -> String {
    let mut text = String::new();
    if !matches.left.is_empty() {
        text += "# Fields of the kind that are not compared:\n";
    }
    for (field, reason) in &matches.left {
        text += &comment("", &format!("- {}: {reason}", printable(&field.shown())));
    }
    // The reasons above name them already.
    let is_of_kind = |one: &&AnswerField<'_>| {
        let name = one.path.last().map(|name| plain(name));
        !matches.left.iter().any(|(field, _)| {
            field.path.last().map(|last| plain(last)) == name
                || matches.similar(field).is_some_and(|similar| similar.path == one.path)
        })
    };
    let unused = matches.unused.iter().filter(is_of_kind);
    let (of_server, others): (Vec<_>, Vec<_>) = unused.partition(|one| is_of_server(one));
    let names = |fields: &[&AnswerField<'_>]| fields.iter().map(|one| one.shown()).collect::<Vec<_>>().join(", ");
    if !of_server.is_empty() {
        text += &comment("", &format!("Fields of the answer that the server seems to set: {}", names(&of_server)));
    }
    if !others.is_empty() {
        text += &comment("", &format!("Fields of the answer that the kind does not have: {}", names(&others)));
    }
    text
}

fn is_of_server(field: &AnswerField<'_>) -> bool {
    field.path.iter().any(|name| {
        let plain = plain(name);
        OF_SERVERS.contains(&plain.as_str()) || BEGINNINGS.iter().any(|begin| plain.starts_with(begin))
    })
}
