//! `auth.oauth2`: a token from an identity server in exchange for a credential.
//!
//! It names the credential and never holds it or a token.

use url::Url;

use crate::secrets::secret_key::read_whole_secret;
use crate::systems::http::auth::jwt_claims::{JwtClaims, read_claim, read_jwt_claims};
use crate::systems::http::auth::service_account_token::read_service_account_token;
use crate::yaml::{Fields, Node, Reader, all};

/// Maximum scopes of one token.
const MAX_SCOPES: usize = 32;

const CLIENT_CREDENTIALS: &str = "clientCredentials";
const PASSWORD: &str = "password";
const TOKEN_EXCHANGE: &str = "tokenExchange";
const JWT_BEARER: &str = "jwtBearer";

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
    /// An assertion (RFC 7523), signed by key `privateKey` of the Secret. Optional keys are `keyId`, `clientId` and
    /// `clientSecret`.
    JwtBearer(JwtClaims),
}

/// Keys that only some grants have.
const KEYS_OF_GRANTS: &[(&str, &[&str])] = &[
    ("serviceAccountToken", &[TOKEN_EXCHANGE]),
    ("audience", &[TOKEN_EXCHANGE, JWT_BEARER]),
    ("issuer", &[JWT_BEARER]),
    ("subject", &[JWT_BEARER]),
];

pub(crate) fn read_oauth2(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<OAuth2> {
    const KEYS: &[&str] =
        &["tokenUrl", "grant", "secretRef", "scopes", "serviceAccountToken", "audience", "issuer", "subject"];
    let fields = reader.fields(node, place, KEYS)?;
    let token_url = reader.needed(&fields, "tokenUrl", read_token_url);
    let kind = reader.or(&fields, "grant", CLIENT_CREDENTIALS, |reader, node, place| {
        let grants = [CLIENT_CREDENTIALS, PASSWORD, TOKEN_EXCHANGE, JWT_BEARER];
        reader.choice(node, place, &grants.map(|grant| (grant, grant)))
    });
    let secret = match kind {
        // A public client needs no Secret beside the projected token, and an unknown grant may mean it.
        None | Some(TOKEN_EXCHANGE) => reader.optional(&fields, "secretRef", read_whole_secret),
        _ => reader.needed(&fields, "secretRef", read_whole_secret).map(Some),
    };
    let scopes = reader.or(&fields, "scopes", Vec::new(), read_scopes);
    let grant = read_grant(reader, &fields, kind?);
    Some(OAuth2 { token_url: token_url?, grant: grant?, secret: secret?, scopes: scopes? })
}

fn read_grant(reader: &mut Reader<'_>, fields: &Fields<'_>, kind: &str) -> Option<Grant> {
    for (key, grants) in KEYS_OF_GRANTS.iter().filter(|(_, grants)| !grants.contains(&kind)) {
        if let Some(misplaced) = fields.get(key) {
            let message = format!("{} belongs to grant: {}", fields.place(key), grants.join(" or "));
            return reader.refuse(misplaced.at, message);
        }
    }
    Some(match kind {
        TOKEN_EXCHANGE => {
            let subject = reader.needed(fields, "serviceAccountToken", read_service_account_token);
            let audience = reader.optional(fields, "audience", read_claim);
            Grant::TokenExchange { subject: subject?, audience: audience? }
        }
        JWT_BEARER => Grant::JwtBearer(read_jwt_claims(reader, fields)?),
        PASSWORD => Grant::Password,
        _ => Grant::ClientCredentials,
    })
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

#[cfg(test)]
mod tests {
    #[test]
    fn an_unknown_grant_is_the_only_error() {
        let auth = "{oauth2: {tokenUrl: 'https://i.example', grant: token_exchange, serviceAccountToken: {name: t}}}";
        let faults = crate::fixtures::faults_of_auth(auth);
        let expected = "unknown `token_exchange`: did you mean `tokenExchange`?";
        assert!(matches!(&*faults, [one] if one.contains(expected)), "{faults:?}");
    }
}
