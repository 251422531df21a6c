//! Whether the patterns that are written out in an expression can be compiled.
//!
//! One that cannot would fail for every object.

use cel::common::ast::CallExpr;

use super::Checker;
use crate::cel::check::chain::text;
use crate::cel::evaluation::pattern::mistake;

impl Checker<'_> {
    /// A pattern that only an object can tell is not looked at.
    pub(super) fn check_pattern(&mut self, call: &CallExpr) {
        let pattern = match (call.func_name.as_str(), call.target.is_some()) {
            ("matches" | "find" | "findAll", true) => call.args.first(),
            ("matches" | "capture", false) => call.args.get(1),
            _ => None,
        };
        let Some(pattern) = pattern else { return };
        if let Some(mistake) = text(pattern).and_then(mistake) {
            self.refuse(pattern, mistake);
        }
    }
}
