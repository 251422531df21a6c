//! What to write where a value of another kind stands than is needed: told only where what was meant is plain.
//!
//! It must not know which keys there are.

use crate::yaml::{Content, Node};

/// What people write elsewhere for true and false.
const TRUTHS: [(&str, bool); 4] = [("yes", true), ("on", true), ("no", false), ("off", false)];

/// What follows "a list is needed here, not a text"; empty where nothing is plain.
pub(super) fn shape_hint(node: &Node, wanted: &str) -> String {
    match (&node.content, wanted) {
        (Content::Map(entries), _) if entries.first().is_some_and(|entry| entry.key.starts_with("self.")) => {
            let field = entries.first().map(|entry| entry.key.as_str()).unwrap_or_default();
            format!(": did you mean \"${{{field}}}\"?")
        }
        (Content::Map(_), "a list") => ": begin each of its items with `- `".to_owned(),
        (Content::List(items), "a map") if items.iter().all(|item| matches!(item.content, Content::Map(_))) => {
            ": write its keys without `- `".to_owned()
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

const WITHOUT_QUOTES: &str = ": write it without quotes";

/// Whether it can stand in `[…]` as it is, and is a text there too.
fn is_plain(text: &str) -> bool {
    let is_a_word_of_yaml = ["true", "false", "null"].iter().any(|word| text.eq_ignore_ascii_case(word));
    !is_a_word_of_yaml
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_a_text_is_shown_without_quotes() {
        for (text, expected) in
            [("team-a", true), ("a.b/c_1", true), ("123", false), ("True", false), ("null", false), ("a: b", false)]
        {
            assert_eq!(is_plain(text), expected, "{text}");
        }
    }
}
