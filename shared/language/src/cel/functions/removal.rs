//! `without(map, keys)`: a map without some keys, such as those that a server adds to what it returns.

use std::collections::{HashMap, HashSet};

use cel::ExecutionError;
use cel::common::types::{CelMap, CelMapKey, CelString, Kind};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::{MAP_COST, MEMBER_COST};
use crate::cel::evaluation::cost::split;
use crate::cel::evaluation::weight::charge_copy;
use crate::cel::functions::texts::Evaluated;

/// The name of the function in expressions.
const NAME: &str = "without";

/// `without(map, keys)`: the map without these keys. A key that it lacks changes nothing.
pub(in crate::cel) fn without<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let refused = || ExecutionError::function_error(NAME, "needs a map and a list of its keys, which are texts");
    let (cost, [map, dropped]) = split(&arguments)? else { return Err(refused()) };
    if map.get_type().kind() != Kind::Map || dropped.get_type().kind() != Kind::List {
        return Err(refused());
    }
    let text = |key: &dyn Val| key.downcast_ref::<CelString>().map(|key| key.inner().to_owned()).ok_or_else(refused);
    let mut names = HashSet::new();
    let mut listed = dropped.as_iterable().ok_or_else(refused)?.iter();
    while let Some(name) = listed.next() {
        cost.charge(MEMBER_COST)?;
        names.insert(text(name)?);
    }
    let mut kept: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = HashMap::new();
    let fields = map.as_indexer().ok_or_else(refused)?;
    let mut keys = map.as_iterable().ok_or_else(refused)?.iter();
    while let Some(key) = keys.next() {
        cost.charge(MAP_COST)?;
        let name = text(key)?;
        if !names.contains(&name) {
            let field = fields.get(key)?;
            charge_copy(field.as_ref(), cost)?;
            kept.insert(CelMapKey::String(CelString::from(name)), field.into_owned());
        }
    }
    Ok(CowVal::owned(CelMap::from(kept)))
}
