//! `auth.query` and `auth.body`: a credential in the query or the body of each request.
//!
//! It names the credential and never holds it. The sender puts it in last, so no rendered request contains it.

use http::HeaderName;

use crate::secrets::secret_key::{SecretKey, token_key};
use crate::section::{Section, literal};

/// The place of a credential in a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CredentialPlace {
    /// A header.
    Header(HeaderName),
    /// The parameter of the query with this name. `None` if the credential is a whole query, `sv=…&sig=…`.
    Query(Option<String>),
    /// The field of a JSON body or of a form, as a JSON Pointer.
    Body(String),
}

/// A credential in the query or the body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthField {
    /// The place.
    pub place: CredentialPlace,
    /// The Secret and its key.
    pub value: SecretKey,
}

#[derive(Section)]
#[section(value = AuthField, check = |written: Self, _, _, ()| {
    Some(AuthField { place: CredentialPlace::Query(written.name), value: written.secret_ref })
})]
pub(crate) struct WrittenQuery {
    /// The name of the parameter. Default: the value is a whole query.
    #[key(literal(parse_parameter))]
    name: Option<String>,
    /// A Secret in the programs' namespace.
    #[key(token_key())]
    secret_ref: SecretKey,
}

#[derive(Section)]
#[section(value = AuthField, check = |written: Self, _, _, ()| {
    Some(AuthField { place: CredentialPlace::Body(written.pointer), value: written.secret_ref })
})]
pub(crate) struct WrittenBody {
    /// The field, as a JSON Pointer: /auth.
    #[key(literal(parse_pointer))]
    pointer: String,
    /// A Secret in the programs' namespace.
    #[key(token_key())]
    secret_ref: SecretKey,
}

/// Parses the name of a parameter.
pub(super) fn parse_parameter(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("the name of a parameter is needed".to_owned()) } else { Ok(text.to_owned()) }
}

/// Parses the place of a field.
pub(super) fn parse_pointer(text: &str) -> Result<String, String> {
    match text.starts_with('/') {
        true => Ok(text.to_owned()),
        false => Err("write a JSON Pointer such as /access_token".to_owned()),
    }
}
