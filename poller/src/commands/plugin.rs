//! The program as a plugin: where its file is called `kubectl-drift`, kubectl runs it as `kubectl drift`, and it speaks of itself so.
//!
//! Pure. It must not know what the commands do.

use std::ffi::OsStr;
use std::path::Path;

use clap::Command;

/// What kubectl looks for on PATH where somebody types `kubectl drift`.
const PLUGIN_FILE: &str = "kubectl-drift";
/// What people type to run it.
const PLUGIN_NAME: &str = "kubectl drift";
/// What they type otherwise, as the examples of the commands have it.
const PROGRAM_NAME: &str = "drift-poller";
/// What the cluster runs; nobody means it at a terminal.
const RUN: &str = "run";

/// The command line under the name that it was called by.
pub(crate) fn named_as_called(command: Command, called: Option<&OsStr>) -> Command {
    let file = called.and_then(|called| Path::new(called).file_name());
    if file.is_none_or(|file| file != PLUGIN_FILE) {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::commands::command_line::CommandLine;
    use clap::CommandFactory as _;

    fn help(called: &str, arguments: &[&str]) -> String {
        let command = named_as_called(CommandLine::command(), Some(OsStr::new(called)));
        command.try_get_matches_from([&[called], arguments].concat()).unwrap_err().to_string()
    }

    #[test]
    fn the_plugin_speaks_of_itself_as_kubectl_does() {
        let plugin = help("/opt/bin/kubectl-drift", &["get", "--help"]);
        assert!(
            plugin.contains("Usage: kubectl drift get ") && plugin.contains("\n  kubectl drift get -A"),
            "{plugin}"
        );
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
