//! `drift-poller schema`: the JSON Schema of target documents, for editors.
//!
//! It must not know what the schema says.

use std::io::Write as _;
use std::process::ExitCode;

use drift_language::json_schema;

use crate::commands::ending::CommandError;

/// Shown at the end of `--help`.
pub(crate) const EXAMPLES: &str = "Example:
  drift-poller schema > target.schema.json     # then, as the first line of a target in an editor with the YAML language server:
  # yaml-language-server: $schema=target.schema.json";

/// Prints the schema.
///
/// # Errors
/// When nobody takes it.
pub(crate) fn print_schema() -> Result<ExitCode, CommandError> {
    writeln!(anstream::stdout(), "{:#}", json_schema())?;
    Ok(ExitCode::SUCCESS)
}
