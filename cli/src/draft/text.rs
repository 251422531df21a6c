//! The YAML of a draft: comments, keys and texts in quotes.

use serde_json::Value;

use super::fields::is_word;

/// Characters of a line of comments.
const LINE: usize = 110;

/// A comment in lines of a bounded length.
pub(super) fn comment(indent: &str, sentence: &str) -> String {
    let mut lines = vec![String::new()];
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < LINE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{indent}# {line}\n")).collect()
}

/// A key of a YAML map.
pub(super) fn key(name: &str) -> String {
    let is_value =
        matches!(name.to_lowercase().as_str(), "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    if is_word(name) && !is_value { name.to_owned() } else { quoted(name) }
}

/// A text in double quotes, as YAML and JSON have it.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

pub(super) fn is_special(letter: char) -> bool {
    !letter.is_ascii_alphanumeric() && !"/_.-~".contains(letter)
}
