//! Text functions whose work grows with more than one argument. cel's own versions allocate before they could be
//! charged, or search in quadratic time. They follow cel-go's strings extension.
//!
//! The other text functions are cel's own, wrapped by [`crate::cel::evaluation::weight`].

use cel::ExecutionError;
use cel::common::types::{CelInt, CelList, CelString};
use cel::common::value::{CowVal, Val};

use crate::cel::evaluation::constants::{MEMBER_COST, of_bytes};
use crate::cel::evaluation::cost::{Cost, split as split_cost};

pub(in crate::cel) type Evaluated<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// The error of a function called with wrong types.
pub(in crate::cel) fn refused(function: &str, arguments: &[CowVal<'_, '_>]) -> ExecutionError {
    ExecutionError::no_such_overload(
        function,
        arguments.iter().map(|value| value.get_type().name().to_owned()).collect(),
    )
}

pub(in crate::cel) fn text<'a>(
    function: &str,
    arguments: &'a [CowVal<'_, '_>],
    position: usize,
) -> Result<&'a str, ExecutionError> {
    let found = arguments.get(position).and_then(|value| value.downcast_ref::<CelString>());
    found.map(CelString::inner).ok_or_else(|| refused(function, arguments))
}

/// Returns an optional whole-number argument.
pub(in crate::cel) fn whole(
    function: &str,
    arguments: &[CowVal<'_, '_>],
    position: usize,
) -> Result<Option<i64>, ExecutionError> {
    match arguments.get(position) {
        None => Ok(None),
        Some(value) => match value.downcast_ref::<CelInt>() {
            Some(whole) => Ok(Some(*whole.inner())),
            None => Err(refused(function, arguments)),
        },
    }
}

/// Returns the limit argument. A negative number means no limit.
pub(in crate::cel) fn limit(
    function: &str,
    arguments: &[CowVal<'_, '_>],
    position: usize,
) -> Result<usize, ExecutionError> {
    Ok(whole(function, arguments, position)?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX))
}

pub(in crate::cel) fn charge_texts(cost: &Cost, texts: &[&str]) -> Result<(), ExecutionError> {
    texts.iter().try_for_each(|text| cost.charge(of_bytes(text.len())))
}

/// `list.join(separator)`: one text of all items.
pub(in crate::cel) fn join<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split_cost(&arguments)?;
    let separator = if arguments.len() > 1 { text("join", arguments, 1)? } else { "" };
    let list = arguments.first().filter(|list| *list.get_type() == cel::common::types::LIST_TYPE);
    let mut items = list.and_then(|list| list.as_iterable()).ok_or_else(|| refused("join", arguments))?.iter();
    let mut joined = String::new();
    let mut is_first = true;
    while let Some(item) = items.next() {
        let item = item.downcast_ref::<CelString>().ok_or_else(|| refused("join", arguments))?.inner();
        cost.charge(of_bytes(item.len() + separator.len()))?;
        if !std::mem::take(&mut is_first) {
            joined.push_str(separator);
        }
        joined.push_str(item);
    }
    Ok(CowVal::owned(CelString::from(joined)))
}

/// `text.replace(from, to, limit)`.
pub(in crate::cel) fn replace<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split_cost(&arguments)?;
    let [whole, from, to] = [0, 1, 2].map(|position| text("replace", arguments, position));
    let (whole, from, to) = (whole?, from?, to?);
    let limit = limit("replace", arguments, 3)?;
    charge_texts(cost, &[whole, from])?;
    let count = whole.matches(from).count().min(limit);
    cost.charge(of_bytes(count.saturating_mul(to.len()).saturating_add(whole.len())))?;
    Ok(CowVal::owned(CelString::from(whole.replacen(from, to, limit))))
}

/// `text.split(separator, limit)`: an empty separator splits between characters. The last part holds the rest.
pub(in crate::cel) fn split<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split_cost(&arguments)?;
    let (whole, separator) = (text("split", arguments, 0)?, text("split", arguments, 1)?);
    let limit = limit("split", arguments, 2)?;
    charge_texts(cost, &[whole, separator, whole])?;
    let mut parts: Vec<Box<dyn Val + 'v>> = Vec::new();
    let mut add = |part: &str| {
        cost.charge(MEMBER_COST)?;
        parts.push(Box::new(CelString::from(part.to_owned())));
        Ok::<_, ExecutionError>(parts.len())
    };
    if limit > 0 && !separator.is_empty() {
        whole.splitn(limit, separator).try_for_each(|part| add(part).map(drop))?;
    } else if limit > 0 {
        let (mut rest, mut count) = (whole, 0);
        while let Some(first) = rest.chars().next().filter(|_| count + 1 < limit) {
            let (head, tail) = rest.split_at(first.len_utf8());
            count = add(head)?;
            rest = tail;
        }
        if !rest.is_empty() {
            add(rest)?;
        }
    }
    Ok(CowVal::owned(CelList::from(parts)))
}

/// `text.indexOf(part, from)`, in characters.
pub(in crate::cel) fn index_of<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    find("indexOf", &arguments, |whole, part, offset| {
        let start = byte_of(whole, offset);
        whole[start..].find(part).map(|found| start + found)
    })
}

/// `text.lastIndexOf(part, from)`, in characters: the last occurrence that begins at or before `from`.
pub(in crate::cel) fn last_index_of<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    find("lastIndexOf", &arguments, |whole, part, offset| {
        let offset = offset.unwrap_or(whole.chars().count());
        let end = byte_of(whole, Some(offset)).saturating_add(part.len()).min(whole.len());
        whole[..whole.floor_char_boundary(end)].rfind(part)
    })
}

fn find<'b, 'v>(
    function: &'static str,
    arguments: &[CowVal<'_, '_>],
    search: impl Fn(&str, &str, Option<usize>) -> Option<usize>,
) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split_cost(arguments)?;
    let (whole, part) = (text(function, arguments, 0)?, text(function, arguments, 1)?);
    charge_texts(cost, &[whole, whole, part])?;
    let length = whole.chars().count();
    let offset = match self::whole(function, arguments, 2)? {
        None => None,
        Some(offset) => match usize::try_from(offset) {
            Ok(offset) if part.is_empty() => Some(offset.min(length)),
            Ok(offset) if offset < length => Some(offset),
            _ => return Err(ExecutionError::function_error(function, "out of range")),
        },
    };
    let found = search(whole, part, offset).map(|byte| whole[..byte].chars().count());
    let index = found.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1);
    Ok(CowVal::owned(CelInt::from(index)))
}

/// Returns the byte offset of a character, or 0 without an offset.
fn byte_of(text: &str, offset: Option<usize>) -> usize {
    offset.map_or(0, |offset| text.char_indices().nth(offset).map_or(text.len(), |(byte, _)| byte))
}
