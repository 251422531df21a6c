//! The document: rows become Markdown. Pure; it knows nothing of where rows come from.

use super::{Group, NARROW, Shown};

/// What stands above the first section.
const HEAD: &str = "\
# Reliability

What the end-to-end suite plays between the two programs, the real API server and an external system, and what held.
Written by `cargo run -p drift-e2e --bin reliability` from what the tests handed in; a sequence stands here only if its
test passed in that run. The figures are of that one run on two cores, which all tests share; none of them is a promise.
";

/// What stands above the rows of narrower tests.
const NARROW_HEAD: &str = "
## Shown by narrower tests

What needs no whole system: tables, properties and random histories over the pure parts, and loopback sockets that
misbehave. The last column names the test's file; `cargo test` runs all of them.

| Sequence | Injected | What held | Test |
|---|---|---|---|
";

/// The whole document.
#[must_use]
pub fn render(rows: &[Shown]) -> String {
    let mut document = HEAD.to_owned();
    let mut section: Option<Group> = None;
    for row in rows {
        if section != Some(row.group) {
            section = Some(row.group);
            document.push_str(&format!("\n## {}\n\n", row.group.title()));
            document.push_str("| Sequence | Injected | What held | Figures |\n|---|---|---|---|\n");
        }
        let cells = [&row.sequence, &row.injected, &row.held, &row.figures].map(|cell| cell.replace('|', "\\|"));
        document.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    document.push_str(NARROW_HEAD);
    for row in NARROW {
        let file = row.test.split(' ').next().unwrap_or_default();
        let cells = [row.sequence, row.injected, row.held, &format!("`{file}`")].map(|cell| cell.replace('|', "\\|"));
        document.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_gets_one_table_and_a_bar_in_a_cell_breaks_nothing() {
        let rows = [
            Shown::new(Group::Claim, "two with one name", "a second object", "the oldest keeps it", "1 write outside"),
            Shown::new(Group::Claim, "wiped note", "status replaced", "True | False", ""),
            Shown::new(Group::Storms, "all at once", "20 changes", "the breaker holds", ""),
        ];
        let document = render(&rows);
        assert_eq!(document.matches("## ").count(), 3, "{document}");
        assert!(document.contains("| two with one name | a second object | the oldest keeps it | 1 write outside |"));
        assert!(document.contains("True \\| False"), "{document}");
    }
}
