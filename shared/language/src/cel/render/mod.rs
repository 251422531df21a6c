//! Evaluates templates for an object: expressions, texts, URLs and trees of values.

pub(super) mod authority;
pub(super) mod expression;
pub(super) mod expressions;
pub(super) mod parts;
pub(super) mod text;
pub(super) mod url;
pub(super) mod value;
