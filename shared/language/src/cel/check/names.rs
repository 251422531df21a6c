//! Checks if a name in an expression is valid at its place: variables, steps, secrets, entries of `let`.

use std::borrow::Cow;

use cel::common::ast::{CallExpr, Expr, operators};

use super::Checker;
use crate::cel::check::chain::{Chain, text};
use crate::cel::check::variables::{DIFFERS, ITEM, OBSERVED, PAYLOAD, RESOURCE, ROW, SECRETS, STEPS, Scope, VARIABLES};
use crate::suggest::{did_you_mean, nearest};

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
        self.check_answer(chain, chain.fields.get(1));
        let Some(name) = chain.fields.first() else { return };
        if known.contains(name) {
            self.variables.insert(format!("{STEPS}.{name}").into());
            return;
        }
        if self.site.scope != Scope::Anywhere {
            let hint = did_you_mean(name, known.iter().map(String::as_str));
            let hint = if hint.is_empty() { format!("; known: {}", known.join(", ")) } else { hint };
            self.refuse(chain.root, format!("no step before this one is called `{name}`{hint}"));
        }
    }

    /// Checks that the desired state can have the selected field.
    pub(super) fn check_desired(&mut self, chain: &Chain<'_>) {
        if let Some(message) = self.site.names.desired.refusal(&chain.fields) {
            self.refuse(chain.root, message);
        }
    }

    /// Checks that the observed state can have the selected field.
    pub(super) fn check_observed(&mut self, chain: &Chain<'_>) {
        if let Some(message) = self.site.names.observed.refusal(OBSERVED, &chain.fields) {
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
        match chain.fields.first() {
            None => self.refuse(chain.root, "write secrets and the name of one: secrets.password"),
            Some(name) if !known.contains(name) => {
                let hint = did_you_mean(name, known.iter().map(String::as_str));
                let hint = if hint.is_empty() { format!("; known: {}", known.join(", ")) } else { hint };
                self.refuse(chain.root, format!("no secret is called `{name}`{hint}"));
            }
            Some(name) => drop(self.variables.insert(Cow::Owned(format!("{SECRETS}.{name}")))),
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
}
