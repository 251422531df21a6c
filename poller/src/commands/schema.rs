//! `drift-poller schema`: the JSON Schema of target documents, for editors.
//!
//! It must not know what the schema says.

use std::io::{self, Write as _};
use std::process::ExitCode;

use drift_target::json_schema;

/// Prints the schema.
///
/// # Errors
/// When nobody takes it.
pub(crate) fn print_schema() -> io::Result<ExitCode> {
    writeln!(io::stdout().lock(), "{:#}", json_schema())?;
    Ok(ExitCode::SUCCESS)
}
