//! A text with `${…}` inside, rendered without escaping, for example an identity or a header.

use std::sync::Arc;

use crate::cel::evaluation::convert::{Allowance, Meter as _, text};
use crate::values::xml::parse_xml;
use crate::values::xml_text::xml_text;
use serde_json::Value;

use crate::cel::check::site::{EvaluationError, Site};
use crate::cel::check::variables::Variables;
use crate::cel::evaluation::cost::Cost;
use crate::cel::render::expression::Expression;
use crate::cel::render::expressions::Expressions;
use crate::cel::render::parts::{Part, Parts};
use crate::cel::syntax::pieces::{Piece, TemplateError, pieces};

/// A text with `${…}` inside, rendered without escaping.
#[derive(Debug)]
pub struct TextTemplate {
    site: Site,
    parts: Parts<Place>,
}

/// The place of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In a text that is not XML. The value is written as it is.
    Plain,
    /// In the content of an XML element, which takes elements too.
    Content,
    /// Within a tag, which only has room for the value of an attribute.
    Tag,
}

impl TextTemplate {
    /// Returns the literal text before the first expression, and that after the last one. A text without expressions is
    /// both.
    #[must_use]
    pub fn literal_ends(&self) -> (&str, &str) {
        self.parts.literal_ends()
    }

    /// Compiles a text.
    ///
    /// # Errors
    /// Returns every mistake in it.
    pub fn parse(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        Self::compile(text, site, |_| Place::Plain)
    }

    /// `place_after` gives the place of expressions after a literal.
    fn compile(
        text: &str,
        site: &Site,
        mut place_after: impl FnMut(&str) -> Place,
    ) -> Result<Self, Vec<TemplateError>> {
        let pieces = pieces(text).map_err(|error| vec![error])?;
        let mut place = place_after("");
        let parts = Parts::compile(&pieces, |piece| {
            Ok(match piece {
                Piece::Literal(literal) => {
                    place = place_after(literal);
                    Part::Text(literal.clone())
                }
                Piece::Expression { source, offset } => {
                    Part::Expression(place, Expression::compile(source, *offset, site)?)
                }
            })
        })?;
        Ok(Self { site: site.clone(), parts })
    }

    /// Compiles an XML document, whose values are escaped. Each value must be in element content or in an attribute.
    ///
    /// # Errors
    /// Returns every mistake in it.
    pub fn parse_xml(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        let mut place = Place::Content;
        let template = Self::compile(text, site, |literal| {
            let last = literal.rfind(['<', '>']).map(|last| &literal[last..]);
            place = last.map_or(place, |last| if last.starts_with('<') { Place::Tag } else { Place::Content });
            place
        })?;
        // An attribute may hold a reference, and content an element. A name, and a place outside of the root, neither.
        let sample = template.parts.with_values(|place| if *place == Place::Tag { "&lt;" } else { "<x/>" });
        if ["<!", "<?"].iter().any(|mark| sample.trim_start_matches("<?xml ").contains(mark)) {
            return Err(vec![TemplateError::new(0, "write no comments, CDATA and instructions into the document")]);
        }
        let is_document = parse_xml(sample.as_bytes(), &[], usize::MAX).is_ok();
        let refusal = "no XML document with each ${…} in the content of an element or in an attribute";
        if is_document { Ok(template) } else { Err(vec![TemplateError::new(0, refusal)]) }
    }

    /// Returns true if it contains no expression.
    pub(crate) fn is_literal(&self) -> bool {
        self.parts.is_literal()
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
        let allowance = Allowance::default();
        let write = |place: &Place, expression: &Expression| {
            let value = self.render_part((expression, *place), variables, cost)?;
            allowance.spend(value.len()).map_err(|cause| self.site.error(cause))?;
            Ok(value)
        };
        self.parts.render(write, |_| Ok(()))
    }

    fn render_part(
        &self,
        (expression, place): (&Expression, Place),
        variables: &Variables<'_>,
        cost: &Arc<Cost>,
    ) -> Result<String, EvaluationError> {
        if place == Place::Plain {
            return render_text(expression, variables, &self.site, cost);
        }
        let value = value_of(expression, variables, &self.site, cost)?;
        if place == Place::Tag && value.is_object() {
            return Err(self.site.error("the value of an attribute is a map, which only element content can be"));
        }
        xml_text(value, text).map_err(|cause| self.site.error(cause))
    }
}

impl Expressions for TextTemplate {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.parts.visit(visit);
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
