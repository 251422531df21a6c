//! Proves that the random histories find faults: a history fails for each mutant of the engines.
//!
//! A mutant is found by a violated property. A panic does not count, and without the mutant the same history must pass.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use drift_api::mutants::{Mutant, plant};

use crate::history::{History, PANICS};

/// Maximum number of histories for a mutant: twice the number in a run without one.
const HISTORIES: u64 = 20_000;
/// Environment variable with a comma-separated list of mutants. The table is not compared then.
const MUTANTS_VARIABLE: &str = "DRIFT_MUTANTS";

/// The result for a mutant: the number of histories and the violation.
#[derive(Debug)]
struct Finding {
    histories: u64,
    violation: String,
}

/// Returns the histories that find the mutant. Only those with other states have a target that is not live.
const fn histories(mutant: Mutant) -> fn(u64) -> History {
    match mutant {
        Mutant::NotGoverned => History::governed,
        _ => History::of,
    }
}

/// Plays histories with the mutant until one fails.
fn find(mutant: Mutant) -> Option<Finding> {
    let history = histories(mutant);
    plant(Some(mutant));
    let violation = |seed| history(seed).play().err().filter(|violation| violation != PANICS);
    let found = (0..HISTORIES).find_map(|seed| Some((seed, violation(seed)?)));
    plant(None);
    let (seed, violation) = found?;
    assert_eq!(history(seed).play(), Ok(()), "seed {seed}, which finds {mutant:?}, fails without it");
    Some(Finding { histories: seed + 1, violation })
}

/// The table of mutants and the document that contains it.
const TABLE: &str = include_str!("../../src/reliability/mutants.md");
const RELIABILITY: &str = include_str!("../../../docs/design/reliability.md");

/// Returns the row of a mutant in the table. The text after the colon of a violation differs between objects.
fn row((mutant, finding): &(Mutant, Option<Finding>)) -> String {
    let fault = mutant.fault().trim().trim_end_matches('.');
    match finding {
        Some(Finding { histories, violation }) => {
            let property = violation.split(": ").next().unwrap_or_default();
            format!("| `{mutant:?}` | {fault} | {histories} | {property} |")
        }
        None => format!("| `{mutant:?}` | {fault} | not found | |"),
    }
}

#[test]
fn the_document_has_the_table_of_mutants() {
    assert!(RELIABILITY.contains(TABLE), "docs/design/reliability.md lacks e2e/src/reliability/mutants.md");
}

#[test]
#[ignore = "takes half an hour: .ci/mutants"]
fn every_mutant_of_the_engines_is_found() {
    let asked = std::env::var(MUTANTS_VARIABLE).ok();
    let is_asked =
        |mutant: &Mutant| asked.as_ref().is_none_or(|asked| asked.split(',').any(|name| name == format!("{mutant:?}")));
    let mutants: Vec<Mutant> = Mutant::ALL.iter().copied().filter(is_asked).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
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
    let rows: Vec<String> = found.iter().map(row).collect();
    rows.iter().for_each(|row| println!("{row}"));
    let missed: Vec<_> = found.iter().filter(|(_, finding)| finding.is_none()).map(|(mutant, _)| mutant).collect();
    assert!(missed.is_empty(), "no history of {HISTORIES} finds {missed:?}");
    if asked.is_none() {
        let table: Vec<&str> = TABLE.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(table, rows, "the table in e2e/src/reliability/mutants.md differs from what was found");
    }
}
