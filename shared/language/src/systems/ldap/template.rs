//! A DN or a filter with `${…}`. Each expression is in a value, and its result is escaped for that place.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::{filter, name};
use crate::cel::{
    Cost, EvaluationError, Expression, Expressions, Part, Parts, Piece, Scope, Site, TemplateError, Variables, pieces,
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
    parts: Parts<()>,
}

impl LdapTemplate {
    /// Compiles a text.
    pub(super) fn parse(text: &str, site: &Site, form: Form) -> Result<Self, Vec<TemplateError>> {
        let pieces = pieces(text).map_err(|error| vec![error])?;
        let mut beginning = String::new();
        let parts = Parts::compile(&pieces, |piece| match piece {
            Piece::Literal(literal) => {
                beginning.push_str(literal);
                Ok(Part::Text(literal.clone()))
            }
            Piece::Expression { source, offset } => {
                let is_in_value = form.is_in_value(&beginning);
                // Any value, for the check of the text around it.
                beginning.push('x');
                let compiled = Expression::compile_marked(source, *offset, site, |_| Ok(()));
                if is_in_value {
                    return compiled.map(|((), expression)| Part::Expression((), expression));
                }
                let misplaced = "${…} has to be the value of an attribute: uid=${…}";
                let mistake = TemplateError::new(offset - 2, misplaced);
                Err(std::iter::once(mistake).chain(compiled.err().unwrap_or_default()).collect())
            }
        })?;
        form.check(&beginning).map_err(|mistake| vec![TemplateError::new(0, mistake)])?;
        Ok(Self { site: site.clone(), form, parts })
    }

    /// Renders the text with escaped values.
    pub(super) fn render(&self, variables: &Variables<'_>) -> Result<String, EvaluationError> {
        let cost = Arc::<Cost>::default();
        let write = |(): &(), expression: &Expression| {
            let text = match expression.evaluate_within(variables, &cost)? {
                Some(Value::String(text)) => text,
                Some(Value::Number(number)) => number.to_string(),
                _ => return Err(self.site.error("the value has to be a text or a number")),
            };
            // An empty value would change the meaning: `(uid=a*)` with `a` empty matches every entry.
            if text.is_empty() {
                return Err(self.site.error("the value is empty"));
            }
            Ok(match self.form {
                Form::Name => escaped_in_name(&text),
                Form::Filter => escaped_in_filter(&text),
            })
        };
        self.parts.render(write, |length| match length {
            0..=MAX_BYTES => Ok(()),
            _ => Err(self.site.error(format!("the text is longer than {MAX_BYTES} bytes"))),
        })
    }

    /// Returns a rendered filter in BER.
    pub(super) fn encode(&self, rendered: &str) -> Result<Vec<u8>, EvaluationError> {
        filter::encode(rendered).map_err(|mistake| self.site.error(mistake))
    }
}

impl Expressions for LdapTemplate {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.parts.visit(visit);
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
