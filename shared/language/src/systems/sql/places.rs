//! The allowed places of expressions in a statement: between words, and never inside a quote or a comment.
//!
//! It follows PostgreSQL's lexer with `standard_conforming_strings` on, and MySQL's without `ANSI_QUOTES` and
//! `NO_BACKSLASH_ESCAPES`, as all of our connections set them.

use crate::systems::sql::Dialect;

/// The lexical state at the end of the text read so far.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ScanState {
    /// Words, numbers, operators.
    Plain,
    /// `'…'`, `"…"`, or MySQL's name in backticks. `escapes` if backslashes are escapes.
    Quoted { quote: char, escapes: bool },
    /// `$tag$…$tag$`, with its tag.
    Dollar(String),
    /// `-- …`, or MySQL's `# …`, to the end of the line.
    LineComment,
    /// `/* … */`, which PostgreSQL nests.
    BlockComment(usize),
}

/// Characters allowed right before an expression, besides white space.
const MAY_PRECEDE: &[char] = &['(', ',', '[', '=', '.'];
/// Characters allowed right after an expression, besides white space.
const MAY_FOLLOW: &[char] = &[')', ',', ']', ';', ':', '=', '.'];

/// Scanner of one statement, from its beginning to its end.
#[derive(Debug)]
pub(super) struct Places {
    dialect: Dialect,
    state: ScanState,
    /// The previous character, `None` at the beginning. An expression counts as a letter.
    last: Option<char>,
    /// The word that ends at this position.
    word: String,
    /// After a string and only white space: its kind (true if backslashes are escapes), because a quote on a later
    /// line continues it.
    continues: Option<bool>,
    /// True after the end of the statement.
    ended: bool,
}

impl Places {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, state: ScanState::Plain, last: None, word: String::new(), continues: None, ended: false }
    }

    /// Scans text, and returns it without the `;` that ends the statement.
    ///
    /// # Errors
    /// Returns the offset of a mistake in characters, and its message.
    pub(super) fn read(&mut self, text: &str) -> Result<String, (usize, &'static str)> {
        let letters: Vec<char> = text.chars().collect();
        let mut kept = String::with_capacity(text.len());
        let mut position = 0;
        while let Some(&letter) = letters.get(position) {
            let rest = &letters[position..];
            let taken = match &self.state {
                ScanState::Plain => self.plain(rest).map_err(|mistake| (position, mistake))?,
                ScanState::Quoted { quote, escapes } => self.quoted(*quote, *escapes, rest),
                ScanState::Dollar(tag) => {
                    let is_end = begins_with(rest, tag);
                    let length = if is_end { tag.chars().count() } else { 1 };
                    if is_end {
                        self.state = ScanState::Plain;
                    }
                    length
                }
                ScanState::LineComment => {
                    if ends_line(self.dialect, letter) {
                        self.state = ScanState::Plain;
                    }
                    1
                }
                ScanState::BlockComment(depth) => self.block_comment(*depth, rest),
            };
            let is_end = self.state == ScanState::Plain && letter == ';' && taken == 1;
            if !is_end {
                kept.extend(rest.iter().take(taken));
            }
            self.last = rest.get(taken - 1).copied();
            position += taken;
        }
        Ok(kept)
    }

    /// Checks an expression at this position. `next` is the character after it, and `is_followed` is true if
    /// another expression follows.
    ///
    /// # Errors
    /// Returns the reason why it is not allowed.
    pub(super) fn take_expression(&mut self, next: Option<char>, is_followed: bool) -> Result<(), &'static str> {
        match self.state {
            ScanState::Plain => {}
            ScanState::Quoted { .. } | ScanState::Dollar(_) => {
                return Err("no ${…} inside quotes: without them its value is quoted by itself");
            }
            ScanState::LineComment | ScanState::BlockComment(_) => return Err("no ${…} in a comment"),
        }
        if self.ended {
            return Err(ONE_STATEMENT);
        }
        let is_apart = |letter: Option<char>, allowed: &[char]| {
            letter.is_none_or(|letter| letter.is_whitespace() || allowed.contains(&letter))
        };
        if is_followed || !is_apart(self.last, MAY_PRECEDE) || !is_apart(next, MAY_FOLLOW) {
            return Err("${…} has to stand apart from what is beside it: write a space");
        }
        (self.last, self.continues) = (Some('x'), None);
        self.word.clear();
        Ok(())
    }

    /// Checks the end of the statement.
    ///
    /// # Errors
    /// Returns an error for an unterminated part.
    pub(super) fn finish(&self) -> Result<(), &'static str> {
        match self.state {
            ScanState::Plain | ScanState::LineComment => Ok(()),
            ScanState::Quoted { .. } | ScanState::Dollar(_) => Err("a quote has no end"),
            ScanState::BlockComment(_) => Err("a comment has no end"),
        }
    }

    fn plain(&mut self, rest: &[char]) -> Result<usize, &'static str> {
        let letter = rest.first().copied().unwrap_or_default();
        if begins_with(rest, "--") || self.is_mysql() && letter == '#' {
            // For MySQL, `--` without a space behind is two minus signs.
            if self.is_mysql() && letter == '-' && rest.get(2).is_some_and(|next| !next.is_ascii_whitespace()) {
                return Err("a comment begins with `-- `: write a space");
            }
            self.state = ScanState::LineComment;
            return Ok(if letter == '#' { 1 } else { 2 });
        }
        if self.is_mysql() && (begins_with(rest, "/*!") || begins_with(rest, "/*M!")) {
            return Err("MySQL executes this comment: write its content without the comment");
        }
        if begins_with(rest, "/*") {
            self.state = ScanState::BlockComment(1);
            return Ok(2);
        }
        if letter.is_whitespace() {
            self.word.clear();
            return Ok(1);
        }
        if self.ended {
            return Err(ONE_STATEMENT);
        }
        let continued = self.continues.take();
        match letter {
            '\0' => return Err("no statement holds this character"),
            ';' => self.ended = true,
            '\'' => {
                let escapes = self.is_mysql() || self.word.eq_ignore_ascii_case("e") || continued == Some(true);
                self.state = ScanState::Quoted { quote: '\'', escapes };
            }
            '"' => self.state = ScanState::Quoted { quote: '"', escapes: self.is_mysql() },
            '`' if self.is_mysql() => self.state = ScanState::Quoted { quote: '`', escapes: false },
            '?' if self.is_mysql() => return Err(PARAMETER),
            '$' if self.word.is_empty() && !self.is_mysql() => return self.dollar(rest),
            _ if is_of_word(letter) => {
                self.word.push(letter);
                return Ok(1);
            }
            _ => {}
        }
        self.word.clear();
        Ok(1)
    }

    fn is_mysql(&self) -> bool {
        self.dialect == Dialect::Mysql
    }

    fn dollar(&mut self, rest: &[char]) -> Result<usize, &'static str> {
        let tag: Vec<char> =
            rest.iter().skip(1).copied().take_while(|letter| is_of_word(*letter) && *letter != '$').collect();
        if tag.first().is_some_and(char::is_ascii_digit) {
            return Err(PARAMETER);
        }
        if rest.get(tag.len() + 1) == Some(&'$') {
            self.state = ScanState::Dollar(rest.iter().take(tag.len() + 2).collect());
            return Ok(tag.len() + 2);
        }
        Ok(1)
    }

    fn quoted(&mut self, quote: char, escapes: bool, rest: &[char]) -> usize {
        let letter = rest.first().copied().unwrap_or_default();
        if letter == '\\' && escapes || letter == quote && rest.get(1) == Some(&quote) {
            return rest.len().min(2);
        }
        if letter == quote {
            self.state = ScanState::Plain;
            self.continues = (quote == '\'').then_some(escapes);
        }
        1
    }

    fn block_comment(&mut self, depth: usize, rest: &[char]) -> usize {
        let depth = match () {
            () if begins_with(rest, "/*") && !self.is_mysql() => depth + 1,
            () if begins_with(rest, "*/") => depth - 1,
            () => return 1,
        };
        self.state = if depth == 0 { ScanState::Plain } else { ScanState::BlockComment(depth) };
        2
    }
}

/// The error for a parameter marker.
const PARAMETER: &str = "a parameter is written as ${…}";

/// Returns true for a character that ends a comment to the end of the line.
fn ends_line(dialect: Dialect, letter: char) -> bool {
    letter == '\n' || letter == '\r' && dialect == Dialect::Postgres
}

/// The error for text after the `;`.
const ONE_STATEMENT: &str = "one statement is one entry: nothing may follow on its `;`";

fn begins_with(rest: &[char], beginning: &str) -> bool {
    let mut rest = rest.iter();
    beginning.chars().all(|letter| rest.next() == Some(&letter))
}

/// Returns the text without leading white space and comments.
pub(super) fn behind_comments(dialect: Dialect, text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        rest = if rest.starts_with("--") || dialect == Dialect::Mysql && rest.starts_with('#') {
            rest.trim_start_matches(|letter| !ends_line(dialect, letter)).trim_start()
        } else if let Some(inside) = rest.strip_prefix("/*") {
            behind_block_comment(dialect, inside).trim_start()
        } else {
            return rest;
        }
    }
}

/// Returns the text after the `*/` of the comment in which it begins.
fn behind_block_comment(dialect: Dialect, inside: &str) -> &str {
    let (mut rest, mut depth) = (inside, 1);
    while depth > 0 {
        let Some(at) = rest.find(['/', '*']) else { return "" };
        rest = &rest[at..];
        rest = match (rest.strip_prefix("/*"), rest.strip_prefix("*/")) {
            (Some(behind), _) if dialect == Dialect::Postgres => {
                depth += 1;
                behind
            }
            (_, Some(behind)) => {
                depth -= 1;
                behind
            }
            _ => &rest[1..],
        };
    }
    rest
}

/// Returns true if the text contains a word, in any case. Quotes and comments count as text.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter| !is_of_word(letter)).any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns true if a word may contain the character.
fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '$' || !letter.is_ascii()
}
