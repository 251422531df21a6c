//! Finds keys of the target that are inside `desired` because of too deep an indentation. They would be compared as
//! fields of the external resource and would have no effect.
//!
//! A resource may really have such a field, so nothing is rejected.

use crate::compare::{RuleKeys, WriteOnlyKeys};
use crate::correct::Correct;
use crate::hints::WrittenHints;
use crate::section::Section as _;
use crate::systems::Destination;
use crate::yaml::{Content, Entry, Fault, Node};

/// Returns the keys inside `desired` that have the shape of a target key which the target lacks.
pub(crate) fn too_deep(document: &Node) -> Vec<Fault> {
    let found = || {
        let spec = document.get("spec")?;
        let compare = spec.get("compare")?;
        let Content::Map(entries) = &compare.get("desired")?.content else { return None };
        Some(entries.iter().filter_map(|entry| misplaced(entry, spec, compare)).collect())
    };
    found().unwrap_or_default()
}

fn misplaced(entry: &Entry, spec: &Node, compare: &Node) -> Option<Fault> {
    let key = entry.key.as_str();
    let (lacks, place, beside) = match key {
        "rules" => (compare.get(key).is_none() && items(&entry.value, is_rule), "compare.rules", "desired"),
        "writeOnly" => {
            (compare.get(key).is_none() && items(&entry.value, is_write_only), "compare.writeOnly", "desired")
        }
        "correct" => (spec.get(key).is_none() && is_correct(&entry.value), "correct", "compare"),
        "hints" => (spec.get(key).is_none() && has_only(&entry.value, &WrittenHints::names(())), "hints", "compare"),
        _ => return None,
    };
    let message = format!(
        "`{key}` stands within `desired` and is compared as a field of the external resource; if it is the target's own `{place}`, \
         indent it as `{beside}`"
    );
    lacks.then_some(Fault { at: entry.key_at, message })
}

/// Returns true for a non-empty list whose items all satisfy `is_one`.
fn items(node: &Node, is_one: impl Fn(&Node) -> bool) -> bool {
    matches!(&node.content, Content::List(items) if !items.is_empty() && items.iter().all(is_one))
}

fn is_rule(node: &Node) -> bool {
    // A `path` alone proves nothing, because other things have paths.
    let is_path = |key: &&str| *key == "path";
    has_pointer(node)
        && has_only(node, &RuleKeys::names(()))
        && RuleKeys::names(()).iter().any(|key| !is_path(key) && node.get(key).is_some())
}

fn is_write_only(node: &Node) -> bool {
    has_pointer(node) && node.get("secret").is_some() && has_only(node, &WriteOnlyKeys::names(()))
}

fn is_correct(node: &Node) -> bool {
    Destination::names(()).iter().any(|destination| node.get(destination).is_some())
        && has_only(node, &Correct::names(()))
}

fn has_pointer(node: &Node) -> bool {
    node.get("path").and_then(Node::as_text).is_some_and(|path| path.starts_with('/'))
}

/// Returns true for a non-empty map that has only these keys.
fn has_only(node: &Node, known: &[&str]) -> bool {
    matches!(&node.content, Content::Map(entries) if !entries.is_empty() && entries.iter().all(|entry| known.contains(&&*entry.key)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::yaml::parse;

    fn told(desired: &str, compare: &str, spec: &str) -> Vec<String> {
        let text = format!("spec: {{compare: {{desired: {desired}{compare}}}{spec}}}");
        too_deep(&parse(&text).unwrap()).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn only_the_shape_of_a_lacking_key_is_told() {
        let rules = "{name: x, rules: [{path: /members, list: set}, {path: /*/ttl, ignore: true}]}";
        let said = "`rules` stands within `desired` and is compared as a field of the external resource; if it is the target's own \
                    `compare.rules`, indent it as `desired`";
        assert_eq!(told(rules, "", ""), [said]);
        let others = [
            ("{writeOnly: [{path: /password, secret: p}]}", "`compare.writeOnly`, indent it as `desired`"),
            ("{correct: {mode: Correct, http: {}}}", "`correct`, indent it as `compare`"),
            ("{hints: {webhook: {}}}", "`hints`, indent it as `compare`"),
        ];
        for (desired, end) in others {
            let found = told(desired, "", "");
            assert!(matches!(&*found, [one] if one.ends_with(end)), "{desired}: {found:?}");
        }
        for (desired, compare, spec) in [
            (rules, ", rules: []", ""),
            ("{correct: {http: {}}}", "", ", correct: {}"),
            ("{rules: [{path: /api, backend: web}]}", "", ""),
            ("{rules: [{path: /api}]}", "", ""),
            ("{rules: []}", "", ""),
            ("{rules: [{path: api, list: set}]}", "", ""),
            ("{rules: '${self.spec.rules}', hints: 3, correct: {mode: strict}}", "", ""),
            ("{within: {rules: [{path: /a, list: set}]}}", "", ""),
        ] {
            assert_eq!(told(desired, compare, spec), Vec::<String>::new(), "{desired}");
        }
        assert!(too_deep(&parse("a: b").unwrap()).is_empty());
    }
}
