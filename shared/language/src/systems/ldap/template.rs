//! A DN or a filter with `${…}`. Each expression is in a value, and its result is escaped for that place.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::{filter, name};
use crate::cel::{
    Cost, EvaluationError, Expression, Expressions, Piece, Scope, Site, TemplateError, Variables, pieces,
};
use crate::yaml::{Node, Reader};

/// Maximum length of a rendered DN or filter in bytes. Servers reject longer ones.
const MAX_BYTES: usize = 16 * 1024;

/// The syntax of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Name,
    Filter,
}

impl Form {
    fn check(self, text: &str) -> Result<(), &'static str> {
        match self {
            Self::Name => name::check(text),
            Self::Filter => filter::encode(text).map(drop),
        }
    }

    fn is_in_value(self, beginning: &str) -> bool {
        match self {
            Self::Name => name::is_in_value(beginning),
            Self::Filter => filter::is_in_value(beginning),
        }
    }
}

/// A DN or a filter with `${…}`.
#[derive(Debug)]
pub(super) struct LdapTemplate {
    site: Site,
    form: Form,
    parts: Vec<TemplatePart>,
}

#[derive(Debug)]
enum TemplatePart {
    Text(String),
    Expression(Expression),
}

impl LdapTemplate {
    /// Compiles a text.
    pub(super) fn parse(text: &str, site: &Site, form: Form) -> Result<Self, Vec<TemplateError>> {
        let (mut parts, mut errors, mut beginning) = (Vec::new(), Vec::new(), String::new());
        for piece in pieces(text).map_err(|error| vec![error])? {
            match piece {
                Piece::Literal(literal) => {
                    beginning.push_str(&literal);
                    parts.push(TemplatePart::Text(literal));
                }
                Piece::Expression { source, offset } => {
                    if !form.is_in_value(&beginning) {
                        errors
                            .push(TemplateError::new(offset - 2, "${…} has to be the value of an attribute: uid=${…}"));
                    }
                    // Any value, for the check of the text around it.
                    beginning.push('x');
                    match Expression::compile_marked(source, offset, site, |_| Ok(())) {
                        Ok(((), expression)) => parts.push(TemplatePart::Expression(expression)),
                        Err(found) => errors.extend(found),
                    }
                }
            }
        }
        if errors.is_empty() {
            errors.extend(form.check(&beginning).err().map(|mistake| TemplateError::new(0, mistake)));
        }
        if errors.is_empty() { Ok(Self { site: site.clone(), form, parts }) } else { Err(errors) }
    }

    /// Renders the text with escaped values.
    pub(super) fn render(&self, variables: &Variables<'_>) -> Result<String, EvaluationError> {
        let cost = Arc::<Cost>::default();
        let mut rendered = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => rendered.push_str(text),
                TemplatePart::Expression(expression) => {
                    let text = match expression.evaluate_within(variables, &cost)? {
                        Some(Value::String(text)) => text,
                        Some(Value::Number(number)) => number.to_string(),
                        _ => return Err(self.site.error("the value has to be a text or a number")),
                    };
                    // An empty value would change the meaning: `(uid=a*)` with `a` empty matches every entry.
                    if text.is_empty() {
                        return Err(self.site.error("the value is empty"));
                    }
                    rendered.push_str(&match self.form {
                        Form::Name => escaped_in_name(&text),
                        Form::Filter => escaped_in_filter(&text),
                    });
                }
            }
            if rendered.len() > MAX_BYTES {
                return Err(self.site.error(format!("the text is longer than {MAX_BYTES} bytes")));
            }
        }
        Ok(rendered)
    }

    /// Returns a rendered filter in BER.
    pub(super) fn encode(&self, rendered: &str) -> Result<Vec<u8>, EvaluationError> {
        filter::encode(rendered).map_err(|mistake| self.site.error(mistake))
    }
}

impl Expressions for LdapTemplate {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        for part in &self.parts {
            if let TemplatePart::Expression(expression) = part {
                visit(expression);
            }
        }
    }
}

/// Returns a reader of DNs or filters in this scope.
pub(super) fn template(form: Form, scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<LdapTemplate> {
    move |reader, node, place| {
        let text = reader.text(node, place)?;
        let site = reader.site(place, scope);
        reader.compiled(node, &site, LdapTemplate::parse(text, &site, form))
    }
}

/// Returns the text as an attribute value of a DN.
fn escaped_in_name(text: &str) -> String {
    let last = text.chars().count().saturating_sub(1);
    escaped(text, |at, letter| {
        matches!(letter, '"' | '+' | ',' | ';' | '<' | '>' | '\\' | '=' | '#')
            || letter.is_ascii_control()
            || letter == ' ' && (at == 0 || at == last)
    })
}

/// Returns the text as an assertion value of a filter.
fn escaped_in_filter(text: &str) -> String {
    escaped(text, |_, letter| matches!(letter, '*' | '(' | ')' | '\\' | '\0'))
}

/// Replaces characters by a backslash and their two hexadecimal digits, which both RFCs allow. They are all ASCII.
fn escaped(text: &str, is_special: impl Fn(usize, char) -> bool) -> String {
    let mut written = String::with_capacity(text.len());
    for (at, letter) in text.chars().enumerate() {
        if is_special(at, letter) {
            // Writing to a text cannot fail.
            let _ = write!(written, "\\{:02X}", u32::from(letter));
        } else {
            written.push(letter);
        }
    }
    written
}
