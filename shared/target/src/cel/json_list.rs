//! A JSON array as a CEL list that borrows it.

use std::fmt;
use std::sync::OnceLock;

use cel::ExecutionError;
use cel::common::traits::{self, Adder, Container, Indexer, Iterable, Sizer, Zeroer};
use cel::common::types::{CelInt, CelList, CelUInt, LIST_TYPE, Type};
use cel::common::value::{CowVal, Val};
use serde_json::Value;

use crate::cel::bind::{Meter, bind, size};
use crate::cel::equal::equal;

static LIST: Type = LIST_TYPE;

/// A JSON array.
pub(super) struct JsonList<'v> {
    items: &'v [Value],
    meter: &'v Meter,
    /// Filled when something iterates: CEL lends items out.
    bound: OnceLock<Vec<Box<dyn Val + 'v>>>,
}

impl fmt::Debug for JsonList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JsonList")
    }
}

impl<'v> JsonList<'v> {
    pub(super) fn new(items: &'v [Value], meter: &'v Meter) -> Self {
        Self { items, meter, bound: OnceLock::new() }
    }
}

impl Val for JsonList<'_> {
    fn get_type(&self) -> &Type {
        &LIST
    }

    fn cel_type() -> &'static Type {
        &LIST
    }

    fn as_adder<'b, 'w>(&'b self) -> Option<&'b (dyn Adder + 'w)>
    where
        Self: 'w,
    {
        Some(self)
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
        Box::new(JsonList { items: self.items, meter: self.meter, bound: OnceLock::new() })
    }
}

impl Indexer for JsonList<'_> {
    fn get<'b, 'w>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'w>, ExecutionError>
    where
        Self: 'w,
    {
        let position = position(index)?;
        let found = self.items.get(position).ok_or(ExecutionError::IndexOutOfBounds(cel::Value::Null))?;
        Ok(CowVal::Owned(bind(found, self.meter)))
    }

    fn steal<'w>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'w>, ExecutionError>
    where
        Self: 'w,
    {
        self.get(index).map(CowVal::into_owned)
    }
}

/// A list index; a negative one is out of bounds, anything but a whole number is no index.
fn position(index: &dyn Val) -> Result<usize, ExecutionError> {
    let signed = index.downcast_ref::<CelInt>().map(|whole| usize::try_from(*whole.inner()));
    let unsigned = index.downcast_ref::<CelUInt>().map(|whole| usize::try_from(*whole.inner()));
    match signed.or(unsigned) {
        Some(position) => position.map_err(|_| ExecutionError::IndexOutOfBounds(cel::Value::Null)),
        None => Err(ExecutionError::UnexpectedType { got: index.get_type().name().to_owned(), want: "int".to_owned() }),
    }
}

impl Container for JsonList<'_> {
    fn contains(&self, value: &dyn Val) -> Result<bool, ExecutionError> {
        if !self.meter.take(self.items.len()) {
            return Ok(false);
        }
        Ok(self.items.iter().any(|item| equal(bind(item, self.meter).as_ref(), value)))
    }
}

impl Adder for JsonList<'_> {
    fn add<'b, 'w>(&'b self, other: &(dyn Val + 'w)) -> Result<CowVal<'b, 'w>, ExecutionError>
    where
        Self: 'w,
    {
        let other = other.as_iterable().filter(|_| *other.get_type() == LIST).ok_or_else(|| {
            let types = vec![LIST.name().to_owned(), other.get_type().name().to_owned()];
            ExecutionError::no_such_overload("_+_", types)
        })?;
        let mut sum: Vec<Box<dyn Val + 'w>> = Vec::with_capacity(self.items.len());
        for item in self.items {
            sum.push(bind(item, self.meter));
        }
        let mut others = other.iter();
        while let Some(item) = others.next() {
            sum.push(item.clone_as_boxed());
        }
        Ok(CowVal::owned(CelList::from(sum)))
    }
}

impl Sizer for JsonList<'_> {
    fn size(&self) -> CelInt {
        size(self.items.len())
    }
}

impl Zeroer for JsonList<'_> {
    fn is_zero_value(&self) -> bool {
        self.items.is_empty()
    }
}

impl Iterable for JsonList<'_> {
    fn iter<'b, 'w>(&'b self) -> Box<dyn traits::Iterator<'b, 'w> + 'b>
    where
        Self: 'w,
    {
        let items = self.bound.get_or_init(|| self.items.iter().map(|item| bind(item, self.meter)).collect());
        Box::new(Items { items: items.iter(), meter: self.meter })
    }
}

/// Lends the items of a list, as [`Keys`] does.
struct Items<'b, 'v> {
    items: std::slice::Iter<'b, Box<dyn Val + 'v>>,
    meter: &'b Meter,
}

impl<'b, 'v: 'w, 'w> traits::Iterator<'b, 'w> for Items<'b, 'v> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'w)> {
        if !self.meter.take(1) {
            return None;
        }
        self.items.next().map(|item| item.as_ref() as &'b (dyn Val + 'w))
    }
}
