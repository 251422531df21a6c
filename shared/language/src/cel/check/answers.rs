//! Checks what an expression reads from a response: the fields of a response, and the type of its status.
//!
//! A field that does not exist fails at every poll. A number compared with a text never matches.

use cel::common::ast::{CallExpr, Expr, IdedExpr, operators};

use super::Checker;
use crate::cel::check::chain::{Chain, text};
use crate::cel::check::variables::{RESPONSE, STEPS};
use crate::cel::evaluation::raw::RAW;
use crate::suggest::did_you_mean;

/// The status number of a response.
const STATUS: &str = "status";
/// The fields of every response.
const FIELDS: [&str; 4] = [STATUS, "headers", "body", "text"];

impl Checker<'_> {
    /// Checks a field of a response. Responses of earlier steps have their raw bytes too.
    pub(super) fn check_answer(&mut self, chain: &Chain<'_>, field: Option<&String>) {
        let known = FIELDS.into_iter().chain((chain.name == STEPS).then_some(RAW));
        let Some(field) = field.filter(|field| known.clone().all(|known| known != field.as_str())) else { return };
        let hint = did_you_mean(field, known.clone());
        let hint = if hint.is_empty() { format!("; known: {}", known.collect::<Vec<_>>().join(", ")) } else { hint };
        let hint = if field == RAW { format!("{hint}. Bytes are kept of the steps before alone") } else { hint };
        self.refuse(chain.root, format!("an answer has no field `{field}`{hint}"));
    }

    /// Checks a comparison with a status: it is a number, so it never equals a text.
    pub(super) fn check_status(&mut self, call: &CallExpr) {
        let [left, right] = call.args.as_slice() else { return };
        let against = match call.func_name.as_str() {
            operators::EQUALS | operators::NOT_EQUALS if is_status(left) => vec![right],
            operators::EQUALS | operators::NOT_EQUALS if is_status(right) => vec![left],
            operators::IN if is_status(left) => match &right.expr {
                Expr::List(list) => list.elements.iter().collect(),
                _ => return,
            },
            _ => return,
        };
        for other in against {
            if let Some(written) = text(other) {
                let hint = if written.parse::<u16>().is_ok() {
                    format!(": write {written} without quotes")
                } else {
                    String::new()
                };
                self.refuse(other, format!("a status is a number, which equals no text{hint}"));
            }
        }
    }
}

/// Returns true if it reads the status of a response.
fn is_status(expression: &IdedExpr) -> bool {
    let Some(chain) = Chain::of(expression) else { return false };
    match (chain.name, chain.fields.as_slice()) {
        (RESPONSE, [field]) | (STEPS, [_, field]) => field == STATUS && chain.indexes.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::cel::{Expression, Names, Scope, Site};

    #[test]
    fn only_what_answers_have_may_be_asked() {
        let table = [
            ("response.stauts == 404", Some("2: an answer has no field `stauts`: did you mean `status`?")),
            ("has(response.code)", Some("6: an answer has no field `code`; known: status, headers, body, text")),
            (
                "response.raw",
                Some(
                    "2: an answer has no field `raw`; known: status, headers, body, text. Bytes are kept of the steps before alone",
                ),
            ),
            ("steps.a.boddy.x", Some("2: an answer has no field `boddy`: did you mean `body`?")),
            ("steps.?a.?raw.orValue(b'')", None),
            ("response['status'] == 404", None),
            ("response.body.stauts", None),
            ("response[self.spec.x]", None),
            (
                "response.status == '404'",
                Some("21: a status is a number, which equals no text: write 404 without quotes"),
            ),
            ("'gone' != steps.a.status", Some("2: a status is a number, which equals no text")),
            (
                "response.status in [200, '404']",
                Some("27: a status is a number, which equals no text: write 404 without quotes"),
            ),
            ("response.status in self.spec.codes", None),
            ("response.body.status == '404'", None),
        ];
        let names = Names { steps: vec!["a".to_owned()], ..Names::default() };
        let site = Site { names: Arc::new(names), ..Site::new("here", Scope::Response) };
        for (source, expected) in table {
            let refused = Expression::parse(&format!("${{{source}}}"), &site).err();
            let first = refused.map(|errors| format!("{}: {}", errors[0].offset, errors[0].message));
            assert_eq!(first.as_deref(), expected, "{source}");
        }
    }
}
