//! Fields that no read gives back, because they hold a secret: an API shows a mask there, or nothing.
//!
//! A write whose body is made of a look-up would replace the secret by the mask. [`check`] refuses such a body when the
//! target loads, as far as its templates show that. [`repeated`] finds the rest in the body before it is sent.

pub(crate) mod check;
pub(crate) mod repeated;

use crate::cel::{Expression, Node as Template, STEPS, ValueTemplate};
use crate::compare::Compare;
use crate::systems::http::correct::HttpCorrect;
use crate::systems::steps::Step as _;

/// The variable of a read's answer, and the key of its body.
const RESPONSE: &str = "response";
const BODY: &str = "body";

/// A field of an answer that no read gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnreadableField {
    /// Its path in the body of an answer about the resource.
    pub(crate) path: Vec<String>,
    /// The secret that it holds.
    pub(crate) secret: String,
    /// True for `writeOnly`. False for a field that only the body of another write names, which need not be a field of
    /// the same resource.
    pub(crate) is_declared: bool,
}

/// Returns the fields that the target calls unreadable: those of `writeOnly`, and those in which a write sends a secret.
pub(crate) fn unreadable_fields(
    compare: &Compare,
    observed: Option<&ValueTemplate>,
    http: &HttpCorrect,
) -> Vec<UnreadableField> {
    let declared = compare.write_only.iter().map(|field| UnreadableField {
        path: observed
            .and_then(|observed| answered_at(observed.root(), &field.path))
            .unwrap_or_else(|| field.path.clone()),
        secret: field.secret.clone(),
        is_declared: true,
    });
    let mut fields: Vec<UnreadableField> = declared.collect();
    for body in http.steps.iter().filter(|step| !step.looks_up()).filter_map(|step| step.request.body.as_ref()) {
        for (key, expression) in body.placed_expressions() {
            for (secret, below) in secret_fields(expression) {
                let path: Vec<String> = key.iter().map(|name| (*name).to_owned()).chain(below).collect();
                if !path.is_empty() && fields.iter().all(|known| known.path != path) {
                    fields.push(UnreadableField { path, secret: secret.to_owned(), is_declared: false });
                }
            }
        }
    }
    fields
}

/// Returns the secrets in the value of an expression, each with the path of its field.
fn secret_fields(expression: &Expression) -> impl Iterator<Item = (&str, Vec<String>)> {
    let secrets = expression.secrets().filter_map(|secret| Some((secret, expression.origin()?.fields_with(secret))));
    secrets.flat_map(|(secret, paths)| paths.into_iter().map(move |path| (secret, path)))
}

/// Returns the path in the answer of the value that `observed` has at a path. `None` if it is not known.
fn answered_at(observed: &Template, path: &[String]) -> Option<Vec<String>> {
    if let Template::Expression(expression) = observed {
        let selected = match (expression.path_on(RESPONSE), expression.path_on(STEPS)) {
            (Some([body, below @ ..]), _) | (_, Some([_, body, below @ ..])) if body == BODY => below,
            _ => return None,
        };
        return Some(selected.iter().chain(path).cloned().collect());
    }
    let (name, below) = path.split_first()?;
    answered_at(observed.field(name)?, below)
}

/// Returns the place for messages: `/auth/key`.
fn pointer(path: &[String]) -> String {
    path.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
