//! Rules over a response that is a single value: a row or a cluster object. They are evaluated in a fixed order.

use crate::cel::{Expression, Expressions, Node as ValueNode, Scope, ValueTemplate};
use crate::section::{Section, any, text};
use crate::yaml::{Fields, Reader, expression, value_template};

/// The rules over one value, in the order of their evaluation.
#[derive(Debug, Section)]
#[section(context = AnswerContext)]
pub struct AnswerRules {
    /// The value counts as no resource. Default: never.
    #[key(text(expression(context.scope)))]
    pub absent_when: Option<Expression>,
    /// The value describes the resource. Default: a top-level key of a map desired occurs in it.
    #[key(text(expression(context.scope)))]
    pub valid_when: Option<Expression>,
    /// The external system still works on a change. Default: never, and a cluster object while it is being deleted.
    #[key(text(expression(context.scope)), default = context.settling_when(reader, fields))]
    pub settling_when: Option<Expression>,
    /// The observed state. Default: the whole value.
    #[key(any(value_template(context.scope)), default = context.observed(reader, fields)?)]
    pub observed: ValueTemplate,
}

/// The scope in which rules see the value, and the default rules as they would be written in a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerContext {
    pub(crate) scope: Scope,
    pub(crate) observed: &'static str,
    pub(crate) settling_when: Option<&'static str>,
}

impl AnswerContext {
    fn settling_when(self, reader: &Reader<'_>, fields: &Fields<'_>) -> Option<Expression> {
        Expression::parse(self.settling_when?, &reader.site(&fields.place("settlingWhen"), self.scope)).ok()
    }

    fn observed(self, reader: &Reader<'_>, fields: &Fields<'_>) -> Option<ValueTemplate> {
        let site = reader.site(&fields.place("observed"), self.scope);
        ValueNode::parse(self.observed, &site).ok().map(|root| ValueTemplate::new(root, site))
    }
}

impl Expressions for AnswerRules {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.observed.visit(visit);
        for rule in [&self.absent_when, &self.valid_when, &self.settling_when] {
            rule.visit(visit);
        }
    }
}
