//! The list of targets that this poller vouches for, as it goes onto its Lease.
//!
//! The controller acts only on verdicts of targets that are listed with the very text it holds itself. This file
//! must not know when a target may be listed.

use std::collections::BTreeMap;

use drift_shared::names::IN_FORCE_ANNOTATION;
use tokio::sync::watch;

/// Target name to the hash of its text.
pub type InForce = BTreeMap<String, String>;

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
    /// Lists a target with that hash, or takes it off the list.
    pub fn set(&self, target: &str, hash: Option<&str>) {
        self.list.send_if_modified(|list| match hash {
            Some(hash) => list.insert(target.to_owned(), hash.to_owned()).as_deref() != Some(hash),
            None => list.remove(target).is_some(),
        });
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
    BTreeMap::from([(IN_FORCE_ANNOTATION.to_owned(), serde_json::json!(list).to_string())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_wakes_the_lease() {
        let list = InForceList::default();
        let mut changes = list.subscribe();
        list.set("a", Some("1"));
        assert!(changes.has_changed().is_ok_and(|changed| changed));
        assert_eq!(annotations(&changes.borrow_and_update())[IN_FORCE_ANNOTATION], r#"{"a":"1"}"#);
        list.set("a", Some("1"));
        list.set("b", None);
        assert!(changes.has_changed().is_ok_and(|changed| !changed));
        list.set("a", None);
        assert_eq!(annotations(&changes.borrow_and_update())[IN_FORCE_ANNOTATION], "{}");
    }
}
