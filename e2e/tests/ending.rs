//! SIGTERM ends a program within ten seconds and releases its Lease, regardless of work in progress. Exit codes are
//! correct.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_e2e::process::Exit;
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::outside::Answer;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::json;

/// The programs' promised limit.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Additional time for a busy machine. The sum is less than the test bed's own limit for a program that does not end.
const SLACK: Duration = Duration::from_secs(4);

/// An unreleased Lease is taken over after twelve seconds, minus up to three seconds of age of its record.
const UNRELEASED_FOR: Duration = Duration::from_secs(12 - 3);

async fn holder(world: &World, lease: &str) -> Result<String> {
    let lease = world.lease(lease).await?.context("no such Lease")?;
    Ok(lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn both_programs_end_in_time_under_load() -> Result<()> {
    World::run("ending", async |world| {
        let outside = world.start_outside().await?;
        outside.on("POST", "/proxies", Answer::never());
        world.apply_target(&Target::shipped(world, outside.url())?).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        wait::until("a creation to be under way", wait::DEADLINE, async || {
            Ok(if outside.count("POST") > 0 { Seen::Met(()) } else { Seen::Instead("no request".to_owned()) })
        })
        .await?;
        outside.on("GET", "/proxies/*", Answer::never());
        for (program, lease) in [(&controller, "drift-controller"), (&poller, "drift-poller")] {
            ensure!(!holder(world, lease).await?.is_empty(), "nobody holds {lease}");
            let began = Instant::now();
            let exit = program.stop().await?;
            ensure!(exit.success(), "{lease} ended with {exit}");
            ensure!(began.elapsed() < ENDS_WITHIN + SLACK, "{lease} took {:?}", began.elapsed());
            ensure!(holder(world, lease).await?.is_empty(), "{lease} was not given back");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_standby_takes_over_at_once() -> Result<()> {
    World::run("standby", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        world.apply_target(&Target::shipped(world, toxiproxy.url())?).await?;
        let first = world.start_poller().await?;
        let options = Options { instance: Some("second".to_owned()), ..Options::default() };
        let second = world.start(Which::Poller, options).await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        let before = holder(world, "drift-poller").await?;
        ensure!(before.starts_with(first.instance()), "{before} holds the Lease");
        first.stop().await?;
        let ended = Instant::now();
        wait::until("the standby to hold the Lease", wait::DEADLINE, async || {
            let holder = holder(world, "drift-poller").await?;
            Ok(if holder.starts_with(second.instance()) { Seen::Met(()) } else { Seen::Instead(holder) })
        })
        .await?;
        ensure!(ended.elapsed() < UNRELEASED_FOR, "taken over after {:?}", ended.elapsed());
        toxiproxy.create("web", &spec_listen(world).await?, "127.0.0.1:9").await?;
        world.wait_for_verdict("web", "False", "InSync").await.map(drop)
    })
    .await
}

async fn spec_listen(world: &World) -> Result<String> {
    let object = world.proxy("web").await?.context("no such object")?;
    Ok(object["spec"]["listen"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn bad_usage_ends_with_code_three() -> Result<()> {
    World::run("bad start", async |world| {
        let arguments = vec!["--log-format".to_owned(), "shout".to_owned()];
        let options = Options { arguments, do_not_wait: true, ..Options::default() };
        let program = world.start(Which::Poller, options).await?;
        let exit = program.wait_until_ended().await?;
        ensure!(exit == Exit::Code(3), "it ended with {exit}");
        let log = program.log_text()?;
        ensure!(log.contains("--log-format") && log.contains("json"), "{log}");
        Ok(())
    })
    .await
}
