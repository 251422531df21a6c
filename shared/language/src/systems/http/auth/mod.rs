//! `auth`: authentication of requests.
//!
//! It names credentials and never holds one.

pub(crate) mod aws_sig_v4;
pub(crate) mod challenge;
pub(crate) mod field;
pub(crate) mod jwt_claims;
pub(crate) mod login;
pub(crate) mod needed_secrets;
pub(crate) mod oauth2;
pub(crate) mod service_account_token;

use std::sync::Arc;

use drift_api::secrets::labelled_secrets::CredentialError;
use http::HeaderName;
use serde_json::Value;
use url::Url;

use crate::secrets::secret_key::{SecretKey, token_key, whole_secret};
use crate::section::{Leaf, Section, literal, section};
use crate::systems::by_namespace::{ByNamespace, by_namespace};
use crate::systems::http::auth::aws_sig_v4::{AwsKeys, AwsSigV4, WrittenAwsSigV4};
use crate::systems::http::auth::challenge::Challenge;
use crate::systems::http::auth::field::{AuthField, CredentialPlace, WrittenBody, WrittenQuery};
use crate::systems::http::auth::login::{Login, WrittenLogin, auth_header};
use crate::systems::http::auth::oauth2::{OAuth2, WrittenOAuth2};
use crate::systems::http::auth::service_account_token::ServiceAccountToken;

/// Authentication of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Section)]
pub enum Auth {
    /// Sends Authorization: Bearer.
    #[key(section::<Bearer>(()))]
    Bearer(SecretKey),
    /// HTTP Basic, from the keys username and password.
    #[key(section::<BasicSecret>(()))]
    Basic {
        /// The Secret's name.
        secret: String,
    },
    /// Sends a header of your choice.
    Header(AuthHeader),
    /// Sends a parameter of the query, or a whole query.
    #[key(section::<WrittenQuery>(()))]
    Query(AuthField),
    /// Sends a field of the body.
    #[key(section::<WrittenBody>(()))]
    Body(AuthField),
    /// A token from an identity server.
    #[key(section::<WrittenOAuth2>(()), name = "oauth2")]
    OAuth2(OAuth2),
    /// A token from the server that a 401 names (OCI registries).
    Challenge(Challenge),
    /// Signs requests as AWS does.
    #[key(section::<WrittenAwsSigV4>(()))]
    AwsSigV4(AwsSigV4),
    /// Sends a projected token of the ServiceAccount.
    #[key(section::<ServiceAccountToken>(()))]
    ServiceAccountToken {
        /// The file name of the token.
        name: String,
    },
    /// A token from a log-in request.
    #[key(section::<WrittenLogin>(()))]
    Login(Login),
    /// No credential: the target lists none for the object's namespace.
    #[key(literal(|_| Err::<CredentialError, _>(String::new())), only = false)]
    Missing(CredentialError),
}

/// The credentials of the requests of a section.
pub type Auths = ByNamespace<Arc<Auth>>;

impl Auths {
    /// Returns the credential for the object as templates see it.
    #[must_use]
    pub fn auth_for(&self, object: &Value) -> Arc<Auth> {
        self.of_object(object).map_or_else(|missing| Arc::new(Auth::Missing(missing)), Arc::clone)
    }
}

/// The key `auth`.
pub(crate) fn auths() -> impl Leaf<Value = Auths> {
    by_namespace(section::<Auth>(()), &[&["*"], &["awsSigV4", "webIdentity"]]).map(|auths| auths.map(Arc::new))
}

/// A header with a credential.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Section)]
pub struct AuthHeader {
    /// The name of the header.
    #[key(literal(auth_header))]
    pub name: HeaderName,
    /// A Secret in the programs' namespace.
    #[key(token_key(), name = "secretRef")]
    pub value: SecretKey,
}

#[derive(Section)]
#[section(value = SecretKey, check = |bearer: Self, _, _, ()| Some(bearer.secret_ref))]
struct Bearer {
    /// A Secret in the programs' namespace.
    #[key(token_key())]
    secret_ref: SecretKey,
}

#[derive(Section)]
#[section(value = String, check = |basic: Self, _, _, ()| Some(basic.secret_ref))]
struct BasicSecret {
    /// A Secret in the programs' namespace.
    #[key(whole_secret())]
    secret_ref: String,
}

impl Auth {
    /// Returns true if the credential is a field of the body.
    pub(crate) fn is_in_body(&self) -> bool {
        match self {
            Self::Body(_) => true,
            Self::Login(login) => matches!(login.place, CredentialPlace::Body(_)),
            _ => false,
        }
    }

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
