//! docs/cookbook/caddy.md: a route of a running Caddy.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use drift_e2e::http_client;
use drift_e2e::process::{Launch, Process};
use drift_e2e::world::World;
use serde_json::{Value, json};

use crate::installed::{program, serving};
use crate::page;

/// The routes of the page's server.
const ROUTES: &str = "config/apps/http/servers/main/routes";

/// A Caddy with one server and no routes.
struct Caddy {
    folder: PathBuf,
    address: String,
    process: Process,
}

impl Caddy {
    async fn start(world: &World) -> Result<Self> {
        let folder = world.folder().join("caddy");
        fs::create_dir_all(&folder)?;
        let address = world.free_listen_address()?;
        let main =
            json!({"listen": [world.free_listen_address()?], "automatic_https": {"disable": true}, "routes": []});
        let admin = json!({"listen": address, "config": {"persist": false}});
        let configuration = json!({"admin": admin, "apps": {"http": {"servers": {"main": main}}}});
        fs::write(folder.join("caddy.json"), configuration.to_string())?;
        let process = Self::launch(&folder, &address).await?;
        Ok(Self { folder, address, process })
    }

    async fn launch(folder: &Path, address: &str) -> Result<Process> {
        let launch = Launch::new("caddy", program("caddy", "caddy")?).argument("run");
        let launch = launch.argument("--config").argument(folder.join("caddy.json"));
        // Folders for its certificates and its last configuration.
        let launch = launch.variable("XDG_DATA_HOME", folder).variable("XDG_CONFIG_HOME", folder);
        serving(launch, folder, address).await
    }

    /// Returns the admin API's response, without credentials.
    async fn ask(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> Result<Value> {
        let request = http_client::new()?.request(method, format!("http://{}/{path}", self.address));
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        let text = request.send().await?.error_for_status()?.text().await?;
        Ok(if text.is_empty() { Value::Null } else { serde_json::from_str(&text)? })
    }

    async fn upstreams(&self, id: &str) -> Result<Value> {
        self.ask(reqwest::Method::GET, &format!("id/{id}/handle/0/upstreams"), None).await
    }
}

#[tokio::test]
async fn a_route_in_caddy_is_kept() -> Result<()> {
    World::run("caddy", async |world| {
        let mut server = Caddy::start(world).await?;
        let subject = page::follow(world, "caddy.md", &[("caddy.web.svc:2019", &server.address)]).await?;
        subject.wait_until_healed_by(1).await?;
        let id = format!("{}.shop", world.objects_namespace());
        let wanted = json!([{"dial": "10.0.0.1:8080"}, {"dial": "10.0.0.2:8080"}]);
        ensure!(server.upstreams(&id).await? == wanted);

        let history = subject.watch().await?;
        let first = format!("id/{id}/handle/0/upstreams/0");
        server.ask(reqwest::Method::DELETE, &first, None).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(server.upstreams(&id).await? == wanted);
        let routes = server.ask(reqwest::Method::GET, ROUTES, None).await?;
        ensure!(routes.as_array().is_some_and(|routes| routes.len() == 1), "{routes}");

        // It restarts without the configuration from its API.
        server.process.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        server.process = Caddy::launch(&server.folder, &server.address).await?;
        subject.wait_until_healed_by(3).await?;
        ensure!(server.upstreams(&id).await? == wanted);

        server.ask(reqwest::Method::POST, ROUTES, Some(json!({"@id": "other", "terminal": true}))).await?;
        subject.delete().await?;
        let routes = server.ask(reqwest::Method::GET, ROUTES, None).await?;
        ensure!(routes == json!([{"@id": "other", "terminal": true}]), "{routes}");
        Ok(())
    })
    .await
}
