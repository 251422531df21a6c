//! Documents. Each becomes a target or a list of problems with positions, and keeps its last valid version.

pub(crate) mod catalogue;
mod field_place;
pub(crate) mod hash;
pub(crate) mod manifests;
mod parse;
pub(crate) mod places;
pub(crate) mod sections;
mod short_forms;
pub(crate) mod suspension;

use crate::target::Target;
use crate::yaml::problem::{DocumentName, Problem};

/// Parses and checks one document, and reports every problem at once.
///
/// # Errors
/// Returns all problems found.
pub fn parse_document(document: &DocumentName, text: &str) -> Result<Target, Vec<Problem>> {
    parse::parse(document, text, sections::where_it_belongs).map(|parsed| parsed.target)
}
