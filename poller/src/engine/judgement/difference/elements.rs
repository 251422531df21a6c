//! The list elements in which a desired state and an observed state differ.
//!
//! The named items do not depend on the order in which an external system lists a set or a keyed list. Otherwise the
//! message, and thus the condition, would change with every poll.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use drift_api::condition::canonical;
use drift_language::RulePlace;
use serde_json::Value;

use super::keyed::match_keyed;
use super::order::{Gap, MAX_PAIRS};
use super::{Change, Segment, Walk, is_scalar};

/// Maximum named items of a set or a keyed list that are missing or unexpected. It is more than a person reads, and the
/// search needs little memory.
const MAX_NAMED: usize = 64;

impl<'r: 'v, 'v> Walk<'_, 'r, 'v> {
    pub(super) fn walk_set(&mut self, place: &RulePlace<'r>, desired: &'v [Value], real: &'v [Value]) {
        let matched = self.comparison.match_sets(place, desired, real);
        let below = place.any_item();
        for (item, more) in in_order(items_at(desired, matched.missing)) {
            self.push_several(&below, Change::Missing(item), more);
        }
        if place.refuses_more_items() {
            for (item, more) in in_order(items_at(real, matched.unexpected)) {
                self.push_several(&below, Change::Unexpected(item), more);
            }
        }
    }

    pub(super) fn walk_keyed(
        &mut self,
        place: &RulePlace<'r>,
        keys: &'r [String],
        desired: &'v [Value],
        real: &'v [Value],
    ) {
        let matched = match_keyed(place, keys, desired, real);
        let below = place.any_item();
        let keyed = |item: &'v Value| Segment::keyed(&below, keys, item);
        for pair in matched.pairs {
            match pair.real.as_slice() {
                [item] => self.walk_pairs(place, keys, std::iter::once((pair.expected, *item))),
                [] => self.within(keyed(pair.expected), |inner| {
                    inner.push(&below, Change::Missing(pair.expected));
                }),
                several => {
                    self.within(keyed(pair.expected), |inner| inner.push(&below, Change::Repeated(several.len())))
                }
            }
        }
        if place.refuses_more_items() {
            for (item, more) in in_order(matched.unexpected) {
                let change = Change::Unexpected(item);
                match keys.iter().all(|key| item.get(key).is_some_and(is_scalar)) {
                    true => self.within(keyed(item), |inner| inner.push_several(&below, change, more)),
                    false => self.push_several(&below, change, more),
                }
            }
        }
    }

    /// Walks items of the desired state, each with the observed item of the same keys.
    pub(super) fn walk_pairs(
        &mut self,
        place: &RulePlace<'r>,
        keys: &'r [String],
        pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
    ) {
        let below = place.any_item();
        for (expected, item) in pairs.filter(|(expected, item)| !self.comparison.fulfils(&below, expected, Some(item)))
        {
            self.within(Segment::keyed(&below, keys, expected), |inner| inner.walk(&below, expected, Some(item)));
        }
    }

    pub(super) fn walk_ordered(&mut self, place: &RulePlace<'r>, desired: &'v [Value], real: &'v [Value]) {
        let middle = self.comparison.differing_middle(place, desired, real);
        if middle.desired.len().max(1).saturating_mul(middle.real.len().max(1)) > MAX_PAIRS {
            return match place.refuses_more_items() {
                true => self.walk_first(place, desired, real, middle.desired.start),
                false => self.walk_first_missing(place, desired, real),
            };
        }
        if self.comparison.is_reordered(place, desired, real, &middle) {
            return self.push(place, Change::Order);
        }
        for gap in self.comparison.gaps(place, desired, real, &middle) {
            self.walk_gap(place, desired, real, &gap);
        }
    }

    /// Walks a stretch: pairwise if both sides have the same length, otherwise as missing and unexpected items.
    fn walk_gap(&mut self, place: &RulePlace<'r>, desired: &'v [Value], real: &'v [Value], gap: &Gap) {
        if gap.desired.len() == gap.real.len() && place.refuses_more_items() {
            for (expected, item) in gap.desired.clone().zip(gap.real.clone()) {
                self.walk_pair(place, desired.get(expected), real.get(item), expected);
            }
            return;
        }
        for (position, item) in gap.desired.clone().filter_map(|position| Some((position, desired.get(position)?))) {
            let change = Change::Missing(item);
            let below = place.item(position);
            self.within(Segment::item(position, [Some(item), None]), |inner| inner.push(&below, change));
        }
        if !place.refuses_more_items() {
            return;
        }
        for (position, item) in gap.real.clone().filter_map(|position| Some((position, real.get(position)?))) {
            let change = Change::Unexpected(item);
            let below = place.item(position);
            self.within(Segment::item(position, [None, Some(item)]), |inner| inner.push(&below, change));
        }
    }

    fn walk_pair(
        &mut self,
        place: &RulePlace<'r>,
        expected: Option<&'v Value>,
        item: Option<&'v Value>,
        position: usize,
    ) {
        if let Some(value) = expected {
            let below = place.item(position);
            self.within(Segment::item(position, [expected, item]), |inner| inner.walk(&below, value, item));
        }
    }

    /// Reports the lengths of long lists, and the first position at which they differ.
    fn walk_first(&mut self, place: &RulePlace<'r>, desired: &'v [Value], real: &'v [Value], position: usize) {
        if desired.len() != real.len() {
            self.push(place, Change::Length { desired: desired.len(), observed: real.len() });
        }
        self.walk_pair(place, desired.get(position), real.get(position), position);
    }

    /// Reports the first desired item of a long list without a counterpart after its predecessors. Additional observed
    /// items are allowed.
    fn walk_first_missing(&mut self, place: &RulePlace<'r>, desired: &'v [Value], real: &'v [Value]) {
        let mut items = real.iter();
        for (position, expected) in desired.iter().enumerate() {
            let below = place.item(position);
            if !items.any(|item| self.comparison.fulfils(&below, expected, Some(item))) {
                let change = Change::Missing(expected);
                return self
                    .within(Segment::item(position, [Some(expected), None]), |inner| inner.push(&below, change));
            }
        }
    }
}

fn items_at(items: &[Value], positions: Vec<usize>) -> Vec<&Value> {
    positions.into_iter().filter_map(|position| items.get(position)).collect()
}

/// Returns the first items in canonical order without duplicates. The last one carries the number of further items.
fn in_order(items: Vec<&Value>) -> Vec<(&Value, usize)> {
    let fingerprints = RandomState::new();
    let mut first: BTreeMap<String, (String, &Value)> = BTreeMap::new();
    let look_at = |item| {
        let saying = canonical(item);
        let fingerprint = fingerprints.hash_one(&saying);
        if first.len() == MAX_NAMED && first.last_key_value().is_some_and(|(last, _)| *last < saying) {
            return fingerprint;
        }
        // The text distinguishes items that are equal in canonical form but shown differently.
        let shown = (item.to_string(), item);
        let known = first.entry(saying).or_insert_with(|| shown.clone());
        if shown.0 < known.0 {
            *known = shown;
        }
        if first.len() > MAX_NAMED {
            first.pop_last();
        }
        fingerprint
    };
    // Reuses the allocation of the items.
    let mut seen: Vec<u64> = items.into_iter().map(look_at).collect();
    seen.sort_unstable();
    seen.dedup();
    let more = seen.len().saturating_sub(first.len());
    let last = first.len().saturating_sub(1);
    first.into_values().enumerate().map(|(at, (_, item))| (item, if at == last { more } else { 0 })).collect()
}
