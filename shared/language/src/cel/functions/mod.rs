//! The functions of the language as the interpreter calls them: CEL's standard library, functions of Kubernetes CEL,
//! and a few of our own.
//!
//! [`table`] lists the ones that templates can use.

pub(super) mod json_text;
pub(super) mod matching;
pub(super) mod merging;
pub(super) mod quantities;
pub(super) mod removal;
pub(super) mod sorting;
pub(crate) mod table;
pub(super) mod texts;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::common::functions::Function;
use cel::common::types::{CelBool, CelList};
use cel::common::types::{CelMap, CelMapKey, CelNull, CelString, DYN_TYPE, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{Env, ExecutionError, extensions};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::cel::evaluation::constants::{MAP_COST, MEMBER_COST, of_bytes};
use crate::cel::evaluation::cost::{Cost, split};
use crate::cel::evaluation::equal::{CONTAINS, EQUALS, contains, equals};
use crate::cel::evaluation::json::bind_number;
use crate::cel::evaluation::weight;
use crate::cel::evaluation::weight::{COPY, LOOP, READ, READ_ALL};
use crate::cel::functions::table::{Called, FUNCTIONS};
use crate::values::json::{JsonError, parse_json};

/// The functions that expressions are rewritten to, which charge for themselves, with their maximum number of arguments
/// including the cost.
const INTERNAL: &[(&str, usize, Function)] = &[
    (EQUALS, 3, equals),
    (CONTAINS, 3, contains),
    (READ, 2, weight::read),
    (READ_ALL, 2, weight::read_all),
    (COPY, 2, weight::copy),
    (LOOP, 3, weight::charge_loop),
];

/// Returns the name under which the environment has a function that charges for itself, if this is one.
pub(in crate::cel) fn charging(name: &str) -> Option<String> {
    FUNCTIONS.iter().any(|function| function.name == name && function.run.is_some()).then(|| format!("@{name}"))
}

/// The environment of all expressions.
pub(in crate::cel) static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib();
    // A registration only fails for a name that is already taken. A test calls every function listed above.
    let _ = environment.add_extension(extensions::strings);
    let _ = environment.add_extension(extensions::encoders);
    let _ = environment.add_overload("sha256", "drift_sha256", vec![STRING_TYPE], sha256);
    let mut add = |name: &str, most: usize, run: Function| {
        // The first argument is the cost. The functions check the types of the others themselves.
        for count in 2..=most {
            let id = format!("{name}_{count}");
            let _ = environment.add_overload(name, &id, (0..count).map(|_| DYN_TYPE).collect(), run);
        }
    };
    INTERNAL.iter().for_each(|(name, most, run)| add(name, *most, *run));
    for function in FUNCTIONS {
        let [_, most] = function.arguments;
        let with_cost = 1 + usize::from(function.called == Called::OnValue) + most;
        function.run.iter().for_each(|run| add(&format!("@{}", function.name), with_cost, *run));
    }
    Arc::new(environment)
});

/// `sha256(text)`: 64 lower-case hex digits.
fn sha256<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let digest = Sha256::digest(text_argument(&arguments)?.as_bytes());
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(CowVal::owned(CelString::from(digits)))
}

/// `json.parse(text)`: the parsed value.
fn parse<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let (cost, arguments) = split(&arguments)?;
    let text = text_argument(arguments)?;
    cost.charge(of_bytes(text.len()))?;
    match parse_json(text.as_bytes(), cost.left() / MAP_COST) {
        Ok(value) => own(value, cost).map(CowVal::Owned),
        Err(JsonError::TooManyNodes) => cost.charge(usize::MAX).map(|()| CowVal::owned(CelNull)),
        Err(_) => Err(ExecutionError::function_error("json.parse", "the text is no JSON")),
    }
}

fn text_argument<'a>(arguments: &'a [CowVal<'_, '_>]) -> Result<&'a str, ExecutionError> {
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
