//! The list of targets that this poller attests, as published on its Lease.
//!
//! The controller acts only on verdicts of listed targets whose version is the one that it has loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drift_api::attestation::Attestation;
use drift_api::names::{ATTESTED_TARGETS_ANNOTATION, ATTESTED_TEXTS_ANNOTATION};
use drift_kube::telemetry::health::{Health, Remark};
use drift_language::Target;
use tokio::sync::watch;

/// Maximum size of both annotations together in bytes. All annotations of an object may have 256 KiB together, and the recorded
/// selections of targets take up to 192 KiB. A Lease that cannot be written is lost.
const MOST_BYTES: usize = 48 * 1024;

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

/// The list on which the targets of one program add and remove themselves.
#[derive(Clone, Debug)]
pub struct AttestationList {
    list: watch::Sender<Attestations>,
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
        Self { list: watch::Sender::new(Attestations::new()), left_out: Arc::default() }
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
        self.list.send_if_modified(|list| match listed {
            Some(listed) if list.get(target) == Some(&listed) => false,
            Some(listed) => {
                list.insert(target.to_owned(), listed);
                true
            }
            None => list.remove(target).is_some(),
        });
    }

    /// Returns a receiver that follows the list.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Attestations> {
        self.list.subscribe()
    }

    /// Returns true if the Lease lists the target: it is on the list and fits.
    #[must_use]
    pub fn is_written(&self, target: &str) -> bool {
        let is_left_out = self.left_out().as_ref().is_some_and(|left_out| left_out.targets.contains(target));
        !is_left_out && self.list.borrow().contains_key(target)
    }

    /// Returns the Lease's annotations for a list. Targets that do not fit are named in the log and in `/readyz`.
    #[must_use]
    pub fn to_annotations(&self, list: &Attestations, health: &Health) -> BTreeMap<String, String> {
        let (words, targets) = fitting(list);
        let mut known = self.left_out();
        if known.as_ref().map_or(&BTreeSet::new(), |known| &known.targets) != &targets {
            *known = (!targets.is_empty()).then(|| {
                let sentence = format!(
                    "not attested, and nothing of them is corrected: {}; the names of all {} targets with what is excepted from \
                     them take more than {MOST_BYTES} bytes of the Lease; mend what keeps the verdicts from being renewed \
                     (/readyz and Events WriteRefused name it), or load fewer targets",
                    targets.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
                    list.len(),
                );
                tracing::error!("{sentence}");
                LeftOut { targets, _remark: health.remark("targets without room on the Lease", sentence) }
            });
        }
        let texts = words.keys().filter_map(|target| Some((*target, list.get(*target)?.document_hash.as_str())));
        annotations_of(&words, &texts.collect())
    }

    fn left_out(&self) -> MutexGuard<'_, Option<LeftOut>> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the Lease's annotations for an empty list.
#[must_use]
pub fn no_annotations() -> BTreeMap<String, String> {
    annotations_of(&BTreeMap::new(), &BTreeMap::new())
}

fn annotations_of(words: &BTreeMap<&str, String>, texts: &BTreeMap<&str, &str>) -> BTreeMap<String, String> {
    BTreeMap::from([
        (ATTESTED_TARGETS_ANNOTATION.to_owned(), serde_json::json!(words).to_string()),
        (ATTESTED_TEXTS_ANNOTATION.to_owned(), serde_json::json!(texts).to_string()),
    ])
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
        let annotations = attestations.to_annotations(&list, &health);
        let (text, texts) = (&annotations[ATTESTED_TARGETS_ANNOTATION], &annotations[ATTESTED_TEXTS_ANNOTATION]);
        let length = text.len() + texts.len();
        assert!(length <= MOST_BYTES + 4 && length > MOST_BYTES - 2048, "{length}");
        let listed: BTreeMap<String, String> = serde_json::from_str(text).unwrap();
        assert!((0..100).filter(|number| number % 20 < 10).all(|number| listed.contains_key(&format!("t{number:02}"))));
        assert!(list.keys().all(|target| attestations.is_written(target) == listed.contains_key(target)));
        let remarks = health.remarks();
        assert!(remarks[0].trouble.as_ref().unwrap().contains("corrected: t"), "{remarks:?}");
        let _ = attestations.to_annotations(&Attestations::new(), &health);
        assert!(health.remarks().is_empty() && list.keys().all(|target| attestations.is_written(target)));
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
        list.put("a", None);
        assert_eq!(list.to_annotations(&changes.borrow_and_update(), &health)[ATTESTED_TARGETS_ANNOTATION], "{}");
    }
}
