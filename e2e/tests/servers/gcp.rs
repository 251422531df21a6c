//! docs/cookbook/gcp.md: a bucket of Google Cloud, by signed assertions and by an exchanged token.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::http_client;
use drift_e2e::pages;
use drift_e2e::process::run_folder::target_folder;
use drift_e2e::process::{Launch, Process};
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::world::World;
use reqwest::Method;
use serde_json::{Value, json};

use crate::google_tokens::{self, Account};
use crate::installed::serving;
use crate::leaks;
use crate::page::{self, Subject};

const READ_ONLY: &str = "https://www.googleapis.com/auth/devstorage.read_only";
const FULL_CONTROL: &str = "https://www.googleapis.com/auth/devstorage.full_control";
/// The projected token of the ServiceAccount.
const PROJECTED: &str = "canary-a7c3-projected";

/// A server of Cloud Storage. It takes any request, so the one in front of it checks the tokens.
struct Google {
    _process: Process,
    address: String,
    storage: Outside,
    identity: Outside,
    accounts: [Account; 2],
}

impl Google {
    async fn start(world: &World) -> Result<Self> {
        let address = world.free_listen_address()?;
        let (host, port) = address.split_once(':').context("no port")?;
        let program = target_folder()?.join("drongo/bin/python");
        ensure!(program.is_file(), "there is no {}: .ci/servers makes it", program.display());
        let server =
            Launch::new("drongo", program).arguments(["-m", "drongo.cli", "server", "--host", host, "-p", port]);
        let _process = serving(server, world.folder(), &address).await?;
        let (storage, identity) = (world.start_outside().await?, world.start_outside().await?);
        storage.forward_to(&format!("http://{address}"));
        let reader = Account::new(world, "reader", READ_ONLY).await?;
        let accounts = [reader, Account::new(world, "writer", FULL_CONTROL).await?];
        let tokens = accounts.each_ref().map(|account| format!("Bearer {}", account.token));
        storage.choose(move |request: &Request| refuse(request, &tokens));
        google_tokens::give(&identity, &accounts);
        Ok(Self { _process, address, storage, identity, accounts })
    }

    /// Returns the page's documents, and applies its Secrets.
    async fn documents(&self, world: &World) -> Result<Vec<Value>> {
        let roles = ["poller", "controller"].map(|program| format!("drift-{program}-{}", world.objects_namespace()));
        let token_url = format!("{}/token", self.identity.url());
        let replaced = [
            ("https://storage.googleapis.com", self.storage.url()),
            ("https://oauth2.googleapis.com/token", &token_url),
            ("gcp.example", world.group()),
            ("drift-poller-gcp", &roles[0]),
            ("drift-controller-gcp", &roles[1]),
        ];
        for (account, program) in self.accounts.iter().zip(["poller", "controller"]) {
            let name = if program == "poller" { "gcp-read" } else { "gcp-write" };
            world.apply_credential(name, program, account.secret()).await?;
        }
        page::documents(world, "gcp.md", &replaced)
    }

    /// Sends a request like the project's owner, and returns the answer.
    async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let url = format!("http://{}/storage/v1{path}", self.address);
        let answer = http_client::new()?.request(method, url).json(body).send().await?.error_for_status()?;
        Ok(serde_json::from_str(&answer.text().await?).unwrap_or_default())
    }

    async fn bucket(&self, name: &str) -> Result<Value> {
        self.call(Method::GET, &format!("/b/{name}"), &Value::Null).await
    }
}

/// Refuses requests without a token, and writes with the reader's.
fn refuse(request: &Request, [reader, writer]: &[String; 2]) -> Option<Answer> {
    match request.header("authorization") {
        Some(token) if token == writer || token == reader && request.method == "GET" => None,
        Some(token) if token == reader => Some(Answer::status(403)),
        _ => Some(Answer::status(401)),
    }
}

#[tokio::test]
async fn a_bucket_of_google_cloud_is_kept() -> Result<()> {
    World::run("gcp", async |world| {
        let google = Google::start(world).await?;
        let name = format!("my-project-{}-invoices", world.objects_namespace());
        let subject = page::apply_all(world, google.documents(world).await?).await?;
        let (poller, controller) = (world.start_poller().await?, world.start_controller().await?);
        subject.wait_until_healed_by(1).await?;
        let made = google.bucket(&name).await?;
        ensure!(made["location"] == "EUROPE-WEST3" && made["labels"] == json!({"team": "a"}), "{made}");

        let history = subject.watch().await?;
        let path = format!("/b/{name}");
        google.call(Method::PATCH, &path, &json!({"labels": {"team": "b"}, "storageClass": "ARCHIVE"})).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        let healed = google.bucket(&name).await?;
        ensure!(healed["storageClass"] == "STANDARD" && healed["labels"] == json!({"team": "a"}), "{healed}");
        google.call(Method::DELETE, &path, &Value::Null).await?;
        history.wait_for_transitions("driftObserved", &[("True", "ExternalMissing"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(3).await?;

        // Another's key: no drift, and nothing is sent.
        let mut wrong = google.accounts[0].secret();
        wrong["privateKey"] = google.accounts[1].secret()["privateKey"].clone();
        world.apply_credential("gcp-read", "poller", wrong).await?;
        subject.wait_for_verdict("Unknown/Unauthorized").await?;
        world.apply_credential("gcp-read", "poller", google.accounts[0].secret()).await?;
        subject.wait_until_healed_by(3).await?;

        let body: Vec<_> = google.accounts.iter().map(Account::canary).collect();
        let mut secrets: Vec<&str> = body.iter().map(String::as_str).collect();
        secrets.extend(google.accounts.iter().map(|account| account.token.as_str()));
        leaks::ensure_shown_nowhere(world, &[&poller, &controller], &subject, &secrets).await?;
        keeps_what_cannot_be_repaired(&google, &subject, &name).await
    })
    .await
}

/// A bucket in another location is not replaced, and one with contents is not deleted.
async fn keeps_what_cannot_be_repaired(google: &Google, subject: &Subject, name: &str) -> Result<()> {
    let path = format!("/b/{name}");
    google.call(Method::DELETE, &path, &Value::Null).await?;
    google.call(Method::POST, "/b?project=other", &json!({"name": name, "location": "US"})).await?;
    subject.wait_until_told("the bucket is in US").await?;
    ensure!(google.bucket(name).await?["metageneration"] == "1", "the bucket was changed");
    let upload = format!("http://{}/upload/storage/v1/b/{name}/o?uploadType=media&name=invoice", google.address);
    http_client::new()?.post(upload).body("paid").send().await?.error_for_status()?;
    let deleting = async { subject.delete().await };
    let emptying = async {
        subject.wait_until_told("409").await?;
        ensure!(google.bucket(name).await?["name"] == *name);
        google.call(Method::DELETE, &format!("{path}/o/invoice"), &Value::Null).await.map(drop)
    };
    let (deleted, emptied) = tokio::join!(deleting, emptying);
    emptied.and(deleted)?;
    ensure!(google.bucket(name).await.is_err(), "the bucket is still there");
    Ok(())
}

/// The `auth` of the page that needs no key.
fn federated(sts: &str) -> Result<Value> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cookbook/gcp.md"))?;
    let block = pages::blocks(&page, "text").into_iter().find(|block| block.starts_with("auth:"));
    let block = block.context("no block")?.replace("https://sts.googleapis.com", sts);
    Ok(serde_saphyr::from_str::<Value>(&block)?["auth"].clone())
}

#[tokio::test]
async fn a_bucket_is_read_with_a_federated_token() -> Result<()> {
    World::run("gcp federation", async |world| {
        let google = Google::start(world).await?;
        let (sts, tokens) = (world.start_outside().await?, world.folder().join("tokens"));
        let given = json!({"access_token": google.accounts[0].token, "expires_in": 3599, "token_type": "Bearer"});
        sts.on("POST", "/v1/token", Answer::json(200, &given));
        fs::create_dir_all(&tokens)?;
        fs::write(tokens.join("gcp"), PROJECTED)?;
        let mut documents = google.documents(world).await?;
        let target = documents.iter_mut().find_map(|document| document.get_mut("data")?.get_mut("buckets.yaml"));
        let target = target.context("no target")?;
        let mut changed: Value = serde_saphyr::from_str(target.as_str().context("no text")?)?;
        changed["spec"]["read"]["http"]["auth"] = federated(sts.url())?;
        *target = json!(changed.to_string());
        let subject = page::apply_all(world, documents).await?;
        let arguments = vec!["--projected-tokens".to_owned(), tokens.display().to_string()];
        let poller = world.start(Which::Poller, Options { arguments, ..Options::default() }).await?;
        world.start_controller().await?;
        subject.wait_until_healed_by(1).await?;

        let asked = sts.requests();
        let form: BTreeMap<_, _> = url::form_urlencoded::parse(&asked[0].body).into_owned().collect();
        let pool = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/cluster";
        let expected = [
            ("audience", format!("{pool}/providers/cluster")),
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token".to_owned()),
            ("scope", "https://www.googleapis.com/auth/cloud-platform".to_owned()),
            ("subject_token", PROJECTED.to_owned()),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt".to_owned()),
        ];
        ensure!(form == expected.map(|(key, value)| (key.to_owned(), value)).into(), "{form:?}");
        ensure!(asked.len() == 1, "{} exchanges", asked.len());
        let secrets = [PROJECTED, &google.accounts[0].token];
        leaks::ensure_shown_nowhere(world, &[&poller], &subject, &secrets).await
    })
    .await
}
