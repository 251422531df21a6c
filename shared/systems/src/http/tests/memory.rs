//! Large slow responses, and responses that wait for their memory.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, select_all};

use crate::http::tests::server::{Connection, Server, ok};
use crate::http::tests::{HttpOptions, get, plain, send, sender};
use crate::{ExchangeProgress, HostReply, HttpFailure, HttpReply, HttpSender, ReplyBody};
use drift_language::HttpRequest;

/// The largest limit that a target can request.
const CAP: usize = 8 * 1024 * 1024;
/// More than the part of a body that is read without memory.
const LARGE: usize = 200_000;

/// Sends more than is read without memory, then a byte now and then.
async fn trickling() -> Server {
    Server::start(|mut connection: Connection| async move {
        connection.request().await;
        connection.answer(b"HTTP/1.1 200 OK\r\n\r\n").await;
        connection.answer(&[b'x'; LARGE]).await;
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            connection.answer(b"x").await;
        }
    })
    .await
}

async fn large() -> Server {
    Server::answering(ok(&"x".repeat(LARGE))).await
}

fn options() -> HttpOptions<'static> {
    HttpOptions { max_bytes: CAP, ..plain() }
}

type Exchange<'a> = BoxFuture<'a, Result<HttpReply, HttpFailure>>;

fn exchange<'a>(sender: &'a HttpSender, request: &'a HttpRequest) -> Exchange<'a> {
    async move { send(sender, request, &options()).await }.boxed()
}

/// Exchanges that have taken all of their memory, and continue.
async fn begun<'a>(sender: &'a HttpSender, requests: &'a [HttpRequest]) -> Vec<Exchange<'a>> {
    let mut exchanges: Vec<_> = requests.iter().map(|request| exchange(sender, request)).collect();
    assert!(is_pending(&mut select_all(&mut exchanges)).await, "one came to an end");
    exchanges
}

async fn is_pending(exchange: &mut (impl Future + Unpin)) -> bool {
    tokio::time::timeout(Duration::from_secs(1), exchange).await.is_err()
}

#[tokio::test]
async fn a_host_that_trickles_keeps_no_other_waiting() {
    let (sender, slow, large) = (sender(), trickling().await, large().await);
    let requests = vec![get(&slow.url("/")); 4];
    let _begun = begun(&sender, &requests).await;
    let request = get(&large.url("/"));
    let mut other = exchange(&sender, &request);
    let reply = tokio::time::timeout(Duration::from_secs(5), &mut other).await.expect("it waits for the slow host");
    assert_eq!(reply.unwrap().body, ReplyBody::Whole(vec![b'x'; LARGE]));
}

#[tokio::test]
async fn only_large_answers_wait_for_one_another() {
    let (sender, large, small) = (sender(), large().await, Server::answering(ok("abc")).await);
    let slow = [trickling().await, trickling().await, trickling().await, trickling().await];
    let requests: Vec<_> = slow.iter().map(|slow| get(&slow.url("/"))).collect();
    let mut begun = begun(&sender, &requests).await;
    let request = get(&large.url("/"));
    let mut waiting = exchange(&sender, &request);
    assert!(is_pending(&mut waiting).await, "it did not wait");
    let reply = exchange(&sender, &get(&small.url("/"))).await.unwrap();
    assert_eq!(reply.body, ReplyBody::Whole(b"abc".to_vec()));
    begun.pop();
    assert_eq!(waiting.await.unwrap().body, ReplyBody::Whole(vec![b'x'; LARGE]));
}

#[tokio::test]
async fn a_deadline_tells_silence_from_slowness() {
    let (sender, slow) = (sender(), trickling().await);
    let silent = Server::start(|mut connection: Connection| async move {
        connection.request().await;
        std::future::pending::<()>().await;
    })
    .await;
    let (slow, silent) = (get(&slow.url("/")), get(&silent.url("/")));
    let heard = async |request: &HttpRequest| {
        let (progress, options) = (ExchangeProgress::default(), options());
        assert!(is_pending(&mut sender.send(request, &options, &progress).boxed()).await, "it came to an end");
        progress.heard()
    };
    assert_eq!(heard(&silent).await, Some(HostReply::TimedOut));
    assert_eq!(heard(&slow).await, Some(HostReply::Answer));
    let requests = [slow.clone()];
    let _begun = begun(&sender, &requests).await;
    assert_eq!(heard(&slow).await, None, "it waited for memory");
}
