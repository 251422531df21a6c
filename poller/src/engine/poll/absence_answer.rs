//! The HTTP answer that means an absence, in words: `the server answered 404 to GET https://host/path`.

use drift_api::secrets::secret_texts::REDACTED;
use drift_language::HttpRequest;
use drift_language::cel::SecretValues;

/// The last answered request of a read.
#[derive(Clone, Debug)]
pub struct LastAnswer {
    /// For example `GET https://host/path`.
    request: String,
    status: u16,
}

impl LastAnswer {
    /// The answer with this status to a request. The query is left out, because people put keys into it.
    #[must_use]
    pub fn new(request: &HttpRequest, status: u16) -> Self {
        let HttpRequest { method, url, .. } = request;
        let query = if url.query().is_some() { "?…" } else { "" };
        let (scheme, host, path) = (url.scheme(), url.host_str().unwrap_or_default(), url.path());
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        Self { request: format!("{method} {scheme}://{host}{port}{path}{query}"), status }
    }

    /// Returns the sentence. A request that contains one of the `credentials` is redacted.
    #[must_use]
    pub fn sentence(&self, credentials: &SecretValues) -> Box<str> {
        let Self { request, status } = self;
        let request = if credentials.occur_in_line(request) { REDACTED } else { request };
        format!("the server answered {status} to {request}").into()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_no_query_and_no_credential() {
        let request = |url: &str| HttpRequest {
            method: http::Method::GET,
            url: url.parse().unwrap(),
            headers: std::sync::Arc::default(),
            body: None,
            has_chosen_host: false,
            socket: None,
            auth: None,
        };
        let none = SecretValues::default();
        let sentence = |url: &str| LastAnswer::new(&request(url), 404).sentence(&none);
        assert_eq!(&*sentence("https://h/a/b"), "the server answered 404 to GET https://h/a/b");
        assert_eq!(&*sentence("http://h:8080/a?key=x"), "the server answered 404 to GET http://h:8080/a?…");
        let secrets: SecretValues = [("token".to_owned(), "s3cr3t-token".to_owned())].into_iter().collect();
        let told = LastAnswer::new(&request("https://h/s3cr3t-token/a"), 404).sentence(&secrets);
        assert_eq!(&*told, "the server answered 404 to (redacted)");
    }
}
