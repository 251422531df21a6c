//! The arguments of a function that charges for its work.

use cel::ExecutionError;
use cel::common::types::{CelInt, CelString};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::of_bytes;
use crate::cel::evaluation::cost::{Cost, split};

pub(super) type Evaluated<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// The arguments of one call, without the cost, which is the first.
pub(super) struct Arguments<'a, 'b, 'v> {
    function: &'static str,
    pub(super) cost: &'a Cost,
    pub(super) values: &'a [CowVal<'b, 'v>],
}

impl<'a, 'b, 'v> Arguments<'a, 'b, 'v> {
    pub(super) fn of(function: &'static str, arguments: &'a [CowVal<'b, 'v>]) -> Result<Self, ExecutionError> {
        split(arguments).map(|(cost, values)| Self { function, cost, values })
    }

    /// Returns the error of a call with wrong types.
    pub(super) fn refused(&self) -> ExecutionError {
        let types = self.values.iter().map(|value| value.get_type().name().to_owned());
        ExecutionError::no_such_overload(self.function, types.collect())
    }

    /// Returns an error with its reason, which is a fixed text.
    pub(super) fn failed(&self, reason: impl ToString) -> ExecutionError {
        ExecutionError::function_error(self.function, reason)
    }

    /// Returns the only argument.
    pub(super) fn only(&self) -> Result<&'a (dyn Val + 'v), ExecutionError> {
        match self.values {
            [value] => Ok(value.as_ref()),
            _ => Err(self.refused()),
        }
    }

    pub(super) fn text(&self, position: usize) -> Result<&'a str, ExecutionError> {
        let found = self.values.get(position).and_then(|value| value.downcast_ref::<CelString>());
        found.map(CelString::inner).ok_or_else(|| self.refused())
    }

    /// Returns an optional argument, which is a whole number.
    pub(super) fn whole(&self, position: usize) -> Result<Option<i64>, ExecutionError> {
        let whole = |value: &CowVal<'_, '_>| value.downcast_ref::<CelInt>().map(|whole| *whole.inner());
        self.values.get(position).map(|value| whole(value).ok_or_else(|| self.refused())).transpose()
    }

    /// Returns the limit argument. A negative number means no limit.
    pub(super) fn limit(&self, position: usize) -> Result<usize, ExecutionError> {
        Ok(self.whole(position)?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX))
    }

    /// Charges for reading or writing texts.
    pub(super) fn charge(&self, texts: &[&str]) -> Result<(), ExecutionError> {
        texts.iter().try_for_each(|text| self.cost.charge(of_bytes(text.len())))
    }
}
