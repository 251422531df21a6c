//! `compare`: the desired state and the comparison rules by path.
//!
//! The poller does the comparison. This module defines the meaning of a rule for one value and for one desired state.

mod effects;
mod fitness;
mod form;
mod places;
mod provable;
mod removal;
mod rule_tree;
mod rules;
mod write_only;
mod written;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use self::effects::Effects;
use self::provable::{DesiredPlace, check_constants, ignored_item, is_same_constant, look_up, unobserved};
use self::removal::Removal;
use self::rule_tree::RuleTree;
use self::write_only::{MAX_WRITE_ONLY, write_only};
use self::written::WrittenRule;
use crate::cel::{
    EvaluationError, Expressions as _, KnownDesired, Node as Template, Scope, Shape, Site, ValueTemplate, Variables,
};
use crate::section::{Section, any, list, section};
use crate::yaml::{Content, Fields, Node, Reader, read_value};
use drift_api::object::field_paths::FieldPaths;

pub use self::effects::ListKind;
pub use self::fitness::item_key;
pub use self::form::{Form, Meaning, json_of};
pub use self::rules::{RulePlace, Rules};
pub use self::write_only::WriteOnly;
pub(crate) use self::write_only::WriteOnlyKeys;
pub(crate) use self::written::RuleKeys;

/// Maximum number of rules of one target.
const MAX_RULES: usize = 200;

/// The desired state and its comparison rules.
#[derive(Debug)]
pub struct Compare {
    /// The desired state.
    pub desired: ValueTemplate,
    /// The comparison rules, by path.
    pub rules: Rules,
    /// Fields that no read returns.
    pub write_only: Vec<WriteOnly>,
    /// The place named in errors of the rules.
    site: Site,
}

impl Compare {
    /// Renders the desired state of an object, without ignored paths.
    pub(crate) fn render(&self, object: &Value) -> Result<Value, EvaluationError> {
        let mut desired = self.desired.render(&Variables::of_object(object))?;
        if self.rules.ask_something() {
            fitness::check(&self.rules.root(), &desired).map_err(|cause| self.site.error(cause))?;
        }
        if self.rules.any(|effects| effects.ignore) {
            Removal::Ignored.apply(&self.rules.root(), &mut desired);
        }
        Ok(desired)
    }

    /// Returns the keys of the desired state that a correction may read. If extra keys are drift, any key may differ.
    fn known_desired(&self) -> KnownDesired {
        let root = self.rules.root();
        let desired = DesiredPlace::of(self.desired.root()).shape(&root);
        let differing = match &desired {
            Shape::Map(fields) if !root.refuses_more_fields() => {
                let compared = fields.iter().filter(|(_, field)| !matches!(field, Shape::Ignored));
                let write_only = self.write_only.iter().map(|field| field.field().to_owned());
                Some(compared.map(|(name, _)| name.clone()).chain(write_only).collect())
            }
            _ => None,
        };
        KnownDesired { desired, differing }
    }

    /// The keys of the desired state that can differ, as far as known without an object. Keys whose difference may
    /// require a replacement are left out.
    pub(crate) fn updated_keys(&self) -> BTreeSet<String> {
        let root = self.rules.root();
        let may_replace = |key: &String| {
            let place = root.field(key);
            place.is_replaced() || place.has_rules_below() && self.rules.replace()
        };
        self.known_desired().differing.into_iter().flatten().filter(|key| !may_replace(key)).collect()
    }

    /// Returns true if every difference requires a replacement.
    pub(crate) fn replaces_all(&self) -> bool {
        let root = self.rules.root();
        match self.known_desired().differing {
            Some(keys) => keys.iter().all(|key| root.field(key).is_replaced()),
            None => root.any_item().is_replaced(),
        }
    }

    /// Returns true if a key of the desired state cannot differ by itself: the resource is looked up by the same
    /// fields, or `observed` has the same constant.
    pub(crate) fn is_settled(&self, key: &str, selecting: &FieldPaths, observed: &ValueTemplate) -> bool {
        let is_found_by = |expected: &Template| {
            let fields = expected.fields();
            fields.iter().next().is_some() && fields.iter().all(|field| selecting.covers(field))
        };
        self.desired.root().field(key).is_some_and(is_found_by)
            || is_same_constant(&DesiredPlace::of(self.desired.root()), &DesiredPlace::of(observed.root()), key)
    }

    /// The keys of the map `desired` that the map `observed` lacks, each with its consequence. Empty if it depends
    /// on the object.
    pub(crate) fn unobserved(&self, observed: &ValueTemplate) -> Vec<(String, String)> {
        unobserved(&DesiredPlace::of(self.desired.root()), &DesiredPlace::of(observed.root()), &self.rules.root())
    }

    /// Returns the desired state without redacted values. `None` if nothing is redacted.
    pub(crate) fn without_redacted(&self, desired: &Value) -> Option<Value> {
        self.rules.any(|effects| effects.redact).then(|| {
            let mut shown = desired.clone();
            Removal::Redacted.apply(&self.rules.root(), &mut shown);
            if self.rules.root().is_redacted() { Value::Null } else { shown }
        })
    }
}

/// Returns the static shape of a tree without rules.
pub(crate) fn shape_of(tree: &ValueTemplate) -> Shape {
    DesiredPlace::of(tree.root()).shape(&Rules::default().root())
}

/// The section as written.
#[derive(Section)]
#[section(value = Compare, check = Self::make)]
pub(crate) struct WrittenCompare {
    /// The desired state over self. A field that is left out is not managed.
    #[key(any(read_desired))]
    desired: ValueTemplate,
    /// How parts are compared. 1 to 200 rules.
    #[key(list(1..=MAX_RULES, section::<RuleKeys>(())), read = rules(key_desired.as_ref()), default)]
    rules: Rules,
    /// Secrets that no read gives back. 1 to 16.
    #[key(list(1..=MAX_WRITE_ONLY, section::<WriteOnlyKeys>(())), read = write_only(key_desired.as_ref()), default)]
    write_only: Vec<WriteOnly>,
}

impl WrittenCompare {
    /// Templates that are read later know the desired state.
    fn make(self, reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<Compare> {
        let Self { desired, rules, write_only } = self;
        let site = reader.site(&fields.place("rules"), Scope::Desired);
        let compare = Compare { desired, rules, write_only, site };
        reader.names_mut().desired = Arc::new(compare.known_desired());
        Some(compare)
    }
}

/// Returns a reader of rules that fit the desired state.
fn rules(desired: Option<&ValueTemplate>) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Rules> {
    move |reader, node, place| read_rules(reader, node, place, desired)
}

fn read_desired(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<ValueTemplate> {
    match node.content {
        Content::Null => reader.refuse_kind(node, place, "what is to be there"),
        _ => read_value(reader, node, &reader.site(place, Scope::Desired)),
    }
}

fn read_rules(reader: &mut Reader<'_>, node: &Node, place: &str, desired: Option<&ValueTemplate>) -> Option<Rules> {
    let items = reader.items(node, place, 1..=MAX_RULES)?;
    let mut tree = RuleTree::default();
    let mut known: Vec<WrittenRule> = Vec::new();
    let mut whole = true;
    for (position, item) in items.iter().enumerate() {
        let Some(rule) = RuleKeys::read(reader, item, &format!("{place}[{position}]"), ()) else {
            whole = false;
            continue;
        };
        if let Some(message) = said_twice(&known, &rule) {
            reader.refuse::<()>(item.at, format!("{}: {message}", rule.place));
            whole = false;
            continue;
        }
        tree.add(&rule.path, &rule.pointer, rule.effects.clone());
        known.push(rule);
    }
    let rules = match Rules::of(tree) {
        Ok(rules) => rules,
        Err(error) => return reader.refuse(node.at, format!("{place}: {error}")),
    };
    let Some(desired) = desired.filter(|_| whole) else { return whole.then_some(rules) };
    for rule in &known {
        if let Some(message) = mistake(&rules, rule, desired) {
            reader.refuse::<()>(rule.at, format!("{}.path: {message}", rule.place));
            whole = false;
        }
    }
    if whole && let Err(cause) = check_constants(desired.root(), &rules.root()) {
        return reader.refuse(node.at, format!("{place}: {cause}"));
    }
    whole.then_some(rules)
}

/// Returns the reason why a rule conflicts with the rules before it.
fn said_twice(known: &[WrittenRule], rule: &WrittenRule) -> Option<String> {
    let same = known.iter().filter(|other| other.path == rule.path);
    let words = |effects: &Effects| effects.words();
    for other in same {
        let twice = words(&rule.effects).into_iter().find(|word| words(&other.effects).contains(word));
        if let Some(word) = twice {
            return Some(format!("{} says `{word}` of this path already", other.place));
        }
        if rule.effects.ignore || other.effects.ignore {
            return Some(format!("{} speaks of this path too, and what is ignored is not compared", other.place));
        }
    }
    None
}

/// Returns the reason why a rule can never apply.
fn mistake(rules: &Rules, rule: &WrittenRule, desired: &ValueTemplate) -> Option<String> {
    let here = rule.path.iter().fold(rules.root(), |place, step| place.step(step));
    let found = match look_up(DesiredPlace::of(desired.root()), &rules.root(), &rule.path) {
        Ok(found) => found,
        Err(cause) => return Some(cause),
    };
    let kinds: Vec<_> = found.iter().map(DesiredPlace::kind).collect();
    // If it depends on the object, nothing can be proved.
    let is_never = |wanted: &[&str]| {
        let is_other = |kind: &Option<&str>| kind.is_some_and(|kind| !wanted.contains(&kind));
        !kinds.is_empty() && kinds.iter().all(is_other)
    };
    let holds_json = here.form() == Some(Form::Json);
    let has = kinds.iter().flatten().next().copied().unwrap_or_default();
    match &rule.effects {
        effects if effects.tolerance.is_some() && here.form().is_some_and(|form| !form.is_numeric()) => {
            let rule = here.form().map_or("", Form::rule);
            Some(format!("tolerance is for numbers, and {rule} makes none"))
        }
        effects if effects.list.is_some() && !holds_json && is_never(&["a list"]) => {
            Some(format!("list speaks of lists, and desired has {has} there"))
        }
        effects if effects.extra.is_some() && !holds_json && is_never(&["a list", "a map"]) => {
            Some(format!("extra speaks of lists and maps, and desired has {has} there"))
        }
        effects if effects.empty.is_some() && is_never(&["a text", "a list", "a map", "null"]) => {
            Some(format!("empty speaks of texts, lists and maps, and desired has {has} there"))
        }
        effects if effects.ignore => {
            ignored_item(DesiredPlace::of(desired.root()), &rules.root(), &rule.path).map(str::to_owned)
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
