//! `auth.query` and `auth.body`: a credential in the query or the body of each request.
//!
//! It names the credential and never holds it. The sender puts it in last, so no rendered request contains it.

use http::HeaderName;

use crate::secrets::secret_key::{SecretKey, token_key};
use crate::section::{Section, literal};
use crate::systems::http::auth::Auth;
use crate::systems::http::auth::login::parse_pointer;
use crate::systems::http::request::RequestTemplate;
use crate::systems::http::request::body::Body;
use crate::yaml::{Fields, Reader};

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

impl Auth {
    /// The place of its credential, if a request without a body has none.
    fn is_in_body(&self) -> bool {
        match self {
            Self::Body(_) => true,
            Self::Login(login) => matches!(login.place, CredentialPlace::Body(_)),
            _ => false,
        }
    }

    /// Checks that each request has a body for the credential.
    pub(crate) fn check_bodies<'r>(
        reader: &mut Reader<'_>,
        fields: &Fields<'_>,
        auth: Option<&Self>,
        mut requests: impl Iterator<Item = &'r RequestTemplate>,
    ) -> Option<()> {
        let has_fields = |request: &RequestTemplate| matches!(request.body, Some(Body::Json(_) | Body::Form(_)));
        match fields.get("auth").filter(|_| auth.is_some_and(Self::is_in_body)) {
            Some(node) if !requests.all(has_fields) => {
                let place = fields.place("auth");
                let message = format!(
                    "{place}: the credential is a field of the body; give each request a body or a form, and method: POST"
                );
                reader.refuse(node.at, message)
            }
            _ => Some(()),
        }
    }
}
