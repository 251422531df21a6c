//! The section `correct` of a draft: it observes, and comments show how to correct.

use std::fmt::Write as _;

use super::address::Address;
use super::definition::Definition;
use super::text::{comment, quoted};
use crate::check::document::PLACEHOLDER;
use crate::kinds::operators::Operator;

/// The page about nudges.
const NUDGES: &str = "docs/cookbook/other-operators.md";
/// The page about kinds whose status cannot keep the conditions.
const FOREIGN: &str = "docs/guides/foreign-kinds.md";

/// Observes, with a comment that says how to wake the operator.
pub(super) fn wake(operator: Option<&Operator>) -> String {
    let head = "Only reports drift.";
    let Some(Operator { name, wakes_on, .. }) = operator else {
        let said = format!(
            "{head} If an operator corrects these objects, and a change of their metadata wakes it, `Correct` with a nudge \
             wakes it at each drift: {FOREIGN}."
        );
        return nudging(&said, PLACEHOLDER);
    };
    let head = format!("{head} By the API group, its operator is {name}, which corrects.");
    match wakes_on.annotation() {
        Some(annotation) => nudging(&format!("{head} With `Correct`, a nudge wakes it: {NUDGES}."), annotation),
        None => format!(
            "  correct:\n{}    mode: Observe\n",
            comment("    ", &format!("{head} No nudge wakes it: {NUDGES}."))
        ),
    }
}

fn nudging(said: &str, annotation: &str) -> String {
    format!(
        "  correct:\n{}    mode: Observe\n    # nudge:\n    #   annotations: {{{annotation}: \"drift-${{correction}}\"}}\n",
        comment("    ", said)
    )
}

/// Observes, with the requests of a correction as comments.
pub(super) fn correct(definition: &Definition, address: &Address<'_>, is_list: bool) -> String {
    let named: Vec<String> = address.expressions.iter().map(|expression| format!("${{{expression}}}")).collect();
    let address = address.url.trim_end_matches('/');
    let (list, one) = match (is_list, address.rsplit_once('/')) {
        (true, _) => (address.to_owned(), format!("{address}/{}", named.join("/"))),
        (false, Some((list, _))) => (list.to_owned(), address.to_owned()),
        (false, None) => (address.to_owned(), address.to_owned()),
    };
    let mut text = "  correct:\n    # Only reports drift. `Correct` needs the requests that your system takes, for example:\n    mode: Observe\n".to_owned();
    let _ = writeln!(
        text,
        "    # http:\n    #   auth: {{bearer: {{secretRef: {{name: {}-write}}}}}}",
        definition.kind.plural
    );
    for (action, method, url, body) in [
        ("create", "POST", &list, ", body: \"${desired}\""),
        ("update", "PUT", &one, ", body: \"${desired}\""),
        ("delete", "DELETE", &one, ""),
    ] {
        let _ = writeln!(text, "    #   {action}: {{method: {method}, url: {}{body}}}", quoted(url));
    }
    text
}
