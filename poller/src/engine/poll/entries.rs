//! The entries of a collection, gathered one after the other, and what they say together of each object.
//!
//! Only a complete collection may say that something is missing. This file must not know where an entry comes from.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::engine::judgement::finding::Failure;
use crate::engine::poll::http_reply::{Observation, invalid};

/// Memory that the entries of one traversal may take, bytes: their names, and those that objects asked for as values. An
/// eighth of what a program may use in the manifests, room for 100,000 names and 10,000 entries of some fields.
const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;
/// What a value takes beside its text, bytes.
const NODE_BYTES: usize = 64;

/// Entries on their way in.
#[derive(Debug)]
pub(in crate::engine) struct Gathering {
    /// What objects call their entries.
    wanted: HashSet<String>,
    entries: Entries,
    /// Bytes that the entries take.
    kept: usize,
}

/// The entries of a collection that was gone through to its end.
#[derive(Debug, Default)]
pub struct Entries {
    /// Those that objects asked for, by name.
    found: HashMap<String, Value>,
    /// The names of all.
    pub names: HashSet<String>,
    /// Names that stand several times.
    repeated: HashSet<String>,
}

impl Gathering {
    /// Of the entries of these names the values are kept.
    pub(in crate::engine) fn new(wanted: HashSet<String>) -> Self {
        Self { wanted, entries: Entries::default(), kept: 0 }
    }

    /// Takes in one.
    ///
    /// # Errors
    /// When all of them take too much memory.
    pub(in crate::engine) fn take(&mut self, name: String, entry: Value) -> Result<(), Failure> {
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

    /// There are no more.
    pub(in crate::engine) fn finish(&mut self) -> Entries {
        std::mem::take(&mut self.entries)
    }
}

impl Entries {
    /// What a complete collection says of the object whose entry has that name; `read` says what the entry does.
    #[must_use]
    pub fn observe(&self, name: &str, read: impl FnOnce(&Value) -> Result<Observation, Failure>) -> Observation {
        self.look_up(name, read).unwrap_or_else(Observation::Failed)
    }

    fn look_up(
        &self,
        name: &str,
        read: impl FnOnce(&Value) -> Result<Observation, Failure>,
    ) -> Result<Observation, Failure> {
        if self.repeated.contains(name) {
            return Err(invalid(&"its key stands twice"));
        }
        match self.found.get(name) {
            Some(entry) => read(entry),
            // Which of the two is the missing one under a wrong name cannot be told.
            None if !self.repeated.is_empty() => Err(invalid(&"a key stands twice")),
            None => Ok(Observation::Absent),
        }
    }
}

/// About what a value takes in memory.
fn bytes_of(value: &Value) -> usize {
    NODE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(bytes_of).sum(),
            Value::Object(fields) => fields.iter().map(|(name, field)| NODE_BYTES + name.len() + bytes_of(field)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}
