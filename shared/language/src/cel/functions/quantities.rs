//! Kubernetes quantities in expressions: `quantity('1Gi').isLessThan(…)`.
//!
//! A quantity is one exact number, so that two notations of it are equal. Unlike in Kubernetes it may also be written
//! as a number, because specs contain both.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;

use cel::ExecutionError;
use cel::common::types::{CelBool, CelDouble, CelInt, CelString, Type};
use cel::common::value::{CowVal, StaticVal, Val};

use crate::cel::evaluation::constants::QUANTITY;
use crate::cel::evaluation::convert::decimal;
use crate::cel::functions::arguments::{Arguments, Evaluated};
use crate::values::decimal::Decimal;
use crate::values::units::parse_quantity;

static QUANTITY_TYPE: Type = Type::new_unspecified_type(QUANTITY);

/// A quantity as a CEL value.
#[derive(Clone, Copy)]
struct Quantity(Decimal);

// Hides the content: debug output must not contain an object's values.
impl fmt::Debug for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Quantity")
    }
}

impl Val for Quantity {
    fn get_type(&self) -> &Type {
        &QUANTITY_TYPE
    }

    fn cel_type() -> &'static Type {
        &QUANTITY_TYPE
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| other.0 == self.0)
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        Box::new(*self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Quantity {}

/// Parses a text or a number.
fn parse(value: &dyn Val) -> Option<Decimal> {
    match value.downcast_ref::<CelString>() {
        Some(text) => parse_quantity(text.inner()),
        None => decimal(value),
    }
}

/// Returns the number of the argument of `quantity` and `isQuantity`, after charging for it.
fn number(call: &Arguments<'_, '_, '_>) -> Result<Option<Decimal>, ExecutionError> {
    let value = call.only()?;
    call.charge(&[value.downcast_ref::<CelString>().map_or("", CelString::inner)])?;
    Ok(parse(value))
}

/// `quantity(x)`: a parsed quantity.
pub(in crate::cel) fn quantity<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of(QUANTITY, &arguments)?;
    let refusal = || call.failed("needs a Kubernetes quantity, such as 1Gi, 500m or 2");
    number(&call)?.map(|number| CowVal::owned(Quantity(number))).ok_or_else(refusal)
}

/// `isQuantity(x)`: true if it parses.
pub(in crate::cel) fn is_quantity<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let number = number(&Arguments::of("isQuantity", &arguments)?)?;
    Ok(CowVal::owned(CelBool::from(number.is_some())))
}

/// Returns the argument at this position, which is a quantity.
fn at(position: usize, call: &Arguments<'_, '_, '_>) -> Result<Decimal, ExecutionError> {
    let found = call.values.get(position).and_then(|value| value.downcast_ref::<Quantity>());
    found.map(|quantity| quantity.0).ok_or_else(|| call.refused())
}

/// `q.isInteger()`: true if `asInteger` accepts it.
pub(in crate::cel) fn is_integer<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let number = at(0, &Arguments::of("isInteger", &arguments)?)?;
    Ok(CowVal::owned(CelBool::from(number.to_i64().is_some())))
}

/// `q.asInteger()`: as an exact `int`.
pub(in crate::cel) fn as_integer<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("asInteger", &arguments)?;
    let refusal = || call.failed("the quantity is no whole number of 64 bits");
    at(0, &call)?.to_i64().map(|whole| CowVal::owned(CelInt::from(whole))).ok_or_else(refusal)
}

/// `q.asApproximateFloat()`: as the nearest `double`.
pub(in crate::cel) fn as_approximate_float<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let number = at(0, &Arguments::of("asApproximateFloat", &arguments)?)?;
    Ok(CowVal::owned(CelDouble::from(number.to_f64())))
}

/// `q.sign()`: 1, 0 or -1.
pub(in crate::cel) fn sign<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let number = at(0, &Arguments::of("sign", &arguments)?)?;
    Ok(CowVal::owned(CelInt::from(number.order(Decimal::new(0, 0)) as i64)))
}

fn order(function: &'static str, arguments: &[CowVal<'_, '_>]) -> Result<Ordering, ExecutionError> {
    let call = Arguments::of(function, arguments)?;
    Ok(at(0, &call)?.order(at(1, &call)?))
}

/// `q.compareTo(other)`: 1 if it is greater, 0 if equal, -1 if less.
pub(in crate::cel) fn compare_to<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    Ok(CowVal::owned(CelInt::from(order("compareTo", &arguments)? as i64)))
}

/// `q.isGreaterThan(other)`: true if it is greater.
pub(in crate::cel) fn is_greater_than<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(order("isGreaterThan", &arguments)?.is_gt())))
}

/// `q.isLessThan(other)`: true if it is less.
pub(in crate::cel) fn is_less_than<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(order("isLessThan", &arguments)?.is_lt())))
}

/// `q.add(other)`: the sum.
pub(in crate::cel) fn add<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    combine("add", &arguments, Decimal::plus)
}

/// `q.sub(other)`: the difference.
pub(in crate::cel) fn sub<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    combine("sub", &arguments, Decimal::minus)
}

fn combine<'b, 'v>(
    function: &'static str,
    arguments: &[CowVal<'_, '_>],
    combine: fn(Decimal, Decimal) -> Option<Decimal>,
) -> Evaluated<'b, 'v> {
    let call = Arguments::of(function, arguments)?;
    let left = at(0, &call)?;
    // The second may be a whole number.
    let right = match call.whole(1) {
        Ok(Some(whole)) => Decimal::new(whole.into(), 0),
        _ => at(1, &call)?,
    };
    let refusal = || call.failed("the result has more than 38 digits");
    combine(left, right).map(|number| CowVal::owned(Quantity(number))).ok_or_else(refusal)
}
