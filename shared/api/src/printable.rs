//! Makes foreign text safe for terminals and for one line of a condition.

/// Escapes control characters (C0, C1) and invisible characters: `\n`, `\u{202e}`. A printable text stays as it is, so
/// that an escaped one does too.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_printable(letter) {
            true => shown.push(letter),
            false => shown.extend(letter.escape_default()),
        }
    }
    shown
}

/// Returns true if a character is neither a control character, which terminals interpret, nor an invisible one, which
/// can reverse or hide its neighbours.
#[must_use]
pub fn is_printable(letter: char) -> bool {
    // Format characters, and letters without a shape: Unicode 16, Default_Ignorable_Code_Point without the variation
    // selectors, which belong to emoji.
    let is_invisible = matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}'
        | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}');
    !letter.is_control() && !is_invisible
}

/// Returns the first names of a list, and the number of the others: `a, b, c and 4 more`.
#[must_use]
pub fn first_names(names: &[impl AsRef<str>], most: usize) -> String {
    let named = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Returns JSON text in which `\u` escapes stand for the characters that are not printable. JSON reads it as before.
#[must_use]
pub fn printable_json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter == '\n' || is_printable(letter) {
            true => shown.push(letter),
            false => {
                let mut units = [0; 2];
                letter.encode_utf16(&mut units).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        let table = [
            ("Ärger: 1 € 😀", "Ärger: 1 € 😀"),
            ("a\u{1b}[31mb\r\n\tc\u{7f}", r"a\u{1b}[31mb\r\n\tc\u{7f}"),
            ("\u{9b}31m\u{90}x\u{9c}", r"\u{9b}31m\u{90}x\u{9c}"),
            (
                "not \u{202e}drawrof\u{202c}\u{2066}\u{200f}\u{61c}\u{2028}",
                r"not \u{202e}drawrof\u{202c}\u{2066}\u{200f}\u{61c}\u{2028}",
            ),
            ("pass\u{200b}word\u{ad}\u{feff}", r"pass\u{200b}word\u{ad}\u{feff}"),
            ("tag\u{e0041} filler\u{3164}", r"tag\u{e0041} filler\u{3164}"),
        ];
        for (text, expected) in table {
            assert_eq!(printable(text), expected);
            assert_eq!(printable(expected), expected, "it is escaped once");
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({"a\u{202e}": "b\u{9b}\u{e0041}\n\u{feff}ä\\u200b", "c": [1, "d"]});
        let shown = printable_json(&format!("{value:#}"));
        assert!(shown.chars().all(|letter| letter == '\n' || is_printable(letter)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).ok(), Some(value));
    }
}
