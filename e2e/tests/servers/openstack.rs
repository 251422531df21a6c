//! docs/cookbook/openstack.md: a project of Keystone, by tokens of a log-in.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use drift_e2e::http_client;
use drift_e2e::process::run_folder::target_folder;
use drift_e2e::process::{Launch, Process};
use drift_e2e::systems::outside::Outside;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use reqwest::Method;
use serde_json::{Value, json};

use crate::installed::serving;
use crate::leaks;
use crate::page::{self, Subject};

const ADMINISTRATOR: &str = "canary-61f0-administrator";
const READER: &str = "canary-61f0-reader";
const WRITER: &str = "canary-61f0-writer";
/// The host on the page.
const HOST: &str = "keystone.example:5000";

/// A Keystone with the users of the page, and a server in front of it that records requests.
struct Keystone {
    _process: Process,
    api: Outside,
    /// The administrator's token.
    token: String,
}

impl Keystone {
    async fn start(world: &World) -> Result<Self> {
        let folder = world.folder().join("keystone");
        fs::create_dir_all(&folder)?;
        let address = world.free_listen_address()?;
        let (host, port) = address.split_once(':').context("no port")?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/keystone_server.py");
        let server = Launch::new("keystone", python()?).argument(script).argument(&folder);
        let _process = serving(server.arguments([host, port, ADMINISTRATOR]), world.folder(), &address).await?;
        let api = world.start_outside().await?;
        api.forward_to(&format!("http://{address}"));
        let mut keystone = Self { _process, api, token: String::new() };
        keystone.token = keystone.log_in("admin", ADMINISTRATOR).await?;
        keystone.create_user("drift-reader", READER, "/system", "reader").await?;
        keystone.create_user("drift-writer", WRITER, "/domains/default", "manager").await?;
        Ok(keystone)
    }

    /// Applies the page with the users' passwords.
    async fn apply(&self, world: &World) -> Result<Subject> {
        let url = self.api.url();
        let roles = ["poller", "controller"].map(|program| format!("drift-{program}-{}", world.objects_namespace()));
        let replaced = [
            ("https://keystone.example:5000", url),
            (HOST, url.trim_start_matches("http://")),
            ("openstack.example", world.group()),
            ("drift-poller-openstack", &roles[0]),
            ("drift-controller-openstack", &roles[1]),
            ("change-me-read", READER),
            ("change-me-write", WRITER),
        ];
        page::apply(world, "openstack.md", &replaced).await
    }

    /// Sends a request like the administrator.
    async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let request = http_client::new()?.request(method, format!("{}/v3{path}", self.api.url()));
        // Keystone refuses a null as the body of a GET.
        let request = if body.is_null() { request } else { request.json(body) };
        let answer = request.header("x-auth-token", &self.token).send().await?.error_for_status()?;
        Ok(serde_json::from_str(&answer.text().await?).unwrap_or_default())
    }

    /// Returns a token of the whole system.
    async fn log_in(&self, user: &str, password: &str) -> Result<String> {
        let user = json!({"name": user, "password": password, "domain": {"id": "default"}});
        let identity = json!({"methods": ["password"], "password": {"user": user}});
        let body = json!({"auth": {"identity": identity, "scope": {"system": {"all": true}}}});
        let url = format!("{}/v3/auth/tokens", self.api.url());
        let answer = http_client::new()?.post(url).json(&body).send().await?.error_for_status()?;
        Ok(answer.headers().get("x-subject-token").context("no token")?.to_str()?.to_owned())
    }

    /// Creates a user with a role in a scope.
    async fn create_user(&self, name: &str, password: &str, scope: &str, role: &str) -> Result<()> {
        let user = json!({"user": {"name": name, "password": password, "domain_id": "default"}});
        let user = id(&self.call(Method::POST, "/users", &user).await?["user"])?;
        let roles = self.call(Method::GET, &format!("/roles?name={role}"), &Value::Null).await?;
        let path = format!("{scope}/users/{user}/roles/{}", id(&roles["roles"][0])?);
        self.call(Method::PUT, &path, &Value::Null).await.map(drop)
    }

    /// Returns the projects with a name.
    async fn projects(&self, name: &str) -> Result<Vec<Value>> {
        let found = self.call(Method::GET, &format!("/projects?name={name}"), &Value::Null).await?;
        found["projects"].as_array().cloned().context("no list")
    }

    /// Changes a project.
    async fn change(&self, project: &Value, fields: Value) -> Result<()> {
        self.call(Method::PATCH, &format!("/projects/{}", id(project)?), &json!({"project": fields})).await.map(drop)
    }

    /// Returns the token of the last read by id. Only the poller sends such.
    fn token_of_poller(&self) -> Result<String> {
        let requests = self.api.requests();
        let is_read = |path: &str| path.starts_with("/v3/projects/");
        let read = requests.iter().rev().find(|request| request.method == "GET" && is_read(&request.path));
        Ok(read.and_then(|read| read.header("x-auth-token")).context("no read")?.to_owned())
    }

    async fn revoke(&self, token: &str) -> Result<()> {
        let request = http_client::new()?.delete(format!("{}/v3/auth/tokens", self.api.url()));
        let request = request.header("x-auth-token", &self.token).header("x-subject-token", token);
        request.send().await?.error_for_status()?;
        Ok(())
    }

    /// Returns the number of log-ins.
    fn log_ins(&self) -> usize {
        self.api.requests_to("POST", "/v3/auth/tokens").len()
    }
}

fn id(of: &Value) -> Result<String> {
    of["id"].as_str().map(str::to_owned).with_context(|| format!("no id: {of}"))
}

/// Python of the environment with the server.
fn python() -> Result<PathBuf> {
    let folder = target_folder()?.join("keystone");
    ensure!(folder.join("bin/keystone-manage").is_file(), "there is no {}: .ci/servers makes it", folder.display());
    Ok(folder.join("bin/python"))
}

#[tokio::test]
async fn a_project_of_keystone_is_kept() -> Result<()> {
    World::run("openstack", async |world| {
        let keystone = Keystone::start(world).await?;
        let name = format!("{}-shop", world.objects_namespace());
        let subject = keystone.apply(world).await?;
        let (poller, controller) = (world.start_poller().await?, world.start_controller().await?);
        let made = subject.wait_until_healed_by(1).await?;
        let project = keystone.projects(&name).await?.pop().context("no project")?;
        ensure!(project["description"] == "The web shop" && project["tags"] == json!(["web"]), "{project}");
        ensure!(made["status"]["projectId"] == project["id"], "{made}");

        let history = subject.watch().await?;
        keystone.change(&project, json!({"description": "by hand", "tags": ["web", "other"]})).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(keystone.projects(&name).await?[0]["description"] == "The web shop");

        keystone.call(Method::DELETE, &format!("/projects/{}", id(&project)?), &Value::Null).await?;
        history.wait_for_transitions("driftObserved", &[("True", "ExternalMissing"), ("False", "InSync")]).await?;
        let anew = subject.wait_until_healed_by(3).await?;
        let project = keystone.projects(&name).await?.pop().context("no project")?;
        ensure!(anew["status"]["projectId"] == project["id"], "{anew}");

        // Another's password: no drift, and nothing is sent.
        let read_with = |password: &str| {
            world.apply_credential("keystone-read", "poller", json!({"username": "drift-reader", "password": password}))
        };
        read_with("canary-61f0-wrong").await?;
        subject.wait_for_verdict("Unknown/Unauthorized").await?;
        ensure!(keystone.projects(&name).await? == std::slice::from_ref(&project));
        read_with(READER).await?;
        subject.wait_until_healed_by(3).await?;

        let tokens: Vec<_> =
            keystone.api.requests().iter().filter_map(|sent| sent.header("x-auth-token").map(str::to_owned)).collect();
        let mut secrets = vec![READER, WRITER, "canary-61f0-wrong"];
        secrets.extend(tokens.iter().map(String::as_str));
        leaks::ensure_shown_nowhere(world, &[&poller, &controller], &subject, &secrets).await?;
        subject.delete().await?;
        ensure!(keystone.projects(&name).await?.is_empty());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_revoked_token_is_replaced_once() -> Result<()> {
    World::run("openstack tokens", async |world| {
        let keystone = Keystone::start(world).await?;
        let subject = keystone.apply(world).await?;
        world.start_both().await?;
        subject.wait_until_healed_by(1).await?;
        let (history, revoked, before) = (subject.watch().await?, keystone.token_of_poller()?, keystone.log_ins());
        keystone.revoke(&revoked).await?;
        let another = wait::until("another token", wait::DEADLINE, async || {
            let current = keystone.token_of_poller()?;
            Ok(if current == revoked { Seen::Instead("the old one".to_owned()) } else { Seen::Met(current) })
        })
        .await?;
        // The new token finds drift, and no poll between has failed.
        let name = format!("{}-shop", world.objects_namespace());
        let project = keystone.projects(&name).await?.pop().context("no project")?;
        keystone.change(&project, json!({"enabled": false})).await?;
        subject.wait_until_healed_by(2).await?;
        let seen = history.transitions("driftObserved").await?;
        ensure!(!seen.iter().any(|verdict| verdict.starts_with("Unknown")), "{seen:?}");
        let (token, log_ins) = (keystone.token_of_poller()?, keystone.log_ins() - before);
        ensure!(token == another && log_ins == 1, "{log_ins} log-ins");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_project_of_another_owner_is_left_alone() -> Result<()> {
    World::run("openstack owner", async |world| {
        let keystone = Keystone::start(world).await?;
        let name = format!("{}-shop", world.objects_namespace());
        let project = json!({"project": {"name": name, "domain_id": "default", "description": "another's"}});
        keystone.call(Method::POST, "/projects", &project).await?;
        let before = keystone.projects(&name).await?;
        let subject = keystone.apply(world).await?;
        world.start_both().await?;
        subject.wait_for_correction("False/NotOurs").await?;
        subject.delete().await?;
        ensure!(keystone.projects(&name).await? == before);
        Ok(())
    })
    .await
}
