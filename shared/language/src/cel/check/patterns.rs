//! Checks that literal patterns in an expression compile.
//!
//! An invalid pattern would fail for every object.

use cel::common::ast::CallExpr;

use super::Checker;
use crate::cel::check::chain::text;
use crate::cel::evaluation::pattern::mistake;

impl Checker<'_> {
    /// Checks a literal pattern. A pattern that depends on the object is skipped.
    pub(super) fn check_pattern(&mut self, call: &CallExpr) {
        let pattern = match (call.func_name.as_str(), call.target.is_some()) {
            ("matches" | "find" | "findAll", true) => call.args.first(),
            ("matches" | "capture" | "captureAll", false) => call.args.get(1),
            _ => None,
        };
        let Some(pattern) = pattern else { return };
        if let Some(mistake) = text(pattern).and_then(mistake) {
            self.refuse(pattern, mistake);
        }
    }
}
