//! The description of the language: the keys of each section, and the values that they may have.

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
