//! Limits on the bytes kept for each object, as requested from the allocator. They leave room for another layout, but
//! not for a second copy of the names or an entry that outlives its object.
//!
//! Shared texts are created before and are not counted.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use drift_api::collections::shared_text::SharedText;
use drift_api::identity::ObjectRef;
use drift_api::identity::{Claimant, IdentityIndex, ResourceName, ScopeId, Selected, Uid};
use drift_api::timing::moment::Moment;
use drift_api::timing::work_queue::WorkQueue;

/// Chosen so that a hash table, which doubles, has its average load.
const OBJECTS: u64 = 10_000;

/// Bytes for each object in the result of `keep`.
fn bytes_each<T>(keep: impl FnOnce() -> T) -> i64 {
    let mut kept = None;
    let counted = allocation_counter::measure(|| kept = Some(keep()));
    counted.bytes_current / i64::try_from(OBJECTS).unwrap()
}

fn index_of(objects: &[(Selected, Claimant)]) -> IdentityIndex {
    let mut index = IdentityIndex::default();
    for (selected, claimant) in objects {
        index.insert(selected, claimant.clone());
    }
    index
}

fn uid(number: u64) -> Uid {
    format!("5b1f0c1e-0000-4000-8000-{number:012}").into()
}

/// Objects of one target, each with its own resource.
fn objects(owns: impl Fn(&ResourceName) -> Option<ResourceName>) -> Vec<(Selected, Claimant)> {
    let (target, scope) = (SharedText::from("proxies"), ScopeId::of("GET http://proxies/${…}"));
    let object = |number| {
        let uid = uid(number);
        let wants = ResourceName { scope, identity: format!("proxy-{number}").into() };
        let owns = owns(&wants);
        let object = ObjectRef { kind: target.clone(), namespace: Some(target.clone()), name: wants.identity.clone() };
        let may_claim = owns.is_none();
        let claimant =
            Claimant { object, owns, wants: Some(wants), may_claim, created: 1, deleting: false, claim_is_known: true };
        (Selected { target: target.clone(), uid }, claimant)
    };
    (0..OBJECTS).map(object).collect()
}

#[test]
fn an_object_takes_little_of_the_index() {
    for owns in [|_: &ResourceName| None, |wants: &ResourceName| Some(wants.clone())] {
        let objects = objects(owns);
        let bytes = bytes_each(|| index_of(&objects));
        assert!(bytes <= 384, "{bytes} bytes");
    }
}

#[test]
fn an_object_that_waits_takes_little_of_the_queue() {
    let uids: Vec<Uid> = (0..OBJECTS).map(uid).collect();
    let at = |milliseconds| Moment::from_start(Duration::from_millis(milliseconds));
    // Several rounds in which all objects are due at once: a leftover time would show.
    let rounds = || {
        let mut queue = WorkQueue::default();
        uids.iter().zip((0..OBJECTS).rev()).for_each(|(uid, number)| queue.add_after(uid, at(number)));
        for round in 1..=4 {
            while let Some(uid) = queue.next(at(round * OBJECTS)) {
                queue.done(&uid);
                queue.add_after(&uid, at((round + 1) * OBJECTS));
            }
        }
        queue
    };
    let bytes = bytes_each(rounds);
    assert!(bytes <= 128, "{bytes} bytes");
}
