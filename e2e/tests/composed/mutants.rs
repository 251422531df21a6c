//! The proof that the random histories find faults: each mutant of the engines is found by one of them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use drift_api::mutants::{Mutant, plant};

use crate::history::History;

/// Histories that a mutant is looked for in: twice those that every run plays without one.
const HISTORIES: u64 = 20_000;

/// What found a mutant: the number of histories that it took, and the violation.
#[derive(Debug)]
struct Finding {
    histories: u64,
    violation: String,
}

/// Plays histories with the mutant until one is violated.
fn find(mutant: Mutant) -> Option<Finding> {
    plant(Some(mutant));
    let found = (0..HISTORIES).find_map(|seed| Some((seed + 1, History::of(seed).play().err()?)));
    plant(None);
    found.map(|(histories, violation)| Finding { histories, violation })
}

/// The document that lists them.
const RELIABILITY: &str = include_str!("../../../docs/reliability.md");

#[test]
fn every_mutant_is_in_the_document() {
    let lacks = |mutant: &&Mutant| !RELIABILITY.contains(&format!("| `{mutant:?}` |"));
    let lacking: Vec<_> = Mutant::ALL.iter().filter(lacks).collect();
    assert!(lacking.is_empty(), "docs/reliability.md lacks {lacking:?}");
}

#[test]
fn every_mutant_of_the_engines_is_found() {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(mutant) = Mutant::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            let finding = find(*mutant);
            found.lock().unwrap().push((*mutant, finding));
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(mutant, _)| *mutant);
    for (mutant, finding) in &found {
        match finding {
            Some(Finding { histories, violation }) => println!("| {mutant:?} | {histories} | {violation} |"),
            None => println!("| {mutant:?} | not found | |"),
        }
    }
    let missed: Vec<_> = found.iter().filter(|(_, finding)| finding.is_none()).map(|(mutant, _)| mutant).collect();
    assert!(missed.is_empty(), "no history of {HISTORIES} finds {missed:?}");
}
