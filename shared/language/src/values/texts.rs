//! The normal form of a text: one spelling of each character, one kind of line end.

use std::borrow::Cow;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Maximum marks on one letter, as in the Stream-Safe Text Format of Unicode (UAX 15). The normal form keeps all of
/// them in memory, in ten times the size of the text.
const MAX_MARKS: usize = 30;

/// Returns a text in Unicode normal form C, with LF for CRLF, and without one line end after its last line. Letters of
/// a text with more than [`MAX_MARKS`] stay as they are.
pub(crate) fn normal_text(text: &str) -> Cow<'_, str> {
    let lines = text.strip_suffix('\n').map_or(text, |lines| lines.strip_suffix('\r').unwrap_or(lines));
    let lines = if lines.contains("\r\n") { Cow::Owned(lines.replace("\r\n", "\n")) } else { Cow::Borrowed(lines) };
    match is_nfc_quick(lines.chars()) {
        IsNormalized::Yes => lines,
        IsNormalized::No | IsNormalized::Maybe if has_few_marks(&lines) => Cow::Owned(lines.nfc().collect()),
        IsNormalized::No | IsNormalized::Maybe => lines,
    }
}

fn has_few_marks(text: &str) -> bool {
    let mut marks = 0;
    text.chars().all(|letter| {
        marks = if canonical_combining_class(letter) == 0 { 0 } else { marks + 1 };
        marks <= MAX_MARKS
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_have_one_normal_form() {
        let table = [
            ("", ""),
            ("\n", ""),
            ("\r\n", ""),
            ("a", "a"),
            ("a\r\nb\r\n", "a\nb"),
            ("a\n\n", "a\n"),
            ("a\r\n\r\n", "a\n"),
            ("a\rb", "a\rb"),
            ("a\r", "a\r"),
            ("\u{e9}", "\u{e9}"),
            ("e\u{301}", "\u{e9}"),
            ("\u{212b}", "\u{c5}"),
            ("\u{fb01}", "\u{fb01}"),
        ];
        for (text, expected) in table {
            assert_eq!(normal_text(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_flood_of_marks_stays_as_it_is() {
        let marked = |marks: usize| format!("e{}\n", "\u{301}".repeat(marks));
        assert_eq!(normal_text(&marked(30)), format!("\u{e9}{}", "\u{301}".repeat(29)));
        assert_eq!(normal_text(&marked(31)), marked(31).trim_end());
    }

    proptest! {
        #[test]
        fn line_ends_and_spelling_leave_no_trace(lines in proptest::collection::vec("[a-c\u{e9}\u{c5} ]{0,3}", 0..4)) {
            let [unix, windows] = ["\n", "\r\n"].map(|end| lines.join(end));
            let decomposed: String = windows.nfd().collect();
            for other in [format!("{unix}\n"), format!("{windows}\r\n"), format!("{decomposed}\n")] {
                prop_assert_eq!(normal_text(&other), &*unix);
            }
        }
    }
}
