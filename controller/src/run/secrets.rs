//! Secrets that the controller sends: its own, and those in the namespaces of objects.
//!
//! The engine decides on their use.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use drift_api::condition::SecretMarks;
use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_kube::watch::ReadableSecrets;
use drift_language::{DeclaredSecret, Target};

use crate::engine::rendering::secrets::{
    AvailableSecrets, ObjectSecrets, OwnVersions, SecretChange, declared_marks, own_versions, watched_marks,
};

/// Sources of secrets.
#[derive(Clone)]
pub struct Secrets {
    own: Arc<ArcSwap<LabelledSecrets>>,
    beside: ReadableSecrets,
}

/// Versions of a target's Secrets at one moment, for comparison with the next check.
#[derive(Default)]
pub struct SecretVersions {
    own: OwnVersions,
    beside: BTreeMap<String, Arc<LabelledSecrets>>,
}

impl Secrets {
    /// Creates the sources from our own namespace and from the namespaces of objects.
    #[must_use]
    pub const fn new(own: Arc<ArcSwap<LabelledSecrets>>, beside: ReadableSecrets) -> Self {
        Self { own, beside }
    }

    /// Returns the secrets that the corrections of an object send; `None` until the Secrets are listed.
    #[must_use]
    pub fn of(&self, target: &Target, object: &LeanObject) -> Option<ObjectSecrets> {
        if target.secrets.is_empty() {
            // The credentials of requests are loaded separately.
            let (own, none) = (self.own.load(), LabelledSecrets::default());
            return Some(ObjectSecrets::of(target, object, AvailableSecrets { own: &own, beside: &none }));
        }
        self.known(target, object, |known| ObjectSecrets::of(target, object, known))
    }

    /// Returns the versions of the object's write-only secrets; `None` until the Secrets are listed, or if
    /// there are none.
    #[must_use]
    pub fn watched(&self, target: &Target, object: &LeanObject) -> Option<SecretMarks> {
        if target.compare.write_only.is_empty() {
            return None;
        }
        self.known(target, object, |known| watched_marks(target, object, known)).flatten()
    }

    /// Returns the versions of all secrets of the object; `None` until the Secrets are listed.
    #[must_use]
    pub fn declared(&self, target: &Target, object: &LeanObject) -> Option<SecretMarks> {
        self.known(target, object, |known| declared_marks(target, object, known))
    }

    /// Returns the objects that are affected by changes of the target's Secrets since the last check.
    pub fn changed(&self, target: &Target, last: &mut SecretVersions) -> SecretChange {
        let beside = if looks_beside(target) { self.beside.all() } else { BTreeMap::new() };
        let now = SecretVersions { own: own_versions(target, &self.own.load()), beside };
        let is_same = |(namespace, secrets): &(&String, &Arc<LabelledSecrets>)| {
            last.beside.get(*namespace).is_some_and(|before| Arc::ptr_eq(before, secrets))
        };
        let moved = now.beside.iter().filter(|entry| !is_same(entry)).map(|(namespace, _)| namespace.clone());
        let change = if now.own == last.own { SecretChange::Beside(moved.collect()) } else { SecretChange::All };
        *last = now;
        change
    }

    fn known<T>(
        &self,
        target: &Target,
        object: &LeanObject,
        found: impl FnOnce(AvailableSecrets<'_>) -> T,
    ) -> Option<T> {
        let beside = match object.id.namespace.as_deref().filter(|_| looks_beside(target)) {
            Some(namespace) => {
                self.beside.of(namespace, target.secrets.iter().filter_map(DeclaredSecret::key_of_object))
            }
            None => Arc::new(LabelledSecrets::from_iter([])),
        };
        let own = self.own.load();
        let is_known = own.are_listed() && beside.are_listed();
        is_known.then(|| found(AvailableSecrets { own: &own, beside: &beside }))
    }
}

/// Returns true if its corrections send Secrets from the namespaces of its objects.
fn looks_beside(target: &Target) -> bool {
    target.secrets.iter().any(DeclaredSecret::is_of_object)
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secrets")
    }
}
