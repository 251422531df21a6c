//! The program as a plugin: where its file is called `kubectl-drift`, kubectl runs it as `kubectl drift`, and it speaks of itself so;
//! where it is called `kubectl_complete-drift`, kubectl asks it what may follow.
//!
//! Pure. It must not know what the commands do.

use std::ffi::OsStr;
use std::path::Path;

use clap::Command;

/// What kubectl looks for on PATH where somebody types `kubectl drift`.
const PLUGIN_FILE: &str = "kubectl-drift";
/// What it looks for where somebody asks a shell what may follow `kubectl drift`.
const COMPLETER_FILE: &str = "kubectl_complete-drift";
/// What people type to run the plugin.
const PLUGIN_NAME: &str = "kubectl drift";
/// What they type otherwise, as the examples of the commands have it.
const PROGRAM_NAME: &str = "drift-poller";
/// What the cluster runs; nobody means it at a terminal.
const RUN: &str = "run";

/// What the program's file is called, and so what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalledAs {
    /// The program itself.
    Program,
    /// The plugin of kubectl.
    Plugin,
    /// What completes the plugin's command lines.
    Completer,
}

impl CalledAs {
    /// By the path with which it was called.
    pub(crate) fn of(called: Option<&OsStr>) -> Self {
        match called.and_then(|called| Path::new(called).file_name()) {
            Some(file) if file == PLUGIN_FILE => Self::Plugin,
            Some(file) if file == COMPLETER_FILE => Self::Completer,
            _ => Self::Program,
        }
    }

    /// The name of the file that people run.
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Self::Program => PROGRAM_NAME,
            Self::Plugin | Self::Completer => PLUGIN_FILE,
        }
    }

    /// The command line under its name.
    pub(crate) fn named(self, command: Command) -> Command {
        if self == Self::Program {
            return command;
        }
        let command = command.bin_name(PLUGIN_NAME).display_name(PLUGIN_NAME);
        command.mut_subcommands(|subcommand| {
            let is_run = subcommand.get_name() == RUN;
            let examples = subcommand.get_after_help().map(|text| text.to_string().replace(PROGRAM_NAME, PLUGIN_NAME));
            let subcommand = subcommand.hide(is_run);
            examples.into_iter().fold(subcommand, Command::after_help)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::commands::command_line::CommandLine;
    use clap::CommandFactory as _;

    fn help(called: &str, arguments: &[&str]) -> String {
        let command = CalledAs::of(Some(OsStr::new(called))).named(CommandLine::command());
        command.try_get_matches_from([&[called], arguments].concat()).unwrap_err().to_string()
    }

    #[test]
    fn the_plugin_speaks_of_itself_as_kubectl_does() {
        let plugin = help("/opt/bin/kubectl-drift", &["get", "--help"]);
        assert!(
            plugin.contains("Usage: kubectl drift get ") && plugin.contains("\n  kubectl drift get -A"),
            "{plugin}"
        );
        // Its Lease is called so as well.
        let plugin = plugin.replace("[default: drift-poller]", "");
        assert!(!plugin.contains(PROGRAM_NAME), "{plugin}");
        let all = help("kubectl-drift", &["--help"]);
        assert!(all.contains("Usage: kubectl drift ") && !all.contains("  run "), "{all}");
        let program = help("/usr/bin/drift-poller", &["get", "--help"]);
        assert!(program.contains("Usage: drift-poller get ") && !program.contains(PLUGIN_NAME), "{program}");
    }

    #[test]
    fn every_command_shows_an_example() {
        for subcommand in CommandLine::command().get_subcommands() {
            let name = subcommand.get_name();
            let shown = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(shown.starts_with("Example") && shown.contains(&format!("drift-poller {name}")), "{name}: {shown}");
        }
    }
}
