//! Single values in documents and objects: numbers with units, names, JSON.

pub(crate) mod addresses;
pub(crate) mod decimal;
pub(crate) mod entities;
pub(crate) mod json;
pub(crate) mod names;
pub(crate) mod texts;
pub(crate) mod units;
pub(crate) mod xml;
pub(crate) mod xml_text;
