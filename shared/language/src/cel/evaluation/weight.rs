//! Functions that charge for the values that an operation reads or copies, and return their argument unchanged.
//!
//! They wrap the arguments of cel's own functions when an expression is compiled, so that they run before those. See
//! [`crate::cel::check::rewrite`].

use cel::ExecutionError;
use cel::common::types::{CelBytes, CelInt, CelList, CelMap, CelOptional, CelString};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::of_bytes;
use crate::cel::evaluation::cost::{Cost, split};
use crate::cel::evaluation::equal::members;

/// Charges the bytes of a text.
pub(in crate::cel) const READ: &str = "@read";
/// Charges everything in a value.
pub(in crate::cel) const READ_ALL: &str = "@readAll";
/// Charges the copy of a value. Borrowed values cost nothing.
pub(in crate::cel) const COPY: &str = "@copy";
/// Charges a loop: its list, and its length times the cost of one round.
pub(in crate::cel) const LOOP: &str = "@loop";

type Evaluated<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

pub(in crate::cel) fn read<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    weigh(arguments, |value, cost| cost.charge(bytes(value).map_or(1, of_bytes)))
}

pub(in crate::cel) fn read_all<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    weigh(arguments, charge_all)
}

pub(in crate::cel) fn copy<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    weigh(arguments, charge_copy)
}

/// `@loop(cost, list, round)`.
pub(in crate::cel) fn charge_loop<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let round = arguments.pop().and_then(|round| round.downcast_ref::<CelInt>().map(|round| *round.inner()));
    let round = round.and_then(|round| usize::try_from(round).ok()).unwrap_or(1);
    weigh(arguments, |list, cost| {
        let rounds = list.as_iterable().and_then(|_| list.as_sizer()).map_or(0, |sizer| *sizer.size().inner());
        cost.charge(usize::try_from(rounds).unwrap_or(usize::MAX).saturating_mul(round))?;
        charge_copy(list, cost)
    })
}

fn weigh<'b, 'v>(
    mut arguments: Vec<CowVal<'b, 'v>>,
    charge: impl Fn(&dyn Val, &Cost) -> Result<(), ExecutionError>,
) -> Evaluated<'b, 'v> {
    let (cost, rest) = split(&arguments)?;
    rest.iter().try_for_each(|value| charge(value.as_ref(), cost))?;
    arguments.pop().ok_or_else(ExecutionError::missing_argument_or_target)
}

fn bytes(value: &dyn Val) -> Option<usize> {
    let text = value.downcast_ref::<CelString>().map(|text| text.inner().len());
    text.or_else(|| value.downcast_ref::<CelBytes>().map(|bytes| bytes.inner().len()))
}

fn charge_all(value: &dyn Val, cost: &Cost) -> Result<(), ExecutionError> {
    cost.charge(bytes(value).map_or(1, of_bytes))?;
    if let Some(inner) = value.downcast_ref::<CelOptional>().and_then(CelOptional::option) {
        return charge_all(inner, cost);
    }
    let fields = value.as_indexer().filter(|_| value.get_type().kind() == cel::common::types::Kind::Map);
    for member in members(value).into_iter().flatten() {
        charge_all(member, cost)?;
        if let Some(Ok(field)) = fields.map(|fields| fields.get(member)) {
            charge_all(field.as_ref(), cost)?;
        }
    }
    Ok(())
}

pub(in crate::cel) fn charge_copy(value: &dyn Val, cost: &Cost) -> Result<(), ExecutionError> {
    if value.downcast_ref::<CelString>().is_some_and(|text| text.as_borrowed().is_some()) {
        return cost.charge(1);
    }
    let is_owned = value.downcast_ref::<CelList>().is_some() || value.downcast_ref::<CelMap>().is_some();
    match value.downcast_ref::<CelOptional>().and_then(CelOptional::option) {
        Some(inner) => charge_copy(inner, cost),
        None if is_owned => charge_all(value, cost),
        None => cost.charge(bytes(value).map_or(1, of_bytes)),
    }
}
