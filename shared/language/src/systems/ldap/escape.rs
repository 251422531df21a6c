//! Escapes a text as a value of a DN (RFC 4514) or of a filter (RFC 4515), so that it cannot end its value.

use std::fmt::Write as _;

/// Returns the text as an attribute value of a DN.
pub(super) fn in_name(text: &str) -> String {
    let last = text.chars().count().saturating_sub(1);
    escaped(text, |at, letter| {
        matches!(letter, '"' | '+' | ',' | ';' | '<' | '>' | '\\' | '=' | '#')
            || letter.is_ascii_control()
            || letter == ' ' && (at == 0 || at == last)
    })
}

/// Returns the text as an assertion value of a filter.
pub(super) fn in_filter(text: &str) -> String {
    escaped(text, |_, letter| matches!(letter, '*' | '(' | ')' | '\\' | '\0'))
}

/// Replaces characters by a backslash and their two hexadecimal digits, which both RFCs allow. They are all ASCII.
fn escaped(text: &str, is_special: impl Fn(usize, char) -> bool) -> String {
    let mut written = String::with_capacity(text.len());
    for (at, letter) in text.chars().enumerate() {
        if is_special(at, letter) {
            // Writing to a text cannot fail.
            let _ = write!(written, "\\{:02X}", u32::from(letter));
        } else {
            written.push(letter);
        }
    }
    written
}
