//! Names that look like those of secrets, whatever a target says of them.
//!
//! What stands under such a name is never shown. It must not know where names come from.

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

/// Whether what stands under this name is not to be shown.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    SECRET_LOOKING.iter().any(|word| plain.contains(word))
}
