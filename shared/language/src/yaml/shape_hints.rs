//! Hints for a value of the wrong type, given only if the intention is clear.

use crate::yaml::node::{Content, Node};

/// Words for true and false in other notations.
const TRUTHS: [(&str, bool); 4] = [("yes", true), ("on", true), ("no", false), ("off", false)];

/// Returns the hint after "a list is needed here, not a text". Empty if the intention is unclear.
pub(crate) fn shape_hint(node: &Node, wanted: &str) -> String {
    match (&node.content, wanted) {
        (Content::Map(entries), _) if entries.first().is_some_and(|entry| entry.key.starts_with("self.")) => {
            let field = entries.first().map(|entry| entry.key.as_str()).unwrap_or_default();
            format!(": did you mean \"${{{field}}}\"?")
        }
        (Content::Map(_), "a list") if is_item_in_lines(node) => ": begin it with `- `".to_owned(),
        (Content::List(items), "a map") if matches!(items.as_slice(), [only] if is_map_of_its_own(only)) => {
            ": write its keys without a list around them".to_owned()
        }
        (Content::Text(text), "a list") if is_plain(text) => format!(": write [{text}]"),
        (Content::Number(number), "a list") => format!(": write [{number}]"),
        (Content::Number(_), "a text") => ": put it in quotes".to_owned(),
        (Content::Text(text), "true or false") => match TRUTHS.iter().find(|(word, _)| text.eq_ignore_ascii_case(word))
        {
            Some((_, truth)) => format!(": write {truth}"),
            None if matches!(text.as_str(), "true" | "false") => WITHOUT_QUOTES.to_owned(),
            None => String::new(),
        },
        (Content::Text(text), "a whole number") if text.parse::<u64>().is_ok() => WITHOUT_QUOTES.to_owned(),
        _ => String::new(),
    }
}

/// Returns true for a map that could become the one item of a list with a `- ` in front: it is not in `{…}`, so it
/// begins at its first key. A map that contains only maps may be several items.
fn is_item_in_lines(node: &Node) -> bool {
    let Content::Map(entries) = &node.content else { return false };
    entries.first().is_some_and(|first| first.key_at == node.at)
        && entries.iter().any(|entry| !matches!(entry.value.content, Content::Map(_)))
}

/// Returns true for a map whose keys have the same meaning without the list around it. If items have a `name`, as in
/// Kubernetes, the name may be the key.
fn is_map_of_its_own(node: &Node) -> bool {
    matches!(&node.content, Content::Map(entries) if !entries.is_empty() && entries.iter().all(|entry| entry.key != "name"))
}

const WITHOUT_QUOTES: &str = ": write it without quotes";

/// Returns true if it can be written in `[…]` unquoted, and is a text there too.
fn is_plain(text: &str) -> bool {
    let is_a_word_of_yaml = ["true", "false", "null"].iter().any(|word| text.eq_ignore_ascii_case(word));
    !is_a_word_of_yaml
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::yaml::parse;

    #[test]
    fn a_hint_is_given_only_where_it_is_right() {
        let table = [
            ("a list", "path: /a\nignore: true", ": begin it with `- `"),
            ("a list", "{path: /a, ignore: true}", ""),
            ("a list", "first:\n  path: /a\nsecond:\n  path: /b", ""),
            ("a list", "{}", ""),
            ("a list", "team-a", ": write [team-a]"),
            ("a list", "a b", ""),
            ("a map", "- password: x", ": write its keys without a list around them"),
            ("a map", "- password: x\n  other: y", ": write its keys without a list around them"),
            ("a map", "- a: x\n- a: y", ""),
            ("a map", "- name: a\n  value: x", ""),
            ("a map", "- {password: x}", ": write its keys without a list around them"),
            ("a map", "[{password: x}]", ": write its keys without a list around them"),
            ("a map", "[password: x]", ": write its keys without a list around them"),
            ("a map", "[]", ""),
            ("a map", "[{}]", ""),
            ("a map", "- x", ""),
            ("a map", "x", ""),
            ("a text", "7", ": put it in quotes"),
            ("a text", "true", ""),
            ("a URL", "7", ""),
            ("a text", "{self.metadata.name}", ": did you mean \"${self.metadata.name}\"?"),
            ("true or false", "'no'", ": write false"),
            ("true or false", "maybe", ""),
            ("a whole number", "'7'", ": write it without quotes"),
            ("a whole number", "'7s'", ""),
        ];
        for (wanted, text, expected) in table {
            // Below a key, as in a document.
            let lines: String = text.lines().map(|line| format!("  {line}\n")).collect();
            let document = parse(&format!("key:\n{lines}")).unwrap();
            assert_eq!(shape_hint(document.get("key").unwrap(), wanted), expected, "{wanted}: {text}");
        }
    }

    #[test]
    fn only_what_stays_a_text_is_shown_without_quotes() {
        for (text, expected) in
            [("team-a", true), ("a.b/c_1", true), ("123", false), ("True", false), ("null", false), ("a: b", false)]
        {
            assert_eq!(is_plain(text), expected, "{text}");
        }
    }
}
