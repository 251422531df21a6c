//! Rules over a response that is a single value: a row or a cluster object. They are evaluated in a fixed order.

use crate::cel::{Expression, Expressions, Node as ValueNode, Scope, ValueTemplate};
use crate::yaml::{Fields, Reader, expression, read_value};

/// The rules over one value, in the order of their evaluation.
#[derive(Debug)]
pub struct AnswerRules {
    /// Rule that marks an existing value as absent.
    pub absent_when: Option<Expression>,
    /// Rule that accepts a genuine response. Default: a top-level key of a map `desired` occurs in the observed state.
    pub valid_when: Option<Expression>,
    /// Rule that detects a change in progress at the external system.
    pub settling_when: Option<Expression>,
    /// Maps the value to the observed state.
    pub observed: ValueTemplate,
}

/// Default rules, as they would be written in a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefaultRules {
    pub(crate) observed: &'static str,
    pub(crate) settling_when: Option<&'static str>,
}

impl Expressions for AnswerRules {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.observed.visit(visit);
        for rule in [&self.absent_when, &self.valid_when, &self.settling_when] {
            rule.visit(visit);
        }
    }
}

/// Reads the rules, which see the value through this scope.
pub(crate) fn read_rules(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    scope: Scope,
    defaults: DefaultRules,
) -> Option<AnswerRules> {
    let absent_when = reader.optional(fields, "absentWhen", expression(scope));
    let valid_when = reader.optional(fields, "validWhen", expression(scope));
    let settling_when = reader.optional(fields, "settlingWhen", expression(scope));
    let settling_when = settling_when.map(|written| {
        let site = reader.site(&fields.place("settlingWhen"), scope);
        written.or_else(|| Expression::parse(defaults.settling_when?, &site).ok())
    });
    let site = reader.site(&fields.place("observed"), scope);
    let observed = match fields.get("observed") {
        Some(node) => read_value(reader, node, &site),
        None => ValueNode::parse(defaults.observed, &site).ok().map(|root| ValueTemplate::new(root, site)),
    };
    Some(AnswerRules {
        absent_when: absent_when?,
        valid_when: valid_when?,
        settling_when: settling_when?,
        observed: observed?,
    })
}
