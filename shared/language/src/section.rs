//! Sections of the language: maps with known keys, each declared as a struct by `#[derive(Section)]`.

pub(crate) mod leaves;
pub(crate) mod schema;

pub(crate) use drift_section::Section;

pub(crate) use self::leaves::{
    Leaf, any, distinct, duration, list, literal, map, map_of, or_text, plain_text, section, size, text, truth, typed,
    whole, words,
};
pub(crate) use self::schema::{Key, Schema};
use crate::yaml::{Fields, Node, Reader};

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
