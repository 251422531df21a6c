//! Checks that a desired state fits the rules: the items of keyed lists have unique keys.
//!
//! Otherwise it would differ for ever, and corrections would repeat for ever. Errors contain the rule's path, as
//! written in the target, and nothing of the desired state. A scalar that `as` cannot parse fits: it is compared as it
//! is, and a correction can send it.

use std::collections::HashSet;

use serde_json::Value;

use super::effects::{Effects, ListKind};
use super::form::{Form, Meaning, json_of};
use super::rules::{RulePlace, Rules};

impl Rules {
    /// Returns true if some desired state can violate the rules.
    pub(super) fn ask_something(&self) -> bool {
        self.any(|Effects { form, list, ignore, .. }| {
            *form == Some(Form::Json) || matches!(list, Some(ListKind::Map(_))) || *ignore
        })
    }
}

/// Checks a desired state.
///
/// # Errors
/// Returns the first reason why it cannot be compared.
pub(super) fn check(place: &RulePlace<'_>, desired: &Value) -> Result<(), String> {
    match desired {
        Value::String(text) if place.form() == Some(Form::Json) => {
            json_of(text).map_or(Ok(()), |inner| check(&place.inside_text(), &inner))
        }
        Value::Object(fields) => fields.iter().try_for_each(|(name, field)| check(&place.field(name), field)),
        Value::Array(items) => check_items(place, items),
        _ => Ok(()),
    }
}

fn check_items(place: &RulePlace<'_>, items: &[Value]) -> Result<(), String> {
    let list = place.list();
    if let ListKind::Map(keys) = list {
        check_keys(place, keys, items)?;
    }
    for (position, item) in items.iter().enumerate() {
        let below = if *list == ListKind::Ordered { place.item(position) } else { place.any_item() };
        if below.is_ignored() {
            return Err(IGNORED_ITEM.to_owned());
        }
        check(&below, item)?;
    }
    Ok(())
}

/// The error for an ignored list item. A list is compared and sent as a whole.
pub(super) const IGNORED_ITEM: &str = "an item of a list cannot be ignored; ignore the list, or a field of its items";

fn check_keys(place: &RulePlace<'_>, keys: &[String], items: &[Value]) -> Result<(), String> {
    let mut known = HashSet::new();
    for item in items {
        if !item.is_object() {
            return Err(format!("{}: list: map, and an item of desired is no map", place.list_path()));
        }
        match item_key(&place.any_item(), keys, item) {
            Ok(key) if known.insert(key.clone()) => {}
            Ok(_) => {
                return Err(format!("{}: two items of desired have the same {}", place.list_path(), keys.join(", ")));
            }
            Err(missing) => {
                let advice = "each needs a text, a number, true or false there";
                return Err(format!("{}: an item of desired has no `{missing}`; {advice}", place.list_path()));
            }
        }
    }
    Ok(())
}

/// Returns the key of an item of a keyed list. `place` is the place of the item.
///
/// # Errors
/// Returns the first key that the item does not have.
pub fn item_key<'v, 'k>(
    place: &RulePlace<'_>,
    keys: &'k [String],
    item: &'v Value,
) -> Result<Vec<Meaning<'v>>, &'k str> {
    let key = |name: &str| place.field(name).key(item.as_object()?.get(name));
    keys.iter().map(|name| key(name).ok_or(name.as_str())).collect()
}
