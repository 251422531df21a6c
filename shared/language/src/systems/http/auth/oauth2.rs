//! `auth.oauth2`: a token from an identity server in exchange for a credential.
//!
//! It names the credential and never holds it or a token.

use url::Url;

use crate::secrets::secret_key::whole_secret;
use crate::section::{Leaf, Section, list, literal, plain_text, section, text, words};
use crate::systems::http::auth::jwt_claims::JwtClaims;
use crate::systems::http::auth::service_account_token::ServiceAccountToken;
use crate::yaml::{Fields, Node, Reader};

/// Maximum scopes of one token.
const MAX_SCOPES: usize = 32;

const CLIENT_CREDENTIALS: &str = "clientCredentials";
const PASSWORD: &str = "password";
const TOKEN_EXCHANGE: &str = "tokenExchange";
const JWT_BEARER: &str = "jwtBearer";
/// The values of `grant`.
const GRANTS: &[(&str, &str)] = &[
    (CLIENT_CREDENTIALS, CLIENT_CREDENTIALS),
    (PASSWORD, PASSWORD),
    (TOKEN_EXCHANGE, TOKEN_EXCHANGE),
    (JWT_BEARER, JWT_BEARER),
];

/// The source of a token and its scopes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OAuth2 {
    /// The identity server's endpoint.
    pub token_url: Url,
    /// The kind of credential.
    pub grant: Grant,
    /// The Secret with the credential. `None` for a client assertion, and for a token exchange without a client.
    pub secret: Option<String>,
    /// The requested scopes.
    pub scopes: Vec<String>,
}

/// The kind of credential for a token request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Grant {
    /// Keys `clientId` and `clientSecret` of the Secret.
    ClientCredentials,
    /// A projected ServiceAccount token as the client's assertion (RFC 7523, 2.2), in place of `clientSecret`.
    ClientAssertion {
        /// The client.
        client_id: String,
        /// The file name of the projected token.
        token: String,
    },
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
    ("serviceAccountToken", &[CLIENT_CREDENTIALS, TOKEN_EXCHANGE]),
    ("clientId", &[CLIENT_CREDENTIALS]),
    ("audience", &[TOKEN_EXCHANGE, JWT_BEARER]),
    ("issuer", &[JWT_BEARER]),
    ("subject", &[JWT_BEARER]),
];

/// Keys without which a grant is not complete. A public client needs no Secret beside the projected token.
const KEYS_NEEDED: &[(&str, &[&str])] = &[
    ("secretRef", &[CLIENT_CREDENTIALS, PASSWORD, JWT_BEARER]),
    ("serviceAccountToken", &[TOKEN_EXCHANGE]),
    ("issuer", &[JWT_BEARER]),
];

/// Keys of a client that proves itself with a projected token, in place of `secretRef`.
const ASSERTION: [&str; 2] = ["serviceAccountToken", "clientId"];

/// The section as written.
#[derive(Section)]
#[section(value = OAuth2, rules = check_keys, check = make)]
pub(crate) struct WrittenOAuth2 {
    /// The token endpoint.
    #[key(token_url())]
    token_url: Url,
    /// Default: clientCredentials.
    #[key(words(GRANTS), default = CLIENT_CREDENTIALS)]
    grant: &'static str,
    /// A Secret in the programs' namespace.
    #[key(whole_secret())]
    secret_ref: Option<String>,
    /// Requested scopes. At most 32.
    #[key(list(1..=MAX_SCOPES, literal(parse_scope)), default)]
    scopes: Vec<String>,
    /// The subject of grant: tokenExchange. With clientCredentials and clientId: the assertion of the client.
    #[key(section::<ServiceAccountToken>(()))]
    service_account_token: Option<String>,
    /// With serviceAccountToken and clientCredentials: the client.
    #[key(plain_text())]
    client_id: Option<String>,
    /// With tokenExchange or jwtBearer. Default of jwtBearer: tokenUrl.
    #[key(plain_text())]
    audience: Option<String>,
    /// With jwtBearer: the claim iss.
    #[key(plain_text())]
    issuer: Option<String>,
    /// With jwtBearer: the claim sub.
    #[key(plain_text())]
    subject: Option<String>,
}

/// Checks that the written keys are those of the grant. An unknown grant may mean any.
fn check_keys(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
    let grant = fields.get("grant").map_or(Some(CLIENT_CREDENTIALS), Node::as_text)?;
    if GRANTS.iter().all(|(known, _)| *known != grant) {
        return None;
    }
    for (key, grants) in KEYS_OF_GRANTS.iter().filter(|(_, grants)| !grants.contains(&grant)) {
        if let Some(misplaced) = fields.get(key) {
            let message = format!("{} belongs to grant: {}", fields.place(key), grants.join(" or "));
            return reader.refuse(misplaced.at, message);
        }
    }
    let keys = if grant == CLIENT_CREDENTIALS && ASSERTION.iter().any(|key| fields.get(key).is_some()) {
        reader.at_most_one(fields, &["secretRef", "serviceAccountToken"])?;
        reader.at_most_one(fields, &["secretRef", "clientId"])?;
        ASSERTION.to_vec()
    } else {
        KEYS_NEEDED.iter().filter(|(_, grants)| grants.contains(&grant)).map(|(key, _)| *key).collect()
    };
    let written: Vec<_> = keys.into_iter().map(|key| reader.required(fields, key)).collect();
    written.into_iter().all(|node| node.is_some()).then_some(())
}

fn make(written: WrittenOAuth2, _: &mut Reader<'_>, _: &Fields<'_>, (): ()) -> Option<OAuth2> {
    let WrittenOAuth2 { token_url, grant, secret_ref, scopes, audience, issuer, subject, .. } = written;
    let (service_account_token, client_id) = (written.service_account_token, written.client_id);
    let grant = match grant {
        TOKEN_EXCHANGE => Grant::TokenExchange { subject: service_account_token?, audience },
        JWT_BEARER => Grant::JwtBearer(JwtClaims { issuer: issuer?, subject, audience }),
        PASSWORD => Grant::Password,
        _ => match service_account_token.zip(client_id) {
            Some((token, client_id)) => Grant::ClientAssertion { client_id, token },
            None => Grant::ClientCredentials,
        },
    };
    Some(OAuth2 { token_url, grant, secret: secret_ref, scopes })
}

/// A literal URL of a server that gives tokens.
pub(super) fn token_url() -> impl Leaf<Value = Url> {
    text(|reader: &mut Reader<'_>, node: &Node, place: &str| {
        reader.url_is_no_number(node, place)?;
        let text = reader.literal(node, place)?;
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        match url {
            Some(url) if url.username().is_empty() && url.password().is_none() && url.fragment().is_none() => Some(url),
            _ => reader.refuse(
                node.at,
                format!("{place}: a literal http:// or https:// URL without user or fragment is needed"),
            ),
        }
    })
}

fn parse_scope(text: &str) -> Result<String, String> {
    // RFC 6749: scopes are separated by spaces.
    let is_scope = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    if text.is_empty() || !text.bytes().all(is_scope) {
        return Err(format!("`{text}` is no scope; each item is one"));
    }
    Ok(text.to_owned())
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
