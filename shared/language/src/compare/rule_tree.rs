//! The rules of one target by the paths that they are written for.

use std::collections::BTreeMap;

use super::effects::Effects;

/// One step of a rule's path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A key of a map, or the place of an item in an ordered list.
    Name(String),
    /// `*`: every key, every item.
    Every,
}

/// The rules of one target as a tree of their paths.
#[derive(Debug)]
pub(super) struct RuleTree {
    /// The root first.
    nodes: Vec<RuleNode>,
}

/// What is written at one path, and what is below it.
#[derive(Debug, Default)]
pub(super) struct RuleNode {
    pub(super) effects: Effects,
    /// The path as it is written.
    pub(super) path: String,
    pub(super) named: BTreeMap<String, usize>,
    pub(super) every: Option<usize>,
}

impl Default for RuleTree {
    fn default() -> Self {
        Self { nodes: vec![RuleNode::default()] }
    }
}

impl RuleTree {
    /// The root's number.
    pub(super) const ROOT: usize = 0;

    /// Adds what a rule says of a path; `written` is the path as people wrote it.
    pub(super) fn add(&mut self, path: &[Step], written: &str, effects: Effects) {
        let node = path.iter().fold(Self::ROOT, |node, step| self.child(node, step));
        let node = &mut self.nodes[node];
        written.clone_into(&mut node.path);
        node.effects.extend(effects);
    }

    fn child(&mut self, parent: usize, step: &Step) -> usize {
        let new = self.nodes.len();
        let parent = &mut self.nodes[parent];
        let child = match step {
            Step::Name(name) => *parent.named.entry(name.clone()).or_insert(new),
            Step::Every => *parent.every.get_or_insert(new),
        };
        if child == new {
            self.nodes.push(RuleNode::default());
        }
        child
    }

    pub(super) fn node(&self, number: usize) -> &RuleNode {
        &self.nodes[number]
    }

    /// Returns true if any path has such an effect.
    pub(super) fn any(&self, holds: impl Fn(&Effects) -> bool) -> bool {
        self.nodes.iter().any(|node| holds(&node.effects))
    }

    /// Returns true if something is never shown at a node or below it.
    pub(super) fn redacts_within(&self, number: usize) -> bool {
        let node = self.node(number);
        node.effects.redact || node.children().any(|child| self.redacts_within(child))
    }
}

impl RuleNode {
    pub(super) fn children(&self) -> impl Iterator<Item = usize> {
        self.named.values().copied().chain(self.every)
    }
}
