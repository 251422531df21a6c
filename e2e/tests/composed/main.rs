//! Both programs' engines in one random history: an API server, an external system and time as values, other writers,
//! crashes, and targets that are added and removed.
//!
//! Faults occur between the programs, between two objects and between two targets. Only these histories combine all of
//! them. They need no control plane: `conformance` holds their API server against a real one. A failure prints its seed
//! and the shortest history.

mod act;
mod api_server;
mod approvals;
mod calls;
mod claims;
mod collector;
mod conformance;
mod controller;
mod creates;
mod decisions;
mod endings;
mod endurance;
mod events;
mod governed;
mod governing;
mod history;
mod job_acting;
mod job_ledger;
mod jobs;
mod known;
mod ledger;
mod listed;
mod losses;
mod outside;
mod poller;
mod quiet;
mod random;
mod replaced;
mod replacements;
mod scopes;
mod shared;
mod targets;
mod traversing;
mod watch;
mod watched;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use history::History;

/// Number of histories in one run of the tests: 25 s on two cores, and 2 min with the long tests.
const HISTORIES: u64 = if cfg!(feature = "long") { 10_000 } else { 2_000 };
/// Number of histories with other states of the targets.
const GOVERNED_HISTORIES: u64 = HISTORIES / 10;
/// Environment variable for another number of histories.
const HISTORIES_VARIABLE: &str = "DRIFT_HISTORIES";
/// Environment variable for another first seed.
const SEED_VARIABLE: &str = "DRIFT_SEED";

#[test]
fn every_composed_history_comes_to_rest_safely() {
    play_all(History::of, HISTORIES);
}

#[test]
fn every_history_with_other_states_comes_to_rest() {
    play_all(History::governed, GOVERNED_HISTORIES);
}

/// Plays the histories of consecutive seeds.
#[expect(clippy::unwrap_used, clippy::panic, reason = "the body of two tests")]
fn play_all(history: fn(u64) -> History, usual: u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let (first, count) = (number(SEED_VARIABLE).unwrap_or(0), number(HISTORIES_VARIABLE).unwrap_or(usual));
    let (next, failed) = (AtomicU64::new(first), Mutex::new(None));
    let work = || {
        while failed.lock().unwrap().is_none() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return;
            }
            if history(seed).play().is_err() {
                *failed.lock().unwrap() = Some(seed);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    if let Some(seed) = failed.into_inner().unwrap() {
        let shortest = history(seed).shortest();
        let violation = shortest.play();
        panic!("seed {seed}: {violation:?}\n{shortest:#?}");
    }
}
