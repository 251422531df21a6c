//! Maps made of maps: `merge(a, b)`, `mergeDeep(a, b)`, `without(map, keys)`.

use std::collections::{HashMap, HashSet};

use cel::ExecutionError;
use cel::common::types::{CelMap, CelMapKey, CelString, Kind};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::{MAP_COST, MEMBER_COST};
use crate::cel::evaluation::equal::members;
use crate::cel::evaluation::weight::charge_copy;
use crate::cel::functions::arguments::{Arguments, Evaluated};

/// The merge of maps by one of the two functions.
struct Merge<'c, 'b, 'v> {
    call: &'c Arguments<'c, 'b, 'v>,
    is_deep: bool,
}

/// `merge(a, b)`: the keys of both maps. The right map's value wins.
pub(in crate::cel) fn merge<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("merge", &arguments)?;
    Merge { call: &call, is_deep: false }.of(call.values.iter().map(CowVal::as_ref)).map(CowVal::Owned)
}

/// `mergeDeep(a, b)`: as `merge`, but two maps below one key are merged too.
pub(in crate::cel) fn merge_deep<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("mergeDeep", &arguments)?;
    Merge { call: &call, is_deep: true }.of(call.values.iter().map(CowVal::as_ref)).map(CowVal::Owned)
}

impl<'b, 'v> Merge<'_, 'b, 'v> {
    fn of<'a>(&self, maps: impl Iterator<Item = &'a (dyn Val + 'v)>) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        'v: 'a,
    {
        let refused = || self.call.failed("needs two maps whose keys are texts");
        let mut merged: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = HashMap::new();
        for map in maps {
            if !is_map(map) {
                return Err(refused());
            }
            let fields = map.as_indexer().ok_or_else(refused)?;
            for key in members(map).ok_or_else(refused)? {
                let name = key.downcast_ref::<CelString>().ok_or_else(refused)?.inner().to_owned();
                let name = CelMapKey::String(CelString::from(name));
                let field = fields.get(key)?;
                self.call.cost.charge(MAP_COST)?;
                let former = merged.get(&name).filter(|former| self.is_deep && is_map(former.as_ref()));
                let field = match former.filter(|_| is_map(field.as_ref())) {
                    Some(former) => self.of([former.as_ref(), field.as_ref()].into_iter())?,
                    None => {
                        charge_copy(field.as_ref(), self.call.cost)?;
                        field.into_owned()
                    }
                };
                merged.insert(name, field);
            }
        }
        Ok(Box::new(CelMap::from(merged)))
    }
}

/// `without(map, keys)`: the map without these keys. A key that it lacks changes nothing.
pub(in crate::cel) fn without<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("without", &arguments)?;
    let refused = || call.failed("needs a map and a list of its keys, which are texts");
    let [map, dropped] = call.values else { return Err(refused()) };
    if !is_map(map.as_ref()) || dropped.get_type().kind() != Kind::List {
        return Err(refused());
    }
    let text = |key: &dyn Val| key.downcast_ref::<CelString>().map(|key| key.inner().to_owned()).ok_or_else(refused);
    let mut names = HashSet::new();
    for name in members(dropped.as_ref()).ok_or_else(refused)? {
        call.cost.charge(MEMBER_COST)?;
        names.insert(text(name)?);
    }
    let mut kept: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = HashMap::new();
    let fields = map.as_indexer().ok_or_else(refused)?;
    for key in members(map.as_ref()).ok_or_else(refused)? {
        call.cost.charge(MAP_COST)?;
        let name = text(key)?;
        if !names.contains(&name) {
            let field = fields.get(key)?;
            charge_copy(field.as_ref(), call.cost)?;
            kept.insert(CelMapKey::String(CelString::from(name)), field.into_owned());
        }
    }
    Ok(CowVal::owned(CelMap::from(kept)))
}

fn is_map(value: &dyn Val) -> bool {
    value.get_type().kind() == Kind::Map
}
