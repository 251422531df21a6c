//! The syntax of attribute names, and of DNs (RFC 4514) without the quoted and hexadecimal forms.

/// Returns true if an attribute can have this name: letters, digits and hyphens, or an OID, with options after `;`.
pub(super) fn is_attribute(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let mut parts = name.split(';');
    let kind = parts.next().unwrap_or_default();
    let is_oid =
        kind.contains('.') && kind.split('.').all(|part| part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty());
    (is_oid || is_word(kind) && kind.starts_with(|c: char| c.is_ascii_alphabetic())) && parts.all(is_word)
}

/// The state at the end of a text that begins a DN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the type of an attribute. True if it has begun.
    Type(bool),
    /// In its value. True if it has begun.
    Value(bool),
    /// Behind an attribute type, where only spaces may come before its `=`.
    TypeEnd,
    /// After a backslash.
    Escape,
    /// After a backslash and one hexadecimal digit.
    HalfEscape,
}

/// Checks a complete DN.
pub(super) fn check(text: &str) -> Result<(), &'static str> {
    match scan(text)? {
        State::Value(true) => Ok(()),
        State::Value(false) => Err("an attribute of the DN has no value"),
        State::Type(_) | State::TypeEnd => Err(PAIRS),
        State::Escape | State::HalfEscape => Err(BACKSLASH),
    }
}

/// Returns the DN of the entry above this one. It is empty for a DN of one pair.
pub(super) fn parent_of(dn: &str) -> &str {
    let mut is_escaped = false;
    let comma = dn.char_indices().find(|(_, letter)| {
        let ends = *letter == ',' && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        ends
    });
    comma.and_then(|(at, _)| dn.get(at + 1..)).map_or("", str::trim_start)
}

/// Returns true if the text after this beginning of a DN is in an attribute value.
pub(super) fn is_in_value(beginning: &str) -> bool {
    matches!(scan(beginning), Ok(State::Value(_)))
}

const PAIRS: &str = "a DN has pairs of an attribute and its value: uid=a,ou=people,dc=example,dc=org";
const BACKSLASH: &str = "a backslash in a DN needs a special character or two hexadecimal digits";

fn scan(text: &str) -> Result<State, &'static str> {
    text.chars().try_fold(State::Type(false), step)
}

fn step(state: State, letter: char) -> Result<State, &'static str> {
    Ok(match (state, letter) {
        (State::Type(false), ' ') => State::Type(false),
        (State::Type(true) | State::TypeEnd, ' ') => State::TypeEnd,
        (State::Type(true) | State::TypeEnd, '=') => State::Value(false),
        (State::Type(_), letter) if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.') => State::Type(true),
        (State::Type(_) | State::TypeEnd, _) => return Err(PAIRS),
        (State::Value(true), ',' | '+') => State::Type(false),
        (State::Value(false), ',' | '+') => return Err("an attribute of the DN has no value"),
        (State::Value(_), '\\') => State::Escape,
        (State::Value(_), '"' | '<' | '>' | ';' | '\0') => {
            return Err("write this character of the DN with a backslash");
        }
        (State::Value(false), '#') => return Err("the hexadecimal form of a value is not supported: write \\#"),
        (State::Value(has_begun), ' ') => State::Value(has_begun),
        (State::Value(_), _) => State::Value(true),
        (State::Escape, letter) if letter.is_ascii_hexdigit() => State::HalfEscape,
        (State::Escape, '"' | '+' | ',' | ';' | '<' | '>' | '\\' | '=' | '#' | ' ') => State::Value(true),
        (State::HalfEscape, letter) if letter.is_ascii_hexdigit() => State::Value(true),
        (State::Escape | State::HalfEscape, _) => return Err(BACKSLASH),
    })
}
