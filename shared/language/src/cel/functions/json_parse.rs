//! `json.parse(text)`: the value of a JSON text, which is charged as it is built.

use std::collections::HashMap;

use cel::ExecutionError;
use cel::common::types::{CelBool, CelList, CelMap, CelMapKey, CelNull, CelString};
use cel::common::value::{CowVal, Val};
use serde_json::Value;

use crate::cel::evaluation::constants::{MAP_COST, MEMBER_COST, of_bytes};
use crate::cel::evaluation::cost::{Cost, split};
use crate::cel::evaluation::json::bind_number;
use crate::values::json::{JsonError, parse_json};

/// `json.parse(text)`: the parsed value.
pub(super) fn parse<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let (cost, arguments) = split(&arguments)?;
    let text = text_argument(arguments)?;
    cost.charge(of_bytes(text.len()))?;
    match parse_json(text.as_bytes(), cost.left() / MAP_COST) {
        Ok(value) => own(value, cost).map(CowVal::Owned),
        Err(JsonError::TooManyNodes) => cost.charge(usize::MAX).map(|()| CowVal::owned(CelNull)),
        Err(_) => Err(ExecutionError::function_error("json.parse", "the text is no JSON")),
    }
}

/// Returns the first argument, which is a text.
pub(super) fn text_argument<'a>(arguments: &'a [CowVal<'_, '_>]) -> Result<&'a str, ExecutionError> {
    let text = arguments.first().and_then(|argument| argument.downcast_ref::<CelString>());
    text.map(CelString::inner).ok_or_else(ExecutionError::missing_argument_or_target)
}

/// Converts a JSON value to a CEL value that owns its content.
fn own<'v>(value: Value, cost: &Cost) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    cost.charge(MEMBER_COST)?;
    Ok(match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(truth) => Box::new(CelBool::from(truth)),
        Value::Number(number) => bind_number(&number),
        Value::String(text) => Box::new(CelString::from(text)),
        Value::Array(items) => {
            let items: Result<Vec<_>, _> = items.into_iter().map(|item| own(item, cost)).collect();
            Box::new(CelList::from(items?))
        }
        Value::Object(fields) => {
            cost.charge(MAP_COST)?;
            let owned = |(name, field)| Ok((CelMapKey::String(CelString::from(name)), own(field, cost)?));
            let fields: Result<HashMap<_, _>, ExecutionError> = fields.into_iter().map(owned).collect();
            Box::new(CelMap::from(fields?))
        }
    })
}
