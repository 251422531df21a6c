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
    let functions = crate::cel::evaluation::function_names::GLOBAL_FUNCTIONS
        .iter()
        .chain(crate::cel::evaluation::function_names::MEMBER_FUNCTIONS);
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
