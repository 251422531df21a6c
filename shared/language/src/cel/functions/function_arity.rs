//! Numbers of arguments of the functions of the language.
//!
//! A call with another number always fails, so it is reported when the target loads.

use std::ops::RangeInclusive;

/// Arguments of a function called by its name alone.
pub(in crate::cel) fn of_global(name: &str) -> RangeInclusive<usize> {
    match name {
        "optional.none" => 0..=0,
        "capture" | "captureAll" | "matches" | "merge" | "mergeDeep" | "without" => 2..=2,
        _ => 1..=1,
    }
}

/// Arguments of a member function, without the receiver.
pub(in crate::cel) fn of_member(name: &str) -> RangeInclusive<usize> {
    match name {
        "asApproximateFloat" | "asInteger" | "hasValue" | "isInteger" | "lowerAscii" | "sign" | "size" | "sort"
        | "trim" | "upperAscii" | "value" => 0..=0,
        "join" => 0..=1,
        "findAll" | "indexOf" | "lastIndexOf" | "split" | "substring" => 1..=2,
        "replace" => 2..=3,
        _ => 1..=1,
    }
}

/// Returns the error for this number of arguments, if it is wrong.
pub(in crate::cel) fn mistake(name: &str, takes: RangeInclusive<usize>, count: usize) -> Option<String> {
    let (least, most) = takes.into_inner();
    let wanted = match (least, most) {
        _ if (least..=most).contains(&count) => return None,
        (0, 0) => "no argument".to_owned(),
        (1, 1) => "1 argument".to_owned(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) => format!("{least} or {most} arguments"),
    };
    Some(format!("`{name}` takes {wanted}, not {count}"))
}
