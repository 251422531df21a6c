//! Cost limit of an evaluation.
//!
//! CEL has no cost limit, and an object's owner chooses sizes: a text can be replaced by itself, or a list walked
//! inside itself. So everything that grows with a value is charged before it is computed or allocated, and one budget
//! covers a whole template. Functions see only their arguments, so the cost is passed to them as a hidden variable.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cel::ExecutionError;
use cel::common::types::Type;
use cel::common::value::{CowVal, StaticVal, Val};

use crate::cel::evaluation::constants::MAX_COST;
use crate::cel::evaluation::pattern::Patterns;

/// The hidden variable. The `@` keeps it out of the grammar.
pub(in crate::cel) const COST: &str = "@cost";

static COST_TYPE: Type = Type::new_unspecified_type(COST);

/// The cost of an evaluation so far, in units of about a tenth of a microsecond.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    spent: AtomicUsize,
    /// The patterns compiled so far. A pattern inside a loop is compiled once.
    pub(in crate::cel) patterns: Patterns,
}

impl Cost {
    /// Charges units before they are spent.
    ///
    /// # Errors
    /// Fails if this exceeds the budget. The evaluation then fails as a whole, see [`Self::is_exhausted`].
    pub(in crate::cel) fn charge(&self, units: usize) -> Result<(), ExecutionError> {
        // An evaluation stays on its thread; the atomic only makes it shareable.
        let spent = self.spent.load(Ordering::Relaxed).saturating_add(units);
        self.spent.store(spent, Ordering::Relaxed);
        if spent <= MAX_COST { Ok(()) } else { Err(ExecutionError::function_error(COST, "exhausted")) }
    }

    /// Returns the units that are left.
    pub(in crate::cel) fn left(&self) -> usize {
        MAX_COST.saturating_sub(self.spent.load(Ordering::Relaxed))
    }

    /// Returns true if the budget is exceeded. `||` and `&&` may have swallowed the error and loops may have ended
    /// early, so the result is invalid.
    pub(in crate::cel) fn is_exhausted(&self) -> bool {
        self.spent.load(Ordering::Relaxed) > MAX_COST
    }
}

/// The cost as a CEL value, for the hidden variable.
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

/// Splits arguments into the cost and the arguments proper.
pub(in crate::cel) fn split<'a, 'b, 'v>(
    arguments: &'a [CowVal<'b, 'v>],
) -> Result<(&'a Cost, &'a [CowVal<'b, 'v>]), ExecutionError> {
    let (first, rest) = arguments.split_first().ok_or_else(ExecutionError::missing_argument_or_target)?;
    let cost = first.downcast_ref::<CostValue>().ok_or_else(ExecutionError::missing_argument_or_target)?;
    Ok((&cost.0, rest))
}
