//! `${…}` templates: CEL inside YAML strings, parsed once when a target loads and evaluated for each object.
//!
//! Pure: a template sees the variables it is given and nothing else. It must not know what a target is.

mod authority;
mod chain;
mod check;
mod convert;
mod cost;
mod equal;
mod expression;
mod function_arity;
mod function_names;
mod functions;
mod json;
mod json_text;
mod known_wish;
mod lets;
pub(crate) mod limits;
mod matching;
mod mistake;
mod names;
mod parse;
mod pattern;
mod quantities;
mod raw;
mod rewrite;
mod secret_values;
mod site;
mod sorting;
pub(crate) mod suggest;
mod syntax;
mod syntax_mistakes;
mod text;
mod texts;
mod url;
mod value;
mod variables;
mod weight;

pub(crate) use cost::Cost;
pub use expression::Expression;
pub(crate) use known_wish::{KnownWish, Shape};
pub(crate) use lets::is_word;
pub use limits::MAX_URL_BYTES;
pub use mistake::Mistake;
pub(crate) use names::Names;
pub use parse::TemplateError;
pub(crate) use parse::{Piece, is_template, pieces, without_expressions};
pub use raw::RawAnswers;
pub use secret_values::SecretValues;
pub use site::{EvaluationError, Site};
pub use suggest::did_you_mean;
pub use text::TextTemplate;
pub use url::UrlTemplate;
pub(crate) use value::Node;
pub use value::ValueTemplate;
pub(crate) use variables::{CORRECTION, DESIRED, DIFFERS, EVERY_KEY, HEADERS, SECRETS, STEPS};
pub use variables::{Scope, Variables};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
