//! Teams with a credential each, one target and one URL: no team's credential reads or changes what is another's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{DRIFT_CORRECTED, DRIFT_OBSERVED};
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, describe, message};
use kube::api::{DeleteParams, DynamicObject, PostParams};
use serde_json::{Value, json};

/// The resources of each account, by its name and theirs.
type Accounts = Arc<Mutex<BTreeMap<(String, String), Value>>>;

/// A server on which the credential decides whose resources a request is about. `a-read` reads those of `a`, and
/// `a-write` changes them.
struct Bed<'w> {
    world: &'w World,
    outside: Outside,
    accounts: Accounts,
}

fn answer(accounts: &Accounts, request: &Request) -> Option<Answer> {
    let token = request.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
    let Some((account, right)) = token.and_then(|token| token.rsplit_once('-')) else {
        return Some(Answer::status(401));
    };
    let mut accounts = accounts.lock().unwrap_or_else(PoisonError::into_inner);
    let key = |name: &str| (account.to_owned(), name.to_owned());
    let name = request.path.strip_prefix("/proxies")?.trim_start_matches('/');
    Some(match (request.method.as_str(), name, right) {
        ("GET", "", "read") => {
            let own = accounts.iter().filter(|((of, _), _)| of == account);
            Answer::json(200, &own.map(|((_, name), value)| (name.clone(), value.clone())).collect())
        }
        ("GET", name, "read") => accounts.get(&key(name)).map_or(Answer::status(404), |found| Answer::json(200, found)),
        ("POST", "", "write") => {
            let body = request.json().ok()?;
            accounts.insert(key(body["name"].as_str()?), body);
            Answer::status(201)
        }
        ("POST", name, "write") => {
            let mut body = request.json().ok()?;
            body["name"] = json!(name);
            accounts.insert(key(name), body);
            Answer::status(200)
        }
        ("DELETE", name, "write") => Answer::status(if accounts.remove(&key(name)).is_some() { 204 } else { 404 }),
        _ => Answer::status(403),
    })
}

impl<'w> Bed<'w> {
    async fn new(world: &'w World) -> Result<Self> {
        let bed = Self { world, outside: world.start_outside().await?, accounts: Accounts::default() };
        let accounts = bed.accounts.clone();
        bed.outside.choose(move |request| answer(&accounts, request));
        for team in ["a", "b", "c"] {
            let metadata = json!({"name": bed.namespace(team)});
            world.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await?;
            for (right, program) in [("read", "poller"), ("write", "controller")] {
                let name = format!("{team}-{right}");
                world.apply_credential(&name, program, json!({"token": name})).await?;
            }
        }
        Ok(bed)
    }

    fn namespace(&self, team: &str) -> String {
        format!("{}-{team}", self.world.objects_namespace())
    }

    /// A target for the objects of all teams, with a credential for each of these.
    fn target(&self, teams: &[&str]) -> Result<Target> {
        let auth = |right: &str| {
            let entry = |team: &&str| json!({"namespaces": [self.namespace(team)], "secretRef": {"name": format!("{team}-{right}")}});
            json!({"bearer": {"credentials": teams.iter().map(entry).collect::<Vec<_>>()}})
        };
        Ok(Target::shipped(self.world, self.outside.url())?
            .without("/spec/objects/namespaces")
            .with("/spec/read/http/auth", auth("read"))
            .with("/spec/correct/http/auth", auth("write")))
    }

    fn api(&self, team: &str) -> Result<kube::Api<DynamicObject>> {
        self.world.api(&format!("{}/v1", self.world.group()), "Proxy", Some(&self.namespace(team)))
    }

    async fn create(&self, team: &str, upstream: &str) -> Result<()> {
        let metadata = json!({"name": "web", "namespace": self.namespace(team)});
        let spec = json!({"listen": "127.0.0.1:1", "upstream": upstream});
        let version = format!("{}/v1", self.world.group());
        let object = json!({"apiVersion": version, "kind": "Proxy", "metadata": metadata, "spec": spec});
        self.api(team)?.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        Ok(())
    }

    async fn delete(&self, team: &str) -> Result<()> {
        self.api(team)?.delete("web", &DeleteParams::default()).await.map(drop).context("deleting web")
    }

    async fn object(&self, team: &str) -> Result<Option<Value>> {
        Ok(self.api(team)?.get_opt("web").await?.map(serde_json::to_value).transpose()?)
    }

    async fn wait_for(&self, team: &str, verdict: &str) -> Result<Value> {
        wait::until(format!("{team}: {verdict}"), wait::DEADLINE, async || {
            let object = self.object(team).await?.context("no object")?;
            Ok(match describe(&object, DRIFT_OBSERVED) == verdict {
                true => Seen::Met(object),
                false => Seen::Instead(object.to_string()),
            })
        })
        .await
    }

    async fn wait_until_gone(&self, team: &str) -> Result<()> {
        wait::until(format!("the object of {team} to be gone"), wait::DEADLINE, async || {
            Ok(self.object(team).await?.map_or(Seen::Met(()), |object| Seen::Instead(object.to_string())))
        })
        .await
    }

    /// Waits until the resource `web` of each account has this upstream.
    async fn wait_outside(&self, wanted: &[(&str, &str)]) -> Result<()> {
        let wanted: BTreeMap<_, _> =
            wanted.iter().map(|(team, upstream)| ((*team).to_owned(), (*upstream).to_owned())).collect();
        wait::until(format!("{wanted:?} outside"), wait::DEADLINE, async || {
            let accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
            let upstream = |value: &Value| value["upstream"].as_str().unwrap_or_default().to_owned();
            let found: BTreeMap<_, _> =
                accounts.iter().map(|((team, _), value)| (team.clone(), upstream(value))).collect();
            Ok(if found == wanted { Seen::Met(()) } else { Seen::Instead(format!("{found:?}")) })
        })
        .await
    }

    fn put(&self, team: &str, upstream: &str) {
        let proxy = json!({"name": "web", "listen": "127.0.0.1:1", "upstream": upstream, "enabled": true});
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.insert((team.to_owned(), "web".to_owned()), proxy);
    }
}

#[tokio::test]
async fn each_team_heals_its_own_account() -> Result<()> {
    World::run("teams", async |world| {
        let bed = Bed::new(world).await?;
        world.apply_target(&bed.target(&["a", "b"])?).await?;
        world.start_both().await?;
        bed.create("a", "127.0.0.1:2").await?;
        bed.create("b", "127.0.0.1:3").await?;
        for team in ["a", "b"] {
            let object = bed.wait_for(team, "False/InSync").await?;
            let record = describe(&object, DRIFT_CORRECTED);
            ensure!(record.ends_with("/CorrectionApplied") || record.ends_with("/CorrectionVerified"), "{object}");
        }
        bed.wait_outside(&[("a", "127.0.0.1:2"), ("b", "127.0.0.1:3")]).await?;
        bed.put("b", "127.0.0.1:9");
        bed.wait_outside(&[("a", "127.0.0.1:2"), ("b", "127.0.0.1:3")]).await?;
        bed.wait_for("b", "False/InSync").await?;
        bed.delete("b").await?;
        bed.wait_until_gone("b").await?;
        bed.wait_outside(&[("a", "127.0.0.1:2")]).await?;
        bed.wait_for("a", "False/InSync").await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_namespace_without_an_entry_has_no_credential() -> Result<()> {
    World::run("no entry", async |world| {
        let bed = Bed::new(world).await?;
        world.apply_target(&bed.target(&["a"])?).await?;
        world.start_both().await?;
        bed.create("a", "127.0.0.1:2").await?;
        bed.create("c", "127.0.0.1:3").await?;
        let object = bed.wait_for("c", "Unknown/CredentialUnusable").await?;
        let text = format!(
            "read.http.auth.bearer.credentials has no entry for namespace {}; add one to the target",
            bed.namespace("c")
        );
        ensure!(message(&object, DRIFT_OBSERVED).contains(&text), "{object}");
        bed.wait_outside(&[("a", "127.0.0.1:2")]).await?;

        world.apply_target(&bed.target(&["a", "c"])?).await?;
        bed.wait_for("c", "False/InSync").await?;
        bed.wait_outside(&[("a", "127.0.0.1:2"), ("c", "127.0.0.1:3")]).await?;

        // Without its entry, a deletion is held.
        world.apply_target(&bed.target(&["a"])?).await?;
        bed.wait_for("c", "Unknown/CredentialUnusable").await?;
        bed.delete("c").await?;
        wait::throughout("the deletion is held".to_owned(), Duration::from_secs(5), async || {
            let held = bed.object("c").await?.is_some() && bed.outside.count("DELETE") == 0;
            Ok(if held { Seen::Met(()) } else { Seen::Instead("it went".to_owned()) })
        })
        .await?;
        world.apply_target(&bed.target(&["a", "c"])?).await?;
        bed.wait_until_gone("c").await?;
        bed.wait_outside(&[("a", "127.0.0.1:2")]).await
    })
    .await
}

#[tokio::test]
async fn a_collection_is_read_for_each_account() -> Result<()> {
    World::run("a collection of each", async |world| {
        let bed = Bed::new(world).await?;
        bed.put("a", "127.0.0.1:2");
        let target = bed
            .target(&["a", "b"])?
            .with("/spec/interval", json!("1s"))
            .with("/spec/read/http/url", json!(format!("{}/proxies", bed.outside.url())))
            .with("/spec/read/http/each", json!("${response.body.map(name, response.body[name])}"))
            .with("/spec/read/http/key", json!({"item": "${item.name}"}))
            .with("/spec/correct/mode", json!("Observe"));
        world.apply_target(&target).await?;
        world.start_poller().await?;
        // The objects are equal, so the list of one account would do for both.
        for team in ["a", "b"] {
            bed.create(team, "127.0.0.1:2").await?;
        }
        bed.wait_for("a", "False/InSync").await?;
        bed.wait_for("b", "True/NotCreated").await?;
        wait::throughout("each is judged by its own list".to_owned(), Duration::from_secs(5), async || {
            let [a, b] = [bed.object("a").await?, bed.object("b").await?]
                .map(|object| object.map(|object| describe(&object, DRIFT_OBSERVED)).unwrap_or_default());
            let is_own = a == "False/InSync" && b == "True/NotCreated";
            Ok(if is_own { Seen::Met(()) } else { Seen::Instead(format!("{a} {b}")) })
        })
        .await
    })
    .await
}
