//! The secrets that the requests of each action send, for the hash that a person approves.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::condition::SecretMarks;
use drift_language::Target;

use crate::engine::corrections::Action;
use crate::engine::rendering::http::names_sent;

/// Names of the secrets that the requests of each action may send, look-ups included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentSecrets(BTreeMap<Action, BTreeSet<String>>);

impl SentSecrets {
    /// Reads the names from a target.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let of_action = |action: Action| (action, names_sent(target, |name| target.correct.sends(action, name)));
        Self(Action::ALL.map(of_action).into_iter().filter(|(_, sent)| !sent.is_empty()).collect())
    }

    /// Returns the secrets of an action, each with its current version; `None` if the Secret is missing.
    #[must_use]
    pub fn versions(&self, action: Action, current: &SecretMarks) -> SecretMarks {
        let sent = self.0.get(&action).into_iter().flatten();
        sent.map(|name| (name.clone(), current.get(name).copied().flatten())).collect()
    }

    #[cfg(test)]
    pub(in crate::engine) fn only(action: Action, name: &str) -> Self {
        Self(BTreeMap::from([(action, BTreeSet::from([name.to_owned()]))]))
    }

    /// Returns true if the action sends none.
    #[must_use]
    pub fn is_empty(&self, action: Action) -> bool {
        !self.0.contains_key(&action)
    }
}
