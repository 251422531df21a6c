//! `explain --answer`: the explanation of an object and answers in files, without a cluster and without the external
//! system.

use std::collections::HashSet;
use std::fs;

use drift_api::condition::CurrentVerdict;
use drift_api::object::LeanObject;
use drift_api::object::report::SeenReport;
use drift_language::{ConditionsPlace, HttpRequest, Source, Target};
use drift_systems::{HttpReply, RecordedExchange, ReplyBody, SentCredentials, count_as_denied, count_as_limited};
use http::{HeaderMap, StatusCode};

use super::explanation::Explanation;
use super::facts::{Facts, as_published};
use super::holds::stated_holds;
use super::masker::Masker;
use super::polling::{Polled, first_request};
use super::requests::session_values::session_values;
use super::steps::steps;
use super::tried_object::tried_object;
use super::{judge, shown};
use crate::check::TriedFiles;
use crate::ending::CommandError;
use drift_kube::process::clock;
use drift_poller::engine::collection::traversal::{Traversal, observe_item};
use drift_poller::engine::judgement::comparison::compare;
use drift_poller::engine::judgement::drift::Subject;
use drift_poller::engine::judgement::finding::Failure;
use drift_poller::engine::judgement::rendered::appraise;
use drift_poller::engine::judgement::rendered::{Rendered, rule_error};
use drift_poller::engine::poll::http_reading::{Progress, Reading};
use drift_poller::engine::poll::request::Prepared;
use drift_poller::engine::poll::request::Request;

/// Said of every trial.
const TRIED: &str = "the answer came from a file: no external system was asked, and no program acts on it";
/// Said of a trial whose read needs no request.
const TRIED_UNASKED: &str =
    "the read needs no request for this object, so the answer of the file was not used; no program acts on it";

/// The first number after the statuses of HTTP. The type of a status has three digits.
const STATUSES_END: u16 = 600;

/// Explains by these answers the object of that kind, namespace (any where none is stated) and name.
///
/// # Errors
/// When the files have no such object or target, an answer cannot be read, or there are too few or too many.
pub(super) fn try_files(
    files: &TriedFiles,
    named: (&str, Option<&str>, &str),
    answers: &[String],
) -> Result<Explanation, CommandError> {
    let bad = CommandError::BadUsage;
    let (target, manifest) = tried_object(files, named).map_err(bad)?;
    let object = LeanObject::prune(&manifest, &target.all_fields);
    let object = match target.objects.conditions {
        ConditionsPlace::Object => object,
        ConditionsPlace::Report => object.with_report(SeenReport::absent(None)),
    };
    let replies = answers.iter().map(|answer| reply_of(&target, answer)).collect::<Result<Vec<_>, _>>().map_err(bad)?;
    let rendered = appraise(&target, &object);
    let polled = try_answers(&target, &object, &rendered, &replies).map_err(bad)?;
    let view = object.view.open();
    let subject = Subject::from(&*view);
    let found = compare(&target, subject, polled.observed.clone());
    let current = object.conditions.observed().and_then(CurrentVerdict::read);
    let verdict = judge(&target, (&object, &rendered), current.as_ref(), &found.finding);
    let published = as_published(&object, found.published.as_ref());
    let facts = Facts { target: &target, is_deployed: false, object: &published, verdict: &verdict };
    let tried = if polled.request.is_some() { TRIED } else { TRIED_UNASKED };
    let held = stated_holds(facts, clock::wall());
    let explanation = Explanation::new(facts, shown(&target, &polled, subject), (steps(facts), held));
    Ok(explanation.with_trial(tried))
}

/// `FILE`, or `STATUS=FILE`.
fn reply_of(target: &Target, answer: &str) -> Result<HttpReply, String> {
    let stated = answer.split_once('=').and_then(|(status, file)| Some((status.parse::<StatusCode>().ok()?, file)));
    if let Some((status, _)) = stated.filter(|(status, _)| status.as_u16() >= STATUSES_END) {
        return Err(format!("--answer {answer}: {} is no HTTP status; write 100 to 599", status.as_u16()));
    }
    let (status, file) = stated.unwrap_or((StatusCode::OK, answer));
    let body = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let body = match &target.read.source {
        Source::Http(read) if body.len() > read.max_bytes => ReplyBody::TooLarge,
        _ => ReplyBody::Whole(body),
    };
    Ok(HttpReply { status, headers: HeaderMap::new(), body })
}

/// The poll of the object with these answers, in the order of the requests.
///
/// # Errors
/// A sentence: the target reads otherwise than by HTTP, or asks for more or fewer.
fn try_answers(
    target: &Target,
    object: &LeanObject,
    rendered: &Rendered,
    answers: &[HttpReply],
) -> Result<Polled, String> {
    let Source::Http(read) = &target.read.source else {
        return Err("answers can be given to read.http alone".to_owned());
    };
    let prepared = Prepared::of(target, &object.view);
    let request = match first_request(&prepared, rendered) {
        Ok(Request::Http(request)) => request,
        Ok(_) => return Err("it asks nothing by HTTP".to_owned()),
        Err(observed) => return Ok(Polled::without_request(*observed)),
    };
    let limited = |(position, reply): (usize, &HttpReply)| {
        // All pages of a collection are answers to its one step.
        let step = read.steps().nth(position).unwrap_or(&read.first);
        let unauthorized = read.unauthorized_when.as_ref().map(|rule| (rule, &step.format));
        let auth = read.auth.as_ref().map(|auths| &**auths.any());
        let reply = count_as_denied(reply.clone(), auth, unauthorized);
        count_as_limited(reply, read.limited_when.as_ref(), &step.format)
    };
    let answers: &[HttpReply] = &answers.iter().enumerate().map(limited).collect::<Vec<_>>();
    let view = object.view.open();
    let mut asked = vec![request.clone()];
    let observed = match &read.collection {
        None => {
            let mut reading = Reading::new(read, &view);
            answered(target, answers, &mut asked, |reply| reading.take(reply))?
        }
        Some(collection) => match collection.keys.of_object(&view, rendered.identity.as_deref().unwrap_or_default()) {
            Err(error) => Err(rule_error(&error)),
            Ok(key) => {
                let mut traversal = Traversal::new(read, collection, request.clone(), HashSet::from([key.clone()]));
                let entries = answered(target, answers, &mut asked, |reply| traversal.take(reply))?;
                entries.and_then(|entries| entries.observe(&key, |entry| observe_item(read, &view, entry)))
            }
        },
    };
    let exchanges = exchanged(&asked, answers);
    Ok(Polled { request: Some(Request::Http(request.clone())), observed, sent: SentCredentials::default(), exchanges })
}

/// The requests, each with its answer if there is one.
fn exchanged(asked: &[HttpRequest], answers: &[HttpReply]) -> Vec<RecordedExchange> {
    let replies = answers.iter().cloned().map(Some).chain(std::iter::repeat(None));
    asked.iter().cloned().zip(replies).map(|(request, reply)| RecordedExchange { request, reply }).collect()
}

/// The result of the read with these answers. Adds the further requests to `asked`. A failure names its request.
///
/// # Errors
/// What is asked next, where there are too few; how many were asked for, where there are too many.
fn answered<T>(
    target: &Target,
    answers: &[HttpReply],
    asked: &mut Vec<HttpRequest>,
    mut take: impl FnMut(&HttpReply) -> Progress<T>,
) -> Result<Result<T, Failure>, String> {
    for (taken, answer) in (1..).zip(answers) {
        match take(answer) {
            Progress::Done(Ok(_)) if taken < answers.len() => return Err(surplus(taken, answers.len())),
            Progress::Done(found) => return Ok(found),
            Progress::Ask(request) => asked.push(*request),
        }
    }
    let sessions = session_values(target, &exchanged(asked, answers));
    let masker = Masker::outside().hiding_sessions(&sessions);
    let shown = |request: &HttpRequest| format!(" with {} {}", request.method, masker.url(&request.url));
    let next = asked.last().map(shown).unwrap_or_default();
    Err(format!("the read goes on{next}: give that answer too, by one more --answer"))
}

fn surplus(taken: usize, given: usize) -> String {
    let answers = if taken == 1 { "answer" } else { "answers" };
    format!("the read ended after {taken} {answers}, and {given} were given")
}
