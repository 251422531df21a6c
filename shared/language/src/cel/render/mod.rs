//! Templates evaluated for an object: expressions, texts, URLs and trees of values.

pub(super) mod authority;
pub(super) mod convert;
pub(super) mod expression;
pub(super) mod json;
pub(super) mod lets;
pub(super) mod secret_values;
pub(super) mod text;
pub(super) mod url;
pub(super) mod value;
