//! Fingerprints to read out: the first bytes of a SHA-256, as 8 hex digits.
//!
//! They distinguish the values of one object or one cluster, and are not collision-resistant against attackers.

use sha2::{Digest, Sha256};

/// Number of hex digits.
const DIGITS: usize = 8;

/// Returns the fingerprint of a text.
#[must_use]
pub fn short_hash(text: &str) -> u32 {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(size_of::<u32>()).fold(0, |hash, byte| hash << 8 | u32::from(*byte))
}

/// Parses 8 lower-case hex digits. `None` for any other text.
pub(crate) fn parse_short_hash(text: &str) -> Option<u32> {
    u32::try_from(parse_hex(text, DIGITS)?).ok()
}

/// Parses this many lower-case hex digits. `None` for any other text.
pub(crate) fn parse_hex(text: &str, digits: usize) -> Option<u64> {
    let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_whole = text.len() == digits && text.bytes().all(lower_hex);
    is_whole.then(|| u64::from_str_radix(text, 16).ok())?
}
