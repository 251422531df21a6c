//! `merge(a, b)` and `mergeDeep(a, b)`: one map of two.

use std::collections::HashMap;

use cel::ExecutionError;
use cel::common::types::{CelMap, CelMapKey, CelString, Kind};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::MAP_COST;
use crate::cel::evaluation::cost::{Cost, split};
use crate::cel::evaluation::weight::charge_copy;
use crate::cel::functions::texts::Evaluated;

/// The merge of maps by one of the two functions.
struct Merge<'c> {
    function: &'static str,
    is_deep: bool,
    cost: &'c Cost,
}

/// `merge(a, b)`: the keys of both maps. The right map's value wins.
pub(in crate::cel) fn merge<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, maps) = split(&arguments)?;
    Merge { function: "merge", is_deep: false, cost }.of(maps.iter().map(CowVal::as_ref)).map(CowVal::Owned)
}

/// `mergeDeep(a, b)`: as `merge`, but two maps below one key are merged too.
pub(in crate::cel) fn merge_deep<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, maps) = split(&arguments)?;
    Merge { function: "mergeDeep", is_deep: true, cost }.of(maps.iter().map(CowVal::as_ref)).map(CowVal::Owned)
}

impl Merge<'_> {
    fn of<'a, 'v: 'a>(
        &self,
        maps: impl Iterator<Item = &'a (dyn Val + 'v)>,
    ) -> Result<Box<dyn Val + 'v>, ExecutionError> {
        let refused = || ExecutionError::function_error(self.function, "needs two maps whose keys are texts");
        let mut merged: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = HashMap::new();
        for map in maps {
            if !is_map(map) {
                return Err(refused());
            }
            let fields = map.as_indexer().ok_or_else(refused)?;
            let mut keys = map.as_iterable().ok_or_else(refused)?.iter();
            while let Some(key) = keys.next() {
                let name = key.downcast_ref::<CelString>().ok_or_else(refused)?.inner().to_owned();
                let name = CelMapKey::String(CelString::from(name));
                let field = fields.get(key)?;
                self.cost.charge(MAP_COST)?;
                let former = merged.get(&name).filter(|former| self.is_deep && is_map(former.as_ref()));
                let field = match former.filter(|_| is_map(field.as_ref())) {
                    Some(former) => self.of([former.as_ref(), field.as_ref()].into_iter())?,
                    None => {
                        charge_copy(field.as_ref(), self.cost)?;
                        field.into_owned()
                    }
                };
                merged.insert(name, field);
            }
        }
        Ok(Box::new(CelMap::from(merged)))
    }
}

fn is_map(value: &dyn Val) -> bool {
    value.get_type().kind() == Kind::Map
}
