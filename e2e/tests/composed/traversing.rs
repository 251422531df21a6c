//! Traversals of a collection, as the poller's shell performs them.

use std::collections::HashSet;
use std::time::Duration;

use drift_language::Target;
use drift_language::cel::SecretValues;
use drift_poller::engine::collection::entries::Entries;
use drift_poller::engine::collection::traversal::{Traversal, observe_item};
use drift_poller::engine::judgement::comparison::compare;
use drift_poller::engine::judgement::finding::Failure;
use drift_poller::engine::judgement::{Found, Subject};
use drift_poller::engine::poll::http_reading::Progress;
use drift_poller::engine::poll::request::Request;
use drift_poller::engine::{EndedTraversal, Member, PollResult, TraversalOrder};

use crate::calls::Scene;
use crate::outside::{Fault, system_of};
use crate::poller::{ASKED_DELAY, note_truth};
use drift_api::condition::ObservedReason;

/// Reads all pages of the collection and judges each member. The last page ends with the fault.
pub(crate) fn traverse(target: &Target, order: TraversalOrder, fault: Fault, scene: &mut Scene<'_>) -> EndedTraversal {
    let TraversalOrder { key, request, members } = order;
    let answer = scene.outside.answers.reads;
    let fault = if fault == Fault::None { answer } else { fault };
    let pause = (answer == Fault::RateLimited).then_some(ASKED_DELAY);
    scene.outside.reads += 1;
    let wanted = members.iter().map(|member| member.key.clone()).collect();
    let entries = read_all(target, request, wanted, fault, scene);
    let mut results = Vec::new();
    for Member { uid, begun, view, moved, key } in members {
        let open = view.open();
        scene.ledger.note_poll(&uid);
        if entries.is_ok() {
            scene.ledger.creates.note_found(&target.name, &uid);
        }
        let resource = format!("{}{key}", target_system(target));
        if fault == Fault::None {
            note_truth(target, (&uid, &begun.basis), (&resource, &open, &moved), scene);
        }
        let subject = Subject { moved: &moved, ..Subject::from(&*open) };
        let observed = match (&entries, target.read.http()) {
            (Ok(entries), Some(read)) => entries.observe(&key, |entry| observe_item(read, &open, entry)),
            (Err(failure), _) => Err(failure.clone()),
            (_, None) => Err(Failure::of(ObservedReason::ResponseInvalid)),
        };
        let found: Found = compare(target, subject, observed);
        let took = Duration::ZERO;
        results.push(PollResult { uid, begun, found: Ok(found), pause, tagged: None, known: None, took });
    }
    let names = entries.ok().map(|entries| entries.names);
    EndedTraversal { key, results, names, credentials: SecretValues::default() }
}

fn target_system(target: &Target) -> String {
    crate::targets::key_in(target.scope.id, "")
}

fn read_all(
    target: &Target,
    request: Request,
    wanted: HashSet<String>,
    fault: Fault,
    scene: &mut Scene<'_>,
) -> Result<Entries, Failure> {
    let (Request::Http(first), Some(read)) = (request, target.read.http()) else {
        unreachable!("the collections are read by HTTP")
    };
    let Some(collection) = &read.collection else { unreachable!("only collections are traversed") };
    let mut traversal = Traversal::new(read, collection, first.clone(), wanted);
    let mut request = first;
    loop {
        let Some(reply) = scene.outside.page(&system_of(&request), request.url.query(), fault) else {
            return Err(Failure::of(ObservedReason::PollTimedOut));
        };
        match traversal.take(&reply) {
            Progress::Ask(next) => request = *next,
            Progress::Done(entries) => return entries,
        }
    }
}
