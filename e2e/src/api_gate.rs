//! A gate in front of the API server: it passes requests on, and holds chosen ones back as a dead line would.
//!
//! It exists because a program's requests lie in TLS, where no fault injector can tell a watch of one kind from the
//! renewal of a Lease. The gate is spoken to in plain HTTP on loopback and speaks TLS to the API server. What is held
//! back is neither refused nor closed: the bytes just do not come, which is how a dead watch looks.
//!
//! It knows nothing of what the requests mean.

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::control_plane::Access;
use crate::http_client;

/// Headers that speak of one connection and not of the request, and what this gate negotiates by itself.
const NOT_PASSED_ON: [HeaderName; 5] =
    [header::HOST, header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::ACCEPT_ENCODING];

/// Far above what the programs send.
const MOST_BYTES: usize = 10_000_000;

/// A running gate; dropping it closes its port.
#[derive(Debug)]
pub struct ApiGate {
    url: String,
    held: watch::Sender<Vec<String>>,
    task: JoinHandle<()>,
}

#[derive(Clone)]
struct Line {
    server: String,
    client: reqwest::Client,
    held: watch::Receiver<Vec<String>>,
}

impl ApiGate {
    /// Starts one on a free loopback port, in front of the API server that `access` names.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start(access: &Access) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("binding a loopback port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let (held, receiver) = watch::channel(Vec::new());
        let client = http_client::for_streams(&access.authority)?;
        let line = Line { server: access.server.clone(), client, held: receiver };
        let router = Router::new().fallback(answer).with_state(line);
        let task = tokio::spawn(async move {
            // It ends with the gate.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, held, task })
    }

    /// Its address, for `Options::api_server`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on holds back every read (GET) whose path begins so, those under way too: nothing of the answer
    /// comes through any more.
    pub fn hold_back(&self, path: &str) {
        self.held.send_modify(|held| held.push(path.to_owned()));
    }

    /// Lets everything through again, what was held back included.
    pub fn let_through(&self) {
        self.held.send_modify(Vec::clear);
    }
}

impl Drop for ApiGate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(line): State<Line>, request: Request) -> Response {
    let passed = line.pass_on(request).await;
    passed.unwrap_or_else(|error| (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response())
}

impl Line {
    async fn pass_on(self, request: Request) -> Result<Response> {
        let (head, body) = request.into_parts();
        let path = head.uri.to_string();
        let body = axum::body::to_bytes(body, MOST_BYTES).await?;
        let is_read = head.method == Method::GET;
        let free = move |held: &Vec<String>| !(is_read && held.iter().any(|held| path.starts_with(held)));
        let mut held = self.held.clone();
        held.wait_for(&free).await?;
        let url = format!("{}{}", self.server, head.uri);
        let sent = self.client.request(head.method, url).headers(of_the_message(head.headers)).body(body);
        let answer = sent.send().await?;
        let (status, headers) = (answer.status(), of_the_message(answer.headers().clone()));
        // Each piece waits in its turn, so that an answer under way can be held back too.
        let pieces = answer.bytes_stream().then(move |piece| {
            let (mut held, free) = (self.held.clone(), free.clone());
            async move {
                // The gate's end ends the stream by itself.
                let _ = held.wait_for(&free).await;
                piece
            }
        });
        Ok((status, headers, Body::from_stream(pieces)).into_response())
    }
}

fn of_the_message(mut headers: HeaderMap) -> HeaderMap {
    NOT_PASSED_ON.iter().for_each(|name| _ = headers.remove(name));
    headers
}
