//! The first request of a poll for any kind of system, rendered from the object as templates see it.
//!
//! It contains no credential. The sender adds that.

use drift_api::object::cluster_resource::ClusterResource;
use drift_api::object::object_view::ObjectView;
use drift_language::ldap::Search;
use drift_language::{EvaluationError, HttpRequest, Source, SqlQuery, Target};
use serde_json::Value;

use crate::engine::judgement::comparison::absent;
use crate::engine::judgement::finding::{Finding, Found};
use crate::engine::judgement::rendered::rule_error;

/// First request of a read.
#[derive(Clone, Debug)]
pub enum Request {
    /// Request to an HTTP server.
    Http(HttpRequest),
    /// Query to a database server.
    Sql(SqlQuery),
    /// Search in a directory.
    Ldap(Search),
    /// Read from the API server.
    Kubernetes(ClusterResource),
}

impl Request {
    /// Returns all parts that the external system sees, with the names of the credential. Two requests with equal
    /// fingerprints are the same.
    #[must_use]
    pub fn fingerprint(&self) -> Vec<u8> {
        match self {
            Self::Http(request) => of_http(request),
            Self::Sql(query) => format!("{query:?} {:?}", query.parameters).into_bytes(),
            Self::Ldap(search) => format!("{search:?} {:?}", search.filter).into_bytes(),
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
    // Another account gets another answer.
    key.extend_from_slice(format!("\n{:?}", request.auth).as_bytes());
    key
}

/// First request of an object's polls, or the finding that needs none.
#[derive(Debug)]
pub struct Prepared {
    first: Result<Request, Box<Found>>,
}

impl Prepared {
    /// Renders the request for the object as templates see it.
    #[must_use]
    pub fn of(target: &Target, view: &ObjectView) -> Self {
        Self { first: first_request(target, &view.open()) }
    }

    /// Returns the first request.
    ///
    /// # Errors
    /// Returns the finding that needs no request.
    pub fn first(&self) -> Result<&Request, &Found> {
        self.first.as_ref().map_err(|found| &**found)
    }
}

/// Renders the first request of a poll of the object.
///
/// # Errors
/// Returns a finding if a template fails for this object, or if the resource cannot exist yet.
pub fn first_request(target: &Target, view: &Value) -> Result<Request, Box<Found>> {
    let failed = |error: EvaluationError| Box::new(Found::from(Finding::Failed(rule_error(&error))));
    match &target.read.source {
        Source::Http(read) if !read.may_exist(view).map_err(failed)? => Err(Box::new(absent(target))),
        Source::Http(read) => read.render(view).map(Request::Http).map_err(failed),
        Source::Sql(read) => read.render(view).map(Request::Sql).map_err(failed),
        Source::Ldap(read) => read.render(view).map(Request::Ldap).map_err(failed),
        Source::Kubernetes(read) => read.render(view).map(Request::Kubernetes).map_err(failed),
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use drift_language::fixtures::target;
    use serde_json::json;

    #[test]
    fn requests_of_two_credentials_are_two_requests() {
        let list =
            "credentials: [{namespaces: [a], secretRef: {name: one}}, {namespaces: [b, c], secretRef: {name: two}}]";
        let reads = [
            format!("{{http: {{url: 'https://h.example/x', auth: {{bearer: {{{list}}}}}}}}}"),
            format!("{{postgres: {{connection: {{{list}}}, query: SELECT 1 AS a}}}}"),
            format!("{{ldap: {{{list}, base: 'uid=x,dc=x', attributes: [a]}}}}"),
        ];
        for read in reads {
            let target = target(&format!(
                "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  \
                 objects: {{apiVersion: g.example/v1, kind: A}}\n  identity: x\n  read: {read}\n  \
                 compare: {{desired: {{a: 1}}}}\n"
            ));
            let [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(|namespace| {
                match first_request(&target, &json!({"metadata": {"namespace": namespace, "name": "x"}})) {
                    Ok(request) => request.fingerprint(),
                    Err(found) => panic!("{read}: {found:?}"),
                }
            });
            assert!(a != b && b == c, "{read}");
            assert!(![&a, &b].contains(&&d) && d != e, "{read}: a namespace without an entry shares nothing");
        }
    }
}
