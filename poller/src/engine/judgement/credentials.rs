//! Credentials of a target's reads, which no shown part of a response may repeat.
//!
//! A server can repeat received data in any field. The credentials are searched only if something is shown, because
//! most polls have the same finding as before.

use std::sync::{Arc, OnceLock};

use drift_api::condition::StatusFields;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::{SecretValues, Target};
use drift_systems::{SentCredentials, credentials_of_read};

use crate::engine::judgement::difference::{Change, Difference};

/// Credentials of one target's reads: those of the last read, and those of the current Secrets.
#[derive(Debug)]
pub struct Credentials<'t> {
    target: &'t Target,
    secrets: Arc<LabelledSecrets>,
    sent: SentCredentials,
    values: OnceLock<SecretValues>,
}

impl<'t> Credentials<'t> {
    /// Collects the credentials that the target names in these Secrets, and those that a read was sent with, because a
    /// Secret may have changed meanwhile.
    #[must_use]
    pub const fn of(target: &'t Target, secrets: Arc<LabelledSecrets>, sent: SentCredentials) -> Self {
        Self { target, secrets, sent, values: OnceLock::new() }
    }

    /// Returns the values of the credentials.
    #[must_use]
    pub fn values(&self) -> &SecretValues {
        let of = |secrets: &LabelledSecrets| credentials_of_read(self.target, secrets);
        self.values.get_or_init(|| of(&self.secrets).and_former(&self.sent.values(of)))
    }

    /// Returns true if a credential occurs in the observed part of a difference, or in `line`, which describes only
    /// that part. The desired part is not searched: the author of the object would learn which guess is right.
    #[must_use]
    pub fn occur_in(&self, difference: &Difference<'_, '_>, line: &str) -> bool {
        let values = self.values();
        let occur = match &difference.change {
            Change::Value { observed: Some(value), .. } | Change::Unexpected(value) => values.occur_in(value),
            Change::Value { observed: None, .. } | Change::Missing(_) => false,
            Change::Repeated(_) | Change::Moved | Change::Order | Change::Length { .. } => false,
        };
        occur || values.occur_in_line(line)
    }

    /// Splits fields into those without credentials, which may be published, and the names of the others.
    #[must_use]
    pub fn withhold_from(&self, fields: StatusFields) -> (StatusFields, Vec<String>) {
        if fields.is_empty() { (fields, Vec::new()) } else { fields.without(|value| self.values().occur_in(value)) }
    }
}
