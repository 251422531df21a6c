//! A target for tests, of this crate and of those above it.

pub mod proxies;
pub mod secrets;

use crate::parse_document;
use crate::{DocumentName, Target};

/// The target of a document, which is called `k` of the ConfigMap `c`.
///
/// # Panics
/// Where the document is bad, with each of its mistakes as the parser tells it, and the text with the numbers of its lines.
#[must_use]
#[allow(clippy::panic, reason = "a test whose document is bad says so and ends")]
pub fn target(text: &str) -> Target {
    parsed(text).unwrap_or_else(|mistakes| {
        let numbered = |(number, line): (usize, &str)| format!("{:>4} {line}\n", number + 1);
        let lines: String = text.lines().enumerate().map(numbered).collect();
        panic!("the test's document is bad:\n{}\n{lines}", mistakes.join("\n"))
    })
}

/// The target of a document, or each of its mistakes as `line:column message`.
///
/// # Errors
/// Where the document is bad.
pub fn parsed(text: &str) -> Result<Target, Vec<String>> {
    let document = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
    let mistakes = parse_document(&document, text);
    mistakes.map_err(|problems| {
        problems.iter().map(|problem| format!("{}:{} {}", problem.line, problem.column, problem.message)).collect()
    })
}
