//! One SQL statement with `${…}`, rendered as a query with parameters or as text with literals.

use std::sync::Arc;

use drift_api::secrets::labelled_secrets::CredentialError;
use serde_json::Value;

use crate::cel::evaluation::constants::MAX_RENDERED_BYTES;
use crate::cel::{
    Cost, EvaluationError, Expression, Expressions, Part, Parts, Piece, Site, TemplateError, Variables, pieces,
};
use crate::systems::sql::dialect::DialectRules as _;
use crate::systems::sql::places::{Places, behind_comments, has_word};
use crate::systems::sql::query::SqlQuery;
use crate::systems::sql::words::{Role, take_word};
use crate::systems::sql::{Connection, Dialect, mysql};
use crate::systems::steps::{self, VisitParts};

/// One SQL statement with `${…}`.
#[derive(Debug)]
pub struct SqlTemplate {
    dialect: Dialect,
    site: Site,
    parts: Parts<Role>,
}

impl SqlTemplate {
    /// Compiles a statement.
    ///
    /// # Errors
    /// Returns every mistake in it.
    pub fn parse(dialect: Dialect, text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        let pieces = pieces(text).map_err(|error| vec![error])?;
        let (mut places, mut parts, mut errors) = (Places::new(dialect), Vec::new(), Vec::new());
        let mut end = 0;
        for (position, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Literal(literal) => match places.read(literal) {
                    Ok(kept) => parts.push(Part::Text(kept)),
                    Err((offset, mistake)) => return Err(with(errors, end + offset, mistake)),
                },
                Piece::Expression { source, offset } => {
                    end = offset + source.chars().count() + 1;
                    let next = pieces.get(position + 1);
                    let behind =
                        next.and_then(|next| if let Piece::Literal(text) = next { text.chars().next() } else { None });
                    let is_followed = matches!(next, Some(Piece::Expression { .. }));
                    if let Err(mistake) = places.take_expression(behind, is_followed) {
                        return Err(with(errors, offset - 2, mistake));
                    }
                    match Expression::compile_marked(source, *offset, site, |expression| take_word(dialect, expression))
                    {
                        Ok((role, expression)) => parts.push(Part::Expression(role, expression)),
                        Err(found) => errors.extend(found),
                    }
                }
            }
        }
        if let Err(mistake) = places.finish() {
            errors.push(TemplateError::new(0, mistake));
        }
        let is_empty = |part: &Part<Role>| matches!(part, Part::Text(text) if text.trim().is_empty());
        if errors.is_empty() && parts.iter().all(is_empty) {
            errors.push(TemplateError::new(0, "the statement is empty"));
        }
        if errors.is_empty() { Ok(Self { dialect, site: site.clone(), parts: Parts(parts) }) } else { Err(errors) }
    }

    /// Returns the statement with the same text for each value.
    pub(crate) fn with_placeholder(&self, placeholder: &str) -> String {
        self.parts.with_values(|_| placeholder)
    }

    /// Returns true if it begins, after comments, with one of these words in any case.
    pub(crate) fn begins_with(&self, words: &[&str]) -> bool {
        let Some(Part::Text(text)) = self.parts.0.first() else { return false };
        let word: String = behind_comments(self.dialect, text).chars().take_while(char::is_ascii_alphabetic).collect();
        words.iter().any(|known| known.eq_ignore_ascii_case(&word))
    }

    /// Returns true if its text contains a word, in any case.
    pub(crate) fn names(&self, word: &str) -> bool {
        self.parts.0.iter().any(|part| matches!(part, Part::Text(text) if has_word(text, word)))
    }

    /// Visits the expressions in it.
    ///
    /// Those that name the changed resource are its address. For a DELETE, all of them are. For ALTER, DROP, UPDATE or
    /// TRUNCATE, the first name is, which may have several parts. An UPDATE selects its rows, so expressions after its
    /// first WHERE count too. A GRANT grants the names in front of its TO.
    pub(crate) fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>) {
        let is_whole = self.begins_with(&["delete"]);
        let named = self.begins_with(&["alter", "drop", "update", "truncate"]);
        let (chooses_rows, mut has_where) = (self.begins_with(&["update"]), false);
        let (mut is_open, mut has_begun) = (is_whole || named, false);
        let mut grants = self.begins_with(&["grant"]);
        for part in &self.parts.0 {
            match part {
                Part::Text(text) => {
                    is_open &= is_whole || !has_begun || text == ".";
                    has_where |= chooses_rows && has_word(text, "where");
                    grants &= !text.split_whitespace().any(|word| word.eq_ignore_ascii_case("to"));
                }
                Part::Expression(word, expression) => {
                    has_begun |= word.is_name();
                    let is_address = has_where || is_open && (is_whole || has_begun);
                    let is_granted = grants && word.is_name();
                    let role = if is_granted { steps::Role::Grant } else { steps::Role::Body };
                    visit(if is_address { steps::Role::Address } else { role }, expression);
                }
            }
        }
    }

    /// Renders the statement with a parameter for each value.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object, or yields a value that the server does not accept.
    pub fn query(
        &self,
        connection: Result<Connection, CredentialError>,
        variables: &Variables<'_>,
    ) -> Result<SqlQuery, EvaluationError> {
        let mut parameters = Vec::new();
        let text = self.render(variables, |value| {
            let (text, marker) = self.dialect.parameter(value, parameters.len() + 1)?;
            parameters.push(text);
            Ok(marker)
        })?;
        Ok(SqlQuery { connection, text: text.into(), parameters })
    }

    /// Renders the statement with its values as literals.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object, or yields a value that the server does not accept.
    pub fn statement(&self, variables: &Variables<'_>) -> Result<String, EvaluationError> {
        self.render(variables, |value| self.dialect.literal(value))
    }

    fn render(
        &self,
        variables: &Variables<'_>,
        mut of_value: impl FnMut(&Value) -> Result<String, &'static str>,
    ) -> Result<String, EvaluationError> {
        let cost = Arc::<Cost>::default();
        let write = |role: &Role, expression: &Expression| {
            let value = expression.evaluate_within(variables, &cost)?;
            let value = value.ok_or_else(|| {
                self.site.error("an optional without value cannot stand in a statement; write .orValue(null)")
            })?;
            let written = match role {
                Role::Value => of_value(&value),
                Role::Ident => self.dialect.ident(&value),
                Role::Idents => self.dialect.idents(&value),
                Role::Account => mysql::literal::account(&value),
                Role::Sql => value.as_str().map(str::to_owned).ok_or("sql takes a text"),
            };
            written.map_err(|mistake| self.site.error(mistake))
        };
        self.parts.render(write, |length| match length {
            0..=MAX_RENDERED_BYTES => Ok(()),
            _ => Err(self.site.error(format!("the statement is larger than {MAX_RENDERED_BYTES} bytes"))),
        })
    }
}

impl Expressions for SqlTemplate {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.parts.visit(visit);
    }
}

fn with(mut errors: Vec<TemplateError>, offset: usize, mistake: &str) -> Vec<TemplateError> {
    errors.push(TemplateError::new(offset, mistake));
    errors
}
