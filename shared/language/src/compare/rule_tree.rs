//! The rules of one target as a tree of their paths.

use std::collections::BTreeMap;

use super::effects::Effects;

/// One step of a rule's path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A key of a map, or the index of an item in an ordered list.
    Name(String),
    /// `*`: every key, every item.
    Every,
}

/// The rules of one target as a tree of their paths.
#[derive(Debug)]
pub(super) struct RuleTree {
    /// All nodes, the root first.
    nodes: Vec<RuleNode>,
}

/// The effects at one path, and the children.
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
    /// The index of the root.
    pub(super) const ROOT: usize = 0;

    /// Adds the effects of a rule. `written` is the path as written.
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

    /// Returns true if an effect of any path satisfies the condition.
    pub(super) fn any(&self, holds: impl Fn(&Effects) -> bool) -> bool {
        self.nodes.iter().any(|node| holds(&node.effects))
    }

    /// Returns true if something is redacted at a node or below it.
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
