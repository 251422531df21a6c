//! The walk over the expressions of a part of a target. Every question about them is a filter over this walk.

use std::sync::Arc;

use crate::cel::render::expression::Expression;
use drift_api::object::field_paths::FieldPaths;

/// A part of a target that contains expressions.
pub trait Expressions {
    /// Visits each expression in it.
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression));

    /// The fields under `self` that it reads.
    fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        self.visit(&mut |expression| fields.extend(expression.fields()));
        fields
    }

    /// Returns true if it reads a variable of the language, or a secret by its name (`secrets.password`).
    fn reads(&self, variable: &str) -> bool {
        let mut reads = false;
        self.visit(&mut |expression| reads |= expression.reads(variable));
        reads
    }
}

impl Expressions for Expression {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        visit(self);
    }
}

impl<P: Expressions + ?Sized> Expressions for &P {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        (**self).visit(visit);
    }
}

impl<P: Expressions> Expressions for Arc<P> {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        (**self).visit(visit);
    }
}

impl<P: Expressions> Expressions for Option<P> {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.iter().for_each(|part| part.visit(visit));
    }
}

impl<P: Expressions> Expressions for [P] {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.iter().for_each(|part| part.visit(visit));
    }
}

impl<P: Expressions> Expressions for Vec<P> {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.as_slice().visit(visit);
    }
}

/// A part with its name.
impl<N, P: Expressions> Expressions for (N, P) {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.1.visit(visit);
    }
}
