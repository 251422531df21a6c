//! Makes foreign text safe for terminals and for one line of a condition.

/// Replaces control characters (C0, C1) and invisible characters by `�`.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|letter| if is_printable(letter) { letter } else { '�' }).collect()
}

/// Returns true if a character is neither a control character, which terminals interpret, nor an invisible one, which
/// can reverse or hide its neighbours.
#[must_use]
pub fn is_printable(letter: char) -> bool {
    let is_invisible = matches!(letter, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !letter.is_control() && !is_invisible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        let table = [
            ("Ärger: 1 € 😀", "Ärger: 1 € 😀"),
            ("a\u{1b}[31mb\r\n\tc\u{7f}", "a�[31mb���c�"),
            ("\u{9b}31m\u{90}x\u{9c}", "�31m�x�"),
            ("not \u{202e}drawrof\u{202c}\u{2066}\u{200f}\u{61c}\u{2028}", "not �drawrof�����"),
            ("pass\u{200b}word\u{ad}\u{feff}", "pass�word��"),
        ];
        for (text, expected) in table {
            assert_eq!(printable(text), expected);
        }
    }
}
