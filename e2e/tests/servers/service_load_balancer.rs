//! docs/cookbook/service-load-balancer.md: a Service of type LoadBalancer, and toxiproxy as the load balancer.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::process::ports::free_port;
use drift_e2e::systems::toxiproxy::{Proxy, Toxiproxy};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use serde_json::json;

use crate::page::{self, Subject};

/// Several polls of the test's interval.
const SOME_POLLS: Duration = Duration::from_secs(7);
/// A loopback address in place of the load balancer's.
const ADDRESS: &str = "127.0.0.10";

/// Returns the load balancer of the page's Service.
async fn balancer(edge: &Toxiproxy, name: &str) -> Result<Proxy> {
    edge.proxy(name).await?.context("there is no load balancer")
}

async fn nothing_is_written(subject: &Subject) -> Result<()> {
    let version = subject.get().await?["metadata"]["resourceVersion"].clone();
    wait::throughout("a steady state writes nothing", SOME_POLLS, async || {
        let now = subject.get().await?;
        let is_same = now["metadata"]["resourceVersion"] == version;
        Ok(if is_same { Seen::Met(()) } else { Seen::Instead(now.to_string()) })
    })
    .await
}

async fn is_kept(world: &World, subject: &Subject, edge: &mut Toxiproxy, port: u16) -> Result<()> {
    let name = format!("{}.shop", world.objects_namespace());
    let service = subject.wait_until_healed_by(1).await?;
    let node_port = service["spec"]["ports"][0]["nodePort"].as_u64().context("no node port")?;
    let (listen, upstream) = (format!("{ADDRESS}:{port}"), format!("10.0.0.11:{node_port}"));
    let wanted = Proxy { name: name.clone(), listen, upstream, enabled: true };
    ensure!(balancer(edge, &name).await? == wanted, "{:?}", edge.proxies().await?);
    let printed = world.control_plane().kubectl();
    let printed = printed.run(&["get", "service", "shop", "--namespace", world.objects_namespace()]).await?.output;
    ensure!(printed.contains(ADDRESS), "no EXTERNAL-IP: {printed}");
    ensure!(service["metadata"].get("generation").is_none(), "a Service has a generation by now: {service}");
    nothing_is_written(subject).await?;

    let history = subject.watch().await?;
    edge.update(&name, json!({"upstream": "10.0.0.66:31000"})).await?;
    history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
    subject.wait_until_healed_by(2).await?;
    ensure!(balancer(edge, &name).await? == wanted);

    edge.delete(&name).await?;
    history.wait_for_transitions("driftObserved", &[("True", "ExternalMissing"), ("False", "InSync")]).await?;
    subject.wait_until_healed_by(3).await?;
    ensure!(balancer(edge, &name).await? == wanted);

    // While it is paused, the state is Unknown and nothing is sent.
    edge.process().pause().await?;
    subject.wait_for_verdict("Unknown/PollTimedOut").await?;
    edge.process().resume()?;
    let healed = subject.wait_until_healed_by(3).await?;
    ensure!(healed["status"]["loadBalancer"]["ingress"][0]["ip"] == ADDRESS, "{healed}");

    let another = free_port()?;
    subject.edit(json!({"spec": {"ports": [{"name": "https", "port": another, "targetPort": 8443}]}})).await?;
    subject.wait_until_healed_by(4).await?;
    ensure!(balancer(edge, &name).await?.listen == format!("{ADDRESS}:{another}"));
    Ok(())
}

#[tokio::test]
async fn a_service_keeps_its_load_balancer() -> Result<()> {
    World::run("service lb", async |world| {
        let mut edge = world.start_toxiproxy().await?;
        let (address, port) = (edge.url().trim_start_matches("http://").to_owned(), free_port()?);
        let written_port = format!("port: {port}");
        let replaced = [("edge.net.svc:8474", &*address), ("192.0.2.10", ADDRESS), ("port: 8443", &written_port)];
        let subject = page::follow(world, "service-load-balancer.md", &replaced).await?;
        is_kept(world, &subject, &mut edge, port).await?;
        subject.delete().await?;
        ensure!(edge.proxies().await?.is_empty(), "left behind");
        Ok(())
    })
    .await
}
