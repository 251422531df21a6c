//! docs/cookbook/azure.md: a storage account of Azure, by projected tokens that prove the programs to Entra ID.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::outside::{Answer, Request};
use drift_e2e::world::World;
use serde_json::{Value, json};

use crate::{leaks, page};

/// The projected token of the ServiceAccount.
const PROJECTED: &str = "canary-77ae-projected";
const PATH: &str = "/subscriptions/MY-SUBSCRIPTION/resourceGroups/my-group/providers/Microsoft.Storage/storageAccounts";
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The one storage account of the group.
#[derive(Clone, Default)]
struct Account(Arc<Mutex<Option<Value>>>);

impl Account {
    fn get(&self) -> Value {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    /// Changes it as a person does, or removes it.
    fn change(&self, change: impl FnOnce(&mut Option<Value>)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Serves a request as Azure Resource Manager does: a property that was never set is null.
    fn serve(&self, request: &Request) -> Answer {
        if request.path != format!("{PATH}/teamainvoices?api-version=2023-05-01") {
            return Answer::json(400, &json!({"error": {"code": "InvalidApiVersionParameter"}}));
        }
        let writer = "Bearer canary-77ae-CLIENT-OF-DRIFT-WRITE";
        match request.header("authorization") {
            Some(token) if token == writer => {}
            Some("Bearer canary-77ae-CLIENT-OF-DRIFT-READ") if request.method == "GET" => {}
            Some(_) => return Answer::json(403, &json!({"error": {"code": "AuthorizationFailed"}})),
            None => return Answer::status(401),
        }
        let mut account = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sent = request.json().unwrap_or_default();
        match (&*request.method, &mut *account) {
            ("GET", Some(_)) => {}
            ("PUT", account) => {
                let made = json!({"provisioningState": "Succeeded", "minimumTlsVersion": null});
                let properties = sent["properties"].as_object().cloned().unwrap_or_default();
                sent["properties"] = made;
                sent["properties"].as_object_mut().into_iter().for_each(|fields| fields.extend(properties.clone()));
                *account = Some(sent);
            }
            ("PATCH", Some(account)) => {
                let properties = sent["properties"].as_object().cloned().unwrap_or_default();
                account["properties"].as_object_mut().into_iter().for_each(|fields| fields.extend(properties.clone()));
                account["tags"] = sent["tags"].clone();
            }
            ("DELETE", account @ Some(_)) => {
                *account = None;
                return Answer::status(200);
            }
            _ => return Answer::json(404, &json!({"error": {"code": "ResourceNotFound"}})),
        }
        Answer::json(200, account.as_ref().unwrap_or(&Value::Null))
    }
}

/// Gives a token to a client with the projected token of its program.
fn give_token(request: &Request) -> Answer {
    let form: BTreeMap<_, _> = url::form_urlencoded::parse(&request.body).into_owned().collect();
    let client = form.get("client_id").cloned().unwrap_or_default();
    let expected = [
        ("client_assertion", PROJECTED),
        ("client_assertion_type", ASSERTION),
        ("client_id", &client),
        ("grant_type", "client_credentials"),
        ("scope", "https://management.azure.com/.default"),
    ];
    if form != expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into() {
        return Answer::json(401, &json!({"error": "invalid_client"}));
    }
    let token = format!("canary-77ae-{client}");
    Answer::json(200, &json!({"token_type": "Bearer", "expires_in": 3599, "access_token": token}))
}

#[tokio::test]
async fn a_storage_account_of_azure_is_kept() -> Result<()> {
    World::run("azure", async |world| {
        let (arm, identity, account) = (world.start_outside().await?, world.start_outside().await?, Account::default());
        let served = account.clone();
        arm.choose(move |request| Some(served.serve(request)));
        identity.choose(|request| Some(give_token(request)));
        let tokens = world.folder().join("tokens");
        fs::create_dir_all(&tokens)?;
        fs::write(tokens.join("azure"), PROJECTED)?;
        let replaced = [
            ("https://management.azure.com/subscriptions", &*format!("{}/subscriptions", arm.url())),
            ("https://login.microsoftonline.com", identity.url()),
            ("azure.example", world.group()),
        ];
        let subject = page::apply(world, "azure.md", &replaced).await?;
        let arguments = vec!["--projected-tokens".to_owned(), tokens.display().to_string()];
        let options = || Options { arguments: arguments.clone(), ..Options::default() };
        let poller = world.start(Which::Poller, options()).await?;
        let controller = world.start(Which::Controller, options()).await?;
        subject.wait_until_healed_by(1).await?;
        let made = account.get();
        ensure!(made["sku"]["name"] == "Standard_LRS" && made["tags"] == json!({"team": "a"}), "{made}");

        // Null means that shared keys are allowed.
        let history = subject.watch().await?;
        account.change(|account| {
            account.iter_mut().for_each(|account| account["properties"]["allowSharedKeyAccess"] = Value::Null);
        });
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(account.get()["properties"]["allowSharedKeyAccess"] == false, "{}", account.get());
        account.change(|account| account.iter_mut().for_each(|account| account["tags"]["other"] = json!("x")));
        subject.wait_until_healed_by(3).await?;
        ensure!(account.get()["tags"] == json!({"team": "a"}), "{}", account.get());
        account.change(|account| *account = None);
        subject.wait_until_healed_by(4).await?;

        leaks::ensure_shown_nowhere(world, &[&poller, &controller], &subject, &["canary-77ae"]).await?;
        subject.delete().await?;
        ensure!(account.get().is_null(), "{}", account.get());
        Ok(())
    })
    .await
}
