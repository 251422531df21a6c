//! Names that a target declares: shared expressions (`let`), the steps of a read or a correction, the base URL
//! (`base`), and the hosts that URLs may use (`allowHosts`).
//!
//! A name of `let` is replaced by its expression at each use, so that the limits of that place apply.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::common::ast::{Expr, IdedExpr};

use crate::cel::check::known_desired::{KnownDesired, Shape};
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

impl Names {
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
    pub(crate) fn replace_below(&self, name: &str, expression: &mut IdedExpr) -> Result<(), Refusal> {
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
