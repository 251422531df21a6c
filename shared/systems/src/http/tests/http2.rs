//! HTTP/2, which most TLS servers use: one connection for all requests, which all can lose at once.

use http::{Method, Response};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::HttpFailure;
use crate::http::tests::server::{Connection, Server};
use crate::http::tests::tls::{Authority, https, private};
use crate::http::tests::{HttpOptions, HttpSender, plain, request, secrets, send};

/// The end of a connection at its second request.
#[derive(Clone, Copy, Debug)]
enum End {
    /// TCP FIN, without TLS close_notify.
    Fin,
    /// TLS close_notify first.
    Farewell,
    /// TCP RST.
    Reset,
    /// GOAWAY: the server did not process the request.
    GoAway,
    /// Only the request is refused, unprocessed.
    Refused,
    /// This and every later request is refused, on any connection.
    AlwaysRefused,
}

/// Answers one request on the first connection and ends it at the second. Later connections always answer.
async fn dropping(authority: &Authority, end: End) -> Server {
    let acceptor = authority.acceptor("localhost", &["h2"]);
    Server::start(move |connection: Connection| {
        let acceptor = acceptor.clone();
        async move {
            if matches!(end, End::Reset) {
                connection.stream.set_zero_linger().unwrap();
            }
            let Some(connection) = connection.wrapped(|stream| acceptor.accept(stream)).await else { return };
            serve(connection, end).await;
        }
    })
    .await
}

async fn serve(mut connection: Connection<TlsStream<TcpStream>>, end: End) {
    let number = connection.number;
    let mut session = h2::server::handshake(&mut connection.stream).await.unwrap();
    let mut seen = Vec::new();
    while let Some(Ok((request, mut respond))) = session.accept().await {
        seen.push(format!("{} {}", request.method(), request.uri().path()));
        let again = number == 0 && seen.len() == 2;
        if matches!(end, End::Refused) && again || matches!(end, End::AlwaysRefused) && (again || number > 0) {
            respond.send_reset(h2::Reason::REFUSED_STREAM);
            continue;
        }
        if again {
            if matches!(end, End::GoAway) {
                respond.send_reset(h2::Reason::REFUSED_STREAM);
                session.graceful_shutdown();
                let _ = std::future::poll_fn(|context| session.poll_closed(context)).await;
            }
            break;
        }
        respond.send_response(Response::new(()), true).unwrap();
    }
    drop(session);
    if matches!(end, End::Farewell) {
        let _ = connection.stream.shutdown().await;
    }
    seen.into_iter().for_each(|request| connection.note(request));
}

async fn outcome(method: Method, end: End) -> (Result<u16, HttpFailure>, usize) {
    let authority = Authority::new();
    let server = dropping(&authority, end).await;
    let sender = HttpSender::new(secrets(&[("ca", &[("ca.crt", &authority.pem)])]), "drift-poller");
    let tls = private();
    let options = HttpOptions { tls: Some(&tls), ..plain() };
    send(&sender, &request(Method::GET, &https(&server)), &options).await.unwrap();
    let outcome = send(&sender, &request(method, &https(&server)), &options).await;
    (outcome.map(|reply| reply.status.as_u16()), server.connections())
}

#[tokio::test]
async fn a_read_survives_the_loss_of_its_connection() {
    for end in [End::Fin, End::Farewell, End::Reset, End::GoAway] {
        for method in [Method::GET, Method::HEAD] {
            assert_eq!(outcome(method.clone(), end).await, (Ok(200), 2), "{end:?} {method}");
        }
    }
}

#[tokio::test]
async fn a_write_that_may_have_arrived_is_not_sent_again() {
    for end in [End::Fin, End::Farewell, End::Reset] {
        for method in [Method::POST, Method::DELETE] {
            let (outcome, connections) = outcome(method.clone(), end).await;
            assert!(outcome.is_err() && connections == 1, "{end:?} {method}: {outcome:?} on {connections} connections");
        }
    }
}

#[tokio::test]
async fn a_write_nobody_looked_at_is_sent_again() {
    for end in [End::GoAway, End::Refused] {
        assert_eq!(outcome(Method::POST, end).await, (Ok(200), 2), "{end:?}");
    }
}

#[tokio::test]
async fn what_is_refused_again_is_let_be() {
    for method in [Method::GET, Method::POST] {
        let (outcome, connections) = outcome(method.clone(), End::AlwaysRefused).await;
        assert!(outcome.is_err() && connections == 2, "{method}: {outcome:?} on {connections} connections");
    }
}
