//! The commands that people run on their own machine, with their own rights: `kubectl drift get`, `explain`, `check`
//! and the like.
//!
//! One folder for each command, with the code that decides beside the code that asks and prints. `kinds` and `targets`
//! are what several commands need of the cluster.

mod adopt;
mod approve;
mod check;
mod cluster;
mod command_line;
mod completions;
mod draft;
mod ending;
pub mod explain;
mod forget;
mod get;
mod install;
mod kinds;
mod ownership;
mod plan;
mod rbac;
mod request;
mod suspend;
mod targets;
mod version;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory as _;
use drift_kube::program::settings::parse_command_line;
use drift_kube::telemetry;
use drift_language::json_schema;

use command_line::Command;
use ending::{CommandError, ExitStatus, end};
use request::annotations::ObjectRequest;

pub use command_line::CommandLine;

/// The file's name under which kubectl asks what may follow `kubectl drift`.
const COMPLETER_FILE: &str = "kubectl_complete-drift";

/// Reads the command line. A program called `kubectl_complete-drift` answers kubectl what may follow instead.
///
/// # Errors
/// The exit code, where there is nothing to do: after help, a mistake, or an answer to kubectl. What there was to say is said.
pub fn read_command_line() -> Result<CommandLine, ExitCode> {
    let mut words = std::env::args_os();
    let called = words.next();
    let file = called.as_deref().map(Path::new).and_then(Path::file_name);
    if file == Some(OsStr::new(COMPLETER_FILE)) {
        return Err(end(completions::answer_kubectl(CommandLine::command(), words)));
    }
    parse_command_line()
}

/// Runs a command to its end and returns its exit code.
///
/// # Errors
/// When logging cannot start.
pub fn run(command_line: CommandLine) -> anyhow::Result<ExitCode> {
    telemetry::start(&command_line.log_level, command_line.log_format)?;
    Ok(end(match command_line.command {
        Command::Check(settings) => check::run(&settings),
        Command::Draft(settings) => draft::run(&settings),
        Command::Explain(settings) => explain::run(&settings),
        Command::Plan(settings) => plan::run(&settings),
        Command::Get(settings) => get::run(&settings),
        Command::Approve(settings) => approve::run(&settings),
        Command::Pause(settings) => request::run(&settings.objects, &settings.request()),
        Command::Resume(settings) => request::run(&settings, &ObjectRequest::Resume),
        Command::Poll(settings) => request::answered_polls::run(&settings),
        Command::Retry(settings) => request::run(&settings, &ObjectRequest::Retry),
        Command::GiveUp(settings) => request::run(&settings.objects, &settings.request()),
        Command::Adopt(settings) => adopt::run(&settings),
        Command::Forget(settings) => forget::run(&settings),
        Command::Suspend(settings) => suspend::run(&settings, true),
        Command::Unsuspend(settings) => suspend::run(&settings, false),
        Command::Rbac(settings) => rbac::run(&settings),
        Command::Install(settings) => install::run(&settings),
        Command::Schema => print_schema(),
        Command::Version(settings) => version::run(&settings),
        Command::Completions(settings) => completions::run(&settings, CommandLine::command()),
    }))
}

fn print_schema() -> Result<ExitStatus, CommandError> {
    writeln!(anstream::stdout(), "{:#}", json_schema())?;
    Ok(ExitStatus::Success)
}
