//! Documents: YAML text becomes targets, with every problem at its place, and each document keeps its last good text.

pub(crate) mod catalogue;
pub(crate) mod fields;
pub(crate) mod hash;
pub(crate) mod manifests;
mod parse;
pub(crate) mod position;
pub(crate) mod problem;
pub(crate) mod raw;
pub(crate) mod recording;
pub(crate) mod suspension;
pub(crate) mod yaml;
pub(crate) mod yaml_mistakes;

pub use parse::parse_document;
pub(crate) use parse::record;
