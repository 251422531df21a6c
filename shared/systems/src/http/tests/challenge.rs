//! Tokens of the server that a host names in its 401 response.

use crate::guard::failure::SystemFailure;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use crate::ServerText;
use crate::http::tests::server::{Connection, Server, ok};
use crate::http::tests::{HttpFailure, HttpOptions, HttpSender, get, plain, request, secrets, send};
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::{Auth, Challenge};

/// Issued tokens, each with its scope.
#[derive(Clone, Default)]
struct Tokens(Arc<Mutex<HashMap<String, String>>>);

impl Tokens {
    /// Answers `GET /token?service=r&scope=…`.
    fn give(&self, head: &str) -> Vec<u8> {
        let scope = head.split_once("&scope=").unwrap().1.split_once(' ').unwrap().0.replace("%3A", ":");
        let mut tokens = self.0.lock().unwrap();
        let token = format!("token-{}", tokens.len());
        tokens.insert(token.clone(), scope);
        ok(&format!(r#"{{"token": "{token}", "access_token": "", "expires_in": 300}}"#))
    }

    fn take(&self, head: &str) -> bool {
        let sent = head.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
        sent.is_some_and(|token| self.0.lock().unwrap().get(token) == Some(&scope_of(head)))
    }

    fn revoke(&self) {
        self.0.lock().unwrap().values_mut().for_each(String::clear);
    }
}

/// The scope that a registry requires for a request.
fn scope_of(head: &str) -> String {
    let mut words = head.split(' ');
    let action = if matches!(words.next(), Some("GET" | "HEAD")) { "pull" } else { "push" };
    format!("repository:{}:{action}", words.next().unwrap().trim_start_matches('/'))
}

fn unauthorized(realm: &str, scope: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer realm=\"{realm}\",service=\"r\",scope=\"{scope}\"\r\ncontent-length: 0\r\n\r\n"
    )
    .into_bytes()
}

/// A server that issues tokens, and accepts requests with one. Other requests get `realm`, or itself, as
/// the token server.
async fn registry(tokens: &Tokens, realm: Option<String>) -> Server {
    let tokens = tokens.clone();
    Server::start(move |mut connection: Connection| {
        let (tokens, realm) = (tokens.clone(), realm.clone());
        async move {
            let own = connection.stream.local_addr().unwrap();
            let realm = realm.unwrap_or_else(|| format!("http://{own}/token"));
            while let Some(head) = connection.request().await {
                let answer = match () {
                    () if head.starts_with("GET /token?") => tokens.give(&head),
                    () if tokens.take(&head) => ok(if head.starts_with("HEAD") { "" } else { "{}" }),
                    () => unauthorized(&realm, &scope_of(&head)),
                };
                connection.answer(&answer).await;
            }
        }
    })
    .await
}

fn challenge(hosts: &[&str]) -> Auth {
    Auth::Challenge(Challenge::new(Some("reader"), hosts).unwrap())
}

fn client() -> HttpSender {
    HttpSender::new(secrets(&[("reader", &[("username", "ann"), ("password", "canary\n")])]), "drift-poller")
}

async fn status(sender: &HttpSender, url: &str, auth: &Auth) -> Result<u16, HttpFailure> {
    let options = HttpOptions { auth: Some(auth), ..plain() };
    send(sender, &get(url), &options).await.map(|reply| reply.status.as_u16())
}

fn refused(text: &str) -> Result<u16, HttpFailure> {
    Err(HttpFailure::TokenRefused(text.to_owned(), ServerText::default()))
}

const ELSEWHERE: &str = "the host names a token server that is neither itself nor in tokenHosts";

#[tokio::test]
async fn a_token_is_got_once_for_each_scope() {
    let tokens = Tokens::default();
    let identity = registry(&tokens, None).await;
    let server = registry(&tokens, Some(identity.url("/token"))).await;
    let token_host = format!("127.0.0.1:{}", identity.port());
    let (sender, auth) = (client(), challenge(&[&token_host]));
    for _ in 0..3 {
        assert_eq!(status(&sender, &server.url("/a"), &auth).await, Ok(200));
    }
    let asked = identity.requests();
    assert_eq!((asked.len(), server.requests().len()), (1, 4), "one 401, then with the token at once");
    assert!(asked[0].starts_with("GET /token?service=r&scope=repository%3Aa%3Apull HTTP/1.1\r\n"), "{}", asked[0]);
    // ann:canary
    assert!(asked[0].contains("authorization: Basic YW5uOmNhbmFyeQ==\r\n"), "{}", asked[0]);
    assert!(!server.requests().concat().contains("Basic"), "the credential went to the host itself");

    assert_eq!(status(&sender, &server.url("/b"), &auth).await, Ok(200));
    for method in [http::Method::HEAD, http::Method::POST] {
        let request = request(method, &server.url("/a"));
        let reply = send(&sender, &request, &HttpOptions { auth: Some(&auth), ..plain() }).await.unwrap();
        assert_eq!(reply.status, 200);
    }
    assert_eq!(identity.requests().len(), 3, "reads of b, and writes of a");
}

#[tokio::test]
async fn a_revoked_token_of_a_registry_is_replaced() {
    let tokens = Tokens::default();
    let server = registry(&tokens, None).await;
    let (sender, auth) = (client(), challenge(&[]));
    for _ in 0..2 {
        assert_eq!(status(&sender, &server.url("/a"), &auth).await, Ok(200));
        tokens.revoke();
    }
    let of_tokens = server.requests().iter().filter(|head| head.starts_with("GET /token")).count();
    assert_eq!((of_tokens, server.requests().len()), (2, 6));
}

#[tokio::test]
async fn a_host_that_refuses_fresh_tokens_stays_unauthorized() {
    let tokens = Tokens::default();
    let identity = registry(&tokens, None).await;
    let realm = identity.url("/token");
    let server = Server::answering(unauthorized(&realm, "repository:a:pull")).await;
    let (sender, auth) = (client(), challenge(&["127.0.0.1"]));
    for _ in 0..5 {
        assert_eq!(status(&sender, &server.url("/a"), &auth).await, Ok(401));
    }
    assert_eq!(identity.requests().len(), 2, "tokens for a host that takes none");
    let without =
        Server::answering("HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=x\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(status(&sender, &without.await.url("/a"), &auth).await, Ok(401));
}

#[tokio::test]
async fn only_a_token_server_in_token_hosts_gets_the_credential() {
    let tokens = Tokens::default();
    let thief = registry(&tokens, None).await;
    let server = registry(&tokens, Some(thief.url("/token"))).await;
    let named = format!("127.0.0.1:{}", thief.port());
    for (hosts, expected) in
        [(&[][..], refused(ELSEWHERE)), (&["127.0.0.1:1"], refused(ELSEWHERE)), (&[&*named], Ok(200))]
    {
        assert_eq!(thief.requests().len(), 0);
        assert_eq!(status(&client(), &server.url("/a"), &challenge(hosts)).await, expected);
    }
}

#[tokio::test]
async fn a_remembered_realm_is_judged_for_each_target() {
    let tokens = Tokens::default();
    let identity = registry(&tokens, None).await;
    let server = registry(&tokens, Some(identity.url("/token"))).await;
    let (sender, url) = (client(), server.url("/a"));
    let listing = challenge(&[&format!("127.0.0.1:{}", identity.port())]);
    assert_eq!(status(&sender, &url, &listing).await, Ok(200));
    assert_eq!(status(&sender, &url, &challenge(&[])).await, refused(ELSEWHERE));
    assert_eq!(status(&sender, &url, &listing).await, Ok(200));
    assert_eq!((identity.requests().len(), server.requests().len()), (1, 4), "who lists it keeps its realm");
}

#[tokio::test]
async fn a_host_may_move_to_another_token_server() {
    for status_line in ["404 Not Found", "500 Internal Server Error"] {
        let gone = format!("HTTP/1.1 {status_line}\r\ncontent-length: 0\r\n\r\n").into_bytes();
        let answers = Arc::new(Mutex::new(vec![gone, ok(r#"{"token": "short", "expires_in": 0}"#)]));
        let before = Server::start(move |mut connection| {
            let answers = answers.clone();
            async move {
                while connection.request().await.is_some() {
                    let answer = answers.lock().unwrap().pop().unwrap();
                    connection.answer(&answer).await;
                }
            }
        })
        .await;
        let behind = Server::answering(ok(r#"{"token": "long"}"#)).await;
        let realm = Arc::new(Mutex::new(before.url("/token")));
        let named = realm.clone();
        let server = Server::start(move |mut connection| {
            let named = named.clone();
            async move {
                while let Some(head) = connection.request().await {
                    let realm = named.lock().unwrap().clone();
                    let bears = head.contains("authorization: Bearer ");
                    connection.answer(&if bears { ok("{}") } else { unauthorized(&realm, "s") }).await;
                }
            }
        })
        .await;
        let (sender, auth) = (client(), challenge(&["127.0.0.1"]));
        assert_eq!(status(&sender, &server.url("/a"), &auth).await, Ok(200));
        *realm.lock().unwrap() = behind.url("/token");
        assert!(status(&sender, &server.url("/a"), &auth).await.is_err(), "the first says {status_line}");
        assert_eq!(status(&sender, &server.url("/a"), &auth).await, Ok(200), "the first says {status_line}");
        assert_eq!((before.requests().len(), behind.requests().len()), (2, 1));
    }
}

#[tokio::test]
async fn a_named_address_of_machines_is_not_dialled() {
    let auth = challenge(&["169.254.169.254"]);
    let cases = [
        (
            "https://169.254.169.254/token",
            Err(HttpFailure::System(SystemFailure::AddressRefused { host: "169.254.169.254:443".to_owned() })),
        ),
        ("http://169.254.169.254/token", refused("the host names a token server without TLS")),
        ("http://auth.example/token", refused(ELSEWHERE)),
        ("file:///etc/passwd", refused("the host names no token server that could be asked")),
        ("https://ann:x@auth.example/", refused("the host names no token server that could be asked")),
        ("/token", refused("the host names no token server that could be asked")),
    ];
    for (realm, expected) in cases {
        let server = Server::answering(unauthorized(realm, "s")).await;
        assert_eq!(status(&client(), &server.url("/a"), &auth).await, expected, "{realm}");
    }
}

#[tokio::test]
async fn a_token_server_that_answers_wildly_gives_no_token() {
    let giant = format!(r#"{{"token": "{}"}}"#, "x".repeat(70_000));
    let away =
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_owned();
    let none = "the token server's answer holds no bearer token";
    let cases = [
        (String::from_utf8(ok(&giant)).unwrap(), none),
        (String::from_utf8(ok(r#"{"token": "a\nb"}"#)).unwrap(), none),
        (String::from_utf8(ok(r#"{"token": "a", "expires_in": -1}"#)).unwrap(), none),
        (away, "the token server answers with status 307"),
    ];
    for (answer, expected) in cases {
        let identity = Server::answering(answer).await;
        let server = Server::answering(unauthorized(&identity.url("/token"), "s")).await;
        let outcome = status(&client(), &server.url("/a"), &challenge(&["127.0.0.1"])).await;
        assert_eq!(outcome, Err(HttpFailure::TokenUnavailable(expected.to_owned())));
    }
}

#[tokio::test]
async fn the_owner_of_the_secret_names_both_hosts() {
    let tokens = Tokens::default();
    let identity = registry(&tokens, None).await;
    let server = registry(&tokens, Some(identity.url("/token"))).await;
    let [of_identity, of_server] = [&identity, &server].map(|server| format!("127.0.0.1:{}", server.port()));
    let auth = challenge(&["127.0.0.1"]);
    let outcome = async |hosts: &str| {
        let data = ["username", "password"].map(|key| (key.to_owned(), b"x".to_vec()));
        let secrets: LabelledSecrets =
            [("reader".to_owned(), LabelledSecret::new(Some(hosts), data))].into_iter().collect();
        let sender = HttpSender::new(Arc::new(ArcSwap::from_pointee(secrets)), "drift-poller");
        status(&sender, &server.url("/a"), &auth).await
    };
    let refused = |host: &str| {
        Err(HttpFailure::System(SystemFailure::CredentialUnavailable(format!(
            "Secret reader may not be sent to {host}"
        ))))
    };
    assert_eq!(outcome(&of_identity).await, refused(&of_server));
    assert_eq!(outcome(&of_server).await, refused(&of_identity));
    assert_eq!(identity.requests().len(), 0);
    assert_eq!(outcome(&format!("{of_identity},{of_server}")).await, Ok(200));
}

#[tokio::test]
async fn without_a_secret_a_token_for_anybody_is_asked_for() {
    let tokens = Tokens::default();
    let server = registry(&tokens, None).await;
    let auth = Auth::Challenge(Challenge::new(None, &[]).unwrap());
    assert_eq!(status(&client(), &server.url("/a"), &auth).await, Ok(200));
    assert!(!server.requests().concat().contains("Basic"));
}
