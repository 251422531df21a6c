//! Keyed lists: some fields identify an item, and the order has no meaning.

use std::collections::HashMap;

use drift_language::{Meaning, RulePlace, item_key};
use serde_json::Value;

use super::fulfilment::Comparison;

/// Maximum items of a list whose keys are compared pairwise: for a few dozen this is faster than a table.
const MAX_IN_PLACE: usize = 32;

/// Items of two keyed lists with the same key.
pub(super) struct KeyedPair<'v> {
    pub(super) expected: &'v Value,
    /// Observed items with the key: exactly one in the normal case.
    pub(super) real: Vec<&'v Value>,
}

/// Assignment of items to each other.
pub(super) struct KeyedMatch<'v> {
    /// Pairs in the order of the desired state.
    pub(super) pairs: Vec<KeyedPair<'v>>,
    /// Observed items without a key, or with a key that the desired state does not contain.
    pub(super) unexpected: Vec<&'v Value>,
}

impl Comparison {
    /// Fast path for the most common case: no item has moved.
    pub(super) fn fulfils_in_place(
        &self,
        place: &RulePlace<'_>,
        keys: &[String],
        desired: &[Value],
        real: &[Value],
    ) -> bool {
        let item = place.any_item();
        are_in_place(place, keys, desired, real)
            && desired.iter().zip(real).all(|(expected, observed)| self.fulfils(&item, expected, Some(observed)))
    }

    pub(super) fn fulfils_keyed(
        &self,
        place: &RulePlace<'_>,
        keys: &[String],
        desired: &[Value],
        real: &[Value],
    ) -> bool {
        let item = place.any_item();
        let KeyedMatch { pairs, unexpected } = match_keyed(place, keys, desired, real);
        (unexpected.is_empty() || !place.refuses_more_items())
            && pairs.iter().all(|pair| match pair.real.as_slice() {
                [observed] => self.fulfils(&item, pair.expected, Some(observed)),
                _ => false,
            })
    }
}

/// Returns true if each observed item is at the position of the desired item with its keys, which is the normal case.
/// Returns false for long lists without a check.
pub(super) fn are_in_place(place: &RulePlace<'_>, keys: &[String], desired: &[Value], real: &[Value]) -> bool {
    let item = place.any_item();
    desired.len() == real.len()
        && desired.len() <= MAX_IN_PLACE
        && same_columns(&item, keys, desired, real).is_some_and(|columns| tell_apart(&columns, desired.len()))
}

/// Assigns the items to each other. Of desired items with equal or missing keys, at most one has a counterpart, so that
/// nothing fulfils them. Such a desired state was already rejected.
pub(super) fn match_keyed<'v>(
    place: &RulePlace<'_>,
    keys: &[String],
    desired: &'v [Value],
    real: &'v [Value],
) -> KeyedMatch<'v> {
    let below = place.any_item();
    let mut positions: HashMap<Vec<Meaning<'_>>, usize> = HashMap::with_capacity(desired.len());
    let mut pairs: Vec<_> = desired.iter().map(|expected| KeyedPair { expected, real: Vec::new() }).collect();
    for (position, expected) in desired.iter().enumerate() {
        if let Ok(key) = item_key(&below, keys, expected) {
            positions.insert(key, position);
        }
    }
    let mut unexpected = Vec::new();
    for item in real {
        let position = item_key(&below, keys, item).ok().and_then(|key| positions.get(&key));
        match position.and_then(|position| pairs.get_mut(*position)) {
            Some(pair) => pair.real.push(item),
            None => unexpected.push(item),
        }
    }
    KeyedMatch { pairs, unexpected }
}

/// Returns the column of desired values for each key, if the observed items have the same ones. `item` is
/// the items' place.
fn same_columns<'v>(
    item: &RulePlace<'_>,
    keys: &[String],
    desired: &'v [Value],
    real: &'v [Value],
) -> Option<Vec<Vec<Meaning<'v>>>> {
    let column = |key: &String| {
        let place = item.field(key);
        let of = |items: &'v [Value]| {
            items.iter().map(|item| place.key(item.as_object()?.get(key))).collect::<Option<Vec<_>>>()
        };
        of(desired).filter(|expected| of(real).is_some_and(|real| real == *expected))
    };
    keys.iter().map(column).collect()
}

/// Returns true if no two items have the same keys.
fn tell_apart(columns: &[Vec<Meaning<'_>>], items: usize) -> bool {
    let are_same = |one: usize, other: usize| columns.iter().all(|column| column.get(one) == column.get(other));
    (0..items).all(|one| (0..one).all(|other| !are_same(one, other)))
}
