//! The entries of a collection, gathered one by one, and the observation of each object.
//!
//! Only a complete collection can show that an entry is missing.

use std::collections::{HashMap, HashSet};

use drift_language::Keys;
use serde_json::Value;

use crate::engine::judgement::observation::invalid;
use crate::engine::judgement::{Failure, Observation};

/// Memory limit for the entries of one traversal, in bytes: all names, and the values of requested entries. It is an
/// eighth of the memory limit in the manifests, enough for 100,000 names and 10,000 entries with some fields.
const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;
/// Bytes that a value takes in addition to its text.
const NODE_BYTES: usize = 64;

/// Entries of a traversal in progress.
#[derive(Debug)]
pub struct Gathering<'r> {
    keys: &'r Keys,
    /// Names of the objects' entries.
    wanted: HashSet<String>,
    entries: Entries,
    /// Memory that the entries take, in bytes.
    kept: usize,
}

/// Entries of a complete collection.
#[derive(Debug, Default)]
pub struct Entries {
    /// Values of the requested entries, by name.
    found: HashMap<String, Value>,
    /// Names of all entries.
    pub names: HashSet<String>,
    /// Names that occur more than once.
    repeated: HashSet<String>,
}

impl<'r> Gathering<'r> {
    /// Creates an empty set of entries that keeps the values of the `wanted` names.
    #[must_use]
    pub fn new(keys: &'r Keys, wanted: HashSet<String>) -> Self {
        Self { keys, wanted, entries: Entries::default(), kept: 0 }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Fails when the entry has no name, or when all entries take too much memory.
    pub fn take(&mut self, entry: Value) -> Result<(), Failure> {
        let name = self.keys.of_entry(&entry).map_err(|error| invalid(&error))?;
        if self.entries.names.contains(&name) {
            self.entries.repeated.insert(name);
            return Ok(());
        }
        let is_wanted = self.wanted.contains(&name);
        self.kept += NODE_BYTES + name.len() + if is_wanted { bytes_of(&entry) } else { 0 };
        if self.kept > MAX_KEPT_BYTES {
            return Err(invalid(&"the entries take too much memory"));
        }
        if is_wanted {
            self.entries.found.insert(name.clone(), entry);
        }
        self.entries.names.insert(name);
        Ok(())
    }

    /// Returns the entries after the last page.
    pub fn finish(&mut self) -> Entries {
        std::mem::take(&mut self.entries)
    }
}

impl Entries {
    /// Returns the observation of the object whose entry has that name, from a complete collection. `read`
    /// observes an entry.
    ///
    /// # Errors
    /// Returns the reason why the observation is unknown.
    pub fn observe(
        &self,
        name: &str,
        read: impl FnOnce(&Value) -> Result<Observation, Failure>,
    ) -> Result<Observation, Failure> {
        if self.repeated.contains(name) {
            return Err(invalid(&"its key occurs twice"));
        }
        match self.found.get(name) {
            Some(entry) => read(entry),
            // The missing entry may be one of the repeated ones under a wrong name.
            None if !self.repeated.is_empty() => Err(invalid(&"a key occurs twice")),
            None => Ok(Observation::Absent),
        }
    }
}

/// Estimates the memory of a value in bytes.
fn bytes_of(value: &Value) -> usize {
    NODE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(bytes_of).sum(),
            Value::Object(fields) => fields.iter().map(|(name, field)| NODE_BYTES + name.len() + bytes_of(field)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::{Source, SqlRead};
    use serde_json::json;

    #[test]
    fn an_entry_without_a_name_is_an_error() {
        let read = "{postgres: {connection: {secretRef: {name: c}}, query: 'SELECT 1', key: {row: \"${row.name}\"}}}";
        let text = crate::engine::fixtures::TEXT.replace(r#"{http: {url: "http://h/${self.spec.id}"}}"#, read);
        let target = crate::engine::fixtures::target(&text);
        let Source::Sql(SqlRead { keys: Some(keys), .. }) = &target.read.source else {
            unreachable!("the target has keys")
        };
        let mut gathering = Gathering::new(keys, HashSet::from(["a".to_owned()]));
        gathering.take(json!({"name": "a"})).unwrap();
        gathering.take(json!({"name": "b"})).unwrap();
        assert!(gathering.take(json!({"nam": "c"})).is_err());
        let entries = gathering.finish();
        let present = |row: &Value| Ok(Observation::Present(row.clone()));
        assert_eq!(entries.observe("a", present), Ok(Observation::Present(json!({"name": "a"}))));
        assert_eq!(entries.observe("c", present), Ok(Observation::Absent));
        assert_eq!(entries.names.len(), 2);
    }
}
