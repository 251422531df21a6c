//! Positions in a document, and the mapping from a character of a text to its written form.
//!
//! They differ because of quotes, escapes and blocks.

/// A position in a document, 1-based. Line 0 if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Walks the written form of a text in parallel with the text itself. White space is skipped, because
/// folding changes it.
pub(crate) struct Cursor<'d> {
    rest: &'d str,
    quote: Option<char>,
    pub(crate) at: Position,
}

impl<'d> Cursor<'d> {
    pub(crate) fn new(raw: &'d str, at: Position) -> Self {
        let mut cursor = Self { rest: raw, quote: None, at };
        match raw.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                cursor.quote = Some(quote);
                cursor.step();
            }
            // The header of a block ends with its line.
            Some('|' | '>') => while cursor.step().is_some_and(|character| character != '\n') {},
            _ => {}
        }
        cursor
    }

    fn step(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        if character == '\n' {
            self.at = Position { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(character)
    }

    pub(crate) fn skip_whitespace(&mut self) {
        while self.rest.starts_with(char::is_whitespace) {
            self.step();
        }
    }

    /// Advances over one written character. Returns false if it is not the expected one.
    pub(crate) fn pass(&mut self, expected: char) -> bool {
        self.skip_whitespace();
        let escaped = match self.quote {
            Some('"') => self.rest.starts_with('\\'),
            Some('\'') => self.rest.starts_with("''"),
            _ => false,
        };
        if escaped {
            self.step();
        }
        self.step() == Some(expected)
    }
}
