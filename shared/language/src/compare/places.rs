//! All distinct places of the rules of one target, computed once when it loads.
//!
//! The effects at a place depend only on the paths that lead there, so there are few distinct places.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::effects::{Effects, Empty, Extra, ListKind};
use super::form::Form;
use super::rule_tree::RuleTree;
use crate::values::decimal::Decimal;

/// Maximum number of distinct places of one target. Without `*` there are about as many as rules and steps of their
/// paths. With `*` each path can double them. This many take a few megabytes.
const MAX_PLACES: usize = 10_000;

/// The paths with `*` cross each other in too many ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the paths with * cross each other in more than {MAX_PLACES} ways; write out the names in some of them")]
pub(super) struct TooManyPlaces;

/// The effective rules of a place.
#[derive(Debug, Default)]
pub(super) struct PlaceRules {
    pub(super) list: ListKind,
    /// The path that sets the list kind, as written.
    pub(super) list_path: String,
    pub(super) extra: Option<Extra>,
    pub(super) form: Option<Form>,
    pub(super) tolerance: Option<Decimal>,
    pub(super) flags: Flags,
    pub(super) redacts_below: bool,
    pub(super) redacts_single_items: bool,
    /// Named places below with their own rules.
    pub(super) named: BTreeMap<String, usize>,
    /// All other places below.
    pub(super) others: usize,
    pub(super) inside_text: usize,
    pub(super) has_rules_below: bool,
}

/// Effects that apply to a place and everything below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Flags {
    pub(super) is_ignored: bool,
    pub(super) is_redacted: bool,
    pub(super) is_shown: bool,
    pub(super) is_replaced: bool,
    pub(super) takes_empty_as_absent: bool,
}

/// The nodes that determine the rules of a place. Places with the same nodes are the same place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Deciding {
    /// Nodes whose path leads here, the nearest first.
    active: Vec<usize>,
    form: Option<usize>,
    tolerance: Option<usize>,
    /// More than desired is drift at this place, because of a path above.
    refuses_extra: bool,
    flags: Flags,
}

impl Deciding {
    fn at(mut self, tree: &RuleTree, active: Vec<usize>) -> Self {
        // From the farthest to the nearest, so that the nearest wins.
        for number in active.iter().rev() {
            let effects = &tree.node(*number).effects;
            self.form = if effects.form.is_some() { Some(*number) } else { self.form };
            self.tolerance = if effects.tolerance.is_some() { Some(*number) } else { self.tolerance };
            self.refuses_extra |= effects.extra == Some(Extra::DriftBelow);
            self.flags.is_ignored |= effects.ignore;
            self.flags.is_redacted |= effects.redact;
            self.flags.is_shown |= effects.show;
            self.flags.is_replaced |= effects.replace;
            if let Some(empty) = effects.empty {
                self.flags.takes_empty_as_absent = empty == Empty::Absent;
            }
        }
        Self { active, ..self }
    }

    fn below(&self, tree: &RuleTree, name: Option<&str>) -> Self {
        let children = |number: &usize| {
            let node = tree.node(*number);
            let named = name.and_then(|name| node.named.get(name)).copied();
            named.into_iter().chain(node.every)
        };
        let active = self.active.iter().flat_map(children).collect();
        // JSON is parsed once: `as: json` does not apply again inside of it.
        let form = self.form.filter(|number| tree.node(*number).effects.form != Some(Form::Json));
        Self { active: Vec::new(), form, ..*self }.at(tree, active)
    }

    fn inside_text(&self) -> Self {
        Self { form: None, ..self.clone() }
    }

    /// The nearest effect of that kind, and the path that sets it.
    fn nearest<T>(&self, tree: &RuleTree, effect: impl Fn(&Effects) -> Option<T>) -> Option<(T, String)> {
        let mut nodes = self.active.iter().map(|number| tree.node(*number));
        nodes.find_map(|node| Some((effect(&node.effects)?, node.path.clone())))
    }
}

/// Finds each distinct place once.
struct Finder<'t> {
    tree: &'t RuleTree,
    numbers: HashMap<Deciding, usize>,
    found: Vec<Deciding>,
}

impl Finder<'_> {
    fn number(&mut self, place: Deciding) -> usize {
        let new = self.found.len();
        let number = *self.numbers.entry(place.clone()).or_insert(new);
        if number == new {
            self.found.push(place);
        }
        number
    }

    fn know(&mut self, place: &Deciding) -> PlaceRules {
        let tree = self.tree;
        let nodes = || place.active.iter().map(|number| tree.node(*number));
        let names: BTreeSet<&String> = nodes().flat_map(|node| node.named.keys()).collect();
        let named = names.into_iter().map(|name| (name.clone(), self.number(place.below(tree, Some(name)))));
        let named = named.collect();
        let extra = place.nearest(tree, |effects| effects.extra).map(|(extra, _)| extra);
        let (list, list_path) = place.nearest(tree, |effects| effects.list.clone()).unwrap_or_default();
        PlaceRules {
            list,
            list_path,
            extra: extra.or(place.refuses_extra.then_some(Extra::Drift)),
            form: place.form.and_then(|number| tree.node(number).effects.form),
            tolerance: place.tolerance.and_then(|number| tree.node(number).effects.tolerance),
            flags: place.flags,
            redacts_below: nodes().any(|node| node.children().any(|child| tree.redacts_within(child))),
            redacts_single_items: nodes().any(|node| node.named.values().any(|child| tree.redacts_within(*child))),
            named,
            others: self.number(place.below(tree, None)),
            inside_text: self.number(place.inside_text()),
            has_rules_below: nodes().any(|node| node.children().next().is_some()),
        }
    }
}

/// Returns all distinct places, the root first.
///
/// # Errors
/// Fails if there are too many.
pub(super) fn find_places(tree: &RuleTree) -> Result<Vec<PlaceRules>, TooManyPlaces> {
    let mut finder = Finder { tree, numbers: HashMap::new(), found: Vec::new() };
    finder.number(Deciding::default().at(tree, vec![RuleTree::ROOT]));
    let mut places = Vec::new();
    while let Some(place) = finder.found.get(places.len()).cloned() {
        places.push(finder.know(&place));
        if finder.found.len() > MAX_PLACES {
            return Err(TooManyPlaces);
        }
    }
    Ok(places)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::rule_tree::Step;
    use super::*;

    /// As many rules as steps, each with one name among `*`: every step doubles the places.
    fn crossing(steps: usize) -> RuleTree {
        let mut tree = RuleTree::default();
        for own in 0..steps {
            let path: Vec<Step> =
                (0..steps).map(|step| if step == own { Step::Name("a".to_owned()) } else { Step::Every }).collect();
            tree.add(&path, "", Effects { redact: true, ..Effects::default() });
        }
        tree
    }

    #[test]
    fn crossing_paths_are_bounded() {
        assert!(find_places(&crossing(10)).unwrap().len() >= 1 << 10);
        assert_eq!(find_places(&crossing(20)).map(|places| places.len()), Err(TooManyPlaces));
    }

    #[test]
    fn places_grow_with_the_paths_alone() {
        let mut tree = RuleTree::default();
        for rule in 0..200 {
            let path = [Step::Every, Step::Name(format!("k{rule}")), Step::Every];
            tree.add(&path, "", Effects { redact: true, ..Effects::default() });
        }
        assert!(find_places(&tree).unwrap().len() <= 2 + 2 * 200 + 2);
    }
}
