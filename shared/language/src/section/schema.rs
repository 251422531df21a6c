//! The description of the language: its sections, the keys of each, and the values that they may have.

use crate::yaml::{Fields, Node, Reader};

/// One key of a section.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// Its meaning for users, in one line.
    pub(crate) description: &'static str,
    /// True if the section is invalid without it.
    pub(crate) is_required: bool,
    pub(crate) schema: Schema,
}

/// The values that a key may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Schema {
    /// Values of these JSON types. Empty for any.
    Types(&'static [&'static str]),
    /// A whole number, with minimum and maximum.
    Whole(u64, u64),
    /// One of a few words.
    Words(Vec<&'static str>),
    /// A text in short form, or such a value.
    OrText(Box<Schema>),
    /// A list of such values, or a single one.
    OneOrList(Box<Schema>),
    /// A list of such values.
    List(Box<Schema>),
    /// A map with user-defined keys and such values.
    Map(Box<Schema>),
    /// A map with these keys.
    Keys(Vec<Key>),
}

impl Schema {
    /// A text.
    pub(crate) const TEXT: Self = Self::Types(&["string"]);
    /// A map with user-defined keys and any values.
    pub(crate) const MAP: Self = Self::Types(&["object"]);
}

/// A map with known keys.
pub(crate) trait Section {
    /// The result of reading it.
    type Value;
    /// A value that decides about its keys, such as the action of a step.
    type Context: Copy;

    /// The names of its keys.
    fn names(context: Self::Context) -> Vec<&'static str>;

    /// Its keys with their descriptions.
    fn keys(context: Self::Context) -> Vec<Key>;

    /// Reads its keys from a map that may have further ones.
    fn read_from(reader: &mut Reader<'_>, fields: &Fields<'_>, context: Self::Context) -> Option<Self::Value>;

    /// Reads a map with these keys and no others.
    fn read(reader: &mut Reader<'_>, node: &Node, place: &str, context: Self::Context) -> Option<Self::Value> {
        let fields = reader.fields(node, place, &Self::names(context))?;
        Self::read_from(reader, &fields, context)
    }
}
