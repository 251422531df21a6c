//! Refuses bodies that are made of a look-up and send back a field that no read gives back.

use http::Method;

use super::{UnreadableField, pointer, unreadable_fields};
use crate::cel::{AnswerPart, Expression, Found, ITEM, Origin, STEPS, Scope};
use crate::compare::Compare;
use crate::correct::Correct;
use crate::read::Read;
use crate::secrets::secret_variable;
use crate::section::Section as _;
use crate::systems::Destination;
use crate::systems::http::correct_step::HttpStep;
use crate::systems::http::request::body::Body;
use crate::systems::http::request::kind::RequestKind;
use crate::systems::steps::{ACTIONS, Step as _};
use crate::yaml::{Content, Node, Reader};

/// Refuses a body that carries such a field, and warns of a `PUT` that leaves one out.
pub(crate) fn check_carried_back(
    reader: &mut Reader<'_>,
    spec: &Node,
    read: &Read,
    compare: &Compare,
    correct: &Correct,
) {
    let Some(Destination::Http(http)) = &correct.destination else { return };
    let fields = unreadable_fields(compare, Some(read.source.section().observed()), http);
    if fields.is_empty() {
        return;
    }
    let written = spec.get("correct").and_then(|correct| correct.get("http"));
    let keys = Body::names(RequestKind::Step(Scope::Correction));
    for (action, steps) in ACTIONS.into_iter().zip(http.steps.by_action()) {
        for (position, step) in steps.iter().enumerate() {
            let node = written.and_then(|http| item(http.get(action)?, position));
            let key = keys.iter().find_map(|key| Some((*key, node?.get(key)?)));
            let Some((key, body)) = key.filter(|_| !step.looks_up()) else { continue };
            let place = format!("correct.http.{action}[{position}].{key}");
            for field in &fields {
                match found(step, field) {
                    Some(found) if !found.is_left_out => {
                        let advice = carried(field, found.part.as_ref(), key == "body");
                        reader.refuse::<()>(body.at, format!("{place}: {advice}"));
                    }
                    Some(Found { part: Some((part, below)), .. })
                        if field.is_declared && step.request.method == Method::PUT =>
                    {
                        reader.doubt(body.at, format!("{place}: {}", left_out(field, &part, &below)));
                    }
                    _ => {}
                }
            }
        }
    }
}

fn item(list: &Node, position: usize) -> Option<&Node> {
    match &list.content {
        Content::List(items) => items.get(position),
        _ => None,
    }
}

/// Returns the part of an answer with which the step's body has a field, if it has one: rather one that has the field
/// than one that leaves it out.
fn found(step: &HttpStep, field: &UnreadableField) -> Option<Found> {
    let items = match step.for_each.as_ref().and_then(|for_each| for_each.0.origin()) {
        Some(Origin::Body(_)) => Origin::Body(AnswerPart::new(ITEM)),
        Some(list) => list.clone().item(),
        None => Origin::Item,
    };
    let expressions = step.request.body.as_ref().map(|body| body.placed_expressions()).unwrap_or_default();
    let reads_answers = |expression: &Expression| expression.reads(STEPS) || expression.reads(ITEM);
    let expressions = expressions.into_iter().map(|(_, expression)| expression);
    let origins = expressions.filter(|expression| reads_answers(expression)).filter_map(Expression::origin);
    let found = origins.flat_map(|origin| origin.find_field(&field.path, &items));
    // Another write's field of that name may be a log-in's token, which its answer gives.
    let is_alone = |found: &Found| found.part.as_ref().is_some_and(|(_, below)| below.is_empty());
    found.filter(|found| field.is_declared || !is_alone(found)).min_by_key(|found| found.is_left_out)
}

fn carried(field: &UnreadableField, part: Option<&(AnswerPart, Vec<String>)>, is_json: bool) -> String {
    let secret = secret_variable(&field.secret);
    let advice = match part {
        Some((part, below)) if below.is_empty() => format!("Send {secret} in place of {part}, or leave it out"),
        Some((part, below)) if is_json => {
            let set = setting(below, &secret);
            format!("Set it, mergeDeep({part}, {set}), or leave it out, {}", leaving_out(part.clone(), below))
        }
        _ => format!("Send the other fields one by one, and {secret} for this one or nothing"),
    };
    let place = pointer(&field.path);
    format!(
        "it sends back what an answer gives for {place}, which holds {secret}; many APIs answer a mask there. {advice}"
    )
}

fn left_out(field: &UnreadableField, part: &AnswerPart, below: &[String]) -> String {
    format!(
        "a PUT without {} may clear it outside; set it in what is sent of {part}: mergeDeep(…, {})",
        pointer(&field.path),
        setting(below, &secret_variable(&field.secret))
    )
}

/// Returns the map that sets a field: `{'auth': {'key': secrets.key}}`.
fn setting(field: &[String], secret: &str) -> String {
    field.iter().rev().fold(secret.to_owned(), |inner, name| format!("{{'{name}': {inner}}}"))
}

/// Returns the map without a field: `merge(body, {'auth': without(body.auth, ['key'])})`.
fn leaving_out(map: AnswerPart, field: &[String]) -> String {
    match field {
        [] => map.to_string(),
        [name] => format!("without({map}, ['{name}'])"),
        [name, below @ ..] => {
            let inner = leaving_out(map.clone().field(name), below);
            format!("merge({map}, {{'{name}': {inner}}})")
        }
    }
}
