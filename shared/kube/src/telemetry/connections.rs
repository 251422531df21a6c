//! An HTTP server within limits: strangers may reach the ports of both programs.
//!
//! Connections, their lives and what they read at once are bounded before anything is computed for them.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

/// Connections at once; for a further one the oldest is dropped, which has had its time: a request takes milliseconds. With
/// the largest body each (256 KiB) they hold 8 MiB at most.
pub const CONNECTIONS: usize = 32;

/// The time that a connection lives, with its one request: what a sender at the other end of the world needs with a slow line.
const CONNECTION_LIFE: Duration = Duration::from_secs(10);

/// The time that its headers may take, which fit into a few packets.
pub const HEADERS_WITHIN: Duration = Duration::from_secs(3);

/// Buffer of a connection: request line and headers must fit.
const BUFFER_BYTES: usize = 16 * 1024;

/// Pause after a connection could not be taken, as where there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers one request of each connection until `stop`.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let mut conversations = JoinSet::new();
    let mut oldest = VecDeque::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Some(_) = conversations.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    make_room(&mut oldest);
                    oldest.push_back(conversations.spawn(converse(stream, router.clone())));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

/// Drops the oldest where there are as many as may be.
fn make_room(oldest: &mut VecDeque<AbortHandle>) {
    oldest.retain(|conversation| !conversation.is_finished());
    if oldest.len() >= CONNECTIONS {
        oldest.pop_front().iter().for_each(AbortHandle::abort);
    }
}

/// One request and its answer.
async fn converse(stream: TcpStream, router: Router) {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.keep_alive(false).max_buf_size(BUFFER_BYTES).header_read_timeout(HEADERS_WITHIN).timer(TokioTimer::new());
    let conversation = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // How it ended is the sender's business.
    let _ = tokio::time::timeout(CONNECTION_LIFE, conversation).await;
}
