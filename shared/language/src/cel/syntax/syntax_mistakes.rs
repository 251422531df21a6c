//! Translates errors of cel's parser to messages that say what to write.
//!
//! The parser's own messages are about tokens and contexts of its grammar.

/// Prefixes of the parser's messages about misplaced tokens.
const MISPLACED: [&str; 4] =
    ["mismatched input ", "extraneous input ", "no viable alternative at input ", "token recognition error at: "];

/// Operators of other languages, with the equivalent here.
const HINTS: [(&str, &str); 8] = [
    ("=", "equality is written =="),
    ("|", "`or` is written ||, and a function name(value)"),
    ("&", "`and` is written &&"),
    ("and", "`and` is written &&"),
    ("or", "`or` is written ||"),
    ("if", CHOICE),
    ("$", "within ${…} stands no other ${…}"),
    ("}", "a map has texts for keys: {'name': value}"),
];

const CHOICE: &str = "a choice is written condition ? one : other";

/// Translates one message.
pub(in crate::cel) fn in_plain_words(message: &str) -> String {
    // The list of all tokens that would be allowed does not help.
    let message = message.split_once(" expecting ").map_or(message, |(found, _)| found);
    if let Some(found) = MISPLACED.iter().find_map(|begin| message.strip_prefix(begin)) {
        return match found.trim_matches('\'').trim() {
            "<EOF>" => "the expression ends too early".to_owned(),
            "" => "a space cannot stand here".to_owned(),
            word => format!("`{word}` cannot stand here{}", hint(word)),
        };
    }
    if let Some(word) = message.strip_prefix("reserved identifier: ") {
        return format!("`{word}` is a word that CEL keeps for itself{}", hint(word));
    }
    if message.contains("`_?_:_`") {
        return format!("{CHOICE}, and a default .?field.orValue(other)");
    }
    if message.contains("Recursion limit") {
        return "it nests too deep".to_owned();
    }
    // A message about a part that the parser gave up.
    if message.contains("Context") { "the expression is not complete".to_owned() } else { message.to_owned() }
}

fn hint(word: &str) -> String {
    let is_number = word.strip_prefix('.').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let hint = match HINTS.iter().find(|(written, _)| *written == word) {
        Some((_, hint)) => hint,
        None if is_number => "an item of a list is written list[0]",
        None => return String::new(),
    };
    format!("; {hint}")
}
