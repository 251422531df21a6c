//! Converts a request for the client. The client adds the headers `accept`, `accept-encoding` and `user-agent` if the
//! target does not set them.

use http::header::{HeaderName, HeaderValue};
use reqwest::{Body, Request};

use drift_api::requests::http_request::HttpRequest;

/// Returns the request without userinfo and with its credential, which overrides a header of the target.
pub(in crate::http) fn outgoing(request: &HttpRequest, credential: Vec<(HeaderName, HeaderValue)>) -> Request {
    let mut url = request.url.clone();
    // Both fail only for URLs that cannot have userinfo.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let mut outgoing = Request::new(request.method.clone(), url);
    outgoing.headers_mut().clone_from(&request.headers);
    for (name, value) in credential {
        outgoing.headers_mut().insert(name, value);
    }
    *outgoing.body_mut() = request.body.clone().map(Body::from);
    outgoing
}
