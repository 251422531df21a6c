//! Places of keys and names in a document.

use crate::document::short_forms::expand;
use crate::yaml;
use crate::yaml::{Content, Node, Position};

/// The keys whose maps name a Secret.
const SECRET_REFERENCES: [&str; 3] = ["secretRef", "caSecretRef", "certificateSecretRef"];

/// The tree of a document, read once to place everything that is said of it.
#[derive(Debug)]
pub struct Places {
    /// `None` for a text that is no YAML.
    root: Option<Node>,
}

impl Places {
    /// Reads a document.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut root = yaml::parse(text).ok();
        root.as_mut().into_iter().for_each(expand);
        Self { root }
    }

    /// Returns the line and column of the deepest key of a path that the document has, or of its beginning.
    #[must_use]
    pub fn of_key(&self, path: &[&str]) -> (usize, usize) {
        self.root.as_ref().map_or((1, 1), |root| place_within(root, path))
    }

    /// Returns true if the document has a key.
    #[must_use]
    pub fn has_key(&self, path: &[&str]) -> bool {
        let mut node = self.root.as_ref();
        path.iter().for_each(|key| node = node.and_then(|node| node.get(key)));
        node.is_some()
    }

    /// Returns the line and column at which the document names a Secret of the programs' namespace, or of its
    /// beginning.
    #[must_use]
    pub fn of_secret(&self, name: &str) -> (usize, usize) {
        let at = self.root.as_ref().and_then(|root| secret_reference(root, name));
        at.map_or((1, 1), |at| (at.line, at.column))
    }

    /// Returns the `spec` of the document.
    pub(crate) fn spec(&self) -> Option<&Node> {
        self.root.as_ref()?.get("spec")
    }
}

/// Returns the line and column of the deepest key of a path below a node.
pub(super) fn place_within(root: &Node, path: &[&str]) -> (usize, usize) {
    let (mut node, mut at) = (root, root.at);
    for key in path {
        let Content::Map(entries) = &node.content else { break };
        let Some(entry) = entries.iter().find(|entry| entry.key == *key) else { break };
        (node, at) = (&entry.value, entry.key_at);
    }
    (at.line, at.column)
}

/// The name in the first reference to that Secret, in the order of the document.
fn secret_reference(node: &Node, name: &str) -> Option<Position> {
    let below = |node: &Node| secret_reference(node, name);
    match &node.content {
        Content::Map(entries) => entries.iter().find_map(|entry| {
            let named = entry.value.get("name").filter(|_| SECRET_REFERENCES.contains(&entry.key.as_str()));
            let named = named.filter(|found| found.as_text() == Some(name));
            named.map(|found| found.at).or_else(|| below(&entry.value))
        }),
        Content::List(items) => items.iter().find_map(below),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_placed_where_it_is_named() {
        let text = "spec:\n  read: {auth: {basic: {secretRef: {name: r}}}}\n  let: {name: w}\n  hints:\n  - secretRef:\n      name: w\n";
        let places = Places::of(text);
        assert_eq!(places.of_secret("r"), (2, 43));
        assert_eq!(places.of_secret("w"), (6, 13));
        assert_eq!(places.of_secret("x"), (1, 1));
    }

    #[test]
    fn the_deepest_known_key_is_placed() {
        let text = "kind: PollTarget\nspec:\n  correct:\n    http: {update: []}\n";
        let places = Places::of(text);
        assert_eq!(places.of_key(&["spec", "correct", "http", "update"]), (4, 12));
        assert_eq!(places.of_key(&["spec", "correct", "postgres"]), (3, 3));
        assert_eq!(Places::of(": [").of_key(&["spec"]), (1, 1));
    }

    #[test]
    fn a_key_counts_even_without_a_value() {
        let places = Places::of("spec: {correct: {mode: }}");
        assert!(places.has_key(&["spec", "correct", "mode"]));
        assert!(!places.has_key(&["spec", "correct", "http"]) && !places.has_key(&["spec", "scope", "mode"]));
        assert!(!Places::of(": [").has_key(&["spec"]));
    }
}
