//! Values during one evaluation: what they cost, how they are seen without copying, and how results leave it.

pub(crate) mod constants;
pub(crate) mod convert;
pub(crate) mod cost;
pub(crate) mod equal;
pub(crate) mod function_names;
pub(crate) mod json;
pub(crate) mod pattern;
pub(crate) mod raw;
pub(crate) mod secret_values;
pub(crate) mod weight;
