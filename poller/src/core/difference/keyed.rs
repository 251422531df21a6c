//! Keyed lists: items are told apart by some of their fields, and their order says nothing.
//!
//! It must not know of other kinds of lists.

use std::collections::HashMap;

use drift_target::{Meaning, Place, item_key};
use serde_json::Value;

use super::fulfilment::Comparison;

/// Items of two keyed lists with one key.
pub(super) struct KeyedPair<'v> {
    pub(super) wish: &'v Value,
    /// Those outside: exactly one where all is well.
    pub(super) real: Vec<&'v Value>,
}

/// Which items belong together.
pub(super) struct KeyedMatch<'v> {
    /// In the order of the wish.
    pub(super) pairs: Vec<KeyedPair<'v>>,
    /// Those outside whose key the wish does not have, or that have none.
    pub(super) unexpected: Vec<&'v Value>,
    is_fulfilled: bool,
}

impl KeyedMatch<'_> {
    pub(super) fn is_fulfilled(&self, place: &Place<'_>) -> bool {
        self.is_fulfilled && (self.unexpected.is_empty() || !place.refuses_more_items())
    }
}

impl Comparison {
    pub(super) fn match_keyed<'v>(
        &self,
        place: &Place<'_>,
        keys: &[String],
        wished: &'v [Value],
        real: &'v [Value],
    ) -> KeyedMatch<'v> {
        let below = place.any_item();
        let mut pairs = Vec::with_capacity(wished.len());
        let mut positions: HashMap<Vec<Meaning<'_>>, usize> = HashMap::with_capacity(wished.len());
        let mut is_fulfilled = true;
        for (position, wish) in wished.iter().enumerate() {
            pairs.push(KeyedPair { wish, real: Vec::new() });
            // A wish whose items cannot be told apart was refused before; it is fulfilled by nothing.
            let key = item_key(&below, keys, wish).ok();
            is_fulfilled &= key.is_some_and(|key| positions.insert(key, position).is_none());
        }
        let mut unexpected = Vec::new();
        for item in real {
            let position = item_key(&below, keys, item).ok().and_then(|key| positions.get(&key));
            match position.and_then(|position| pairs.get_mut(*position)) {
                Some(pair) => pair.real.push(item),
                None => unexpected.push(item),
            }
        }
        is_fulfilled = is_fulfilled
            && pairs.iter().all(|pair| match pair.real.as_slice() {
                [item] => self.fulfils(&below, pair.wish, Some(item)),
                _ => false,
            });
        KeyedMatch { pairs, unexpected, is_fulfilled }
    }
}
