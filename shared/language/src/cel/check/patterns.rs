//! Checks that literal patterns in an expression compile.
//!
//! An invalid pattern would fail for every object.

use cel::common::ast::CallExpr;

use super::Checker;
use crate::cel::check::chain::text;
use crate::cel::evaluation::pattern::mistake;

/// The character that YAML's double quotes and texts of CEL make of `\b`.
const BACKSPACE: char = '\u{8}';
const MADE_BACKSPACE: &str =
    "the pattern has a backspace in place of `\\b`: write the template in single quotes, and the pattern as r\"\\b\"";

impl Checker<'_> {
    /// Checks a literal pattern. A pattern that depends on the object is skipped.
    pub(super) fn check_pattern(&mut self, call: &CallExpr) {
        let pattern = match (call.func_name.as_str(), call.target.is_some()) {
            ("matches" | "find" | "findAll", true) => call.args.first(),
            ("matches" | "capture" | "captureAll", false) => call.args.get(1),
            _ => None,
        };
        let Some(pattern) = pattern else { return };
        let Some(written) = text(pattern) else { return };
        if written.contains(BACKSPACE) {
            self.refuse(pattern, MADE_BACKSPACE.to_owned());
        } else if let Some(mistake) = mistake(written) {
            self.refuse(pattern, mistake);
        }
    }
}
