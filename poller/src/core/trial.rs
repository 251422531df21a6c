//! A poll whose answers are given: what a target makes of them, without the external system.
//!
//! They are judged as those of any poll. It must not know where they come from.

use std::collections::HashSet;

use drift_api::object::LeanObject;
use drift_language::{Source, Target};
use drift_systems::HttpReply;

use super::finding::Failure;
use super::prepared::Prepared;
use super::reading::{Progress, Reading};
use super::rendered::{Rendered, rule_error};
use super::reply::Observation;
use super::request::Request;
use super::traversal::{Traversal, observe_item};

/// What is asked first, if anything, and what these answers say of the object, in the order in which they are asked for.
///
/// # Errors
/// A sentence: the target reads otherwise than by HTTP, or asks for more or fewer.
pub fn try_answers(
    target: &Target,
    object: &LeanObject,
    rendered: &Rendered,
    answers: &[HttpReply],
) -> Result<(Option<Request>, Observation), String> {
    let Source::Http(read) = &target.read.source else {
        return Err("answers can be given to read.http alone".to_owned());
    };
    let prepared = Prepared::of(target, &object.view);
    let request = match prepared.asked(rendered) {
        Ok(Request::Http(request)) => request,
        Ok(_) => return Err("it asks nothing by HTTP".to_owned()),
        Err(observation) => return Ok((None, observation)),
    };
    let view = object.view.open();
    let observation = match &read.collection {
        None => {
            let mut reading = Reading::new(read, &view);
            answered(answers, |reply| reading.take(reply))?
        }
        Some(collection) => match collection.keys.of_object(&view, rendered.identity.as_deref().unwrap_or_default()) {
            Err(error) => Err(rule_error(&error)),
            Ok(key) => {
                let mut traversal = Traversal::new(read, collection, request.clone(), HashSet::from([key.clone()]));
                let entries = answered(answers, |reply| traversal.take(reply))?;
                entries.map(|entries| entries.observe(&key, |entry| observe_item(read, &view, entry)))
            }
        },
    };
    Ok((Some(Request::Http(request.clone())), observation.unwrap_or_else(Observation::Failed)))
}

/// What all answers say together that are asked for. A read that fails says itself at which of them.
///
/// # Errors
/// What is asked next, where there are too few; how many were asked for, where there are too many.
fn answered<T>(
    answers: &[HttpReply],
    mut take: impl FnMut(&HttpReply) -> Progress<T>,
) -> Result<Result<T, Failure>, String> {
    let mut next = None;
    for (taken, answer) in (1..).zip(answers) {
        match take(answer) {
            Progress::Done(Ok(_)) if taken < answers.len() => return Err(surplus(taken, answers.len())),
            Progress::Done(found) => return Ok(found),
            Progress::Ask(request) => next = Some(request),
        }
    }
    let asked = next.map(|request| format!(" with {} {}", request.method, request.url)).unwrap_or_default();
    Err(format!("the read goes on{asked}: give that answer too, by one more --answer"))
}

fn surplus(taken: usize, given: usize) -> String {
    let answers = if taken == 1 { "answer" } else { "answers" };
    format!("the read ended after {taken} {answers}, and {given} were given")
}
