//! The elements of lists by which a wish and an observed state differ.
//!
//! What is named does not depend on the order in which an external system lists the items of a set or of a keyed list: a
//! message that changed with every poll would be written with every poll.

use std::borrow::Cow;

use drift_model::condition::canonical;
use drift_target::Place;
use serde_json::Value;

use super::keyed::match_keyed;
use super::order::{Gap, MAX_PAIRS};
use super::{Change, Collector, Segment, is_scalar};

impl<'r: 'v, 'v> Collector<'_, 'r, 'v> {
    pub(super) fn walk_set(&mut self, place: &Place<'r>, wished: &'v [Value], real: &'v [Value]) {
        let matched = self.comparison.match_sets(place, wished, real);
        let below = place.any_item();
        let missing = matched.missing.iter().filter_map(|position| wished.get(*position)).collect();
        for item in in_order(missing) {
            self.push(&below, Change::Missing(Cow::Borrowed(item)));
        }
        if place.refuses_more_items() {
            let unexpected = matched.unexpected.iter().filter_map(|position| real.get(*position)).collect();
            for item in in_order(unexpected) {
                self.push(&below, Change::Unexpected(Cow::Borrowed(item)));
            }
        }
    }

    pub(super) fn walk_keyed(&mut self, place: &Place<'r>, keys: &'r [String], wished: &'v [Value], real: &'v [Value]) {
        let matched = match_keyed(place, keys, wished, real);
        let below = place.any_item();
        let keyed = |item: &'v Value| Segment::keyed(&below, keys, item);
        for pair in matched.pairs {
            match pair.real.as_slice() {
                [item] => self.walk_pairs(place, keys, std::iter::once((pair.wish, *item))),
                [] => self.within(keyed(pair.wish), |inner| {
                    inner.push(&below, Change::Missing(Cow::Borrowed(pair.wish)));
                }),
                several => self.within(keyed(pair.wish), |inner| inner.push(&below, Change::Repeated(several.len()))),
            }
        }
        if place.refuses_more_items() {
            for item in in_order(matched.unexpected) {
                let change = Change::Unexpected(Cow::Borrowed(item));
                match keys.iter().all(|key| item.get(key).is_some_and(is_scalar)) {
                    true => self.within(keyed(item), |inner| inner.push(&below, change)),
                    false => self.push(&below, change),
                }
            }
        }
    }

    /// Items of the wish, each with the one outside that has its keys.
    pub(super) fn walk_pairs(
        &mut self,
        place: &Place<'r>,
        keys: &'r [String],
        pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
    ) {
        let below = place.any_item();
        for (wish, item) in pairs.filter(|(wish, item)| !self.comparison.fulfils(&below, wish, Some(item))) {
            self.within(Segment::keyed(&below, keys, wish), |inner| inner.walk(&below, wish, Some(item)));
        }
    }

    pub(super) fn walk_ordered(&mut self, place: &Place<'r>, wished: &'v [Value], real: &'v [Value]) {
        let middle = self.comparison.differing_middle(place, wished, real);
        if middle.wished.len().saturating_mul(middle.real.len()) > MAX_PAIRS {
            return match place.refuses_more_items() {
                true => self.walk_first(place, wished, real, middle.wished.start),
                false => self.walk_first_missing(place, wished, real),
            };
        }
        if self.comparison.is_reordered(place, wished, real, &middle) {
            return self.push(place, Change::Order);
        }
        for gap in self.comparison.gaps(place, wished, real, &middle) {
            self.walk_gap(place, wished, real, &gap);
        }
    }

    /// Items of a stretch: pairs where both sides have as many, else what is missing and what is unexpected.
    fn walk_gap(&mut self, place: &Place<'r>, wished: &'v [Value], real: &'v [Value], gap: &Gap) {
        if gap.wished.len() == gap.real.len() && place.refuses_more_items() {
            for (wish, item) in gap.wished.clone().zip(gap.real.clone()) {
                self.walk_pair(place, wished.get(wish), real.get(item), wish);
            }
            return;
        }
        for (position, item) in gap.wished.clone().filter_map(|position| Some((position, wished.get(position)?))) {
            let change = Change::Missing(Cow::Borrowed(item));
            let below = place.item(position);
            self.within(Segment::item(position, [Some(item), None]), |inner| inner.push(&below, change));
        }
        if !place.refuses_more_items() {
            return;
        }
        for (position, item) in gap.real.clone().filter_map(|position| Some((position, real.get(position)?))) {
            let change = Change::Unexpected(Cow::Borrowed(item));
            let below = place.item(position);
            self.within(Segment::item(position, [None, Some(item)]), |inner| inner.push(&below, change));
        }
    }

    fn walk_pair(&mut self, place: &Place<'r>, wish: Option<&'v Value>, item: Option<&'v Value>, position: usize) {
        if let Some(value) = wish {
            let below = place.item(position);
            self.within(Segment::item(position, [wish, item]), |inner| inner.walk(&below, value, item));
        }
    }

    /// Long lists: how long they are, and the first place at which they differ.
    fn walk_first(&mut self, place: &Place<'r>, wished: &'v [Value], real: &'v [Value], position: usize) {
        if wished.len() != real.len() {
            self.push(place, Change::Length { desired: wished.len(), observed: real.len() });
        }
        self.walk_pair(place, wished.get(position), real.get(position), position);
    }

    /// Long lists among whose items others may stand: the first item that nothing stands for, behind those before it.
    fn walk_first_missing(&mut self, place: &Place<'r>, wished: &'v [Value], real: &'v [Value]) {
        let mut items = real.iter();
        for (position, wish) in wished.iter().enumerate() {
            let below = place.item(position);
            if !items.any(|item| self.comparison.fulfils(&below, wish, Some(item))) {
                let change = Change::Missing(Cow::Borrowed(wish));
                return self.within(Segment::item(position, [Some(wish), None]), |inner| inner.push(&below, change));
            }
        }
    }
}

/// Items by what they say, each once.
fn in_order(items: Vec<&Value>) -> Vec<&Value> {
    // The text tells apart what is shown differently though it says the same.
    let mut keyed: Vec<_> = items.into_iter().map(|item| (canonical(item), item.to_string(), item)).collect();
    keyed.sort_by(|left, right| (&left.0, &left.1).cmp(&(&right.0, &right.1)));
    keyed.dedup_by(|left, right| left.0 == right.0);
    keyed.into_iter().map(|(_, _, item)| item).collect()
}
