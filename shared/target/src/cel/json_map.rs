//! A JSON object as a CEL map that borrows it.

use std::fmt;
use std::sync::OnceLock;

use cel::ExecutionError;
use cel::common::traits::{self, Container, Indexer, Iterable, Sizer, Zeroer};
use cel::common::types::{CelInt, CelString, MAP_TYPE, Type};
use cel::common::value::{CowVal, Val};
use serde_json::{Map, Value};

use crate::cel::bind::{Meter, bind, size};
use crate::cel::equal::equal;

static MAP: Type = MAP_TYPE;

/// A JSON object.
pub(super) struct JsonMap<'v> {
    fields: &'v Map<String, Value>,
    meter: &'v Meter,
    /// Filled when something iterates: CEL lends keys out.
    keys: OnceLock<Vec<CelString<'v>>>,
}

// Its content is not shown: a debug print must not carry an object's values.
impl fmt::Debug for JsonMap<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JsonMap")
    }
}

impl<'v> JsonMap<'v> {
    pub(super) fn new(fields: &'v Map<String, Value>, meter: &'v Meter) -> Self {
        Self { fields, meter, keys: OnceLock::new() }
    }
}

impl Val for JsonMap<'_> {
    fn get_type(&self) -> &Type {
        &MAP
    }

    fn cel_type() -> &'static Type {
        &MAP
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'w>(&'b self) -> Option<&'b (dyn Indexer + 'w)>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn as_iterable<'b, 'w>(&'b self) -> Option<&'b (dyn Iterable + 'w)>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        equal(self, other)
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        Box::new(JsonMap { fields: self.fields, meter: self.meter, keys: OnceLock::new() })
    }
}

impl Indexer for JsonMap<'_> {
    fn get<'b, 'w>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'w>, ExecutionError>
    where
        Self: 'w,
    {
        let name = key.downcast_ref::<CelString>().map(CelString::inner).unwrap_or_default();
        let found = self.fields.get(name).ok_or_else(|| ExecutionError::no_such_key(name))?;
        Ok(CowVal::Owned(bind(found, self.meter)))
    }

    fn steal<'w>(self: Box<Self>, key: &dyn Val) -> Result<Box<dyn Val + 'w>, ExecutionError>
    where
        Self: 'w,
    {
        self.get(key).map(CowVal::into_owned)
    }
}

impl Container for JsonMap<'_> {
    fn contains(&self, key: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(key.downcast_ref::<CelString>().is_some_and(|name| self.fields.contains_key(name.inner())))
    }
}

impl Sizer for JsonMap<'_> {
    fn size(&self) -> CelInt {
        size(self.fields.len())
    }
}

impl Zeroer for JsonMap<'_> {
    fn is_zero_value(&self) -> bool {
        self.fields.is_empty()
    }
}

impl<'v> Iterable for JsonMap<'v> {
    fn iter<'b, 'w>(&'b self) -> Box<dyn traits::Iterator<'b, 'w> + 'b>
    where
        Self: 'w,
    {
        let name = |name: &'v String| CelString::from(name.as_str());
        let keys = self.keys.get_or_init(|| self.fields.keys().map(name).collect());
        Box::new(Keys { keys: keys.iter(), meter: self.meter })
    }
}

/// Lends the keys of a map. Ends early when the meter is exhausted; the evaluation then fails as a whole.
struct Keys<'b, 'v> {
    keys: std::slice::Iter<'b, CelString<'v>>,
    meter: &'b Meter,
}

impl<'b, 'v: 'w, 'w> traits::Iterator<'b, 'w> for Keys<'b, 'v> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'w)> {
        if !self.meter.take(1) {
            return None;
        }
        self.keys.next().map(|key| key as &'b (dyn Val + 'w))
    }
}
