//! The search for a secret in a text, as it is or in an encoding: other case, JSON, SQL, entities, percent, Base64,
//! hex, and Base64 of these.
//!
//! A server that splits a secret into parts of less than half its length is not recognized: such short parts occur in
//! other texts too.

use std::borrow::Cow;
use std::cell::OnceCell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use crate::values::entities::entity;

/// Minimum characters of a secret that is searched for as a part of a text. A shorter secret only matches a whole text.
pub(super) const MIN_TELLING_CHARS: usize = 4;
/// Minimum characters of a secret that is searched for in other case. Shorter ones are words such as `data`.
const MIN_CHARS_IN_OTHER_CASE: usize = 8;
/// Maximum rounds of decoding percent signs, entities and escapes. A proxy encodes once what a client encoded.
const MAX_DECODINGS: usize = 2;
/// Base64 encodes this many bytes as four letters.
const BYTES_OF_A_GROUP: usize = 3;
/// Number of letters of such a group.
const LETTERS_OF_A_GROUP: usize = 4;
/// Number of bits in one Base64 letter.
const BITS_OF_A_LETTER: usize = 6;
/// Separators and prefixes of hex digits: `43:6F`, `43 6F`, `0x43, 0x6F`, `\\x43\\x6F`.
const BETWEEN_HEX: [char; 7] = [':', ' ', '-', ',', '_', '\n', '\\'];
/// Quotes that SQL doubles inside of a text or a name.
const QUOTES: [char; 3] = ['\'', '"', '`'];

/// A text in the forms in which secrets are searched. Each form is made at most once for all secrets.
pub(super) struct Readings<'t> {
    text: Cow<'t, str>,
    lower: OnceCell<String>,
    /// Without backslashes and doubled quotes; `None` if it has none.
    plain: OnceCell<Option<String>>,
    /// In the standard alphabet of Base64.
    base64: OnceCell<String>,
    /// In lower case, as it is and without separators of hex digits.
    hex: OnceCell<[String; 2]>,
    /// With spaces for `+`, percent-decoded; `None` without `+`.
    form: OnceCell<Option<String>>,
    /// Percent-decoded, and without entities and escapes. Neither if that changes nothing.
    decoded: OnceCell<Vec<Readings<'static>>>,
    decodings: usize,
}

impl<'t> Readings<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self::after(Cow::Borrowed(text), 0)
    }

    fn after(text: Cow<'t, str>, decodings: usize) -> Self {
        Self {
            text,
            lower: OnceCell::new(),
            plain: OnceCell::new(),
            base64: OnceCell::new(),
            hex: OnceCell::new(),
            form: OnceCell::new(),
            decoded: OnceCell::new(),
            decodings,
        }
    }

    /// Returns true if the text is a secret or contains it.
    pub(super) fn repeat(&self, secret: &str) -> bool {
        let secret = secret.trim();
        self.text.trim() == secret || secret.chars().count() >= MIN_TELLING_CHARS && self.hold(secret)
    }

    /// Returns true if the text contains the secret, as it is or in an encoding that requests and logs use.
    fn hold(&self, secret: &str) -> bool {
        let escaped = Value::from(secret).to_string();
        let escaped = escaped.get(1..escaped.len() - 1).unwrap_or(secret);
        self.text.contains(secret)
            || self.text.contains(escaped)
            || self.hold_in_other_case(secret)
            || self.hold_escaped_again(secret)
            || self.hold_percent_encoded(secret)
            || self.hold_base64(secret.as_bytes())
            || self.hold_hex(secret)
            || self.hold_base64_again(secret)
            || self.form().is_some_and(|form| form.contains(secret))
            || self.decoded().iter().any(|decoded| decoded.hold(secret))
    }

    fn lower(&self) -> &str {
        self.lower.get_or_init(|| self.text.to_lowercase())
    }

    fn hold_in_other_case(&self, secret: &str) -> bool {
        secret.chars().count() >= MIN_CHARS_IN_OTHER_CASE && self.lower().contains(&secret.to_lowercase())
    }

    /// Searches the secret with each of its characters encoded. A `%` in front of it spoils the decoding of the text.
    fn hold_percent_encoded(&self, secret: &str) -> bool {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string().to_lowercase();
        let mut form = secret.to_owned();
        self.text.contains('%')
            && (0..MAX_DECODINGS).any(|_| {
                form = encoded(&form);
                self.lower().contains(&form)
            })
    }

    /// Searches JSON nested in JSON, which escapes quotes and backslashes once for each level, and SQL, which doubles
    /// quotes. A secret that consists mostly of these is skipped: without them it would match every text.
    fn hold_escaped_again(&self, secret: &str) -> bool {
        let secret = plain(secret);
        let own = self.plain.get_or_init(|| Some(plain(&self.text)).filter(|plain| *plain != self.text));
        secret.chars().count() >= MIN_TELLING_CHARS && own.as_ref().is_some_and(|own| own.contains(&secret))
    }

    /// Searches Base64 at any offset, for example after a user name, in both alphabets.
    fn hold_base64(&self, secret: &[u8]) -> bool {
        let own = self.base64.get_or_init(|| self.text.replace('-', "+").replace('_', "/"));
        in_base64(secret).any(|decided| own.contains(&decided))
    }

    /// Searches Base64 of Base64 and of hex. Most texts have no word that is long enough for it.
    fn hold_base64_again(&self, secret: &str) -> bool {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+/-_".contains(letter);
        let longest = self.text.split(|letter| !is_letter(letter)).map(str::len).max().unwrap_or_default();
        // Two rounds, without a group at each end of each round.
        let shortest = (secret.len() / BYTES_OF_A_GROUP * LETTERS_OF_A_GROUP).saturating_sub(2 * LETTERS_OF_A_GROUP);
        if longest < shortest / BYTES_OF_A_GROUP * LETTERS_OF_A_GROUP {
            return false;
        }
        let hex = hex_of(secret);
        let once = in_base64(secret.as_bytes()).filter(|once| once.len() > LETTERS_OF_A_GROUP);
        let inner = once.flat_map(|once| [once.replace('+', "-").replace('/', "_"), once]);
        inner.chain([hex.to_ascii_uppercase(), hex]).any(|inner| self.hold_base64(inner.as_bytes()))
    }

    /// Searches two hex digits for each byte, in lower or upper case, with or without separators.
    fn hold_hex(&self, secret: &str) -> bool {
        let digits = hex_of(secret);
        let own = || {
            let lower = self.text.to_ascii_lowercase();
            let joined = lower.replace("0x", "").replace("\\x", "").replace(BETWEEN_HEX, "");
            [lower, joined]
        };
        self.text.len() >= digits.len() && self.hex.get_or_init(own).iter().any(|own| own.contains(&digits))
    }

    /// Returns the text of a form, where `+` is a space.
    fn form(&self) -> Option<&str> {
        let form = || self.text.contains('+').then(|| percent_decoded(&self.text.replace('+', " ")));
        self.form.get_or_init(form).as_deref()
    }

    fn decoded(&self) -> &[Readings<'static>] {
        let decode = || {
            let percent = self.text.contains('%').then(|| percent_decoded(&self.text));
            let texts = percent.into_iter().chain(unescaped(&self.text));
            texts.map(|text| Readings::after(Cow::Owned(text), self.decodings + 1)).collect()
        };
        let can_decode = self.decodings < MAX_DECODINGS;
        self.decoded.get_or_init(|| if can_decode { decode() } else { Vec::new() })
    }
}

fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns the text without backslashes, and with one quote for several.
fn plain(text: &str) -> String {
    let mut previous = None;
    let is_kept = |letter: &char| previous.replace(*letter) != Some(*letter) || !QUOTES.contains(letter);
    text.chars().filter(|letter| *letter != '\\').filter(is_kept).collect()
}

/// Returns the text with the characters that its entities (`&amp;`, `&#39;`) and the escapes of JSON (`\u0026`) stand
/// for; `None` if it has none.
fn unescaped(text: &str) -> Option<String> {
    let (mut plain, mut rest, mut has_any) = (String::new(), text, false);
    while let Some(at) = rest.find(['&', '\\']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let (letter, length) = match entity(rest).or_else(|| json_escape(rest)) {
            Some(found) => {
                has_any = true;
                found
            }
            None => (char::from(rest.as_bytes()[0]), 1),
        };
        plain.push(letter);
        rest = &rest[length..];
    }
    has_any.then(|| plain + rest)
}

/// Returns the character of the escape at the start of a text, and the bytes of the escape.
fn json_escape(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, 6))
}

/// Returns the Base64 of a text at each offset, with only the letters that depend on the text alone.
fn in_base64(text: &[u8]) -> impl Iterator<Item = String> {
    (0..BYTES_OF_A_GROUP).filter_map(|before| {
        let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(text.iter().copied()).collect();
        let first = (before * u8::BITS as usize).div_ceil(BITS_OF_A_LETTER);
        let end = bytes.len() * u8::BITS as usize / BITS_OF_A_LETTER;
        STANDARD_NO_PAD.encode(&bytes).get(first..end).map(str::to_owned)
    })
}

fn hex_of(secret: &str) -> String {
    secret.bytes().map(|byte| format!("{byte:02x}")).collect()
}
