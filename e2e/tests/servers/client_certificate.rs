//! A server that requires client certificates, with its own from a private authority: Caddy, with every part rotated
//! while the programs run.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use drift_e2e::http_client;
use drift_e2e::process::{Launch, Process};
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::installed::{program, serving};

/// The header in which Caddy names the certificate of a client.
const CLIENT: &str = "x-client";

/// An authority that signs certificates of servers and clients.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, both in PEM.
struct Pair {
    certificate: String,
    key: String,
}

fn named(name: &str, hosts: &[&str]) -> Result<CertificateParams> {
    let mut parameters = CertificateParams::new(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    Ok(parameters)
}

impl Authority {
    fn new(name: &str) -> Result<Self> {
        let mut parameters = named(name, &[])?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let pem = parameters.self_signed(&key)?.pem();
        Ok(Self { pem, issuer: Issuer::new(parameters, key) })
    }

    fn certify(&self, name: &str) -> Result<Pair> {
        let key = KeyPair::generate()?;
        let certificate = named(name, &["127.0.0.1"])?.signed_by(&key, &self.issuer)?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

/// Caddy in front of a server that accepts any client.
struct Proxy {
    folder: PathBuf,
    address: String,
    admin: String,
    behind: String,
    _process: Process,
}

impl Proxy {
    async fn start(world: &World, behind: &Outside, own: &Pair, clients: &[&Authority]) -> Result<Self> {
        let folder = world.folder().join("caddy");
        fs::create_dir_all(&folder)?;
        let (address, admin) = (world.free_listen_address()?, world.free_listen_address()?);
        let behind = behind.url().trim_start_matches("http://").to_owned();
        let path = folder.join("caddy.json");
        fs::write(&path, configuration(&folder, [&address, &admin, &behind], own, clients)?.to_string())?;
        let launch =
            Launch::new("caddy", program("caddy", "caddy")?).argument("run").argument("--config").argument(path);
        let launch = launch.variable("XDG_DATA_HOME", &folder).variable("XDG_CONFIG_HOME", &folder);
        let process = serving(launch, &folder, &address).await?;
        Ok(Self { folder, address, admin, behind, _process: process })
    }

    /// Switches to this certificate, for clients of these authorities.
    async fn change(&self, own: &Pair, clients: &[&Authority]) -> Result<()> {
        let configuration = configuration(&self.folder, [&self.address, &self.admin, &self.behind], own, clients)?;
        let request = http_client::new()?.post(format!("http://{}/load", self.admin));
        let request = request.header("content-type", "application/json").body(configuration.to_string());
        request.send().await?.error_for_status()?;
        Ok(())
    }
}

fn configuration(
    folder: &std::path::Path,
    [address, admin, behind]: [&str; 3],
    own: &Pair,
    clients: &[&Authority],
) -> Result<Value> {
    let mut trusted = Vec::new();
    for (number, authority) in clients.iter().enumerate() {
        // A new file each time, because the old ones may be read while the next are written.
        let path = folder.join(format!("client-ca-{}-{number}.pem", clients.len()));
        fs::write(&path, &authority.pem)?;
        trusted.push(path);
    }
    let proxy = json!({
        "handler": "reverse_proxy",
        "headers": {"request": {"set": {CLIENT: ["{http.request.tls.client.subject}"]}}},
        "upstreams": [{"dial": behind}],
    });
    let main = json!({
        "listen": [address],
        "automatic_https": {"disable": true},
        // An address is not a server name, which the strict check for client certificates requires.
        "strict_sni_host": false,
        "routes": [{"handle": [proxy]}],
        "tls_connection_policies": [
            {"client_authentication": {"trusted_ca_certs_pem_files": trusted, "mode": "require_and_verify"}}
        ],
    });
    let certificates = json!({"load_pem": [{"certificate": own.certificate, "key": own.key}]});
    Ok(json!({
        "admin": {"listen": admin, "config": {"persist": false}},
        "apps": {"http": {"servers": {"main": main}}, "tls": {"certificates": certificates}},
    }))
}

async fn apply_client(world: &World, pair: &Pair) -> Result<()> {
    world.apply_credential("client", "poller", json!({"tls.crt": pair.certificate, "tls.key": pair.key})).await
}

/// Waits for a request whose client used the certificate with that name.
async fn wait_until_shown(behind: &Outside, name: &str) -> Result<()> {
    let subject = format!("CN={name}");
    let shows = |request: &Request| request.header(CLIENT) == Some(&subject);
    wait::until(format!("a request by {name}"), wait::DEADLINE, async || {
        let last = behind.requests().pop().context("no request yet")?;
        Ok(if shows(&last) { Seen::Met(()) } else { Seen::Instead(format!("{:?}", last.header(CLIENT))) })
    })
    .await
}

#[tokio::test]
async fn every_part_of_tls_is_rotated_without_a_failed_poll() -> Result<()> {
    World::run("certificates", async |world| {
        let behind = world.start_outside().await?;
        let answer = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true});
        behind.on("GET", "/proxies/*", Answer::json(200, &answer));
        let [old, new] = [Authority::new("old")?, Authority::new("new")?];
        let [first, second, third] = [old.certify("first")?, old.certify("second")?, new.certify("third")?];
        let (server, next_server) = (old.certify("server")?, new.certify("server")?);
        let proxy = Proxy::start(world, &behind, &server, &[&old]).await?;

        world.apply_credential("roots", "poller", json!({"ca.crt": old.pem})).await?;
        apply_client(world, &first).await?;
        let target = Target::shipped(world, &format!("https://{}", proxy.address))?
            .with("/spec/confirm/unknown", json!(1))
            .with("/spec/read/http/tls/certificateSecretRef", json!({"name": "client"}))
            .with("/spec/read/http/tls/caSecretRef", json!({"name": "roots", "key": "ca.crt"}));
        world.apply_target(&target).await?;
        let poller = world.start_poller().await?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        wait_until_shown(&behind, "first").await?;

        // From here on a failed poll would cause a write.
        world
            .nothing_is_written_while(async {
                apply_client(world, &second).await?;
                wait_until_shown(&behind, "second").await?;
                proxy.change(&server, &[&old, &new]).await?;
                apply_client(world, &third).await?;
                wait_until_shown(&behind, "third").await?;
                proxy.change(&server, &[&new]).await?;
                // Half a rotation: a certificate with another's key.
                let half = Pair { certificate: first.certificate.clone(), key: third.key.clone() };
                apply_client(world, &half).await?;
                wait::until("the log to tell of the broken certificate", wait::DEADLINE, async || {
                    let log = poller.log_text()?;
                    let told = log.contains("not a certificate in PEM and its key\"");
                    Ok(if told { Seen::Met(()) } else { Seen::Instead("nothing".to_owned()) })
                })
                .await?;
                apply_client(world, &third).await?;
                let both = format!("{}{}", old.pem, new.pem);
                world.apply_credential("roots", "poller", json!({"ca.crt": both})).await?;
                behind.forget_requests();
                behind.wait_for_requests("GET", 2).await?;
                proxy.change(&next_server, &[&new]).await?;
                world.apply_credential("roots", "poller", json!({"ca.crt": new.pem})).await?;
                behind.forget_requests();
                behind.wait_for_requests("GET", 2).await
            })
            .await?;

        // A client whose certificate is no longer accepted is rejected.
        apply_client(world, &second).await?;
        world.wait_for_verdict("web", "Unknown", "ExternalUnreachable").await?;
        apply_client(world, &third).await?;
        world.wait_for_verdict("web", "False", "InSync").await.map(drop)
    })
    .await
}
