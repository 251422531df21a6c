//! Exit statuses and error messages of commands.

use std::io;
use std::process::ExitCode;

use drift_kube::program::settings::BAD_USAGE;

/// The exit status of a command; `0` to `3` mean the same for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// The command did what was asked, and what it looked at is in sync.
    Success,
    /// Something drifted.
    Drifted,
    /// Nothing drifted as far as is known, and something is unknown or was not done.
    Unknown,
    /// The input of the command is bad.
    BadUsage,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => Self::SUCCESS,
            ExitStatus::Drifted => Self::from(1),
            ExitStatus::Unknown => Self::from(2),
            ExitStatus::BadUsage => Self::from(BAD_USAGE),
        }
    }
}

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// It was asked for something that cannot be, or what it was given is bad.
    #[error("{0}")]
    BadUsage(String),
    /// The answer is unknown, by no fault of the user.
    #[error("{0}")]
    CannotTell(String),
    /// Stdout is closed.
    #[error("what was to be printed cannot be written: {0}")]
    Unwritable(#[from] io::Error),
}

impl CommandError {
    /// The exit status of a command that ends with it.
    #[must_use]
    pub(crate) const fn status(&self) -> ExitStatus {
        match self {
            Self::BadUsage(_) => ExitStatus::BadUsage,
            Self::CannotTell(_) | Self::Unwritable(_) => ExitStatus::Unknown,
        }
    }
}

/// Prints the error of a command that failed, and returns the exit code.
pub(crate) fn end(result: Result<ExitStatus, CommandError>) -> ExitCode {
    let status = result.unwrap_or_else(|error| {
        // A closed stdout, as by `head`, needs no message.
        if !matches!(&error, CommandError::Unwritable(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            // If stderr is closed too, the exit code is all that is left.
            let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("error: {error}\n"));
        }
        error.status()
    });
    status.into()
}
