//! `kubectl drift rbac`: prints the roles that targets need, for both programs.

mod helm_values;
mod kinds;
mod manifests;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use drift_api::names::{CONTROLLER_MANAGER, GROUP, POLLER_MANAGER, REPORT_PLURAL};
use drift_kube::access::rights::{rights_on, rights_on_reports};
use drift_kube::access::roles::{Role, roles};
use drift_kube::access::target_rights::rights_on_secrets;
use drift_kube::access::{Account, Right};
use drift_kube::client::KubeconfigSettings;
use drift_kube::kinds::WrittenKinds;
use drift_language::Target;

use crate::check::cluster::live_documents;
use crate::check::document::documents_of;
use crate::check::files::read_with_neighbours;
use crate::check::refuse_bad;
use crate::check::report::Report;
use crate::check::written_kinds::{check_with, written_in};
use crate::cluster::{HomeSettings, block_on};
use crate::ending::{CommandError, ExitStatus};
use crate::kinds::needs::{TargetKinds, controller_needs, poller_needs};
use helm_values::{ProgramRoles, helm_values};
use kinds::{Kinds, kinds_of};
use manifests::manifests;

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift rbac -f targets/ -f crds/ | kubectl apply -f -
  kubectl kustomize overlays/production | kubectl drift rbac -f -
  kubectl drift rbac --from-cluster | kubectl apply -f -      what the live targets need
  kubectl drift rbac -f dns.yaml --name dns
  kubectl drift rbac --from-cluster --target dns --name dns      while another target has a mistake
  kubectl drift rbac -f targets/ -f crds/ -o helm-values > rights.yaml      for helm upgrade -f rights.yaml
  kubectl drift rbac --from-cluster --verify-account drift-verify      also what the Job of the component verify lists

Plurals come from the CustomResourceDefinitions in the files; of kinds that are not defined there, from the cluster.
Exit codes: 0 printed, 2 the cluster does not say what a kind is called, 3 bad usage or targets";

/// Suffix of the roles of all targets.
const ALL_TARGETS: &str = "targets";

/// The groups and resources of Events and DriftReports, which the shipped manifests let both programs write everywhere.
const SHIPPED: [(&str, &str); 2] = [("events.k8s.io", "events"), (GROUP, REPORT_PLURAL)];

/// The targets, and the accounts that get the roles.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RbacSettings {
    /// Files, folders (every .yaml, .yml and .json below), or - for standard input: targets, ConfigMaps that hold them, and the
    /// CustomResourceDefinitions of their kinds
    #[arg(
        required_unless_present_any = ["from_cluster", "filenames"],
        conflicts_with = "from_cluster",
        value_name = "FILE|FOLDER|-"
    )]
    paths: Vec<PathBuf>,
    /// The same, as kubectl takes them; may be given several times
    #[arg(long = "filename", short, conflicts_with = "from_cluster", value_name = "FILE|FOLDER|-")]
    filenames: Vec<PathBuf>,
    /// Take the targets from the ConfigMaps in the namespace of --targets-namespace
    #[arg(long)]
    from_cluster: bool,
    /// Print the roles of these targets alone, separated by commas. Others may have mistakes. Needs --name, because the
    /// roles of all targets would lose the rights of the others
    #[arg(long, value_delimiter = ',', requires = "name", value_name = "NAME,…")]
    target: Vec<String>,
    /// Suffix of the roles' names behind the account's name: one for each set of targets
    #[arg(long, default_value = ALL_TARGETS)]
    name: String,
    #[command(flatten)]
    home: HomeSettings,
    /// The poller's ServiceAccount
    #[arg(long, default_value = POLLER_MANAGER, value_name = "NAME")]
    poller_account: String,
    /// The controller's ServiceAccount
    #[arg(long, default_value = CONTROLLER_MANAGER, value_name = "NAME")]
    controller_account: String,
    /// Print no role for the controller, as for the overlay observe-only, which has none. Where a controller runs, it also
    /// watches the objects of targets that only observe
    #[arg(long, conflicts_with = "controller_account")]
    observe_only: bool,
    /// A ServiceAccount that runs check --from-cluster --wait, such as drift-verify: it may list the objects, to see
    /// their verdicts
    #[arg(long, value_name = "NAME")]
    verify_account: Option<String>,
    #[command(flatten)]
    cluster: KubeconfigSettings,
    /// Output format instead of roles and their bindings
    #[arg(
        long,
        short,
        value_enum,
        conflicts_with_all = ["name", "poller_account", "controller_account", "verify_account"]
    )]
    output: Option<RbacOutput>,
}

/// The output format of the roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RbacOutput {
    /// The value `rights` of the Helm chart
    HelmValues,
}

/// Prints the roles and their bindings.
///
/// # Errors
/// If a file cannot be read, a target is bad, a plural is not known, or stdout is closed.
pub(crate) fn run(settings: &RbacSettings) -> Result<ExitStatus, CommandError> {
    let (documents, written) = if settings.from_cluster {
        let documents = block_on(live_documents(&settings.cluster, &settings.home.targets_namespace))?;
        (documents, WrittenKinds::default())
    } else {
        let sources = read_with_neighbours(settings.filenames.iter().chain(&settings.paths))?;
        let written = written_in(&sources);
        (documents_of(sources), written)
    };
    let mut report = chosen(check_with(&documents, &written), settings)?;
    let kinds = kinds_of(&documents, &mut report, (&written, &settings.cluster))?;
    let targets: Vec<_> = report.targets.iter().map(|good| good.target.clone()).collect();
    let printed = match settings.output {
        None => role_manifests(settings, &targets, &kinds),
        Some(RbacOutput::HelmValues) => chart_rights(settings.observe_only, &targets, &kinds)?,
    };
    anstream::stdout().write_all(printed.as_bytes())?;
    Ok(ExitStatus::Success)
}

/// The report of the chosen targets alone, of all if none is named.
///
/// # Errors
/// If one of them is bad.
fn chosen(report: Report, settings: &RbacSettings) -> Result<Report, CommandError> {
    let names = &settings.target;
    if names.is_empty() {
        let consequence = "no roles are printed for targets that `check` refuses, because the others' roles would take \
                           rights from them. Correct them, or print the roles of one target apart: --target NAME --name NAME";
        refuse_bad(&report, consequence)?;
        return Ok(report);
    }
    if settings.name == ALL_TARGETS {
        let message = format!("--target needs another --name than {ALL_TARGETS}, which names the roles of all targets");
        return Err(CommandError::BadUsage(message));
    }
    let is_good = |name: &&String| report.targets.iter().any(|good| good.target.name == **name && !good.has_error);
    if let Some(bad) = names.iter().find(|name| !is_good(name)) {
        refuse_bad(&report, &format!("target {bad} is not among the good targets"))?;
        return Err(CommandError::BadUsage(format!("there is no target {bad}")));
    }
    let targets = report.targets.into_iter().filter(|good| names.contains(&good.target.name)).collect();
    Ok(Report { targets, ..Report::default() })
}

fn role_manifests(settings: &RbacSettings, targets: &[Arc<Target>], kinds: &Kinds) -> String {
    let account = |name: &str| Account { namespace: settings.home.targets_namespace.clone(), name: name.to_owned() };
    let mut granted = vec![(account(&settings.poller_account), roles_of(targets, kinds, beyond_shipped(poller_needs)))];
    if !settings.observe_only {
        let roles = roles_of(targets, kinds, beyond_shipped(with_secrets));
        granted.push((account(&settings.controller_account), roles));
    }
    let verifier = settings.verify_account.as_ref();
    granted.extend(verifier.map(|name| (account(name), roles_of(targets, kinds, verifier_needs))));
    manifests(&settings.name, &granted)
}

fn chart_rights(observe_only: bool, targets: &[Arc<Target>], kinds: &Kinds) -> Result<String, CommandError> {
    let mut programs = vec![ProgramRoles {
        key: "poller",
        roles: roles_of(targets, kinds, beyond_shipped(poller_needs)),
        merged: roles_of(targets, kinds, everywhere(beyond_shipped(poller_needs))),
    }];
    if !observe_only {
        programs.push(ProgramRoles {
            key: "controller",
            roles: roles_of(targets, kinds, beyond_shipped(with_secrets)),
            merged: roles_of(targets, kinds, everywhere(beyond_shipped(with_secrets))),
        });
    }
    helm_values(&programs)
}

/// The same rights without their namespaces.
fn everywhere(
    needs: impl Fn(&Target, &TargetKinds<'_>) -> Vec<Right>,
) -> impl Fn(&Target, &TargetKinds<'_>) -> Vec<Right> {
    move |target, kinds| {
        let rights = needs(target, kinds).into_iter();
        rights.map(|right| Right { namespace: None, ..right }).collect()
    }
}

/// The roles of one account, by what it needs for a target.
fn roles_of(
    targets: &[Arc<Target>],
    kinds: &Kinds,
    needs: impl Fn(&Target, &TargetKinds<'_>) -> Vec<Right>,
) -> Vec<Role> {
    let of_target = |target: &Arc<Target>| {
        let rights = kinds.of(target).map(|kinds| needs(target, &kinds)).unwrap_or_default();
        rights.into_iter().map(|right| (right, target.name.clone())).collect::<Vec<_>>()
    };
    roles(targets.iter().flat_map(of_target))
}

/// What a program needs, without what the shipped manifests grant.
fn beyond_shipped(
    needs: impl Fn(&Target, &TargetKinds<'_>) -> Vec<Right>,
) -> impl Fn(&Target, &TargetKinds<'_>) -> Vec<Right> {
    move |target, kinds| {
        let mut rights = needs(target, kinds);
        rights.retain(|right| !SHIPPED.contains(&(&*right.group, &*right.resource)));
        rights
    }
}

fn verifier_needs(target: &Target, kinds: &TargetKinds<'_>) -> Vec<Right> {
    let mut rights = rights_on(kinds.objects, &target.objects, &["list"], "");
    if target.objects.keeps_reports() {
        rights.extend(rights_on_reports(&target.objects, &["list"]));
    }
    rights
}

fn with_secrets(target: &Target, kinds: &TargetKinds<'_>) -> Vec<Right> {
    let mut rights = controller_needs(target, kinds);
    rights.extend(rights_on_secrets(target));
    rights
}
