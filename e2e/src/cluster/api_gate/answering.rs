//! Forwards a request and returns its response piece by piece.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::{Stream, StreamExt as _, stream};
use tokio::sync::mpsc;

use super::rules::{Ruled, Rules};
use super::{Asked, Fault, fault};

/// Headers of one connection, and those that the gate negotiates itself.
const NOT_PASSED_ON: [HeaderName; 5] =
    [header::HOST, header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::ACCEPT_ENCODING];

/// Size limit of a request body, far above what the programs send.
const MOST_BYTES: usize = 10_000_000;

/// The connection from the gate to the API server.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) server: String,
    pub(super) client: reqwest::Client,
    pub(super) rules: Rules,
    pub(super) asked: Arc<Mutex<Vec<Asked>>>,
}

type Pieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

pub(super) async fn answer(State(line): State<Line>, request: Request) -> Response {
    let passed = line.pass_on(request).await;
    passed.unwrap_or_else(|error| (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response())
}

impl Line {
    async fn pass_on(self, request: Request) -> Result<Response> {
        let (head, body) = request.into_parts();
        let asked = Asked { at: Instant::now(), method: head.method.clone(), uri: head.uri.to_string() };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
        let body = axum::body::to_bytes(body, MOST_BYTES).await?;
        let mut ruled = self.rules.of(asked.clone());
        ruled.let_through().await;
        let fault = ruled.fault();
        if let Some(refusal) = fault.as_ref().and_then(Fault::refusal) {
            return Ok(refusal);
        }
        let uri = fault.as_ref().map_or_else(|| asked.uri.clone(), |fault| fault.rewritten(&asked.uri));
        let sent =
            self.client.request(head.method, format!("{}{uri}", self.server)).headers(of_the_message(head.headers));
        let answer = sent.body(body).send().await?;
        let (status, headers) = (answer.status(), of_the_message(answer.headers().clone()));
        if let Some(Fault::Late(by)) = &fault
            && !asked.is_watch()
        {
            tokio::time::sleep(*by).await;
        }
        let pieces = faulty(answer.bytes_stream().map(|piece| piece.map_err(io::Error::other)).boxed(), fault);
        Ok((status, headers, Body::from_stream(under_rules(pieces, ruled))).into_response())
    }
}

fn of_the_message(mut headers: HeaderMap) -> HeaderMap {
    NOT_PASSED_ON.iter().for_each(|name| _ = headers.remove(name));
    headers
}

/// Applies the rules to each piece, so that a response in progress can be held back or cut off.
fn under_rules(pieces: Pieces, ruled: Ruled) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::unfold(Some((pieces, ruled)), async |under_way| {
        let (mut pieces, mut ruled) = under_way?;
        loop {
            ruled.let_through().await;
            if ruled.is_cut() {
                return Some((Err(broken()), None));
            }
            tokio::select! {
                biased;
                () = ruled.changed() => {}
                piece = pieces.next() => return piece.map(|piece| (piece, Some((pieces, ruled)))),
            }
        }
    })
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "broken off by a test")
}

/// Applies a fault to the pieces of a response.
fn faulty(pieces: Pieces, fault: Option<Fault>) -> Pieces {
    match fault {
        Some(Fault::ExpireAfter(after)) => {
            let expired = stream::once(async { Ok(Bytes::from(fault::expired())) });
            pieces.take_until(tokio::time::sleep(after)).chain(expired).boxed()
        }
        Some(Fault::CutAfter(bytes)) => cut(pieces, bytes).boxed(),
        Some(Fault::Garble) => pieces.map(|piece| piece.map(halved)).boxed(),
        Some(Fault::Late(by)) => {
            let (sender, receiver) = mpsc::unbounded_channel();
            tokio::spawn(pieces.for_each(move |piece| {
                let _ = sender.send((tokio::time::Instant::now(), piece));
                std::future::ready(())
            }));
            stream::unfold(receiver, move |mut receiver| async move {
                let (came, piece) = receiver.recv().await?;
                tokio::time::sleep_until(came + by).await;
                Some((piece, receiver))
            })
            .boxed()
        }
        _ => pieces,
    }
}

fn cut(pieces: Pieces, bytes: usize) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::unfold(Some((pieces, bytes)), async |rest| {
        let (mut pieces, left) = rest?;
        match pieces.next().await? {
            Ok(piece) if piece.len() > left && left > 0 => Some((Ok(piece.slice(..left)), Some((pieces, 0)))),
            Ok(piece) if piece.len() > left => Some((Err(broken()), None)),
            Ok(piece) => {
                let left = left - piece.len();
                Some((Ok(piece), Some((pieces, left))))
            }
            Err(error) => Some((Err(error), None)),
        }
    })
}

/// Returns the first half of each line.
fn halved(piece: Bytes) -> Bytes {
    let lines = piece.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Bytes::from(lines.flat_map(|line| [&line[..line.len() / 2], b"\n"].concat()).collect::<Vec<u8>>())
}
