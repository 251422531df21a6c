//! No printable text contains a credential, a header value or a body.

use std::sync::Arc;

use http::{HeaderName, Method};

use crate::http::tests::server::{Server, ok};
use crate::http::tests::{HttpOptions, HttpSender, plain, request, secrets, send};
use drift_language::{Auth, AuthHeader, HttpRequest, SecretKey};

const CANARY: &str = "canary";

fn full_of_canaries(url: &str) -> HttpRequest {
    let mut request = request(Method::POST, &url.replace("//", "//canary:canary@"));
    request.url.set_query(Some("token=canary"));
    Arc::make_mut(&mut request.headers).insert("x-own", CANARY.parse().unwrap());
    request.body = Some(CANARY.into());
    request
}

fn auths() -> [Auth; 4] {
    let key = |key: &str| SecretKey { name: "api".to_owned(), key: key.to_owned() };
    [
        Auth::Bearer(key("token")),
        Auth::Basic { secret: "api".to_owned() },
        Auth::Header(AuthHeader { name: HeaderName::from_static("x-api-key"), value: key("token") }),
        Auth::Bearer(key("broken")),
    ]
}

#[tokio::test]
async fn no_debug_output_and_no_error_shows_a_canary() {
    let data = [("token", CANARY), ("username", "canary"), ("password", "canary"), ("broken", "canary\u{7}")];
    let store = secrets(&[("api", &data)]);
    let sender = HttpSender::new(store.clone(), "drift-poller");
    let head = "HTTP/1.1 200 OK\r\nx-answer: canary\r\ncontent-length: 6\r\n\r\ncanary";
    let good = Server::answering(head).await;
    let garbage = Server::answering("canary canary\r\n\r\n").await;
    let greeting = Server::greeting("220 canary\r\n").await;
    let not_tls = greeting.url("/").replace("http:", "https:");
    let urls = [good.url("/"), garbage.url("/"), not_tls, "http://canary.invalid/".into()];
    let mut printed = vec![format!("{sender:?} {store:?} {:?}", store.load())];
    for url in urls {
        for auth in auths() {
            let request = full_of_canaries(&url);
            let options = HttpOptions { auth: Some(&auth), ..plain() };
            let outcome = send(&sender, &request, &options).await;
            printed.push(format!("{outcome:?} {options:?}"));
            // The host's name comes from the target, and readers need it.
            printed.push(format!("{request:?}").replace("canary.invalid", ""));
            printed.extend(outcome.err().map(|error| error.to_string()));
        }
    }
    assert!(good.requests().iter().any(|head| head.contains("Bearer canary")), "no canary was ever sent");
    for text in printed {
        assert!(!text.contains(CANARY), "{text}");
    }
}

#[tokio::test]
async fn header_names_and_sizes_are_shown() {
    let server = Server::answering(ok("body")).await;
    let sender = HttpSender::new(secrets(&[]), "drift-poller");
    let request = HttpRequest { headers: Arc::default(), ..full_of_canaries(&server.url("/path")) };
    let reply = send(&sender, &request, &plain()).await.unwrap();
    assert!(format!("{request:?}").contains("/path"), "{request:?}");
    assert!(format!("{reply:?}").contains("content-length") && format!("{reply:?}").contains("4 bytes"), "{reply:?}");
}
