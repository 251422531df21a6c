//! Text functions whose work grows with more than one argument. cel's own versions allocate before they could be
//! charged, or search in quadratic time. They follow cel-go's strings extension. Also `sha256`, which cel lacks.
//!
//! The other text functions are cel's own, wrapped by [`crate::cel::evaluation::weight`].

use cel::ExecutionError;
use cel::common::types::{CelInt, CelList, CelString, LIST_TYPE};
use cel::common::value::{CowVal, Val};
use sha2::{Digest, Sha256};

use crate::cel::evaluation::constants::{MEMBER_COST, of_bytes};
use crate::cel::evaluation::equal::members;
use crate::cel::functions::arguments::{Arguments, Evaluated};

/// `list.join(separator)`: one text of all items.
pub(in crate::cel) fn join<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("join", &arguments)?;
    let separator = if call.values.len() > 1 { call.text(1)? } else { "" };
    let list = call.values.first().filter(|list| *list.get_type() == LIST_TYPE);
    let items = list.and_then(|list| members(list.as_ref())).ok_or_else(|| call.refused())?;
    let mut joined = String::new();
    let mut is_first = true;
    for item in items {
        let item = item.downcast_ref::<CelString>().ok_or_else(|| call.refused())?.inner();
        call.cost.charge(of_bytes(item.len() + separator.len()))?;
        if !std::mem::take(&mut is_first) {
            joined.push_str(separator);
        }
        joined.push_str(item);
    }
    Ok(CowVal::owned(CelString::from(joined)))
}

/// `text.replace(from, to, limit)`.
pub(in crate::cel) fn replace<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("replace", &arguments)?;
    let (whole, from, to, limit) = (call.text(0)?, call.text(1)?, call.text(2)?, call.limit(3)?);
    call.charge(&[whole, from])?;
    let count = whole.matches(from).count().min(limit);
    call.cost.charge(of_bytes(count.saturating_mul(to.len()).saturating_add(whole.len())))?;
    Ok(CowVal::owned(CelString::from(whole.replacen(from, to, limit))))
}

/// `text.split(separator, limit)`: an empty separator splits between characters. The last part holds the rest.
pub(in crate::cel) fn split<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("split", &arguments)?;
    let (whole, separator, limit) = (call.text(0)?, call.text(1)?, call.limit(2)?);
    call.charge(&[whole, separator, whole])?;
    let mut parts: Vec<Box<dyn Val + 'v>> = Vec::new();
    let mut add = |part: &str| {
        call.cost.charge(MEMBER_COST)?;
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
    find(&Arguments::of("indexOf", &arguments)?, |whole, part, offset| {
        let start = byte_of(whole, offset);
        whole[start..].find(part).map(|found| start + found)
    })
}

/// `text.lastIndexOf(part, from)`, in characters: the last occurrence that begins at or before `from`.
pub(in crate::cel) fn last_index_of<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    find(&Arguments::of("lastIndexOf", &arguments)?, |whole, part, offset| {
        let offset = offset.unwrap_or(whole.chars().count());
        let end = byte_of(whole, Some(offset)).saturating_add(part.len()).min(whole.len());
        whole[..whole.floor_char_boundary(end)].rfind(part)
    })
}

fn find<'b, 'v>(
    call: &Arguments<'_, '_, '_>,
    search: impl Fn(&str, &str, Option<usize>) -> Option<usize>,
) -> Evaluated<'b, 'v> {
    let (whole, part) = (call.text(0)?, call.text(1)?);
    call.charge(&[whole, whole, part])?;
    let length = whole.chars().count();
    let offset = match call.whole(2)? {
        None => None,
        Some(offset) => match usize::try_from(offset) {
            Ok(offset) if part.is_empty() => Some(offset.min(length)),
            Ok(offset) if offset < length => Some(offset),
            _ => return Err(call.failed("out of range")),
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

/// `sha256(text)`: 64 lower-case hex digits.
pub(in crate::cel) fn sha256<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("sha256", &arguments)?;
    let text = call.text(0)?;
    call.charge(&[text])?;
    let digits: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(CowVal::owned(CelString::from(digits)))
}
