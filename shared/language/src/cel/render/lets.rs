//! `let`: named expressions of a target, parsed and checked once.

use std::sync::Arc;

use cel::common::ast::SourceInfo;

use crate::cel::check::declared_names::{Names, Refusal};
use crate::cel::check::site::Site;
use crate::cel::check::variables::{Scope, VARIABLES};
use crate::cel::check::{TYPES, check};
use crate::cel::functions::table::is_namespace;
use crate::cel::syntax::parse::{Piece, TemplateError, pieces};
use crate::cel::syntax::parse_source;

/// Reserved words of CEL.
const RESERVED: &[&str] = &["false", "in", "null", "true"];

/// Errors of entries: the index of the entry, and its errors by position in its text.
pub(crate) type LetErrors = Vec<(usize, Vec<TemplateError>)>;

impl Names {
    /// Defines the entries of `let`, each a name and a text.
    ///
    /// # Errors
    /// Returns every mistake in them.
    pub(crate) fn define(&mut self, entries: &[(&str, &str)]) -> Result<(), LetErrors> {
        let mut errors = LetErrors::new();
        let mut parsed = Vec::new();
        for (position, (name, text)) in entries.iter().enumerate() {
            match self.parse_entry(name, text) {
                Ok((info, offset)) => parsed.push((position, *name, info, offset)),
                Err(found) => errors.push((position, vec![found])),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        for (position, name, info, offset) in parsed {
            if let Err(found) = self.check_entry(name, &info) {
                errors.push((position, found.into_iter().map(|error| error.shifted(offset)).collect()));
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn parse_entry(&mut self, name: &str, text: &str) -> Result<(SourceInfo, usize), TemplateError> {
        check_name(name).map_err(|message| TemplateError::new(0, message))?;
        let found = pieces(text)?;
        let [Piece::Expression { source, offset }] = found.as_slice() else {
            return Err(TemplateError::new(0, "write one \"${…}\" and nothing around it"));
        };
        let (expression, info) = parse_source(source).map_err(|error| error.shifted(*offset))?;
        self.lets.insert(name.to_owned(), expression);
        Ok((info, *offset))
    }

    /// Checks an entry independently of its uses, after all entries are known.
    fn check_entry(&self, name: &str, info: &SourceInfo) -> Result<(), Vec<TemplateError>> {
        let Some(mut expression) = self.lets.get(name).cloned() else { return Ok(()) };
        let site = Site { names: Arc::new(self.clone()), ..Site::new(name, Scope::Anywhere) };
        check(&mut expression, info, &site)?;
        match self.replace_below(name, &mut expression) {
            // An entry that only leads into a circle is not reported. The entries of the circle are.
            Err(Refusal::Circle(names)) if names.iter().min().is_none_or(|first| first != name) => Ok(()),
            Err(refusal) => Err(vec![TemplateError::new(0, refusal.to_string())]),
            Ok(()) => Ok(()),
        }
    }
}

/// Returns true if the text is a valid identifier.
pub(crate) fn is_word(name: &str) -> bool {
    name.starts_with(|first: char| !first.is_ascii_digit())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn check_name(name: &str) -> Result<(), String> {
    if !is_word(name) {
        return Err(format!("`{name}` is no name: use letters, digits and _, no digit first"));
    }
    if [VARIABLES, TYPES, RESERVED].iter().any(|words| words.contains(&name)) || is_namespace(name) {
        return Err(format!("`{name}` means something in the language already; give it another name"));
    }
    Ok(())
}
