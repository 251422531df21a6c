//! Where a difference is: keys, places of items, and the fields that tell items apart.
//!
//! It must not know what differs there.

use std::borrow::Cow;

use drift_target::Place;
use serde_json::Value;

/// One step from the root of the wish.
#[derive(Clone, Debug, PartialEq)]
pub enum Segment<'v> {
    /// A key of a map.
    Field(Cow<'v, str>),
    /// A place in an ordered list.
    Item {
        /// Counted from 0.
        position: usize,
        /// The item there, which may say by a `name` that it holds a secret.
        items: [Option<Cow<'v, Value>>; 2],
    },
    /// An item of a keyed list.
    Keyed {
        /// The fields that tell it apart.
        keys: Vec<Key<'v>>,
        /// The item that has them.
        item: Cow<'v, Value>,
    },
}

/// A field that tells an item apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Key<'v> {
    /// The field.
    pub name: Cow<'v, str>,
    /// What the item has there.
    pub value: Cow<'v, Value>,
    /// Whether a rule hides it.
    pub is_redacted: bool,
    /// Whether a rule shows it, whatever its name looks like.
    pub is_shown: bool,
}

impl<'v> Segment<'v> {
    pub(super) fn field(name: &'v str) -> Self {
        Self::Field(Cow::Borrowed(name))
    }

    pub(super) fn item(position: usize, items: [Option<&'v Value>; 2]) -> Self {
        Self::Item { position, items: items.map(|item| item.map(Cow::Borrowed)) }
    }

    /// An item of a keyed list, at the item's place.
    pub(super) fn keyed(place: &Place<'_>, keys: &'v [String], item: &'v Value) -> Self {
        let key = |name: &'v String| {
            let below = place.field(name);
            Key {
                name: Cow::Borrowed(name.as_str()),
                value: Cow::Borrowed(item.get(name).unwrap_or(&Value::Null)),
                is_redacted: below.is_redacted(),
                is_shown: below.is_shown(),
            }
        };
        Self::Keyed { keys: keys.iter().map(key).collect(), item: Cow::Borrowed(item) }
    }

    pub(super) fn into_owned<'o>(self) -> Segment<'o> {
        match self {
            Self::Field(name) => Segment::Field(Cow::Owned(name.into_owned())),
            Self::Item { position, items } => {
                Segment::Item { position, items: items.map(|item| item.map(|item| Cow::Owned(item.into_owned()))) }
            }
            Self::Keyed { keys, item } => {
                let keys = keys.into_iter().map(Key::into_owned).collect();
                Segment::Keyed { keys, item: Cow::Owned(item.into_owned()) }
            }
        }
    }
}

impl Key<'_> {
    fn into_owned<'o>(self) -> Key<'o> {
        let Self { name, value, is_redacted, is_shown } = self;
        Key { name: Cow::Owned(name.into_owned()), value: Cow::Owned(value.into_owned()), is_redacted, is_shown }
    }
}
