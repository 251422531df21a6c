//! The objects of a small collection by name, kept up to date from its changes.
//!
//! For our own ConfigMaps and Secrets: they are few, read whole, and only the needed part of each is kept. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::watch::collection::Change;

/// A store of objects by name.
#[derive(Debug)]
pub(crate) struct Store<T> {
    present: Kept<T>,
    listing: Kept<T>,
    bytes_of: fn(&T) -> usize,
}

/// Objects and their size in bytes, summed incrementally because there may be many.
#[derive(Debug)]
struct Kept<T> {
    all: BTreeMap<String, T>,
    bytes: usize,
}

/// The effect of a change on the store.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The content changed.
    Changed,
    /// The content is unchanged, and the collection can be followed.
    Same,
    /// The content is not known yet.
    Pending,
    /// The collection cannot be followed at the moment.
    Failing(String),
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self::weighed(|_| 0)
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), bytes: 0 }
    }
}

impl<T> Kept<T> {
    fn put(&mut self, object: &Value, bytes_of: fn(&T) -> usize, keep: impl Fn(&Value, usize) -> Option<T>) {
        self.remove(object, bytes_of);
        if let Some(kept) = keep(object, self.bytes) {
            self.bytes += bytes_of(&kept);
            self.all.insert(name_of(object), kept);
        }
    }

    fn remove(&mut self, object: &Value, bytes_of: fn(&T) -> usize) {
        let bytes = self.all.remove(&name_of(object)).map_or(0, |kept| bytes_of(&kept));
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl<T> Store<T> {
    /// Creates an empty store with a function for the size of each object.
    pub(crate) fn weighed(bytes_of: fn(&T) -> usize) -> Self {
        Self { present: Kept::default(), listing: Kept::default(), bytes_of }
    }

    /// Applies a change. `keep` returns the needed part of an object, given the bytes of the other kept ones.
    pub(crate) fn hear(&mut self, change: Change, keep: impl Fn(&Value, usize) -> Option<T>) -> Effect {
        match change {
            Change::ListBegan => self.listing = Kept::default(),
            Change::Found(object, _) => self.listing.put(&object, self.bytes_of, keep),
            Change::ListEnded(_) => {
                self.present = std::mem::take(&mut self.listing);
                return Effect::Changed;
            }
            Change::Changed(object) => {
                self.present.put(&object, self.bytes_of, keep);
                return Effect::Changed;
            }
            Change::Deleted(object) => {
                self.present.remove(&object, self.bytes_of);
                return Effect::Changed;
            }
            Change::Bookmark | Change::Connected => return Effect::Same,
            Change::Failing(text) => return Effect::Failing(text),
        }
        Effect::Pending
    }

    /// Returns the objects. Empty until the first complete list.
    pub(crate) const fn present(&self) -> &BTreeMap<String, T> {
        &self.present.all
    }

    /// Returns the bytes of all objects.
    pub(crate) const fn bytes(&self) -> usize {
        self.present.bytes
    }
}

fn name_of(object: &Value) -> String {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(name: &str, value: u64) -> Value {
        json!({"metadata": {"name": name}, "value": value})
    }

    #[test]
    fn a_list_replaces_everything_only_when_it_is_whole() {
        let mut store = Store::default();
        let mut hear = |change| {
            let effect = store.hear(change, |object, _| Some(object["value"].as_u64()));
            (effect, store.present().clone())
        };
        let with = |entries: &[(&str, u64)]| -> BTreeMap<_, _> {
            entries.iter().map(|(name, value)| ((*name).to_owned(), Some(*value))).collect()
        };
        for change in [
            Change::ListBegan,
            Change::Found(object("a", 1), String::new()),
            Change::Found(object("b", 2), String::new()),
        ] {
            assert_eq!(hear(change), (Effect::Pending, with(&[])));
        }
        assert_eq!(hear(Change::ListEnded(String::new())), (Effect::Changed, with(&[("a", 1), ("b", 2)])));
        assert_eq!(hear(Change::Changed(object("a", 3))), (Effect::Changed, with(&[("a", 3), ("b", 2)])));
        assert_eq!(hear(Change::Deleted(object("b", 2))), (Effect::Changed, with(&[("a", 3)])));
        assert_eq!(hear(Change::ListBegan).1, with(&[("a", 3)]));
        assert_eq!(hear(Change::Found(object("half", 1), String::new())).1, with(&[("a", 3)]));
        assert_eq!(hear(Change::Failing("no".to_owned())), (Effect::Failing("no".to_owned()), with(&[("a", 3)])));
        assert_eq!(hear(Change::ListBegan).1, with(&[("a", 3)]));
        assert_eq!(hear(Change::ListEnded(String::new())), (Effect::Changed, with(&[])));
    }
}
