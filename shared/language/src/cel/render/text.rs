//! A text with `${…}` inside, rendered without escaping, for example an identity or a header.

use std::sync::Arc;

use crate::cel::evaluation::convert::{Allowance, text};
use crate::values::xml::parse_xml;
use crate::values::xml_text::xml_text;
use serde_json::Value;

use crate::cel::check::site::{EvaluationError, Site};
use crate::cel::check::variables::Variables;
use crate::cel::evaluation::cost::Cost;
use crate::cel::render::expression::Expression;
use crate::cel::render::expressions::Expressions;
use crate::cel::syntax::parse::{Piece, TemplateError, pieces};

/// A text with `${…}` inside, rendered without escaping.
#[derive(Debug)]
pub struct TextTemplate {
    site: Site,
    parts: Vec<TextPart>,
    /// True if the text is an XML document, whose values are escaped.
    is_xml: bool,
}

#[derive(Debug)]
enum TextPart {
    Literal(String),
    Expression(Expression),
}

impl TextTemplate {
    /// Returns the literal text before the first expression, and that after the last one. A text without expressions is
    /// both.
    #[must_use]
    pub fn literal_ends(&self) -> (&str, &str) {
        fn literal(part: Option<&TextPart>) -> &str {
            match part {
                Some(TextPart::Literal(text)) => text,
                _ => "",
            }
        }
        (literal(self.parts.first()), literal(self.parts.last()))
    }

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
        if errors.is_empty() { Ok(Self { site: site.clone(), parts, is_xml: false }) } else { Err(errors) }
    }

    /// Compiles an XML document, whose values are escaped. Each value must be in element content or in an attribute.
    ///
    /// # Errors
    /// Returns every mistake in it.
    pub fn parse_xml(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        let template = Self { is_xml: true, ..Self::parse(text, site)? };
        // An attribute may hold a reference, and content an element. A name, and a place outside of the root, neither.
        let sample = |(part, is_in_tag): (&TextPart, bool)| match part {
            TextPart::Literal(literal) => literal.clone(),
            TextPart::Expression(_) if is_in_tag => "&lt;".to_owned(),
            TextPart::Expression(_) => "<x/>".to_owned(),
        };
        let sample: String = template.parts.iter().zip(template.in_tags()).map(sample).collect();
        if ["<!", "<?"].iter().any(|mark| sample.trim_start_matches("<?xml ").contains(mark)) {
            return Err(vec![TemplateError::new(0, "write no comments, CDATA and instructions into the document")]);
        }
        let is_document = parse_xml(sample.as_bytes(), &[], usize::MAX).is_ok();
        let refusal = "no XML document with each ${…} in the content of an element or in an attribute";
        if is_document { Ok(template) } else { Err(vec![TemplateError::new(0, refusal)]) }
    }

    /// Returns for each part of an XML document if it begins within a tag, which only has room for attributes.
    fn in_tags(&self) -> impl Iterator<Item = bool> {
        self.parts.iter().scan(false, |is_in_tag, part| {
            let begins = *is_in_tag;
            if let TextPart::Literal(literal) = part {
                *is_in_tag = literal.rfind(['<', '>']).map_or(begins, |last| literal[last..].starts_with('<'));
            }
            Some(begins)
        })
    }

    /// Returns true if it contains no expression.
    pub(crate) fn is_literal(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, TextPart::Literal(_)))
    }

    /// Returns the place of the text in its target.
    pub(crate) fn site(&self) -> &Site {
        &self.site
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
        for (part, is_in_tag) in self.parts.iter().zip(self.in_tags()) {
            match part {
                TextPart::Literal(literal) => rendered.push_str(literal),
                TextPart::Expression(expression) => {
                    let value = self.render_part((expression, is_in_tag), variables, cost)?;
                    allowance.spend(value.len()).map_err(|cause| self.site.error(cause))?;
                    rendered.push_str(&value);
                }
            }
        }
        Ok(rendered)
    }

    fn render_part(
        &self,
        (expression, is_in_tag): (&Expression, bool),
        variables: &Variables<'_>,
        cost: &Arc<Cost>,
    ) -> Result<String, EvaluationError> {
        if !self.is_xml {
            return render_text(expression, variables, &self.site, cost);
        }
        let value = value_of(expression, variables, &self.site, cost)?;
        if is_in_tag && value.is_object() {
            return Err(self.site.error("the value of an attribute is a map, which only element content can be"));
        }
        xml_text(value, text).map_err(|cause| self.site.error(cause))
    }
}

impl Expressions for TextTemplate {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        for part in &self.parts {
            if let TextPart::Expression(expression) = part {
                visit(expression);
            }
        }
    }
}

/// Renders an expression's value as text.
pub(in crate::cel) fn render_text(
    expression: &Expression,
    variables: &Variables<'_>,
    site: &Site,
    cost: &Arc<Cost>,
) -> Result<String, EvaluationError> {
    text(value_of(expression, variables, site, cost)?).map_err(|cause| site.error(cause))
}

fn value_of(
    expression: &Expression,
    variables: &Variables<'_>,
    site: &Site,
    cost: &Arc<Cost>,
) -> Result<Value, EvaluationError> {
    let value = expression.evaluate_within(variables, cost)?;
    value.ok_or_else(|| site.error("an optional without value cannot stand inside a text; write .orValue(…)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::Scope;
    use serde_json::json;

    fn rendered(document: &str, value: &Value) -> Result<String, String> {
        let template = TextTemplate::parse_xml(document, &Site::new("here", Scope::Object));
        let object = json!({"spec": {"x": value}});
        let variables = Variables::of_object(&object);
        template.map_err(|_| "refused".to_owned())?.render(&variables).map_err(|error| error.cause)
    }

    #[test]
    fn only_content_takes_elements() {
        let (map, text) = (json!({"b": "c"}), json!("\"'<"));
        let content = "<r a='1'>${self.spec.x}</r>";
        assert_eq!(rendered(content, &map).as_deref(), Ok("<r a='1'><b>c</b></r>"));
        for attribute in ["<r a=\"${self.spec.x}\"/>", "<r a='${self.spec.x}'>x</r>"] {
            assert!(rendered(attribute, &map).is_err_and(|cause| cause.contains("is a map")), "{attribute}");
            assert!(rendered(attribute, &text).is_ok(), "{attribute}");
        }
        assert_eq!(rendered("<r a='>${self.spec.x}'/>", &map), Err("refused".to_owned()));
    }
}
