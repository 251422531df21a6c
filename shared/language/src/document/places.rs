//! Places of keys and names in a document.

use crate::yaml;
use crate::yaml::{Content, Node, Position};

/// The keys whose maps name a Secret.
const SECRET_REFERENCES: [&str; 3] = ["secretRef", "caSecretRef", "certificateSecretRef"];

/// Where the deepest key of a path that a document has stands in it, line and column; the document's first line without any.
#[must_use]
pub fn place_of_key(text: &str, path: &[&str]) -> (usize, usize) {
    yaml::parse(text).map_or((1, 1), |root| place_within(&root, path))
}

/// The same in a document that is read already.
pub(super) fn place_within(root: &Node, path: &[&str]) -> (usize, usize) {
    let (mut node, mut at) = (root, root.at);
    for key in path {
        let Content::Map(entries) = &node.content else { break };
        let Some(entry) = entries.iter().find(|entry| entry.key == *key) else { break };
        (node, at) = (&entry.value, entry.key_at);
    }
    (at.line, at.column)
}

/// Where a target document names a Secret of the programs' namespace, line and column; the document's first line where it does not.
#[must_use]
pub fn place_of_secret(text: &str, name: &str) -> (usize, usize) {
    let root = yaml::parse(text).ok();
    let at = root.as_ref().and_then(|root| secret_reference(root, name));
    at.map_or((1, 1), |at| (at.line, at.column))
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
        assert_eq!(place_of_secret(text, "r"), (2, 43));
        assert_eq!(place_of_secret(text, "w"), (6, 13));
        assert_eq!(place_of_secret(text, "x"), (1, 1));
    }

    #[test]
    fn the_deepest_known_key_is_placed() {
        let text = "kind: PollTarget\nspec:\n  correct:\n    http: {update: []}\n";
        assert_eq!(place_of_key(text, &["spec", "correct", "http", "update"]), (4, 12));
        assert_eq!(place_of_key(text, &["spec", "correct", "postgres"]), (3, 3));
        assert_eq!(place_of_key(": [", &["spec"]), (1, 1));
    }
}
