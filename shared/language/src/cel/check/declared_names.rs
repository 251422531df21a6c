//! The names that a target itself gives: shared expressions (`let`), the steps of a read or a correction, the URL that both
//! continue (`base`), and the hosts that URLs may lead to (`allowHosts`).
//!
//! A name of `let` stands for its expression wherever it is used, so that the limits of that place hold. This file must not
//! know where in a document the names are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::common::ast::{Expr, IdedExpr};

use crate::cel::check::known_desired::{KnownDesired, Shape};
use crate::cel::syntax::parts_mut;
use crate::network::host_patterns::HostPatterns;

/// Nodes of one expression once every name is replaced: names that use each other twice double it each time.
const MAX_NODES: usize = 2_000;

/// Why names cannot be replaced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// These stand for each other.
    #[error("these names stand for each other: {}", .0.iter().chain(.0.first()).cloned().collect::<Vec<_>>().join(" → "))]
    Circle(Vec<String>),
    /// The expression becomes too large.
    #[error("with the expressions of its names it has more than {MAX_NODES} parts")]
    TooLarge,
}

/// What a target names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// What a URL that begins with `/` continues; without `/` at its end.
    pub(crate) base: Option<String>,
    /// The hosts that a URL may lead to; without them hosts are literal, and any.
    pub(crate) hosts: Option<Arc<HostPatterns>>,
    /// The unix socket through which requests go, where there is one.
    pub(crate) socket: Option<Arc<str>>,
    /// The steps whose answers may be seen.
    pub(crate) steps: Vec<String>,
    /// The secrets that a correction may send.
    pub(crate) secrets: Vec<String>,
    /// What a correction may ask of the desired state.
    pub(crate) desired: Arc<KnownDesired>,
    /// What a publication may ask of what is observed.
    pub(crate) observed: Arc<Shape>,
    /// The expressions of `let`.
    pub(crate) lets: BTreeMap<String, IdedExpr>,
}

impl Names {
    /// Puts the expression of each name of `let` in its place.
    ///
    /// # Errors
    /// When names stand for each other, or the expression becomes too large.
    pub(crate) fn replace(&self, expression: &mut IdedExpr) -> Result<(), Refusal> {
        if self.lets.is_empty() {
            return Ok(());
        }
        replace(expression, &self.lets, &mut Vec::new(), &mut 0)
    }

    /// The same in what the name itself stands for.
    ///
    /// # Errors
    /// As for [`Names::replace`].
    pub(crate) fn replace_below(&self, name: &str, expression: &mut IdedExpr) -> Result<(), Refusal> {
        replace(expression, &self.lets, &mut vec![name.to_owned()], &mut 0)
    }
}

/// Replaces names, and the names in what they stand for; `path` holds those around, to find circles. Nodes that come in
/// take the number of the name that they replace, so that an error points at it.
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
    parts_mut(expression).into_iter().try_for_each(|part| replace(part, lets, path, nodes))
}

fn renumber(expression: &mut IdedExpr, id: u64) {
    expression.id = id;
    parts_mut(expression).into_iter().for_each(|part| renumber(part, id));
}
