//! JSON seen by CEL without copying it: a map or list is wrapped, its members become CEL values when they are asked for.
//!
//! cel's own conversion copies the whole object for each evaluation and binds whole numbers as unsigned, so that `n + 1`
//! fails. This file must not know which variable a value stands for.

use std::sync::atomic::{AtomicUsize, Ordering};

use cel::common::types::{CelBool, CelDouble, CelInt, CelNull, CelString, CelUInt};
use cel::common::value::Val;
use serde_json::Value;

use crate::cel::json_list::JsonList;
use crate::cel::json_map::JsonMap;
use crate::cel::limits::MAX_ITEMS_LOOKED_AT;

/// Counts the items that one evaluation looks at.
#[derive(Debug, Default)]
pub(super) struct Meter(AtomicUsize);

impl Meter {
    /// Notes that so many items are looked at; false once it is too many.
    pub(super) fn take(&self, items: usize) -> bool {
        self.0.fetch_add(items, Ordering::Relaxed).saturating_add(items) <= MAX_ITEMS_LOOKED_AT
    }

    /// Whether a loop was cut short: its result means nothing.
    pub(super) fn is_exhausted(&self) -> bool {
        self.0.load(Ordering::Relaxed) > MAX_ITEMS_LOOKED_AT
    }
}

/// A JSON value as a CEL value that borrows it.
pub(super) fn bind<'v>(value: &'v Value, meter: &'v Meter) -> Box<dyn Val + 'v> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(truth) => Box::new(CelBool::from(*truth)),
        Value::Number(number) => bind_number(number),
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => Box::new(JsonList::new(items, meter)),
        Value::Object(fields) => Box::new(JsonMap::new(fields, meter)),
    }
}

/// Whole numbers are `int` as far as they fit, as in Kubernetes.
pub(super) fn bind_number<'v>(number: &serde_json::Number) -> Box<dyn Val + 'v> {
    match (number.as_i64(), number.as_u64()) {
        (Some(whole), _) => Box::new(CelInt::from(whole)),
        (None, Some(whole)) => Box::new(CelUInt::from(whole)),
        (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
    }
}

/// A length as CEL counts.
pub(super) fn size(length: usize) -> CelInt {
    CelInt::from(i64::try_from(length).unwrap_or(i64::MAX))
}
