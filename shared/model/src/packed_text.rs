//! A text kept in few bytes: what it has in common with another text of its sort, its dictionary, is not kept again.
//!
//! Objects of one kind have their keys in common and many values too. It must not know what any text means, nor who chooses
//! the dictionary.

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use triomphe::ThinArc;

use crate::shared_text::SharedText;

/// The most of a text that others are packed against. To pack one looks through all of its dictionary, which takes a
/// microsecond for each four kilobytes.
const MAX_DICTIONARY_BYTES: usize = 4096;

/// A text that is packed. Cheap to clone: one pointer.
#[derive(Clone, Debug)]
pub struct PackedText {
    /// The dictionary, and the text as LZ4 after its length.
    packed: ThinArc<Dictionary, u8>,
}

/// A text that others are packed against. Without one, each is packed by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary(SharedText);

impl Dictionary {
    /// What stands at the beginning of that text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(text[..text.floor_char_boundary(MAX_DICTIONARY_BYTES)].into())
    }
}

impl PackedText {
    /// Packs a text.
    #[must_use]
    pub fn new(text: &str, dictionary: &Dictionary) -> Self {
        let packed = compress_prepend_size_with_dict(text.as_bytes(), dictionary.0.as_bytes());
        Self { packed: ThinArc::from_header_and_slice(dictionary.clone(), &packed) }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> String {
        let unpacked = decompress_size_prepended_with_dict(self.bytes(), self.dictionary().0.as_bytes());
        // It was packed from a text with this dictionary, so neither can fail.
        unpacked.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// What it is packed against.
    #[must_use]
    pub fn dictionary(&self) -> &Dictionary {
        &self.packed.header.header
    }

    /// Whether it is just this one, and not only an equal one.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.packed.as_ptr() == other.packed.as_ptr()
    }

    fn bytes(&self) -> &[u8] {
        &self.packed.slice
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packed_text_comes_back(text: String, other: String, dictionaries in prop::array::uniform2("[a-c\u{e9}]{0,9}")) {
            let [one, another] = dictionaries.map(|text| Dictionary::of(&text.repeat(1_000)));
            for text in [text.clone(), one.0.to_string(), format!("{text}{}{other}", another.0)] {
                let packed = PackedText::new(&text, &one);
                prop_assert_eq!(packed.text(), &*text);
                prop_assert!(packed == PackedText::new(&text, &one) && packed == PackedText::new(&text, &another));
                prop_assert_eq!(packed == PackedText::new(&other, &another), text == other);
                prop_assert_eq!(packed == PackedText::new(&other, &one), text == other);
            }
        }
    }

    #[test]
    fn what_a_dictionary_has_is_not_kept_again() {
        let role =
            |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"login":true,"owner":"team-a"}}}}"#);
        let dictionary = Dictionary::of(&role("reader"));
        let (alone, packed) =
            (PackedText::new(&role("writer"), &Dictionary::default()), PackedText::new(&role("writer"), &dictionary));
        assert!(
            packed.bytes().len() < 24 && alone.bytes().len() > 64,
            "{} {}",
            packed.bytes().len(),
            alone.bytes().len()
        );
        assert!(
            packed == alone && packed.is(&packed.clone()) && !packed.is(&PackedText::new(&role("writer"), &dictionary))
        );
    }
}
