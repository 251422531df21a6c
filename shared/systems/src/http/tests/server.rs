//! A scripted test server that replays exact bytes and records its requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// A listening socket on loopback, closed on drop.
pub(super) struct Server {
    port: u16,
    log: Log,
    _task: AbortOnDropHandle<()>,
}

/// The record of all connections of a server.
#[derive(Clone, Default)]
pub(super) struct Log {
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// One accepted connection.
pub(super) struct Connection<S = TcpStream> {
    pub(super) stream: S,
    /// 0 for the first one.
    pub(super) number: usize,
    log: Log,
}

impl Server {
    /// Handles every connection with `behave`, each in its own task.
    #[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
    pub(super) async fn start<F, T>(behave: F) -> Self
    where
        F: Fn(Connection) -> T + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let log = Log::default();
        let seen = log.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = seen.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(behave(Connection { stream, number, log: seen.clone() }));
            }
        });
        Self { port, log, _task: AbortOnDropHandle::new(task) }
    }

    /// Answers every request with this text and keeps connections open.
    pub(super) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::start(move |mut connection| {
            let answer = answer.clone();
            async move {
                while connection.request().await.is_some() {
                    connection.answer(&answer).await;
                }
            }
        })
        .await
    }

    /// Sends this text first, regardless of the request, and closes.
    pub(super) async fn greeting(text: &'static str) -> Self {
        Self::start(move |mut connection| async move { connection.answer(text.as_bytes()).await }).await
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// Every request's head and body so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.log.requests.lock().unwrap().clone()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Reads one complete request. `None` after the other side has closed.
    pub(super) async fn request(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        while !is_whole(&bytes) {
            let read = self.stream.read_buf(&mut bytes).await.unwrap_or(0);
            if read == 0 {
                return None;
            }
        }
        let text = String::from_utf8(bytes).unwrap();
        self.note(text.clone());
        Some(text)
    }

    pub(super) async fn answer(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
        let _ = self.stream.flush().await;
    }
}

impl<S> Connection<S> {
    /// Records a request that was read in another way.
    pub(super) fn note(&self, request: String) {
        self.log.requests.lock().unwrap().push(request);
    }
}

impl Connection {
    /// Closes with RST instead of FIN.
    pub(super) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }

    /// Returns the same connection with another stream, for TLS on top of it.
    pub(super) async fn wrapped<S, T: Future<Output = std::io::Result<S>>>(
        self,
        wrap: impl FnOnce(TcpStream) -> T,
    ) -> Option<Connection<S>> {
        let Self { stream, number, log } = self;
        Some(Connection { stream: wrap(stream).await.ok()?, number, log })
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// A response with its length.
pub(super) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
