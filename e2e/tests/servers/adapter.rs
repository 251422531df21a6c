//! docs/cookbook/adapter.md: an entry of a hash in Redis, through the adapter of `examples/adapter`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use drift_e2e::http_client;
use drift_e2e::manifests;
use drift_e2e::pages::blocks;
use drift_e2e::process::{Launch, Process};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::installed::{program, serving};
use crate::page;

const PAGE: &str = "adapter.md";
const PASSWORD: &str = "s3cret";

/// A Redis that keeps its data, and the adapter beside it.
struct Servers {
    folder: PathBuf,
    redis_address: String,
    redis: Process,
    adapter_address: String,
    adapter: Process,
}

impl Servers {
    async fn start(world: &World) -> Result<Self> {
        let folder = world.folder().join("redis");
        fs::create_dir_all(folder.join("tokens"))?;
        for name in ["read", "write"] {
            fs::write(folder.join("tokens").join(name), format!("change-me-{name}\n"))?;
        }
        let (redis_address, adapter_address) = (world.free_listen_address()?, world.free_listen_address()?);
        let redis = launch_redis(&folder, &redis_address).await?;
        let adapter = launch_adapter(&folder, &redis_address, &adapter_address).await?;
        Ok(Self { folder, redis_address, redis, adapter_address, adapter })
    }

    /// Runs a command of Redis with a password. Returns its output.
    async fn redis(&self, password: &str, words: &[&str]) -> Result<String> {
        let mut command = Command::new(program("redis-cli", "redis-tools")?);
        command.args(["-p", port(&self.redis_address)?]).args(words);
        command.env("REDISCLI_AUTH", password).kill_on_drop(true);
        let output = tokio::time::timeout(wait::DEADLINE, command.output()).await??;
        let text = String::from_utf8(output.stdout)?.trim().to_owned();
        ensure!(
            output.status.success() && !text.starts_with("ERR") && !text.starts_with("NOAUTH"),
            "{words:?}: {text}"
        );
        Ok(text)
    }

    /// Returns the status of the adapter's response for an entry. The condition shows repeated failures late, because
    /// such writes are rate-limited.
    async fn status(&self, identity: &str) -> Result<u16> {
        let url = format!("http://{}/limits/{}", self.adapter_address, identity.replace('/', "%2F"));
        let response = http_client::new()?.get(url).bearer_auth("change-me-read").send().await?;
        Ok(response.status().as_u16())
    }

    async fn state(&self, identity: &str) -> Result<Value> {
        let text = self.redis(PASSWORD, &["HGET", "limits", identity]).await?;
        Ok(if text.is_empty() { Value::Null } else { serde_json::from_str(&text)? })
    }
}

fn port(address: &str) -> Result<&str> {
    Ok(address.rsplit_once(':').context("an address without a port")?.1)
}

async fn launch_redis(folder: &Path, address: &str) -> Result<Process> {
    let launch = Launch::new("redis-server", program("redis-server", "redis-server")?)
        .arguments(["--bind", "127.0.0.1", "--port", port(address)?, "--requirepass", PASSWORD])
        .arguments(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
        .argument(folder);
    serving(launch, folder, address).await
}

async fn launch_adapter(folder: &Path, redis: &str, address: &str) -> Result<Process> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/adapter/adapter.py");
    let launch = Launch::new("adapter", program("python3", "python3")?)
        .argument(source)
        .variable("REDIS_HOST", "127.0.0.1")
        .variable("REDIS_PORT", port(redis)?)
        .variable("REDIS_PASSWORD", PASSWORD)
        .variable("RESOURCES", "limits")
        .variable("TOKENS", folder.join("tokens"))
        .variable("PORT", port(address)?);
    serving(launch, folder, address).await
}

/// Runs Python in the folder of the adapter. Returns its output.
async fn python(arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program("python3", "python3")?);
    command.args(arguments).env("PYTHONDONTWRITEBYTECODE", "1").kill_on_drop(true);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/adapter"));
    let output = tokio::time::timeout(wait::DEADLINE, command.output()).await??;
    let [printed, said] = [output.stdout, output.stderr].map(String::from_utf8);
    let (printed, said) = (printed?, said?);
    ensure!(output.status.success(), "{arguments:?}: {}\n{printed}\n{said}", output.status);
    Ok(printed)
}

/// Plays the contract with the command of the page, which shows its output.
async fn play_contract(servers: &Servers) -> Result<()> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cookbook").join(PAGE))?;
    let shown = blocks(&page, "console").into_iter().find(|block| block.contains("contract.py"));
    let shown = shown.context("no such block")?;
    let expected: Vec<&str> = shown.lines().filter(|line| !line.starts_with("$ ") && !line.is_empty()).collect();
    let (url, token) = (format!("http://{}", servers.adapter_address), servers.folder.join("tokens/write"));
    let token = token.to_str().context("a path that is no text")?;
    let printed = python(&["contract.py", &url, "--resource", "limits", "--token-file", token]).await?;
    ensure!(printed.lines().eq(expected), "{printed}");
    ensure!(servers.redis(PASSWORD, &["HLEN", "limits"]).await? == "0", "the script left something");
    Ok(())
}

/// Applies the manifests of the example, in the namespace of the objects. No Pod runs here.
async fn apply_manifests(world: &World) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/adapter");
    let rendered = manifests::render(&world.control_plane().binaries().kubectl, &folder)?;
    let own = format!("namespace: {}\n", world.objects_namespace());
    for document in manifests::parse_stream(&rendered.replace("namespace: redis\n", &own))? {
        world.apply(&document).await?;
    }
    Ok(())
}

/// Makes the page's target read the collection, by the keys of the reference.
async fn read_collection(world: &World, replaced: &[(&str, &str)]) -> Result<()> {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/adapter.md");
    let blocks = blocks(&fs::read_to_string(reference)?, "yaml");
    let keys = blocks.iter().find_map(|block| block.split_once("url: /widgets\n")).context("no such block")?.1;
    let keys = keys.lines().fold("url: /limits\n".to_owned(), |all, key| format!("{all}      {}\n", key.trim()));
    for mut document in page::documents(world, PAGE, replaced)? {
        let Some(text) = document["data"]["ratelimits.yaml"].as_str() else { continue };
        let changed = text.replacen("url: \"/limits/${client}\"\n", &keys, 1);
        ensure!(changed != text, "{text}");
        document["data"]["ratelimits.yaml"] = Value::from(changed);
        world.apply(&document).await?;
    }
    Ok(())
}

/// Returns how often the collection was read, by the adapter's log.
fn collections(log: &Path) -> Result<usize> {
    Ok(fs::read_to_string(log)?.matches("\"GET /limits HTTP").count())
}

/// Follows the page up to drift and absence, both corrected.
async fn follow_page(world: &World, servers: &Servers, replaced: &[(&str, &str)]) -> Result<page::Subject> {
    let subject = page::follow(world, PAGE, replaced).await?;
    subject.wait_until_healed_by(1).await?;
    let identity = format!("{}/shop", world.objects_namespace());
    ensure!(servers.state(&identity).await? == json!({"perMinute": 60, "burst": 10}));
    let history = subject.watch().await?;
    servers.redis(PASSWORD, &["HSET", "limits", &identity, r#"{"perMinute": 600, "burst": 10}"#]).await?;
    history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
    subject.wait_until_healed_by(2).await?;
    servers.redis(PASSWORD, &["HDEL", "limits", &identity]).await?;
    subject.wait_until_healed_by(3).await?;
    Ok(subject)
}

#[tokio::test]
async fn the_script_tells_each_broken_rule_of_the_contract() -> Result<()> {
    python(&["-m", "unittest", "contract_test"]).await.map(drop)
}

#[tokio::test]
async fn an_entry_of_redis_is_kept_by_an_adapter() -> Result<()> {
    World::run("adapter", async |world| {
        let mut servers = Servers::start(world).await?;
        play_contract(&servers).await?;
        apply_manifests(world).await?;
        let address = servers.adapter_address.clone();
        let replaced = [("redis-adapter.redis.svc:8080", address.as_str())];
        let subject = follow_page(world, &servers, &replaced).await?;
        let identity = format!("{}/shop", world.objects_namespace());
        let wanted = json!({"perMinute": 60, "burst": 10});
        ensure!(servers.state(&identity).await? == wanted);

        let history = subject.watch().await?;
        servers.adapter.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        servers.adapter = launch_adapter(&servers.folder, &servers.redis_address, &servers.adapter_address).await?;
        subject.wait_for_verdict("False/InSync").await?;

        servers.redis.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalError").await?;
        servers.redis = launch_redis(&servers.folder, &servers.redis_address).await?;
        subject.wait_for_verdict("False/InSync").await?;

        servers.redis(PASSWORD, &["CONFIG", "SET", "requirepass", "another"]).await?;
        subject.wait_for_verdict("Unknown/Forbidden").await?;
        servers.redis("another", &["CONFIG", "SET", "requirepass", PASSWORD]).await?;
        subject.wait_for_verdict("False/InSync").await?;

        servers.redis(PASSWORD, &["HSET", "limits", &identity, "no JSON"]).await?;
        ensure!(servers.status(&identity).await? == 409);
        servers.redis(PASSWORD, &["HSET", "limits", &identity, &wanted.to_string()]).await?;
        let seen = history.transitions("driftObserved").await?;
        ensure!(!seen.iter().any(|verdict| verdict.starts_with("True")), "a failure showed as drift: {seen:?}");

        let before = collections(servers.adapter.log())?;
        read_collection(world, &replaced).await?;
        wait::until("a poll by the collection", wait::DEADLINE, async || {
            let seen = collections(servers.adapter.log())?;
            Ok(if seen > before { Seen::Met(()) } else { Seen::Instead(format!("{seen} reads of the collection")) })
        })
        .await?;
        servers.redis(PASSWORD, &["HDEL", "limits", &identity]).await?;
        subject.wait_until_healed_by(4).await?;
        ensure!(servers.state(&identity).await? == wanted);

        subject.delete().await?;
        ensure!(servers.state(&identity).await? == Value::Null);
        Ok(())
    })
    .await
}
