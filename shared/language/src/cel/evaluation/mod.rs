//! Values during one evaluation: their cost, access without copying, and conversion of results.

pub(crate) mod cause;
pub(crate) mod constants;
pub(crate) mod convert;
pub(crate) mod cost;
pub(crate) mod equal;
pub(crate) mod json;
pub(crate) mod pattern;
pub(crate) mod secret_values;
pub(crate) mod weight;
