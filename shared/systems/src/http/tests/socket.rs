//! Requests through a unix socket.

use crate::guard::failure::SystemFailure;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio_util::task::AbortOnDropHandle;

use crate::ReplyBody;
use crate::http::tests::{HttpFailure, HttpOptions, HttpSender, get, not_connected, plain, send, sender};
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::{Auth, HttpRequest};

/// The requests of each connection.
type Heads = Arc<Mutex<Vec<Vec<String>>>>;

#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
fn serve(path: &Path) -> (Heads, AbortOnDropHandle<()>) {
    let (listener, heads) = (UnixListener::bind(path).unwrap(), Heads::default());
    let seen = heads.clone();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let number = seen.lock().unwrap().len();
            seen.lock().unwrap().push(Vec::new());
            let seen = seen.clone();
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                while stream.read_buf(&mut bytes).await.unwrap_or(0) > 0 {
                    if bytes.ends_with(b"\r\n\r\n") {
                        seen.lock().unwrap()[number].push(String::from_utf8(std::mem::take(&mut bytes)).unwrap());
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsocket").await;
                    }
                }
            });
        }
    });
    (heads, AbortOnDropHandle::new(task))
}

fn through(path: &Path, url: &str) -> HttpRequest {
    HttpRequest { socket: Some(path.to_str().unwrap().into()), ..get(url) }
}

#[tokio::test]
async fn through_a_socket_the_host_is_only_a_header() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["1.sock", "2.sock"].map(|name| folder.path().join(name));
    let (heads, _task) = serve(&first);
    let (others, _other_task) = serve(&second);
    let sender = sender();
    // Neither an unresolvable name nor a forbidden address matters.
    for url in ["http://docker.invalid/a", "http://docker.invalid/b", "http://169.254.169.254/c"] {
        let reply = send(&sender, &through(&first, url), &plain()).await.unwrap();
        assert_eq!(reply.body, ReplyBody::Whole(b"socket".to_vec()));
    }
    send(&sender, &through(&second, "http://docker.invalid/a"), &plain()).await.unwrap();
    let seen = heads.lock().unwrap().clone();
    assert!(
        seen[0][0].starts_with("GET /a HTTP/1.1\r\n") && seen[0][0].contains("host: docker.invalid\r\n"),
        "{seen:?}"
    );
    assert!(seen[0][1].starts_with("GET /b HTTP/1.1\r\n"), "the connection was not used again: {seen:?}");
    assert_eq!(seen.concat().len(), 3);
    assert_eq!(others.lock().unwrap().concat().len(), 1, "two sockets share no connection");
}

#[tokio::test]
async fn an_unreachable_socket_is_told_in_closed_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let request = through(&path, "http://h/");
    let outcome = send(&sender(), &request, &plain()).await;
    assert_eq!(outcome.err(), not_connected("there is no such socket"));
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let outcome = send(&sender(), &request, &plain()).await;
    assert_eq!(outcome.err(), not_connected("the connection was refused"));
    assert_eq!(request.host(), format!("unix:{}", path.display()));
}

#[tokio::test]
async fn a_secret_goes_through_a_socket_that_its_owner_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let (heads, _task) = serve(&path);
    let outcome = async |hosts: &str| {
        let data = [("username", "ann"), ("password", "x")];
        let data = data.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
        let secrets: LabelledSecrets = [("s".to_owned(), LabelledSecret::new(Some(hosts), data))].into_iter().collect();
        let sender = HttpSender::new(Arc::new(arc_swap::ArcSwap::from_pointee(secrets)), "drift-poller");
        let auth = Auth::Basic { secret: "s".to_owned() };
        let options = HttpOptions { auth: Some(&auth), ..plain() };
        send(&sender, &through(&path, "http://docker.example/"), &options).await.map(drop)
    };
    let host = format!("unix:{}", path.display());
    let text = format!("Secret s may not be sent to {host}");
    assert_eq!(outcome("docker.example").await, Err(HttpFailure::System(SystemFailure::CredentialUnavailable(text))));
    assert_eq!(outcome(&host).await, Ok(()));
    let sent = base64::prelude::BASE64_STANDARD.encode("ann:x");
    assert!(heads.lock().unwrap().concat()[0].contains(&format!("authorization: Basic {sent}\r\n")));
}
