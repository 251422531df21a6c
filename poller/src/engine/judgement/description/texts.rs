//! Formats texts so that two that differ look different.
//!
//! A long text is shown around its first difference. A backslash is doubled, so that `\n` is always a line break.

use drift_api::printable::is_printable;
use drift_api::secrets::secret_texts::without_userinfo;
use drift_api::short_hash;
use unicode_normalization::UnicodeNormalization;

/// Maximum characters of a shown value.
const MAX_VALUE_CHARACTERS: usize = 64;
/// Characters from the first difference on that are shown before its surroundings in front take the rest.
const FROM_DIFFERENCE: usize = 41;
/// Stands for what is left out.
const ELLIPSIS: &str = "…";

/// Formats a text without quotes: both ends of a long one, and its fingerprint, because two texts may have the same
/// ends.
pub(super) fn show_text(text: &str) -> String {
    ends_of(&without_userinfo(text), |letter| shown(letter, false))
}

/// Returns a text that is already escaped, with both ends of a longer one and its fingerprint.
pub(super) fn cut(text: &str) -> String {
    ends_of(text, String::from)
}

/// Formats two texts that differ, in quotes. `None` if they differ only in what is hidden.
pub(super) fn show_texts(desired: &str, observed: &str) -> Option<[String; 2]> {
    let [desired, observed] = [desired, observed].map(without_userinfo);
    let same = desired.chars().zip(observed.chars()).take_while(|(one, other)| one == other);
    let at: usize = same.map(|(letter, _)| letter.len_utf8()).sum();
    let (before, rests) = (desired.get(..at)?, [desired.get(at..)?, observed.get(at..)?]);
    let [one, other] = rests.map(|rest| rest.chars().next());
    if one.is_none() && other.is_none() {
        return None;
    }
    // Two forms of one letter begin with the same character in normal form.
    let [normal, other_normal] = rests.map(|rest| rest.chars().take(MAX_VALUE_CHARACTERS).nfkc().next());
    let is_alike = is_lookalike(one, other) || normal.is_some() && normal == other_normal;
    let format = |letter| shown(letter, is_alike);
    // Only what may be shown is formatted. Each letter takes at least one character.
    let before: Vec<String> = before.chars().rev().take(MAX_VALUE_CHARACTERS + 1).map(format).collect();
    let rests = rests.map(|rest| rest.chars().take(MAX_VALUE_CHARACTERS + 1).map(format).collect::<Vec<_>>());
    let is_whole = rests.iter().all(|rest| width(&before) + width(rest) <= MAX_VALUE_CHARACTERS);
    let kept = if is_whole { before.len() } else { surroundings(&before, &rests) };
    let is_cut = kept < before.len();
    let head: String = before.get(..kept).unwrap_or_default().iter().rev().map(String::as_str).collect();
    let head = if is_cut { format!("{ELLIPSIS}{head}") } else { head };
    Some(rests.map(|rest| format!("\"{}\"", beginning(head.clone(), &rest))))
}

/// Returns how many letters in front of the first difference have room. They are given from the nearest on.
fn surroundings(before: &[String], rests: &[Vec<String>]) -> usize {
    let longest = rests.iter().map(|rest| width(rest)).max().unwrap_or_default();
    fitting(before, MAX_VALUE_CHARACTERS.saturating_sub(2 + longest.min(FROM_DIFFERENCE)))
}

/// Appends the letters that have room, and `…` for others.
fn beginning(head: String, rest: &[String]) -> String {
    let room = MAX_VALUE_CHARACTERS.saturating_sub(head.chars().count());
    if width(rest) <= room {
        return head + &rest.concat();
    }
    let kept = fitting(rest, room.saturating_sub(1));
    head + &rest.get(..kept).unwrap_or_default().concat() + ELLIPSIS
}

/// Returns at most [`MAX_VALUE_CHARACTERS`]: both ends of a longer text, with its fingerprint between them.
fn ends_of(text: &str, format: impl Fn(char) -> String) -> String {
    /// Characters of each end. The fingerprint takes the rest.
    const END: usize = 26;
    let head: Vec<String> = text.chars().take(MAX_VALUE_CHARACTERS + 1).map(&format).collect();
    if width(&head) <= MAX_VALUE_CHARACTERS {
        return head.concat();
    }
    let tail: Vec<String> = text.chars().rev().take(END).map(&format).collect();
    let tail = tail.get(..fitting(&tail, END)).unwrap_or_default().iter().rev().map(String::as_str);
    let head = head.get(..fitting(&head, END)).unwrap_or_default().concat();
    format!("{head}{ELLIPSIS}#{:08x}{ELLIPSIS}{}", short_hash(text), tail.collect::<String>())
}

/// Returns the number of letters that have room.
fn fitting(letters: &[String], room: usize) -> usize {
    let mut width = 0;
    let fits = |letter: &&String| {
        width += letter.chars().count();
        width <= room
    };
    letters.iter().take_while(fits).count()
}

fn width(letters: &[String]) -> usize {
    letters.iter().map(|letter| letter.chars().count()).sum()
}

/// Formats a character, so that no other one looks the same. `every` escapes all beyond ASCII.
fn shown(letter: char, every: bool) -> String {
    let is_like_space = letter.is_whitespace() && letter != ' ';
    let is_variation = matches!(letter, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
    let is_blank = letter == '\u{2800}';
    match letter {
        '\\' => "\\\\".to_owned(),
        _ if !is_printable(letter) || is_like_space || is_variation || is_blank || every && !letter.is_ascii() => {
            letter.escape_default().collect()
        }
        _ => letter.to_string(),
    }
}

/// Returns true if one of the first differing characters is a letter of a script that has the shapes of Latin letters,
/// and the other one is none of it.
fn is_lookalike(one: Option<char>, other: Option<char>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    // Greek, Cyrillic, Armenian, Cherokee, Roman numerals, mathematical letters.
    let is_alike = |letter: char| matches!(letter, '\u{370}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{2100}'..='\u{218b}' | '\u{1d400}'..='\u{1d7ff}');
    (is_alike(one) && other.is_ascii_alphanumeric()) || (is_alike(other) && one.is_ascii_alphanumeric())
}
