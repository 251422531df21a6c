//! `kubectl drift check`: checks target documents before they are applied.

pub(crate) mod cluster;
pub(crate) mod document;
pub(crate) mod files;
mod rendering;
pub(crate) mod report;
mod sarif;
pub(crate) mod written_kinds;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use drift_api::names::{CONTROLLER_LEASE, POLLER_LEASE};
use drift_kube::client::KubeconfigSettings;
use drift_kube::program::settings::parse_lease_name;
use drift_language::Target;
use drift_language::manifests_of;
use serde_json::Value;

use crate::cluster::{HomeSettings, block_on};
use crate::ending::{CommandError, ExitStatus};
use cluster::activation::wait_until_active;
use cluster::{Installation, check_files, check_live};
use document::{Source, documents_of};
use files::{read_all, read_sources, read_with_neighbours, refuse_broken};
use rendering::{annotations, json, note, people, summary};
use report::{Report, misplaced};
use sarif::sarif;
use written_kinds::{check_with, written_in};

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift check targets/ crds/      with the kinds that are defined in the files
  kubectl kustomize overlays/production | kubectl drift check -
  kubectl drift check --from-cluster --targets-namespace drift-system
  kubectl drift check --from-cluster --wait      until drift-poller has read an object of each target
  kubectl drift check targets/ --context production      the same of targets that are not applied yet

Exit codes: 0 good (perhaps with warnings), 2 something of the cluster could not be looked at, 3 bad";

/// The documents to check, and the output format.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckSettings {
    /// Files, folders (every .yaml, .yml and .json below), or - for standard input: targets, ConfigMaps that hold them, and the
    /// CustomResourceDefinitions of their kinds
    #[arg(
        required_unless_present_any = ["from_cluster", "filenames"],
        conflicts_with_all = ["from_cluster", "wait"],
        value_name = "FILE|FOLDER|-"
    )]
    paths: Vec<PathBuf>,
    /// The same, as other commands take them; may be given several times
    #[arg(long = "filename", short, conflicts_with_all = ["from_cluster", "wait"], value_name = "FILE|FOLDER|-")]
    filenames: Vec<PathBuf>,
    /// The live ConfigMaps instead: with their kinds, Secrets, the rights of both programs, objects and request rates, as files are
    /// checked too where --kubeconfig or --context names a cluster
    #[arg(long)]
    from_cluster: bool,
    /// Wait until each target is active, its Secrets are usable, and an object of it has been read
    #[arg(long, requires = "from_cluster")]
    wait: bool,
    /// Longest time to wait
    #[arg(long, requires = "wait", default_value = "2m", value_name = "DURATION", value_parser = humantime::parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    home: HomeSettings,
    /// The poller's Lease, where it runs with another --lease-name
    #[arg(long, requires = "from_cluster", value_name = "NAME", default_value = POLLER_LEASE, value_parser = parse_lease_name)]
    poller_lease: String,
    /// The controller's Lease
    #[arg(long, requires = "from_cluster", value_name = "NAME", default_value = CONTROLLER_LEASE, value_parser = parse_lease_name)]
    controller_lease: String,
    #[command(flatten)]
    cluster: KubeconfigSettings,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: CheckOutput,
    /// Exit with 3 for warnings too
    #[arg(long)]
    fail_on_warnings: bool,
}

/// The output format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum CheckOutput {
    /// For people: mistakes with their lines on stderr, good targets on stdout
    #[default]
    Text,
    /// One JSON object on stdout
    Json,
    /// Workflow commands on stdout, which GitHub shows beside the lines of a change
    Github,
    /// SARIF 2.1.0 on stdout, which code scanning takes
    Sarif,
}

/// Checks the documents.
///
/// # Errors
/// If a file cannot be read, or stdout is closed.
pub(crate) fn run(settings: &CheckSettings) -> Result<ExitStatus, CommandError> {
    let report = match find_out(settings) {
        Ok(report) => report,
        Err(error) => {
            // An empty output would look like a good result.
            anstream::stdout().write_all(failure(&error.to_string(), settings.output).as_bytes())?;
            return Err(error);
        }
    };
    print(&report, settings.output)?;
    let is_bad = report.is_bad() || (settings.fail_on_warnings && report.has_warnings());
    Ok(match (is_bad, report.is_partial) {
        (true, _) => ExitStatus::BadUsage,
        (false, true) => ExitStatus::Unknown,
        (false, false) => ExitStatus::Success,
    })
}

fn find_out(settings: &CheckSettings) -> Result<Report, CommandError> {
    let CheckSettings { paths, filenames, from_cluster, wait, timeout, home, cluster, .. } = settings;
    let namespace = &home.targets_namespace;
    let installation =
        Installation { namespace, poller_lease: &settings.poller_lease, controller_lease: &settings.controller_lease };
    if *wait {
        return block_on(wait_until_active(cluster, installation, *timeout));
    }
    if *from_cluster {
        return block_on(check_live(cluster, installation));
    }
    let (sources, without_target) = read_sources(paths.iter().chain(filenames))?;
    let kinds = written_in(&sources);
    let documents = documents_of(sources);
    let mut report = match cluster.kubeconfig.is_none() && cluster.context.is_none() {
        true => check_with(&documents, &kinds),
        false => block_on(check_files(cluster, (namespace, &kinds), &documents))?,
    };
    report.refuse_unfinished(&documents);
    report.extend(misplaced(&documents, namespace));
    report.extend(without_target);
    Ok(report)
}

/// The output if nothing could be checked.
fn failure(message: &str, output: CheckOutput) -> String {
    match output {
        // The error is on stderr.
        CheckOutput::Text => String::new(),
        CheckOutput::Json => format!("{:#}\n", rendering::failed_json(message)),
        CheckOutput::Sarif => format!("{:#}\n", sarif::failed(message)),
        CheckOutput::Github => rendering::failed_annotation(message),
    }
}

/// The contents of files for a trial.
#[derive(Debug, Default)]
pub(crate) struct TriedFiles {
    /// Their targets, all of which are good.
    pub(crate) targets: Vec<Arc<Target>>,
    /// Every manifest.
    pub(crate) manifests: Vec<Value>,
}

/// Reads files whose targets all have to be good; what is wrong is shown as `check` does. Nothing where no file is named.
///
/// # Errors
/// When one cannot be read, something in it is bad, or none has a target.
pub(crate) fn read_tried(files: &[PathBuf]) -> Result<TriedFiles, CommandError> {
    if files.is_empty() {
        return Ok(TriedFiles::default());
    }
    good_in(read_with_neighbours(files)?, files)
}

/// Reads files like [`read_tried`], perhaps without a target.
///
/// # Errors
/// When one cannot be read, or something in it is bad.
pub(crate) fn read_manifests(files: &[PathBuf]) -> Result<TriedFiles, CommandError> {
    good_in(read_all(files)?, files)
}

fn good_in(sources: Vec<Source>, files: &[PathBuf]) -> Result<TriedFiles, CommandError> {
    refuse_broken(&sources)?;
    let kinds = written_in(&sources);
    let manifests = sources.iter().flat_map(|source| manifests_of(&source.text)).collect();
    let report = check_with(&documents_of(sources), &kinds);
    let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    refuse_bad(&report, &format!("{} is not good", names.join(", ")))?;
    Ok(TriedFiles { targets: report.targets.into_iter().map(|good| good.target).collect(), manifests })
}

/// Shows what is wrong, if something is.
///
/// # Errors
/// `consequence`, if something is wrong.
pub(crate) fn refuse_bad(report: &Report, consequence: &str) -> Result<(), CommandError> {
    if !report.is_bad() {
        return Ok(());
    }
    anstream::stderr().write_all(people(report).as_bytes())?;
    Err(CommandError::BadUsage(consequence.to_owned()))
}

fn print(report: &Report, output: CheckOutput) -> Result<(), CommandError> {
    match output {
        CheckOutput::Text => {
            // It takes the colours out where no terminal shows them, or NO_COLOR is set.
            anstream::stderr().write_all(people(report).as_bytes())?;
            anstream::stdout().write_all(summary(report).as_bytes())?;
            anstream::stderr().write_all(note(report).as_bytes())?;
        }
        CheckOutput::Json => writeln!(anstream::stdout(), "{:#}", json(report))?,
        CheckOutput::Sarif => writeln!(anstream::stdout(), "{:#}", sarif(report))?,
        CheckOutput::Github => anstream::stdout().write_all(annotations(report).as_bytes())?,
    }
    Ok(())
}
