//! `drift-poller check --from-cluster`: the targets of a namespace, held against the cluster that they are in.
//!
//! Thin: it asks, and the core says what the answers mean. Nothing is written. It must not know the language.

use std::collections::BTreeSet;

use drift_cluster::access::missing::rules;
use drift_cluster::access::{Account, Right, missing_rights_of};
use drift_cluster::client::{self, CALL_DEADLINE, KubeconfigSettings};
use drift_cluster::config::list_documents;
use drift_cluster::kinds::{ExaminedKind, KindError, ResolvedKind, examine_kind, locate_served_kind};
use drift_cluster::watch::read_secret;
use drift_model::field_paths::FieldPaths;
use drift_model::names::{CONTROLLER_MANAGER, POLLER_MANAGER};
use drift_target::{DocumentName, Mode, Refused, Source, Target, UnknownField};
use k8s_openapi::api::core::v1::ServiceAccount;

use crate::commands::cluster::{connect, each_object, unanswered};
use crate::commands::ending::CommandError;
use crate::commands::needs::{TargetKinds, controller_needs, poller_needs};
use crate::core::check::{
    Document, Rate, Report, Severity, Source as Text, check, check_without, rate_trouble, secret_trouble,
};

/// What was found out about one target.
#[derive(Default)]
struct Found {
    unknown: Vec<UnknownField>,
    said: Vec<(Severity, String)>,
    /// Of Secrets, by name.
    secrets: Vec<(String, String)>,
    objects: Option<u64>,
    /// Whether something could not be asked.
    is_partial: bool,
}

impl Found {
    fn error(&mut self, message: impl Into<String>) {
        self.said.push((Severity::Error, message.into()));
    }

    /// What could not be asked is no mistake of the target.
    fn unasked(&mut self, what: &str, error: impl std::fmt::Display) {
        self.is_partial = true;
        self.said.push((Severity::Warning, format!("{what} cannot be looked at, so that it is not checked: {error}")));
    }
}

/// Checks the live targets of a namespace.
///
/// # Errors
/// When they cannot be read, or there are none.
pub(super) async fn check_live(cluster: &KubeconfigSettings, namespace: &str) -> Result<Report, CommandError> {
    let client = connect(cluster).await?;
    let listed = list_documents(&client, namespace).await;
    let listed = listed.map_err(|error| unanswered(&format!("the targets in namespace {namespace}"), &error))?;
    let mut documents = Vec::new();
    for (config_map, texts) in listed {
        for (key, text) in texts {
            let source = Text { name: format!("configmap/{config_map}/{key}"), text };
            documents.push(Document::whole(DocumentName { config_map: config_map.clone(), key }, source));
        }
    }
    if documents.is_empty() {
        let message =
            format!("namespace {namespace} has no ConfigMap with the label driftpoller.dev/targets: \"true\"");
        return Err(CommandError::BadUsage(message));
    }
    let mut refused = Refused::new();
    let mut found = Vec::new();
    for good in check(&documents).targets {
        let seen = examine(&client, namespace, &good.target).await;
        if !seen.unknown.is_empty() {
            refused.insert(good.target.document.clone(), seen.unknown.clone());
        }
        found.push((good.target, seen));
    }
    let mut report = check_without(&documents, &refused);
    for (target, seen) in found {
        let Some(document) = Document::find(&documents, &target.document) else { continue };
        seen.said.into_iter().for_each(|(severity, message)| report.say(document, severity, message));
        for (name, trouble) in seen.secrets {
            report.say_of_secret(document, &name, (Severity::Error, trouble));
        }
        report.is_partial |= seen.is_partial;
        report.count(&target.name, seen.objects);
    }
    Ok(report)
}

async fn examine(client: &kube::Client, namespace: &str, target: &Target) -> Found {
    let mut found = Found::default();
    find_secrets(client, namespace, target, &mut found).await;
    let Some(kind) = find_kind(client, target, &mut found).await else { return found };
    let read = find_read_kind(client, target, &mut found).await;
    let kinds = TargetKinds { objects: &kind, read: read.as_ref() };
    find_rights(client, namespace, (target, &kinds), &mut found).await;
    let mut objects = 0;
    let place = (None, FieldPaths::default());
    match each_object(client, (target, &kind), place, |_| objects += 1).await {
        Ok(()) => found.objects = Some(objects),
        Err(error) => found.unasked(&format!("how many {} there are", kind.resource.plural), error),
    }
    let rates = found.objects.map(|objects| Rate::of(target, objects)).unwrap_or_default();
    found.said.extend(rate_trouble(target, &rates).map(|message| (Severity::Warning, message)));
    found
}

/// The kind, if the target can work with it.
async fn find_kind(client: &kube::Client, target: &Target, found: &mut Found) -> Option<ResolvedKind> {
    match examine_kind(client, target).await {
        Ok(ExaminedKind { kind, problems, unknown }) => {
            let is_usable = problems.is_empty() && unknown.is_empty();
            problems.into_iter().for_each(|problem| found.error(problem));
            found.unknown = unknown;
            is_usable.then_some(kind)
        }
        Err(KindError::Unavailable(error)) => {
            found.unasked(&target.objects.kind, error);
            None
        }
        Err(error) => {
            found.error(error.to_string());
            None
        }
    }
}

/// The kind of what `read.kubernetes` reads, which a manifest makes too.
async fn find_read_kind(client: &kube::Client, target: &Target, found: &mut Found) -> Option<ResolvedKind> {
    let Source::Kubernetes(read) = &target.read.source else { return None };
    match locate_served_kind(client, (read.group(), &read.kind), std::iter::once(&*read.api_version)).await {
        Ok(kind) => Some(kind),
        Err(KindError::Missing { .. }) => {
            let (kind, api_version) = (&read.kind, &read.api_version);
            found.error(format!("the cluster has no kind {kind} in {api_version}, which read.kubernetes reads"));
            None
        }
        Err(error) => {
            found.unasked(&read.kind, error);
            None
        }
    }
}

async fn find_secrets(client: &kube::Client, namespace: &str, target: &Target, found: &mut Found) {
    for needed in target.needed_secrets() {
        match read_secret(client, namespace, &needed.name).await {
            Ok(secret) => {
                let secret = secret.as_ref().map(|(label, secret)| (label.as_deref(), secret));
                if let Some(trouble) = secret_trouble(&needed, secret) {
                    found.secrets.push((needed.name, trouble));
                }
            }
            Err(error) => found.unasked(&format!("Secret {}", needed.name), error),
        }
    }
}

/// What the programs may not do. Where there is no controller, nothing corrects, and it needs nothing.
async fn find_rights(
    client: &kube::Client,
    namespace: &str,
    (target, kinds): (&Target, &TargetKinds<'_>),
    found: &mut Found,
) {
    let programs = [
        (POLLER_MANAGER, poller_needs(target, kinds), true),
        (CONTROLLER_MANAGER, controller_needs(target, kinds), target.correct.mode == Mode::Correct),
    ];
    for (name, rights, is_needed) in programs {
        let account = Account { namespace: namespace.to_owned(), name: name.to_owned() };
        let accounts: kube::Api<ServiceAccount> = kube::Api::namespaced(client.clone(), namespace);
        match client::within(CALL_DEADLINE, accounts.get_opt(name)).await {
            Ok(None) if is_needed => found
                .unasked(&format!("what {name} may do"), format!("namespace {namespace} has no ServiceAccount {name}")),
            Ok(None) => {}
            // Whether it is there cannot be told: its rights can all the same.
            _ => find_rights_of(client, &account, rights, found).await,
        }
    }
}

async fn find_rights_of(client: &kube::Client, account: &Account, rights: Vec<Right>, found: &mut Found) {
    let rights: BTreeSet<Right> = rights.into_iter().collect();
    match missing_rights_of(client, account, &rights).await {
        Ok(missing) if missing.is_empty() => {}
        Ok(missing) => {
            let rules = rules(&missing);
            found.error(format!("the ServiceAccount {} lacks rights that this target needs: {rules}", account.name));
        }
        Err(error) => found.unasked(&format!("what {} may do", account.name), error),
    }
}
