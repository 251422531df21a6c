//! The list of targets that this poller attests, as it goes onto its Lease.
//!
//! The controller acts only on verdicts of targets that are listed with the very text it holds itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drift_api::attestation::Attestation;
use drift_api::names::ATTESTED_TARGETS_ANNOTATION;
use drift_kube::telemetry::health::{Health, Remark};
use tokio::sync::watch;

/// The most bytes of the annotation: all annotations of an object together may have 256 KiB, of which the notes of what
/// targets select take up to 192 KiB. A Lease that cannot be written is lost.
const MOST_BYTES: usize = 48 * 1024;

/// Target name to the word for it.
pub type Attestations = BTreeMap<String, Attestation>;

/// Where the targets of one program put themselves on the list and take themselves off it.
#[derive(Clone, Debug)]
pub struct AttestationList {
    list: watch::Sender<Attestations>,
    left_out: Arc<Mutex<Option<LeftOut>>>,
}

/// Targets for which the Lease has no room.
#[derive(Debug)]
struct LeftOut {
    targets: BTreeSet<String>,
    /// The line in `/readyz` that says so.
    _remark: Remark,
}

impl Default for AttestationList {
    fn default() -> Self {
        Self { list: watch::Sender::new(Attestations::new()), left_out: Arc::default() }
    }
}

impl AttestationList {
    /// Lists a target with that word, or takes it off the list. Nobody asks what the list says of a target: the task that works by its
    /// former text ended and took it off before the next task begins.
    pub fn set(&self, target: &str, attestation: Option<Attestation>) {
        self.list.send_if_modified(|list| match attestation {
            Some(attestation) if list.get(target) == Some(&attestation) => false,
            Some(attestation) => {
                list.insert(target.to_owned(), attestation);
                true
            }
            None => list.remove(target).is_some(),
        });
    }

    /// Follows the list.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Attestations> {
        self.list.subscribe()
    }

    /// Returns true if the Lease lists the target: it is on the list, and there is room for it.
    #[must_use]
    pub fn is_written(&self, target: &str) -> bool {
        let is_left_out = self.left_out().as_ref().is_some_and(|left_out| left_out.targets.contains(target));
        !is_left_out && self.list.borrow().contains_key(target)
    }

    /// The Lease's annotations for a list. The targets that it has no room for are named in the log and in `/readyz`.
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
        annotations_of(&words)
    }

    fn left_out(&self) -> MutexGuard<'_, Option<LeftOut>> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The Lease's annotations for an empty list.
#[must_use]
pub fn no_annotations() -> BTreeMap<String, String> {
    annotations_of(&BTreeMap::new())
}

fn annotations_of(words: &BTreeMap<&str, String>) -> BTreeMap<String, String> {
    BTreeMap::from([(ATTESTED_TARGETS_ANNOTATION.to_owned(), serde_json::json!(words).to_string())])
}

/// The words that the Lease has room for, and the targets that are left out. If all are too long, the targets with the longest
/// words are: those with the most exceptions first, but without any exception they can be too long by the number of targets.
fn fitting(list: &Attestations) -> (BTreeMap<&str, String>, BTreeSet<String>) {
    let mut words: BTreeMap<&str, String> =
        list.iter().map(|(target, attestation)| (target.as_str(), attestation.to_string())).collect();
    // Quotes, colon and comma around each.
    let length = |target: &str, word: &str| target.len() + word.len() + 6;
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
            Attestation { hash: "1".repeat(16), except: Exceptions { namespaces, ..Exceptions::default() } }
        };
        let list: Attestations = (0..100).map(|number| (format!("t{number:02}"), word(number % 20))).collect();
        let (attestations, health) = (AttestationList::default(), Health::default());
        list.iter().for_each(|(target, attestation)| attestations.set(target, Some(attestation.clone())));
        let text = &attestations.to_annotations(&list, &health)[ATTESTED_TARGETS_ANNOTATION];
        assert!(text.len() <= MOST_BYTES + 2 && text.len() > MOST_BYTES - 2048, "{}", text.len());
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
            Some(Attestation { hash: hash.to_owned(), except: except.iter().copied().map(Into::into).collect() })
        };
        list.set("a", word("1", &[]));
        assert!(changes.has_changed().is_ok_and(|changed| changed));
        assert_eq!(
            list.to_annotations(&changes.borrow_and_update(), &health)[ATTESTED_TARGETS_ANNOTATION],
            r#"{"a":"1"}"#
        );
        list.set("a", word("1", &[]));
        list.set("b", None);
        assert!(changes.has_changed().is_ok_and(|changed| !changed));
        list.set("a", word("1", &["u1"]));
        assert_eq!(
            list.to_annotations(&changes.borrow_and_update(), &health)[ATTESTED_TARGETS_ANNOTATION],
            r#"{"a":"1 except u1"}"#
        );
        list.set("a", None);
        assert_eq!(list.to_annotations(&changes.borrow_and_update(), &health)[ATTESTED_TARGETS_ANNOTATION], "{}");
    }
}
