//! The hashes of the values that steps stored in `.status`: `ids externalId@3f2a9c71`.
//!
//! They show that another writer changed or removed an id, so that no request follows an id that is not the
//! controller's own.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::condition::{StatusFields, canonical};
use crate::facts;
use crate::short_hash::{parse_short_hash, short_hash};

/// The hash of each stored value, by the name of its field below `.status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredIds(BTreeMap<String, u32>);

impl StoredIds {
    /// Returns the hashes of the fields with these names that a status has.
    #[must_use]
    pub fn of<'n>(names: impl Iterator<Item = &'n str>, status: Option<&Value>) -> Self {
        let present = names.filter_map(|name| Some((name, status?.get(name).filter(|value| !value.is_null())?)));
        Self(present.map(|(name, value)| (name.to_owned(), hash(value))).collect())
    }

    /// Returns true if no value is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the fields whose value is another one than `present`, or is missing there. A field that
    /// `is_stored` does not know is ignored.
    pub(super) fn changed<'s>(
        &'s self,
        present: &'s Self,
        is_stored: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'s str> {
        let changed = self.0.iter().filter(move |(name, hash)| is_stored(name) && present.0.get(*name) != Some(hash));
        changed.map(|(name, _)| name.as_str())
    }

    /// Describes these fields: `status.id and status.zone`. `None` without such a field.
    #[must_use]
    pub fn describe_changed(&self, present: &Self, is_stored: impl Fn(&str) -> bool) -> Option<String> {
        let paths: Vec<String> = self.changed(present, is_stored).map(|name| format!("status.{name}")).collect();
        (!paths.is_empty()).then(|| paths.join(" and "))
    }

    /// Returns these hashes, and those of `present` for fields without one.
    #[must_use]
    pub fn with_new(&self, present: &Self) -> Self {
        Self(present.0.iter().chain(&self.0).map(|(name, hash)| (name.clone(), *hash)).collect())
    }

    /// Returns the hashes after these fields were written.
    #[must_use]
    pub fn after(mut self, stored: &StatusFields) -> Self {
        for (name, value) in stored.values() {
            match value {
                Value::Null => _ = self.0.remove(name),
                value => _ = self.0.insert(name.to_owned(), hash(value)),
            }
        }
        self
    }

    /// Parses the text of a fact, `externalId@3f2a9c71 zone@9f31c2d4`. `None` for another text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = |(name, hash): (&str, &str)| Some((name.to_owned(), parse_short_hash(hash)?));
        text.split(' ').map(|part| facts::marked(part).and_then(id)).collect::<Option<_>>().map(Self)
    }

    /// Returns the text of a fact; `None` if no value is known.
    pub(super) fn written(&self) -> Option<String> {
        facts::joined(self.0.iter().map(|(name, hash)| format!("{name}@{hash:08x}")))
    }
}

fn hash(value: &Value) -> u32 {
    short_hash(&canonical(value))
}
