//! Exit codes and error messages of commands.

use std::io;
use std::process::ExitCode;

use drift_kube::program::settings::BAD_USAGE;

/// The exit code where something drifted.
pub(crate) const DRIFTED: u8 = 1;

/// The exit code of a command that cannot tell.
pub(crate) const CANNOT_TELL: u8 = 2;

/// Why a command cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// It was asked for something that cannot be, or what it was given is bad.
    #[error("{0}")]
    BadUsage(String),
    /// Nothing can be said, by no fault of whoever asked.
    #[error("{0}")]
    CannotTell(String),
    /// Nobody takes what it prints.
    #[error("what was to be printed cannot be written: {0}")]
    Unwritable(#[from] io::Error),
}

/// Says why, if it failed, and gives the exit code.
pub(crate) fn end(result: Result<ExitCode, CommandError>) -> ExitCode {
    result.unwrap_or_else(|error| {
        // A reader that goes, as `head` does, has what it wanted. What nobody read all of tells nothing.
        if matches!(&error, CommandError::Unwritable(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::from(CANNOT_TELL);
        }
        // Where nobody takes that either, the exit code is all that can be told.
        let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("error: {error}\n"));
        match error {
            CommandError::BadUsage(_) => ExitCode::from(BAD_USAGE),
            CommandError::CannotTell(_) | CommandError::Unwritable(_) => ExitCode::from(CANNOT_TELL),
        }
    })
}
