//! The secrets that the corrections of one object send, at one moment.
//!
//! A secret of an object is in the object's own namespace only. Of the Secrets in our own namespace and in those of
//! objects, only the ones labelled for the controller are visible here. No value is ever printed.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::condition::{SecretMark, SecretMarks};
use drift_api::names::CREDENTIAL_CONTROLLER;
use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::{
    CredentialError, LabelledSecret, LabelledSecrets, SecretVersion, without_line_end,
};
use drift_language::{DeclaredSecret, SecretSource, SecretValues, Target};
use drift_systems::credentials_of_correct;
use secrecy::SecretString;

/// Sources of secrets.
#[derive(Clone, Copy, Debug)]
pub struct AvailableSecrets<'s> {
    /// Secrets in our own namespace.
    pub own: &'s LabelledSecrets,
    /// Secrets in the namespace of the object; empty for a cluster-scoped object.
    pub beside: &'s LabelledSecrets,
}

/// Secrets of one object.
#[derive(Clone, Debug, Default)]
pub struct ObjectSecrets {
    declared: BTreeMap<String, Result<CurrentSecret, CredentialError>>,
    /// Credentials of the requests, which templates cannot read.
    credentials: SecretValues,
}

/// One available secret.
#[derive(Clone, Debug)]
struct CurrentSecret {
    /// Display name of the Secret.
    called: String,
    secret: LabelledSecret,
    value: SecretString,
    mark: SecretMark,
}

impl ObjectSecrets {
    /// Reads the secrets that the target declares.
    #[must_use]
    pub fn of(target: &Target, object: &LeanObject, known: AvailableSecrets<'_>) -> Self {
        let current = |secret: &DeclaredSecret| {
            let FoundSecret { called, secret: labelled, key } = find(secret, object, known)?;
            let value = labelled.text(&called, key)?.clone();
            let mark = SecretMark::of(&secret.name, key, labelled.version());
            Ok(CurrentSecret { called, secret: labelled.clone(), value, mark })
        };
        let declared = target.secrets.iter().map(|secret| (secret.name.clone(), current(secret))).collect();
        Self { declared, credentials: credentials_of_correct(target, known.own) }
    }

    /// Returns all values that a shown response must not repeat: the declared secrets and the credentials
    /// of the requests.
    #[must_use]
    pub fn kept_secret(&self) -> SecretValues {
        self.values().and(&self.credentials)
    }

    /// Returns the secrets as templates see them. Missing secrets are absent.
    #[must_use]
    pub fn values(&self) -> SecretValues {
        let text = |current: &CurrentSecret| without_line_end(&current.value).to_owned();
        self.there().map(|(name, current)| (name.clone(), text(current))).collect()
    }

    /// Returns the current versions of all declared secrets.
    #[must_use]
    pub fn marks(&self) -> SecretMarks {
        let mark = |secret: &Result<CurrentSecret, _>| secret.as_ref().ok().map(|current| current.mark);
        self.declared.iter().map(|(name, secret)| (name.clone(), mark(secret))).collect()
    }

    /// Returns the reason why one of these secrets is missing.
    #[must_use]
    pub fn missing(&self, names: &BTreeSet<String>) -> Option<&CredentialError> {
        names.iter().find_map(|name| self.declared.get(name)?.as_ref().err())
    }

    /// Checks if these secrets may be sent to the host; `has_chosen_host` is true if objects choose the host.
    ///
    /// # Errors
    /// Returns the reason why a secret may not be sent.
    pub fn check_host(
        &self,
        names: &BTreeSet<String>,
        host: &str,
        has_chosen_host: bool,
    ) -> Result<(), CredentialError> {
        let sent = self.there().filter(|(name, _)| names.contains(*name));
        for (_, current) in sent {
            current.secret.check_host(&current.called, host, has_chosen_host)?;
        }
        Ok(())
    }

    /// Returns a fingerprint of the versions of these secrets; 0 if there is none.
    #[must_use]
    pub fn fingerprint(&self, names: &BTreeSet<String>) -> u64 {
        let sent = self.there().filter(|(name, _)| names.contains(*name));
        // The rotation prevents two equal marks from cancelling each other.
        sent.fold(0, |hash, (_, current)| hash.rotate_left(7) ^ u64::from(current.mark.number()))
    }

    fn there(&self) -> impl Iterator<Item = (&String, &CurrentSecret)> {
        self.declared.iter().filter_map(|(name, current)| Some((name, current.as_ref().ok()?)))
    }
}

/// Objects whose corrections a changed Secret affects.
#[derive(Debug, PartialEq, Eq)]
pub enum SecretChange {
    /// All objects, because a Secret of our own namespace changed.
    All,
    /// Objects in these namespaces, if any.
    Beside(BTreeSet<String>),
}

impl SecretChange {
    /// Returns true if the change affects no object.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::Beside(BTreeSet::new())
    }

    /// Returns true if the change affects this object.
    #[must_use]
    pub fn concerns(&self, object: &LeanObject) -> bool {
        match (self, object.id.namespace.as_deref()) {
            (Self::All, _) => true,
            (Self::Beside(namespaces), Some(namespace)) => namespaces.contains(namespace),
            (Self::Beside(_), None) => false,
        }
    }
}

/// Versions of the Secrets in our own namespace that a target's corrections use, by name; `None` until these
/// Secrets are listed.
pub type OwnVersions = Option<BTreeMap<String, Option<SecretVersion>>>;

/// Returns the versions of the Secrets in our own namespace that the target's corrections use.
#[must_use]
pub fn own_versions(target: &Target, own: &LabelledSecrets) -> OwnVersions {
    let needed = target.needed_secrets().into_iter().filter(|needed| needed.user == CREDENTIAL_CONTROLLER);
    let version = |name: &str| own.secret(name).ok().map(|secret| secret.version().clone());
    own.are_listed().then(|| needed.map(|needed| (needed.name.clone(), version(&needed.name))).collect())
}

/// Returns the current versions of all secrets of an object.
#[must_use]
pub fn declared_marks(target: &Target, object: &LeanObject, known: AvailableSecrets<'_>) -> SecretMarks {
    marks_of(target.secrets.iter(), object, known)
}

/// Returns the current versions of these secrets. One that cannot be used is left out.
fn marks_of<'t>(
    secrets: impl Iterator<Item = &'t DeclaredSecret>,
    object: &LeanObject,
    known: AvailableSecrets<'_>,
) -> SecretMarks {
    let mark = |secret: &DeclaredSecret| {
        let FoundSecret { called, secret: labelled, key } = find(secret, object, known).ok()?;
        labelled.text(&called, key).ok()?;
        Some((secret.name.clone(), Some(SecretMark::of(&secret.name, key, labelled.version()))))
    };
    secrets.filter_map(mark).collect()
}

/// Returns the current versions of the object's write-only secrets; `None` if the API server refuses to list the
/// Secrets of the object's namespace, so that the recorded versions stay.
#[must_use]
pub fn watched_marks(target: &Target, object: &LeanObject, known: AvailableSecrets<'_>) -> Option<SecretMarks> {
    let is_watched =
        |secret: &&DeclaredSecret| target.compare.write_only.iter().any(|field| field.secret == secret.name);
    let is_beside = |secret: &DeclaredSecret| matches!(secret.source, SecretSource::OfObject(_));
    if known.beside.are_refused() && target.secrets.iter().filter(is_watched).any(is_beside) {
        return None;
    }
    Some(marks_of(target.secrets.iter().filter(is_watched), object, known))
}

struct FoundSecret<'s> {
    called: String,
    secret: &'s LabelledSecret,
    key: &'s str,
}

fn find<'s>(
    secret: &'s DeclaredSecret,
    object: &LeanObject,
    known: AvailableSecrets<'s>,
) -> Result<FoundSecret<'s>, CredentialError> {
    match &secret.source {
        SecretSource::Own(own) => {
            let labelled = known.own.secret(&own.name)?;
            Ok(FoundSecret { called: own.name.clone(), secret: labelled, key: &own.key })
        }
        SecretSource::OfObject(beside) => {
            let unnamed = |_| CredentialError::Unnamed(secret.name.clone());
            let name = beside.secret_of(&object.view.open()).map_err(unnamed)?;
            let called = format!("{}/{name}", object.id.namespace.as_deref().unwrap_or_default());
            let labelled = known.beside.secret(&name).map_err(|error| error.about(&called))?;
            Ok(FoundSecret { called, secret: labelled, key: &beside.key })
        }
    }
}

#[cfg(test)]
mod tests;
