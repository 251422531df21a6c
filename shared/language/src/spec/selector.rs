//! Label selectors in kubectl's syntax, matched in-process. A watch with a selector would report a relabelled
//! object as deleted.

use std::collections::BTreeMap;
use std::fmt;

use kube_core::{Expression, SelectorExt};
use serde_json::Value;

use crate::values::names::{is_label_value, is_qualified_name};

/// A parsed `labelSelector` text (kubectl syntax: `a=b,c!=d,e in (x,y),f notin (z),g,!h`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelSelector {
    /// The parsed requirements, sorted so that the order in the text does not matter.
    expressions: Vec<Expression>,
}

impl LabelSelector {
    /// Parses kubectl's syntax. The empty text selects everything.
    ///
    /// # Errors
    /// Returns the syntax error.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut expressions = split(text).into_iter().map(expression).collect::<Result<Vec<_>, _>>()?;
        expressions.sort();
        expressions.dedup();
        Ok(Self { expressions })
    }

    /// Returns true if it selects every object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty()
    }

    /// Returns true if it depends on the label with that key.
    #[must_use]
    pub fn asks_for(&self, label: &str) -> bool {
        self.expressions.iter().any(|expression| match expression {
            Expression::In(key, _)
            | Expression::NotIn(key, _)
            | Expression::Equal(key, _)
            | Expression::NotEqual(key, _)
            | Expression::Exists(key)
            | Expression::DoesNotExist(key) => key == label,
        })
    }

    /// Returns true if the labels of an object (`metadata.labels`) match.
    #[must_use]
    pub fn matches(&self, labels: Option<&Value>) -> bool {
        self.expressions.is_empty() || self.unmet(labels).next().is_none()
    }

    /// Returns the requirements that the labels of an object do not meet, as they are written.
    pub fn unmet(&self, labels: Option<&Value>) -> impl Iterator<Item = String> {
        let fields = labels.and_then(Value::as_object).into_iter().flatten();
        let texts = fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        let labels: BTreeMap<String, String> = texts.collect();
        self.expressions.iter().filter(move |expression| !expression.matches(&labels)).map(ToString::to_string)
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.expressions.iter().map(ToString::to_string).collect();
        formatter.write_str(&texts.join(","))
    }
}

/// Splits at the commas outside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|character| {
        match character {
            '(' => inside = true,
            ')' => inside = false,
            _ => {}
        }
        character == ',' && !inside
    })
    .map(str::trim)
    .collect()
}

fn expression(text: &str) -> Result<Expression, String> {
    if let Some(key) = text.strip_prefix('!') {
        return Ok(Expression::DoesNotExist(label_key(key)?));
    }
    if let Some((front, values)) = text.split_once('(') {
        return set_expression(text, front, values);
    }
    let parts = text.split_once("!=").map(|(key, value)| (key, value, true));
    let parts = parts
        .or_else(|| text.split_once("==").or_else(|| text.split_once('=')).map(|(key, value)| (key, value, false)));
    match parts {
        Some((key, value, true)) => Ok(Expression::NotEqual(label_key(key)?, label_value(value)?)),
        Some((key, value, false)) => Ok(Expression::Equal(label_key(key)?, label_value(value)?)),
        None => Ok(Expression::Exists(label_key(text)?)),
    }
}

fn set_expression(text: &str, front: &str, values: &str) -> Result<Expression, String> {
    let form = || format!("`{text}` is no selector; write for example `tier in (a, b)`");
    let values = values.strip_suffix(')').ok_or_else(form)?;
    let (key, operator) = front.trim_end().rsplit_once(char::is_whitespace).ok_or_else(form)?;
    let key = label_key(key)?;
    let values = values.split(',').map(label_value).collect::<Result<_, _>>()?;
    match operator {
        "in" => Ok(Expression::In(key, values)),
        "notin" => Ok(Expression::NotIn(key, values)),
        other => Err(format!("unknown operator `{other}`; known: =, !=, in, notin, key, !key")),
    }
}

fn label_key(text: &str) -> Result<String, String> {
    let key = text.trim();
    is_qualified_name(key).then(|| key.to_owned()).ok_or_else(|| format!("`{key}` is no label key"))
}

fn label_value(text: &str) -> Result<String, String> {
    let value = text.trim();
    is_label_value(value).then(|| value.to_owned()).ok_or_else(|| format!("`{value}` is no label value"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn selectors_match_as_kubectl_does() {
        let labels = json!({"tier": "prod", "example.com/team": "a", "empty": ""});
        let table = [
            ("", true),
            ("tier=prod", true),
            ("tier==prod", true),
            ("tier = prod , example.com/team=a", true),
            ("tier=test", false),
            ("tier!=test", true),
            ("absent!=x", true),
            ("tier in (test, prod)", true),
            ("tier in (test)", false),
            ("tier notin (test,stage)", true),
            ("absent notin (x)", true),
            ("absent in (x)", false),
            ("tier", true),
            ("absent", false),
            ("!absent", true),
            ("!tier", false),
            ("empty=", true),
            ("tier=prod,!empty", false),
        ];
        for (text, expected) in table {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(Some(&labels)), expected, "{text}");
        }
        assert!(!LabelSelector::parse("tier").unwrap().matches(None));
        assert!(LabelSelector::parse("!tier").unwrap().matches(None));
    }

    #[test]
    fn wrong_selectors_say_why() {
        let table = [
            ("tier=pr od", "`pr od` is no label value"),
            ("a b", "`a b` is no label key"),
            ("tier of (a)", "unknown operator `of`; known: =, !=, in, notin, key, !key"),
            ("tier in (a", "`tier in (a` is no selector; write for example `tier in (a, b)`"),
            ("a=b,", "`` is no label key"),
            ("a>1", "`a>1` is no label key"),
        ];
        for (text, expected) in table {
            assert_eq!(LabelSelector::parse(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn the_order_of_a_selector_makes_no_difference() {
        assert_eq!(LabelSelector::parse("a=1,b in (y,x)").unwrap(), LabelSelector::parse("b in (x, y), a==1").unwrap());
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "[a-c=!(), innot./]{0,24}") {
            if let Ok(selector) = LabelSelector::parse(&text) {
                prop_assert_eq!(LabelSelector::parse(&selector.to_string()).unwrap(), selector);
            }
        }
    }
}
