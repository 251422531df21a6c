//! An HTTP server with limits, because strangers may reach the ports of both programs.
//!
//! The number of connections, their lifetime and their buffers are bounded before any request is processed.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

/// Connections at once. A further one replaces the oldest, because a request takes milliseconds. With the largest body each
/// (256 KiB) they hold 8 MiB at most.
pub const CONNECTIONS: usize = 32;

/// Lifetime of a connection with its one request: enough for a distant sender with a slow line.
const CONNECTION_LIFE: Duration = Duration::from_secs(10);

/// Time limit for the headers, which fit into a few packets.
pub const HEADERS_WITHIN: Duration = Duration::from_secs(3);

/// Buffer of a connection. The request line and the headers must fit.
const BUFFER_BYTES: usize = 16 * 1024;

/// Pause after a failed accept, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves one request of each connection until `stop`.
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

/// Drops the oldest connection if the limit is reached.
fn make_room(oldest: &mut VecDeque<AbortHandle>) {
    oldest.retain(|conversation| !conversation.is_finished());
    if oldest.len() >= CONNECTIONS {
        oldest.pop_front().iter().for_each(AbortHandle::abort);
    }
}

/// Serves one request of a connection.
async fn converse(stream: TcpStream, router: Router) {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.keep_alive(false).max_buf_size(BUFFER_BYTES).header_read_timeout(HEADERS_WITHIN).timer(TokioTimer::new());
    let conversation = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // An error concerns only the sender.
    let _ = tokio::time::timeout(CONNECTION_LIFE, conversation).await;
}
