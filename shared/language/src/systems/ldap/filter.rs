//! The syntax of filters (RFC 4515), and their encoding (RFC 4511, section 4.5.1.7).

use crate::systems::ldap::ber::{OCTETS, SEQUENCE, element};

use super::name::is_attribute;

/// Maximum nesting of a filter. Servers limit it too.
const MAX_DEPTH: usize = 16;

const TAG_AND: u8 = 0xa0;
const TAG_OR: u8 = 0xa1;
const TAG_NOT: u8 = 0xa2;
const TAG_EQUAL: u8 = 0xa3;
const TAG_SUBSTRINGS: u8 = 0xa4;
const TAG_PRESENT: u8 = 0x87;
const TAG_EXTENSIBLE: u8 = 0xa9;

type Parsed<'t> = (Vec<u8>, &'t str);

/// Encodes a filter.
pub(super) fn encode(text: &str) -> Result<Vec<u8>, &'static str> {
    match filter(text.trim(), 0)? {
        (encoded, "") => Ok(encoded),
        _ => Err("text follows the end of the filter"),
    }
}

/// Returns true if the text after this beginning of a filter is in an assertion value, and not in an escape of it.
pub(super) fn is_in_value(beginning: &str) -> bool {
    let Some((_, item)) = beginning.rsplit_once('(') else { return false };
    let is_in_escape = item.chars().rev().take(2).any(|letter| letter == '\\');
    item.contains('=') && !item.contains(')') && !is_in_escape
}

fn filter(text: &str, depth: usize) -> Result<Parsed<'_>, &'static str> {
    if depth > MAX_DEPTH {
        return Err("the filter is nested too deeply");
    }
    let inside = text.strip_prefix('(').ok_or("a filter begins with `(`")?;
    let (encoded, rest) = if let Some(list) = inside.strip_prefix('&') {
        filters(TAG_AND, list, depth)?
    } else if let Some(list) = inside.strip_prefix('|') {
        filters(TAG_OR, list, depth)?
    } else if let Some(negated) = inside.strip_prefix('!') {
        let (encoded, rest) = filter(negated, depth + 1)?;
        (element(TAG_NOT, &encoded), rest)
    } else {
        let end = inside.find(['(', ')']).ok_or("a `)` is missing")?;
        let (content, rest) = inside.split_at(end);
        (item(content)?, rest)
    };
    Ok((encoded, rest.strip_prefix(')').ok_or("a `)` is missing")?))
}

fn filters(tag: u8, text: &str, depth: usize) -> Result<Parsed<'_>, &'static str> {
    let (mut all, mut rest) = filter(text, depth + 1)?;
    while rest.starts_with('(') {
        let (next, behind) = filter(rest, depth + 1)?;
        all.extend(next);
        rest = behind;
    }
    Ok((element(tag, &all), rest))
}

fn item(text: &str) -> Result<Vec<u8>, &'static str> {
    let (attribute, value) = text.split_once('=').ok_or("a filter compares an attribute: (uid=a)")?;
    if let Some(rule) = attribute.strip_suffix(':') {
        return extensible(rule, value);
    }
    for (sign, tag) in [('>', 0xa5), ('<', 0xa6), ('~', 0xa8)] {
        if let Some(attribute) = attribute.strip_suffix(sign) {
            return comparison(tag, attribute, value);
        }
    }
    match value {
        "*" => Ok(element(TAG_PRESENT, checked(attribute)?.as_bytes())),
        value if value.contains('*') => substrings(attribute, value),
        value => comparison(TAG_EQUAL, attribute, value),
    }
}

fn comparison(tag: u8, attribute: &str, value: &str) -> Result<Vec<u8>, &'static str> {
    let parts = [element(OCTETS, checked(attribute)?.as_bytes()), element(OCTETS, &unescaped(value)?)];
    Ok(element(tag, &parts.concat()))
}

fn substrings(attribute: &str, value: &str) -> Result<Vec<u8>, &'static str> {
    let last = value.split('*').count() - 1;
    let mut parts = Vec::new();
    for (at, part) in value.split('*').enumerate() {
        // The tags of initial, any and final.
        let tag = if at == 0 {
            0x80
        } else if at == last {
            0x82
        } else {
            0x81
        };
        if !part.is_empty() {
            parts.extend(element(tag, &unescaped(part)?));
        } else if at != 0 && at != last {
            return Err("a filter has two `*` side by side");
        }
    }
    let attribute = element(OCTETS, checked(attribute)?.as_bytes());
    Ok(element(TAG_SUBSTRINGS, &[attribute, element(SEQUENCE, &parts)].concat()))
}

/// Encodes `attribute:=value`, `attribute:rule:=value` and both with `:dn`.
fn extensible(written: &str, value: &str) -> Result<Vec<u8>, &'static str> {
    let mut words = written.split(':');
    let attribute = words.next().unwrap_or_default();
    let (mut rule, mut has_dn) = (None, false);
    for word in words {
        match word {
            "dn" if !has_dn && rule.is_none() => has_dn = true,
            word if rule.is_none() => rule = Some(checked(word)?),
            _ => return Err("an extensible match is attribute:dn:rule:=value"),
        }
    }
    let mut parts = Vec::new();
    parts.extend(rule.iter().flat_map(|rule| element(0x81, rule.as_bytes())));
    if !attribute.is_empty() {
        parts.extend(element(0x82, checked(attribute)?.as_bytes()));
    } else if rule.is_none() {
        return Err("an extensible match needs an attribute or a rule");
    }
    parts.extend(element(0x83, &unescaped(value)?));
    if has_dn {
        parts.extend(element(0x84, &[0xff]));
    }
    Ok(element(TAG_EXTENSIBLE, &parts))
}

fn checked(attribute: &str) -> Result<&str, &'static str> {
    if is_attribute(attribute) { Ok(attribute) } else { Err("the filter has a wrong name of an attribute") }
}

/// Returns the bytes of a value in which `\2a` is a byte.
fn unescaped(value: &str) -> Result<Vec<u8>, &'static str> {
    let mistake = "a backslash in a filter needs two hexadecimal digits";
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let digits = rest.get(at + 1..at + 3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        bytes.push(u8::from_str_radix(digits.ok_or(mistake)?, 16).map_err(|_| mistake)?);
        rest = &rest[at + 3..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}
