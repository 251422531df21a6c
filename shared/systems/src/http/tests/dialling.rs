//! Addresses are checked for every connection, regardless of earlier resolutions of a name.

use crate::guard::failure::SystemFailure;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::http::tests::server::{Connection, Server, ok};
use crate::http::tests::{HttpOptions, HttpSender, get, not_connected, plain, secrets, send};
use crate::{HttpFailure, ReplyBody};
use drift_language::{HttpRequest, Network};

/// Resolves every name to the addresses of a test.
#[derive(Clone, Default)]
struct Names {
    addresses: Arc<Mutex<Vec<IpAddr>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    fn lead_to(&self, addresses: &[&str]) {
        *self.addresses.lock().unwrap() = addresses.iter().map(|address| address.parse().unwrap()).collect();
    }

    fn sender(&self) -> HttpSender {
        HttpSender::resolving_by(Arc::new(self.clone()), secrets(&[]), "drift-poller")
    }
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        self.asked.lock().unwrap().push(name.as_str().to_owned());
        let found: Vec<_> = self.addresses.lock().unwrap().iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
        Box::pin(async move { Ok(Box::new(found.into_iter()) as Addrs) })
    }
}

fn refused(host: &str) -> HttpFailure {
    HttpFailure::System(SystemFailure::AddressRefused { host: host.to_owned() })
}

fn chosen(url: &str) -> HttpRequest {
    HttpRequest { has_chosen_host: true, ..get(url) }
}

/// Answers one request on each connection and closes it.
async fn closing() -> Server {
    Server::start(|mut connection: Connection| async move {
        connection.request().await;
        connection.answer(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}").await;
    })
    .await
}

#[tokio::test]
async fn a_name_with_another_address_is_caught() {
    let server = closing().await;
    let names = Names::default();
    let sender = names.sender();
    let request = chosen(&format!("http://rebinding.example:{}/", server.port()));
    // Loopback plays the part of a public address: only this network may be dialled.
    let allowed: [Network; 1] = ["127.0.0.1".parse().unwrap()];
    let options = HttpOptions { allow_networks: &allowed, ..plain() };
    names.lead_to(&["127.0.0.1"]);
    assert!(send(&sender, &request, &options).await.is_ok());
    names.lead_to(&["127.0.0.2"]);
    let host = format!("rebinding.example:{}", server.port());
    assert_eq!(send(&sender, &request, &options).await.err(), Some(refused(&host)));
    names.lead_to(&["127.0.0.2", "127.0.0.1"]);
    assert!(send(&sender, &request, &options).await.is_ok(), "one of its addresses may be dialled");
    assert_eq!(server.connections(), 2);
    assert_eq!(names.asked.lock().unwrap().len(), 3, "a name was not looked up for a new connection");
}

#[tokio::test]
async fn requests_with_other_networks_share_no_connection() {
    let server = Server::answering(ok("{}")).await;
    let names = Names::default();
    names.lead_to(&["127.0.0.1"]);
    let sender = names.sender();
    let url = format!("http://inside.example:{}/", server.port());
    assert!(send(&sender, &get(&url), &plain()).await.is_ok(), "a literal host may lead to loopback");
    let host = format!("inside.example:{}", server.port());
    assert_eq!(send(&sender, &chosen(&url), &plain()).await.err(), Some(refused(&host)));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn addresses_are_judged_where_the_host_is_one() {
    let names = Names::default();
    let sender = names.sender();
    for (request, host) in [
        (chosen("http://127.0.0.1:1/"), "127.0.0.1:1"),
        (chosen("http://[::ffff:10.0.0.1]/"), "[::ffff:a00:1]:80"),
        (get("http://169.254.169.254/latest"), "169.254.169.254:80"),
        (get("http://[fe80::1]/"), "[fe80::1]:80"),
        (get("http://[::ffff:169.254.169.254]/"), "[::ffff:a9fe:a9fe]:80"),
    ] {
        let failure = send(&sender, &request, &plain()).await.err();
        assert_eq!(failure, Some(refused(host)));
        assert!(sender.has_credential(&request, &plain()).is_err(), "{host}");
    }
    assert!(names.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_literal_name_must_not_lead_to_link_local_addresses() {
    let names = Names::default();
    names.lead_to(&["169.254.169.254"]);
    let failure = send(&names.sender(), &get("http://metadata.example/"), &plain()).await.unwrap_err();
    assert_eq!(failure, refused("metadata.example:80"));
    let text = "metadata.example:80 is not asked: its address is in a network that the target does not allow";
    assert_eq!(failure.to_string(), text);
}

/// A resolver that never responds.
struct Silent;

impl Resolve for Silent {
    fn resolve(&self, _: Name) -> Resolving {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_answer_is_given_up() {
    let sender = HttpSender::resolving_by(Arc::new(Silent), secrets(&[]), "drift-poller");
    let outcome = send(&sender, &get("http://silent.example/"), &plain()).await;
    assert_eq!(outcome.err(), not_connected("connecting took too long"));
}

#[tokio::test]
async fn the_system_resolves_names_too() {
    let server = Server::answering(ok("local")).await;
    let sender = super::sender();
    let url = format!("http://localhost:{}/", server.port());
    let reply = send(&sender, &get(&url), &plain()).await.unwrap();
    assert_eq!(reply.body, ReplyBody::Whole(b"local".to_vec()));
    let host = format!("localhost:{}", server.port());
    assert_eq!(send(&sender, &chosen(&url), &plain()).await.err(), Some(refused(&host)));
}
