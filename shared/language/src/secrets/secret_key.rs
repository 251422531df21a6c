//! References to Secrets, most of them in our own namespace.

use crate::section::{Leaf, Section, literal, section};
use crate::values::names::{is_data_key, is_dns_subdomain};

/// A reference to one key of a Secret in our own namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Section)]
#[section(context = Option<&'static str>)]
pub struct SecretKey {
    /// The name of the Secret.
    #[key(literal(parse_secret_name))]
    pub name: String,
    /// The key in the Secret. Default of a credential: token.
    #[key(literal(parse_data_key), default = context.unwrap_or_default().to_owned(), needed = context.is_none())]
    pub key: String,
}

/// The data key of a credential that is named without one.
pub(crate) const TOKEN: &str = "token";

/// A credential.
pub(crate) fn token_key() -> impl Leaf<Value = SecretKey> {
    section::<SecretKey>(Some(TOKEN))
}

/// A value that is no credential. Its key has no default.
pub(crate) fn data_key() -> impl Leaf<Value = SecretKey> {
    section::<SecretKey>(None)
}

/// A reference to a Secret with fixed keys.
#[derive(Section)]
#[section(value = String, check = |secret: Self, _, _, ()| Some(secret.name))]
struct WholeSecret {
    /// The name of the Secret.
    #[key(literal(parse_secret_name))]
    name: String,
}

/// A Secret with fixed keys.
pub(crate) fn whole_secret() -> impl Leaf<Value = String> {
    section::<WholeSecret>(())
}

pub(crate) fn parse_data_key(text: &str) -> Result<String, String> {
    if is_data_key(text) { Ok(text.to_owned()) } else { Err(format!("`{text}` is no key of a Secret")) }
}

fn parse_secret_name(text: &str) -> Result<String, String> {
    if is_dns_subdomain(text) { Ok(text.to_owned()) } else { Err(format!("`{text}` is no name of a Secret")) }
}
