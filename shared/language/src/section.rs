//! Sections of the language: maps with known keys, each declared as a struct by `#[derive(Section)]`.

pub(crate) mod leaves;
pub(crate) mod schema;

pub(crate) use drift_section::Section;

pub(crate) use self::leaves::{
    Leaf, any, distinct, duration, list, literal, map, map_of, or_text, plain_text, section, size, text, truth, typed,
    whole, words,
};
pub(crate) use self::schema::{Key, Schema, Section};
