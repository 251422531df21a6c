//! What one evaluation may cost, and what it has cost so far.
//!
//! CEL has no cost limit of its own, and an object's owner chooses sizes: a text that is replaced by itself, a list that is walked
//! inside itself. So whatever grows with a value is charged before it is done or allocated, and one budget holds for a whole
//! template. The evaluation is handed to functions as a hidden variable, since they see nothing but their arguments.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cel::ExecutionError;
use cel::common::types::Type;
use cel::common::value::{CowVal, StaticVal, Val};

use crate::cel::evaluation::constants::MAX_COST;
use crate::cel::evaluation::pattern::Patterns;

/// The hidden variable; the `@` keeps it out of what can be written.
pub(in crate::cel) const COST: &str = "@cost";

static COST_TYPE: Type = Type::new_unspecified_type(COST);

/// What an evaluation has cost so far, in units of about a tenth of a microsecond.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    spent: AtomicUsize,
    /// The patterns that it has compiled: one in a loop is compiled once.
    pub(in crate::cel) patterns: Patterns,
}

impl Cost {
    /// Notes that so many units are about to be spent.
    ///
    /// # Errors
    /// When that is more than one evaluation may; the evaluation then fails as a whole, see [`Self::is_exhausted`].
    pub(in crate::cel) fn charge(&self, units: usize) -> Result<(), ExecutionError> {
        // An evaluation stays on its thread; the atomic only makes it shareable.
        let spent = self.spent.load(Ordering::Relaxed).saturating_add(units);
        self.spent.store(spent, Ordering::Relaxed);
        if spent <= MAX_COST { Ok(()) } else { Err(ExecutionError::function_error(COST, "exhausted")) }
    }

    /// What is left.
    pub(in crate::cel) fn left(&self) -> usize {
        MAX_COST.saturating_sub(self.spent.load(Ordering::Relaxed))
    }

    /// Returns true if too much was asked for. `||` and `&&` may have swallowed the error, and loops ended early: the result
    /// means nothing.
    pub(in crate::cel) fn is_exhausted(&self) -> bool {
        self.spent.load(Ordering::Relaxed) > MAX_COST
    }
}

/// The cost as the value of the hidden variable.
#[derive(Clone, Debug)]
pub(in crate::cel) struct CostValue(pub(in crate::cel) Arc<Cost>);

impl Val for CostValue {
    fn get_type(&self) -> &Type {
        &COST_TYPE
    }

    fn cel_type() -> &'static Type {
        &COST_TYPE
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for CostValue {}

/// The cost and the arguments proper of a function that is handed it.
pub(in crate::cel) fn split<'a, 'b, 'v>(
    arguments: &'a [CowVal<'b, 'v>],
) -> Result<(&'a Cost, &'a [CowVal<'b, 'v>]), ExecutionError> {
    let (first, rest) = arguments.split_first().ok_or_else(ExecutionError::missing_argument_or_target)?;
    let cost = first.downcast_ref::<CostValue>().ok_or_else(ExecutionError::missing_argument_or_target)?;
    Ok((&cost.0, rest))
}
