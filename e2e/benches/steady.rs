//! What both programs cost while nothing changes: memory, and processor time for each poll.
//!
//! It exists because "one core for 100,000 objects" is a promise that is kept or broken here. It is a benchmark, not a
//! test: it says figures and judges none, since a machine that others use would make the judgement a lie.
//!
//!     cargo bench -p drift-e2e --bench steady -- --objects 10000 --interval 10s
//!
//! The programs are those of the release profile; the API server, the external system and this program share the
//! machine with them, and only what the kernel charged to the two is counted.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use drift_e2e::outside::Outside;
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::progress;
use drift_e2e::world::{Target, World};
use serde_json::json;

/// What to measure.
#[derive(Parser)]
struct Arguments {
    /// Objects of one target, each polled by itself.
    #[arg(long, default_value_t = 2_000)]
    objects: usize,
    /// How often each is polled.
    #[arg(long, default_value = "10s")]
    interval: String,
    /// For how many seconds, once all are in sync.
    #[arg(long, default_value_t = 40)]
    seconds: u64,
    /// `cargo bench` passes it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What the kernel charged to a process so far.
struct Cost {
    processor: Duration,
    allocated_kilobytes: u64,
}

/// The kernel's unit of processor time in `/proc`: a hundredth of a second on every Linux that Rust runs on.
const TICK: Duration = Duration::from_millis(10);

async fn cost(program: &Program) -> Result<Cost> {
    let folder = format!("/proc/{}", program.pid().await);
    let status = std::fs::read_to_string(format!("{folder}/status"))?;
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon")?;
    let allocated_kilobytes = anonymous.trim().trim_end_matches(" kB").parse()?;
    let stat = std::fs::read_to_string(format!("{folder}/stat"))?;
    // The second field is the name in brackets, and may hold blanks.
    let fields: Vec<&str> = stat.rsplit_once(") ").context("no name")?.1.split(' ').collect();
    let ticks = [11, 12].into_iter().map(|place: usize| fields[place].parse::<u32>()).sum::<Result<u32, _>>()?;
    Ok(Cost { processor: TICK * ticks, allocated_kilobytes })
}

async fn polls(poller: &Program) -> Result<f64> {
    Ok(poller.metrics().await?.sum("drift_poller_polls_total", &[]))
}

fn say(what: &str, which: Which, cost: &Cost) {
    let megabytes = cost.allocated_kilobytes as f64 / 1e3;
    progress::say(format!("{what}: {} {megabytes:.1} MB, {:.2} s", which.name(), cost.processor.as_secs_f64()));
}

/// So many documents outside, the target that reads them, and as many objects that wish for just that.
async fn populate(world: &World, outside: &Outside, arguments: &Arguments) -> Result<()> {
    let documents = outside.keep_documents();
    let names: Vec<String> = (0..arguments.objects).map(|number| format!("proxy-{number}")).collect();
    for name in &names {
        let document = json!({"listen": format!("{name}:80"), "upstream": "here:1", "enabled": true});
        documents.put(&format!("/proxies/{name}"), document);
    }
    let target = Target::of_documents(world, outside.url())?
        .with("/spec/interval", json!(arguments.interval))
        .with("/spec/read/limits", json!({"concurrent": 64, "perSecond": 10_000}));
    world.apply_target(&target).await?;
    let spec = |name: &str| json!({"listen": format!("{name}:80"), "upstream": "here:1"});
    world.create_proxies(&names, &json!({}), spec).await
}

async fn measure(world: &World, arguments: &Arguments) -> Result<()> {
    let outside = world.start_outside().await?;
    populate(world, &outside, arguments).await?;
    let quiet = || Options { log_level: Some("info".to_owned()), ..Options::default() };
    let poller = world.start(Which::Poller, quiet()).await?;
    let controller = world.start(Which::Controller, quiet()).await?;
    let deadline = Duration::from_secs(60 + arguments.objects as u64 / 50);
    world.wait_for_verdicts(arguments.objects, "False/InSync", deadline).await?;
    let (before, polled) = (cost(&poller).await?, polls(&poller).await?);
    say("in sync", Which::Poller, &before);
    say("in sync", Which::Controller, &cost(&controller).await?);
    let began = Instant::now();
    tokio::time::sleep(Duration::from_secs(arguments.seconds)).await;
    let (after, polled) = (cost(&poller).await?, polls(&poller).await? - polled);
    let seconds = began.elapsed().as_secs_f64();
    say("after that", Which::Poller, &after);
    say("after that", Which::Controller, &cost(&controller).await?);
    ensure!(polled > 0.0, "no poll in {seconds:.0} s");
    let spent = (after.processor - before.processor).as_secs_f64();
    progress::say(format!(
        "{polled:.0} polls in {seconds:.0} s ({:.0} a second): {:.3} s of processor time for 1,000",
        polled / seconds,
        1e3 * spent / polled
    ));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    World::run("steady", async |world| measure(world, &arguments).await).await
}
