//! What a target leaves when it is removed, or selects other objects than before: finalizers, which are taken off.
//!
//! Which targets there were is known from the notes on the Lease, so it makes no difference whether a controller ran when
//! one was removed. Nothing is deleted outside, and an Event says so. An object that another target selects by now is
//! that target's. This file must not know how a target works while it is in force.

use std::collections::BTreeSet;
use std::time::Duration;

use drift_cluster::cleanup::{KindName, Scope, is_in_doubt, left_scopes};
use drift_cluster::client::CallError;
use drift_cluster::client::ObjectPages;
use drift_cluster::config::Configuration;
use drift_cluster::kinds::{KindError, ResolvedKind};
use drift_model::field_paths::FieldPaths;
use drift_model::object::LeanObject;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::letting_go::Releaser;
use crate::notices::Announcer;
use crate::target_work::Workplace;

/// Between two looks whether the other targets have read their lists: they take seconds at most.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Between two tries to read from an API server that does not answer: nobody waits for it.
const ASK_AGAIN: Duration = Duration::from_secs(15);

/// Follows the configuration until `stop`, and lets go what each target that is gone has left.
pub async fn follow(place: Workplace, stop: CancellationToken) {
    let mut configuration = place.shared.configuration.clone();
    let mut known = BTreeSet::<Scope>::new();
    let mut retiring = JoinSet::new();
    loop {
        let now = configuration.borrow_and_update().clone();
        if now.loaded {
            let left = place.shared.notes.read(|notes| left_scopes(notes, now.in_force()));
            for scope in left.difference(&known) {
                tracing::info!(target_name = scope.target, kind = scope.kind, "what a target held is let go");
                retiring.spawn(retire(place.clone(), scope.clone(), stop.clone()));
            }
            known = left;
        }
        tokio::select! {
            () = stop.cancelled() => break,
            changed = configuration.changed() => if changed.is_err() { break },
            Some(_) = retiring.join_next(), if !retiring.is_empty() => {}
        }
    }
}

/// Lists the objects that the target may have selected, and takes our finalizer off those that no target selects now.
async fn retire(place: Workplace, scope: Scope, stop: CancellationToken) {
    let work = async {
        let Some(kind) = locate(&place, &scope).await else { return };
        // Until then the actor of the former text has ended: what it saw counts no more, and what it still did for an
        // object shows in the list.
        tokio::time::sleep(LOOK_AGAIN).await;
        let Some(mut held) = list(&place, &scope, &kind).await else { return };
        tracing::info!(target_name = scope.target, objects = held.len(), "objects that the target may have held");
        let config_map = place.shared.notes.read(|notes| notes.config_map(&scope).unwrap_or_default().to_owned());
        let announcer = Announcer::of_note(place.events.clone(), &scope, &config_map, &place.home);
        let writer = place.writer(kind, FieldPaths::default());
        while !held.is_empty() {
            let mut left = Vec::new();
            for object in held {
                if !is_settled(&place, &scope.kind_name(), Releaser { writer: &writer, announcer: &announcer }, &object)
                    .await
                {
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

/// The kind; `None` where the cluster does not have it, and so no object of it.
async fn locate(place: &Workplace, scope: &Scope) -> Option<ResolvedKind> {
    loop {
        let notes = place.shared.notes.notes();
        match notes.locate(&place.client, &scope.kind_name()).await {
            Ok(kind) => return Some(kind),
            Err(KindError::Missing { .. } | KindError::Unsuitable(_)) => return None,
            Err(KindError::Unavailable(sentence)) => {
                tracing::warn!(target_name = scope.target, "what the target held cannot be looked up: {sentence}");
            }
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

/// The objects that carry our finalizer; `None` where they may not be listed, which the clean-up tries again later.
async fn list(place: &Workplace, scope: &Scope, kind: &ResolvedKind) -> Option<Vec<LeanObject>> {
    loop {
        match list_once(place, scope, kind).await {
            Ok(held) => return Some(held),
            Err(error) => {
                tracing::warn!(target_name = scope.target, "what the target held cannot be listed: {error}");
                // A list that grew too old is begun anew.
                if !error.is_passing() && error.code() != Some(410) {
                    return None;
                }
            }
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

async fn list_once(place: &Workplace, scope: &Scope, kind: &ResolvedKind) -> Result<Vec<LeanObject>, CallError> {
    let mut pages = ObjectPages::new(&place.client, kind, &scope.namespaces, FieldPaths::default());
    let mut held = Vec::new();
    while let Some(page) = pages.next().await? {
        held.extend(page.into_iter().filter(LeanObject::has_finalizer));
    }
    Ok(held)
}

/// Whether nothing is left to do for the object: another target has it, or it is let go.
async fn is_settled(place: &Workplace, kind: &KindName, releaser: Releaser<'_>, object: &LeanObject) -> bool {
    let configuration = place.shared.configuration.borrow().clone();
    let (uid, watches) = (&object.id.uid, &place.shared.watches);
    let peers = || peers(&configuration, kind);
    if watches.is_seen_by(uid, peers()) {
        return true;
    }
    // It may be of a target whose document is bad or whose ConfigMap is missing.
    let in_doubt = |notes: &_| is_in_doubt(notes, configuration.in_force(), kind, object.id.namespace.as_deref());
    if place.shared.notes.read(in_doubt) || !watches.is_free(uid, peers()) || !place.may_act() {
        return false;
    }
    let Some(_busy) = place.shared.under_way.begin(uid) else { return false };
    releaser.let_go(&object.id).await
}

/// The names of the targets that may select objects of a kind.
fn peers<'a>(configuration: &'a Configuration, kind: &'a KindName) -> impl Iterator<Item = &'a str> {
    let of_kind = configuration.targets.values().filter(|target| target.objects.is_of(&kind.group, &kind.kind));
    of_kind.map(|target| target.name.as_str())
}
