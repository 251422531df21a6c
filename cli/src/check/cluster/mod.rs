//! `kubectl drift check` with a cluster: compares targets, applied or in files, with what the cluster has. Writes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::names::{CONTROLLER_MANAGER, POLLER_LEASE, POLLER_MANAGER, TARGETS_LABEL, TRUE};
use drift_kube::access::missing::rules;
use drift_kube::access::{Account, Right, missing_rights_of};
use drift_kube::client::ResolvedKind;
use drift_kube::client::{self, CALL_DEADLINE, CallError, KubeconfigSettings};
use drift_kube::config::documents_in;
use drift_kube::kinds::{KindError, WrittenKinds, examine_kind, find_lossy_version, locate_served_kind};
use drift_kube::process::clock;
use drift_kube::process::progress::Progress;
use drift_kube::watch::read_secret;
use drift_language::{Destination, DocumentName, NeededSecret, Refused, Source, Target, Texts};
use k8s_openapi::api::core::v1::ServiceAccount;

use crate::check::document::{Document, Remark, Severity, Source as Text};
use crate::check::report::{Rate, Report, check, check_without};
use crate::check::written_kinds::check_with;
use crate::cluster::connect;
use crate::ending::CommandError;
use crate::kinds::needs::{TargetKinds, controller_needs, poller_needs};
use crate::targets::KnownKind;
use crate::targets::known::KnownTarget;
use crate::targets::leases::Holder;
use crate::targets::session::Session;
use dry_run::try_write;
use selected_objects::{SelectedObjects, select};
use target_findings::TargetFindings;
use troubles::{missing_targets, rate_trouble, scope_changes, secret_doubt, secret_trouble};

pub(super) mod activation;
mod dry_run;
mod first_polls;
mod proofs;
mod selected_objects;
mod target_findings;
mod troubles;

/// The namespace of the programs, and the names of their Leases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Installation<'s> {
    pub(super) namespace: &'s str,
    pub(super) poller_lease: &'s str,
    pub(super) controller_lease: &'s str,
}

/// Checks the live targets of a namespace.
///
/// # Errors
/// When they cannot be read, or there are none.
pub(super) async fn check_live(
    cluster: &KubeconfigSettings,
    installation: Installation<'_>,
) -> Result<Report, CommandError> {
    let Installation { namespace, poller_lease, controller_lease } = installation;
    let session = Session::at(cluster, namespace, poller_lease).await?;
    let texts = documents_in(&session.target_maps().await?);
    let notes = session.notes().await;
    let missing = missing_targets(namespace, &texts, &notes);
    let documents = documents_of_maps(texts);
    if documents.is_empty() && missing.is_empty() {
        return Err(no_config_map(namespace));
    }
    let mut report = check_against(&session.client, (namespace, &WrittenKinds::default()), &documents).await;
    report.extend(missing);
    let of_poller = match notes.unread {
        Some(why) => Some(format!("{why}: whether a target is missing is not checked")),
        None => notes.vacancy,
    };
    let of_controller = vacancy_of_controller(&session, (&report, controller_lease)).await;
    let said = [(poller_lease, of_poller), (controller_lease, of_controller)];
    report.say_first(said.into_iter().filter_map(|(lease, said)| Some(of_lease(lease, &said?))));
    Ok(report)
}

fn of_lease(name: &str, message: &str) -> Remark {
    Remark::of_source(&format!("lease/{name}"), message)
}

/// The sentence about a controller that a target needs and that holds no Lease.
async fn vacancy_of_controller(session: &Session<'_>, (report, lease): (&Report, &str)) -> Option<String> {
    report.targets.iter().find(|good| good.target.correct.mode.corrects())?;
    match session.lease(lease).await {
        Ok(found) => Holder::Controller.vacancy(found.as_ref(), (lease, session.home), clock::wall()),
        Err(why) => Some(format!("{why}: whether a controller works is not checked")),
    }
}

/// Reads the live target documents of a namespace.
///
/// # Errors
/// If they cannot be read, or there are none.
pub(crate) async fn live_documents(
    cluster: &KubeconfigSettings,
    namespace: &str,
) -> Result<Vec<Document>, CommandError> {
    let session = Session::at(cluster, namespace, POLLER_LEASE).await?;
    let documents = documents_of_maps(documents_in(&session.target_maps().await?));
    if documents.is_empty() { Err(no_config_map(namespace)) } else { Ok(documents) }
}

fn documents_of_maps(texts: Texts) -> Vec<Document> {
    let of_map = |(config_map, texts): (String, BTreeMap<String, String>)| {
        texts.into_iter().map(move |(key, text)| {
            let source = Text { name: format!("configmap/{config_map}/{key}"), text };
            Document::whole(DocumentName { config_map: config_map.clone(), key }, source)
        })
    };
    texts.into_iter().flat_map(of_map).collect()
}

fn no_config_map(namespace: &str) -> CommandError {
    let label = format!("{TARGETS_LABEL}: \"{TRUE}\"");
    CommandError::BadUsage(format!("namespace {namespace} has no ConfigMap with the label {label} and a target"))
}

/// Checks targets of files, as if they were applied in this namespace, and beside them the kinds that the cluster does not have.
///
/// # Errors
/// When there is no usable configuration.
pub(super) async fn check_files(
    cluster: &KubeconfigSettings,
    place: (&str, &WrittenKinds),
    documents: &[Document],
) -> Result<Report, CommandError> {
    let client = connect(cluster).await?;
    let Some(cause) = silence(&client).await else { return Ok(check_against(&client, place, documents).await) };
    let mut report = check_with(documents, place.1);
    report.is_partial = true;
    if let Some(first) = documents.first() {
        let message = format!("the cluster cannot be asked, so that the files are checked without it: {cause}");
        report.say(first, Severity::Warning, message);
    }
    Ok(report)
}

/// Why the API server gives no answer at all, asked once: every other question would say the same. One that answers with something
/// else than its version may know the rest.
async fn silence(client: &kube::Client) -> Option<CallError> {
    let answer = client::within(CALL_DEADLINE, client.apiserver_version()).await;
    answer.err().filter(CallError::is_silence)
}

/// A target, its kind and the findings so far.
struct Examined {
    target: Arc<Target>,
    /// The kind, and whether the target can work with it.
    kind: Option<(ResolvedKind, bool)>,
    found: TargetFindings,
}

async fn check_against(client: &kube::Client, place: (&str, &WrittenKinds), documents: &[Document]) -> Report {
    let (targets, mut progress) = (check(documents).targets, Progress::begin());
    let mut examined = Vec::new();
    for (number, good) in targets.iter().enumerate() {
        progress.tell(&format!("reading the kind of target {} of {}, {}", number + 1, targets.len(), good.target.name));
        let Some(document) = Document::find(documents, &good.target.document) else { continue };
        let (target, mut found) = (good.target.clone(), TargetFindings::default());
        find_secrets(client, place.0, &target, &mut found).await;
        let kind = find_kind(client, place.1, (&target, &document.text), &mut found).await;
        examined.push(Examined { target, kind, found });
    }
    let known: Vec<KnownKind> = examined.iter().filter_map(Examined::known).collect();
    let selected = select(client, &known, |objects| progress.tell(&format!("listing objects: {objects}"))).await;
    let mut selected: BTreeMap<_, _> = known.iter().map(|one| one.target.name()).zip(selected).collect();
    for (number, one) in examined.iter_mut().enumerate() {
        let name = &*one.target.name;
        progress.tell(&format!("checking target {} of {}, {name}", number + 1, targets.len()));
        if let Some(selected) = selected.remove(name) {
            one.look_at_objects(client, place.0, selected).await;
        }
    }
    progress.clear();
    let is_unfit = |one: &&Examined| !one.found.unknown.is_empty();
    let unfit = examined.iter().filter(is_unfit);
    let refused: Refused = unfit.map(|one| (one.target.document.clone(), one.found.unknown.clone())).collect();
    let mut report = check_without(documents, &refused);
    for Examined { target, found, .. } in examined {
        let Some(document) = Document::find(documents, &target.document) else { continue };
        found.said.into_iter().for_each(|(severity, message)| report.say(document, severity, message));
        report.say_types(document, found.mistakes);
        for (name, said) in found.secrets {
            report.say_of_secret(document, &name, said);
        }
        report.is_partial |= found.is_partial;
        report.note(&target.name, (found.objects, found.untried));
    }
    report
}

impl Examined {
    fn known(&self) -> Option<KnownKind> {
        let (kind, _) = self.kind.clone()?;
        let (target, objects) = (KnownTarget::Text(self.target.clone()), self.target.objects.clone());
        Some(KnownKind { target, objects, kind })
    }

    /// Tries a write on one of the selected objects. If the target can work with its kind, finds missing rights and
    /// counts requests.
    async fn look_at_objects(
        &mut self,
        client: &kube::Client,
        namespace: &str,
        selected: Result<SelectedObjects, String>,
    ) {
        let Self { target, kind: Some((kind, is_usable)), found } = self else { return };
        let selected = match selected {
            Ok(selected) => {
                try_write(client, (&*target, &*kind), &selected.candidates, found).await;
                Some(selected)
            }
            Err(error) => {
                found.unasked(&format!("how many {} there are", kind.resource.plural), error);
                None
            }
        };
        if !*is_usable {
            return;
        }
        let read = find_read_kind(client, target, found).await;
        let kinds = TargetKinds { objects: &*kind, read: read.as_ref() };
        find_rights(client, namespace, (&*target, &kinds), found).await;
        if let Some(SelectedObjects { count, claims, .. }) = selected {
            found.objects = Some(count);
            let rates = Rate::of(target, count);
            let doubts = scope_changes(target, &claims).into_iter().chain(rate_trouble(target, &rates));
            found.said.extend(doubts.map(|message| (Severity::Warning, message)));
        }
    }
}

/// The kind, and whether the target can work with it.
async fn find_kind(
    client: &kube::Client,
    written: &WrittenKinds,
    (target, text): (&Target, &str),
    found: &mut TargetFindings,
) -> Option<(ResolvedKind, bool)> {
    match examine_kind(client, target).await {
        Ok(examined) => Some(found.take(text, examined)),
        Err(KindError::Unavailable(error)) => {
            found.unasked(&target.objects.kind, error);
            None
        }
        Err(error) => {
            // The definition among the files is applied with the target.
            match written.examine(target).filter(|_| matches!(error, KindError::Missing { .. })) {
                Some(examined) => found.by_definition(&target.objects.kind, (text, examined)),
                None => found.error(error.to_string()),
            }
            None
        }
    }
}

/// The kind of what `read.kubernetes` reads, which a manifest makes too.
async fn find_read_kind(client: &kube::Client, target: &Target, found: &mut TargetFindings) -> Option<ResolvedKind> {
    let Source::Kubernetes(read) = &target.read.source else { return None };
    if matches!(target.correct.destination, Some(Destination::Kubernetes(_))) {
        match find_lossy_version(client, &read.kind.api_version, &read.kind.name).await {
            Ok(lossy) => lossy.into_iter().for_each(|lossy| found.error(format!("correct.kubernetes: {lossy}"))),
            Err(error) => found.unasked(&format!("the stored version of {}", read.kind.name), error),
        }
    }
    match locate_served_kind(client, read.kind.group(), &read.kind.name, std::iter::once(&*read.kind.api_version)).await
    {
        Ok(kind) => Some(kind),
        Err(KindError::Missing { .. }) => {
            let (kind, api_version) = (&read.kind.name, &read.kind.api_version);
            found.error(format!("the cluster has no kind {kind} in {api_version}, which read.kubernetes reads"));
            None
        }
        Err(error) => {
            found.unasked(&read.kind.name, error);
            None
        }
    }
}

async fn find_secrets(client: &kube::Client, namespace: &str, target: &Target, found: &mut TargetFindings) {
    for needed in target.needed_secrets() {
        match examine_secret(client, namespace, &needed).await {
            Ok(said) => found.secrets.extend(said.map(|said| (needed.name.clone(), said))),
            Err(error) => found.unasked(&format!("Secret {}", needed.name), error),
        }
    }
}

/// The problem or the doubt about a Secret that a target needs.
async fn examine_secret(
    client: &kube::Client,
    namespace: &str,
    needed: &NeededSecret,
) -> Result<Option<(Severity, String)>, CallError> {
    let secret = read_secret(client, namespace, &needed.name).await?;
    let labelled = secret.as_ref().map(|(label, secret)| (label.as_deref(), secret));
    let trouble = secret_trouble(needed, labelled).map(|trouble| (Severity::Error, trouble));
    let doubt = || Some((Severity::Warning, secret_doubt(needed, &secret.as_ref()?.1)?));
    Ok(trouble.or_else(doubt))
}

/// Finds the rights that the programs lack. A missing controller needs none.
async fn find_rights(
    client: &kube::Client,
    namespace: &str,
    (target, kinds): (&Target, &TargetKinds<'_>),
    found: &mut TargetFindings,
) {
    let programs = [
        (POLLER_MANAGER, poller_needs(target, kinds), true),
        (CONTROLLER_MANAGER, controller_needs(target, kinds), target.correct.mode.corrects()),
    ];
    for (name, rights, is_needed) in programs {
        let account = Account { namespace: namespace.to_owned(), name: name.to_owned() };
        let accounts: kube::Api<ServiceAccount> = kube::Api::namespaced(client.clone(), namespace);
        match client::within(CALL_DEADLINE, accounts.get_opt(name)).await {
            Ok(None) if is_needed => found
                .unasked(&format!("what {name} may do"), format!("namespace {namespace} has no ServiceAccount {name}")),
            Ok(None) => {}
            // Its rights are known even if the account itself cannot be read.
            _ => find_rights_of(client, &account, rights, found).await,
        }
    }
}

async fn find_rights_of(client: &kube::Client, account: &Account, rights: Vec<Right>, found: &mut TargetFindings) {
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
