//! Sets: every item of the desired state is present, and no other item, in any order and number.
//!
//! Items are maps that may have additional observed fields, so equality is not enough. Most items are at the same
//! position on both sides, and a few others are compared with all items. For many differences, scalars that all desired
//! items share sort both sides into small groups. Items are then compared only within a group.

use std::collections::HashMap;

use drift_language::{Form, Meaning, RulePlace};
use serde_json::Value;

use super::fulfilment::Comparison;

/// Maximum differing positions whose items are compared with all others, which is faster than groups.
const MAX_HELD_AGAINST_ALL: usize = 4;

/// Positions of the items in two sets that have no counterpart.
pub(super) struct SetMatch {
    pub(super) missing: Vec<usize>,
    pub(super) unexpected: Vec<usize>,
}

impl SetMatch {
    pub(super) fn is_fulfilled(&self, place: &RulePlace<'_>) -> bool {
        self.missing.is_empty() && (self.unexpected.is_empty() || !place.refuses_more_items())
    }
}

impl Comparison {
    pub(super) fn match_sets(&self, place: &RulePlace<'_>, desired: &[Value], real: &[Value]) -> SetMatch {
        let item = place.any_item();
        let is_unlike = |position: &usize| match (desired.get(*position), real.get(*position)) {
            (Some(expected), Some(observed)) => !self.fulfils(&item, expected, Some(observed)),
            _ => true,
        };
        let places = 0..desired.len().max(real.len());
        let unlike: Vec<_> = places.filter(is_unlike).take(MAX_HELD_AGAINST_ALL + 1).collect();
        if unlike.len() <= MAX_HELD_AGAINST_ALL {
            self.match_against_all(&item, desired, real, &unlike)
        } else {
            self.match_in_groups(&item, desired, real)
        }
    }

    fn match_against_all(&self, item: &RulePlace<'_>, desired: &[Value], real: &[Value], unlike: &[usize]) -> SetMatch {
        let fulfils = |expected: &Value, observed: &Value| self.fulfils(item, expected, Some(observed));
        let is_missing = |expected: &Value| !real.iter().any(|observed| fulfils(expected, observed));
        let is_unexpected = |observed: &Value| !desired.iter().any(|expected| fulfils(expected, observed));
        let of = |items: &[Value], is_alone: &dyn Fn(&Value) -> bool| {
            unlike.iter().copied().filter(|position| items.get(*position).is_some_and(is_alone)).collect()
        };
        SetMatch { missing: of(desired, &is_missing), unexpected: of(real, &is_unexpected) }
    }

    fn match_in_groups(&self, item: &RulePlace<'_>, desired: &[Value], real: &[Value]) -> SetMatch {
        let features = self.common_features(item, desired);
        let mut groups: HashMap<Vec<Meaning<'_>>, Group> = HashMap::new();
        for (position, expected) in desired.iter().enumerate() {
            if let Some(key) = self.features_of(item, expected, &features) {
                groups.entry(key).or_default().desired.push(position);
            }
        }
        let mut unexpected = Vec::new();
        for (position, observed) in real.iter().enumerate() {
            match self.features_of(item, observed, &features).and_then(|key| groups.get_mut(&key)) {
                Some(group) => group.real.push(position),
                None => unexpected.push(position),
            }
        }
        let mut is_there = vec![false; desired.len()];
        for group in groups.values() {
            // Without budget, all items count as counterparts, so that no search continues.
            let fulfils = |expected: usize, observed: usize| match desired.get(expected) {
                Some(expected) => self.fulfils(item, expected, real.get(observed)) || self.is_exhausted(),
                None => false,
            };
            unexpected.extend(group.settle(&mut is_there, fulfils));
            if self.is_exhausted() {
                break;
            }
        }
        unexpected.sort_unstable();
        let missing = (0..desired.len()).filter(|position| is_there.get(*position) == Some(&false)).collect();
        SetMatch { missing, unexpected }
    }

    /// Returns the fields at which all desired items have an exactly compared scalar. The empty path is
    /// the item itself.
    fn common_features<'v>(&self, item: &RulePlace<'_>, desired: &'v [Value]) -> Vec<Vec<&'v str>> {
        let Some((first, others)) = desired.split_first() else { return Vec::new() };
        let mut features = Vec::new();
        self.collect_features(item, first, &mut Vec::new(), &mut features);
        for other in others {
            features.retain(|path| self.feature(item, other, path).is_some());
        }
        features
    }

    fn collect_features<'v>(
        &self,
        place: &RulePlace<'_>,
        value: &'v Value,
        path: &mut Vec<&'v str>,
        features: &mut Vec<Vec<&'v str>>,
    ) {
        self.visit();
        if place.form() == Some(Form::Json) {
            // One side may be a text, which has no fields.
            return;
        }
        if let Value::Object(fields) = value {
            for (name, field) in fields {
                path.push(name);
                self.collect_features(&place.field(name), field, path, features);
                path.pop();
            }
        } else if is_exact(place) && !place.is_absent(value) && place.meaning(value).is_some() {
            features.push(path.clone());
        }
    }

    fn feature<'v>(&self, item: &RulePlace<'_>, value: &'v Value, path: &[&str]) -> Option<Meaning<'v>> {
        self.visit();
        let mut place = *item;
        let mut value = value;
        for name in path {
            value = value.get(name)?;
            place = place.field(name);
        }
        // What is absent may be no field at all on the other side.
        if place.is_absent(value) { None } else { place.meaning(value) }
    }

    fn features_of<'v>(
        &self,
        item: &RulePlace<'_>,
        value: &'v Value,
        features: &[Vec<&str>],
    ) -> Option<Vec<Meaning<'v>>> {
        features.iter().map(|path| self.feature(item, value, path)).collect()
    }
}

/// Returns true if two scalars are equal here only if they have the same meaning.
fn is_exact(place: &RulePlace<'_>) -> bool {
    !place.is_tolerant()
}

/// Positions of items on both sides that may be counterparts.
#[derive(Default)]
struct Group {
    desired: Vec<usize>,
    real: Vec<usize>,
}

impl Group {
    /// Marks the desired items that are present. Returns the observed ones that fulfil none.
    fn settle(&self, is_there: &mut [bool], fulfils: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut unexpected = Vec::new();
        for observed in &self.real {
            match self.desired.iter().find(|expected| fulfils(**expected, *observed)) {
                Some(expected) => mark(is_there, *expected),
                None => unexpected.push(*observed),
            }
        }
        for expected in &self.desired {
            // An observed item may fulfil several desired items, but was assigned to the first.
            if is_there.get(*expected) == Some(&false) && self.real.iter().any(|observed| fulfils(*expected, *observed))
            {
                mark(is_there, *expected);
            }
        }
        unexpected
    }
}

fn mark(is_there: &mut [bool], position: usize) {
    if let Some(there) = is_there.get_mut(position) {
        *there = true;
    }
}
