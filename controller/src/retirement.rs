//! What a target leaves when it is removed, or selects other objects than before: finalizers, which are taken off.
//!
//! Nothing is deleted outside, and an Event says so. An object that another target selects by now is that target's.
//! This file must not know how a target works while it is in force.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drift_shared::object::LeanObject;
use drift_shared::runtime::{Configuration, KindError, ObjectEvent, find_kind, watch_objects};
use drift_shared::target::{ObjectSelection, Target};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::target_work::{Workplace, is_same_kind, watch_request};

/// Between two looks whether the other targets have read their lists: they take seconds at most.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Watch events that wait.
const EVENT_BUFFER: usize = 256;

/// Follows the configuration until `stop`, and lets go what each target that is gone has left.
pub async fn follow(place: Workplace, stop: CancellationToken) {
    let mut configuration = place.shared.configuration.clone();
    let mut before = BTreeMap::<String, Arc<Target>>::new();
    let mut retiring = JoinSet::new();
    loop {
        let now = configuration.borrow_and_update().clone();
        if now.loaded {
            for target in before.values().filter(|target| has_left_objects(target, &now)) {
                tracing::info!(target_name = target.name, "the target is gone: what it holds is let go");
                retiring.spawn(retire(place.clone(), target.clone(), stop.clone()));
            }
            before = now.targets.clone();
        }
        tokio::select! {
            () = stop.cancelled() => break,
            changed = configuration.changed() => if changed.is_err() { break },
            Some(_) = retiring.join_next(), if !retiring.is_empty() => {}
        }
    }
}

/// Whether the target is gone or may select fewer objects than it did. (Fewer by labels its own watch tells.)
fn has_left_objects(target: &Target, now: &Configuration) -> bool {
    now.targets.get(&target.name).is_none_or(|present| !covers(&present.objects, &target.objects))
}

fn covers(present: &ObjectSelection, before: &ObjectSelection) -> bool {
    let is_everywhere = present.namespaces.is_empty();
    let all_namespaces =
        !before.namespaces.is_empty() && before.namespaces.iter().all(|one| present.namespaces.contains(one));
    is_same_kind(present, before) && (is_everywhere || all_namespaces)
}

/// Lists the objects that the target selected, and takes our finalizer off those that no target selects now.
async fn retire(place: Workplace, target: Arc<Target>, stop: CancellationToken) {
    let work = async {
        let say = |error: &KindError| tracing::warn!(target_name = target.name, "what it holds is not let go: {error}");
        let kind = find_kind(&place.client, &target.objects, say).await;
        // Until then the actor of the former text has ended: what it saw counts no more, and what it still did for an
        // object shows in the list.
        tokio::time::sleep(LOOK_AGAIN).await;
        let mut held = list(&place, &target, watch_request(&target, &kind)).await;
        let hands = place.hands(&target, kind);
        while !held.is_empty() {
            let mut left = Vec::new();
            for object in held {
                if !is_settled(&place, &target, &hands, &object).await {
                    left.push(object);
                }
            }
            held = left;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

async fn list(place: &Workplace, target: &Target, request: drift_shared::runtime::WatchRequest) -> Vec<LeanObject> {
    let (sender, mut events) = mpsc::channel(EVENT_BUFFER);
    let listed = CancellationToken::new();
    let watching = watch_objects(place.client.clone(), request, sender, listed.clone());
    let collecting = async {
        let mut held = Vec::new();
        while let Some(event) = events.recv().await {
            match event {
                // Also what the labels never selected, or do not any more.
                ObjectEvent::Seen(object) | ObjectEvent::Left { object: Some(object), .. }
                    if object.has_finalizer() =>
                {
                    held.push(*object);
                }
                ObjectEvent::Listed => break,
                _ => {}
            }
        }
        listed.cancel();
        held
    };
    let ((), held) = tokio::join!(watching, collecting);
    tracing::info!(target_name = target.name, objects = held.len(), "objects that the target had held");
    held
}

/// Whether nothing is left to do for the object: another target has it, or it is let go.
async fn is_settled(place: &Workplace, target: &Target, hands: &crate::act::Hands, object: &LeanObject) -> bool {
    let configuration = place.shared.configuration.borrow().clone();
    let peers: Vec<&Arc<Target>> =
        configuration.targets.values().filter(|peer| is_same_kind(&peer.objects, &target.objects)).collect();
    let uid = &object.id.uid;
    let sightings = &place.shared.sightings;
    let names = || peers.iter().map(|peer| peer.name.as_str());
    if sightings.is_seen_by(uid, names()) {
        return true;
    }
    let is_free = sightings.is_free(uid, names());
    if !is_free || !hands.steps.may_act() {
        return false;
    }
    let Some(_busy) = sightings.begin(uid) else { return false };
    hands.let_go(&object.id).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_shared::target::LabelSelector;

    fn selection(kind: &str, namespaces: &[&str]) -> ObjectSelection {
        ObjectSelection {
            api_version: "demo.driftpoller.dev/v1".to_owned(),
            kind: kind.to_owned(),
            namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
            label_selector: LabelSelector::default(),
        }
    }

    #[test]
    fn a_selection_that_shrinks_or_moves_leaves_objects() {
        let table = [
            (selection("Proxy", &[]), selection("Proxy", &[]), true),
            (selection("Proxy", &[]), selection("Proxy", &["a"]), true),
            (selection("Proxy", &["a", "b"]), selection("Proxy", &["a"]), true),
            (selection("Proxy", &["a"]), selection("Proxy", &["a", "b"]), false),
            (selection("Proxy", &["a"]), selection("Proxy", &[]), false),
            (selection("Role", &[]), selection("Proxy", &[]), false),
        ];
        for (present, before, covered) in table {
            assert_eq!(covers(&present, &before), covered, "{present:?} {before:?}");
        }
    }
}
