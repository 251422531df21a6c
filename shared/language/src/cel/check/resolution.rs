//! Checks the names in an expression as far as they are known when the target loads: variables, steps, secrets,
//! entries of `let`, and the fields of `self`, `desired`, `observed` and responses.

use std::borrow::Cow;

use cel::common::ast::{CallExpr, Expr, IdedExpr, operators};

use super::Checker;
use crate::cel::check::variables::{
    DESIRED, DIFFERS, EVERY_KEY, HEADERS, ITEM, OBSERVED, PAYLOAD, RESOURCE, RESPONSE, ROW, SECRETS, STEPS, Scope,
    VARIABLES,
};
use crate::cel::evaluation::json::RAW;
use crate::cel::syntax::tree::{Chain, Mode, text};
use crate::suggest::{did_you_mean_or_known, nearest};

/// The status number of a response.
const STATUS: &str = "status";
/// The headers of a response.
const ANSWER_HEADERS: &str = "headers";
/// The body of a response, which is missing if it is malformed.
const BODY: &str = "body";
/// The fields of every response.
const FIELDS: [&str; 4] = [STATUS, ANSWER_HEADERS, BODY, "text"];

impl Checker<'_> {
    /// Returns true if a loop variable may not have this name. `item`, `row`, `resource`, `steps`, `differs`,
    /// `observed` and `payload` are common names, so they are reserved only where they have a meaning.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        let is_everywhere = VARIABLES.contains(&name)
            && ![ITEM, ROW, RESOURCE, STEPS, DIFFERS, OBSERVED, PAYLOAD, SECRETS].contains(&name);
        let is_here = self.site.scope != Scope::Anywhere && self.site.has_variable(name);
        is_everywhere || is_here || self.site.names.lets.contains_key(name)
    }

    /// Returns true for a name of `let`. They are replaced at their uses, and remain only inside other
    /// entries of `let`.
    pub(super) fn is_let(&self, name: &str) -> bool {
        self.site.scope == Scope::Anywhere && self.site.names.lets.contains_key(name)
    }

    /// Checks that an earlier step has this name.
    pub(super) fn check_step(&mut self, chain: &Chain<'_>) {
        let known = &self.site.names.steps;
        let fields = chain.fields();
        self.check_answer(chain, fields.get(1));
        let Some(name) = fields.first() else { return };
        if known.iter().any(|known| known == name) {
            self.references.variables.insert(format!("{STEPS}.{name}").into());
        } else if self.site.scope != Scope::Anywhere {
            let hint = did_you_mean_or_known(name, known.iter().map(String::as_str));
            self.refuse(chain.root, format!("no step before this one is called `{name}`{hint}"));
        }
    }

    /// Checks that templates may read the selected field of the object here.
    pub(super) fn check_object(&mut self, chain: &Chain<'_>) {
        let fields = chain.fields();
        match self.site.scope.refusal(&fields) {
            Some(message) => self.refuse(chain.root, message),
            None => self.references.fields.insert(fields.into_iter().map(str::to_owned).collect()),
        }
    }

    /// Checks that the desired state can have the selected field.
    pub(super) fn check_desired(&mut self, chain: &Chain<'_>) {
        let fields = chain.fields();
        if let Some(message) = self.site.names.desired.refusal(&fields) {
            self.refuse(chain.root, message);
        }
        self.references
            .variables
            .insert(fields.first().map_or(EVERY_KEY.into(), |key| format!("{DESIRED}.{key}").into()));
    }

    /// Checks that the observed state can have the selected field.
    pub(super) fn check_observed(&mut self, chain: &Chain<'_>) {
        if let Some(message) = self.site.names.observed.refusal(OBSERVED, &chain.fields()) {
            self.refuse(chain.root, message);
        }
    }

    /// Checks that a text searched for in `differs` can occur there.
    pub(super) fn check_differs(&mut self, call: &CallExpr) {
        let [element, list] = call.args.as_slice() else { return };
        let is_differs = matches!(&list.expr, Expr::Ident(name) if name == DIFFERS) && self.site.has_variable(DIFFERS);
        let name = text(element).filter(|_| is_differs && call.func_name == operators::IN);
        if let Some(message) = name.and_then(|name| self.site.names.desired.never_differs(name)) {
            self.refuse(element, message);
        }
    }

    /// Checks that a secret is declared and its name is a literal, so that only the named secret is read.
    pub(super) fn check_secret(&mut self, chain: &Chain<'_>) {
        // Entries of `let` are checked again at each use.
        if self.site.scope == Scope::Anywhere {
            return;
        }
        let known = &self.site.names.secrets;
        match chain.fields().first() {
            None => self.refuse(chain.root, "write secrets and the name of one: secrets.password"),
            Some(name) if known.iter().any(|known| known == name) => {
                self.references.variables.insert(format!("{SECRETS}.{name}").into());
            }
            Some(name) => {
                let hint = did_you_mean_or_known(name, known.iter().map(String::as_str));
                self.refuse(chain.root, format!("no secret is called `{name}`{hint}"));
            }
        }
    }

    pub(super) fn refuse_variable(&mut self, chain: &Chain<'_>) {
        let name = chain.name;
        let mut known: Vec<&str> = self.site.variables().collect();
        let message = if name == SECRETS && self.site.may_send() {
            "the target declares no secrets: add spec.secrets".to_owned()
        } else if name == SECRETS {
            "a secret is only ever sent: write it in the body, form, text, headers or SQL of correct".to_owned()
        } else if VARIABLES.contains(&name) {
            format!("`{name}` does not exist here; known: {}", known.join(", "))
        } else {
            known.extend(self.site.names.lets.keys().map(String::as_str));
            let candidates = known.iter().copied().chain(self.local.iter().map(String::as_str));
            match nearest(name, candidates) {
                Some(near) => format!("unknown variable `{name}`: did you mean `{near}`?"),
                None => format!("unknown variable `{name}`; known: {}. Texts are written in quotes", known.join(", ")),
            }
        };
        self.refuse(chain.root, message);
    }

    /// Checks that it does not test for a body, and records if it may see headers.
    pub(super) fn check_parts_of_answer(&mut self, chain: &Chain<'_>) {
        let place = match chain.name {
            RESPONSE => 0,
            STEPS => 1,
            _ => return,
        };
        let field = chain.fields().get(place).copied();
        if field == Some(BODY) && chain.selections[place].mode != Mode::Plain {
            let message = "an answer that is no JSON has no body either: compare `response.body` with null, or read \
                           `response.text`";
            self.refuse(chain.root, message);
        }
        if field.is_none_or(|field| field == ANSWER_HEADERS) {
            self.references.variables.insert(Cow::Borrowed(HEADERS));
        }
    }

    /// Checks a field of a response. Responses of earlier steps have their raw bytes too.
    pub(super) fn check_answer(&mut self, chain: &Chain<'_>, field: Option<&&str>) {
        let known = FIELDS.into_iter().chain((chain.name == STEPS).then_some(RAW));
        let Some(field) = field.filter(|field| known.clone().all(|known| known != **field)) else { return };
        let hint = did_you_mean_or_known(field, known);
        let hint = if *field == RAW { format!("{hint}. Bytes are kept of the steps before alone") } else { hint };
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
    let fields = match chain.name {
        RESPONSE => 1,
        STEPS => 2,
        _ => return false,
    };
    chain.selections.len() == fields && chain.fields().get(fields - 1) == Some(&STATUS)
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
            ("response[self.spec.x].?body.orValue('')", None),
            (
                "steps.a.?body.orValue('')",
                Some(
                    "2: an answer that is no JSON has no body either: compare `response.body` with null, or read \
                     `response.text`",
                ),
            ),
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
