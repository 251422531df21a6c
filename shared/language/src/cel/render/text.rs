//! A text with `${…}` inside, rendered without escaping, for example an identity or a header.

use std::sync::Arc;

use crate::cel::evaluation::convert::{Allowance, text};
use serde_json::Value;

use crate::cel::check::site::{EvaluationError, Site};
use crate::cel::check::variables::Variables;
use crate::cel::evaluation::cost::Cost;
use crate::cel::render::expression::Expression;
use crate::cel::syntax::parse::{Piece, TemplateError, pieces};
use drift_api::object::field_paths::FieldPaths;

/// A text with `${…}` inside, rendered without escaping.
#[derive(Debug)]
pub struct TextTemplate {
    site: Site,
    parts: Vec<TextPart>,
}

#[derive(Debug)]
enum TextPart {
    Literal(String),
    Expression(Expression),
}

impl TextTemplate {
    /// Compiles a text.
    ///
    /// # Errors
    /// Returns every mistake in it.
    pub fn parse(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        let mut parts = Vec::new();
        let mut errors = Vec::new();
        for piece in pieces(text).map_err(|error| vec![error])? {
            match piece {
                Piece::Literal(literal) => parts.push(TextPart::Literal(literal)),
                Piece::Expression { source, offset } => match Expression::compile(source, offset, site) {
                    Ok(expression) => parts.push(TextPart::Expression(expression)),
                    Err(found) => errors.extend(found),
                },
            }
        }
        if errors.is_empty() { Ok(Self { site: site.clone(), parts }) } else { Err(errors) }
    }

    /// The fields under `self` that it reads.
    #[must_use]
    pub fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        for part in &self.parts {
            if let TextPart::Expression(expression) = part {
                fields.extend(expression.fields());
            }
        }
        fields
    }

    /// Returns true if it reads a variable of the language.
    pub(crate) fn reads(&self, variable: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, TextPart::Expression(expression) if expression.reads(variable)))
    }

    /// Returns true if it contains no expression.
    pub(crate) fn is_literal(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, TextPart::Literal(_)))
    }

    /// Returns the place of the text in its target.
    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    /// Returns the error that the object alone causes, regardless of the response.
    pub(in crate::cel) fn own_mistake(&self, object: &Value) -> Option<EvaluationError> {
        self.parts.iter().find_map(|part| match part {
            TextPart::Literal(_) => None,
            TextPart::Expression(expression) => expression.own_mistake(object),
        })
    }

    /// Renders the text.
    ///
    /// # Errors
    /// Fails if a field is missing or a value has no text form.
    pub fn render(&self, variables: &Variables<'_>) -> Result<String, EvaluationError> {
        self.render_within(variables, &Arc::default())
    }

    /// Renders the text as a part of a tree with one shared budget.
    pub(in crate::cel) fn render_within(
        &self,
        variables: &Variables<'_>,
        cost: &Arc<Cost>,
    ) -> Result<String, EvaluationError> {
        let mut rendered = String::new();
        let mut allowance = Allowance::default();
        for part in &self.parts {
            match part {
                TextPart::Literal(literal) => rendered.push_str(literal),
                TextPart::Expression(expression) => {
                    let value = render_text(expression, variables, &self.site, cost)?;
                    allowance.spend(value.len()).map_err(|cause| self.site.error(cause))?;
                    rendered.push_str(&value);
                }
            }
        }
        Ok(rendered)
    }
}

/// Renders an expression's value as text.
pub(in crate::cel) fn render_text(
    expression: &Expression,
    variables: &Variables<'_>,
    site: &Site,
    cost: &Arc<Cost>,
) -> Result<String, EvaluationError> {
    let value = expression.evaluate_within(variables, cost)?;
    let value = value.ok_or_else(|| site.error("an optional without value cannot stand inside a text"))?;
    text(value).map_err(|cause| site.error(cause))
}
