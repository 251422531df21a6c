//! Temporary keys of an AWS role, in exchange for a projected ServiceAccount token.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use secrecy::ExposeSecret;
use url::form_urlencoded::Serializer;

use crate::HttpOptions;
use crate::http::auth::projected_token::ProjectedTokens;
use crate::http::auth::token_request::{Origin, TokenSource};
use drift_api::secrets::labelled_secrets::CredentialError;
use drift_language::{AwsRole, HttpRequest};

/// Returns the source of the role's keys. The logs of AWS name the session by the program.
pub(in crate::http) fn token_source(
    (role, program): (&AwsRole, &str),
    options: &HttpOptions<'_>,
    projected: &ProjectedTokens,
) -> Result<TokenSource, CredentialError> {
    let token = projected.read(&role.token)?;
    let mut form = Serializer::new(String::new());
    form.append_pair("Action", "AssumeRoleWithWebIdentity").append_pair("Version", "2011-06-15");
    form.append_pair("RoleArn", &role.arn).append_pair("RoleSessionName", program);
    form.append_pair("WebIdentityToken", token.expose_secret());
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/xml"));
    let request = HttpRequest {
        method: Method::POST,
        url: role.sts_url.clone(),
        headers: Arc::new(headers),
        body: Some(form.finish().into_bytes()),
        has_chosen_host: false,
        socket: None,
        auth: None,
    };
    Ok(TokenSource::new(Origin::Role(role.clone()), request, options))
}
