//! Connections that the other side drops while they are in the pool.

use http::Method;

use crate::ReplyBody;
use crate::http::tests::server::{Connection, Server, ok};
use crate::http::tests::{get, plain, request, send, sender, unreachable};

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
enum End {
    Fin,
    Reset,
}

/// Answers `answered` requests on each of the first `bad` connections and ends them at the next request, unanswered.
/// Later connections always answer.
async fn dropping(bad: usize, answered: usize, end: End) -> Server {
    Server::start(move |mut connection: Connection| async move {
        for count in 0.. {
            if connection.request().await.is_none() {
                return;
            }
            if connection.number < bad && count == answered {
                if matches!(end, End::Reset) {
                    connection.reset();
                }
                return;
            }
            connection.answer(&ok(&format!("connection {}", connection.number))).await;
        }
    })
    .await
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::answering(ok("{}")).await;
    let sender = sender();
    for _ in 0..5 {
        send(&sender, &get(&server.url("/")), &plain()).await.unwrap();
    }
    assert_eq!((server.connections(), server.requests().len()), (1, 5));
}

#[tokio::test]
async fn the_next_burst_opens_few_connections() {
    let server = Server::answering(ok("{}")).await;
    let sender = sender();
    let url = get(&server.url("/"));
    for _ in 0..3 {
        let burst = (0..4 * crate::HOST_CONCURRENCY).map(|_| async { send(&sender, &url, &plain()).await.unwrap() });
        futures::future::join_all(burst).await;
    }
    // A connection can return to the pool after the next request of a burst looked for one.
    assert!(server.connections() < 5 * crate::HOST_CONCURRENCY, "{}", server.connections());
}

#[tokio::test]
async fn a_read_on_a_dropped_reused_connection_is_repeated() {
    for end in [End::Fin, End::Reset] {
        for method in [Method::GET, Method::HEAD] {
            let server = dropping(1, 1, end).await;
            let sender = sender();
            send(&sender, &get(&server.url("/")), &plain()).await.unwrap();
            let reply = send(&sender, &request(method.clone(), &server.url("/again")), &plain()).await;
            assert!(reply.is_ok(), "{end:?} {method}: {reply:?}");
            let seen = server.requests().iter().filter(|head| head.contains("/again")).count();
            assert_eq!((seen, server.connections()), (2, 2), "{end:?} {method}: one dropped and one answered");
        }
    }
}

#[tokio::test]
async fn the_second_try_takes_a_fresh_connection() {
    let server = dropping(4, 1, End::Reset).await;
    let sender = sender();
    let urls: Vec<_> = (0..4).map(|number| get(&server.url(&format!("/{number}")))).collect();
    futures::future::join_all(urls.iter().map(|url| async { send(&sender, url, &plain()).await.unwrap() })).await;
    assert_eq!(server.connections(), 4, "the requests shared connections");

    let reply = send(&sender, &get(&server.url("/again")), &plain()).await.unwrap();
    assert_eq!(reply.body, ReplyBody::Whole(b"connection 4".to_vec()));
}

#[tokio::test]
async fn a_connection_closed_while_idle_disturbs_nobody() {
    for end in [End::Fin, End::Reset] {
        let server = Server::start(move |mut connection: Connection| async move {
            connection.request().await;
            connection.answer(&ok("{}")).await;
            if matches!(end, End::Reset) {
                connection.reset();
            }
        })
        .await;
        let sender = sender();
        for method in [Method::GET, Method::GET, Method::POST, Method::POST] {
            let outcome = send(&sender, &request(method.clone(), &server.url("/")), &plain()).await;
            // A POST may have been sent before the end of the connection arrived. Its effect is unknown, so it
            // is not repeated.
            assert!(outcome.is_ok() || method == Method::POST, "{end:?} {method}: {outcome:?}");
        }
        assert!(server.requests().len() <= 4, "{:?}", server.requests());
    }
}

#[tokio::test]
async fn a_write_that_may_have_arrived_is_not_sent_again() {
    for (end, text) in
        [(End::Fin, "the connection was closed before an answer came"), (End::Reset, "the connection was reset")]
    {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let server = dropping(1, 1, end).await;
            let sender = sender();
            send(&sender, &get(&server.url("/")), &plain()).await.unwrap();
            let outcome = send(&sender, &request(method.clone(), &server.url("/write")), &plain()).await;
            assert_eq!(outcome.err(), unreachable(text), "{end:?} {method}");
            assert_eq!((server.requests().len(), server.connections()), (2, 1), "{end:?} {method}");
        }
    }
}

#[tokio::test]
async fn a_read_is_repeated_once() {
    for end in [End::Fin, End::Reset] {
        let server = dropping(usize::MAX, 0, end).await;
        let outcome = send(&sender(), &get(&server.url("/")), &plain()).await;
        assert!(outcome.is_err(), "{end:?}: {outcome:?}");
        assert_eq!((server.requests().len(), server.connections()), (2, 2), "{end:?}");
    }
}
