//! The repository keeps its rules for documents. No program is started.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command_lines;
mod documentation;
mod helm_values;
mod layout;
mod log_messages;
mod manual;
mod monitoring;
mod mutants;
mod readiness;
mod release;
mod workflows;

use std::path::{Path, PathBuf};

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
