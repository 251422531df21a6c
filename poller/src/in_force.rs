//! The list of targets that this poller vouches for, as it goes onto its Lease.
//!
//! The controller acts only on verdicts of targets that are listed with the very text it holds itself. This file
//! must not know when a target may be listed.

use std::collections::{BTreeMap, BTreeSet};

use drift_model::identity::Uid;
use drift_model::names::IN_FORCE_ANNOTATION;
use drift_model::voucher::Voucher;
use tokio::sync::watch;

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
    pub fn says(&self, target: &str, word: Option<(&str, &BTreeSet<Uid>)>) -> bool {
        let list = self.list.borrow();
        list.get(target).map(|voucher| (voucher.hash.as_str(), &voucher.except)) == word
    }

    /// Follows the list.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<InForce> {
        self.list.subscribe()
    }
}

/// The Lease's annotations for a list.
#[must_use]
pub fn annotations(list: &InForce) -> BTreeMap<String, String> {
    let words: BTreeMap<&str, String> =
        list.iter().map(|(target, voucher)| (target.as_str(), voucher.to_string())).collect();
    BTreeMap::from([(IN_FORCE_ANNOTATION.to_owned(), serde_json::json!(words).to_string())])
}

#[cfg(test)]
mod tests {
    use super::*;

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
