//! Renders the rows as Markdown. A pure function.

use super::{FAULTS, Group, HOSTILE, NARROW, Shown};

/// The text above the first section.
const HEAD: &str = "\
# Reliability

This page lists the failures that the tests cause, and the results. Example: the API server rejects every request for
ten minutes. The programs correct no outdated spec, and work again within seconds after the failure.

The first sections come from end-to-end tests. They run both programs with a real API server and an external system.
A row appears only if its test passed in the last full run. `cargo run -p drift-e2e --bin reliability` writes this page.

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

Random tests again and again with new values, in a build without optimisation, on two cores that other work kept busy (22
November 2026, the last four rows a day later). None failed, but for what the last four rows say; all that failed pass now.
The goal of a million composed histories was not reached.

| Part | Time | What ran |
|---|---|---|
| the reader of YAML | 153 s | 20 runs of its tests with 20,000 cases each |
| where a template ends in a text | 125 s | 16 runs with 20,000 cases each |
| the compiler of CEL | 157 s | 15 runs with 20,000 cases each |
| values in a URL | 135 s | 2 runs with 20,000 cases each |
| values in SQL | 99 s | 2 runs with 20,000 cases each |
| JSON of answers | 63 s | 11 runs with 20,000 cases each |
| conditions, the tag and the note | 306 s | 1 run with 20,000 cases each |
| rules of `compare`: numbers, units, forms, paths | 100 s | 15 runs with 4,000 cases each |
| the differ, against its slow definition | 287 s | 5 runs with 5,000 cases each |
| what people are told of a difference | 136 s | 5 runs with 5,000 cases each |
| what is known of an answer against what is judged | 140 s | 6 runs with 500 cases each |
| hostile answers, judged whole | 247 s | 34 runs with 500 cases each |
| both programs in composed histories, built with little optimisation | 14 min | 187,000 histories of seeds below 289,000. 16 failed: one because a correction went on though somebody had taken the finalizer off, which is mended; 11 by mistakes of the histories; 4 by what is accepted, a request that was answered and is sent again with its key ([adr/0040](adr/0040-repeated-requests.md)) |
| the same after these mends | 16 min | seeds below 140,000 again. Two failed: one because an object came back into a target with its old claim, after another one had adopted its resource, and both owned it, which is mended; the other by a mistake of the histories, which took what others had made anew for the resource of another object, which was gone |
| the same with Jobs, before the mends of the second run | 41 min | seeds below 584,000. 22 failed: one by two owners again, the others by three mistakes of the histories. A Secret that the target does not send any more counted as a difference; a verdict was put back before anybody had heard of another; what an adopting claim names was not taken for its own |
| the same with Jobs, after them | 20 min, 5 min | seeds from 400,000 to 640,000, of which one failed by the last of these mistakes; then, with that mended, those from 640,000 to 700,000, of which none did |
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
