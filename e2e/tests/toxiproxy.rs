//! toxiproxy behaves as the demonstration target expects.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::world::World;
use serde_json::json;

#[tokio::test]
async fn proxies_are_changed_behind_everybodys_back() -> Result<()> {
    World::run("toxiproxy", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        ensure!(toxiproxy.proxy("web").await?.is_none());
        let listen = world.free_listen_address()?;
        toxiproxy.create("web", &listen, "127.0.0.1:9").await?;
        let clash = toxiproxy.create("web", &world.free_listen_address()?, "127.0.0.1:9").await;
        ensure!(clash.is_err_and(|error| format!("{error:#}").contains("409")));
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10", "enabled": false})).await?;
        let proxy = toxiproxy.proxy("web").await?.context("no proxy")?;
        ensure!((proxy.listen, proxy.upstream.as_str(), proxy.enabled) == (listen, "127.0.0.1:10", false));
        toxiproxy.delete("web").await?;
        ensure!(toxiproxy.proxies().await?.is_empty());
        Ok(())
    })
    .await
}
