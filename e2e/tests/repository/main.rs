//! The repository keeps what it promises about itself: its documents and the structure of its sources.
//!
//! Nothing here starts a program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command_lines;
mod documentation;
mod functions;
mod layout;
mod manual;
mod monitoring;
mod sources;
mod structure;

use std::path::{Path, PathBuf};

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
