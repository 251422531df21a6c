//! Names that a target declares: shared expressions (`let`), the steps of a read or a correction, the base URL
//! (`base`), and the hosts that URLs may use (`allowHosts`).
//!
//! A name of `let` is replaced by its expression at each use, so that the limits of that place apply.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::common::ast::{Expr, IdedExpr, SourceInfo};

use crate::cel::check::known_desired::{KnownDesired, Shape};
use crate::cel::check::site::Site;
use crate::cel::check::variables::{Scope, VARIABLES};
use crate::cel::check::{TYPES, check};
use crate::cel::functions::table::is_namespace;
use crate::cel::syntax::parse_source;
use crate::cel::syntax::pieces::{TemplateError, one_expression};
use crate::cel::syntax::tree::children_mut;
use crate::network::host_patterns::HostPatterns;

/// Maximum number of nodes of one expression after all names are replaced. Names that use each other twice double
/// it each time.
const MAX_NODES: usize = 2_000;

/// Reasons why names cannot be replaced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The names refer to each other in a circle.
    #[error("these names stand for each other: {}", .0.iter().chain(.0.first()).cloned().collect::<Vec<_>>().join(" → "))]
    Circle(Vec<String>),
    /// The expression becomes too large.
    #[error("with the expressions of its names it has more than {MAX_NODES} parts")]
    TooLarge,
}

/// The names that a target declares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// The base of URLs that begin with `/`, without a trailing `/`.
    pub(crate) base: Option<String>,
    /// The hosts that a URL may use. `None` allows any host, but hosts must be literal.
    pub(crate) hosts: Option<Arc<HostPatterns>>,
    /// The unix socket for requests, if the target declares one.
    pub(crate) socket: Option<Arc<str>>,
    /// The earlier steps whose responses are visible.
    pub(crate) steps: Vec<String>,
    /// True if the step is sent once for each `item` of a list.
    pub(crate) item: bool,
    /// The secrets that a correction may send.
    pub(crate) secrets: Vec<String>,
    /// The keys of the desired state that a correction may read.
    pub(crate) desired: Arc<KnownDesired>,
    /// The keys of the observed state that a publication may read.
    pub(crate) observed: Arc<Shape>,
    /// The expressions of `let`.
    pub(crate) lets: BTreeMap<String, IdedExpr>,
}

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
        let (source, offset) = one_expression(text)?;
        let (expression, info) = parse_source(source).map_err(|error| error.shifted(offset))?;
        self.lets.insert(name.to_owned(), expression);
        Ok((info, offset))
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

    /// Replaces each name of `let` by its expression.
    ///
    /// # Errors
    /// Fails if names refer to each other in a circle, or the expression becomes too large.
    pub(crate) fn replace(&self, expression: &mut IdedExpr) -> Result<(), Refusal> {
        if self.lets.is_empty() {
            return Ok(());
        }
        replace(expression, &self.lets, &mut Vec::new(), &mut 0)
    }

    /// Replaces names in the expression of `name` itself.
    ///
    /// # Errors
    /// Same as [`Names::replace`].
    fn replace_below(&self, name: &str, expression: &mut IdedExpr) -> Result<(), Refusal> {
        replace(expression, &self.lets, &mut vec![name.to_owned()], &mut 0)
    }
}

/// Replaces names recursively. `path` holds the enclosing names, to find circles. Inserted nodes take the number of the
/// name that they replace, so that an error points at that name.
fn replace(
    expression: &mut IdedExpr,
    lets: &BTreeMap<String, IdedExpr>,
    path: &mut Vec<String>,
    nodes: &mut usize,
) -> Result<(), Refusal> {
    *nodes += 1;
    if *nodes > MAX_NODES {
        return Err(Refusal::TooLarge);
    }
    if let Expr::Ident(name) = &expression.expr
        && let Some(meant) = lets.get(name)
    {
        if let Some(first) = path.iter().position(|around| around == name) {
            return Err(Refusal::Circle(path[first..].to_vec()));
        }
        path.push(name.clone());
        let id = expression.id;
        *expression = meant.clone();
        replace(expression, lets, path, nodes)?;
        renumber(expression, id);
        path.pop();
        return Ok(());
    }
    children_mut(expression).into_iter().try_for_each(|part| replace(part, lets, path, nodes))
}

fn renumber(expression: &mut IdedExpr, id: u64) {
    expression.id = id;
    children_mut(expression).into_iter().for_each(|part| renumber(part, id));
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
