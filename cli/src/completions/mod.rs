//! `kubectl drift completions`: scripts by which shells complete the commands, and answers to kubectl's own completion.

mod candidates;
mod cluster_words;

use std::ffi::OsString;
use std::io::Write as _;

use clap::Command;
use clap_complete::{generate, shells};

use crate::ending::{CommandError, ExitStatus};
use candidates::candidates;
use cluster_words::cluster_words;

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples, for the file that a shell reads when it starts:
  source <(kubectl drift completions bash)      ~/.bashrc
  source <(kubectl drift completions zsh)       ~/.zshrc, behind compinit
  kubectl drift completions fish | source       ~/.config/fish/config.fish

kubectl completes a plugin by a program kubectl_complete-drift on PATH: a link of that name to this file is one.";

/// The file of this program, whose command lines the scripts complete.
const PROGRAM: &str = "kubectl-drift";

/// The directive of cobra for: no other candidates.
const NOTHING_ELSE: &str = ":4";
/// The directive of cobra for: names of files may follow.
const FILES: &str = ":0";

/// The shell to complete in.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsSettings {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the script for a command line.
///
/// # Errors
/// When stdout is closed.
pub(crate) fn run(settings: &CompletionsSettings, mut command: Command) -> Result<ExitStatus, CommandError> {
    let mut script = Vec::new();
    // Into memory, which takes everything: where it cannot write, it panics.
    match settings.shell {
        Shell::Bash => generate(shells::Bash, &mut command, PROGRAM, &mut script),
        Shell::Zsh => generate(shells::Zsh, &mut command, PROGRAM, &mut script),
        Shell::Fish => generate(shells::Fish, &mut command, PROGRAM, &mut script),
    }
    let script = with_one_name(&String::from_utf8_lossy(&script));
    anstream::stdout().write_all(script.as_bytes())?;
    Ok(ExitStatus::Success)
}

/// clap_complete 4.6 writes a program whose name has a hyphen in two ways into bash's script, so that nothing behind a command is
/// completed: `kubectl__drift` where the words are read, `kubectl__subcmd__drift` where it is said what may follow.
fn with_one_name(script: &str) -> String {
    script.replace(&PROGRAM.replace('-', "__subcmd__"), &PROGRAM.replace('-', "__"))
}

/// Answers what may follow these words of a command line, of which the last is begun, as kubectl asks it of
/// `kubectl_complete-drift`.
///
/// # Errors
/// If stdout is closed.
pub(crate) fn answer_kubectl(
    mut command: Command,
    words: impl Iterator<Item = OsString>,
) -> Result<ExitStatus, CommandError> {
    let mut words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let begun = words.pop().unwrap_or_default();
    command.build();
    let mut offered = candidates(&command, &words, &begun);
    offered.extend(cluster_words(&command, &words, &begun));
    let directive = if offered.is_empty() { FILES } else { NOTHING_ELSE };
    let lines: String = offered.iter().map(|line| format!("{line}\n")).collect();
    writeln!(anstream::stdout(), "{lines}{directive}")?;
    Ok(ExitStatus::Success)
}
