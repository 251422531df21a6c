//! Writes `docs/design/reliability.md` from the results of the last run of the suite. See [`drift_e2e::reliability`].
//!
//! With `--check` it writes nothing. It fails if the document names a sequence that the suite did not show, or lacks
//! one that it did. Figures are not compared, because they differ between runs.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use drift_e2e::reliability::{kept, render};

/// Writes docs/design/reliability.md from what the end-to-end suite has shown.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only compare the document's sequences with those shown.
    #[arg(long)]
    check: bool,
}

/// Path of the document in this checkout.
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/design/reliability.md");

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let path = Path::new(DOCUMENT);
    let shown = render(&kept()?);
    if !arguments.check {
        return std::fs::write(path, shown).context("writing docs/design/reliability.md");
    }
    let written = std::fs::read_to_string(path).context("reading docs/design/reliability.md")?;
    let (promised, held) = (promises(&written), promises(&shown));
    let missing: Vec<_> = promised.difference(&held).collect();
    let unnamed: Vec<_> = held.difference(&promised).collect();
    ensure!(
        missing.is_empty() && unnamed.is_empty(),
        "docs/design/reliability.md is not what the suite showed.\nNot shown: {missing:#?}\nNot in the document: {unnamed:#?}\n\
         Run `cargo run -p drift-e2e --bin reliability` after a whole run of the suite."
    );
    Ok(())
}

/// Returns the lines of the document without their last column, the figures.
fn promises(document: &str) -> BTreeSet<&str> {
    document.lines().map(|line| line.trim_end_matches(" |").rsplit_once(" | ").map_or(line, |(row, _)| row)).collect()
}
