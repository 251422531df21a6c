//! `auth`: authentication of requests.
//!
//! It names credentials and never holds one.

pub(crate) mod aws_sig_v4;
pub(crate) mod challenge;
pub(crate) mod jwt_claims;
pub(crate) mod login;
pub(crate) mod needed_secrets;
pub(crate) mod oauth2;
pub(crate) mod service_account_token;

use http::HeaderName;
use url::Url;

use crate::secrets::secret_key::{SecretKey, read_secret_key, read_whole_secret};
use crate::systems::http::auth::aws_sig_v4::{AwsKeys, AwsSigV4, read_aws_sig_v4};
use crate::systems::http::auth::challenge::{Challenge, read_challenge};
use crate::systems::http::auth::login::{Login, read_auth_header, read_login};
use crate::systems::http::auth::oauth2::{OAuth2, read_oauth2};
use crate::systems::http::auth::service_account_token::read_service_account_token;
use crate::yaml::{Node, Reader};

/// Authentication of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Auth {
    /// `Authorization: Bearer …`.
    Bearer(SecretKey),
    /// `Authorization: Basic …` from keys `username` and `password` of the Secret.
    Basic {
        /// The Secret's name.
        secret: String,
    },
    /// A header of that name with the key's value.
    Header {
        /// The header name.
        name: HeaderName,
        /// The Secret key with its value.
        value: SecretKey,
    },
    /// `Authorization: Bearer …` with a token from an identity server.
    OAuth2(OAuth2),
    /// `Authorization: Bearer …` with a token from the server that the host itself names.
    Challenge(Challenge),
    /// `Authorization: AWS4-HMAC-SHA256 …`, a signature of the request.
    AwsSigV4(AwsSigV4),
    /// `Authorization: Bearer …` with a projected token of the program's ServiceAccount.
    ServiceAccountToken {
        /// The file name of the token.
        name: String,
    },
    /// A header of the target with a token from a log-in.
    Login(Login),
}

impl Auth {
    /// Returns the token server that the target names, with the key of its URL.
    pub(crate) fn token_server(&self) -> Option<(&'static str, &Url)> {
        match self {
            Self::OAuth2(oauth2) => Some(("oauth2.tokenUrl", &oauth2.token_url)),
            Self::Login(login) => Some(("login.request.url", &login.url)),
            Self::AwsSigV4(AwsSigV4 { keys: AwsKeys::Role(role), .. }) => {
                Some(("awsSigV4.webIdentity.stsUrl", &role.sts_url))
            }
            _ => None,
        }
    }
}

pub(crate) fn read_auth(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Auth> {
    const KINDS: &[&str] =
        &["bearer", "basic", "header", "oauth2", "challenge", "awsSigV4", "serviceAccountToken", "login"];
    let fields = reader.fields(node, place, KINDS)?;
    let [entry] = fields.entries() else {
        return reader.refuse(node.at, format!("{place}: exactly one of {} is needed", KINDS.join(", ")));
    };
    let (node, place) = (&entry.value, fields.place(&entry.key));
    match entry.key.as_str() {
        "bearer" => {
            let fields = reader.fields(node, &place, &["secretRef"])?;
            reader.needed(&fields, "secretRef", read_secret_key).map(Auth::Bearer)
        }
        "basic" => {
            let fields = reader.fields(node, &place, &["secretRef"])?;
            Some(Auth::Basic { secret: reader.needed(&fields, "secretRef", read_whole_secret)? })
        }
        "header" => {
            let fields = reader.fields(node, &place, &["name", "secretRef"])?;
            let name = reader.needed(&fields, "name", read_auth_header);
            let value = reader.needed(&fields, "secretRef", read_secret_key);
            Some(Auth::Header { name: name?, value: value? })
        }
        "oauth2" => Some(Auth::OAuth2(read_oauth2(reader, node, &place)?)),
        "challenge" => Some(Auth::Challenge(read_challenge(reader, node, &place)?)),
        "awsSigV4" => Some(Auth::AwsSigV4(read_aws_sig_v4(reader, node, &place)?)),
        "serviceAccountToken" => {
            Some(Auth::ServiceAccountToken { name: read_service_account_token(reader, node, &place)? })
        }
        "login" => Some(Auth::Login(read_login(reader, node, &place)?)),
        _ => None,
    }
}
