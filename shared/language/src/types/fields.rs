//! Reads of fields: what certainly fails, and which fields an expression tests.

use std::rc::Rc;

use cel::common::ast::{Expr, IdedExpr};

use crate::cel::syntax::tree::Selection;
use crate::types::infer::{Finding, Inference, first};
use crate::types::kind_schema::{Field, ObjectSchema, Type};
use crate::types::spelling::{spelled, with_optionals};

impl<'s, 'e> Inference<'s, 'e> {
    /// Reads a field that must be there.
    pub(super) fn select(&mut self, at: &'e IdedExpr, operand: Type<'s>, field: &str) -> Type<'s> {
        match operand {
            Type::Object(object) => self.field(at, &object, field, true),
            Type::Optional(inner) => Type::Optional(Box::new(self.optional_field(at, *inner, field))),
            Type::Map(values) => *values,
            Type::Bool | Type::Number | Type::Text => {
                if let Some(described) = operand.described() {
                    let of = Selection::of(at).and_then(|selection| spelled(selection.operand));
                    let of = of.map_or_else(String::new, |of| format!("`{of}` is {described}: "));
                    self.report(at, format!("{of}{described} has no field `{field}`"));
                }
                Type::Any
            }
            _ => Type::Any,
        }
    }

    /// Reads a field that may be missing.
    pub(super) fn optional_field(&mut self, at: &'e IdedExpr, operand: Type<'s>, field: &str) -> Type<'s> {
        match operand {
            Type::Object(object) => self.field(at, &object, field, false),
            Type::Map(values) => *values,
            Type::Optional(inner) => self.optional_field(at, *inner, field),
            _ => Type::Any,
        }
    }

    fn field(&mut self, at: &'e IdedExpr, object: &Rc<ObjectSchema<'s>>, field: &str, is_needed: bool) -> Type<'s> {
        let path = object.path_of(field);
        self.read.insert(object.path_of("*"));
        match self.kind.field(object, field) {
            Field::Open => Type::Any,
            Field::Unknown(hint) => {
                // Fields outside of lists are checked when the target loads too, and reported from there.
                if path.contains(['[', '{']) || path.starts_with("metadata") {
                    self.report(at, format!("{} has no field {path}, which a template reads{hint}", self.kind.name));
                }
                Type::Any
            }
            Field::Declared(of_field, may_lack) => {
                if may_lack && is_needed && !self.is_assumed(object, &path) {
                    self.report_optional(at, &path);
                }
                of_field
            }
        }
    }

    fn is_assumed(&self, object: &ObjectSchema<'s>, path: &str) -> bool {
        let is_below = |told: &String| {
            path.strip_prefix(told.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.assumed.contains(path) || self.assumed.contains(&object.path_of("*")) || self.told.iter().any(is_below)
    }

    fn report_optional(&mut self, at: &'e IdedExpr, path: &str) {
        if self.is_silent {
            return;
        }
        self.told.insert(path.to_owned());
        let whole = self.chain.unwrap_or(at);
        let instead = with_optionals(whole, at).map(|text| format!("write `{text}.orValue(…)`"));
        let read = spelled(at).unwrap_or_else(|| path.to_owned());
        let test = matches!(at.expr, Expr::Select(_)).then(|| format!("test `has({read})` before"));
        let mut remedies: Vec<_> = instead.into_iter().chain(test).chain(requirement(path)).collect();
        let is_one = remedies.len() == 1;
        if let Some(last) = remedies.last_mut().filter(|_| !is_one) {
            last.insert_str(0, "or ");
        }
        let message = format!(
            "`{read}` may be missing: {} neither requires it nor gives it a default; {}",
            self.kind.name,
            remedies.join(", ")
        );
        self.found.push(Finding { node: first(at).id, message, missing: Some(path.to_owned()) });
    }

    /// Notes that the expression asks for a field, and so for all fields around it.
    pub(super) fn test(&mut self, operand: &Type<'s>, field: &str) {
        let mut operand = operand;
        while let Type::Optional(inner) = operand {
            operand = inner;
        }
        if let Type::Object(object) = operand {
            let path = object.path_of(field);
            let ends = path.match_indices('.').map(|(at, _)| path[..at].to_owned());
            self.tested.extend(ends);
            self.tested.insert(path);
            // An object without one field then has another.
            if object.least_properties() > 0 {
                self.tested.insert(object.path_of("*"));
            }
        }
    }
}

/// The addition to the definition after which every object has the field. Not for the status: a required field there
/// would make the API server refuse a verdict that comes before it.
fn requirement(path: &str) -> Option<String> {
    let (parent, name) = path.rsplit_once('.')?;
    path.starts_with("spec.").then(|| format!("add `{name}` to `required` of {parent} in the CRD"))
}
