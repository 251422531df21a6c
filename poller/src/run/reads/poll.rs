//! One poll: a rendered request goes out, a finding comes back; or one traversal of a collection, with a finding for each of
//! its objects.
//!
//! Thin: the answers are judged in the core. It must not know what stands on the object.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::object_view::ObjectView;
use drift_language::Target;
use drift_language::cel::SecretValues;

use crate::engine::collection::traversals::RequestKey;
use crate::engine::judgement::credentials::Credentials;
use crate::engine::judgement::drift::Subject;
use crate::engine::judgement::finding::{Finding, Found};
use crate::engine::object::object_state::BegunPoll;
use crate::engine::object::prepared::Prepared;
use crate::engine::poll::entity_tag::{EntityTag, Tagged};
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::poll::reply::{Observation, compare};
use crate::engine::poll::request::Request;
use crate::run::reads::outside::{Outside, Postponed};
use crate::run::reads::shared_rate::SharedRate;
use crate::run::reads::sources::{Look, look_at_all, look_at_one, observe_entry, tell};

/// What one poll needs.
#[derive(Debug)]
pub struct PollOrder {
    /// The object's uid.
    pub uid: Uid,
    /// What the result will be held against.
    pub begun: BegunPoll,
    /// The object as the templates see it.
    pub view: ObjectView,
    /// Its first request, which there is.
    pub prepared: Arc<Prepared>,
    /// The names of the secrets that moved since they were sent.
    pub moved: Vec<String>,
    /// What the state was called that need not be sent again.
    pub tag: Option<EntityTag>,
    /// What was found before of the object as it is.
    pub known: Option<KnownFinding>,
}

/// What one traversal of a collection needs.
#[derive(Debug)]
pub struct TraversalOrder {
    /// What tells it from traversals with another request.
    pub key: RequestKey,
    /// The request for the first page.
    pub request: Request,
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
    pub view: ObjectView,
    /// The names of the secrets that moved since they were sent.
    pub moved: Vec<String>,
    /// What its entry is called.
    pub key: String,
}

/// What became of one poll.
#[derive(Debug)]
pub enum PollOutcome {
    /// It found something out, be it that nothing can be said.
    Found {
        /// What.
        found: Found,
        /// The object is to be left alone for so long: the answer asked for it.
        pause: Option<Duration>,
        /// What the server calls the state in which the object is in sync.
        tagged: Option<Tagged>,
        /// What the same answers would give again.
        known: Option<KnownFinding>,
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
    /// The traversal that they were made by.
    pub traversal: Option<EndedTraversal>,
}

/// A traversal that is over.
#[derive(Debug)]
pub struct EndedTraversal {
    /// What told it from others.
    pub key: RequestKey,
    /// The names of all entries where it came to its end.
    pub names: Option<HashSet<String>>,
    /// What it was made with, which no name that is shown may repeat.
    pub credentials: SecretValues,
}

/// Polls one object.
pub async fn poll(outside: &Outside, target: &Target, order: PollOrder) -> PollResults {
    let PollOrder { uid, begun, view, prepared, moved, tag, known } = order;
    let view = view.open();
    let look = look_at_one(outside, target, (&uid, &prepared, &view), (tag, known.as_ref())).await;
    let Look { found, told, took, tagged, judged, sent } = look;
    let outcome = match found {
        Err(postponed) => PollOutcome::Postponed(postponed),
        Ok((observed, pause)) => {
            let observation = observed.unwrap_or_else(Observation::Failed);
            let is_new = !matches!(observation, Observation::Known(_));
            let found = match observation {
                // What was found before needs no look at the object.
                Observation::Known(found) => found,
                observation => {
                    let credentials = Credentials::of(target, outside.sender.secrets(), sent);
                    let subject = Subject { object: &view, moved: &moved, credentials: Some(&credentials) };
                    compare(target, subject, observation)
                }
            };
            tell(told, outside, target, &found);
            let tagged = tagged.filter(|_| found.finding == Finding::InSync);
            let judged = judged.filter(|_| is_new);
            let known = judged.map_or(known, |answers| Some(KnownFinding::new(answers, &found)));
            PollOutcome::Found { found, pause, tagged, known }
        }
    };
    PollResults { results: vec![PollResult { uid, begun, outcome, took }], traversal: None }
}

/// Goes through the target's collection once for all members. The first page was counted by `rate` already.
pub async fn traverse(outside: &Outside, target: &Target, rate: &SharedRate, order: TraversalOrder) -> PollResults {
    let TraversalOrder { key, request, members } = order;
    let wanted = members.iter().map(|member| member.key.clone()).collect();
    let uids = members.iter().map(|member| member.uid.clone()).collect();
    let look = look_at_all(outside, target, (uids, wanted), (request, rate)).await;
    let credentials = Credentials::of(target, outside.sender.secrets(), look.sent);
    let mut results = Vec::with_capacity(members.len());
    for Member { uid, begun, view, moved, key } in members {
        let view = view.open();
        let outcome = match &look.found {
            Err(postponed) => PollOutcome::Postponed(postponed.clone()),
            Ok((entries, pause)) => {
                let observation = match entries {
                    Ok(entries) => entries.observe(&key, |entry| observe_entry(target, &view, entry)),
                    Err(failure) => Observation::Failed(failure.clone()),
                };
                let subject = Subject { object: &view, moved: &moved, credentials: Some(&credentials) };
                let found = compare(target, subject, observation);
                tell(look.told, outside, target, &found);
                PollOutcome::Found { found, pause: *pause, tagged: None, known: None }
            }
        };
        results.push(PollResult { uid, begun, outcome, took: look.took });
        // Thousands may be compared here, and the target's task does nothing else meanwhile.
        tokio::task::yield_now().await;
    }
    let names = look.found.ok().and_then(|(entries, _)| Some(entries.ok()?.names));
    let credentials = names.as_ref().map(|_| credentials.values().clone()).unwrap_or_default();
    PollResults { results, traversal: Some(EndedTraversal { key, names, credentials }) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
