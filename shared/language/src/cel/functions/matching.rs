//! Functions that search a text for a pattern, and one that quotes a text as a pattern.
//!
//! They behave like the functions of the same names in Kubernetes.

use cel::ExecutionError;
use cel::common::types::{CelBool, CelList, CelOptional, CelString};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::{MEMBER_COST, of_bytes};
use crate::cel::evaluation::cost::{Cost, split as split_cost};
use crate::cel::evaluation::pattern::Wanted;
use crate::cel::functions::texts::{Evaluated, charge_texts, limit, text};

/// The characters with a special meaning in a pattern.
const SPECIAL: &str = r"\.+*?()|[]{}^$#&-~";

/// `text.matches(pattern)`: true for a match anywhere.
pub(in crate::cel) fn matches<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split_cost(&arguments)?;
    let (whole, pattern) = (text("matches", arguments, 0)?, text("matches", arguments, 1)?);
    let found = cost.patterns.is_found(whole, pattern, &|units| cost.charge(units))?;
    Ok(CowVal::owned(CelBool::from(found)))
}

/// `capture(text, pattern)`: the first group of the first match, as an optional.
pub(in crate::cel) fn capture<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split_cost(&arguments)?;
    let (whole, pattern) = (text("capture", arguments, 0)?, text("capture", arguments, 1)?);
    let found = cost.patterns.captured(whole, pattern, &|units| cost.charge(units))?;
    Ok(CowVal::owned(match found {
        Some(found) => {
            charge_texts(cost, &[found])?;
            CelOptional::of(Box::new(CelString::from(found.to_owned())))
        }
        None => CelOptional::none(),
    }))
}

/// `text.find(pattern)`: the first match, or the empty text.
pub(in crate::cel) fn find<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split_cost(&arguments)?;
    let (whole, pattern) = (text("find", arguments, 0)?, text("find", arguments, 1)?);
    let found = cost.patterns.found(whole, pattern, Wanted { most: 1, group: false }, &|units| cost.charge(units))?;
    let found = found.first().copied().unwrap_or_default();
    charge_texts(cost, &[found])?;
    Ok(CowVal::owned(CelString::from(found.to_owned())))
}

/// `text.findAll(pattern, limit)`: all matches up to the limit.
pub(in crate::cel) fn find_all<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let most = limit("findAll", split_cost(&arguments)?.1, 2)?;
    all("findAll", &arguments, Wanted { most, group: false })
}

/// `captureAll(text, pattern)`: the first group of every match. A match in which the group takes no part is left out.
pub(in crate::cel) fn capture_all<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    all("captureAll", &arguments, Wanted { most: usize::MAX, group: true })
}

fn all<'b, 'v>(function: &'static str, arguments: &[CowVal<'b, 'v>], wanted: Wanted) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split_cost(arguments)?;
    let (whole, pattern) = (text(function, arguments, 0)?, text(function, arguments, 1)?);
    let found = cost.patterns.found(whole, pattern, wanted, &|units| cost.charge(units))?;
    let parts: Result<Vec<_>, _> = found.into_iter().map(|part| own(part, cost)).collect();
    Ok(CowVal::owned(CelList::from(parts?)))
}

fn own<'v>(part: &str, cost: &Cost) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    cost.charge(MEMBER_COST + of_bytes(part.len()))?;
    Ok(Box::new(CelString::from(part.to_owned())))
}

/// `regex.quote(text)`: a pattern that matches exactly this text.
pub(in crate::cel) fn quote<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split_cost(&arguments)?;
    let whole = text("regex.quote", arguments, 0)?;
    // Every character may need a backslash.
    charge_texts(cost, &[whole, whole])?;
    let mut quoted = String::with_capacity(whole.len());
    for letter in whole.chars() {
        if SPECIAL.contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    Ok(CowVal::owned(CelString::from(quoted)))
}
