//! `drift-poller completions`: what makes a shell complete these commands; and the same for kubectl, which asks the program itself.
//!
//! It must not know what the commands do.

mod candidates;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Command;
use clap_complete::{generate, shells};

use crate::commands::ending::CommandError;
use crate::commands::plugin::CalledAs;
use candidates::candidates;

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples, for the file that a shell reads when it starts:
  source <(drift-poller completions bash)      ~/.bashrc
  source <(drift-poller completions zsh)       ~/.zshrc, behind compinit
  drift-poller completions fish | source       ~/.config/fish/config.fish

kubectl completes a plugin by a program kubectl_complete-drift on PATH: a link of that name to this file is one.";

/// How kubectl is told that there is nothing else to offer, as cobra numbers it.
const NOTHING_ELSE: &str = ":4";
/// And that the names of files may follow.
const FILES: &str = ":0";

/// For which shell.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsSettings {
    /// The shell that is to complete
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the script for a command line, whose program was called so.
///
/// # Errors
/// When nobody takes it.
pub(crate) fn run(
    settings: &CompletionsSettings,
    (command, called): (Command, CalledAs),
) -> Result<ExitCode, CommandError> {
    let mut command = called.named(command);
    let (file, mut script) = (called.file(), Vec::new());
    // Into memory, which takes everything: where it cannot write, it panics.
    match settings.shell {
        Shell::Bash => generate(shells::Bash, &mut command, file, &mut script),
        Shell::Zsh => generate(shells::Zsh, &mut command, file, &mut script),
        Shell::Fish => generate(shells::Fish, &mut command, file, &mut script),
    }
    let script = with_one_name(&String::from_utf8_lossy(&script), file);
    anstream::stdout().write_all(script.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// clap_complete 4.6 writes a program whose name has a hyphen in two ways into bash's script, so that nothing behind a command is
/// completed: `drift__poller` where the words are read, `drift__subcmd__poller` where it is said what may follow.
fn with_one_name(script: &str, file: &str) -> String {
    script.replace(&file.replace('-', "__subcmd__"), &file.replace('-', "__"))
}

/// Answers what may follow these words of a command line, of which the last is begun, as kubectl asks it of
/// `kubectl_complete-drift`.
///
/// # Errors
/// When nobody takes the answer.
pub(crate) fn answer_kubectl(
    command: Command,
    words: impl Iterator<Item = OsString>,
) -> Result<ExitCode, CommandError> {
    let mut words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let begun = words.pop().unwrap_or_default();
    let mut command = CalledAs::Completer.named(command);
    command.build();
    let offered = candidates(&command, &words, &begun);
    let directive = if offered.is_empty() { FILES } else { NOTHING_ELSE };
    let lines: String = offered.iter().map(|line| format!("{line}\n")).collect();
    writeln!(anstream::stdout(), "{lines}{directive}")?;
    Ok(ExitCode::SUCCESS)
}
