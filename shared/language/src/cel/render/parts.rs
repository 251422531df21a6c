//! Literal text and the expressions between it: the form of every template that renders a text.

use crate::cel::check::site::EvaluationError;
use crate::cel::render::expression::Expression;
use crate::cel::render::expressions::Expressions;
use crate::cel::syntax::pieces::{Piece, TemplateError};

/// One part of a template. `P` describes the place of an expression, which decides how its value is written.
#[derive(Debug)]
pub(crate) enum Part<P> {
    Text(String),
    Expression(P, Expression),
}

/// The parts of a template, in order.
#[derive(Debug)]
pub(crate) struct Parts<P>(pub(crate) Vec<Part<P>>);

impl<P> Parts<P> {
    /// Compiles each piece of a template.
    ///
    /// # Errors
    /// Returns the mistakes in all pieces.
    pub(crate) fn compile<'p, 's: 'p>(
        pieces: impl IntoIterator<Item = &'p Piece<'s>>,
        mut compile: impl FnMut(&'p Piece<'s>) -> Result<Part<P>, Vec<TemplateError>>,
    ) -> Result<Self, Vec<TemplateError>> {
        let (mut parts, mut errors) = (Vec::new(), Vec::new());
        for piece in pieces {
            match compile(piece) {
                Ok(part) => parts.push(part),
                Err(found) => errors.extend(found),
            }
        }
        if errors.is_empty() { Ok(Self(parts)) } else { Err(errors) }
    }

    /// Renders the text. `write` writes the value of an expression for its place. `check` gets the length of the text
    /// after each part.
    pub(crate) fn render(
        &self,
        mut write: impl FnMut(&P, &Expression) -> Result<String, EvaluationError>,
        check: impl Fn(usize) -> Result<(), EvaluationError>,
    ) -> Result<String, EvaluationError> {
        let mut rendered = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => rendered.push_str(text),
                Part::Expression(place, expression) => rendered.push_str(&write(place, expression)?),
            }
            check(rendered.len())?;
        }
        Ok(rendered)
    }

    /// Returns the text with a fixed value for each expression.
    pub(crate) fn with_values<'v>(&'v self, value: impl Fn(&'v P) -> &'v str) -> String {
        let written = self.0.iter().map(|part| match part {
            Part::Text(text) => text,
            Part::Expression(place, _) => value(place),
        });
        written.collect()
    }

    /// Returns true if it contains no expression.
    pub(crate) fn is_literal(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// Returns the literal text before the first expression, and that after the last one.
    pub(crate) fn literal_ends(&self) -> (&str, &str) {
        let [first, last] = [self.0.first(), self.0.last()].map(|part| match part {
            Some(Part::Text(text)) => text.as_str(),
            _ => "",
        });
        (first, last)
    }
}

impl<P> Expressions for Parts<P> {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        for part in &self.0 {
            if let Part::Expression(_, expression) = part {
                visit(expression);
            }
        }
    }
}
