//! `check --from-cluster --wait`: waits until the poller attests every target, and has read an object of each.
//!
//! The attestation proves that the poller has loaded the text and renewed the verdicts that it concerns. Unknown counts
//! as renewed, so the verdicts themselves prove that a read works.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drift_api::object::SeenObject;
use drift_api::unwritten::Doubt;
use drift_kube::client::KubeconfigSettings;
use drift_kube::config::documents_in;
use drift_kube::kinds::WrittenKinds;
use drift_kube::process::clock;
use drift_kube::reports::ReportsUnread;
use drift_language::Target;
use tokio::time::sleep;

use super::first_polls::{Conclusion, FirstPolls};
use super::proofs::{Proofs, SecretsLook};
use super::troubles::missing_targets;
use super::{Installation, check_against, documents_of_maps, no_config_map, of_lease};
use crate::check::document::{Document, Severity};
use crate::check::report::{Report, Waited, check};
use crate::cluster::kind_of;
use crate::ending::CommandError;
use crate::targets::known::LeaseNotes;
use crate::targets::reports::each_with_conditions;
use crate::targets::session::Session;
use drift_kube::client::FORBIDDEN;

/// Pause between two reads of the ConfigMaps and the Lease. The poller renews the Lease every 3 s.
const READ_EVERY: Duration = Duration::from_secs(1);

/// Pause between two looks at the objects of the targets without a proof. A list of many objects is not free, and a
/// first poll takes seconds.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// The places with the cause, if the check itself does not show it.
const HINT: &str = "if nothing else is reported here, see the Events of its ConfigMap, and /readyz of drift-poller";

/// Waits until each live target of a namespace is active and its first polls work, or one cannot become so. After the
/// timeout, it asks the cluster for the cause.
///
/// # Errors
/// When the targets cannot be read, or there are none.
pub(in crate::check) async fn wait_until_active(
    cluster: &KubeconfigSettings,
    Installation { namespace, poller_lease, .. }: Installation<'_>,
    timeout: Duration,
) -> Result<Report, CommandError> {
    let (session, end) = (Session::at(cluster, namespace, poller_lease).await?, clock::now() + timeout);
    let mut proofs = Proofs::default();
    loop {
        // A call that fails may succeed later: the API server may restart.
        let maps = session.target_maps().await;
        let is_last = clock::now() >= end;
        let mut pause = READ_EVERY;
        if let Ok(maps) = &maps {
            let texts = documents_in(maps);
            let notes = session.notes().await;
            let missing = missing_targets(namespace, &texts, &notes);
            let documents = documents_of_maps(texts);
            let mut report = check(&documents);
            let inactive = inactive(&report, (&notes, poller_lease));
            if report.is_bad() {
                report.extend(missing);
                return Ok(report);
            }
            if inactive.is_empty() && !(documents.is_empty() && missing.is_empty()) {
                let place = (namespace, &notes);
                let is_proven =
                    look_at_first_polls(&session.client, place, (&mut report, &documents), &mut proofs).await;
                pause = LOOK_EVERY;
                if is_proven || is_last {
                    report.extend(missing);
                    return Ok(report);
                }
            } else if is_last && !documents.is_empty() {
                report = check_against(&session.client, (namespace, &WrittenKinds::default()), &documents).await;
                blame(&mut report, &documents, (inactive, notes.unread.is_some()));
                report.extend(missing);
                report.say_first(notes.vacancy.map(|said| of_lease(poller_lease, &said)));
                return Ok(report);
            }
        }
        if is_last {
            return Err(maps.err().unwrap_or_else(|| no_config_map(namespace)));
        }
        sleep(pause).await;
    }
}

/// Looks at the Secrets and the verdicts of each target without a proof, and notes them. Returns false if a later look
/// may show more.
async fn look_at_first_polls(
    client: &kube::Client,
    (namespace, notes): (&str, &LeaseNotes),
    (report, documents): (&mut Report, &[Document]),
    proofs: &mut Proofs,
) -> bool {
    let targets: Vec<_> = report.targets.iter().map(|good| good.target.clone()).collect();
    let mut is_proven = true;
    for target in targets {
        let Some(document) = Document::find(documents, &target.document) else { continue };
        if let Some(proof) = proofs.find(&target) {
            proof.secrets.tell(report, document);
            report.note_first_polls(&target.name, (Some(proof.objects), proof.waited()));
            continue;
        }
        let secrets = SecretsLook::at(client, namespace, &target).await;
        secrets.tell(report, document);
        is_proven &= secrets.are_usable();
        let (mut objects, mut read, mut unread) = (None, 0, BTreeMap::new());
        match first_polls(client, &target, notes).await {
            Ok(polls) => {
                (objects, read, unread) = (Some(polls.objects), polls.read, polls.unread());
                match polls.conclude(&target) {
                    Conclusion::Good => proofs.keep(&target, &polls, &secrets),
                    Conclusion::AllAbsent(said) => report.say(document, Severity::Warning, said),
                    Conclusion::Unread(said) => {
                        is_proven = false;
                        report.say(document, Severity::Error, said);
                    }
                }
            }
            Err(Unlisted { why, is_for_good }) => {
                is_proven &= is_for_good;
                report.unasked(document, &format!("the verdicts of target {}", target.name), &why);
            }
        }
        let waited = Waited { read, unread, unread_secrets: secrets.unread };
        report.note_first_polls(&target.name, (objects, waited));
    }
    report.sort();
    is_proven
}

/// The reason for which the objects of a target could not be listed.
struct Unlisted {
    why: String,
    /// True if another try gives the same: a right is missing.
    is_for_good: bool,
}

async fn first_polls(client: &kube::Client, target: &Target, notes: &LeaseNotes) -> Result<FirstPolls, Unlisted> {
    let kind = kind_of(client, &target.objects).await;
    let kind = kind.map_err(|error| Unlisted { why: error.to_string(), is_for_good: false })?;
    let mut polls = FirstPolls::default();
    let (attestation, unwritten) = (notes.attested.get(&target.name), notes.unwritten.get(&target.name));
    let look = |seen: &SeenObject| {
        let doubt = Doubt::of(&seen.object.id, attestation, unwritten);
        polls.add(&seen.object, doubt);
    };
    match each_with_conditions(client, (&target.objects, &kind), look).await {
        Ok(reports) => match reports.unread().next() {
            None => Ok(polls),
            Some(unread) => {
                let is_for_good = matches!(unread, ReportsUnread::Forbidden(_));
                Err(Unlisted { why: unread.to_string(), is_for_good })
            }
        },
        Err(error) if error.code() == Some(FORBIDDEN) => {
            let plural = &kind.resource.plural;
            let why = format!(
                "you may not list {plural}; `kubectl drift rbac --verify-account NAME` prints the right for a ServiceAccount"
            );
            Err(Unlisted { why, is_for_good: true })
        }
        Err(error) => Err(Unlisted { why: error.to_string(), is_for_good: false }),
    }
}

/// Returns the good targets that are not active, each with the reason.
fn inactive(report: &Report, (notes, poller_lease): (&LeaseNotes, &str)) -> Vec<(Arc<Target>, String)> {
    let reason = |target: &Target| {
        if let Some(why) = &notes.unread {
            return Some(why.clone());
        }
        let attestation = notes.attested.get(&target.name);
        let is_of_text = notes.attested_texts.get(&target.name) == Some(&target.document_hash);
        match attestation.map(|attestation| is_of_text && attestation.hash == target.verdict_hash) {
            Some(true) => None,
            Some(false) => Some("drift-poller still uses an earlier text of it".to_owned()),
            None => Some(format!("drift-poller does not attest it on the Lease {poller_lease}")),
        }
    };
    let targets = report.targets.iter().map(|good| &good.target);
    targets.filter_map(|target| Some((target.clone(), reason(target)?))).collect()
}

fn blame(report: &mut Report, documents: &[Document], (inactive, is_unread): (Vec<(Arc<Target>, String)>, bool)) {
    report.is_partial |= is_unread;
    for (target, reason) in inactive {
        let Some(document) = Document::find(documents, &target.document) else { continue };
        let name = &target.name;
        let (severity, message) = match is_unread {
            true => (Severity::Warning, format!("it is unknown if target {name} is active: {reason}")),
            false => (Severity::Error, format!("target {name} is not active: {reason}; {HINT}")),
        };
        report.say(document, severity, message);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::attestation::Attestation;
    use drift_language::Texts;
    use std::collections::BTreeMap;

    const TARGETS: &str = include_str!("../../../../manifests/components/proxies/targets.yaml");

    fn report() -> Report {
        let manifest = drift_language::manifests_of(TARGETS).remove(0);
        let data = manifest["data"].as_object().unwrap().iter();
        let data = data.map(|(key, text)| (key.clone(), text.as_str().unwrap().to_owned())).collect();
        check(&documents_of_maps(Texts::from([("targets".to_owned(), data)])))
    }

    #[test]
    fn only_an_attested_text_is_active() {
        let report = report();
        let target = &report.targets[0].target;
        let attested = |hash: &str| LeaseNotes {
            attested_texts: [(target.name.clone(), target.document_hash.clone())].into(),
            attested: [(target.name.clone(), Attestation { hash: hash.to_owned(), ..Attestation::default() })].into(),
            ..LeaseNotes::default()
        };
        let unread = LeaseNotes { unread: Some("no right".to_owned()), ..attested(&target.verdict_hash) };
        for (notes, expected) in [
            (attested(&target.verdict_hash), None),
            (
                LeaseNotes { attested_texts: BTreeMap::new(), ..attested(&target.verdict_hash) },
                Some("drift-poller still uses an earlier text of it"),
            ),
            (attested("other"), Some("drift-poller still uses an earlier text of it")),
            (LeaseNotes::default(), Some("drift-poller does not attest it on the Lease l")),
            (unread, Some("no right")),
        ] {
            let reasons: Vec<_> = inactive(&report, (&notes, "l")).into_iter().map(|(_, reason)| reason).collect();
            assert_eq!(reasons.first().map(String::as_str), expected);
        }
    }
}
