//! docs/cookbook/powerdns.md: a record set of an authoritative DNS server.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use drift_e2e::http_client;
use drift_e2e::process::ports;
use drift_e2e::process::{Launch, Process};
use drift_e2e::world::World;
use serde_json::{Value, json};

use crate::installed::{self, program, serving};
use crate::page;

const PACKAGE: &str = "pdns-server and pdns-backend-sqlite3";
const SCHEMA: &str = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";
const KEY: &str = "change-me";

/// A server with one zone, `example.org`.
struct PowerDns {
    folder: PathBuf,
    api: String,
    process: Process,
}

impl PowerDns {
    async fn start(world: &World) -> Result<Self> {
        let folder = world.folder().join("powerdns");
        fs::create_dir_all(&folder)?;
        let api = world.free_listen_address()?;
        fs::write(folder.join("pdns.conf"), configuration(&folder, &api)?)?;
        let schema = fs::File::open(SCHEMA).with_context(|| format!("no {SCHEMA}: install {PACKAGE}"))?;
        drop(schema);
        let read = format!(".read {SCHEMA}");
        let sqlite = program("sqlite3", "sqlite3")?;
        let create = Launch::new("sqlite3", sqlite).argument(folder.join("zones")).argument(read);
        installed::run(create, world.folder()).await?;
        let process = Self::launch(&folder, &api).await?;
        let server = Self { folder, api, process };
        server.pdnsutil(&["create-zone", "example.org", "ns1.example.org"]).await?;
        Ok(server)
    }

    async fn launch(folder: &Path, api: &str) -> Result<Process> {
        let configuration = format!("--config-dir={}", folder.display());
        let launch = Launch::new("pdns_server", program("pdns_server", PACKAGE)?).argument(configuration);
        serving(launch, folder, api).await
    }

    /// Runs `pdnsutil` like an administrator on the server's machine.
    async fn pdnsutil(&self, arguments: &[&str]) -> Result<()> {
        let launch = Launch::new("pdnsutil", program("pdnsutil", PACKAGE)?);
        let launch = launch.argument(format!("--config-dir={}", self.folder.display())).arguments(arguments);
        installed::run(launch, &self.folder).await
    }

    /// Returns the contents of a record set, sorted. Empty without a record set.
    async fn addresses(&self, name: &str, kind: &str) -> Result<Vec<String>> {
        let url = format!("http://{}/api/v1/servers/localhost/zones/example.org.", self.api);
        let answer = http_client::new()?.get(url).header("x-api-key", KEY).send().await?.error_for_status()?;
        let zone: Value = serde_json::from_str(&answer.text().await?)?;
        let sets = zone["rrsets"].as_array().into_iter().flatten();
        let records = sets.filter(|set| set["name"] == name && set["type"] == kind).map(|set| &set["records"]);
        let contents = records.filter_map(Value::as_array).flatten().filter_map(|record| record["content"].as_str());
        let mut contents: Vec<String> = contents.map(str::to_owned).collect();
        contents.sort();
        Ok(contents)
    }
}

fn configuration(folder: &Path, api: &str) -> Result<String> {
    let (host, port) = api.split_once(':').context("no port")?;
    let folder = folder.display();
    let dns = ports::free_port()?;
    Ok(format!(
        "launch=gsqlite3\ngsqlite3-database={folder}/zones\nsocket-dir={folder}\nlocal-address=127.0.0.1\nlocal-port={dns}\n\
         api=yes\napi-key={KEY}\nwebserver-address={host}\nwebserver-port={port}\n"
    ))
}

#[tokio::test]
async fn a_record_set_in_powerdns_is_kept() -> Result<()> {
    World::run("powerdns", async |world| {
        let mut server = PowerDns::start(world).await?;
        let subject = page::follow(world, "powerdns.md", &[("pdns.dns.svc:8081", &server.api)]).await?;
        subject.wait_until_healed_by(1).await?;
        let wanted = ["192.0.2.10", "192.0.2.11"];
        ensure!(server.addresses("www.example.org.", "A").await? == wanted);

        let history = subject.watch().await?;
        server.pdnsutil(&["replace-rrset", "example.org", "www", "A", "300", "192.0.2.10", "192.0.2.66"]).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(server.addresses("www.example.org.", "A").await? == wanted);

        server.pdnsutil(&["delete-rrset", "example.org", "www", "A"]).await?;
        history.wait_for_transitions("driftObserved", &[("True", "ExternalMissing"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(3).await?;

        // Another order is not drift, and neither is an unreachable server.
        subject.edit(json!({"spec": {"addresses": ["192.0.2.11", "192.0.2.10"]}})).await?;
        server.process.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        server.process = PowerDns::launch(&server.folder, &server.api).await?;
        subject.wait_until_healed_by(3).await?;

        subject.delete().await?;
        ensure!(server.addresses("www.example.org.", "A").await?.is_empty());
        ensure!(server.addresses("example.org.", "NS").await? == ["ns1.example.org."], "the zone lost more");
        Ok(())
    })
    .await
}
