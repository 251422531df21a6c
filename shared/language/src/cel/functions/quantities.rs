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

use crate::cel::evaluation::constants::of_bytes;
use crate::cel::evaluation::convert::decimal;
use crate::cel::evaluation::cost::split;
use crate::cel::functions::texts::{Evaluated, refused};
use crate::values::decimal::Decimal;
use crate::values::units::parse_quantity;

/// `quantity(x)`, and the result of `type(x)` for it.
pub(in crate::cel) const QUANTITY: &str = "quantity";

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

/// Returns the argument of `quantity` and `isQuantity`, after charging for it.
fn written<'a, 'b, 'v>(function: &str, arguments: &'a [CowVal<'b, 'v>]) -> Result<&'a CowVal<'b, 'v>, ExecutionError> {
    let (cost, arguments) = split(arguments)?;
    let [value] = arguments else { return Err(refused(function, arguments)) };
    let bytes = value.downcast_ref::<CelString>().map_or(0, |text| text.inner().len());
    cost.charge(of_bytes(bytes)).map(|()| value)
}

/// `quantity(x)`: a parsed quantity.
pub(in crate::cel) fn quantity<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let number = parse(written(QUANTITY, &arguments)?.as_ref());
    let refusal = || ExecutionError::function_error(QUANTITY, "needs a Kubernetes quantity, such as 1Gi, 500m or 2");
    number.map(|number| CowVal::owned(Quantity(number))).ok_or_else(refusal)
}

/// `isQuantity(x)`: true if it parses.
pub(in crate::cel) fn is_quantity<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let value = written("isQuantity", &arguments)?;
    Ok(CowVal::owned(CelBool::from(parse(value.as_ref()).is_some())))
}

/// The quantity that a function is called on.
fn one(function: &str, arguments: &[CowVal<'_, '_>]) -> Result<Decimal, ExecutionError> {
    let (_, arguments) = split(arguments)?;
    match arguments {
        [value] => value.downcast_ref::<Quantity>().map(|quantity| quantity.0),
        _ => None,
    }
    .ok_or_else(|| refused(function, arguments))
}

/// `q.isInteger()`: true if `asInteger` accepts it.
pub(in crate::cel) fn is_integer<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let number = one("isInteger", &arguments)?;
    Ok(CowVal::owned(CelBool::from(number.to_i64().is_some())))
}

/// `q.asInteger()`: as an exact `int`.
pub(in crate::cel) fn as_integer<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let whole = one("asInteger", &arguments)?.to_i64();
    let refusal = || ExecutionError::function_error("asInteger", "the quantity is no whole number of 64 bits");
    whole.map(|whole| CowVal::owned(CelInt::from(whole))).ok_or_else(refusal)
}

/// `q.asApproximateFloat()`: as the nearest `double`.
pub(in crate::cel) fn as_approximate_float<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let number = one("asApproximateFloat", &arguments)?;
    Ok(CowVal::owned(CelDouble::from(number.to_f64())))
}

/// `q.sign()`: 1, 0 or -1.
pub(in crate::cel) fn sign<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let number = one("sign", &arguments)?;
    Ok(CowVal::owned(CelInt::from(number.order(Decimal::new(0, 0)) as i64)))
}

/// Returns two quantities. With `takes_whole` the second may be a whole number.
fn two(function: &str, arguments: &[CowVal<'_, '_>], takes_whole: bool) -> Result<(Decimal, Decimal), ExecutionError> {
    let (_, arguments) = split(arguments)?;
    let quantity = |value: &CowVal<'_, '_>| value.downcast_ref::<Quantity>().map(|quantity| quantity.0);
    let whole = |value: &CowVal<'_, '_>| {
        let whole = value.downcast_ref::<CelInt>().filter(|_| takes_whole);
        whole.map(|whole| Decimal::new((*whole.inner()).into(), 0))
    };
    match arguments {
        [left, right] => quantity(left).zip(quantity(right).or_else(|| whole(right))),
        _ => None,
    }
    .ok_or_else(|| refused(function, arguments))
}

fn order(function: &str, arguments: &[CowVal<'_, '_>]) -> Result<Ordering, ExecutionError> {
    two(function, arguments, false).map(|(left, right)| left.order(right))
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
    let (left, right) = two(function, arguments, true)?;
    let refusal = || ExecutionError::function_error(function, "the result has more than 38 digits");
    combine(left, right).map(|number| CowVal::owned(Quantity(number))).ok_or_else(refusal)
}
