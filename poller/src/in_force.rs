//! The list of targets that this poller vouches for, as it goes onto its Lease.
//!
//! The controller acts only on verdicts of targets that are listed with the very text it holds itself. This file
//! must not know when a target may be listed.

use std::collections::BTreeMap;

use drift_api::names::IN_FORCE_ANNOTATION;
use drift_api::voucher::{Exceptions, Voucher};
use tokio::sync::watch;

/// The most bytes of the annotation: all annotations of an object together may have 256 KiB, of which the notes of what
/// targets select take up to 192 KiB. A Lease that cannot be written is lost.
const MOST_BYTES: usize = 48 * 1024;

/// Target name to the word for it.
pub type InForce = BTreeMap<String, Voucher>;

/// Where the targets of one program put themselves on the list and take themselves off it.
#[derive(Clone, Debug)]
pub struct InForceList {
    list: watch::Sender<InForce>,
}

impl Default for InForceList {
    fn default() -> Self {
        Self { list: watch::Sender::new(InForce::new()) }
    }
}

impl InForceList {
    /// Lists a target with that word, or takes it off the list.
    pub fn set(&self, target: &str, voucher: Option<Voucher>) {
        self.list.send_if_modified(|list| match voucher {
            Some(voucher) if list.get(target) == Some(&voucher) => false,
            Some(voucher) => {
                list.insert(target.to_owned(), voucher);
                true
            }
            None => list.remove(target).is_some(),
        });
    }

    /// Whether a target is listed with just that word.
    #[must_use]
    pub fn says(&self, target: &str, word: Option<(&str, &Exceptions)>) -> bool {
        let list = self.list.borrow();
        list.get(target).map(|voucher| (voucher.hash.as_str(), &voucher.except)) == word
    }

    /// Follows the list.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<InForce> {
        self.list.subscribe()
    }
}

/// The Lease's annotations for a list. If it is too long, the targets with the longest words are not listed: those with
/// the most exceptions first, but without any exception it can be too long by the number of targets.
#[must_use]
pub fn annotations(list: &InForce) -> BTreeMap<String, String> {
    let mut words: BTreeMap<&str, String> =
        list.iter().map(|(target, voucher)| (target.as_str(), voucher.to_string())).collect();
    // Quotes, colon and comma around each.
    let length = |target: &str, word: &str| target.len() + word.len() + 6;
    let mut left: usize = words.iter().map(|(target, word)| length(target, word)).sum();
    let mut dropped = Vec::new();
    while left > MOST_BYTES {
        let longest = words.iter().max_by_key(|(target, word)| (length(target, word), **target));
        let Some((target, size)) = longest.map(|(target, word)| (*target, length(target, word))) else { break };
        words.remove(target);
        dropped.push(target);
        left -= size;
    }
    if !dropped.is_empty() {
        tracing::error!(
            targets = dropped.join(", "),
            "not vouched for, and nothing of them is corrected: the names of all {} targets with what is excepted from them \
             take more than {MOST_BYTES} bytes of the Lease; mend what keeps the verdicts from being renewed (/readyz and \
             Events WriteRefused name it), or load fewer targets",
            list.len(),
        );
    }
    BTreeMap::from([(IN_FORCE_ANNOTATION.to_owned(), serde_json::json!(words).to_string())])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_words_go_where_all_are_too_long() {
        let word = |namespaces: usize| {
            let namespaces = (0..namespaces).map(|number| format!("{number:063}")).collect();
            Voucher { hash: "1".repeat(16), except: Exceptions { namespaces, ..Exceptions::default() } }
        };
        let list: InForce = (0..100).map(|number| (format!("t{number:02}"), word(number % 20))).collect();
        let text = &annotations(&list)[IN_FORCE_ANNOTATION];
        assert!(text.len() <= MOST_BYTES + 2 && text.len() > MOST_BYTES - 2048, "{}", text.len());
        let listed: BTreeMap<String, String> = serde_json::from_str(text).unwrap();
        assert!((0..100).filter(|number| number % 20 < 10).all(|number| listed.contains_key(&format!("t{number:02}"))));
    }

    #[test]
    fn only_a_change_wakes_the_lease() {
        let list = InForceList::default();
        let mut changes = list.subscribe();
        let word = |hash: &str, except: &[&str]| {
            Some(Voucher { hash: hash.to_owned(), except: except.iter().copied().map(Into::into).collect() })
        };
        list.set("a", word("1", &[]));
        assert!(changes.has_changed().is_ok_and(|changed| changed));
        assert_eq!(annotations(&changes.borrow_and_update())[IN_FORCE_ANNOTATION], r#"{"a":"1"}"#);
        list.set("a", word("1", &[]));
        list.set("b", None);
        assert!(changes.has_changed().is_ok_and(|changed| !changed));
        list.set("a", word("1", &["u1"]));
        assert_eq!(annotations(&changes.borrow_and_update())[IN_FORCE_ANNOTATION], r#"{"a":"1 except u1"}"#);
        list.set("a", None);
        assert_eq!(annotations(&changes.borrow_and_update())[IN_FORCE_ANNOTATION], "{}");
    }
}
