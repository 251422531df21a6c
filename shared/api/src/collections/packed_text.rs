//! A text kept in few bytes: what it has in common with another text of its sort, its dictionary, is not kept again.
//!
//! Objects of one kind have their keys in common and many values too. It must not know what any text means, nor who chooses
//! the dictionary.

use std::fmt;

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use triomphe::ThinArc;

use crate::collections::shared_text::SharedText;

/// The most of a text that others are packed against. All of it is looked through each time that one is packed, which takes a
/// microsecond for each four kilobytes.
const MOST_DICTIONARY_BYTES: usize = 4096;

/// The least: of what texts have in common with a shorter one little is left after the 12 bytes of a pointer to it and of LZ4's length.
const LEAST_DICTIONARY_BYTES: usize = 64;

/// A text that is packed. Cheap to clone: one pointer.
#[derive(Clone)]
pub struct PackedText {
    /// The dictionary, and the text as LZ4 after its length; without a dictionary the text itself.
    kept: ThinArc<Option<Dictionary>, u8>,
}

/// A text that others are packed against.
#[derive(Clone, PartialEq, Eq)]
pub struct Dictionary(SharedText);

impl Dictionary {
    /// What stands at the beginning of that text; nothing where it is too short to be of use.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let beginning = &text[..text.floor_char_boundary(MOST_DICTIONARY_BYTES)];
        (beginning.len() >= LEAST_DICTIONARY_BYTES).then(|| Self(beginning.into()))
    }
}

impl PackedText {
    /// Packs a text; without a dictionary it is kept as it is.
    #[must_use]
    pub fn new(text: &str, dictionary: Option<&Dictionary>) -> Self {
        if let Some(dictionary) = dictionary {
            let packed = compress_prepend_size_with_dict(text.as_bytes(), dictionary.0.as_bytes());
            // One that came back as another text would be another object: that is found here, where the text is at hand.
            if packed.len() < text.len() && unpack(&packed, dictionary).is_some_and(|back| back == text) {
                return Self { kept: ThinArc::from_header_and_slice(Some(dictionary.clone()), &packed) };
            }
        }
        Self { kept: ThinArc::from_header_and_slice(None, text.as_bytes()) }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> String {
        let text = match self.dictionary() {
            Some(dictionary) => unpack(self.bytes(), dictionary),
            None => String::from_utf8(self.bytes().to_vec()).ok(),
        };
        // It is a text, or came back as one when it was packed.
        text.unwrap_or_default()
    }

    /// What it is packed against; `None` where it is kept as it is.
    #[must_use]
    pub fn dictionary(&self) -> Option<&Dictionary> {
        self.kept.header.header.as_ref()
    }

    /// Whether it is just this one, and not only an equal one.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.kept.as_ptr() == other.kept.as_ptr()
    }

    fn bytes(&self) -> &[u8] {
        &self.kept.slice
    }
}

fn unpack(packed: &[u8], dictionary: &Dictionary) -> Option<String> {
    let text = decompress_size_prepended_with_dict(packed, dictionary.0.as_bytes());
    text.ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

impl PartialEq for PackedText {
    /// The same text and the same dictionary give the same bytes.
    fn eq(&self, other: &Self) -> bool {
        if self.dictionary() == other.dictionary() {
            return self.bytes() == other.bytes();
        }
        self.text() == other.text()
    }
}

impl Eq for PackedText {}

impl fmt::Debug for PackedText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text())
    }
}

impl fmt::Debug for Dictionary {
    /// Its length alone: it is of another object.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a dictionary of {} bytes", self.0.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// From short ones to those beyond the 64 KiB that LZ4 looks back, of few letters and of any.
    fn texts() -> impl Strategy<Value = String> {
        let long = ("[a-f]{400,700}", 1_usize..400).prop_map(|(text, times)| text.repeat(times));
        prop_oneof![4 => any::<String>(), 4 => "[a-c\u{e9}]{0,300}", 1 => long, 1 => "[ -~]{60000,90000}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn a_packed_text_comes_back(texts in prop::array::uniform4(texts())) {
            let [text, other, one, another] = &texts;
            let (one, another) = (Dictionary::of(one), Dictionary::of(another));
            for text in [text, other, &format!("{text}{other}"), &format!("{}{text}", texts[2])] {
                let packed = PackedText::new(text, one.as_ref());
                prop_assert!(packed.text() == **text, "{} bytes", text.len());
                for again in [&one, &another, &None] {
                    prop_assert!(packed == PackedText::new(text, again.as_ref()));
                    prop_assert!((packed == PackedText::new(other, again.as_ref())) == (text == other));
                }
            }
        }
    }

    #[test]
    fn what_a_dictionary_has_is_not_kept_again() {
        let role =
            |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"login":true,"owner":"team-a"}}}}"#);
        let dictionary = Dictionary::of(&role("reader"));
        let keep = |dictionary| PackedText::new(&role("writer"), dictionary);
        let (whole, packed) = (keep(None), keep(dictionary.as_ref()));
        assert_eq!(whole.bytes().len(), role("writer").len());
        assert!(packed.bytes().len() < 28, "{}", packed.bytes().len());
        assert!(packed == whole && packed.is(&packed.clone()) && !packed.is(&keep(dictionary.as_ref())));
        assert!(Dictionary::of("{}").is_none(), "too short to be of use");
        let unlike = PackedText::new("0123456789", dictionary.as_ref());
        assert!(unlike.dictionary().is_none() && unlike.bytes() == b"0123456789", "it would take more");
        assert_eq!(
            format!("{packed:?} {:?}", dictionary.unwrap()),
            format!("{} a dictionary of 69 bytes", role("writer"))
        );
    }
}
