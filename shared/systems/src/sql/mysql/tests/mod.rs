//! Connections that never begin, sessions, and servers that do not follow the protocol.

mod decoders;
mod hostile;
mod login;
mod server;
mod sessions;

use crate::guard::failure::SystemFailure;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use self::server::parameters;
use super::Session;
use crate::SqlFailure;
use crate::guard::dialling::DialRules;

async fn failure(port: u16, ssl_mode: &str, rules: &DialRules) -> SqlFailure {
    let opened = Session::open(&parameters(port, ssl_mode), rules, "test").await;
    opened.map(|_| ()).unwrap_err()
}

#[tokio::test]
async fn a_refused_address_is_not_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let rules = DialRules { has_chosen_host: true, allowed: Vec::new() };
    let failure = failure(port, "disable", &rules).await;
    assert_eq!(failure, SqlFailure::System(SystemFailure::AddressRefused { host: format!("127.0.0.1:{port}") }));
    let accepted = std::future::poll_fn(|context| std::task::Poll::Ready(listener.poll_accept(context).is_ready()));
    assert!(!accepted.await, "the address was dialled");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let refused = failure(port, "disable", &DialRules::default()).await;
    assert_eq!(refused, SqlFailure::System(SystemFailure::Unreachable("the connection was refused")));
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
async fn a_server_without_tls_gets_no_password() {
    // A greeting of protocol 10: version 8, capabilities without CLIENT_SSL, and mysql_native_password.
    let mut greeting = b"\x0a8.0.0\0\x01\0\0\0abcdefgh\0\xff\xf7\x21\x02\0\x08\0\x15".to_vec();
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"abcdefghijkl\0mysql_native_password\0");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&[u8::try_from(greeting.len()).unwrap(), 0, 0, 0]).await.unwrap();
        stream.write_all(&greeting).await.unwrap();
        let mut sent = Vec::new();
        let _ = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut sent).await;
        sent
    });
    let failure = failure(port, "verify-full", &DialRules::default()).await;
    assert_eq!(
        failure,
        SqlFailure::System(SystemFailure::Unreachable("the server has no TLS; sslmode disable connects without"))
    );
    // At most COM_QUIT, which is one byte behind its header.
    assert!(served.await.unwrap().len() <= 5);
}
