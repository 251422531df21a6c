//! A request as the client takes it: without userinfo, with the headers that every request of ours has.
//!
//! It must not know where a credential comes from, nor what the request is for.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::{Request, Uri};
use http_body_util::Full;
use url::Url;

use crate::HttpFailure;
use drift_api::requests::http_request::HttpRequest;

/// Headers that come to those of the target: the credential, who asks, what is taken, and the host.
const ADDED_HEADERS: usize = 5;

/// What answers are taken in, where the target does not say it: anything, packed or not.
const ANYTHING: HeaderValue = HeaderValue::from_static("*/*");
const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// The name of a program in the header `user-agent`. Not starting with "Mozilla": some ingresses answer browsers with a log-in
/// page instead of 401.
pub(in crate::http) fn user_agent(program: &str) -> HeaderValue {
    let text = format!("{program}/{}", env!("CARGO_PKG_VERSION"));
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("drift"))
}

/// The request with its credential, which wins over a header of the target.
pub(in crate::http) fn outgoing(
    request: &HttpRequest,
    credential: Option<(HeaderName, HeaderValue)>,
    user_agent: &HeaderValue,
) -> Result<Request<Full<Bytes>>, HttpFailure> {
    let uri = Uri::try_from(without_userinfo(&request.url).as_str())
        .map_err(|_| HttpFailure::Unreachable("the request cannot be built".to_owned()))?;
    let mut headers = HeaderMap::with_capacity(request.headers.len() + ADDED_HEADERS);
    headers.extend(request.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
    for (name, value) in [(ACCEPT, ANYTHING), (ACCEPT_ENCODING, GZIP), (USER_AGENT, user_agent.clone())] {
        headers.entry(name).or_insert(value);
    }
    if let Some((name, value)) = credential {
        headers.insert(name, value);
    }
    let body = request.body.as_ref().map_or_else(Bytes::new, |body| Bytes::copy_from_slice(body));
    let mut outgoing = Request::new(Full::new(body));
    *outgoing.method_mut() = request.method.clone();
    *outgoing.uri_mut() = uri;
    *outgoing.headers_mut() = headers;
    Ok(outgoing)
}

fn without_userinfo(url: &Url) -> Cow<'_, Url> {
    if url.username().is_empty() && url.password().is_none() {
        return Cow::Borrowed(url);
    }
    let mut url = url.clone();
    // Both fail only for URLs that cannot have userinfo.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Cow::Owned(url)
}
