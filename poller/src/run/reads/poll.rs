//! One poll: a rendered request goes out, a finding comes back; or one traversal of a collection, with a finding for each of
//! its objects.
//!
//! Thin: the answers are judged in the engine. It must not know what stands on the object.

use drift_language::Target;

use crate::engine::judgement::credentials::Credentials;
use crate::engine::judgement::drift::Subject;
use crate::engine::judgement::finding::Finding;
use crate::engine::poll::http_reply::{Observation, compare};
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::reads::{EndedTraversal, Member, PollOrder, PollOutcome, PollResult, PollResults, TraversalOrder};
use crate::run::reads::outside::Outside;
use crate::run::reads::shared_rate::SharedRate;
use crate::run::reads::sources::{Look, look_at_all, look_at_one, observe_entry, tell};

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
