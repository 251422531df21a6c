//! Functions that search a text for a pattern, and one that quotes a text as a pattern.
//!
//! They behave like the functions of the same names in Kubernetes.

use cel::common::types::{CelBool, CelList, CelOptional, CelString};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::{MEMBER_COST, of_bytes};
use crate::cel::evaluation::pattern::Wanted;
use crate::cel::functions::arguments::{Arguments, Evaluated};

/// The characters with a special meaning in a pattern.
const SPECIAL: &str = r"\.+*?()|[]{}^$#&-~";

/// `text.matches(pattern)`: true for a match anywhere.
pub(in crate::cel) fn matches<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("matches", &arguments)?;
    let (whole, pattern) = (call.text(0)?, call.text(1)?);
    let found = call.cost.patterns.is_found(whole, pattern, call.cost)?;
    Ok(CowVal::owned(CelBool::from(found)))
}

/// `capture(text, pattern)`: the first group of the first match, as an optional.
pub(in crate::cel) fn capture<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("capture", &arguments)?;
    let (whole, pattern) = (call.text(0)?, call.text(1)?);
    let found = call.cost.patterns.captured(whole, pattern, call.cost)?;
    Ok(CowVal::owned(match found {
        Some(found) => {
            call.charge(&[found])?;
            CelOptional::of(Box::new(CelString::from(found.to_owned())))
        }
        None => CelOptional::none(),
    }))
}

/// `text.find(pattern)`: the first match, or the empty text.
pub(in crate::cel) fn find<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("find", &arguments)?;
    let (whole, pattern) = (call.text(0)?, call.text(1)?);
    let found = call.cost.patterns.found(whole, pattern, Wanted { most: 1, group: false }, call.cost)?;
    let found = found.first().copied().unwrap_or_default();
    call.charge(&[found])?;
    Ok(CowVal::owned(CelString::from(found.to_owned())))
}

/// `text.findAll(pattern, limit)`: all matches up to the limit.
pub(in crate::cel) fn find_all<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("findAll", &arguments)?;
    all(&call, Wanted { most: call.limit(2)?, group: false })
}

/// `captureAll(text, pattern)`: the first group of every match. A match in which the group takes no part is left out.
pub(in crate::cel) fn capture_all<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    all(&Arguments::of("captureAll", &arguments)?, Wanted { most: usize::MAX, group: true })
}

fn all<'b, 'v>(call: &Arguments<'_, '_, '_>, wanted: Wanted) -> Evaluated<'b, 'v> {
    let found = call.cost.patterns.found(call.text(0)?, call.text(1)?, wanted, call.cost)?;
    let mut parts: Vec<Box<dyn Val + 'v>> = Vec::new();
    for part in found {
        call.cost.charge(MEMBER_COST + of_bytes(part.len()))?;
        parts.push(Box::new(CelString::from(part.to_owned())));
    }
    Ok(CowVal::owned(CelList::from(parts)))
}

/// `regex.quote(text)`: a pattern that matches exactly this text.
pub(in crate::cel) fn quote<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("regex.quote", &arguments)?;
    let whole = call.text(0)?;
    // Every character may need a backslash.
    call.charge(&[whole, whole])?;
    let mut quoted = String::with_capacity(whole.len());
    for letter in whole.chars() {
        if SPECIAL.contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    Ok(CowVal::owned(CelString::from(quoted)))
}
