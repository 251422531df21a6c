//! External systems that try to end the poller, or to take its time. A neighbour's target is polled all the while.

use std::future::Future;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use drift_e2e::systems::outside::Answer;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Memory limit of the shipped manifests, in MiB.
const MEMORY_LIMIT: f64 = 128.0;
/// Polls of each hostile server and of the neighbour during a test.
const POLLS: usize = 5;
/// Objects of each target.
const OBJECTS: usize = 2;

/// A server that answers each connection with `attack`.
struct Hostile {
    port: u16,
    connections: Arc<AtomicUsize>,
    _accepting: JoinSet<()>,
}

impl Hostile {
    async fn start<F, A>(attack: A) -> Result<Self>
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
        A: Fn(TcpStream) -> F + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (port, connections) = (listener.local_addr()?.port(), Arc::new(AtomicUsize::new(0)));
        let counted = connections.clone();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                // It ends when the poller closes the connection.
                tokio::spawn(attack(stream));
            }
        });
        Ok(Self { port, connections, _accepting: accepting })
    }
}

/// Waits for bytes of the client, or its end.
async fn receive(stream: &mut TcpStream, bytes: &mut [u8]) -> std::io::Result<()> {
    stream.read(bytes).await.map(drop)
}

/// A body of 50,000 members of gzip that are empty.
async fn empty_members(mut stream: TcpStream) -> std::io::Result<()> {
    /// `gzip.compress(b"")`.
    const EMPTY: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\x03\0\0\0\0\0\0\0\0\0";
    receive(&mut stream, &mut [0; 4_096]).await?;
    let body = EMPTY.repeat(50_000);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n", body.len()).as_bytes()).await?;
    stream.write_all(&body).await?;
    receive(&mut stream, &mut [0; 1]).await
}

/// A search with 30,000 entries whose only value is empty, 0.9 MB in all.
async fn empty_entries(mut stream: TcpStream) -> std::io::Result<()> {
    /// Place of the number in a message of less than 128 bytes.
    const NUMBER: usize = 4;
    let mut request = [0; 4_096];
    receive(&mut stream, &mut request).await?;
    stream.write_all(&[0x30, 0x0c, 0x02, 0x01, request[NUMBER], 0x61, 0x07, 0x0a, 0x01, 0, 0x04, 0, 0x04, 0]).await?;
    receive(&mut stream, &mut request).await?;
    let number = [0x30, 0x1c, 0x02, 0x01, request[NUMBER]];
    let entry = [&number[..], b"\x64\x17\x04\0\x30\x13\x30\x11\x04\x0bobjectClass\x31\x02\x04\0"].concat();
    stream.write_all(&entry.repeat(30_000)).await?;
    receive(&mut stream, &mut [0; 1]).await
}

/// A result of 2^56 columns.
async fn many_columns(mut stream: TcpStream) -> std::io::Result<()> {
    let packet = |number: u8, payload: &[u8]| [&[payload.len() as u8, 0, 0, number], payload].concat();
    let greeting = [
        &b"\x0a8.0.0\0\x01\0\0\0aaaaaaaa\0\xff\xf7\x21\x02\0\x0f\0\x15"[..],
        &[0; 10],
        b"bbbbbbbbbbbb\0mysql_native_password\0",
    ]
    .concat();
    stream.write_all(&packet(0, &greeting)).await?;
    receive(&mut stream, &mut [0; 4_096]).await?;
    stream.write_all(&packet(2, &[0, 0, 0, 2, 0, 0, 0])).await?;
    receive(&mut stream, &mut [0; 4_096]).await?;
    stream.write_all(&packet(1, &[0xfe, 0, 0, 0, 0, 0, 0, 0, 1])).await?;
    receive(&mut stream, &mut [0; 1]).await
}

/// A target of the objects with its name as label.
fn target(world: &World, name: &str, read: Value) -> Result<Target> {
    Ok(Target::shipped(world, "http://127.0.0.1:1")?
        .named(name)
        .with("/spec/objects/labelSelector", json!(format!("target={name}")))
        .with("/spec/interval", json!("2s"))
        .with("/spec/timeout", json!("2s"))
        .with("/spec/correct", json!({"mode": "Observe"}))
        .with("/spec/read", read))
}

async fn create_objects(world: &World, target: &str) -> Result<()> {
    for number in 0..OBJECTS {
        let metadata = json!({"name": format!("{target}-{number}"), "namespace": world.objects_namespace(),
            "labels": {"target": target}});
        let spec = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"});
        let version = format!("{}/v1", world.group());
        world.apply(&json!({"apiVersion": version, "kind": "Proxy", "metadata": metadata, "spec": spec})).await?;
    }
    Ok(())
}

/// Returns the most memory that a process ever had, without the pages of its file, in MiB.
fn peak_memory(process: i32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let kibibytes = |field: &str| -> Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(field)).with_context(|| format!("no {field}"))?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    };
    Ok((kibibytes("VmHWM:")? - kibibytes("RssFile:")?) / 1024.0)
}

/// Lets a hostile server answer the polls of one target while another target is polled. Checks that the poller keeps its
/// Lease and its memory.
async fn endure(world: &World, server: &Hostile, read: Value, reason: &str) -> Result<()> {
    let outside = world.start_outside().await?;
    let in_sync = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true});
    outside.on("GET", "/*", Answer::json(200, &in_sync));
    let neighbour = json!({"http": {"url": format!("{}/${{self.metadata.name}}", outside.url())}});
    world.apply_targets(&[target(world, "neighbour", neighbour)?, target(world, "hostile", read)?]).await?;
    create_objects(world, "neighbour").await?;
    let poller = world.start_poller().await?;
    world.wait_for_verdict("neighbour-0", "False", "InSync").await?;
    let lease = world.lease("drift-poller").await?.context("no Lease")?;
    create_objects(world, "hostile").await?;
    world.wait_for_verdict("hostile-0", "Unknown", reason).await?;
    let before = outside.count("GET");
    wait::until("polls of both", wait::DEADLINE, async || {
        let (hostile, good) = (server.connections.load(Ordering::SeqCst), outside.count("GET") - before);
        let is_met = hostile >= POLLS && good >= POLLS * OBJECTS;
        Ok(if is_met { Seen::Met(()) } else { Seen::Instead(format!("{hostile} and {good}")) })
    })
    .await?;
    let now = world.lease("drift-poller").await?.context("no Lease")?;
    ensure!(now["spec"]["leaseTransitions"] == lease["spec"]["leaseTransitions"], "the Lease was lost");
    let peak = peak_memory(poller.pid().await)?;
    ensure!(peak < MEMORY_LIMIT, "{peak:.0} MiB");
    Ok(())
}

#[tokio::test]
async fn empty_members_of_gzip_are_bounded() -> Result<()> {
    World::run("empty members", async |world| {
        let server = Hostile::start(empty_members).await?;
        let read = json!({"http": {"url": format!("http://127.0.0.1:{}/", server.port)}});
        endure(world, &server, read, "ResponseInvalid").await
    })
    .await
}

#[tokio::test]
async fn entries_without_attributes_are_bounded() -> Result<()> {
    World::run("empty entries", async |world| {
        let server = Hostile::start(empty_entries).await?;
        let data = json!({"url": format!("ldap://127.0.0.1:{}", server.port), "bindDn": "cn=p", "password": "p"});
        world.apply_credential("directory", "poller", data).await?;
        let read = json!({"ldap": {"secretRef": {"name": "directory"}, "base": "dc=${self.metadata.name}",
            "attributes": ["listen", "upstream"]}});
        endure(world, &server, read, "ResponseInvalid").await
    })
    .await
}

#[tokio::test]
async fn announced_columns_reserve_nothing() -> Result<()> {
    World::run("many columns", async |world| {
        let server = Hostile::start(many_columns).await?;
        let data = json!({"host": "127.0.0.1", "port": server.port.to_string(), "user": "p", "password": "p",
            "sslmode": "disable"});
        world.apply_credential("database", "poller", data).await?;
        let read = json!({"mysql": {"connection": {"secretRef": {"name": "database"}},
            "query": "SELECT listen, upstream FROM p.p WHERE name = ${self.metadata.name}"}});
        endure(world, &server, read, "ResponseInvalid").await
    })
    .await
}
