//! The functions of the language: CEL's standard library, the names of Kubernetes CEL, and a few of our own.
//!
//! What is not listed here is an unknown function when a target loads, whatever cel itself would know.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::common::types::{CelBool, CelList};
use cel::common::types::{CelMap, CelMapKey, CelNull, CelString, DYN_TYPE, Kind, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{Env, ExecutionError, extensions};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::cel::bind::bind_number;
use crate::cel::equal::{CONTAINS, EQUALS, contains, equals};

/// Functions called by their name alone.
pub(super) const GLOBAL_FUNCTIONS: &[&str] = &[
    "base64.decode",
    "base64.encode",
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "json.parse",
    "matches",
    "merge",
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "path",
    "sha256",
    "size",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// Functions called on a value: `text.trim()`.
pub(super) const MEMBER_FUNCTIONS: &[&str] = &[
    "charAt",
    "contains",
    "endsWith",
    "format",
    "hasValue",
    "indexOf",
    "join",
    "lastIndexOf",
    "lowerAscii",
    "matches",
    "or",
    "orValue",
    "replace",
    "size",
    "split",
    "startsWith",
    "substring",
    "trim",
    "upperAscii",
    "value",
];

/// Macros, for suggestions only: they are gone after parsing.
pub(super) const MACROS: &[&str] = &["all", "exists", "exists_one", "filter", "has", "map", "optFlatMap", "optMap"];

/// Functions of our own, whose error messages are closed texts.
pub(super) const OWN_FUNCTIONS: &[&str] = &["json.parse", "merge", "sha256"];

/// `path(x)`: marks a URL's value whose `/` are kept. It is no function: it may only stand alone in a URL.
pub(super) const PATH: &str = "path";

/// The one environment of all expressions.
pub(super) static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib();
    // A registration fails only on a name that is taken; a test calls every function that is listed above.
    let _ = environment.add_extension(extensions::strings);
    let _ = environment.add_extension(extensions::encoders);
    let _ = environment.add_overload(EQUALS, "drift_equals", vec![DYN_TYPE, DYN_TYPE], equals);
    let _ = environment.add_overload(CONTAINS, "drift_contains", vec![DYN_TYPE, DYN_TYPE], contains);
    let _ = environment.add_overload("merge", "drift_merge", vec![DYN_TYPE, DYN_TYPE], merge);
    let _ = environment.add_overload("sha256", "drift_sha256", vec![STRING_TYPE], sha256);
    let _ = environment.add_overload("json.parse", "drift_json_parse", vec![STRING_TYPE], parse_json);
    Arc::new(environment)
});

/// `merge(a, b)`: the keys of both maps; where both have one, the right one's value. Not deep.
fn merge<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let mut merged: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = HashMap::new();
    let refused = || ExecutionError::function_error("merge", "needs two maps whose keys are texts");
    for argument in &arguments {
        if argument.get_type().kind() != Kind::Map {
            return Err(refused());
        }
        let fields = argument.as_indexer().ok_or_else(refused)?;
        let mut keys = argument.as_iterable().ok_or_else(refused)?.iter();
        while let Some(key) = keys.next() {
            let name = key.downcast_ref::<CelString>().ok_or_else(refused)?.inner().to_owned();
            merged.insert(CelMapKey::String(CelString::from(name)), fields.get(key)?.into_owned());
        }
    }
    Ok(CowVal::owned(CelMap::from(merged)))
}

/// `sha256(text)`: 64 lower-case hex digits.
fn sha256<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let digest = Sha256::digest(text_argument(&arguments)?.as_bytes());
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(CowVal::owned(CelString::from(digits)))
}

/// `json.parse(text)`.
fn parse_json<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value: Value = serde_json::from_str(text_argument(&arguments)?)
        .map_err(|_| ExecutionError::function_error("json.parse", "the text is no JSON"))?;
    Ok(CowVal::Owned(own(value)))
}

fn text_argument<'a>(arguments: &'a [CowVal<'_, '_>]) -> Result<&'a str, ExecutionError> {
    let text = arguments.first().and_then(|argument| argument.downcast_ref::<CelString>());
    text.map(CelString::inner).ok_or_else(ExecutionError::missing_argument_or_target)
}

/// A JSON value as a CEL value that owns its content.
fn own<'v>(value: Value) -> Box<dyn Val + 'v> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(truth) => Box::new(CelBool::from(truth)),
        Value::Number(number) => bind_number(&number),
        Value::String(text) => Box::new(CelString::from(text)),
        Value::Array(items) => Box::new(CelList::from(items.into_iter().map(own).collect::<Vec<_>>())),
        Value::Object(fields) => {
            let owned = |(name, field)| (CelMapKey::String(CelString::from(name)), own(field));
            Box::new(CelMap::from(fields.into_iter().map(owned).collect::<HashMap<_, _>>()))
        }
    }
}
