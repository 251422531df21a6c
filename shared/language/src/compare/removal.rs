//! Removes ignored or redacted paths from a desired state.

use serde_json::Value;

use super::form::Form;
use super::form::json_of;
use super::rules::RulePlace;

/// The kind of paths to remove.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// Ignored paths, which are neither compared nor sent.
    Ignored,
    /// Redacted paths, which are never shown. A fingerprint must not reveal them either.
    Redacted,
}

impl Removal {
    const fn holds(self, place: &RulePlace<'_>) -> bool {
        match self {
            Self::Ignored => place.is_ignored(),
            Self::Redacted => place.is_redacted(),
        }
    }

    /// Removes the paths from a value. A list item is redacted to null, so that the others keep their positions. It
    /// cannot be ignored, because a list is compared and sent as a whole.
    pub(super) fn apply(self, place: &RulePlace<'_>, value: &mut Value) {
        if !place.has_rules_below() {
            return;
        }
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !self.holds(&place.field(name)));
                for (name, field) in fields {
                    self.apply(&place.field(name), field);
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    let below = place.item(position);
                    match self.holds(&below) {
                        true if self == Self::Redacted => *item = Value::Null,
                        true => {}
                        false => self.apply(&below, item),
                    }
                }
            }
            Value::String(text) if place.form() == Some(Form::Json) => self.apply_within(place, text),
            _ => {}
        }
    }

    /// Applies the removal inside a text that holds JSON. The text is rewritten only if something is removed.
    fn apply_within(self, place: &RulePlace<'_>, text: &mut String) {
        let Some(before) = json_of(text) else { return };
        let mut after = before.clone();
        self.apply(&place.inside_text(), &mut after);
        if after != before {
            *text = after.to_string();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::effects::Effects;
    use super::super::rule_tree::{RuleTree, Step};
    use super::super::rules::Rules;
    use super::*;
    use serde_json::json;

    fn without(removal: Removal, paths: &[&[&str]], mut value: Value) -> Value {
        let mut rules = RuleTree::default();
        for path in paths {
            let step = |name: &&str| if *name == "*" { Step::Every } else { Step::Name((*name).to_owned()) };
            let effects = Effects {
                ignore: removal == Removal::Ignored,
                redact: removal == Removal::Redacted,
                ..Effects::default()
            };
            rules.add(&path.iter().map(step).collect::<Vec<_>>(), "", effects);
        }
        let json = Effects { form: Some(Form::Json), ..Effects::default() };
        rules.add(&[Step::Name("json".to_owned())], "/json", json);
        removal.apply(&Rules::of(rules).unwrap().root(), &mut value);
        value
    }

    #[test]
    fn paths_are_removed_wherever_they_lead() {
        let table = [
            (json!({"a": 1, "b": 2}), vec!["a"], json!({"b": 2})),
            (json!({"a": {"b": 1, "c": 2}}), vec!["a", "b"], json!({"a": {"c": 2}})),
            (json!({"a": [{"b": 1}, {"b": 2}]}), vec!["a", "1", "b"], json!({"a": [{"b": 1}, {}]})),
            (json!({"a": [{"b": 1}, {"b": 2}]}), vec!["a", "*", "b"], json!({"a": [{}, {}]})),
            (json!({"a": {"x": {"b": 1}, "y": {"c": 2}}}), vec!["*", "*", "b"], json!({"a": {"x": {}, "y": {"c": 2}}})),
            (json!({"a": [1, 2]}), vec!["a", "0"], json!({"a": [null, 2]})),
            (json!({"a": [1, 2]}), vec!["a", "*"], json!({"a": [null, null]})),
            (json!({"a": {"b": 1, "c": 2}}), vec!["a", "*"], json!({"a": {}})),
            (json!({"a": 1}), vec!["x", "y"], json!({"a": 1})),
            (json!({"a": 1}), vec!["a", "y"], json!({"a": 1})),
            (json!({"json": "{\"b\": 1, \"c\": 2}"}), vec!["json", "b"], json!({"json": "{\"c\":2}"})),
            (json!({"json": "{ \"c\": 2 }"}), vec!["json", "b"], json!({"json": "{ \"c\": 2 }"})),
        ];
        for (value, path, expected) in table {
            assert_eq!(without(Removal::Redacted, &[&path], value), expected, "{path:?}");
        }
    }

    #[test]
    fn an_item_of_a_list_cannot_be_ignored() {
        let value = json!({"a": [1, {"b": 1, "c": 2}]});
        let paths: [&[&str]; 2] = [&["a", "0"], &["a", "1", "b"]];
        assert_eq!(without(Removal::Ignored, &paths, value), json!({"a": [1, {"c": 2}]}));
    }
}
