//! Finds texts that look like templates but are not: a field of the object without `${…}`, or a placeholder
//! of another tool.
//!
//! It checks the beginning of values, and searches for the braces of other tools anywhere outside of
//! templates and comments.

use crate::yaml::Position;

/// The warning about such a text.
pub(crate) const NO_TEMPLATE: &str = "a text as it stands, and no template: a field of the object is written `${self.spec.…}`, and what another tool \
                                      fills in is to be filled in before";

/// Common mistakes for `${self.spec.x}`, and the placeholders of other tools.
const LOOKALIKES: [&str; 5] = ["$self.", "$(self.", "$.spec", "$.metadata", BRACES];

/// Delimiters of other tools' placeholders, also in the middle of a value.
const BRACES: &str = "{{";
const BRACES_END: &str = "}}";

/// Fields of an object that distinguish `self.spec` from a host such as `self.example.com`.
const FIELDS: [&str; 5] = ["spec", "metadata", "status", "data", "?"];

/// Texts in front of a value.
const BEFORE_VALUES: [&str; 5] = [": ", "- ", "[", "{", ", "];

/// Returns the positions of such values.
pub(crate) fn lookalikes(text: &str) -> Vec<Position> {
    let mut found = Vec::new();
    // Number of open `{` since a template began.
    let mut depth = 0_usize;
    for (number, line) in text.lines().enumerate() {
        let (mut before, mut skipped) = (' ', 0);
        for (at, letter) in line.char_indices() {
            let opens = depth == 0 && line[at..].starts_with("${");
            match letter {
                _ if at < skipped => {}
                _ if opens => (depth, skipped) = (1, at + "${".len()),
                '{' if depth > 0 => depth += 1,
                '}' if depth > 0 => depth -= 1,
                '#' if depth == 0 && before.is_whitespace() => break,
                _ if depth == 0 && begins_alike(line, at) => {
                    found.push(Position { line: number + 1, column: line[..at].chars().count() + 1 });
                    // The rest of the line belongs to it.
                    skipped = line.len();
                }
                _ => {}
            }
            before = letter;
        }
    }
    found
}

fn begins_alike(line: &str, at: usize) -> bool {
    let (before, rest) = (line[..at].trim_end_matches(['"', '\'']), &line[at..]);
    let is_field = rest.strip_prefix("self.").is_some_and(|field| FIELDS.iter().any(|known| field.starts_with(known)));
    let is_filled_in = rest.strip_prefix(BRACES).is_some_and(|inside| inside.contains(BRACES_END));
    is_filled_in
        || BEFORE_VALUES.iter().any(|mark| before.ends_with(mark))
            && (is_field || LOOKALIKES.iter().any(|lookalike| rest.starts_with(lookalike)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_begins_a_value_looks_like_a_template() {
        let table: [(&str, &[(usize, usize)]); 17] = [
            ("a: self.spec.x", &[(1, 4)]),
            ("a: \"$.spec.x\"", &[(1, 5)]),
            ("b: 1\na: {c: '{{ self.spec.x }}', d: $(self.spec.x)}", &[(2, 9)]),
            ("a: [$self.spec.x]", &[(1, 5)]),
            ("- {{ .Values.interval }}", &[(1, 3)]),
            ("a: the role {{ .spec.name }} and {{ .x }}", &[(1, 13)]),
            ("a: {b: {c: {}}}", &[]),
            ("ä: self.spec", &[(1, 4)]),
            ("a: {self.spec.x}", &[(1, 5)]),
            ("a: 'at {self.spec.x}'", &[(1, 9)]),
            ("a: \"${self.spec.x}\"", &[]),
            ("a: \"${self.x ? self.y : self.z}\"", &[]),
            ("a: >-\n  ${has(self.x) ?\n  {'b': self.y}\n  : self.z}\nb: self.data", &[(5, 4)]),
            ("a: 1 # or: self.spec.x", &[]),
            ("a: self.example.com", &[]),
            ("a: names of itself. and yourself.", &[]),
            ("a: \"$${self.spec.x}\"", &[]),
        ];
        for (text, expected) in table {
            let found: Vec<_> = lookalikes(text).into_iter().map(|at| (at.line, at.column)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
