//! Checks if an observed value fulfils the desired one, with bounded work.

use std::cell::Cell;

use drift_language::{Form, ListKind, RulePlace};
use serde_json::{Map, Value};

use super::unpacked;

/// Maximum value visits of one comparison, including repeated visits during list searches: about a tenth of a second. A
/// response has at most 200,000 values.
const MAX_VISITS: u32 = 4_000_000;
/// Bytes of text that are compared in the time of a visit.
const BYTES_COMPARED: usize = 64;
/// Bytes of text that are parsed in the time of a visit.
const BYTES_PARSED: usize = 8;
/// Bytes of text that are brought into normal form in the time of a visit.
const BYTES_NORMALIZED: usize = 4;
/// Up to this ratio of observed to desired fields, both maps are read side by side.
const SIDE_BY_SIDE: usize = 4;

/// The desired and the observed state are so large and similar that a comparison would take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuchWork;

/// One comparison with its remaining work budget.
pub(super) struct Comparison {
    left: Cell<u32>,
}

impl Default for Comparison {
    fn default() -> Self {
        Self { left: Cell::new(MAX_VISITS) }
    }
}

impl Comparison {
    /// Returns the result, or an error if the work budget is exhausted.
    pub(super) fn finish<T>(&self, result: T) -> Result<T, TooMuchWork> {
        if self.is_exhausted() { Err(TooMuchWork) } else { Ok(result) }
    }

    /// Returns the number of visited values.
    #[cfg(test)]
    pub(super) fn visits(&self) -> u32 {
        MAX_VISITS - self.left.get()
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }

    /// Counts a visit of a value. Returns true if budget is left.
    pub(super) fn visit(&self) -> bool {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        left > 0
    }

    fn pay(&self, visits: usize) {
        self.left.set(self.left.get().saturating_sub(u32::try_from(visits).unwrap_or(u32::MAX)));
    }

    /// Counts the work of reading two texts.
    fn pay_texts(&self, desired: &Value, observed: &Value, bytes_of_a_visit: usize) {
        let bytes = [desired, observed].into_iter().filter_map(Value::as_str).map(str::len).sum::<usize>();
        self.pay(bytes / bytes_of_a_visit);
    }

    /// Returns true if an observed value fulfils the desired one. Returns false once the budget is exhausted.
    pub(super) fn fulfils(&self, place: &RulePlace<'_>, desired: &Value, observed: Option<&Value>) -> bool {
        if !self.visit() {
            return false;
        }
        if place.takes_empty_as_absent() && self.are_absent(place, desired, observed) {
            return true;
        }
        let Some(observed) = observed.filter(|value| !value.is_null()) else {
            return desired.is_null();
        };
        if place.form() == Some(Form::Json) && (desired.is_string() || observed.is_string()) {
            self.pay_texts(desired, observed, BYTES_PARSED);
            if self.is_exhausted() {
                return false;
            }
            return match (unpacked(desired), unpacked(observed)) {
                (Some(expected), Some(real)) => self.fulfils(&place.inside_text(), &expected, Some(&real)),
                // A text that is no JSON equals itself alone.
                _ => desired == observed,
            };
        }
        match (desired, observed) {
            (Value::Null, _) => false,
            (Value::String(expected), Value::String(real)) if place.form().is_none() => {
                self.pay((expected.len() + real.len()) / BYTES_COMPARED);
                expected == real
            }
            (Value::Object(desired), Value::Object(real)) => self.fulfils_fields(place, desired, real),
            (Value::Array(desired), Value::Array(real)) => self.fulfils_list(place, desired, real),
            _ => {
                let bytes = if place.form() == Some(Form::Text) { BYTES_NORMALIZED } else { BYTES_COMPARED };
                self.pay_texts(desired, observed, bytes);
                place.is_same(desired, observed)
            }
        }
    }

    /// Returns true if both sides equal a missing field. Two maps, and two lists, are compared by their content.
    fn are_absent(&self, place: &RulePlace<'_>, desired: &Value, observed: Option<&Value>) -> bool {
        match (desired, observed) {
            (Value::Object(_), Some(Value::Object(_))) | (Value::Array(_), Some(Value::Array(_))) => false,
            _ => observed.is_none_or(|observed| self.is_absent(place, observed)) && self.is_absent(place, desired),
        }
    }

    /// Returns true if a value equals a missing field. So does a map whose fields all do.
    pub(super) fn is_absent(&self, place: &RulePlace<'_>, value: &Value) -> bool {
        if !place.takes_empty_as_absent() || !self.visit() {
            return value.is_null();
        }
        match value {
            Value::Object(fields) => fields.iter().all(|(name, field)| self.is_absent(&place.field(name), field)),
            Value::String(text) if place.form() == Some(Form::Json) => {
                self.pay(text.len() / BYTES_PARSED);
                unpacked(value).map_or(text.is_empty(), |inner| self.is_absent(&place.inside_text(), &inner))
            }
            _ => place.is_absent(value),
        }
    }

    fn fulfils_fields(&self, place: &RulePlace<'_>, desired: &Map<String, Value>, real: &Map<String, Value>) -> bool {
        if place.refuses_more_fields() {
            let is_managed = |key: &str| desired.contains_key(key) || place.field(key).is_ignored();
            if real.iter().any(|(key, value)| !is_managed(key) && !self.is_absent(&place.field(key), value)) {
                return false;
            }
        }
        if real.len() > desired.len().saturating_mul(SIDE_BY_SIDE) {
            return desired.iter().all(|(key, value)| self.fulfils(&place.field(key), value, real.get(key)));
        }
        // Both maps are ordered by key.
        let mut fields = real.iter();
        let mut next = fields.next();
        desired.iter().all(|(key, value)| {
            let observed = loop {
                match next {
                    Some((name, field)) if name == key => {
                        next = fields.next();
                        break Some(field);
                    }
                    Some((name, _)) if name < key => next = fields.next(),
                    _ => break None,
                }
            };
            self.fulfils(&place.field(key), value, observed)
        })
    }

    fn fulfils_list(&self, place: &RulePlace<'_>, desired: &[Value], real: &[Value]) -> bool {
        match place.list() {
            ListKind::Ordered => self.fulfils_ordered(place, desired, real),
            ListKind::Set => self.match_sets(place, desired, real).is_fulfilled(place),
            ListKind::Map(keys) => {
                self.fulfils_in_place(place, keys, desired, real) || self.fulfils_keyed(place, keys, desired, real)
            }
        }
    }

    pub(super) fn fulfils_ordered(&self, place: &RulePlace<'_>, desired: &[Value], real: &[Value]) -> bool {
        if place.refuses_more_items() {
            return desired.len() == real.len()
                && desired
                    .iter()
                    .zip(real)
                    .enumerate()
                    .all(|(position, (expected, item))| self.fulfils(&place.item(position), expected, Some(item)));
        }
        // The first fulfilling item leaves the most items for later ones.
        let mut items = real.iter();
        desired.iter().enumerate().all(|(position, expected)| {
            let below = place.item(position);
            items.any(|item| self.fulfils(&below, expected, Some(item)))
        })
    }
}
