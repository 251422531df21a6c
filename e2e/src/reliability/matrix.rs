//! Renders the rows as Markdown. A pure function.

use super::{FAULTS, Group, HOSTILE, NARROW, Shown};

/// The text above the first section.
const HEAD: &str = "\
# Reliability

This page lists the failures that the tests cause, and the results.

Example: the API server answers every request with 500 or 503 for ten minutes. The programs correct no outdated spec.
They work again within seconds after the failure.

The first sections come from end-to-end tests of both programs, with a real API server and an external system. A row
appears only if its test passed. `cargo run -p drift-e2e --bin reliability` writes this page after a full test run.

The figures are from one run on two cores, which all tests share. They are measurements, not guarantees.
";

/// The text above the rows of narrower tests.
const NARROW_HEAD: &str = "
## Unit tests and simulations

These tests do not run the whole system. They use tables, properties, random histories and local sockets with faults.

`cargo test` runs all of them. The last column names the file of the test.

| Situation | What the test does | Result | Test file |
|---|---|---|---|
";

/// The head of the table of faults.
const FAULTS_HEAD: &str = "
## Thirty faults

This table shows how far the tests cover thirty production faults.

- *Whole*: a test causes the fault and checks the required behaviour.
- *Partly*: the last column names the part without a test.

| Fault | Covered | Tests | Without a test |
|---|---|---|---|
";

/// Runs that are longer than `cargo test`. Written by hand.
const LONG_RUNS: &str = "
## Long runs

These runs repeat the random tests with new inputs. They took place on 22 and 23 November 2026, on two cores that were
busy with other work.

These parts ran on 22 November without a failure, in a build without optimization:

| Part | Time | Runs |
|---|---|---|
| YAML reader | 153 s | 20 runs of 20,000 cases for each test |
| end of a template in a text | 125 s | 16 runs of 20,000 cases |
| CEL compiler | 157 s | 15 runs of 20,000 cases |
| values in a URL | 135 s | 2 runs of 20,000 cases |
| values in SQL | 99 s | 2 runs of 20,000 cases |
| JSON of answers | 63 s | 11 runs of 20,000 cases |
| conditions, with tag and note | 306 s | 1 run of 20,000 cases |
| rules of `compare`: numbers, units, forms, paths | 100 s | 15 runs of 4,000 cases |
| differ, compared with a slow reference | 287 s | 5 runs of 5,000 cases |
| messages about differences | 136 s | 5 runs of 5,000 cases |
| reused findings, compared with new ones | 140 s | 6 runs of 500 cases |
| verdicts on hostile answers | 247 s | 34 runs of 500 cases |

Random histories of both programs had failures, in a build with little optimization. All failed histories pass now:

| Histories | Time | Seeds | Failures |
|---|---|---|---|
| without Jobs, first run | 14 min | below 289,000 (187,000 histories) | 16: 1 fault, 11 test errors, 4 accepted repeats |
| without Jobs, after fixes | 16 min | below 140,000 | 2: 1 fault, 1 test error |
| with Jobs, before the second fixes | 41 min | below 584,000 | 22: 1 fault, 21 test errors of three kinds |
| with Jobs, after the second fixes | 20 min | 400,000 to 640,000 | 1: a test error |
| with Jobs, after all fixes | 5 min | 640,000 to 700,000 | none |

- The fault of the first run: a correction continued although another writer had removed the finalizer. It is fixed.
- The fault of the second and third run: an object came back with its old claim after another object had adopted the
  resource, so that both owned it. It is fixed.
- An accepted repeat sends an answered request again with its key ([adr/0040](adr/0040-repeated-requests.md)).
- The goal of one million histories was not reached.
";

/// The faults that the random histories find, with their figures.
const MUTANTS: &str = include_str!("mutants.md");

/// Renders the whole document.
#[must_use]
pub fn render(rows: &[Shown]) -> String {
    let mut document = HEAD.to_owned();
    let mut section: Option<Group> = None;
    for row in rows {
        if section != Some(row.group) {
            section = Some(row.group);
            document.push_str(&format!("\n## {}\n\n", row.group.title()));
            document.push_str("| Situation | What the test does | Result | Figures |\n|---|---|---|---|\n");
        }
        let cells = [&row.sequence, &row.injected, &row.held, &row.figures].map(|cell| cell.replace('|', "\\|"));
        document.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    document.push_str(NARROW_HEAD);
    for row in NARROW.iter().chain(HOSTILE) {
        let file = row.test.split(' ').next().unwrap_or_default();
        let cells = [row.sequence, row.injected, row.held, &format!("`{file}`")].map(|cell| cell.replace('|', "\\|"));
        document.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    document.push_str(FAULTS_HEAD);
    for fault in FAULTS {
        let proved = if fault.missing.is_empty() { "whole" } else { "partly" };
        let tests: Vec<_> = fault.tests.iter().map(|test| test.rsplit(' ').next().unwrap_or(test)).collect();
        document.push_str(&format!("| {} | {proved} | `{}` | {} |\n", fault.fault, tests.join("`, `"), fault.missing));
    }
    document.push_str(LONG_RUNS);
    document.push_str(MUTANTS);
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_gets_one_table() {
        let rows = [
            Shown::new(Group::Claim, "two with one name", "a second object", "the oldest keeps it", "1 write outside"),
            Shown::new(Group::Claim, "wiped note", "status replaced", "True | False", ""),
            Shown::new(Group::Storms, "all at once", "20 changes", "the breaker holds", ""),
        ];
        let document = render(&rows);
        assert_eq!(document.matches("## ").count(), 6, "{document}");
        assert!(document.contains("| two with one name | a second object | the oldest keeps it | 1 write outside |"));
        assert!(document.contains("True \\| False"), "{document}");
    }
}
