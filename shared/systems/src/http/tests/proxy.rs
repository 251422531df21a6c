//! Requests through a proxy.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http::Method;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::TcpStream;

use crate::guard::failure::SystemFailure;
use crate::http::tests::server::{Connection, Server};
use crate::http::tests::tls::{Authority, private};
use crate::http::tests::{HttpOptions, HttpSender, get, plain, request, secrets, send};
use crate::{HttpFailure, ProgramProxy, ProjectedTokens};
use arc_swap::ArcSwap;
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::{HttpRequest, Network, Proxy};

/// Opens a tunnel for each CONNECT, to loopback whatever the host is.
async fn tunnelling() -> Server {
    Server::start(|mut connection: Connection| async move {
        let Some(head) = connection.request().await else { return };
        let port: u16 = head.split([' ', ':']).nth(2).unwrap().parse().unwrap();
        let mut host = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        connection.answer(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
        let _ = tokio::io::copy_bidirectional(&mut connection.stream, &mut host).await;
    })
    .await
}

fn at(port: u16, secret: Option<&str>) -> Proxy {
    let url = format!("http://127.0.0.1:{port}").parse().unwrap();
    Proxy { url, secret: secret.map(str::to_owned) }
}

fn of_program(url: &str, except: &str) -> Option<ProgramProxy> {
    Some(ProgramProxy::new(url).unwrap().except(except.parse().unwrap()))
}

/// A sender that trusts the authority, with this proxy of the program.
fn trusting(authority: &Authority, proxy: Option<ProgramProxy>) -> HttpSender {
    let secrets =
        secrets(&[("ca", &[("ca.crt", &authority.pem)]), ("way", &[("username", "ann"), ("password", "canary%41\n")])]);
    HttpSender::with_projected(ProjectedTokens::default(), proxy, secrets, "drift-poller")
}

fn api(server: &Server) -> String {
    format!("https://api.example:{}/secret-path", server.port())
}

#[tokio::test]
async fn a_proxy_sees_the_host_and_its_own_credential() {
    let authority = Authority::new();
    let (server, way) = (authority.serve("api.example", &["http/1.1"]).await, tunnelling().await);
    let (sender, tls) = (trusting(&authority, None), private());
    for (secret, expected) in [(None, None), (Some("way"), Some("Basic YW5uOmNhbmFyeSU0MQ=="))] {
        let proxy = at(way.port(), secret);
        let options = HttpOptions { tls: Some(&tls), proxy: Some(&proxy), ..plain() };
        for _ in 0..2 {
            send(&sender, &get(&api(&server)), &options).await.unwrap();
        }
        let seen = way.requests().pop().unwrap();
        assert!(seen.starts_with(&format!("CONNECT api.example:{} HTTP/1.1\r\n", server.port())), "{seen}");
        let credential = seen.lines().find(|line| line.to_lowercase().starts_with("proxy-auth"));
        assert_eq!(credential.and_then(|line| line.split(": ").nth(1)), expected);
    }
    assert_eq!((way.connections(), server.requests().len()), (2, 4), "connections are not reused");
    assert!(!way.requests().concat().contains("secret-path"));
}

#[tokio::test]
async fn a_proxy_that_refuses_lets_nothing_through() {
    let authority = Authority::new();
    let server = authority.serve("api.example", &[]).await;
    let (sender, tls) = (trusting(&authority, None), private());
    let refused = |port: u16, text: &str| Some(HttpFailure::ProxyFailed(format!("the proxy 127.0.0.1:{port} {text}")));
    for (answer, text) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n",
            "refuses the connection: 407: it wants another credential",
        ),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "refuses the connection, for a reason that its log has"),
        ("HTTP/1.1 502 Bad Gateway\r\n\r\ncanary", "refuses the connection, for a reason that its log has"),
        ("canary canary\r\n\r\n", "refuses the connection, for a reason that its log has"),
        ("", "gives no valid answer to CONNECT"),
    ] {
        let way = Server::start(move |mut connection: Connection| async move {
            connection.request().await;
            connection.answer(answer.as_bytes()).await;
        })
        .await;
        let proxy = at(way.port(), None);
        let options = HttpOptions { tls: Some(&tls), proxy: Some(&proxy), ..plain() };
        let outcome = send(&sender, &request(Method::POST, &api(&server)), &options).await;
        assert_eq!(outcome.err(), refused(way.port(), text));
        assert_eq!(way.connections(), 1, "a refused request was sent again");
    }
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let proxy = at(closed, None);
    let options = HttpOptions { tls: Some(&tls), proxy: Some(&proxy), ..plain() };
    let outcome = send(&sender, &request(Method::POST, &api(&server)), &options).await;
    assert_eq!(outcome.err(), refused(closed, "cannot be reached: the connection was refused"));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_proxy_of_the_program_has_exceptions() {
    let authority = Authority::new();
    let server = authority.serve("localhost", &[]).await;
    let other = authority.serve("api.example", &[]).await;
    let (way, own, tls) = (tunnelling().await, tunnelling().await, private());
    let url = format!("http://ann:canary@127.0.0.1:{}", way.port());
    let options = HttpOptions { tls: Some(&tls), ..plain() };
    let sender = trusting(&authority, of_program(&url, "excepted.example"));
    send(&sender, &get(&api(&other)), &options).await.unwrap();
    assert!(way.requests()[0].contains("Basic YW5uOmNhbmFyeQ=="), "{:?}", way.requests());
    // Loopback is always an exception.
    send(&sender, &get(&format!("https://localhost:{}/", server.port())), &options).await.unwrap();
    assert_eq!(way.connections(), 1);
    let excepted = get("https://excepted.example:1/");
    assert!(matches!(send(&sender, &excepted, &options).await.err(), Some(HttpFailure::NotConnected(_))));
    assert_eq!(way.connections(), 1);
    // The target's proxy has none, and gets no credential of the program.
    let proxy = at(own.port(), None);
    let by_own = HttpOptions { proxy: Some(&proxy), ..options };
    let all = trusting(&authority, of_program(&url, "*"));
    for sender in [&sender, &all] {
        send(sender, &get(&api(&other)), &by_own).await.unwrap();
    }
    assert_eq!((way.connections(), own.connections()), (1, 2));
    assert!(!own.requests().concat().contains("Basic"));
}

/// Resolves no name, and records each.
#[derive(Clone, Default)]
struct Nowhere(Arc<Mutex<Vec<String>>>);

impl Resolve for Nowhere {
    fn resolve(&self, name: Name) -> Resolving {
        self.0.lock().unwrap().push(name.as_str().to_owned());
        Box::pin(async { Ok(Box::new(std::iter::empty::<SocketAddr>()) as Addrs) })
    }
}

#[tokio::test]
async fn a_proxy_does_not_lead_around_the_guard() {
    let names = Nowhere::default();
    let sender = HttpSender::resolving_by(Arc::new(names.clone()), secrets(&[]), "drift-poller");
    let way = Server::greeting("HTTP/1.1 403 Forbidden\r\n\r\n").await;
    let proxy = at(way.port(), None);
    let allowed: [Network; 1] = ["10.1.0.0/16".parse().unwrap()];
    let options = HttpOptions { proxy: Some(&proxy), allow_networks: &allowed, ..plain() };
    for (url, text) in [
        ("http://api.example/", "is not encrypted; write https"),
        ("https://10.0.0.1/", "name it in allowNetworks"),
        ("https://169.254.169.254/latest", "name it in allowNetworks"),
        ("https://metadata.google.internal/", "name it in allowNetworks"),
    ] {
        let failure = send(&sender, &get(url), &options).await.unwrap_err();
        assert!(matches!(failure, HttpFailure::NotThroughProxy(said) if said.contains(text)), "{url} {failure}");
    }
    let chosen = HttpRequest { has_chosen_host: true, ..get("https://api.example/") };
    let open = HttpOptions { has_open_host: true, ..options.clone() };
    let failure = send(&sender, &chosen, &open).await.unwrap_err();
    assert!(matches!(failure, HttpFailure::NotThroughProxy(said) if said.contains("without `*`")), "{failure}");
    assert_eq!(way.connections(), 0);
    for url in ["https://api.example/", "https://10.1.2.3/"] {
        assert!(matches!(send(&sender, &get(url), &open).await.err(), Some(HttpFailure::ProxyFailed(_))), "{url}");
    }
    assert!(matches!(send(&sender, &chosen, &options).await.err(), Some(HttpFailure::ProxyFailed(_))));
    assert_eq!(way.connections(), 3);
    assert!(names.0.lock().unwrap().is_empty(), "a name was resolved here");
    let metadata = Proxy { url: "http://169.254.169.254:3128".parse().unwrap(), secret: None };
    let options = HttpOptions { proxy: Some(&metadata), ..plain() };
    let refused = SystemFailure::AddressRefused { host: "169.254.169.254:3128".to_owned() };
    assert_eq!(send(&sender, &get("https://api.example/"), &options).await.err(), Some(refused.into()));
}

#[tokio::test]
async fn the_secret_of_a_proxy_goes_to_its_host_alone() {
    let way = Server::answering("HTTP/1.1 407 Who\r\n\r\n").await;
    let secret = |hosts: &str, password: &str| {
        let data = [("username", "ann"), ("password", password)];
        let data = data.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
        LabelledSecrets::from_iter([("way".to_owned(), LabelledSecret::new(Some(hosts), data))])
    };
    let store = Arc::new(ArcSwap::from_pointee(secret("api.example", "canary")));
    let sender = HttpSender::new(store.clone(), "drift-poller");
    let proxy = at(way.port(), Some("way"));
    let options = HttpOptions { proxy: Some(&proxy), ..plain() };
    let request = get("https://api.example/");
    let failure = send(&sender, &request, &options).await.unwrap_err();
    assert!(matches!(failure, HttpFailure::System(SystemFailure::CredentialUnavailable(_))), "{failure}");
    assert!(sender.has_credential(&request, &options).is_err());
    assert_eq!(way.connections(), 0);
    for password in ["canary", "rotated"] {
        store.store(Arc::new(secret("127.0.0.1", password)));
        assert!(matches!(send(&sender, &request, &options).await.err(), Some(HttpFailure::ProxyFailed(_))));
    }
    let seen = way.requests();
    assert!(seen.len() == 2 && seen[0] != seen[1], "{seen:?}");
}
