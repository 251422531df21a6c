//! Performs one poll of an object, or one traversal of a collection with a finding for each of its objects.
//!
//! The engine judges the responses.

use drift_language::Target;

use crate::engine::judgement::comparison::compare;
use crate::engine::judgement::{Credentials, Failure, Finding, Found, Observation, Subject};
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::{EndedTraversal, Member, PollOrder, PollResult, TraversalOrder};
use crate::run::rate_limit::SharedRate;
use crate::run::reads::outside::Outside;
use crate::run::reads::sources::{ReadResult, look_at_all, look_at_one, observe_entry, tell};

/// Polls one object.
pub async fn poll(outside: &Outside, target: &Target, order: PollOrder) -> PollResult {
    let PollOrder { uid, begun, view, prepared, moved, tag, known } = order;
    let view = view.open();
    let result = look_at_one(outside, target, (&uid, &prepared, &view), (tag, known.as_ref())).await;
    let ReadResult { read, pause, told, took, tagged, judged, sent, absent_by } = result;
    let is_new = !matches!(read, Ok(Ok(Observation::Known(_))));
    let found = read.map(|observed| match observed {
        // A known finding needs no view of the object.
        Ok(Observation::Known(found)) => found,
        observed => {
            let credentials = Credentials::of(target, outside.sender.secrets(), sent);
            let found =
                compare(target, Subject { object: &view, moved: &moved, credentials: Some(&credentials) }, observed);
            Found { answer: absent_by.map(|answer| answer.sentence(credentials.values())), ..found }
        }
    });
    let Ok(finding) = &found else {
        return PollResult { uid, begun, found, pause, tagged: None, known: None, took };
    };
    tell(told, outside, target, finding);
    let tagged = tagged.filter(|_| finding.finding == Finding::InSync);
    let judged = judged.filter(|_| is_new);
    let known = judged.map_or(known, |answers| Some(KnownFinding::new(answers, finding)));
    PollResult { uid, begun, found, pause, tagged, known, took }
}

/// Traverses the target's collection once for all members. The first page was already counted by `rate`.
pub async fn traverse(outside: &Outside, target: &Target, rate: &SharedRate, order: TraversalOrder) -> EndedTraversal {
    let TraversalOrder { key, request, members } = order;
    let wanted = members.iter().map(|member| member.key.clone()).collect();
    let uids = members.iter().map(|member| member.uid.clone()).collect();
    let result = look_at_all(outside, target, (uids, wanted), (request, rate)).await;
    let ReadResult { read, pause, told, took, sent, absent_by, .. } = result;
    let credentials = Credentials::of(target, outside.sender.secrets(), sent);
    let mut results = Vec::with_capacity(members.len());
    for Member { uid, begun, view, moved, key } in members {
        let view = view.open();
        let subject = Subject { object: &view, moved: &moved, credentials: Some(&credentials) };
        let found = read.as_ref().map_err(Clone::clone).map(|entries| {
            let entries = entries.as_ref().map_err(Failure::clone);
            let observed = entries.and_then(|all| all.observe(&key, |entry| observe_entry(target, &view, entry)));
            let found = compare(target, subject, observed);
            let answer = absent_by.as_ref().filter(|_| found.finding == Finding::Absent);
            Found { answer: answer.map(|answer| answer.sentence(credentials.values())), ..found }
        });
        if let Ok(found) = &found {
            tell(told, outside, target, found);
        }
        results.push(PollResult { uid, begun, found, pause, tagged: None, known: None, took });
        // Thousands of comparisons may run here, and would block the target's task.
        tokio::task::yield_now().await;
    }
    let names = read.ok().and_then(|entries| Some(entries.ok()?.names));
    let credentials = names.as_ref().map(|_| credentials.values().clone()).unwrap_or_default();
    EndedTraversal { key, results, names, credentials }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
