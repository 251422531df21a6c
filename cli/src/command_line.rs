//! The command line: each command with its settings, and its help.

use drift_kube::telemetry::LogFormat;

use crate::adopt::AdoptSettings;
use crate::approve::ApproveSettings;
use crate::check::CheckSettings;
use crate::completions::CompletionsSettings;
use crate::draft::DraftSettings;
use crate::explain::ExplainSettings;
use crate::forget::ForgetSettings;
use crate::get::GetSettings;
use crate::install::InstallSettings;
use crate::plan::settings::PlanSettings;
use crate::rbac::RbacSettings;
use crate::request::answered_polls::PollSettings;
use crate::request::{GiveUpSettings, PauseSettings, RESUME_EXAMPLES, RETRY_EXAMPLES, RequestSettings};
use crate::suspend::{SUSPEND_EXAMPLES, SuspendSettings, UNSUSPEND_EXAMPLES};
use crate::version::VersionSettings;

/// Shown at the end of `--help`: most commands log nothing, so their help leaves these options out.
const LOGGING: &str =
    "Every command takes --log-level LEVEL (error, warn, info, debug, trace or a filter; default warn) and --log-format
FORMAT (auto, text, json; default text) for logs on stderr.";
/// Shown at the end of `--help` of `schema`.
const SCHEMA_EXAMPLES: &str = "Example:
  kubectl drift schema > target.schema.json     # then, as the first line of a target in an editor with the YAML language server:
  # yaml-language-server: $schema=target.schema.json";

/// Shows what drifted and why, checks targets, and asks the programs for polls and corrections.
#[derive(Debug, clap::Parser)]
#[command(version, about, bin_name = "kubectl drift", after_help = LOGGING)]
pub struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// error, warn, info, debug or trace, or a filter such as info,drift_kube=debug
    #[arg(long, global = true, hide = true, default_value = "warn", value_name = "LEVEL")]
    pub(crate) log_level: String,
    /// The format of logs on stderr
    #[arg(long, global = true, hide = true, value_enum, default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// A command.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Check target documents: mistakes, their places, and what to write instead; needs no cluster
    Check(CheckSettings),
    /// Write a first target from the kind's CustomResourceDefinition and one answer of the external system
    Draft(DraftSettings),
    /// Poll one object now: show the request, the answer, each difference, and the next correction or what blocks it
    Explain(ExplainSettings),
    /// Show what edited objects and targets would change outside, before they are applied
    Plan(PlanSettings),
    /// List the objects of all targets with their drift, its age and fields, and the last correction
    #[command(aliases = ["list", "status"])]
    Get(GetSettings),
    /// Approve the correction that an object of a target with mode Approve waits for, after showing it
    Approve(ApproveSettings),
    /// Pause corrections of objects; polling goes on
    Pause(PauseSettings),
    /// Resume corrections of paused objects
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(RequestSettings),
    /// Request an immediate poll of objects
    Poll(PollSettings),
    /// Request one more try of what AttemptsExhausted, AbsenceContradicted, CreationInDoubt, DeletionUnclear or an open breaker
    /// holds, end the delay of a correction, or confirm the loss of one resource that AllMissing holds
    #[command(after_help = RETRY_EXAMPLES)]
    Retry(RequestSettings),
    /// Give up the external resource that an object owns: it stays as it is, and another object may have it
    GiveUp(GiveUpSettings),
    /// Make an object the owner of the external resource that it names, even if something else created it
    Adopt(AdoptSettings),
    /// Suspend a target: no polls and no corrections of its objects, by spec.suspend in its ConfigMap
    #[command(after_help = SUSPEND_EXAMPLES)]
    Suspend(SuspendSettings),
    /// Resume polls and corrections of a suspended target
    #[command(after_help = UNSUSPEND_EXAMPLES)]
    Unsuspend(SuspendSettings),
    /// Remove a target whose ConfigMap is gone for good: the programs release its objects, and nothing is deleted outside
    Forget(ForgetSettings),
    /// Print the minimal roles that both programs need for targets
    Rbac(RbacSettings),
    /// Print the manifests of an installation with the images of a registry
    Install(InstallSettings),
    /// Print the JSON Schema of target documents for completion and checks in an editor
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Print the script by which a shell completes these commands
    Completions(CompletionsSettings),
    /// Print the version of this program, and of drift-poller and drift-controller in the cluster
    Version(VersionSettings),
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::{CommandFactory as _, Parser as _};

    fn help(arguments: &[&str]) -> String {
        let command = CommandLine::command();
        command.try_get_matches_from([&["/opt/bin/kubectl-drift"], arguments].concat()).unwrap_err().to_string()
    }

    #[test]
    fn help_shows_what_people_type() {
        assert!(help(&["--help"]).contains("Usage: kubectl drift "));
        let get = help(&["get", "--help"]);
        assert!(get.contains("Usage: kubectl drift get ") && get.contains("\n  kubectl drift get -A"), "{get}");
    }

    #[test]
    fn usual_names_of_a_list_are_known() {
        for word in ["get", "list", "status"] {
            let parsed = CommandLine::try_parse_from(["kubectl-drift", word, "-A"]).unwrap();
            assert!(matches!(parsed.command, Command::Get(_)), "{word}");
        }
    }

    #[test]
    fn help_shows_the_log_level_that_holds() {
        assert!(
            help(&["--help"]).contains("--log-level LEVEL (error, warn, info, debug, trace or a filter; default warn)")
        );
        for (arguments, level) in [(&[][..], "warn"), (&["--log-level", "info"], "info")] {
            let words = [&["kubectl-drift", "schema"], arguments].concat();
            assert_eq!(CommandLine::try_parse_from(words).unwrap().log_level, level);
        }
    }

    #[test]
    fn help_of_a_command_leaves_logs_out() {
        for subcommand in CommandLine::command().get_subcommands() {
            let help = help(&[subcommand.get_name(), "--help"]);
            assert!(!help.contains("--log-"), "{help}");
        }
    }

    #[test]
    fn every_command_shows_an_example() {
        for subcommand in CommandLine::command().get_subcommands() {
            let name = subcommand.get_name();
            let shown = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(
                shown.starts_with("Example") && shown.contains(&format!("kubectl drift {name}")),
                "{name}: {shown}"
            );
        }
    }
}
