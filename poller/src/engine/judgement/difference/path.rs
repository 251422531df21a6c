//! Path of a difference: map keys, item positions, and the fields that identify items.

use drift_language::RulePlace;
use serde_json::Value;

/// One step from the root of the desired state.
#[derive(Clone, Debug, PartialEq)]
pub enum Segment<'v> {
    /// Key of a map.
    Field(&'v str),
    /// Position in an ordered list.
    Item {
        /// Index of the item, counted from 0.
        position: usize,
        /// Items at the position, whose `name` may indicate a secret.
        items: [Option<&'v Value>; 2],
    },
    /// An item of a keyed list.
    Keyed {
        /// Fields that identify the item.
        keys: Vec<Key<'v>>,
        /// Item with these keys.
        item: &'v Value,
    },
}

/// A field that identifies an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Key<'v> {
    /// Name of the field.
    pub name: &'v str,
    /// Value of the item's field.
    pub value: &'v Value,
    /// True if a rule hides it.
    pub is_redacted: bool,
    /// True if a rule shows it, regardless of its name.
    pub is_shown: bool,
}

impl<'v> Segment<'v> {
    pub(super) fn field(name: &'v str) -> Self {
        Self::Field(name)
    }

    pub(super) fn item(position: usize, items: [Option<&'v Value>; 2]) -> Self {
        Self::Item { position, items }
    }

    /// Returns the segment for an item of a keyed list at the item's place.
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
