//! The page on targets lists every function, and the examples of its table are correct.

use serde_json::{Value, json};

use crate::cel::*;

const PAGE: &str = include_str!("../../../../../docs/reference/target/templates.md");

/// The part of the page that lists functions.
fn section() -> &'static str {
    let (_, after) = PAGE.split_once("\n## Functions\n").unwrap();
    after.split_once("\n## ").unwrap().0
}

/// The expression of each example, and its JSON result.
fn examples() -> Vec<(&'static str, Value)> {
    let cells = section().lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.rsplit(" | ").next());
    let examples = cells.filter_map(|cell| cell.trim_end_matches(" |").split_once("` is `"));
    let parse = |(expression, value): (&'static str, &'static str)| {
        let value = value.trim_end_matches('`');
        (
            expression.trim_start_matches('`'),
            serde_json::from_str(value).unwrap_or_else(|_| panic!("{value} is no JSON")),
        )
    };
    examples.map(parse).collect()
}

#[test]
fn every_function_is_documented() {
    let functions = crate::cel::functions::table::FUNCTIONS.iter().map(|function| function.name);
    let missing: Vec<_> = functions.filter(|function| !section().contains(&format!("`{function}"))).collect();
    let missing: Vec<_> = missing.iter().filter(|name| !section().contains(&format!(".{name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_example_of_a_function_holds() {
    let examples = examples();
    assert!(examples.len() >= 20, "only {} examples were found", examples.len());
    for (source, expected) in examples {
        let expression = Expression::parse(&format!("${{{source}}}"), &Site::new("here", Scope::Object))
            .unwrap_or_else(|errors| panic!("{source}: {errors:?}"));
        let found = expression.evaluate(&Variables::of_object(&json!({})));
        assert_eq!(found, Ok(Some(expected)), "{source}");
    }
}

#[test]
fn the_patterns_of_the_page_keep_their_backslashes() {
    let (_, after) = section().split_once("\n### Backslashes\n").unwrap();
    let (written, _) = after.split_once("```yaml\n").and_then(|(_, block)| block.split_once("```")).unwrap();
    let written: String = written.lines().map(|line| format!("  {line}\n")).collect();
    let target = crate::fixtures::target(&format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: page}}\nspec:\n  \
         objects: {{apiVersion: net.example/v1, kind: Proxy}}\n  identity: \"${{self.metadata.name}}\"\n  \
         read: {{http: {{url: \"https://h.example/x\"}}}}\n  compare: {{desired: {{}}}}\n{written}"
    ));
    let unmet = |zip, host| {
        let object = json!({"metadata": {"name": "x"}, "spec": {"zip": zip, "host": host}});
        target.unmet_requirement(&object).unwrap().map(str::to_owned)
    };
    assert_eq!(target.require.len(), 2);
    assert_eq!(unmet("12345", "web.example"), None);
    assert_eq!(unmet("1234d", "web.example").as_ref(), Some(&target.require[0].otherwise));
    assert_eq!(unmet("12345", "webXexample").as_ref(), Some(&target.require[1].otherwise));
}
