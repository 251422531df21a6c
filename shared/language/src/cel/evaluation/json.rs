//! JSON as CEL values. A map or list is wrapped without copying; its members become CEL values on access.
//!
//! cel's own conversion copies the whole object for each evaluation and binds whole numbers as unsigned, so that `n
//! + 1` fails.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::OnceLock;

use cel::ExecutionError;
use cel::common::traits::{self, Adder, Container, Indexer, Iterable, Sizer, Zeroer};
use cel::common::types::{
    CelBool, CelBytes, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt, DYN_TYPE, LIST_TYPE,
    MAP_TYPE, Type,
};
use cel::common::value::{CowVal, Val};
use serde_json::{Map, Value};

use crate::cel::evaluation::constants::{MAP_COST, MEMBER_COST};
use crate::cel::evaluation::cost::Cost;
use crate::cel::evaluation::equal::equal;

static LIST: Type = LIST_TYPE;
static MAP: Type = MAP_TYPE;
static EITHER: Type = DYN_TYPE;

/// Wraps a JSON value in a CEL value that borrows it.
pub(in crate::cel) fn bind<'v>(value: &'v Value, cost: &'v Cost) -> Box<dyn Val + 'v> {
    match value {
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => Box::new(Json::new(Members::List(items), cost)),
        Value::Object(fields) => Box::new(Json::new(Members::Map(fields), cost)),
        Value::Null | Value::Bool(_) | Value::Number(_) => bind_scalar(value),
    }
}

/// Converts a JSON value to a CEL value that owns its content, which is charged as it is built.
pub(in crate::cel) fn own<'v>(value: Value, cost: &Cost) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    cost.charge(MEMBER_COST)?;
    Ok(match value {
        Value::String(text) => Box::new(CelString::from(text)),
        Value::Array(items) => {
            let items: Result<Vec<_>, _> = items.into_iter().map(|item| own(item, cost)).collect();
            Box::new(CelList::from(items?))
        }
        Value::Object(fields) => {
            cost.charge(MAP_COST)?;
            let owned = |(name, field)| Ok((CelMapKey::from(name), own(field, cost)?));
            let fields: Result<HashMap<_, _>, ExecutionError> = fields.into_iter().map(owned).collect();
            Box::new(CelMap::from(fields?))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => bind_scalar(&value),
    })
}

/// Binds a value without content. Whole numbers are `int` if they fit, as in Kubernetes.
fn bind_scalar<'v>(value: &Value) -> Box<dyn Val + 'v> {
    match (value.as_bool(), value.as_i64(), value.as_u64(), value.as_f64()) {
        (Some(truth), ..) => Box::new(CelBool::from(truth)),
        (_, Some(whole), ..) => Box::new(CelInt::from(whole)),
        (_, _, Some(whole), _) => Box::new(CelUInt::from(whole)),
        (_, _, _, Some(number)) => Box::new(CelDouble::from(number)),
        _ => Box::new(CelNull),
    }
}

/// Binds the responses of steps, each with its raw bytes.
pub(in crate::cel) fn bind_steps<'v>(answers: &'v Value, raw: &'v RawAnswers, cost: &'v Cost) -> Box<dyn Val + 'v> {
    match answers {
        Value::Object(answers) => Box::new(Json::new(Members::Answers(answers, raw), cost)),
        other => bind(other, cost),
    }
}

/// The field for the raw bytes of a response, next to status, headers, body and text.
pub(in crate::cel) const RAW: &str = "raw";

/// The raw bytes of responses, by step name.
#[derive(Clone, Default)]
pub struct RawAnswers(BTreeMap<String, Vec<u8>>);

impl RawAnswers {
    /// Keeps the raw bytes of a response.
    pub fn keep(&mut self, step: &str, bytes: &[u8]) {
        self.0.insert(step.to_owned(), bytes.to_vec());
    }

    /// Returns the raw bytes of the response to this step. `None` if the step was skipped or the
    /// response was incomplete.
    pub(in crate::cel) fn of(&self, step: &str) -> Option<&[u8]> {
        self.0.get(step).map(Vec::as_slice)
    }
}

// Hides the content: debug output must not contain a response.
impl fmt::Debug for RawAnswers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RawAnswers")
    }
}

/// A JSON array or object.
struct Json<'v> {
    members: Members<'v>,
    cost: &'v Cost,
    /// Items or keys, filled on the first iteration, because CEL borrows them.
    bound: OnceLock<Vec<Box<dyn Val + 'v>>>,
}

#[derive(Clone, Copy)]
enum Members<'v> {
    List(&'v [Value]),
    Map(&'v Map<String, Value>),
    /// The responses of all steps.
    Answers(&'v Map<String, Value>, &'v RawAnswers),
    /// The response of one step. Its raw bytes have no JSON form, so they are found by name only and are not a member
    /// of the map.
    Answer(&'v Map<String, Value>, &'v [u8]),
}

impl<'v> Members<'v> {
    fn count(self) -> usize {
        match self {
            Self::List(items) => items.len(),
            Self::Map(fields) | Self::Answers(fields, _) | Self::Answer(fields, _) => fields.len(),
        }
    }

    /// Returns a field of a map.
    fn field(self, name: &str, cost: &'v Cost) -> Option<Box<dyn Val + 'v>> {
        match self {
            Self::List(_) => None,
            Self::Map(fields) => fields.get(name).map(|field| bind(field, cost)),
            Self::Answers(answers, raw) => match (answers.get(name)?, raw.of(name)) {
                (Value::Object(answer), Some(bytes)) => Some(Box::new(Json::new(Self::Answer(answer, bytes), cost))),
                (answer, _) => Some(bind(answer, cost)),
            },
            Self::Answer(_, bytes) if name == RAW => Some(Box::new(CelBytes::from(bytes))),
            Self::Answer(fields, _) => fields.get(name).map(|field| bind(field, cost)),
        }
    }
}

// Hides the content: debug output must not contain an object's values.
impl fmt::Debug for Json<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Json")
    }
}

impl<'v> Json<'v> {
    fn new(members: Members<'v>, cost: &'v Cost) -> Self {
        Self { members, cost, bound: OnceLock::new() }
    }
}

impl Val for Json<'_> {
    fn get_type(&self) -> &Type {
        match self.members {
            Members::List(_) => &LIST,
            Members::Map(_) | Members::Answers(..) | Members::Answer(..) => &MAP,
        }
    }

    /// A common type, because it may be a list or a map.
    fn cel_type() -> &'static Type {
        &EITHER
    }

    fn as_adder<'b, 'w>(&'b self) -> Option<&'b (dyn Adder + 'w)>
    where
        Self: 'w,
    {
        matches!(self.members, Members::List(_)).then_some(self as &'b (dyn Adder + 'w))
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
        equal(self, other, self.cost)
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        Box::new(Json::new(self.members, self.cost))
    }
}

impl Indexer for Json<'_> {
    fn get<'b, 'w>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'w>, ExecutionError>
    where
        Self: 'w,
    {
        let Members::List(items) = self.members else {
            let name = key.downcast_ref::<CelString>().map(CelString::inner).unwrap_or_default();
            let found = self.members.field(name, self.cost).ok_or_else(|| ExecutionError::no_such_key(name))?;
            return Ok(CowVal::Owned(found));
        };
        let found = items.get(position(key)?).ok_or(ExecutionError::IndexOutOfBounds(cel::Value::Null))?;
        Ok(CowVal::Owned(bind(found, self.cost)))
    }

    fn steal<'w>(self: Box<Self>, key: &dyn Val) -> Result<Box<dyn Val + 'w>, ExecutionError>
    where
        Self: 'w,
    {
        self.get(key).map(CowVal::into_owned)
    }
}

/// Returns a list index. A negative one is out of bounds, and anything but a whole number is an error.
fn position(index: &dyn Val) -> Result<usize, ExecutionError> {
    let signed = index.downcast_ref::<CelInt>().map(|whole| usize::try_from(*whole.inner()));
    let unsigned = index.downcast_ref::<CelUInt>().map(|whole| usize::try_from(*whole.inner()));
    match signed.or(unsigned) {
        Some(position) => position.map_err(|_| ExecutionError::IndexOutOfBounds(cel::Value::Null)),
        None => Err(ExecutionError::UnexpectedType { got: index.get_type().name().to_owned(), want: "int".to_owned() }),
    }
}

impl Container for Json<'_> {
    fn contains(&self, value: &dyn Val) -> Result<bool, ExecutionError> {
        match self.members {
            Members::List(items) => {
                self.cost.charge(items.len())?;
                Ok(items.iter().any(|item| equal(bind(item, self.cost).as_ref(), value, self.cost)))
            }
            maps => {
                let name = value.downcast_ref::<CelString>().map(CelString::inner);
                Ok(name.is_some_and(|name| maps.field(name, self.cost).is_some()))
            }
        }
    }
}

impl Adder for Json<'_> {
    fn add<'b, 'w>(&'b self, other: &(dyn Val + 'w)) -> Result<CowVal<'b, 'w>, ExecutionError>
    where
        Self: 'w,
    {
        let (ours, theirs) = match (self.members, other.as_iterable()) {
            (Members::List(items), Some(others)) if *other.get_type() == LIST => (items, others),
            _ => {
                let types = vec![self.get_type().name().to_owned(), other.get_type().name().to_owned()];
                return Err(ExecutionError::no_such_overload("_+_", types));
            }
        };
        self.cost.charge(ours.len().saturating_mul(MEMBER_COST))?;
        let mut sum: Vec<Box<dyn Val + 'w>> =
            ours.iter().map(|item| bind(item, self.cost) as Box<dyn Val + 'w>).collect();
        let mut others = theirs.iter();
        while let Some(item) = others.next() {
            sum.push(item.clone_as_boxed());
        }
        Ok(CowVal::owned(CelList::from(sum)))
    }
}

impl Sizer for Json<'_> {
    fn size(&self) -> CelInt {
        CelInt::from(i64::try_from(self.members.count()).unwrap_or(i64::MAX))
    }
}

impl Zeroer for Json<'_> {
    fn is_zero_value(&self) -> bool {
        self.members.count() == 0
    }
}

impl<'v> Iterable for Json<'v> {
    fn iter<'b, 'w>(&'b self) -> Box<dyn traits::Iterator<'b, 'w> + 'b>
    where
        Self: 'w,
    {
        let bind_all = || match self.members {
            // Members are paid for before they are lent. Otherwise the evaluation fails as a whole.
            _ if self.cost.charge(self.members.count().saturating_mul(MEMBER_COST)).is_err() => Vec::new(),
            Members::List(items) => items.iter().map(|item| bind(item, self.cost)).collect(),
            Members::Map(fields) | Members::Answers(fields, _) | Members::Answer(fields, _) => {
                let name = |name: &'v String| Box::new(CelString::from(name.as_str())) as Box<dyn Val + 'v>;
                fields.keys().map(name).collect()
            }
        };
        Box::new(Lent { members: self.bound.get_or_init(bind_all).iter(), cost: self.cost })
    }
}

/// Iterator over items or keys. Stops early if the budget is exhausted; the evaluation then fails as a whole.
struct Lent<'b, 'v> {
    members: std::slice::Iter<'b, Box<dyn Val + 'v>>,
    cost: &'b Cost,
}

impl<'b, 'v: 'w, 'w> traits::Iterator<'b, 'w> for Lent<'b, 'v> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'w)> {
        self.cost.charge(1).ok()?;
        self.members.next().map(|member| member.as_ref() as &'b (dyn Val + 'w))
    }
}
