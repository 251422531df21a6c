//! Equality and membership for every kind of list and map.
//!
//! cel's lists and maps only equal cel's own, so a list of the object would differ from the same list written in an
//! expression. Therefore `==`, `!=` and `in` are redirected here when an expression is compiled.

use cel::ExecutionError;
use cel::common::types::{CelBool, CelOptional, CelString, Kind};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::of_bytes;
use crate::cel::evaluation::cost::{Cost, split};

/// The function that replaces `==`. The `@` keeps it out of the grammar.
pub(in crate::cel) const EQUALS: &str = "@equals";
/// The function that replaces `in`.
pub(in crate::cel) const CONTAINS: &str = "@in";

/// Returns true if two values are equal: lists item by item, maps key by key, numbers by value.
///
/// Stops early if the budget is exhausted. The evaluation then fails as a whole.
pub(in crate::cel) fn equal(left: &dyn Val, right: &dyn Val, cost: &Cost) -> bool {
    let bytes = left.downcast_ref::<CelString>().map_or(0, |text| text.inner().len());
    if cost.charge(of_bytes(bytes)).is_err() {
        return false;
    }
    match (left.get_type().kind(), right.get_type().kind()) {
        (Kind::List, Kind::List) => equal_lists(left, right, cost).unwrap_or(false),
        (Kind::Map, Kind::Map) => equal_maps(left, right, cost).unwrap_or(false),
        (Kind::List | Kind::Map, _) | (_, Kind::List | Kind::Map) => false,
        _ => match (left.downcast_ref::<CelOptional>(), right.downcast_ref::<CelOptional>()) {
            (Some(left), Some(right)) => match (left.option(), right.option()) {
                (Some(left), Some(right)) => equal(left, right, cost),
                (left, right) => left.is_none() && right.is_none(),
            },
            _ => left.equals(right),
        },
    }
}

fn same_size(left: &dyn Val, right: &dyn Val) -> Option<bool> {
    Some(left.as_sizer()?.size() == right.as_sizer()?.size())
}

fn equal_lists(left: &dyn Val, right: &dyn Val, cost: &Cost) -> Option<bool> {
    Some(same_size(left, right)? && members(left)?.zip(members(right)?).all(|(left, right)| equal(left, right, cost)))
}

fn equal_maps(left: &dyn Val, right: &dyn Val, cost: &Cost) -> Option<bool> {
    let (ours, theirs) = (left.as_indexer()?, right.as_indexer()?);
    let is_equal = |key: &dyn Val| match (ours.get(key), theirs.get(key)) {
        (Ok(ours), Ok(theirs)) => equal(ours.as_ref(), theirs.as_ref(), cost),
        _ => false,
    };
    Some(same_size(left, right)? && members(left)?.all(is_equal))
}

/// Returns the items of a list, or the keys of a map. They may be charged here, all together.
pub(in crate::cel) fn members<'b, 'v>(
    value: &'b (dyn Val + 'v),
) -> Option<impl Iterator<Item = &'b (dyn Val + 'v)> + use<'b, 'v>> {
    let mut members = value.as_iterable()?.iter();
    Some(std::iter::from_fn(move || members.next()))
}

/// `==` as a function of the environment.
pub(in crate::cel) fn equals<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    match split(&arguments)? {
        (cost, [left, right]) => Ok(CowVal::owned(CelBool::from(equal(left.as_ref(), right.as_ref(), cost)))),
        _ => Err(ExecutionError::missing_argument_or_target()),
    }
}

/// `in` as a function of the environment.
pub(in crate::cel) fn contains<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let (cost, [value, container]) = split(&arguments)? else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let refused = || {
        let types = [value, container].map(|argument| argument.get_type().name().to_owned());
        ExecutionError::no_such_overload("@in", types.to_vec())
    };
    let is_list = container.get_type().kind() == Kind::List;
    let found = match is_list.then(|| members(container.as_ref())).flatten() {
        Some(mut items) => items.any(|item| equal(item, value.as_ref(), cost)),
        None => container.as_container().ok_or_else(refused)?.contains(value.as_ref()).map_err(|_| refused())?,
    };
    Ok(CowVal::owned(CelBool::from(found)))
}
