//! What is kept for each object, counted in bytes and blocks: the same on every machine, so that the numbers can be checked in.
//!
//! Counted is what is asked of the allocator. To each block musl's adds 4 bytes, and rounds up to 16. Texts that others keep too
//! are there before and are not counted.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use drift_api::collections::shared_text::SharedText;
use drift_api::identity::{Claimant, IdentityIndex, ResourceName, ScopeId, Selected, Uid};
use drift_api::timing::moment::Moment;
use drift_api::timing::work_queue::WorkQueue;

/// So many that a hash table, which doubles, is as full as on average.
const OBJECTS: u64 = 10_000;

/// What one object takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Each {
    bytes: u64,
    blocks: u64,
}

/// What each object takes in that which `keep` builds of all.
fn taken<T>(keep: impl FnOnce() -> T) -> Each {
    let mut kept = None;
    let counted = allocation_counter::measure(|| kept = Some(keep()));
    let each = |all: i64| (u64::try_from(all).unwrap() + OBJECTS / 2) / OBJECTS;
    Each { bytes: each(counted.bytes_current), blocks: each(counted.count_current) }
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

/// Objects of one target, of which each alone wants a resource.
fn objects(owns: impl Fn(&ResourceName) -> Option<ResourceName>) -> Vec<(Selected, Claimant)> {
    let (target, scope) = (SharedText::from("proxies"), ScopeId::of("GET http://proxies/${…}"));
    let object = |number| {
        let uid = uid(number);
        let wants = ResourceName { scope, identity: format!("proxy-{number}").into() };
        let claimant = Claimant { owns: owns(&wants), wants: Some(wants), created: 1, claimed: 0, deleting: false };
        (Selected { target: target.clone(), uid }, claimant)
    };
    (0..OBJECTS).map(object).collect()
}

#[test]
fn an_object_alone_takes_little_of_the_index() {
    let expected = Each { bytes: 88, blocks: 1 };
    for owns in [|_: &ResourceName| None, |wants: &ResourceName| Some(wants.clone())] {
        let objects = objects(owns);
        assert_eq!(taken(|| index_of(&objects)), expected);
    }
}

#[test]
fn an_object_that_waits_takes_little_of_the_queue() {
    let uids: Vec<Uid> = (0..OBJECTS).map(uid).collect();
    let at = |milliseconds| Moment::from_start(Duration::from_millis(milliseconds));
    let queue = || {
        let mut queue = WorkQueue::default();
        uids.iter().zip((0..OBJECTS).rev()).for_each(|(uid, number)| queue.add_after(uid, at(number)));
        queue
    };
    assert_eq!(taken(queue), Each { bytes: 43, blocks: 0 });
    // A round later, in which all were due at once.
    let a_round_later = || {
        let mut queue = queue();
        while let Some(uid) = queue.next(at(OBJECTS)) {
            queue.done(&uid);
            queue.add_after(&uid, at(2 * OBJECTS));
        }
        queue
    };
    assert_eq!(taken(a_round_later), Each { bytes: 44, blocks: 0 });
}
