//! The figures as a Markdown table, printed as they come and written to a file at the end.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use drift_e2e::process::run_folder;
use drift_e2e::progress;

/// The measured figures, in order.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<(String, String)>,
}

impl Table {
    /// Adds one figure, with its unit.
    pub(crate) fn add(&mut self, what: impl Into<String>, figure: impl Into<String>) {
        let (what, figure) = (what.into(), figure.into());
        progress::say(format!("{what}: {figure}"));
        self.rows.push((what, figure));
    }

    /// Writes the table into the target folder, under a line that describes the measurement. Returns the path.
    pub(crate) fn write(&self, how: &str) -> Result<PathBuf> {
        let mut text = format!("{how}\n\n| | |\n|---|---|\n");
        for (what, figure) in &self.rows {
            writeln!(text, "| {what} | {figure} |")?;
        }
        let path = run_folder::profile_folder()?.join("steady.md");
        std::fs::write(&path, &text)?;
        Ok(path)
    }
}

/// Returns a percentile of some durations, in milliseconds, with one decimal place.
pub(crate) fn share(mut milliseconds: Vec<f64>, hundredths: usize) -> f64 {
    milliseconds.sort_unstable_by(f64::total_cmp);
    milliseconds.get(milliseconds.len().saturating_sub(1) * hundredths / 100).copied().unwrap_or_default()
}
