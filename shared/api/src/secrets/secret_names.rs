//! Names that look like those of secrets, whatever a target says of them.
//!
//! What stands under such a name is never shown.

/// A name that holds one of these is taken for a secret's.
const SECRET_LOOKING: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
];

/// Returns true if what stands under this name is not to be shown.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    let plain: Vec<u8> = letters.collect();
    // Names and words are short: to look for each word at each place takes a fraction of what a search prepares.
    (0..plain.len()).any(|start| SECRET_LOOKING.iter().any(|word| plain[start..].starts_with(word.as_bytes())))
}
