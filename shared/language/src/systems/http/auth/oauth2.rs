//! `auth.oauth2`: a token from an identity server in exchange for a credential.
//!
//! It names the credential and never holds it or a token.

use url::Url;

use crate::secrets::secret_key::read_whole_secret;
use crate::systems::http::auth::service_account_token::read_service_account_token;
use crate::yaml::Node;
use crate::yaml::reader::{Fields, Reader, all};

/// Maximum scopes of one token.
const MAX_SCOPES: usize = 32;

const CLIENT_CREDENTIALS: &str = "clientCredentials";
const PASSWORD: &str = "password";
const TOKEN_EXCHANGE: &str = "tokenExchange";

/// The source of a token and its scopes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OAuth2 {
    /// The identity server's endpoint.
    pub token_url: Url,
    /// The kind of credential.
    pub grant: Grant,
    /// The Secret with the credential. `None` only for a token exchange without a client.
    pub secret: Option<String>,
    /// The requested scopes.
    pub scopes: Vec<String>,
}

/// The kind of credential for a token request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Grant {
    /// Keys `clientId` and `clientSecret` of the Secret.
    ClientCredentials,
    /// Keys `username` and `password`, and optionally `clientId` and `clientSecret`.
    Password,
    /// A projected ServiceAccount token (RFC 8693), and optionally keys `clientId` and `clientSecret`.
    TokenExchange {
        /// The file name of the projected token.
        subject: String,
        /// The requested audience.
        audience: Option<String>,
    },
}

/// Keys of a section that only one grant has.
const KEYS_OF_GRANTS: &[(&str, &str)] = &[("serviceAccountToken", "tokenExchange"), ("audience", "tokenExchange")];

pub(crate) fn read_oauth2(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<OAuth2> {
    const KEYS: &[&str] = &["tokenUrl", "grant", "secretRef", "scopes", "serviceAccountToken", "audience"];
    let fields = reader.fields(node, place, KEYS)?;
    let token_url = reader.needed(&fields, "tokenUrl", read_token_url);
    let grant = reader.or(&fields, "grant", CLIENT_CREDENTIALS, |reader, node, place| {
        reader.choice(node, place, &[CLIENT_CREDENTIALS, PASSWORD, TOKEN_EXCHANGE].map(|grant| (grant, grant)))
    });
    let subject = reader.optional(&fields, "serviceAccountToken", read_service_account_token);
    let audience =
        reader.optional(&fields, "audience", |reader, node, place| reader.literal(node, place).map(str::to_owned));
    let secret = reader.optional(&fields, "secretRef", read_whole_secret);
    let scopes = reader.or(&fields, "scopes", Vec::new(), read_scopes);
    let (kind, secret, subject) = (grant?, secret?, subject?);
    for (key, needed) in KEYS_OF_GRANTS.iter().filter(|(_, needed)| *needed != kind) {
        if let Some(misplaced) = fields.get(key) {
            return reader.refuse(misplaced.at, format!("{} belongs to grant: {needed}", fields.place(key)));
        }
    }
    let grant = match kind {
        TOKEN_EXCHANGE => {
            let Some(subject) = subject else { return missing(reader, &fields, "serviceAccountToken") };
            Grant::TokenExchange { subject, audience: audience? }
        }
        _ if secret.is_none() => return missing(reader, &fields, "secretRef"),
        PASSWORD => Grant::Password,
        _ => Grant::ClientCredentials,
    };
    Some(OAuth2 { token_url: token_url?, grant, secret, scopes: scopes? })
}

fn missing<T>(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<T> {
    reader.required(fields, key)?;
    None
}

pub(crate) fn read_token_url(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Url> {
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
