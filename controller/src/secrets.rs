//! Where the controller finds the secrets that it sends: its own, and those beside objects.
//!
//! What they are worth is the core's to say. This file must not know what is sent, and nothing here shows a value.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use drift_cluster::watch::ReadableSecrets;
use drift_model::condition::SecretMarks;
use drift_model::labelled_secrets::LabelledSecrets;
use drift_model::object::LeanObject;
use drift_target::{DeclaredSecret, Target};

use crate::core::secrets::{Known, ObjectSecrets, watched_marks};

/// Where secrets are found.
#[derive(Clone)]
pub struct Secrets {
    own: Arc<ArcSwap<LabelledSecrets>>,
    beside: ReadableSecrets,
}

/// All Secrets as they were at one moment: another look tells whether one changed since.
#[derive(Default)]
pub struct Look(Vec<Arc<LabelledSecrets>>);

impl Secrets {
    /// Those of our own namespace, and those beside objects.
    #[must_use]
    pub const fn new(own: Arc<ArcSwap<LabelledSecrets>>, beside: ReadableSecrets) -> Self {
        Self { own, beside }
    }

    /// What the corrections of an object send; `None` while it is not known yet what there is.
    #[must_use]
    pub fn of(&self, target: &Target, object: &LeanObject) -> Option<ObjectSecrets> {
        if target.secrets.is_empty() {
            // What the requests come with is asked for by itself.
            let (own, none) = (self.own.load(), LabelledSecrets::default());
            return Some(ObjectSecrets::of(target, object, Known { own: &own, beside: &none }));
        }
        self.known(target, object, |known| ObjectSecrets::of(target, object, known))
    }

    /// In which versions those are that cannot be read back; `None` while it is not known yet what there is, or where there is
    /// nothing of the kind.
    #[must_use]
    pub fn watched(&self, target: &Target, object: &LeanObject) -> Option<SecretMarks> {
        if target.compare.write_only.is_empty() {
            return None;
        }
        self.known(target, object, |known| watched_marks(target, object, known)).flatten()
    }

    /// Whether a Secret changed since the last look.
    pub fn have_changed(&self, last: &mut Look) -> bool {
        let mut now = self.beside.all();
        now.push(self.own.load_full());
        let is_same =
            now.len() == last.0.len() && now.iter().zip(&last.0).all(|(now, before)| Arc::ptr_eq(now, before));
        last.0 = now;
        !is_same
    }

    fn known<T>(&self, target: &Target, object: &LeanObject, found: impl FnOnce(Known<'_>) -> T) -> Option<T> {
        let looks_beside = target.secrets.iter().any(DeclaredSecret::is_of_object);
        let beside = match object.id.namespace.as_deref().filter(|_| looks_beside) {
            Some(namespace) => self.beside.of(namespace),
            None => Arc::new(LabelledSecrets::from_iter([])),
        };
        let own = self.own.load();
        let is_known = own.are_listed() && beside.are_listed();
        is_known.then(|| found(Known { own: &own, beside: &beside }))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secrets")
    }
}
