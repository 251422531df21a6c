//! Private CAs.

use crate::guard::failure::SystemFailure;
use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::NoClientAuth;
use rustls::server::danger::ClientCertVerifier;
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;

use crate::http::tests::server::{Connection, Server, ok};
use crate::http::tests::{
    HttpFailure, HttpOptions, HttpSender, child, get, not_connected, plain, secrets, send, sender,
};
use drift_language::{SecretKey, Tls};

/// A CA and a certificate that it signed for some names.
pub(super) struct Authority {
    pub(super) pem: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// First and last year of its certificates, if limited.
    years: Option<(i32, i32)>,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { pem: issuer.pem(), issuer, years: None }
    }

    /// A certificate for `name` and its key.
    pub(super) fn certify(&self, name: &str) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if let Some((from, until)) = self.years {
            (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
        }
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// The TLS acceptor of a server with a certificate for `name`.
    pub(super) fn acceptor(&self, name: &str, protocols: &[&str]) -> TlsAcceptor {
        self.acceptor_of(name, protocols, Arc::new(NoClientAuth))
    }

    /// A TLS acceptor that verifies client certificates.
    pub(super) fn acceptor_of(
        &self,
        name: &str,
        protocols: &[&str],
        clients: Arc<dyn ClientCertVerifier>,
    ) -> TlsAcceptor {
        let (certificate, key) = self.certify(name);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }

    pub(super) async fn serve(&self, name: &str, protocols: &[&str]) -> Server {
        let acceptor = self.acceptor(name, protocols);
        Server::start(move |connection: Connection| {
            let acceptor = acceptor.clone();
            async move {
                let Some(mut connection) = connection.wrapped(|stream| acceptor.accept(stream)).await else { return };
                while connection.request().await.is_some() {
                    connection.answer(&ok("{}")).await;
                }
            }
        })
        .await
    }
}

pub(super) fn https(server: &Server) -> String {
    format!("https://localhost:{}/", server.port())
}

pub(super) fn private() -> Tls {
    Tls { ca: Some(SecretKey { name: "ca".to_owned(), key: "ca.crt".to_owned() }), certificate: None }
}

#[tokio::test]
async fn a_private_ca_is_trusted_only_where_named() {
    let authority = Authority::new();
    let server = authority.serve("localhost", &["http/1.1"]).await;
    let other = Authority::new();
    let tls = private();
    let options = HttpOptions { tls: Some(&tls), ..plain() };
    let trusting = |pem: &str| HttpSender::new(secrets(&[("ca", &[("ca.crt", pem)])]), "drift-poller");
    let stranger = not_connected("TLS: the certificate's issuer is not trusted");

    assert!(send(&trusting(&authority.pem), &get(&https(&server)), &options).await.is_ok());
    assert!(
        send(&trusting(&[other.pem.as_str(), &authority.pem].concat()), &get(&https(&server)), &options).await.is_ok()
    );
    assert_eq!(send(&trusting(&other.pem), &get(&https(&server)), &options).await.err(), stranger);
    assert_eq!(send(&sender(), &get(&https(&server)), &plain()).await.err(), stranger);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let authority = Authority::new();
    let server = authority.serve("other.example", &[]).await;
    let tls = private();
    let sender = HttpSender::new(secrets(&[("ca", &[("ca.crt", &authority.pem)])]), "drift-poller");
    let outcome = send(&sender, &get(&https(&server)), &HttpOptions { tls: Some(&tls), ..plain() }).await;
    assert_eq!(outcome.err(), not_connected("TLS: the certificate is for another name"));
}

#[tokio::test]
async fn a_certificate_of_another_time_is_refused() {
    for years in [(2019, 2020), (2190, 2191)] {
        let authority = Authority { years: Some(years), ..Authority::new() };
        let server = authority.serve("localhost", &[]).await;
        let tls = private();
        let sender = HttpSender::new(secrets(&[("ca", &[("ca.crt", &authority.pem)])]), "drift-poller");
        let outcome = send(&sender, &get(&https(&server)), &HttpOptions { tls: Some(&tls), ..plain() }).await;
        assert_eq!(outcome.err(), not_connected("TLS: the certificate is not valid at this time"), "{years:?}");
    }
}

#[tokio::test]
async fn only_a_changed_bundle_costs_its_connections() {
    let (first, second) = (Authority::new(), Authority::new());
    let server = first.serve("localhost", &[]).await;
    let moved = second.serve("localhost", &[]).await;
    let store = secrets(&[("ca", &[("ca.crt", &first.pem)])]);
    let sender = HttpSender::new(store.clone(), "drift-poller");
    let tls = private();
    let options = HttpOptions { tls: Some(&tls), ..plain() };
    for _ in 0..3 {
        send(&sender, &get(&https(&server)), &options).await.unwrap();
        store.store(secrets(&[("ca", &[("ca.crt", &first.pem)])]).load_full());
    }
    assert_eq!(server.connections(), 1);
    assert!(send(&sender, &get(&https(&moved)), &options).await.is_err());

    store.store(secrets(&[("ca", &[("ca.crt", &second.pem)])]).load_full());
    send(&sender, &get(&https(&moved)), &options).await.unwrap();
    // The old CA's connection is not used for a server that the new CA did not sign.
    assert!(send(&sender, &get(&https(&server)), &options).await.is_err());
}

#[tokio::test]
async fn with_an_unusable_bundle_nothing_is_sent() {
    let server = Server::answering(ok("{}")).await;
    let tls = private();
    let options = HttpOptions { tls: Some(&tls), ..plain() };
    let cases = [
        (secrets(&[]), "Secret ca does not exist or is not labelled for this program"),
        (secrets(&[("ca", &[("x", "y")])]), "Secret ca has no key ca.crt"),
        (secrets(&[("ca", &[("ca.crt", "canary")])]), "Secret ca key ca.crt: not a PEM bundle of CA certificates"),
    ];
    for (store, text) in cases {
        let outcome = send(&HttpSender::new(store, "drift-poller"), &get(&https(&server)), &options).await;
        assert_eq!(outcome.err(), Some(HttpFailure::System(SystemFailure::CredentialUnavailable(text.to_owned()))));
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_private_ca_the_bundle_of_the_system_counts() {
    let authority = Authority::new();
    let server = authority.serve("localhost", &[]).await;
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("ca-certificates.crt");
    std::fs::write(&bundle, &authority.pem).unwrap();
    let trusting = |path: &std::path::Path| [("SSL_CERT_FILE", path.display().to_string())];
    child::sends(&https(&server), &trusting(&bundle), "{}");

    // A bundle of the program counts beside that of the system.
    let other = Authority::new();
    let inspecting = other.serve("localhost", &["http/1.1"]).await;
    let added = || trusting(&bundle).into_iter().chain([(child::BUNDLE, other.pem.clone())]).collect::<Vec<_>>();
    child::sends(&https(&server), &added(), "{}");
    child::sends(&https(&inspecting), &added(), "{}");
    child::sends(&https(&inspecting), &trusting(&bundle), "issuer is not trusted");

    // An image without any bundle trusts no server, and can still use plain HTTP.
    let missing = trusting(&folder.path().join("missing"));
    child::sends(&https(&server), &missing, "issuer is not trusted");
    let plain = Server::answering(ok("plain")).await;
    child::sends(&plain.url("/"), &missing, "plain");
}

#[tokio::test]
async fn a_read_survives_the_loss_of_its_tls_connection() {
    for farewell in [false, true] {
        let authority = Authority::new();
        let acceptor = authority.acceptor("localhost", &["http/1.1"]);
        let server = Server::start(move |connection: Connection| {
            let acceptor = acceptor.clone();
            async move {
                let Some(mut connection) = connection.wrapped(|stream| acceptor.accept(stream)).await else { return };
                for count in 0.. {
                    if connection.request().await.is_none() || (connection.number == 0 && count == 1) {
                        break;
                    }
                    connection.answer(&ok("{}")).await;
                }
                if farewell {
                    let _ = connection.stream.shutdown().await;
                }
            }
        })
        .await;
        let sender = HttpSender::new(secrets(&[("ca", &[("ca.crt", &authority.pem)])]), "drift-poller");
        let tls = private();
        let options = HttpOptions { tls: Some(&tls), ..plain() };
        for _ in 0..2 {
            let reply = send(&sender, &get(&https(&server)), &options).await;
            assert!(reply.is_ok(), "farewell {farewell}: {reply:?}");
        }
        assert_eq!((server.connections(), server.requests().len()), (2, 3), "farewell {farewell}");
    }
}
