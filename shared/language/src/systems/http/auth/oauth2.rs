//! `auth.oauth2`: a token from an identity server in exchange for a credential.
//!
//! It names the credential and never holds it or a token.

use url::Url;

use crate::secrets::secret_key::read_whole_secret;
use crate::yaml::Node;
use crate::yaml::reader::{Reader, all};

/// Maximum scopes of one token.
const MAX_SCOPES: usize = 32;

/// The source of a token and its scopes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OAuth2 {
    /// The identity server's endpoint.
    pub token_url: Url,
    /// The kind of credential.
    pub grant: Grant,
    /// The Secret with the credential.
    pub secret: String,
    /// The requested scopes.
    pub scopes: Vec<String>,
}

/// The kind of credential for a token request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grant {
    /// Keys `clientId` and `clientSecret` of the Secret.
    ClientCredentials,
    /// Keys `username` and `password`, and optionally `clientId` and `clientSecret`.
    Password,
}

pub(crate) fn read_oauth2(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<OAuth2> {
    let fields = reader.fields(node, place, &["tokenUrl", "grant", "secretRef", "scopes"])?;
    let token_url = reader.needed(&fields, "tokenUrl", read_token_url);
    let grant = reader.or(&fields, "grant", Grant::ClientCredentials, |reader, node, place| {
        let grants = [("clientCredentials", Grant::ClientCredentials), ("password", Grant::Password)];
        reader.choice(node, place, &grants)
    });
    let secret = reader.needed(&fields, "secretRef", read_whole_secret);
    let scopes = reader.or(&fields, "scopes", Vec::new(), read_scopes);
    Some(OAuth2 { token_url: token_url?, grant: grant?, secret: secret?, scopes: scopes? })
}

fn read_token_url(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Url> {
    reader.url_is_no_number(node, place)?;
    let text = reader.literal(node, place)?;
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    match url {
        Some(url) if url.username().is_empty() && url.password().is_none() && url.fragment().is_none() => Some(url),
        _ => reader
            .refuse(node.at, format!("{place}: a literal http:// or https:// URL without user or fragment is needed")),
    }
}

fn read_scopes(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<String>> {
    let items = reader.items(node, place, 1..=MAX_SCOPES)?;
    all(items.iter().map(|item| {
        let scope = reader.literal(item, place)?;
        // RFC 6749: scopes are separated by spaces.
        let is_scope = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        if scope.is_empty() || !scope.bytes().all(is_scope) {
            return reader.refuse(item.at, format!("{place}: `{scope}` is no scope; each item is one"));
        }
        Some(scope.to_owned())
    }))
}
