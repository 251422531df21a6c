//! Late, broken and oversized responses.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;

use crate::ReplyBody;
use crate::http::tests::server::{Connection, Server, ok};
use crate::http::tests::{HttpOptions, get, not_connected, plain, request, send, sender, unreachable};

fn packed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// A response whose headers announce compression.
fn called_packed(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn gzipped(body: &[u8]) -> Vec<u8> {
    called_packed(&packed(body))
}

fn capped(max_bytes: usize) -> HttpOptions<'static> {
    HttpOptions { max_bytes, ..plain() }
}

async fn body_of(answer: &[u8], max_bytes: usize) -> ReplyBody {
    let answer = answer.to_vec();
    let server = Server::start(move |mut connection: Connection| {
        let answer = answer.clone();
        async move {
            connection.request().await;
            connection.answer(&answer).await;
        }
    })
    .await;
    send(&sender(), &get(&server.url("/")), &capped(max_bytes)).await.unwrap().body
}

#[tokio::test]
async fn a_body_is_read_up_to_the_cap() {
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let until_close = b"HTTP/1.1 200 OK\r\n\r\nabcde";
    let two_members = called_packed(&[packed(b"abc"), packed(b"de")].concat());
    for answer in [ok("abcde"), chunked.to_vec(), until_close.to_vec(), gzipped(b"abcde"), two_members] {
        assert_eq!(body_of(&answer, 5).await, ReplyBody::Whole(b"abcde".to_vec()));
        assert_eq!(body_of(&answer, 4).await, ReplyBody::TooLarge);
    }
    assert_eq!(body_of(&ok(""), 0).await, ReplyBody::Whole(Vec::new()));
}

#[tokio::test]
async fn an_answer_that_unpacks_hugely_is_stopped() {
    let bomb = gzipped(&vec![b' '; 64 * 1024 * 1024]);
    assert!(bomb.len() < 1024 * 1024, "{} bytes are no bomb", bomb.len());
    assert_eq!(body_of(&bomb, 1024 * 1024).await, ReplyBody::TooLarge);
}

#[tokio::test]
async fn an_endless_body_is_left_at_the_cap() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    let server = Server::start(move |mut connection: Connection| {
        let counter = counter.clone();
        async move {
            use tokio::io::AsyncWriteExt;
            connection.request().await;
            connection.answer(b"HTTP/1.1 200 OK\r\n\r\n").await;
            while connection.stream.write_all(&[b'x'; 16 * 1024]).await.is_ok() {
                counter.fetch_add(16 * 1024, Ordering::SeqCst);
            }
        }
    })
    .await;
    let reply = send(&sender(), &get(&server.url("/")), &capped(64 * 1024)).await.unwrap();
    assert_eq!(reply.body, ReplyBody::TooLarge);
    // Data sent beyond the limit is only what the socket buffers of both kernels accept.
    assert!(sent.load(Ordering::SeqCst) < 32 * 1024 * 1024, "{sent:?} bytes were taken");
}

#[tokio::test]
async fn an_announced_length_over_the_cap_is_not_waited_for() {
    let server = Server::start(|mut connection: Connection| async move {
        connection.request().await;
        connection.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n").await;
        std::future::pending::<()>().await;
    })
    .await;
    assert_eq!(send(&sender(), &get(&server.url("/")), &plain()).await.unwrap().body, ReplyBody::TooLarge);
}

#[tokio::test]
async fn a_body_that_ends_early_is_truncated() {
    let mut half_packed = gzipped(&[7; 4096]);
    half_packed.truncate(half_packed.len() - 8);
    let bad_packed = called_packed(b"abcde");
    let short = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc";
    let unended = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n";
    for answer in [&half_packed[..], &bad_packed, short, unended] {
        assert_eq!(body_of(answer, 100_000).await, ReplyBody::Truncated, "{:?}", String::from_utf8_lossy(answer));
    }
}

#[tokio::test]
async fn a_head_has_no_body_whatever_its_headers_say() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 99999999999\r\nx-size: 7\r\n\r\n";
    let server = Server::answering(answer).await;
    let reply = send(&sender(), &request(Method::HEAD, &server.url("/")), &capped(10)).await.unwrap();
    assert_eq!(reply.body, ReplyBody::Whole(Vec::new()));
    assert_eq!(reply.headers["x-size"], "7");
}

#[tokio::test]
async fn an_empty_answer_called_packed_is_whole() {
    let answer = b"HTTP/1.1 204 No Content\r\ncontent-encoding: gzip\r\n\r\n";
    assert_eq!(body_of(answer, 10).await, ReplyBody::Whole(Vec::new()));
}

#[tokio::test]
async fn a_caller_who_gives_up_closes_the_connection() {
    let (say, mut said) = tokio::sync::mpsc::channel(1);
    let server = Server::start(move |mut connection: Connection| {
        let say = say.clone();
        async move {
            connection.request().await;
            connection.answer(b"HTTP/1.1 200 OK\r\nx-slow: ").await;
            say.send("half a head is sent").await.unwrap();
            assert!(connection.request().await.is_none());
            say.send("the connection is closed").await.unwrap();
        }
    })
    .await;
    let (sender, request, options) = (sender(), get(&server.url("/")), plain());
    let mut exchange = Box::pin(send(&sender, &request, &options));
    tokio::select! {
        outcome = &mut exchange => panic!("{outcome:?}"),
        step = said.recv() => assert_eq!(step, Some("half a head is sent")),
    }
    drop(exchange);
    let last = tokio::time::timeout(super::DEADLINE, said.recv()).await.expect("the connection is still open");
    assert_eq!(last, Some("the connection is closed"));
}

#[tokio::test]
async fn every_missing_answer_is_told_in_closed_words() {
    let garbage = Server::answering("SSH-2.0-OpenSSH_9.9\r\n\r\n").await;
    let greeting = Server::greeting("220 mail.example ESMTP\r\n").await;
    let not_tls = greeting.url("/").replace("http:", "https:");
    // Held open, so that no other listener and not this connection itself uses the port.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = format!("http://{}/", held.local_addr().unwrap());
    let cases = [
        (garbage.url("/"), unreachable("the answer is not HTTP")),
        (not_tls, not_connected("TLS: the handshake failed")),
        (closed, not_connected("the connection was refused")),
        ("http://does-not-exist.invalid/".to_owned(), not_connected("the name cannot be resolved")),
    ];
    for (url, expected) in cases {
        assert_eq!(send(&sender(), &get(&url), &plain()).await.err(), expected, "{url}");
    }
}
