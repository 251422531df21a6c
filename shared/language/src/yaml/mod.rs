//! YAML documents: a tree in which each node has its position, and its readers.

pub(crate) mod durations;
pub(crate) mod fields;
mod keys;
mod known_keys;
pub(crate) mod node;
mod plain_scalars;
pub(crate) mod position;
pub(crate) mod problem;
pub(crate) mod reader;
pub(crate) mod shape_hints;
pub(crate) mod templates;
pub(crate) mod unmarked_expressions;
pub(crate) mod yaml_mistakes;

pub(crate) use fields::{Fields, all};
pub use node::to_yaml;
pub(crate) use node::{Content, Entry, Fault, Node, parse};
pub(crate) use position::Position;
pub(crate) use reader::Reader;
pub(crate) use templates::{expression, read_value, text_template, value_template};
