//! The effective rules of one target at each place of a value.
//!
//! `list`, `keys`, `extra` and `as: json` apply to the value at their path. Everything else also applies below it,
//! until a nearer path overrides it. Of two paths of the same length, the one with a name in place of the other's `*`
//! is nearer. A comparison follows precomputed indexes from one place to the next.

use std::borrow::Cow;

use serde_json::Value;

use super::effects::{Effects, Extra, ListKind};
use super::form::{self, Form, Meaning};
use super::places::{PlaceRules, TooManyPlaces, find_places};
use super::rule_tree::{RuleTree, Step};

/// The rules of one target.
#[derive(Debug)]
pub struct Rules {
    tree: RuleTree,
    /// All places, the root first.
    places: Vec<PlaceRules>,
}

impl Rules {
    /// Computes the rules of every place.
    ///
    /// # Errors
    /// Fails if there are too many different ones.
    pub(super) fn of(tree: RuleTree) -> Result<Self, TooManyPlaces> {
        let places = find_places(&tree)?;
        Ok(Self { tree, places })
    }

    /// The rules of the whole value.
    #[must_use]
    pub fn root(&self) -> RulePlace<'_> {
        RulePlace { places: &self.places, here: &self.places[0] }
    }

    /// Returns true if a difference at any path requires a deletion and a creation.
    #[must_use]
    pub fn replace(&self) -> bool {
        self.any(|effects| effects.replace)
    }

    /// Returns true if an effect of any path satisfies the condition.
    pub(super) fn any(&self, holds: impl Fn(&Effects) -> bool) -> bool {
        self.tree.any(holds)
    }

    /// Returns true if a rule compares values in this form.
    pub(crate) fn any_form(&self, form: Form) -> bool {
        self.any(|effects| effects.form == Some(form))
    }
}

/// A place of a value with its effective rules.
#[derive(Clone, Copy, Debug)]
pub struct RulePlace<'r> {
    places: &'r [PlaceRules],
    here: &'r PlaceRules,
}

impl<'r> RulePlace<'r> {
    #[inline]
    fn at(self, number: usize) -> Self {
        Self { here: &self.places[number], ..self }
    }

    /// Moves to a field of the map here.
    #[must_use]
    #[inline]
    pub fn field(self, name: &str) -> Self {
        match self.here.named.is_empty() {
            true => self.any_item(),
            false => self.at(self.here.named.get(name).copied().unwrap_or(self.here.others)),
        }
    }

    /// Moves to an item of the ordered list here.
    #[must_use]
    #[inline]
    pub fn item(self, position: usize) -> Self {
        if self.here.named.is_empty() { self.any_item() } else { self.field(&position.to_string()) }
    }

    /// Moves to an item of a list whose items have no positions.
    #[must_use]
    #[inline]
    pub fn any_item(self) -> Self {
        self.at(self.here.others)
    }

    /// Follows a step of a rule's own path.
    pub(super) fn step(self, step: &Step) -> Self {
        match step {
            Step::Name(name) => self.field(name),
            Step::Every => self.any_item(),
        }
    }

    /// Returns this place inside a text that holds JSON, which is parsed once.
    #[must_use]
    pub fn inside_text(self) -> Self {
        self.at(self.here.inside_text)
    }

    /// Returns the list kind here.
    #[must_use]
    #[inline]
    pub const fn list(self) -> &'r ListKind {
        &self.here.list
    }

    /// Returns true if additional fields of a map here are drift.
    #[must_use]
    #[inline]
    pub fn refuses_more_fields(self) -> bool {
        matches!(self.here.extra, Some(Extra::Drift | Extra::DriftBelow))
    }

    /// Returns true if additional items of a list here are drift.
    #[must_use]
    #[inline]
    pub fn refuses_more_items(self) -> bool {
        self.here.extra != Some(Extra::Allow)
    }

    /// Returns true if empty texts, lists and maps here equal a missing field.
    #[must_use]
    #[inline]
    pub const fn takes_empty_as_absent(self) -> bool {
        self.here.flags.takes_empty_as_absent
    }

    /// Returns true if a value here equals a missing field. A map of fields that are all absent does so too, which the
    /// comparison finds.
    #[must_use]
    pub fn is_absent(self, value: &Value) -> bool {
        value.is_null() || self.takes_empty_as_absent() && form::is_empty(self.form(), value)
    }

    /// The form of a scalar here.
    #[must_use]
    #[inline]
    pub const fn form(self) -> Option<Form> {
        self.here.form
    }

    /// The path that sets the list kind, as written.
    pub(super) fn list_path(self) -> &'r str {
        &self.here.list_path
    }

    /// Returns true if numbers here have a tolerance.
    #[must_use]
    pub const fn is_tolerant(self) -> bool {
        self.here.tolerance.is_some()
    }

    /// Returns true if it is neither compared nor sent.
    #[must_use]
    pub const fn is_ignored(self) -> bool {
        self.here.flags.is_ignored
    }

    /// Returns true if it is never shown.
    #[must_use]
    pub const fn is_redacted(self) -> bool {
        self.here.flags.is_redacted
    }

    /// Returns true if it is shown even if its name looks secret.
    #[must_use]
    pub const fn is_shown(self) -> bool {
        self.here.flags.is_shown
    }

    /// Returns true if a difference here requires a deletion and a creation.
    #[must_use]
    pub const fn is_replaced(self) -> bool {
        self.here.flags.is_replaced
    }

    /// Returns true if something below is redacted.
    #[must_use]
    pub const fn redacts_below(self) -> bool {
        self.here.redacts_below
    }

    /// Returns true if single items of a list here are redacted, by index.
    #[must_use]
    pub const fn redacts_single_items(self) -> bool {
        self.here.redacts_single_items
    }

    /// Returns true if rules apply below.
    pub(super) const fn has_rules_below(self) -> bool {
        self.here.has_rules_below
    }

    /// Normalises a scalar here. `None` for null, lists and maps.
    #[must_use]
    pub fn meaning(self, value: &Value) -> Option<Meaning<'_>> {
        form::meaning(self.form(), value)
    }

    /// Normalises a key of a list item here. `None` if the item has none.
    #[must_use]
    pub fn key(self, value: Option<&Value>) -> Option<Meaning<'_>> {
        match value.filter(|value| !self.is_absent(value)) {
            Some(value) => self.meaning(value),
            None if self.takes_empty_as_absent() => Some(Meaning::Text(Cow::Borrowed(""))),
            None => None,
        }
    }

    /// Returns the type that the form here compares, if a scalar is no value of it: `time` for `infinity`.
    #[must_use]
    pub fn type_missed_by(self, value: &Value) -> Option<&'static str> {
        self.form()?.type_missed_by(value)
    }

    /// Returns the rule, such as `as: number`, with which two different values here would be the same. `None` if there
    /// is none, or the place has a form already.
    #[must_use]
    pub fn missing_form(self, desired: &Value, observed: &Value) -> Option<&'static str> {
        if self.form().is_some() { None } else { form::common_form(desired, observed) }
    }

    /// Returns the rule with which two different values here would both be absent. `None` if there is none.
    #[must_use]
    pub fn missing_empty(self, desired: &Value, observed: &Value) -> Option<&'static str> {
        let are_empty = [desired, observed].into_iter().all(|value| form::is_empty(self.form(), value));
        (are_empty && !self.takes_empty_as_absent()).then_some("empty: absent")
    }

    /// Returns true if two scalars here have the same meaning.
    #[must_use]
    #[inline]
    pub fn is_same(self, desired: &Value, observed: &Value) -> bool {
        form::is_same(self.form(), self.here.tolerance, desired, observed)
    }
}

impl Default for Rules {
    /// Creates an empty set of rules with a single place.
    fn default() -> Self {
        Self { tree: RuleTree::default(), places: vec![PlaceRules::default()] }
    }
}
