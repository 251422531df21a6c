//! The path of a difference: keys, positions of items, and the fields that tell items apart.

use drift_language::RulePlace;
use serde_json::Value;

/// One step from the root of the desired state.
#[derive(Clone, Debug, PartialEq)]
pub enum Segment<'v> {
    /// A key of a map.
    Field(&'v str),
    /// A place in an ordered list.
    Item {
        /// Counted from 0.
        position: usize,
        /// The item there, which may say by a `name` that it holds a secret.
        items: [Option<&'v Value>; 2],
    },
    /// An item of a keyed list.
    Keyed {
        /// The fields that tell it apart.
        keys: Vec<Key<'v>>,
        /// The item that has them.
        item: &'v Value,
    },
}

/// A field that tells an item apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Key<'v> {
    /// The field.
    pub name: &'v str,
    /// The value of the item's field.
    pub value: &'v Value,
    /// True if a rule hides it.
    pub is_redacted: bool,
    /// True if a rule shows it, whatever its name looks like.
    pub is_shown: bool,
}

impl<'v> Segment<'v> {
    pub(super) fn field(name: &'v str) -> Self {
        Self::Field(name)
    }

    pub(super) fn item(position: usize, items: [Option<&'v Value>; 2]) -> Self {
        Self::Item { position, items }
    }

    /// An item of a keyed list, at the item's place.
    pub(super) fn keyed(place: &RulePlace<'_>, keys: &'v [String], item: &'v Value) -> Self {
        let key = |name: &'v String| {
            let below = place.field(name);
            Key {
                name,
                value: item.get(name).unwrap_or(&Value::Null),
                is_redacted: below.is_redacted(),
                is_shown: below.is_shown(),
            }
        };
        Self::Keyed { keys: keys.iter().map(key).collect(), item }
    }
}
