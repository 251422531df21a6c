//! The hard sequences that a narrower test shows than one on the whole system: a table, a property, a random history.
//!
//! It exists because the least powerful test that can prove a behaviour is the one that the project keeps, and the
//! document still owes its reader a row. A row names its test, and this file's own test fails where that is gone. It
//! must not know what the suite showed.

/// One sequence and the test that shows it.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    /// The sequence, in a few words.
    pub sequence: &'static str,
    /// What the test does.
    pub injected: &'static str,
    /// What holds.
    pub held: &'static str,
    /// The test: its file in this repository, a space, its function.
    pub test: &'static str,
}

/// The rows, in the order of the document.
pub const NARROW: &[Narrow] = &[];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_row_names_a_test_that_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for Narrow { test, sequence, .. } in NARROW {
            let (file, function) = test.split_once(' ').unwrap();
            let text =
                fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{sequence}: {file}: {error}"));
            let (before, _) = text
                .split_once(&format!("fn {function}("))
                .unwrap_or_else(|| panic!("{sequence}: no {function} in {file}"));
            let attributes = before.rsplit("\n\n").next().unwrap();
            assert!(
                attributes.contains("#[test]") || attributes.contains("::test") || before.contains("proptest!"),
                "{sequence}: {function} is no test"
            );
            assert!(!attributes.contains("#[ignore"), "{sequence}: {function} is ignored");
        }
    }
}
