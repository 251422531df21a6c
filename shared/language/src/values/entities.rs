//! Entities of HTML and XML (`&amp;`, `&#39;`) in texts of servers.

/// Maximum bytes of an entity. Those of characters have up to ten digits.
const MAX_ENTITY_BYTES: usize = 14;

/// Returns the text with the characters that its entities stand for.
#[must_use]
pub fn without_entities(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        let (letter, length) = entity(&rest[at..]).unwrap_or(('&', 1));
        plain.push(letter);
        rest = &rest[at + length..];
    }
    plain + rest
}

/// Returns the character of the entity at the start of a text, and the bytes of the entity.
pub(crate) fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(MAX_ENTITY_BYTES).position(|byte| byte == b';')?;
    let name = text.get(1..end).filter(|_| text.starts_with('&'))?.to_ascii_lowercase();
    let letter = match (name.as_str(), name.strip_prefix("#x"), name.strip_prefix('#')) {
        ("amp", ..) => '&',
        ("lt", ..) => '<',
        ("gt", ..) => '>',
        ("quot", ..) => '"',
        ("apos", ..) => '\'',
        ("nbsp", ..) => ' ',
        (_, Some(digits), _) => char::from_u32(u32::from_str_radix(digits, 16).ok()?)?,
        (_, None, Some(digits)) => char::from_u32(digits.parse().ok()?)?,
        _ => return None,
    };
    Some((letter, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entity_is_decoded_once() {
        for (text, expected) in [
            ("a &lt;b&gt; &quot;c&quot;", "a <b> \"c\""),
            ("it&#39;s &#x27;here&#X27;", "it's 'here'"),
            ("&amp;lt; &AMP; &amp", "&lt; & &amp"),
            ("a & b; &none; &#xffffffff;", "a & b; &none; &#xffffffff;"),
            ("caf\u{e9}&nbsp;&apos;", "caf\u{e9} '"),
            ("", ""),
        ] {
            assert_eq!(without_entities(text), expected);
        }
    }
}
