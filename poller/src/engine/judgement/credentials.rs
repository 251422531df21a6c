//! The credentials that a target's reads come with, which nothing that is shown of an answer may repeat.
//!
//! A server can say back whatever it was sent, in any field. They are looked up only where something is to be shown: most polls find
//! what the one before found.

use std::sync::{Arc, OnceLock};

use drift_api::condition::StatusFields;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::Target;
use drift_language::cel::SecretValues;
use drift_systems::SentCredentials;
use drift_systems::credentials_of_read;

use crate::engine::judgement::difference::{Change, Difference};

/// The credentials of one target's reads: those that a read came with, and those of the Secrets as they stand.
#[derive(Debug)]
pub struct Credentials<'t> {
    target: &'t Target,
    secrets: Arc<LabelledSecrets>,
    sent: SentCredentials,
    values: OnceLock<SecretValues>,
}

impl<'t> Credentials<'t> {
    /// Those that the target names among these Secrets, as they stand, and what a read went out with: a Secret may have changed
    /// meanwhile.
    #[must_use]
    pub const fn of(target: &'t Target, secrets: Arc<LabelledSecrets>, sent: SentCredentials) -> Self {
        Self { target, secrets, sent, values: OnceLock::new() }
    }

    /// Returns the values.
    #[must_use]
    pub fn values(&self) -> &SecretValues {
        let of = |secrets: &LabelledSecrets| credentials_of_read(self.target, secrets);
        self.values.get_or_init(|| of(&self.secrets).and_former(&self.sent.values(of)))
    }

    /// Returns true if one of them occurs in what a difference says was observed, or in `line`, which tells of that and of nothing else.
    /// What is desired is not looked at: it stands in the object, and whoever writes it would learn which guess is right.
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
