//! Kubernetes name formats, checked here so that typing errors are found before the API server rejects them.

fn is_lower(character: char) -> bool {
    character.is_ascii_lowercase() || character.is_ascii_digit()
}

/// Accepts a DNS-1123 label: a target, a namespace.
#[must_use]
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(is_lower)
        && text.ends_with(is_lower)
        && text.chars().all(|character| is_lower(character) || character == '-')
}

/// Accepts a DNS-1123 subdomain: a Secret, an API group.
#[must_use]
pub fn is_dns_subdomain(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(is_lower)
            && part.ends_with(is_lower)
            && part.chars().all(|character| is_lower(character) || character == '-')
    };
    text.len() <= 253 && text.split('.').all(is_part)
}

/// Accepts a label key: a name, optionally with a prefix.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_label_name(name),
        None => is_label_name(text),
    }
}

/// Accepts a label value, which may be empty.
pub(crate) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_label_name(text)
}

fn is_label_name(text: &str) -> bool {
    let is_edge = |character: char| character.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(is_edge)
        && text.ends_with(is_edge)
        && text.chars().all(|character| is_edge(character) || matches!(character, '-' | '_' | '.'))
}

/// A key of a Secret's data.
pub(crate) fn is_data_key(text: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    !text.is_empty() && text.len() <= 253 && text != "." && text != ".." && text.chars().all(is_part)
}

/// Accepts a kind as the API server does: in lower case, a DNS-1035 label. Most begin with a capital, some do not.
pub(crate) fn is_kind(text: &str) -> bool {
    is_dns_label(&text.to_ascii_lowercase()) && text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Accepts `v1` or `group/version`.
pub(crate) fn is_api_version(text: &str) -> bool {
    match text.split_once('/') {
        Some((group, version)) => is_dns_subdomain(group) && is_dns_label(version),
        None => is_dns_label(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_what_the_api_server_takes() {
        let (longest, longer) = ("K".repeat(63), "K".repeat(64));
        let kinds = ["Proxy", "postgresql", "OperatorConfiguration", "kEY-value2", "V", "a-b", "X509", &longest];
        let others = ["", "-a", "A-", "1a", "a_b", "a.b", "a b", "Ä", "\u{212a}", "proxies/status", &longer];
        for (words, expected) in [(&kinds[..], true), (&others[..], false)] {
            words.iter().for_each(|word| assert_eq!(is_kind(word), expected, "{word}"));
        }
    }
}
