//! What the YAML library finds wrong, in words that say what to do.
//!
//! It speaks of productions of a grammar; who writes targets knows keys, quotes and indentation. This file must not know where a
//! mistake stands.

/// What a message of the library holds, and what is said in its place.
const WORDS: [(&str, &str); 16] = [
    // People write patterns in templates.
    (
        "unknown escape character",
        "YAML takes a backslash in double quotes for an escape of its own, and knows none like this: write the template in single \
         quotes",
    ),
    ("tab", "a tab does not indent in YAML: write spaces"),
    ("did not find expected key", "this line is indented otherwise than the keys that it stands beside"),
    (
        "did not find expected '-'",
        "this line is indented otherwise than the items that it stands beside, or lacks its `- `",
    ),
    ("simple key expected", "a key is written `key: value`, with a space behind the colon"),
    ("multiline quoted scalar", "the quotes of a text above are not closed, or this line of it needs more indentation"),
    (
        "trailing content after",
        "the text ended with the quotes before this: around a template with double quotes in it stand single ones, and the other \
         way round",
    ),
    (
        "mapping values are not allowed",
        "a key cannot stand here: put quotes around a text that has `: ` in it, or indent the line as the keys that it stands beside",
    ),
    ("placement of ':'", "a colon cannot stand here: a `[`, a `{` or quotes above are not closed"),
    (
        "comment intercepting",
        "a text does not go on behind a comment: indent this line as the keys that it stands beside",
    ),
    (
        "unknown value",
        "no `&name` above gives the value that this `*name` stands for; a text that begins with * needs quotes",
    ),
    ("block sequence entries", "an item of a list cannot stand here: begin the list on a line of its own"),
    ("flow construct", "a `[` or a `{` above is not closed, or this line of it needs more indentation"),
    (
        "flow mapping",
        "a `{` is not closed, or a comma is missing before this, or a text with `${…}` or `: ` in it needs quotes",
    ),
    (
        "flow sequence",
        "a `[` is not closed, or a comma is missing before this, or a text with `${…}` or `: ` in it needs quotes",
    ),
    ("only single YAML document expected", "a key holds one target: give the second a key of its own"),
];

/// The same in our words; as it is where there are none.
pub(super) fn in_plain_words(message: String) -> String {
    match WORDS.iter().find(|(theirs, _)| message.contains(theirs)) {
        Some((_, ours)) => (*ours).to_owned(),
        None => message,
    }
}
