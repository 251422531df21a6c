//! The rules of one target as a tree of paths, and what they say at each place of a value.
//!
//! `list`, `keys`, `extra` and `as: json` speak of the value at their path; everything else holds for what is below it too, until
//! a nearer path says otherwise. Of two paths that reach as far, the one that names what the other has a `*` for is nearer.
//! This file must not know what is compared.

use std::collections::BTreeMap;

use serde_json::Value;

use super::decimal::Decimal;
use super::effects::{Effects, Extra, ListKind};
use super::form::{self, Form, Meaning};

/// One step of a rule's path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A key of a map, or the place of an item in an ordered list.
    Name(String),
    /// `*`: every key, every item.
    Every,
}

/// The rules of one target.
#[derive(Debug, Default)]
pub struct Rules {
    root: RuleNode,
}

/// What is written at one path, and below it.
#[derive(Debug, Default)]
pub(super) struct RuleNode {
    pub(super) effects: Effects,
    /// The path as it is written.
    pub(super) path: String,
    named: BTreeMap<String, RuleNode>,
    every: Option<Box<RuleNode>>,
}

impl RuleNode {
    fn child(&mut self, step: &Step) -> &mut Self {
        match step {
            Step::Name(name) => self.named.entry(name.clone()).or_default(),
            Step::Every => self.every.get_or_insert_default(),
        }
    }

    fn children(&self) -> impl Iterator<Item = &Self> {
        self.named.values().chain(self.every.as_deref())
    }

    fn any(&self, holds: &dyn Fn(&Effects) -> bool) -> bool {
        holds(&self.effects) || self.children().any(|child| child.any(holds))
    }
}

impl Rules {
    /// Adds what a rule says of a path; `written` is the path as people wrote it.
    pub(super) fn add(&mut self, path: &[Step], written: &str, effects: Effects) {
        let node = path.iter().fold(&mut self.root, |node, step| node.child(step));
        written.clone_into(&mut node.path);
        node.effects.extend(effects);
    }

    /// What they say of the whole value.
    #[must_use]
    pub fn root(&self) -> Place<'_> {
        Place::default().at(vec![&self.root])
    }

    /// Whether any path has such an effect.
    pub(super) fn any(&self, holds: impl Fn(&Effects) -> bool) -> bool {
        self.root.any(&holds)
    }
}

/// A place of a value, and what the rules say there.
#[derive(Clone, Debug, Default)]
pub struct Place<'r> {
    /// The nodes whose path leads here, the nearest first.
    active: Vec<&'r RuleNode>,
    form: Option<&'r RuleNode>,
    tolerance: Option<Decimal>,
    is_ignored: bool,
    is_redacted: bool,
    is_shown: bool,
    is_replaced: bool,
}

impl<'r> Place<'r> {
    fn at(mut self, active: Vec<&'r RuleNode>) -> Self {
        // From the farthest to the nearest, so that the nearest has the last word.
        for node in active.iter().rev() {
            let effects = &node.effects;
            self.form = if effects.form.is_some() { Some(node) } else { self.form };
            self.tolerance = effects.tolerance.or(self.tolerance);
            self.is_ignored |= effects.ignore;
            self.is_redacted |= effects.redact;
            self.is_shown |= effects.show;
            self.is_replaced |= effects.replace;
        }
        Self { active, ..self }
    }

    fn inherited(&self) -> Self {
        // What holds JSON is taken apart once, and what is in it is as it is.
        let form = self.form.filter(|node| node.effects.form != Some(Form::Json));
        Self { active: Vec::new(), form, ..*self }
    }

    fn below(&self, name: Option<&str>) -> Self {
        let named = |node: &&'r RuleNode| name.and_then(|name| node.named.get(name));
        let active = self.active.iter().flat_map(|node| named(node).into_iter().chain(node.every.as_deref())).collect();
        self.inherited().at(active)
    }

    /// A field of the map here.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        if self.active.is_empty() { self.inherited() } else { self.below(Some(name)) }
    }

    /// An item of the ordered list here.
    #[must_use]
    pub fn item(&self, position: usize) -> Self {
        if self.active.iter().all(|node| node.named.is_empty()) {
            return self.any_item();
        }
        self.below(Some(&position.to_string()))
    }

    /// An item of a list whose items have no places.
    #[must_use]
    pub fn any_item(&self) -> Self {
        if self.active.is_empty() { self.inherited() } else { self.below(None) }
    }

    /// Where a rule's own path leads.
    pub(super) fn step(&self, step: &Step) -> Self {
        match step {
            Step::Name(name) => self.field(name),
            Step::Every => self.any_item(),
        }
    }

    /// The same place seen from inside of a text that holds JSON: it is taken apart once.
    #[must_use]
    pub fn inside_text(&self) -> Self {
        Self { form: None, active: self.active.clone(), ..*self }
    }

    /// How a list here is compared.
    #[must_use]
    pub fn list(&self) -> &'r ListKind {
        self.active.iter().find_map(|node| node.effects.list.as_ref()).unwrap_or(&ListKind::Ordered)
    }

    /// Whether more fields of a map here differ.
    #[must_use]
    pub fn refuses_more_fields(&self) -> bool {
        self.extra() == Some(Extra::Drift)
    }

    /// Whether more items of a list here differ.
    #[must_use]
    pub fn refuses_more_items(&self) -> bool {
        self.extra() != Some(Extra::Allow)
    }

    fn extra(&self) -> Option<Extra> {
        self.active.iter().find_map(|node| node.effects.extra)
    }

    /// What a scalar here is taken for.
    #[must_use]
    pub fn form(&self) -> Option<Form> {
        self.form.and_then(|node| node.effects.form)
    }

    /// The path that says so, as it is written.
    pub(super) fn form_path(&self) -> &'r str {
        self.form.map_or("", |node| &node.path)
    }

    /// The path that says how a list here is compared, as it is written.
    pub(super) fn list_path(&self) -> &'r str {
        self.active.iter().find(|node| node.effects.list.is_some()).map_or("", |node| &node.path)
    }

    /// Whether numbers here may be apart.
    #[must_use]
    pub const fn is_tolerant(&self) -> bool {
        self.tolerance.is_some()
    }

    /// Neither compared nor sent.
    #[must_use]
    pub const fn is_ignored(&self) -> bool {
        self.is_ignored
    }

    /// Never shown.
    #[must_use]
    pub const fn is_redacted(&self) -> bool {
        self.is_redacted
    }

    /// Shown, whatever its name looks like.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// A difference here needs a deletion and a creation.
    #[must_use]
    pub const fn is_replaced(&self) -> bool {
        self.is_replaced
    }

    /// Whether something below is never shown.
    #[must_use]
    pub fn redacts_below(&self) -> bool {
        self.active.iter().any(|node| node.children().any(|child| child.any(&|effects| effects.redact)))
    }

    /// Whether single items of a list here are never shown, by their places.
    #[must_use]
    pub fn redacts_single_items(&self) -> bool {
        self.active.iter().any(|node| node.named.values().any(|child| child.any(&|effects| effects.redact)))
    }

    /// Whether rules speak of what is below.
    pub(super) fn has_rules_below(&self) -> bool {
        self.active.iter().any(|node| node.children().next().is_some())
    }

    /// What a scalar here says; `None` where the form cannot take it.
    #[must_use]
    pub fn meaning<'v>(&self, value: &'v Value) -> Option<Meaning<'v>> {
        form::meaning(self.form(), value)
    }

    /// Whether two scalars here say the same.
    #[must_use]
    pub fn is_same(&self, desired: &Value, observed: &Value) -> bool {
        form::is_same(self.form(), self.tolerance, desired, observed)
    }
}
