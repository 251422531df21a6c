//! Compares the static part of `desired` with the rules.
//!
//! A rule that can never apply is a mistake in the target.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::effects::ListKind;
use super::fitness::{IGNORED_ITEM, check};
use super::form::{Form, json_of};
use super::rule_tree::Step;
use super::rules::RulePlace;
use super::written::kind;
use crate::cel::{Node as Template, Shape};
use crate::suggest::did_you_mean;

/// The static content of `desired` at a place.
#[derive(Clone)]
pub(super) enum DesiredPlace<'d> {
    /// Depends on the object.
    Unknown,
    Template(&'d Template),
    Constant(Cow<'d, Value>),
}

impl<'d> DesiredPlace<'d> {
    pub(super) fn of(template: &'d Template) -> Self {
        match template {
            Template::Constant(value) => Self::Constant(Cow::Borrowed(value)),
            Template::Expression(_) => Self::Unknown,
            other => Self::Template(other),
        }
    }

    /// Describes its type. `None` if it depends on the object.
    pub(super) fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Unknown | Self::Template(Template::Expression(_)) => None,
            Self::Template(Template::Constant(value)) => Some(kind(value)),
            Self::Constant(value) => Some(kind(value)),
            Self::Template(Template::Text(_)) => Some("a text"),
            Self::Template(Template::List(_)) => Some("a list"),
            Self::Template(Template::Map(_)) => Some("a map"),
        }
    }

    /// Returns the shape that a correction sees.
    pub(super) fn shape(&self, place: &RulePlace<'_>) -> Shape {
        if place.is_ignored() {
            return Shape::Ignored;
        }
        match self.children() {
            Some(fields) if self.kind() == Some("a map") => {
                let shaped = |(name, field): (String, Self)| {
                    let shape = field.shape(&place.field(&name));
                    (name, shape)
                };
                Shape::Map(fields.into_iter().map(shaped).collect::<BTreeMap<_, _>>())
            }
            _ => Shape::Unknown,
        }
    }

    fn children(&self) -> Option<Vec<(String, DesiredPlace<'d>)>> {
        match self {
            Self::Template(Template::Map(entries)) => {
                Some(entries.iter().map(|(name, field)| (name.clone(), Self::of(field))).collect())
            }
            Self::Template(Template::List(items)) => {
                Some(items.iter().enumerate().map(|(position, item)| (position.to_string(), Self::of(item))).collect())
            }
            Self::Constant(Cow::Borrowed(value)) => Self::constants(value, Cow::Borrowed),
            Self::Constant(Cow::Owned(value)) => Self::constants(value, |child| Cow::Owned(child.clone())),
            _ => None,
        }
    }

    fn constants<'c>(value: &'c Value, keep: impl Fn(&'c Value) -> Cow<'d, Value>) -> Option<Vec<(String, Self)>> {
        let constant = |child: &'c Value| Self::Constant(keep(child));
        match value {
            Value::Object(fields) => Some(fields.iter().map(|(name, field)| (name.clone(), constant(field))).collect()),
            Value::Array(items) => {
                Some(items.iter().enumerate().map(|(position, item)| (position.to_string(), constant(item))).collect())
            }
            _ => None,
        }
    }
}

/// Follows a rule's path.
///
/// # Errors
/// Returns the reason why the path cannot exist.
pub(super) fn look_up<'d>(
    desired: DesiredPlace<'d>,
    place: &RulePlace<'_>,
    path: &[Step],
) -> Result<Vec<DesiredPlace<'d>>, String> {
    let Some((step, below)) = path.split_first() else { return Ok(vec![desired]) };
    if let (Step::Name(name), ListKind::Set | ListKind::Map(_)) = (step, place.list())
        && name.parse::<usize>().is_ok()
    {
        return Err(format!("items of a set or a map have no places; write * in place of `{name}`"));
    }
    let desired = match desired {
        DesiredPlace::Constant(value) if value.is_string() && place.form() == Some(Form::Json) => value
            .as_str()
            .and_then(json_of)
            .map_or(DesiredPlace::Unknown, |inner| DesiredPlace::Constant(Cow::Owned(inner))),
        DesiredPlace::Template(Template::Text(_)) if place.form() == Some(Form::Json) => DesiredPlace::Unknown,
        other => other,
    };
    let (Some(kind), children) = (desired.kind(), desired.children()) else { return Ok(vec![DesiredPlace::Unknown]) };
    let Some(children) = children else {
        return Err(format!("desired has {kind} there, and nothing below it"));
    };
    match step {
        Step::Every => look_up_every(children, place, below),
        Step::Name(name) => match children.iter().find(|(known, _)| known == name) {
            Some((_, child)) => look_up(child.clone(), &place.field(name), below),
            None if kind == "a list" && name.parse::<usize>().is_err() => {
                Err(format!("desired has a list there; write * for every item in place of `{name}`"))
            }
            None if kind == "a list" => Err(format!("desired has {} items there, counted from 0", children.len())),
            // Unmanaged fields are compared at such a place.
            None if kind == "a map" && place.refuses_more_fields() => Ok(vec![DesiredPlace::Unknown]),
            None => {
                let known = children.iter().map(|(known, _)| known.as_str());
                Err(format!("desired has no `{name}` there{}", did_you_mean(name, known)))
            }
        },
    }
}

/// The keys of a desired map that the observed state never has, each with its consequence.
pub(super) fn unobserved(
    desired: &DesiredPlace<'_>,
    observed: &DesiredPlace<'_>,
    root: &RulePlace<'_>,
) -> Vec<(String, String)> {
    let [desired, known] = [desired, observed].map(|known| known.children().filter(|_| known.kind() == Some("a map")));
    let (Some(desired), Some(known)) = (desired, known) else { return Vec::new() };
    let is_absent = |place: RulePlace<'_>, expected: &DesiredPlace<'_>| match expected {
        DesiredPlace::Constant(value) => place.is_absent(value),
        _ => false,
    };
    let is_lacked = |(name, expected): &(String, DesiredPlace<'_>)| {
        let place = root.field(name);
        !known.iter().any(|(known, _)| known == name) && !is_absent(place, expected) && !place.is_ignored()
    };
    let told = |(name, _): (String, DesiredPlace<'_>)| {
        let hint = did_you_mean(&name, known.iter().map(|(known, _)| known.as_str()));
        let message = format!("`observed` of the read has no `{name}`, so that it differs in every poll{hint}");
        (name, message)
    };
    desired.into_iter().filter(is_lacked).map(told).collect()
}

/// Returns true if both maps have the same constant at a key.
pub(super) fn is_same_constant(desired: &DesiredPlace<'_>, observed: &DesiredPlace<'_>, key: &str) -> bool {
    let [desired, known] = [desired, observed].map(|known| {
        let field =
            known.children().filter(|_| known.kind() == Some("a map"))?.into_iter().find(|(name, _)| name == key);
        match field {
            Some((_, DesiredPlace::Constant(value))) => Some(value),
            _ => None,
        }
    });
    desired.is_some() && desired == known
}

/// Follows a `*`, which may match below only some of the items.
fn look_up_every<'d>(
    children: Vec<(String, DesiredPlace<'d>)>,
    place: &RulePlace<'_>,
    below: &[Step],
) -> Result<Vec<DesiredPlace<'d>>, String> {
    let mut found = Vec::new();
    let mut mistake = None;
    for (_, child) in children {
        match look_up(child, &place.any_item(), below) {
            Ok(known) => found.extend(known),
            Err(cause) => mistake = mistake.or(Some(cause)),
        }
    }
    match mistake {
        Some(cause) if found.is_empty() => Err(cause),
        _ => Ok(found),
    }
}

/// Returns the error if a rule ignores items of a list.
pub(super) fn ignored_item(desired: DesiredPlace<'_>, root: &RulePlace<'_>, path: &[Step]) -> Option<&'static str> {
    let (_, above) = path.split_last()?;
    let is_list = |known: &DesiredPlace<'_>| known.kind() == Some("a list");
    let found = look_up(desired, root, above).unwrap_or_default();
    (!found.is_empty() && found.iter().all(is_list)).then_some(IGNORED_ITEM)
}

/// Checks the constant parts of `desired`.
///
/// # Errors
/// Returns the first reason why no desired state could be compared.
pub(super) fn check_constants(desired: &Template, place: &RulePlace<'_>) -> Result<(), String> {
    match desired {
        Template::Constant(value) => check(place, value),
        Template::Map(entries) => {
            entries.iter().try_for_each(|(name, field)| check_constants(field, &place.field(name)))
        }
        Template::List(items) if *place.list() == ListKind::Ordered => {
            items.iter().enumerate().try_for_each(|(position, item)| check_constants(item, &place.item(position)))
        }
        Template::List(items) => items.iter().try_for_each(|item| check_constants(item, &place.any_item())),
        Template::Expression(_) | Template::Text(_) => Ok(()),
    }
}
