//! Attributes an evaluation error of a rule over a response: either the object or the response is at fault.
//!
//! A part that is always evaluated and does not read the response cannot fail because of it. If such a part fails, the
//! object or the target is at fault. Every other error is attributed to the response.

use cel::common::ast::{Expr, IdedExpr, operators};

use crate::cel::check::site::EvaluationError;
use crate::cel::check::variables::{ITEM, RESOURCE, RESPONSE, ROW, STEPS};
use crate::cel::syntax::tree::children;

/// Variables that come from a response.
pub(in crate::cel) const ANSWERS: [&str; 5] = [RESPONSE, ITEM, ROW, RESOURCE, STEPS];

/// The origin of an evaluation error of a rule over a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// The object is at fault, regardless of the response.
    OfObject(EvaluationError),
    /// The response is at fault.
    OfAnswer(EvaluationError),
}

impl Mistake {
    /// Prefers the object's own error over that of the response.
    pub(crate) fn attribute(own: Option<EvaluationError>, error: EvaluationError) -> Self {
        own.map_or(Self::OfAnswer(error), Self::OfObject)
    }
}

/// The largest parts of an expression that are always evaluated and read no response.
pub(in crate::cel) fn parts_without_answer(expression: &IdedExpr) -> Vec<&IdedExpr> {
    let mut parts = Vec::new();
    collect(expression, &mut parts);
    parts
}

fn collect<'e>(expression: &'e IdedExpr, parts: &mut Vec<&'e IdedExpr>) {
    // A name alone cannot fail. The `base64` of `base64.decode(…)` is not a value.
    if matches!(expression.expr, Expr::Ident(_)) {
        return;
    }
    if !reads_answer(expression) {
        return parts.push(expression);
    }
    match &expression.expr {
        Expr::Call(call) => {
            call.target.iter().for_each(|target| collect(target, parts));
            let certain = match call.func_name.as_str() {
                // Their arguments are evaluated only if the others leave the result open.
                operators::LOGICAL_AND | operators::LOGICAL_OR | "or" | "orValue" => 0,
                operators::CONDITIONAL => 1,
                _ => call.args.len(),
            };
            call.args.iter().take(certain).for_each(|argument| collect(argument, parts));
        }
        Expr::Comprehension(loops) => collect(&loops.iter_range, parts),
        _ => children(expression).into_iter().for_each(|child| collect(child, parts)),
    }
}

fn reads_answer(expression: &IdedExpr) -> bool {
    let is_answer = matches!(&expression.expr, Expr::Ident(name) if ANSWERS.contains(&name.as_str()));
    is_answer || children(expression).into_iter().any(reads_answer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use crate::cel::functions::table::{Called, FUNCTIONS, MACROS};
    use crate::cel::*;

    /// Every call of the language, with each argument in turn replaced by `MISSING`.
    fn calls() -> Vec<String> {
        let with_each_missing = |count: usize, call: &dyn Fn(&[&str]) -> String| -> Vec<String> {
            let arguments = |missing| (0..count).map(move |at| if at == missing { "MISSING" } else { "'a'" });
            (0..count).map(|missing| call(&arguments(missing).collect::<Vec<_>>())).collect()
        };
        let functions = FUNCTIONS.iter().filter(|function| !["path", "or", "orValue"].contains(&function.name));
        let functions = functions.flat_map(|function| {
            let (name, [_, most]) = (function.name, function.arguments);
            match function.called {
                Called::Alone => with_each_missing(most, &|arguments| format!("{name}({})", arguments.join(", "))),
                Called::OnValue => with_each_missing(most + 1, &|arguments| {
                    format!("{}.{name}({})", arguments[0], arguments[1..].join(", "))
                }),
            }
        });
        let others = MACROS
            .iter()
            .filter(|name| !["has", "optMap", "optFlatMap"].contains(name))
            .map(|name| format!("MISSING.{name}(x, x == 'a')"));
        let lazy = ["optional.of(MISSING).or(optional.none())", "optional.of(MISSING).orValue(1)"];
        let around = ["optional.of(MISSING).optMap(x, x)", "optional.of(MISSING).optFlatMap(x, optional.of(x))"];
        let operators = [
            "MISSING == 'a'",
            "'a' in MISSING",
            "!MISSING",
            "[MISSING]",
            "{'a': MISSING}",
            "{MISSING: 'a'}",
            "['a'][MISSING]",
            "MISSING['a']",
            "MISSING.?a",
            "has(MISSING.a)",
            "MISSING ? 1 : 2",
            "MISSING && true",
            "string(base64.decode(MISSING)) == 'a'",
            "[1].map(x, MISSING)",
        ];
        let written = lazy.iter().chain(&around).chain(&operators).map(|call| (*call).to_owned());
        functions.chain(others).chain(written).collect()
    }

    /// Returns the attributed error of an expression, if it fails.
    fn mistake(source: &str) -> Option<Mistake> {
        let expression = Expression::parse(&format!("${{{source}}}"), &Site::new("here", Scope::Response));
        let expression = expression.unwrap_or_else(|errors| panic!("{source}: {errors:?}"));
        let (object, response) = (json!({"spec": {"list": [1]}}), json!({"status": 200, "body": {"a": "a"}}));
        let variables = Variables { response: Some(&response), ..Variables::of_object(&object) };
        expression.evaluate(&variables).err().map(|error| expression.attribute(error, &object))
    }

    #[test]
    fn a_field_that_an_answer_lacks_is_its_own_mistake() {
        for call in calls() {
            let of_answer = mistake(&call.replace("MISSING", "response.body.gone"));
            assert!(matches!(of_answer, Some(Mistake::OfAnswer(_))), "{call}: {of_answer:?}");
        }
    }

    #[test]
    fn a_field_that_the_object_lacks_is_the_objects_mistake() {
        for call in calls().iter().filter(|call| !call.contains("[1].map")) {
            let both = format!("[response.body.gone, {}]", call.replace("MISSING", "self.spec.gone"));
            let of_object = mistake(&both);
            assert!(matches!(of_object, Some(Mistake::OfObject(_))), "{both}: {of_object:?}");
        }
    }
}
