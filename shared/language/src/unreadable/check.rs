//! Refuses bodies that are made of a look-up and send back a field that no read gives back.

use http::Method;

use super::{UnreadableField, pointer, setting, unreadable_fields};
use crate::cel::{Fate, Origin};
use crate::compare::Compare;
use crate::correct::Correct;
use crate::read::Read;
use crate::systems::Destination;
use crate::systems::http::correct_step::HttpStep;
use crate::systems::http::request::body::WRITE_KEYS;
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
    let actions =
        [("create", &http.create), ("update", &http.update), ("delete", &http.delete), ("replace", &http.replace)];
    for (action, steps) in actions {
        for (position, step) in steps.iter().enumerate() {
            let node = written.and_then(|http| item(http.get(action)?, position));
            let key = WRITE_KEYS.iter().find_map(|key| Some((*key, node?.get(key)?)));
            let Some((key, body)) = key.filter(|_| !step.looks_up()) else { continue };
            let place = format!("correct.http.{action}[{position}].{key}");
            for field in &fields {
                match fate(step, field) {
                    Fate::Carried => {
                        let message = format!("{place}: {}", carried(field));
                        reader.refuse::<()>(body.at, message);
                    }
                    Fate::LeftOut if field.is_declared && step.request.method == Method::PUT => {
                        reader.doubt(body.at, format!("{place}: {}", left_out(field)));
                    }
                    Fate::LeftOut | Fate::Absent => {}
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

/// Returns the fate of a field of an answer in the step's body.
fn fate(step: &HttpStep, field: &UnreadableField) -> Fate {
    let items = step.for_each.as_ref().and_then(|for_each| for_each.0.origin()).cloned();
    let items = items.map_or(Origin::Item, Origin::item);
    let expressions = step.request.body.as_ref().map(|body| body.expressions()).unwrap_or_default();
    let origins = expressions.into_iter().filter_map(|(_, expression)| expression.origin());
    // Another write's field of that name may be a log-in's token, which its answer gives.
    let origins = origins.filter(|origin| field.is_declared || !origin.is_field(&field.path));
    origins.map(|origin| origin.fate(&field.path, &items)).max().unwrap_or(Fate::Absent)
}

fn carried(field: &UnreadableField) -> String {
    let UnreadableField { path, secret, .. } = field;
    let first = path.first().map_or("", String::as_str);
    format!(
        "it sends back what an answer gives for {}, which holds secrets.{secret}; many APIs answer a mask there. Set it, \
         mergeDeep(…, {}), or leave it out, without(…, ['{first}'])",
        pointer(path),
        setting(field),
    )
}

fn left_out(field: &UnreadableField) -> String {
    format!(
        "a PUT without {} may clear it outside; set it from its Secret: mergeDeep(…, {})",
        pointer(&field.path),
        setting(field)
    )
}
