//! `${…}` templates: CEL inside YAML strings, parsed once when a target loads and evaluated for each object.
//!
//! Pure: a template reads only the variables that it is given.

pub(crate) mod check;
pub(crate) mod evaluation;
pub(crate) mod functions;
mod render;
pub(crate) mod syntax;

pub use crate::suggest::did_you_mean;
pub(crate) use check::declared_names::{Names, is_word};
pub(crate) use check::known_desired::{KnownDesired, Shape};
pub use check::mistake::Mistake;
pub(crate) use check::origin::{AnswerPart, Found, Origin};
pub use check::site::{EvaluationError, Site};
pub(crate) use check::variables::{CORRECTION, DESIRED, DIFFERS, EVERY_KEY, HEADERS, ITEM, SECRETS, SELF, STEPS};
pub use check::variables::{Scope, Variables};
pub use evaluation::constants::MAX_URL_BYTES;
pub(crate) use evaluation::cost::Cost;
pub use evaluation::json::RawAnswers;
pub use evaluation::secret_values::SecretValues;
pub use render::expression::Expression;
pub use render::expressions::Expressions;
pub(crate) use render::parts::{Part, Parts};
pub use render::text::TextTemplate;
pub use render::url::UrlTemplate;
pub(crate) use render::value::Node;
pub use render::value::ValueTemplate;
pub use syntax::pieces::TemplateError;
pub(crate) use syntax::pieces::{PLACEHOLDER, Piece, is_template, pieces, without_expressions};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
