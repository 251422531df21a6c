//! The list of targets that this poller attests, and the verdicts that it cannot write, as published on its Lease.
//!
//! The controller acts only on verdicts of listed targets whose version is the one that it has loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drift_api::attestation::Attestation;
use drift_api::names::{ATTESTED_TARGETS_ANNOTATION, ATTESTED_TEXTS_ANNOTATION, UNWRITTEN_ANNOTATION};
use drift_api::unwritten::{Unwritten, UnwrittenTargets, to_annotation};
use drift_kube::telemetry::health::{Health, Remark};
use drift_language::Target;
use tokio::sync::watch;

/// Maximum size of both annotations together in bytes. All annotations of an object may have 256 KiB together, and the recorded
/// selections of targets take up to 192 KiB. A Lease that cannot be written is lost.
const MOST_BYTES: usize = 48 * 1024;

/// Maximum size of the unwritten verdicts in bytes: half of what the selections and the attestations leave of 256 KiB. An
/// entry with all its uids takes less than 1 KiB.
const MOST_UNWRITTEN_BYTES: usize = 8 * 1024;

/// A target on the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTarget {
    /// Its attestation.
    pub attestation: Attestation,
    /// The hash of its whole document.
    pub document_hash: String,
}

/// Attestations by target name.
pub type Attestations = BTreeMap<String, ListedTarget>;

/// The poller's statements about verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statements {
    /// The attested targets.
    pub attested: Attestations,
    /// The verdicts that cannot be written.
    pub unwritten: UnwrittenTargets,
}

/// The list on which the targets of one program add and remove themselves.
#[derive(Clone, Debug)]
pub struct AttestationList {
    list: watch::Sender<Statements>,
    left_out: Arc<Mutex<Option<LeftOut>>>,
}

/// Targets that do not fit on the Lease.
#[derive(Debug)]
struct LeftOut {
    targets: BTreeSet<String>,
    /// Line in `/readyz` about them.
    _remark: Remark,
}

impl Default for AttestationList {
    fn default() -> Self {
        Self { list: watch::Sender::new(Statements::default()), left_out: Arc::default() }
    }
}

impl AttestationList {
    /// Lists a target with that attestation, or removes it. The current entry needs no check: the task of the target's
    /// previous version removed it before the next task began.
    pub fn set(&self, target: &Target, attestation: Option<Attestation>) {
        let Target { name, document_hash, .. } = target;
        self.put(
            name,
            attestation.map(|attestation| ListedTarget { attestation, document_hash: document_hash.clone() }),
        );
    }

    fn put(&self, target: &str, listed: Option<ListedTarget>) {
        self.list.send_if_modified(|list| put(&mut list.attested, target, listed));
    }

    /// Sets the unwritten verdicts of a target; `None` if all are written.
    pub fn set_unwritten(&self, target: &str, unwritten: Option<Unwritten>) {
        self.list.send_if_modified(|list| put(&mut list.unwritten, target, unwritten));
    }

    /// Returns a receiver that follows the list.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Statements> {
        self.list.subscribe()
    }

    /// Returns true if the Lease lists the target: it is on the list and fits.
    #[must_use]
    pub fn is_written(&self, target: &str) -> bool {
        let is_left_out = self.left_out().as_ref().is_some_and(|left_out| left_out.targets.contains(target));
        !is_left_out && self.list.borrow().attested.contains_key(target)
    }

    /// Returns the Lease's annotations for a list. Targets that do not fit are named in the log and in `/readyz`.
    #[must_use]
    pub fn to_annotations(&self, list: &Statements, health: &Health) -> BTreeMap<String, String> {
        let Statements { attested, unwritten } = list;
        let (words, targets) = fitting(attested);
        let mut known = self.left_out();
        if known.as_ref().map_or(&BTreeSet::new(), |known| &known.targets) != &targets {
            *known = (!targets.is_empty()).then(|| {
                let sentence = format!(
                    "not attested, and nothing of them is corrected: {}; the names of all {} targets with what is excepted from \
                     them take more than {MOST_BYTES} bytes of the Lease; mend what keeps the verdicts from being renewed \
                     (/readyz and Events WriteRefused name it), or load fewer targets",
                    targets.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
                    attested.len(),
                );
                tracing::error!(cause = sentence, "targets without room on the Lease");
                LeftOut { targets, _remark: health.remark("targets without room on the Lease", sentence) }
            });
        }
        let texts = words.keys().filter_map(|target| Some((*target, attested.get(*target)?.document_hash.as_str())));
        let texts = texts.collect();
        annotations_of(&words, &texts, unwritten)
    }

    fn left_out(&self) -> MutexGuard<'_, Option<LeftOut>> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the Lease's annotations for an empty list.
#[must_use]
pub fn no_annotations() -> BTreeMap<String, String> {
    annotations_of(&BTreeMap::new(), &BTreeMap::new(), &UnwrittenTargets::new())
}

fn annotations_of(
    words: &BTreeMap<&str, String>,
    texts: &BTreeMap<&str, &str>,
    unwritten: &UnwrittenTargets,
) -> BTreeMap<String, String> {
    BTreeMap::from([
        (ATTESTED_TARGETS_ANNOTATION.to_owned(), serde_json::json!(words).to_string()),
        (ATTESTED_TEXTS_ANNOTATION.to_owned(), serde_json::json!(texts).to_string()),
        (UNWRITTEN_ANNOTATION.to_owned(), fitting_unwritten(unwritten)),
    ])
}

/// Changes the entry of a target. Returns true if that changed anything.
fn put<T: PartialEq>(list: &mut BTreeMap<String, T>, target: &str, entry: Option<T>) -> bool {
    match entry {
        Some(entry) if list.get(target) == Some(&entry) => false,
        Some(entry) => {
            list.insert(target.to_owned(), entry);
            true
        }
        None => list.remove(target).is_some(),
    }
}

/// Returns the annotation of the unwritten verdicts. If it is too long, all uids are left out, and then the last targets:
/// readers then take the objects as not attested.
fn fitting_unwritten(unwritten: &UnwrittenTargets) -> String {
    let whole = to_annotation(unwritten);
    if whole.len() <= MOST_UNWRITTEN_BYTES {
        return whole;
    }
    let without = |(target, one): (&String, &Unwritten)| (target.clone(), Unwritten { uids: BTreeSet::new(), ..*one });
    let mut counts: UnwrittenTargets = unwritten.iter().map(without).collect();
    while to_annotation(&counts).len() > MOST_UNWRITTEN_BYTES && counts.pop_last().is_some() {}
    to_annotation(&counts)
}

/// Returns the attestations that fit on the Lease, and the omitted targets. The longest attestations are omitted first,
/// usually those with the most exceptions. With very many targets, even attestations without exceptions may not fit.
fn fitting(list: &Attestations) -> (BTreeMap<&str, String>, BTreeSet<String>) {
    let mut words: BTreeMap<&str, String> =
        list.iter().map(|(target, listed)| (target.as_str(), listed.attestation.to_string())).collect();
    // The entry with the exceptions, and the one with the hash of the text. Quotes, colon and comma for each of them.
    let length = |target: &str, word: &str| {
        let text = list.get(target).map_or(0, |listed| listed.document_hash.len());
        2 * (target.len() + 6) + word.len() + text
    };
    let mut left: usize = words.iter().map(|(target, word)| length(target, word)).sum();
    let mut left_out = BTreeSet::new();
    while left > MOST_BYTES {
        let longest = words.iter().max_by_key(|(target, word)| (length(target, word), **target));
        let Some((target, size)) = longest.map(|(target, word)| (*target, length(target, word))) else { break };
        words.remove(target);
        left_out.insert(target.to_owned());
        left -= size;
    }
    (words, left_out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use drift_api::attestation::Exceptions;

    use super::*;

    #[test]
    fn the_longest_words_go_where_all_are_too_long() {
        let word = |namespaces: usize| {
            let namespaces = (0..namespaces).map(|number| format!("{number:063}")).collect();
            let attestation =
                Attestation { hash: "1".repeat(16), except: Exceptions { namespaces, ..Exceptions::default() } };
            ListedTarget { attestation, document_hash: "2".repeat(16) }
        };
        let list: Attestations = (0..100).map(|number| (format!("t{number:02}"), word(number % 20))).collect();
        let (attestations, health) = (AttestationList::default(), Health::default());
        list.iter().for_each(|(target, listed)| attestations.put(target, Some(listed.clone())));
        let statements = Statements { attested: list.clone(), ..Statements::default() };
        let annotations = attestations.to_annotations(&statements, &health);
        let (text, texts) = (&annotations[ATTESTED_TARGETS_ANNOTATION], &annotations[ATTESTED_TEXTS_ANNOTATION]);
        let length = text.len() + texts.len();
        assert!(length <= MOST_BYTES + 4 && length > MOST_BYTES - 2048, "{length}");
        let listed: BTreeMap<String, String> = serde_json::from_str(text).unwrap();
        assert!((0..100).filter(|number| number % 20 < 10).all(|number| listed.contains_key(&format!("t{number:02}"))));
        assert!(list.keys().all(|target| attestations.is_written(target) == listed.contains_key(target)));
        let remarks = health.remarks();
        assert!(remarks[0].trouble.as_ref().unwrap().contains("corrected: t"), "{remarks:?}");
        let _ = attestations.to_annotations(&Statements::default(), &health);
        assert!(health.remarks().is_empty() && list.keys().all(|target| attestations.is_written(target)));
    }

    #[test]
    fn unwritten_verdicts_fit_on_the_lease() {
        let one = |count: usize| {
            let uids = (0..20).map(|number| format!("{number:036}").as_str().into()).collect();
            Unwritten { word: drift_api::unwritten::UnwrittenWord::RightsMissing, count, uids }
        };
        let text = |targets: usize| {
            let unwritten = (0..targets).map(|number| (format!("{number:04}"), one(20))).collect();
            fitting_unwritten(&unwritten)
        };
        let parsed = |targets: usize| drift_api::unwritten::parse_annotation(&text(targets));
        assert!(parsed(8).len() == 8 && parsed(8).values().all(|one| one.uids.len() == 20));
        assert!(parsed(50).len() == 50 && parsed(50).values().all(|one| one.uids.is_empty() && one.count == 20));
        assert!(text(1000).len() <= MOST_UNWRITTEN_BYTES && parsed(1000).len() > 100);
    }

    #[test]
    fn only_a_change_wakes_the_lease() {
        let (list, health) = (AttestationList::default(), Health::default());
        let mut changes = list.subscribe();
        let word = |hash: &str, except: &[&str]| {
            let except = except.iter().copied().map(Into::into).collect();
            let attestation = Attestation { hash: hash.to_owned(), except };
            Some(ListedTarget { attestation, document_hash: "w".to_owned() })
        };
        list.put("a", word("1", &[]));
        assert!(changes.has_changed().is_ok_and(|changed| changed));
        assert_eq!(
            list.to_annotations(&changes.borrow_and_update(), &health)[ATTESTED_TARGETS_ANNOTATION],
            r#"{"a":"1"}"#
        );
        list.put("a", word("1", &[]));
        list.put("b", None);
        assert!(changes.has_changed().is_ok_and(|changed| !changed));
        list.put("a", word("1", &["u1"]));
        assert_eq!(
            list.to_annotations(&changes.borrow_and_update(), &health)[ATTESTED_TARGETS_ANNOTATION],
            r#"{"a":"1 except u1"}"#
        );
        assert_eq!(
            list.to_annotations(&changes.borrow_and_update(), &health)[ATTESTED_TEXTS_ANNOTATION],
            r#"{"a":"w"}"#
        );
        let unwritten = |count| {
            let uids = ["u1".into()].into_iter().collect();
            Some(Unwritten { word: drift_api::unwritten::UnwrittenWord::WriteRefused, count, uids })
        };
        list.set_unwritten("a", unwritten(1));
        assert!(changes.has_changed().is_ok_and(|changed| changed));
        assert_eq!(
            list.to_annotations(&changes.borrow_and_update(), &health)[UNWRITTEN_ANNOTATION],
            r#"{"a":{"count":1,"uids":["u1"],"word":"WriteRefused"}}"#
        );
        list.set_unwritten("a", unwritten(1));
        assert!(changes.has_changed().is_ok_and(|changed| !changed));
        list.set_unwritten("a", None);
        list.put("a", None);
        assert_eq!(list.to_annotations(&changes.borrow_and_update(), &health)[ATTESTED_TARGETS_ANNOTATION], "{}");
    }
}
