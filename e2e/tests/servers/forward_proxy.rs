//! Programs and CLI in a network that only an HTTP proxy leaves: tinyproxy. The external system is toxiproxy behind
//! Caddy, for TLS.
//!
//! The host is 0.0.0.0, which Linux connects to loopback, because loopback itself is never reached through the proxy of
//! a program.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use drift_api::names;
use drift_e2e::process::{Launch, Process};
use drift_e2e::programs::{Options, Which};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, message};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};

use crate::installed::{program, serving};

/// A forward proxy.
struct Tinyproxy {
    address: String,
    process: Process,
}

impl Tinyproxy {
    /// Starts it. With `login`, it requires this user and password.
    async fn start(world: &World, name: &str, login: Option<(&str, &str)>) -> Result<Self> {
        let address = world.free_listen_address()?;
        let port = address.rsplit_once(':').context("an address has a port")?.1;
        let login = login.map(|(user, password)| format!("BasicAuth {user} {password}\n")).unwrap_or_default();
        let configuration = world.folder().join(format!("{name}.conf"));
        fs::write(&configuration, format!("Port {port}\nListen 127.0.0.1\nLogLevel Info\nTimeout 60\n{login}"))?;
        let launch = Launch::new(name, program("tinyproxy", "tinyproxy")?).argument("-d").argument("-c");
        let process = serving(launch.argument(configuration), world.folder(), &address).await?;
        Ok(Self { address, process })
    }

    /// Returns the number of CONNECT requests to a host and port.
    fn connects(&self, host: &str) -> Result<usize> {
        Ok(fs::read_to_string(self.process.log())?.matches(&format!("CONNECT {host} ")).count())
    }
}

/// Caddy with TLS in front of a server.
struct Tls {
    /// Host and port for requests through a proxy.
    host: String,
    /// Its certificate, which is its own authority. Caddy chooses it by its own address, because no name is sent.
    pem: String,
    _process: Process,
}

impl Tls {
    async fn start(world: &World, behind: &str) -> Result<Self> {
        let folder = world.folder().join("caddy");
        fs::create_dir_all(&folder)?;
        let key = KeyPair::generate()?;
        let pem = CertificateParams::new(["0.0.0.0", "127.0.0.1"].map(str::to_owned))?.self_signed(&key)?.pem();
        let (address, admin) = (world.free_listen_address()?, world.free_listen_address()?);
        let behind = behind.trim_start_matches("http://");
        let handle = json!([{"handler": "reverse_proxy", "upstreams": [{"dial": behind}]}]);
        let main = json!({
            "listen": [address],
            "automatic_https": {"disable": true},
            "routes": [{"handle": handle}],
            "tls_connection_policies": [{}],
        });
        let certificates = json!({"load_pem": [{"certificate": pem, "key": key.serialize_pem()}]});
        let apps = json!({"http": {"servers": {"main": main}}, "tls": {"certificates": certificates}});
        let configuration = json!({"admin": {"listen": admin, "config": {"persist": false}}, "apps": apps});
        let path = folder.join("caddy.json");
        fs::write(&path, configuration.to_string())?;
        let launch = Launch::new("caddy", program("caddy", "caddy")?).argument("run").argument("--config");
        let launch = launch.argument(path).variable("XDG_DATA_HOME", &folder).variable("XDG_CONFIG_HOME", &folder);
        let process = serving(launch, &folder, &address).await?;
        Ok(Self { host: address.replace("127.0.0.1", "0.0.0.0"), pem, _process: process })
    }

    /// Returns the shipped target for this server, whose certificate it trusts.
    async fn target(&self, world: &World) -> Result<Target> {
        let mut target = Target::shipped(world, &format!("https://{}", self.host))?
            .with("/spec/confirm/unknown", json!(1))
            .with("/spec/allowNetworks", json!(["0.0.0.0"]));
        for (section, user) in [("read", "poller"), ("correct", "controller")] {
            let roots = format!("roots-{user}");
            world.apply_credential(&roots, user, json!({"ca.crt": self.pem})).await?;
            let reference = json!({"name": roots, "key": "ca.crt"});
            target = target.with(&format!("/spec/{section}/http/tls/caSecretRef"), reference);
        }
        Ok(target)
    }
}

fn through(target: Target, proxy: &Tinyproxy, secrets: Option<[&str; 2]>) -> Target {
    let [mut read, mut correct] = ["read", "correct"].map(|_| json!({"url": format!("http://{}", proxy.address)}));
    if let Some(names) = secrets {
        [&mut read, &mut correct]
            .into_iter()
            .zip(names)
            .for_each(|(section, name)| section["secretRef"] = json!({"name": name}));
    }
    target.with("/spec/read/http/proxy", read).with("/spec/correct/http/proxy", correct)
}

fn spec(world: &World) -> Result<Value> {
    Ok(json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:2"}))
}

#[tokio::test]
async fn a_target_is_read_and_corrected_through_its_proxy() -> Result<()> {
    World::run("proxy of a target", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let server = Tls::start(world, outside.url()).await?;
        let way = Tinyproxy::start(world, "tinyproxy", Some(("ann", "canary"))).await?;
        world.apply_credential("way", "poller", json!({"username": "ann", "password": "canary"})).await?;
        world.apply_credential("way-write", "controller", json!({"username": "ann", "password": "wrong"})).await?;
        let target = server.target(world).await?;
        let with_secrets = through(target.clone(), &way, Some(["way", "way-write"]));
        world.apply_target(&with_secrets).await?;
        world.start_both().await?;

        // The proxy refuses the controller. Nothing reached the host, so the create is simply sent again.
        world.create_proxy("web", spec(world)?).await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        let refused = "the proxy refuses the controller";
        let says = |object: &Value| message(object, names::DRIFT_CORRECTED).contains("refuses the connection");
        world.wait_for_proxy("web", refused, says).await?;
        ensure!(outside.count("POST") == 0);
        world.apply_credential("way-write", "controller", json!({"username": "ann", "password": "canary"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure!(outside.count("POST") == 1 && toxiproxy.proxies().await?.len() == 1);
        ensure!(way.connects(&server.host)? > 0);

        // Without a credential.
        world.apply_target(&through(target.clone(), &way, None)).await?;
        let unknown = world.wait_for_verdict("web", "Unknown", "ExternalUnreachable").await?;
        let text = message(&unknown, names::DRIFT_OBSERVED);
        ensure!(text.contains(&format!("the proxy {} refuses the connection: 407", way.address)), "{text}");

        // An internal address needs allowNetworks.
        let open = Tinyproxy::start(world, "open", None).await?;
        world.apply_target(&through(target.clone(), &open, None)).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let connects = open.connects(&server.host)?;
        world.apply_target(&through(target, &open, None).without("/spec/allowNetworks")).await?;
        let says = |object: &Value| message(object, names::DRIFT_OBSERVED).contains("name it in allowNetworks");
        world.wait_for_proxy("web", "an address is refused", says).await?;
        ensure!(open.connects(&server.host)? <= connects + 2, "a refused address was asked for");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_program_has_a_proxy_and_exceptions() -> Result<()> {
    World::run("proxy of a program", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let server = Tls::start(world, outside.url()).await?;
        let way = Tinyproxy::start(world, "tinyproxy", Some(("ann", "canary"))).await?;
        world.apply_target(&server.target(world).await?).await?;
        let variables = vec![("HTTPS_PROXY".to_owned(), format!("http://ann:canary@{}", way.address))];
        let poller = world.start(Which::Poller, Options { variables, ..Options::default() }).await?;
        let wanted = spec(world)?;
        world.create_proxy("web", wanted.clone()).await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        ensure!(way.connects(&server.host)? > 0);
        ensure!(!poller.log_text()?.contains("canary"), "the log has the password");
        ensure!(poller.stop().await?.success());

        // A proxy that leads nowhere, and an exception.
        let arguments = vec![format!("--proxy=http://{}", world.free_listen_address()?)];
        let nowhere = Options { arguments: arguments.clone(), ..Options::default() }.named("nowhere".to_owned());
        let poller = world.start(Which::Poller, nowhere).await?;
        let says =
            |object: &Value| message(object, names::DRIFT_OBSERVED).contains("cannot be reached: the connection");
        world.wait_for_proxy("web", "the proxy cannot be reached", says).await?;
        ensure!(poller.stop().await?.success());
        let arguments = [arguments, vec!["--no-proxy=10.0.0.0/8,0.0.0.0".to_owned()]].concat();
        let excepted = Options { arguments, ..Options::default() }.named("excepted".to_owned());
        world.start(Which::Poller, excepted).await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        let upstream = wanted["upstream"].as_str().unwrap_or_default();
        toxiproxy.create("web", wanted["listen"].as_str().unwrap_or_default(), upstream).await?;
        world.wait_for_verdict("web", "False", "InSync").await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_kubeconfig_leads_through_its_proxy() -> Result<()> {
    World::run("proxy of a kubeconfig", async |world| {
        let way = Tinyproxy::start(world, "tinyproxy", Some(("ann", "canary"))).await?;
        world.apply_target(&Target::shipped(world, "http://127.0.0.1:1")?).await?;
        let administrator = world.control_plane().administrator();
        let api_server = administrator.server.trim_start_matches("https://").trim_end_matches('/').to_owned();
        let plain: PathBuf = world.folder().join("plain.kubeconfig");
        administrator.write(&plain)?;
        let mut document: Value = serde_json::from_str(&fs::read_to_string(&plain)?)?;
        let asked = async |document: &Value| {
            let path = world.folder().join("proxied.kubeconfig");
            fs::write(&path, document.to_string())?;
            let path = path.to_string_lossy().into_owned();
            let home = ["--targets-namespace", world.programs_namespace()];
            world.run_command(&[&["get", "-A", "--kubeconfig", &path][..], &home].concat()).await
        };
        document["clusters"][0]["cluster"]["proxy-url"] = json!(format!("http://ann:canary@{}", way.address));
        let ended = asked(&document).await?;
        // The Lease was read, and no program runs here.
        ensure!(ended.complaints.contains("no drift-poller holds the Lease"), "{ended:?}");
        wait::until("the API server in the log of the proxy", wait::DEADLINE, async || {
            let count = way.connects(&api_server)?;
            Ok(if count > 0 { Seen::Met(()) } else { Seen::Instead("no CONNECT".to_owned()) })
        })
        .await?;
        document["clusters"][0]["cluster"]["proxy-url"] = json!(format!("http://ann:wrong7@{}", way.address));
        let ended = asked(&document).await?;
        let complaints = &ended.complaints;
        ensure!(complaints.contains("tunnel error") && !complaints.contains("wrong7"), "{ended:?}");
        Ok(())
    })
    .await
}
