//! The ways to log in.

use crate::guard::failure::SystemFailure;
use std::sync::Arc;

use mysql_common::constants::CapabilityFlags;
use mysql_common::scramble::{scramble_native, scramble_sha256};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use secrecy::SecretString;
use tokio_rustls::TlsAcceptor;

use super::server::{NONCE, OK, PASSWORD, Parts, Script, Server, parameters, parts};
use crate::SqlFailure;
use crate::guard::dialling::DialRules;
use crate::sql::mysql::Session;

const PROPOSED: [&str; 4] = ["mysql_native_password", "caching_sha2_password", "client_ed25519", ""];

/// Logs in over a unix socket, and returns what the client sent until then.
async fn over_socket(plugin: &'static str, login: impl Fn() -> Parts + Send + Sync + 'static) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let server = Server::start_at(&path, Script::logging_in(plugin, login));
    let mut parameters = parameters(0, "disable");
    parameters.host = path.display().to_string();
    Session::open(&parameters, &DialRules::default(), "test").await.map(drop).unwrap();
    server.received()
}

fn contains(packet: &[u8], part: &[u8]) -> bool {
    packet.windows(part.len()).any(|bytes| bytes == part)
}

#[tokio::test]
async fn the_response_proves_the_password() {
    let (native, sha2) = (scramble_native(NONCE, PASSWORD.as_bytes()), scramble_sha256(NONCE, PASSWORD.as_bytes()));
    let (native, sha2) = (native.unwrap().to_vec(), sha2.unwrap().to_vec());
    for (plugin, proof) in PROPOSED.into_iter().zip([&native, &sha2, &native, &native]) {
        let server = Server::start(Script::logging_in(plugin, || parts([OK.to_vec()]))).await;
        server.open("disable").await.map(drop).unwrap();
        let response = server.received().remove(0);
        for part in [&proof[..], b"u\0", b"d\0", b"\x0cprogram_name\x04test"] {
            assert!(contains(&response, part), "{plugin}: {response:?}");
        }
    }
}

#[tokio::test]
async fn the_server_may_ask_for_the_other_way() {
    let other = b"another-nonce-of-20b";
    let proofs = [
        scramble_native(other, PASSWORD.as_bytes()).unwrap().to_vec(),
        scramble_sha256(other, PASSWORD.as_bytes()).unwrap().to_vec(),
    ];
    for (plugin, proof) in PROPOSED.into_iter().zip(proofs) {
        let switch = [&b"\xfe"[..], plugin.as_bytes(), b"\0", other, b"\0"].concat();
        let login = move || parts([switch.clone(), b"\x01\x03".to_vec(), OK.to_vec()]);
        let server = Server::start(Script::logging_in("client_ed25519", login)).await;
        server.open("disable").await.map(drop).unwrap();
        assert_eq!(server.received()[1], proof, "{plugin}");
    }
}

#[tokio::test]
async fn a_unix_socket_may_carry_the_password() {
    let login = || parts([b"\x01\x04".to_vec(), OK.to_vec()]);
    let received = over_socket("caching_sha2_password", login).await;
    assert_eq!(received[1], [PASSWORD.as_bytes(), b"\0"].concat());
}

fn acceptor() -> TlsAcceptor {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["other".to_owned()]).unwrap().self_signed(&key).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_no_client_auth();
    TlsAcceptor::from(Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap()))
}

#[tokio::test]
async fn tls_may_carry_the_password() {
    let login = || parts([b"\x01\x04".to_vec(), OK.to_vec()]);
    let mut script = Script { tls: Some(acceptor()), ..Script::logging_in("caching_sha2_password", login) };
    script.capabilities |= CapabilityFlags::CLIENT_SSL;
    let server = Server::start(script).await;
    server.open("require").await.map(drop).unwrap();
    let received = server.received();
    assert_eq!(received[0].len(), 32, "the request of TLS names no account");
    assert!(contains(&received[1], b"u\0"));
    let flags = |packet: &[u8]| u32::from_le_bytes(packet[..4].try_into().unwrap());
    assert_eq!(flags(&received[0]), flags(&received[1]), "MySQL reads those of the first packet only");
    assert_ne!(flags(&received[0]) & CapabilityFlags::CLIENT_CONNECT_WITH_DB.bits(), 0);
    assert_eq!(received[2], [PASSWORD.as_bytes(), b"\0"].concat());
    let untrusted = server.open("verify-full").await.map(drop);
    assert_eq!(
        untrusted,
        Err(SqlFailure::System(SystemFailure::Unreachable("TLS: the certificate's issuer is not trusted")))
    );
}

#[tokio::test]
async fn an_account_may_have_no_password() {
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        let server = Server::start(Script::logging_in(plugin, || parts([OK.to_vec()]))).await;
        for password in [None, Some(SecretString::from(""))] {
            let mut parameters = parameters(server.port, "disable");
            parameters.password = password;
            Session::open(&parameters, &DialRules::default(), "test").await.map(drop).unwrap();
            assert!(contains(&server.received()[0], b"u\0\0d\0"), "an empty response");
        }
    }
}
