//! A target for tests of this crate and of crates that depend on it.

pub mod proxies;
pub mod secrets;

use crate::{DocumentName, Target, parse_document};

/// Parses a document under the name `k` of the ConfigMap `c`.
///
/// # Panics
/// Panics if the document is invalid, with all errors of the parser and the text with line numbers.
#[must_use]
#[allow(clippy::panic, reason = "a test whose document is bad says so and ends")]
pub fn target(text: &str) -> Target {
    parsed(text).unwrap_or_else(|mistakes| {
        let numbered = |(number, line): (usize, &str)| format!("{:>4} {line}\n", number + 1);
        let lines: String = text.lines().enumerate().map(numbered).collect();
        panic!("the test's document is bad:\n{}\n{lines}", mistakes.join("\n"))
    })
}

/// Returns the mistakes of a target whose read has this `auth`.
#[cfg(test)]
pub(crate) fn faults_of_auth(auth: &str) -> Vec<String> {
    let text = format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  \
         objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}\n  identity: x\n  \
         read: {{http: {{url: 'https://h.example', auth: {auth}}}}}\n  compare: {{desired: {{a: 1}}}}\n"
    );
    parsed(&text).map(|_| ()).err().unwrap_or_default()
}

/// Parses a document, or returns each of its mistakes as `line:column message`.
///
/// # Errors
/// Fails if the document is invalid.
pub fn parsed(text: &str) -> Result<Target, Vec<String>> {
    let document = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
    let mistakes = parse_document(&document, text);
    mistakes.map_err(|problems| {
        problems.iter().map(|problem| format!("{}:{} {}", problem.line, problem.column, problem.message)).collect()
    })
}
