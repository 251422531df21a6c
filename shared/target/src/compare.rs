//! `compare`: what the observed state is compared with, and the exceptions by path.

use serde_json::Value;

use crate::cel::suggest::did_you_mean;
use crate::cel::{Node as ValueNode, Scope, ValueTemplate};
use crate::raw::Reader;
use crate::templates::read_value;
use crate::yaml::Node;

/// Rules of one target.
const MAX_RULES: usize = 200;

/// What the observed state is compared with.
#[derive(Debug)]
pub struct Compare {
    /// The wish.
    pub desired: ValueTemplate,
    /// Exceptions by path.
    pub rules: Vec<Rule>,
}

/// One rule of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// JSON Pointer into `desired`; applies to everything below.
    pub path: Vec<String>,
    /// What it does.
    pub effect: RuleEffect,
}

/// What a rule does to its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleEffect {
    /// Neither compared nor sent.
    Ignore,
    /// Compared and sent, never shown, and left out of the wish.
    Redact,
}

impl Compare {
    /// Takes out of a value every path that has a rule of this effect. An item of a list is redacted to null, so that
    /// the others keep their places; it cannot be ignored, since a list is compared and sent as a whole.
    pub(super) fn without(&self, effect: RuleEffect, value: &mut Value) {
        for rule in self.rules.iter().filter(|rule| rule.effect == effect) {
            remove(value, &rule.path, effect);
        }
    }

    /// Whether a rule of this effect exists.
    pub(super) fn has(&self, effect: RuleEffect) -> bool {
        self.rules.iter().any(|rule| rule.effect == effect)
    }
}

fn remove(value: &mut Value, path: &[String], effect: RuleEffect) {
    let Some((field, below)) = path.split_first() else { return };
    match value {
        Value::Object(fields) if below.is_empty() => {
            fields.remove(field);
        }
        Value::Object(fields) => {
            if let Some(inner) = fields.get_mut(field) {
                remove(inner, below, effect);
            }
        }
        Value::Array(items) => match field.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
            Some(item) if below.is_empty() && effect == RuleEffect::Redact => *item = Value::Null,
            Some(item) => remove(item, below, effect),
            None => {}
        },
        _ => {}
    }
}

pub(super) fn read_compare(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Compare> {
    let fields = reader.fields(node, place, &["desired", "rules"])?;
    let desired = reader
        .required(&fields, "desired")
        .and_then(|node| read_value(reader, node, &reader.site(&fields.place("desired"), Scope::Wish)));
    let rules = reader
        .or(&fields, "rules", Vec::new(), |reader, node, place| read_rules(reader, node, place, desired.as_ref()));
    Some(Compare { desired: desired?, rules: rules? })
}

fn read_rules(reader: &mut Reader<'_>, node: &Node, place: &str, desired: Option<&ValueTemplate>) -> Option<Vec<Rule>> {
    let items = reader.items(node, place, 1..=MAX_RULES)?;
    let mut rules: Vec<Rule> = Vec::new();
    let mut whole = true;
    for (position, item) in items.iter().enumerate() {
        match read_rule(reader, item, &format!("{place}[{position}]"), desired) {
            Some(rule) if rules.iter().any(|known| known.path == rule.path) => {
                reader.refuse::<()>(item.at, format!("{place}[{position}]: this path already has a rule"));
                whole = false;
            }
            Some(rule) => rules.push(rule),
            None => whole = false,
        }
    }
    whole.then_some(rules)
}

fn read_rule(reader: &mut Reader<'_>, node: &Node, place: &str, desired: Option<&ValueTemplate>) -> Option<Rule> {
    let fields = reader.fields(node, place, &["path", "ignore", "redact"])?;
    let path = reader.required(&fields, "path").and_then(|node| {
        let place = fields.place("path");
        let path = read_pointer(reader, node, &place)?;
        match desired.map(|desired| unmatched(desired.root(), &path)) {
            Some(Some(hint)) => reader.refuse(node.at, format!("{place}: {hint}")),
            _ => Some(path),
        }
    });
    let effect = match (fields.get("ignore"), fields.get("redact")) {
        (Some(node), None) => read_effect(reader, node, &fields.place("ignore"), RuleEffect::Ignore),
        (None, Some(node)) => read_effect(reader, node, &fields.place("redact"), RuleEffect::Redact),
        _ => reader.refuse(fields.at(), format!("{place}: exactly one of ignore: true, redact: true is needed")),
    };
    Some(Rule { path: path?, effect: effect? })
}

fn read_effect(reader: &mut Reader<'_>, node: &Node, place: &str, effect: RuleEffect) -> Option<RuleEffect> {
    match reader.truth(node, place)? {
        true => Some(effect),
        false => reader.refuse(node.at, format!("{place}: only true makes sense; leave the rule out instead")),
    }
}

fn read_pointer(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<String>> {
    let text = reader.literal(node, place)?;
    let Some(pointer) = text.strip_prefix('/').filter(|pointer| !pointer.is_empty()) else {
        return reader
            .refuse(node.at, format!("{place}: `{text}` is no path; write for example /listen or /labels/tier"));
    };
    Some(pointer.split('/').map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect())
}

/// Why a path can match nothing in `desired`, as far as that is known without an object.
fn unmatched(desired: &ValueNode, path: &[String]) -> Option<String> {
    let (field, below) = path.split_first()?;
    let known: Vec<&str> = match desired {
        ValueNode::Map(entries) => match entries.iter().find(|(name, _)| name == field) {
            Some((_, inner)) => return unmatched(inner, below),
            None => entries.iter().map(|(name, _)| name.as_str()).collect(),
        },
        ValueNode::Constant(Value::Object(fields)) if !fields.contains_key(field) => {
            fields.keys().map(String::as_str).collect()
        }
        _ => return None,
    };
    Some(format!("desired has no `{field}` there{}", did_you_mean(field, known)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_removed_wherever_they_lead() {
        let table = [
            (json!({"a": 1, "b": 2}), vec!["a"], json!({"b": 2})),
            (json!({"a": {"b": 1, "c": 2}}), vec!["a", "b"], json!({"a": {"c": 2}})),
            (json!({"a": [{"b": 1}, {"b": 2}]}), vec!["a", "1", "b"], json!({"a": [{"b": 1}, {}]})),
            (json!({"a": [1, 2]}), vec!["a", "0"], json!({"a": [null, 2]})),
            (json!({"a": 1}), vec!["x", "y"], json!({"a": 1})),
            (json!({"a": 1}), vec!["a", "y"], json!({"a": 1})),
        ];
        for (mut value, path, expected) in table {
            remove(&mut value, &path.iter().map(|&field| field.to_owned()).collect::<Vec<_>>(), RuleEffect::Redact);
            assert_eq!(value, expected, "{path:?}");
        }
    }

    #[test]
    fn an_item_of_a_list_cannot_be_ignored() {
        let mut value = json!({"a": [1, {"b": 1, "c": 2}]});
        for path in [["a", "0"].as_slice(), &["a", "1", "b"]] {
            remove(&mut value, &path.iter().map(|&field| field.to_owned()).collect::<Vec<_>>(), RuleEffect::Ignore);
        }
        assert_eq!(value, json!({"a": [1, {"c": 2}]}));
    }
}
