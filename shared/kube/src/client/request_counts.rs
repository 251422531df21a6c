//! Counts the requests to the API server by their method and the status of the answer.

use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tower::Service;

/// The code of a request that got no answer: it failed, its deadline passed, or its caller gave it up. client-go has the
/// same word for all three.
const NO_ANSWER: &str = "<error>";

/// The counters. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestCounts(Family<RequestLabels, Counter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    code: String,
}

impl RequestCounts {
    /// Registers the counters.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Requests to the API server by their method and the status of the answer";
        registry.register("api_requests", help, self.0.clone());
    }

    /// Wraps the service of a client, so that its requests are counted.
    pub(crate) fn counting<S>(&self, inner: S) -> Counting<S> {
        Counting { inner, counts: self.clone() }
    }

    fn count(&self, method: &Method, status: Option<StatusCode>) {
        let code = status.map_or_else(|| NO_ANSWER.to_owned(), |status| status.as_str().to_owned());
        self.0.get_or_create(&RequestLabels { method: method.to_string(), code }).inc();
    }
}

/// A request that is counted when it is dropped. Its caller drops it unanswered after a deadline or a lost Lease.
struct CountedRequest {
    method: Method,
    counts: RequestCounts,
    status: Option<StatusCode>,
}

impl CountedRequest {
    /// Records the answer. An assignment in the future would capture the field alone, and drop the rest at once.
    fn note(&mut self, status: Option<StatusCode>) {
        self.status = status;
    }
}

impl Drop for CountedRequest {
    fn drop(&mut self) {
        self.counts.count(&self.method, self.status);
    }
}

/// A service whose requests are counted when their answer begins or they are given up.
#[derive(Clone, Debug)]
pub(crate) struct Counting<S> {
    inner: S,
    counts: RequestCounts,
}

impl<S, B, A> Service<Request<B>> for Counting<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (method, counts) = (request.method().clone(), self.counts.clone());
        let mut counted = CountedRequest { method, counts, status: None };
        let answering = self.inner.call(request);
        async move {
            let answer = answering.await;
            counted.note(answer.as_ref().ok().map(Response::status));
            answer
        }
        .boxed()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future;
    use std::time::Duration;

    use super::*;
    use crate::telemetry::metrics;

    #[tokio::test]
    async fn requests_are_counted_by_method_and_answer() {
        let counts = RequestCounts::default();
        let server = |request: Request<u16>| async move {
            let status = StatusCode::from_u16(*request.body()).map_err(|_| "no connection")?;
            Ok::<_, &str>(Response::builder().status(status).body(()).unwrap())
        };
        let mut service = counts.counting(tower::service_fn(server));
        for (method, answer) in
            [(Method::GET, 200), (Method::GET, 200), (Method::PATCH, 200), (Method::PATCH, 409), (Method::GET, 0)]
        {
            let request = Request::builder().method(method).body(answer).unwrap();
            let answered = service.call(request).await;
            assert_eq!(answered.is_ok(), answer > 0);
        }
        let text = text_of(&counts);
        for (labels, expected) in [
            ("method=\"GET\",code=\"200\"", 2),
            ("method=\"PATCH\",code=\"200\"", 1),
            ("method=\"PATCH\",code=\"409\"", 1),
            ("method=\"GET\",code=\"<error>\"", 1),
        ] {
            let line = format!("drift_api_requests_total{{program=\"poller\",{labels}}} {expected}\n");
            assert!(text.contains(&line), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_past_its_deadline_is_counted() {
        let counts = RequestCounts::default();
        let hanging = |_: Request<()>| future::pending::<Result<Response<()>, &str>>();
        let mut service = counts.counting(tower::service_fn(hanging));
        let request = Request::builder().method(Method::PATCH).body(()).unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(1), service.call(request)).await;
        assert!(answer.is_err());
        let line = "drift_api_requests_total{program=\"poller\",method=\"PATCH\",code=\"<error>\"} 1\n";
        let text = text_of(&counts);
        assert!(text.contains(line), "{text}");
    }

    fn text_of(counts: &RequestCounts) -> String {
        let mut registry = metrics::registry("poller");
        counts.register(&mut registry);
        metrics::text(&registry).unwrap()
    }
}
