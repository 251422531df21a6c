//! The comparison: the elements of the desired state that the observed state does not fulfil.
//!
//! It walks the desired state, so fields outside of the desired state are not managed. It visits every value a bounded
//! number of times, because an object's owner and an external system control the size and similarity of values.

mod elements;
mod fulfilment;
mod keyed;
mod order;
mod path;
mod sets;

use std::borrow::Cow;

use drift_language::{Form, ListKind, RulePlace, Rules, Target, WriteOnly, json_of};
use serde_json::{Map, Value};

pub use fulfilment::TooMuchWork;
pub use path::{Key, Segment};

use fulfilment::Comparison;
use keyed::are_in_place;

/// One difference. It borrows its parts, because a response may differ at 200,000 places.
#[derive(Clone, Debug)]
pub struct Difference<'r, 'v> {
    /// Path from the root of the desired state.
    pub path: &'v [Segment<'v>],
    /// Rules of the place.
    pub place: RulePlace<'r>,
    /// Kind of the difference.
    pub change: Change<'v>,
    /// Number of further items of the same list that are also missing or unexpected.
    pub more: usize,
}

/// A kind of difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<'v> {
    /// The value is different.
    Value {
        /// Desired value of the field.
        desired: &'v Value,
        /// Observed value; `None` if it is absent or null.
        observed: Option<&'v Value>,
    },
    /// An item of the desired state is absent.
    Missing(&'v Value),
    /// An item or a field is present that the desired state does not contain.
    Unexpected(&'v Value),
    /// Items that should have unique keys occur this many times.
    Repeated(usize),
    /// The write-only field was sent in another version.
    Moved,
    /// The items are present in another order.
    Order,
    /// The list has more or fewer items.
    Length {
        /// Number of desired items.
        desired: usize,
        /// Number of observed items.
        observed: usize,
    },
}

impl Difference<'_, '_> {
    /// Returns the top-level key of the desired state that contains the difference; `None` if the desired state
    /// is no map.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self.path.first() {
            Some(Segment::Field(name)) => Some(name),
            _ => None,
        }
    }
}

/// Calls `found` with each difference in the order of the desired state, and never if the observed state fulfils it.
///
/// # Errors
/// Fails when both states are so large and similar that the comparison would take too long. Differences found until
/// then have no meaning.
pub fn find_differences<'r>(
    rules: &'r Rules,
    desired: &Value,
    observed: &Value,
    found: &mut dyn FnMut(&Difference<'r, '_>),
) -> Result<(), TooMuchWork> {
    let comparison = Comparison::default();
    let place = rules.root();
    if !comparison.fulfils(&place, desired, Some(observed)) {
        Walk { comparison: &comparison, path: Vec::new(), found }.walk(&place, desired, Some(observed));
    }
    comparison.finish(())
}

/// Calls `found` for each write-only field whose Secret is among `names`. Does nothing for a target that only observes,
/// because no correction would send it.
pub fn find_moved<'t>(
    target: &'t Target,
    names: &[String],
    ignored: &[&str],
    found: &mut dyn FnMut(&Difference<'t, '_>),
) {
    let corrects = target.correct.mode.corrects();
    let is_moved = |field: &&WriteOnly| names.contains(&field.secret) && !ignored.contains(&field.field());
    for field in target.compare.write_only.iter().filter(|field| corrects && is_moved(field)) {
        let path: Vec<_> = field.path.iter().map(|name| Segment::field(name)).collect();
        let place = field.path.iter().fold(target.compare.rules.root(), |place, name| place.field(name));
        found(&Difference { path: &path, place, change: Change::Moved, more: 0 });
    }
}

/// Finds the differences below one path.
struct Walk<'c, 'r, 'v> {
    comparison: &'c Comparison,
    path: Vec<Segment<'v>>,
    found: &'c mut dyn FnMut(&Difference<'r, '_>),
}

impl<'r: 'v, 'v> Walk<'_, 'r, 'v> {
    fn push(&mut self, place: &RulePlace<'r>, change: Change<'v>) {
        self.push_several(place, change, 0);
    }

    fn push_several(&mut self, place: &RulePlace<'r>, change: Change<'v>, more: usize) {
        (self.found)(&Difference { path: &self.path, place: *place, change, more });
    }

    fn within(&mut self, segment: Segment<'v>, collect: impl FnOnce(&mut Self)) {
        self.path.push(segment);
        collect(self);
        self.path.pop();
    }

    fn walk(&mut self, place: &RulePlace<'r>, desired: &'v Value, observed: Option<&'v Value>) {
        let observed = observed.filter(|value| !value.is_null());
        match (desired, observed) {
            _ if is_packed(place, desired, observed) => self.walk_json(place, desired, observed),
            (Value::Object(desired), Some(Value::Object(real))) => self.walk_fields(place, desired, real),
            (Value::Array(desired), Some(Value::Array(real))) => self.walk_list(place, desired, real),
            _ if self.comparison.fulfils(place, desired, observed) => {}
            _ => self.push_value(place, desired, observed),
        }
    }

    fn push_value(&mut self, place: &RulePlace<'r>, desired: &'v Value, observed: Option<&'v Value>) {
        self.push(place, Change::Value { desired, observed });
    }

    fn walk_fields(&mut self, place: &RulePlace<'r>, desired: &'v Map<String, Value>, real: &'v Map<String, Value>) {
        for (key, value) in desired {
            let (below, observed) = (place.field(key), real.get(key));
            // For values other than scalars, the walk itself finds the differences, once.
            if !(is_scalar(value) && self.comparison.fulfils(&below, value, observed)) {
                self.within(Segment::field(key), |inner| inner.walk(&below, value, observed));
            }
        }
        if !place.refuses_more_fields() {
            return;
        }
        for (key, value) in real.iter().filter(|(key, _)| !desired.contains_key(*key)) {
            let below = place.field(key);
            if !below.is_ignored() && !self.comparison.is_absent(&below, value) {
                let change = Change::Unexpected(value);
                self.within(Segment::field(key), |inner| inner.push(&below, change));
            }
        }
    }

    fn walk_list(&mut self, place: &RulePlace<'r>, desired: &'v [Value], real: &'v [Value]) {
        match place.list() {
            ListKind::Ordered if self.comparison.fulfils_ordered(place, desired, real) => {}
            ListKind::Map(keys) if are_in_place(place, keys, desired, real) => {
                self.walk_pairs(place, keys, desired.iter().zip(real));
            }
            // A hidden item may be at another position in the observed list.
            ListKind::Ordered if place.redacts_single_items() => self.push(place, Change::Order),
            ListKind::Ordered => self.walk_ordered(place, desired, real),
            ListKind::Set => self.walk_set(place, desired, real),
            ListKind::Map(keys) => self.walk_keyed(place, keys, desired, real),
        }
    }

    /// Reports the differences inside of texts, or the texts themselves if one contains no JSON.
    fn walk_json(&mut self, place: &RulePlace<'r>, desired: &'v Value, observed: Option<&'v Value>) {
        let (Some(expected), Some(real)) = (unpacked(desired), observed.and_then(unpacked)) else {
            if !self.comparison.fulfils(place, desired, observed) {
                self.push_value(place, desired, observed);
            }
            return;
        };
        let path = self.path.clone();
        Walk { comparison: self.comparison, path, found: self.found }.walk(
            &place.inside_text(),
            &expected,
            Some(&real),
        );
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Array(_) | Value::Object(_))
}

/// Returns true if one side is a text that must be parsed.
fn is_packed(place: &RulePlace<'_>, desired: &Value, observed: Option<&Value>) -> bool {
    place.form() == Some(Form::Json) && (desired.is_string() || observed.is_some_and(Value::is_string))
}

/// Returns the JSON of a text; other values are returned as they are.
fn unpacked(value: &Value) -> Option<Cow<'_, Value>> {
    match value {
        Value::String(text) => json_of(text).map(Cow::Owned),
        other => Some(Cow::Borrowed(other)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
