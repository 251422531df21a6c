//! Authentication with a client certificate.

use crate::guard::failure::SystemFailure;
use std::sync::{Arc, Mutex};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::WebPkiClientVerifier;

use crate::http::tests::server::{Connection, Server, ok};
use crate::http::tests::tls::{Authority, https};
use crate::http::tests::{HttpFailure, HttpOptions, HttpSender, get, plain, secrets, send};
use drift_language::{SecretKey, Tls};

/// The certificates that clients presented.
type Shown = Arc<Mutex<Vec<Vec<u8>>>>;

/// Serves clients whose certificate is signed by one of the authorities.
async fn serve(authority: &Authority, trusted: &[&Authority]) -> (Server, Shown) {
    let mut roots = RootCertStore::empty();
    for authority in trusted {
        roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let acceptor = authority.acceptor_of("localhost", &["http/1.1"], clients);
    let shown = Shown::default();
    let seen = shown.clone();
    let server = Server::start(move |connection: Connection| {
        let (acceptor, seen) = (acceptor.clone(), seen.clone());
        async move {
            let Some(mut connection) = connection.wrapped(|stream| acceptor.accept(stream)).await else { return };
            let certificate = connection.stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
            seen.lock().unwrap().push(certificate);
            while connection.request().await.is_some() {
                connection.answer(&ok("{}")).await;
            }
        }
    })
    .await;
    (server, shown)
}

fn tls() -> Tls {
    let ca = SecretKey { name: "ca".to_owned(), key: "ca.crt".to_owned() };
    Tls { ca: Some(ca), certificate: Some("own".to_owned()) }
}

#[tokio::test]
async fn a_rotated_certificate_is_shown_from_the_next_request_on() {
    let authority = Authority::new();
    let (server, shown) = serve(&authority, &[&authority]).await;
    let pairs = [authority.certify("first"), authority.certify("second")];
    let stores = pairs.each_ref().map(|(certificate, key)| {
        let (certificate, key) = (certificate.pem(), key.serialize_pem());
        secrets(&[("ca", &[("ca.crt", &authority.pem)]), ("own", &[("tls.crt", &certificate), ("tls.key", &key)])])
    });
    let (store, tls) = (stores[0].clone(), tls());
    let sender = HttpSender::new(store.clone(), "drift-poller");
    let options = HttpOptions { tls: Some(&tls), ..plain() };
    for round in 0..6 {
        assert!(send(&sender, &get(&https(&server)), &options).await.is_ok(), "request {round}");
        if round == 2 {
            store.store(stores[1].load_full());
        }
    }
    let expected: Vec<_> = pairs.iter().map(|(certificate, _)| certificate.der().to_vec()).collect();
    assert_eq!(*shown.lock().unwrap(), expected, "one connection for each certificate");
}

#[tokio::test]
async fn half_a_rotation_leaves_the_certificate_in_use() {
    let authority = Authority::new();
    let (server, shown) = serve(&authority, &[&authority]).await;
    let pairs = [authority.certify("first"), authority.certify("second")];
    let [first, second] = pairs.each_ref().map(|(certificate, key)| (certificate.pem(), key.serialize_pem()));
    let bundle = authority.pem.as_str();
    let rounds = [
        (&first.0, &first.1, bundle, 1),
        (&second.0, &first.1, bundle, 1),
        (&second.0, &first.1, "canary", 1),
        (&second.0, &second.1, "canary", 1),
        (&second.0, &second.1, bundle, 2),
    ];
    let store = secrets(&[]);
    let sender = HttpSender::new(store.clone(), "drift-poller");
    let tls = tls();
    let options = HttpOptions { tls: Some(&tls), ..plain() };
    for (round, (certificate, key, bundle, expected)) in rounds.into_iter().enumerate() {
        let own = ("own", &[("tls.crt", certificate.as_str()), ("tls.key", key.as_str())][..]);
        store.store(secrets(&[("ca", &[("ca.crt", bundle)]), own]).load_full());
        for _ in 0..2 {
            assert!(send(&sender, &get(&https(&server)), &options).await.is_ok(), "round {round}");
        }
        assert_eq!(shown.lock().unwrap().len(), expected, "round {round}");
    }
    store.store(secrets(&[("ca", &[("ca.crt", bundle)])]).load_full());
    let outcome = send(&sender, &get(&https(&server)), &options).await;
    let gone = "Secret own does not exist or is not labelled for this program".to_owned();
    assert_eq!(
        outcome.err(),
        Some(HttpFailure::System(SystemFailure::CredentialUnavailable(gone))),
        "one that was taken away is used"
    );
}

#[tokio::test]
async fn without_a_trusted_certificate_there_is_no_answer() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (server, _) = serve(&authority, &[&authority]).await;
    let (certificate, key) = stranger.certify("x");
    let (certificate, key) = (certificate.pem(), key.serialize_pem());
    let store =
        secrets(&[("ca", &[("ca.crt", &authority.pem)]), ("own", &[("tls.crt", &certificate), ("tls.key", &key)])]);
    let (sender, both) = (HttpSender::new(store, "drift-poller"), tls());
    let ca_alone = Tls { certificate: None, ..both.clone() };
    for tls in [&both, &ca_alone] {
        let outcome = send(&sender, &get(&https(&server)), &HttpOptions { tls: Some(tls), ..plain() }).await;
        assert!(
            matches!(&outcome, Err(HttpFailure::NotConnected(_) | HttpFailure::System(SystemFailure::Unreachable(_)))),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_told() {
    let authority = Authority::new();
    let [(certificate, _), (_, other_key)] = [authority.certify("a"), authority.certify("b")];
    let (certificate, other_key) = (certificate.pem(), other_key.serialize_pem());
    let ca = ("ca", &[("ca.crt", authority.pem.as_str())][..]);
    let wrong = "Secret own keys tls.crt, tls.key: not a certificate in PEM and its key";
    let cases: [(&[(&str, &str)], &str); 4] = [
        (&[("tls.crt", &certificate)], "Secret own has no key tls.key"),
        (&[("tls.crt", &certificate), ("tls.key", "canary")], wrong),
        (&[("tls.crt", "canary"), ("tls.key", &other_key)], wrong),
        (&[("tls.crt", &certificate), ("tls.key", &other_key)], wrong),
    ];
    let tls = tls();
    for (own, text) in cases {
        let sender = HttpSender::new(secrets(&[ca, ("own", own)]), "drift-poller");
        let outcome = send(&sender, &get("https://127.0.0.1:1/"), &HttpOptions { tls: Some(&tls), ..plain() }).await;
        assert_eq!(outcome.err(), Some(HttpFailure::System(SystemFailure::CredentialUnavailable(text.to_owned()))));
    }
}
