//! Documents. Each becomes a target or a list of problems with positions, and keeps its last valid version.

pub(crate) mod catalogue;
pub(crate) mod hash;
pub(crate) mod manifests;
mod parse;
pub(crate) mod places;
pub(crate) mod suspension;

pub use parse::parse_document;
pub(crate) use parse::record;
