//! `explain --answer`: the same explanation of an object and answers that stand in files, without a cluster and without the external
//! system.
//!
//! Thin: what the answers mean is decided in the core. It must not know how an explanation is told.

use std::fs;

use drift_api::condition::Standing;
use drift_api::object::LeanObject;
use drift_language::{Source, Target};
use drift_systems::{HttpReply, ReplyBody, SentCredentials};
use http::{HeaderMap, StatusCode};

use super::polling::Polled;
use super::tried_object::tried_object;
use super::{judge, shown};
use crate::commands::check::TriedFiles;
use crate::commands::ending::CommandError;
use crate::core::drift::Subject;
use crate::core::explanation::{Explanation, Facts, stated_holds, steps};
use crate::core::rendered::appraise;
use crate::core::reply::compare;
use crate::core::trial::try_answers;

/// What holds a correction of what was never asked.
const TRIED: &str = "the answer was tried from a file: nobody was asked, and nobody acts on it";

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
    let replies = answers.iter().map(|answer| reply_of(&target, answer)).collect::<Result<Vec<_>, _>>().map_err(bad)?;
    let rendered = appraise(&target, &object);
    let (request, observation) = try_answers(&target, &object, &rendered, &replies).map_err(bad)?;
    let view = object.view.open();
    let subject = Subject::from(&*view);
    let found = compare(&target, subject, observation.clone());
    let standing = object.conditions.observed().and_then(Standing::read);
    let verdict = judge(&object, &rendered, standing.as_ref(), &found.finding);
    let facts = Facts { target: &target, is_deployed: false, object: &object, verdict: &verdict };
    let is_due = if object.deleting { object.has_finalizer() } else { facts.is_drifted() };
    let tried = is_due.then(|| TRIED.to_owned());
    let held = tried.into_iter().chain(stated_holds(facts)).collect();
    let polled = Polled { request, observation, sent: SentCredentials::default() };
    Ok(Explanation::new(facts, shown(&target, &polled, subject), (steps(facts), held)))
}

/// `FILE`, or `STATUS=FILE`.
fn reply_of(target: &Target, answer: &str) -> Result<HttpReply, String> {
    let stated = answer.split_once('=').and_then(|(status, file)| Some((status.parse::<StatusCode>().ok()?, file)));
    let (status, file) = stated.unwrap_or((StatusCode::OK, answer));
    let body = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let body = match &target.read.source {
        Source::Http(read) if body.len() > read.max_bytes => ReplyBody::TooLarge,
        _ => ReplyBody::Whole(body),
    };
    Ok(HttpReply { status, headers: HeaderMap::new(), body })
}
