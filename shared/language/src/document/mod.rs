//! Documents: each becomes a target, or problems at their places, and keeps its last good text.

pub(crate) mod catalogue;
pub(crate) mod hash;
pub(crate) mod manifests;
mod parse;
pub(crate) mod places;
pub(crate) mod suspension;

pub use parse::parse_document;
pub(crate) use parse::record;
