//! The recipes of `compare` in docs/reference/target/compare.md say what the poller says.

#![allow(clippy::unwrap_used, clippy::panic)]

use drift_language::Target;
use drift_poller::engine::judgement::drift::{Drift, Subject};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../docs/reference/target/compare.md");

/// A recipe: an object's spec, the external state, and the result.
struct Recipe<'p> {
    spec: &'p str,
    observed: &'p str,
    message: &'p str,
    compare: &'p str,
}

fn recipes() -> Vec<Recipe<'static>> {
    let blocks = PAGE.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block);
    let parse = |block: &'static str| {
        let (spec, rest) = block.strip_prefix("# spec")?.split_once("\n# observed")?;
        let (observed, rest) = rest.split_once("\n# message")?;
        let (message, compare) = rest.split_once('\n')?;
        Some(Recipe { spec: spec.trim(), observed: observed.trim(), message: message.trim(), compare })
    };
    blocks.filter_map(parse).collect()
}

fn target(compare: &str) -> Target {
    let indented: String = compare.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: recipe}}\nspec:\n  \
         objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}\n  identity: \"${{self.metadata.name}}\"\n  \
         read: {{http: {{url: \"http://h/x\"}}}}\n{indented}"
    );
    drift_language::fixtures::target(&text)
}

#[test]
fn every_recipe_of_compare_says_what_it_promises() {
    let recipes = recipes();
    assert!(recipes.len() >= 6, "only {} recipes were found", recipes.len());
    for Recipe { spec, observed, message, compare } in recipes {
        let [spec, observed]: [Value; 2] = [spec, observed].map(|text| serde_json::from_str(text).unwrap());
        let target = target(compare);
        let object = json!({"metadata": {"name": "x"}, "spec": spec});
        let desired = target.desired_state_of(&object).unwrap();
        let drift = Drift::of(&target, Subject::from(&object), &desired.value, &observed).unwrap();
        assert_eq!(drift.map(|drift| drift.text).unwrap_or_default(), message, "{compare}");
    }
}
