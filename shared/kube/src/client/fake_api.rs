//! For tests: an API server that is a function, with a real kube client.
//!
//! It records the exact requests, without a network.

use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::client::ClientBuilder;
use serde_json::{Value, json};
use tower::util::MapResponseLayer;

use crate::client::retry_after;

/// One request as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) uri: String,
    pub(crate) content_type: String,
    pub(crate) accept: String,
    pub(crate) body: String,
}

impl Sent {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.uri)
    }
}

/// Every request so far, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Sent>>>);

impl Log {
    pub(crate) fn all(&self) -> Vec<Sent> {
        self.0.lock().map(|all| all.clone()).unwrap_or_default()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.all().iter().map(Sent::line).collect()
    }
}

/// An API server that returns these responses in turn and then none.
pub(crate) fn scripted(answers: Vec<Response<Body>>) -> (kube::Client, Log) {
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    client(move |_: Sent| {
        let next = answers.lock().ok().and_then(|mut answers| answers.next());
        async move {
            match next {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        }
        .boxed()
    })
}

/// A client with the API server `answer`.
pub(crate) fn client<F>(answer: F) -> (kube::Client, Log)
where
    F: Fn(Sent) -> BoxFuture<'static, Response<Body>> + Clone + Send + Sync + 'static,
{
    let log = Log::default();
    let seen = log.clone();
    let handler = move |request: Request<Body>| {
        let (seen, answer) = (seen.clone(), answer.clone());
        async move {
            let sent = received(request).await;
            if let Ok(mut all) = seen.0.lock() {
                all.push(sent.clone());
            }
            answer(sent).await
        }
    };
    let builder = ClientBuilder::new(axum::Router::new().fallback(handler), "default");
    (builder.with_layer(&MapResponseLayer::new(retry_after::with_status)).build(), log)
}

/// A client with an API server that responds immediately.
pub(crate) fn answering<F>(answer: F) -> (kube::Client, Log)
where
    F: Fn(&Sent) -> Response<Body> + Clone + Send + Sync + 'static,
{
    client(move |sent| {
        let response = answer(&sent);
        Box::pin(async move { response })
    })
}

async fn received(request: Request<Body>) -> Sent {
    let (parts, body) = request.into_parts();
    let header =
        |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let (content_type, accept) = (header("content-type"), header("accept"));
    let body = to_bytes(body, usize::MAX).await.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Sent {
        method: parts.method.to_string(),
        uri: parts.uri.to_string(),
        content_type,
        accept,
        body: body.unwrap_or_default(),
    }
}

/// A response with a JSON body.
pub(crate) fn reply(code: u16, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = axum::http::StatusCode::from_u16(code).unwrap_or_default();
    response
}

/// An error in the API server's format.
pub(crate) fn refuse(code: u16, reason: &str, message: &str) -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message});
    reply(code, &status)
}
