//! What the rules of one target say at each place of a value.
//!
//! `list`, `keys`, `extra` and `as: json` speak of the value at their path; everything else holds for what is below it too, until a
//! nearer path says otherwise. Of two paths that reach as far, the one that names what the other has a `*` for is nearer. A
//! comparison follows numbers from one place to the next.

use serde_json::Value;

use super::effects::{Effects, Extra, ListKind};
use super::form::{self, Form, Meaning};
use super::places::{PlaceRules, TooManyPlaces, find_places};
use super::rule_tree::{RuleTree, Step};

/// The rules of one target.
#[derive(Debug)]
pub struct Rules {
    tree: RuleTree,
    /// The root first.
    places: Vec<PlaceRules>,
}

impl Rules {
    /// What the rules say at every place.
    ///
    /// # Errors
    /// Fails if there are too many different ones.
    pub(super) fn of(tree: RuleTree) -> Result<Self, TooManyPlaces> {
        let places = find_places(&tree)?;
        Ok(Self { tree, places })
    }

    /// What they say of the whole value.
    #[must_use]
    pub fn root(&self) -> RulePlace<'_> {
        RulePlace { places: &self.places, here: &self.places[0] }
    }

    /// Returns true if a difference at any path asks for a deletion and a creation.
    #[must_use]
    pub fn replace(&self) -> bool {
        self.any(|effects| effects.replace)
    }

    /// Returns true if any path has such an effect.
    pub(super) fn any(&self, holds: impl Fn(&Effects) -> bool) -> bool {
        self.tree.any(holds)
    }
}

/// A place of a value, and what the rules say there.
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

    /// A field of the map here.
    #[must_use]
    #[inline]
    pub fn field(self, name: &str) -> Self {
        match self.here.named.is_empty() {
            true => self.any_item(),
            false => self.at(self.here.named.get(name).copied().unwrap_or(self.here.others)),
        }
    }

    /// An item of the ordered list here.
    #[must_use]
    #[inline]
    pub fn item(self, position: usize) -> Self {
        if self.here.named.is_empty() { self.any_item() } else { self.field(&position.to_string()) }
    }

    /// An item of a list whose items have no places.
    #[must_use]
    #[inline]
    pub fn any_item(self) -> Self {
        self.at(self.here.others)
    }

    /// Where a rule's own path leads.
    pub(super) fn step(self, step: &Step) -> Self {
        match step {
            Step::Name(name) => self.field(name),
            Step::Every => self.any_item(),
        }
    }

    /// The same place seen from inside of a text that holds JSON: it is taken apart once.
    #[must_use]
    pub fn inside_text(self) -> Self {
        self.at(self.here.inside_text)
    }

    /// How a list here is compared.
    #[must_use]
    #[inline]
    pub const fn list(self) -> &'r ListKind {
        &self.here.list
    }

    /// Returns true if more fields of a map here differ.
    #[must_use]
    #[inline]
    pub fn refuses_more_fields(self) -> bool {
        self.here.extra == Some(Extra::Drift)
    }

    /// Returns true if more items of a list here differ.
    #[must_use]
    #[inline]
    pub fn refuses_more_items(self) -> bool {
        self.here.extra != Some(Extra::Allow)
    }

    /// What a scalar here is taken for.
    #[must_use]
    #[inline]
    pub const fn form(self) -> Option<Form> {
        self.here.form
    }

    /// The path that says so, as it is written.
    pub(super) fn form_path(self) -> &'r str {
        &self.here.form_path
    }

    /// The path that says how a list here is compared, as it is written.
    pub(super) fn list_path(self) -> &'r str {
        &self.here.list_path
    }

    /// Returns true if numbers here may be apart.
    #[must_use]
    pub const fn is_tolerant(self) -> bool {
        self.here.tolerance.is_some()
    }

    /// Neither compared nor sent.
    #[must_use]
    pub const fn is_ignored(self) -> bool {
        self.here.flags.is_ignored
    }

    /// Never shown.
    #[must_use]
    pub const fn is_redacted(self) -> bool {
        self.here.flags.is_redacted
    }

    /// Shown, whatever its name looks like.
    #[must_use]
    pub const fn is_shown(self) -> bool {
        self.here.flags.is_shown
    }

    /// A difference here needs a deletion and a creation.
    #[must_use]
    pub const fn is_replaced(self) -> bool {
        self.here.flags.is_replaced
    }

    /// Returns true if something below is never shown.
    #[must_use]
    pub const fn redacts_below(self) -> bool {
        self.here.redacts_below
    }

    /// Returns true if single items of a list here are never shown, by their places.
    #[must_use]
    pub const fn redacts_single_items(self) -> bool {
        self.here.redacts_single_items
    }

    /// Returns true if rules speak of what is below.
    pub(super) const fn has_rules_below(self) -> bool {
        self.here.has_rules_below
    }

    /// What a scalar here says; `None` where the form cannot take it.
    #[must_use]
    pub fn meaning(self, value: &Value) -> Option<Meaning<'_>> {
        form::meaning(self.form(), value)
    }

    /// Returns true if two scalars here say the same.
    #[must_use]
    #[inline]
    pub fn is_same(self, desired: &Value, observed: &Value) -> bool {
        form::is_same(self.form(), self.here.tolerance, desired, observed)
    }
}

impl Default for Rules {
    /// None, for which all places are one.
    fn default() -> Self {
        Self { tree: RuleTree::default(), places: vec![PlaceRules::default()] }
    }
}
