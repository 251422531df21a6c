//! One poll: a rendered request goes out, a finding comes back; or one traversal of a collection, with a finding for each of
//! its objects.
//!
//! Thin: the answers are judged in the core. It must not know what stands on the object.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use drift_model::http_request::HttpRequest;
use drift_model::identity::Uid;
use drift_target::cel::EvaluationError;
use drift_target::{Target, Wished};
use serde_json::Value;

use crate::core::finding::Finding;
use crate::core::reading::Reading;
use crate::core::rendered::rule_error;
use crate::core::reply::{Observation, compare};
use crate::core::track::BegunPoll;
use crate::core::traversal::Traversal;
use crate::core::traversals::RequestKey;
use crate::outside::{Outside, Postponed};
use crate::sources::http::{HttpRequests, http_of};

/// What one poll needs.
#[derive(Debug)]
pub struct PollOrder {
    /// The object's uid.
    pub uid: Uid,
    /// What the result will be held against.
    pub begun: BegunPoll,
    /// The object as the templates see it.
    pub view: Arc<Value>,
    /// What it wishes for.
    pub wished: Wished,
    /// The first request.
    pub request: HttpRequest,
}

/// What one traversal of a collection needs.
#[derive(Debug)]
pub struct TraversalOrder {
    /// What tells it from traversals with another request.
    pub key: RequestKey,
    /// The request for the first page.
    pub request: HttpRequest,
    /// The objects that take part; at least one.
    pub members: Vec<Member>,
}

/// An object that takes part in a traversal.
#[derive(Debug)]
pub struct Member {
    /// The object's uid.
    pub uid: Uid,
    /// What the result will be held against.
    pub begun: BegunPoll,
    /// The object as the templates see it.
    pub view: Arc<Value>,
    /// What it wishes for.
    pub wished: Wished,
    /// What its entry is called.
    pub key: String,
}

/// What became of one poll.
#[derive(Clone, Debug)]
pub enum PollOutcome {
    /// It found something out, be it that nothing can be said.
    Found {
        /// What.
        finding: Finding,
        /// The object is to be left alone for so long: the answer asked for it.
        pause: Option<Duration>,
    },
    /// It was not begun.
    Postponed(Postponed),
}

/// How one poll ended.
#[derive(Debug)]
pub struct PollResult {
    /// The object's uid.
    pub uid: Uid,
    /// What the result is held against.
    pub begun: BegunPoll,
    /// What became of it.
    pub outcome: PollOutcome,
    /// From the first attempt to connect to the finding.
    pub took: Duration,
}

/// What polls that were made together found out.
#[derive(Debug, Default)]
pub struct PollResults {
    /// Of each object.
    pub results: Vec<PollResult>,
    /// The traversal that they were made by, and the names of all entries where it came to its end.
    pub traversal: Option<(RequestKey, Option<HashSet<String>>)>,
}

/// Polls one object.
pub async fn poll(outside: &Outside, target: &Target, order: PollOrder) -> PollResults {
    let PollOrder { uid, begun, view, wished, request } = order;
    let mut requests = HttpRequests::new(outside, target, std::iter::once(uid.clone()));
    let mut reading = Reading::new(http_of(target), &view);
    let outcome = match requests.run(request, |reply| reading.take(reply)).await {
        Err(postponed) => PollOutcome::Postponed(postponed),
        Ok((observed, pause)) => {
            let observation = observed.unwrap_or_else(Observation::Failed);
            let finding = compare(target, &wished, observation);
            requests.tell(&finding);
            PollOutcome::Found { finding, pause }
        }
    };
    let took = requests.took();
    PollResults { results: vec![PollResult { uid, begun, outcome, took }], traversal: None }
}

/// Goes through the target's collection once for all members.
pub async fn traverse(outside: &Outside, target: &Target, order: TraversalOrder) -> PollResults {
    let TraversalOrder { key, request, members } = order;
    let read = http_of(target);
    let Some(collection) = &read.collection else { return PollResults::default() };
    let wanted = members.iter().map(|member| member.key.clone()).collect();
    let mut traversal = Traversal::new(read, collection, request.clone(), wanted);
    let mut requests = HttpRequests::new(outside, target, members.iter().map(|member| member.uid.clone()));
    let ran = requests.run(request, |reply| traversal.take(reply)).await;
    let took = requests.took();
    let mut results = Vec::with_capacity(members.len());
    for Member { uid, begun, view, wished, key } in members {
        let outcome = match &ran {
            Err(postponed) => PollOutcome::Postponed(postponed.clone()),
            Ok((entries, pause)) => {
                let observation = match entries {
                    Ok(entries) => entries.observe(read, &view, &key),
                    Err(failure) => Observation::Failed(failure.clone()),
                };
                let finding = compare(target, &wished, observation);
                requests.tell(&finding);
                PollOutcome::Found { finding, pause: *pause }
            }
        };
        results.push(PollResult { uid, begun, outcome, took });
        // Thousands may be compared here, and the target's task does nothing else meanwhile.
        tokio::task::yield_now().await;
    }
    let names = ran.ok().and_then(|(entries, _)| Some(entries.ok()?.names));
    PollResults { results, traversal: Some((key, names)) }
}

/// What a poll of the object would need; what can be said without a request is the finding at once.
///
/// # Errors
/// The finding: a template cannot be evaluated for this object, or the resource cannot exist yet.
pub fn prepare(target: &Target, view: &Value) -> Result<(Wished, HttpRequest), Finding> {
    let failed = |error: &EvaluationError| Finding::Failed(rule_error(error));
    let wished = target.wish_of(view).map_err(|error| failed(&error))?;
    let read = http_of(target);
    match read.may_exist(view) {
        Ok(true) => {}
        Ok(false) => return Err(Finding::Absent),
        Err(error) => return Err(failed(&error)),
    }
    let request = read.render(view).map_err(|error| failed(&error))?;
    Ok((wished, request))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
