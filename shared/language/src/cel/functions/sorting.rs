//! `list.sort()`: scalars in ascending order.
//!
//! It follows cel-go's lists extension, but numbers of all types share one order, because JSON does
//! not distinguish them.

use std::cmp::Ordering;

use cel::common::types::{CelBool, CelList, CelString, Kind};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::{MEMBER_COST, of_bytes};
use crate::cel::evaluation::convert::decimal;
use crate::cel::evaluation::equal::members;
use crate::cel::evaluation::weight::charge_copy;
use crate::cel::functions::arguments::{Arguments, Evaluated};
use crate::values::decimal::Decimal;

/// The sort key of an item.
enum SortKey<'a> {
    Truth(bool),
    Number(Decimal),
    Text(&'a str),
}

impl<'a> SortKey<'a> {
    /// Returns the key of a scalar.
    fn of(value: &'a dyn Val) -> Option<Self> {
        match value.get_type().kind() {
            Kind::Boolean => value.downcast_ref::<CelBool>().map(|truth| Self::Truth(*truth.inner())),
            Kind::String => value.downcast_ref::<CelString>().map(|text| Self::Text(text.inner())),
            _ => decimal(value).map(Self::Number),
        }
    }

    /// Compares two keys. `None` if their types differ, for example a number and a text.
    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Truth(left), Self::Truth(right)) => Some(left.cmp(right)),
            (Self::Number(left), Self::Number(right)) => Some(left.order(*right)),
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            _ => 0,
        }
    }
}

/// `list.sort()`: the sorted list.
pub(in crate::cel) fn sort<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("sort", &arguments)?;
    let refusal = || call.failed("needs a list of only texts, only numbers or only booleans");
    let list = call.values.first().filter(|list| list.get_type().kind() == Kind::List);
    let items = list.and_then(|list| members(list.as_ref())).ok_or_else(refusal)?;
    let mut sorted: Vec<(SortKey<'_>, &(dyn Val + 'v))> = Vec::new();
    let mut bytes = 0_usize;
    for member in items {
        call.cost.charge(MEMBER_COST)?;
        charge_copy(member, call.cost)?;
        let key = SortKey::of(member).ok_or_else(refusal)?;
        if sorted.first().is_some_and(|(first, _)| first.order(&key).is_none()) {
            return Err(refusal());
        }
        bytes = bytes.saturating_add(key.bytes());
        sorted.push((key, member));
    }
    // Each item is compared with about as many others as its position has binary digits.
    let rounds = sorted.len().checked_ilog2().map_or(0, |log| log as usize + 1);
    call.cost.charge(of_bytes(bytes).saturating_add(sorted.len()).saturating_mul(rounds))?;
    sorted.sort_by(|(left, _), (right, _)| left.order(right).unwrap_or(Ordering::Equal));
    let items: Vec<_> = sorted.into_iter().map(|(_, member)| member.clone_as_boxed()).collect();
    Ok(CowVal::owned(CelList::from(items)))
}
