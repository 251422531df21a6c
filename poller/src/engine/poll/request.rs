//! What goes out first for a read, whatever the external system speaks.
//!
//! It must not know how it is sent.

use drift_api::object::cluster_resource::ClusterResource;
use drift_api::requests::http_request::HttpRequest;
use drift_api::requests::sql_query::SqlQuery;

/// What goes out first for a read.
#[derive(Clone, Debug)]
pub enum Request {
    /// To an HTTP server.
    Http(HttpRequest),
    /// To a PostgreSQL server.
    Sql(SqlQuery),
    /// To the API server.
    Kubernetes(ClusterResource),
}

impl Request {
    /// All of it that the external system sees: two that differ in nothing of it ask the same.
    #[must_use]
    pub fn fingerprint(&self) -> Vec<u8> {
        match self {
            Self::Http(request) => of_http(request),
            Self::Sql(query) => format!("{query:?} {:?}", query.parameters).into_bytes(),
            Self::Kubernetes(resource) => resource.to_string().into_bytes(),
        }
    }
}

fn of_http(request: &HttpRequest) -> Vec<u8> {
    let mut key = format!("{} {}", request.method, request.url).into_bytes();
    for (name, value) in &*request.headers {
        key.extend_from_slice(b"\n");
        key.extend_from_slice(name.as_str().as_bytes());
        key.extend_from_slice(b":");
        key.extend_from_slice(value.as_bytes());
    }
    key.extend_from_slice(b"\n\n");
    key.extend_from_slice(request.body.as_deref().unwrap_or_default());
    key
}
