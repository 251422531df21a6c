//! The API server of the histories against the real one: each kind of request gets the same status, and leaves the same
//! object.
//!
//! Only this test needs a control plane. It does not share one, because it is the only one of its binary that does.

use anyhow::{Result, ensure};
use drift_api::names::FINALIZER;
use drift_e2e::world::World;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Refusal};

/// Name of the object in the API server of the histories.
const NAME: &str = "a";

/// A request of a program, a user or another writer.
#[derive(Clone, Copy)]
enum Request {
    Create,
    Delete,
    /// A read, a change, and a write of the whole object.
    Edit(fn(&mut Value)),
    /// A JSON Patch to the object, made from its current state.
    Patch(fn(&Value) -> Value),
    /// The same to its status.
    PatchStatus(fn(&Value) -> Value),
}

use Request::{Create, Delete, Edit, Patch as PatchObject, PatchStatus};

/// An object after a request, as far as the programs look at it.
#[derive(Debug, PartialEq)]
struct Facts {
    /// It has the uid of the last object of that name.
    is_same: bool,
    /// It has another version than that one.
    is_changed: bool,
    generation: Value,
    is_deleting: bool,
    finalizers: Value,
    labels: Value,
    spec: Value,
    status: Value,
}

fn facts(last: Option<&Value>, after: &Value) -> Facts {
    let differs = |field: &str| last.is_none_or(|last| last["metadata"][field] != after["metadata"][field]);
    let metadata = &after["metadata"];
    Facts {
        is_same: !differs("uid"),
        is_changed: differs("resourceVersion"),
        generation: metadata["generation"].clone(),
        is_deleting: !metadata["deletionTimestamp"].is_null(),
        finalizers: metadata["finalizers"].clone(),
        labels: metadata["labels"].clone(),
        spec: after["spec"].clone(),
        status: after["status"].clone(),
    }
}

fn spec() -> Value {
    json!({"listen": "127.0.0.1:20001", "upstream": "127.0.0.1:9"})
}

fn condition(status: &str) -> Value {
    json!({"type": "driftObserved", "status": status, "reason": "InSync", "message": "in sync",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1})
}

fn holds(object: &mut Value) {
    object["metadata"]["finalizers"] = json!([FINALIZER]);
}

fn releases(_: &Value) -> Value {
    json!([{"op": "test", "path": "/metadata/finalizers/0", "value": FINALIZER},
        {"op": "remove", "path": "/metadata/finalizers/0"}])
}

fn observes(object: &Value) -> Value {
    json!([{"op": "test", "path": "/metadata/uid", "value": object["metadata"]["uid"]},
        {"op": "test", "path": "/status", "value": null},
        {"op": "add", "path": "/status", "value": {"conditions": [condition("False")]}}])
}

/// Each kind of request, after those that lead to its state.
fn rows() -> Vec<(&'static str, Vec<Request>)> {
    vec![
        ("a name is taken", vec![Create, Create]),
        ("a missing object is deleted", vec![Delete]),
        ("a missing object is patched", vec![PatchObject(|_| json!([])), PatchStatus(|_| json!([]))]),
        ("a deletion without a finalizer", vec![Create, Delete]),
        ("a deletion waits for a finalizer", vec![Create, Edit(holds), Delete, Delete]),
        ("the last finalizer goes", vec![Create, Edit(holds), Delete, PatchObject(releases)]),
        ("a living object loses its finalizer", vec![Create, Edit(holds), PatchObject(releases)]),
        ("a name is used anew", vec![Create, PatchStatus(observes), Delete, Create]),
        (
            "a deleted object gets no finalizer",
            vec![
                Create,
                Edit(holds),
                Delete,
                PatchObject(|_| json!([{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/b"}])),
                PatchObject(|_| json!([{"op": "replace", "path": "/metadata/finalizers/0", "value": "example.com/b"}])),
            ],
        ),
        (
            "another uid is tested",
            vec![Create, PatchObject(|_| json!([{"op": "test", "path": "/metadata/uid", "value": "b"}]))],
        ),
        (
            "an old version is tested",
            vec![Create, PatchObject(|_| json!([{"op": "test", "path": "/metadata/resourceVersion", "value": "0"}]))],
        ),
        (
            "a missing field is null",
            vec![
                Create,
                PatchObject(|_| json!([{"op": "test", "path": "/metadata/deletionTimestamp", "value": null}])),
            ],
        ),
        (
            "a field of a missing field is tested",
            vec![Create, PatchStatus(|_| json!([{"op": "test", "path": "/status/conditions", "value": null}]))],
        ),
        (
            "a field of a missing field is added",
            vec![
                Create,
                PatchStatus(|_| json!([{"op": "add", "path": "/status/conditions/-", "value": condition("True")}])),
            ],
        ),
        (
            "a missing field is removed",
            vec![Create, PatchObject(|_| json!([{"op": "remove", "path": "/metadata/finalizers"}]))],
        ),
        (
            "a missing field is replaced",
            vec![
                Create,
                PatchObject(|_| json!([{"op": "replace", "path": "/metadata/labels", "value": {"alpha": "yes"}}])),
            ],
        ),
        (
            "an entry beyond the end",
            vec![
                Create,
                PatchStatus(observes),
                PatchStatus(|_| json!([{"op": "test", "path": "/status/conditions/1/type", "value": "driftObserved"}])),
                PatchStatus(|_| json!([{"op": "add", "path": "/status/conditions/2", "value": condition("True")}])),
            ],
        ),
        ("a status keeps the generation", vec![Create, PatchStatus(observes)]),
        (
            "an entry is replaced, and removed",
            vec![
                Create,
                PatchStatus(observes),
                PatchStatus(|_| json!([{"op": "replace", "path": "/status/conditions/0", "value": condition("True")}])),
                PatchStatus(|_| json!([{"op": "remove", "path": "/status/conditions/0"}])),
            ],
        ),
        (
            "a write that changes nothing",
            vec![
                Create,
                PatchStatus(observes),
                PatchStatus(|object| json!([{"op": "add", "path": "/status", "value": object["status"]}])),
            ],
        ),
        (
            "the status ignores the rest",
            vec![
                Create,
                PatchStatus(|_| {
                    json!([{"op": "replace", "path": "/spec/upstream", "value": "127.0.0.1:8"},
                        {"op": "add", "path": "/metadata/labels", "value": {"alpha": "yes"}},
                        {"op": "add", "path": "/status", "value": {"conditions": [condition("False")]}}])
                }),
            ],
        ),
        (
            "the rest ignores the status",
            vec![
                Create,
                PatchObject(|_| {
                    json!([{"op": "add", "path": "/metadata/labels", "value": {"alpha": "yes"}},
                        {"op": "add", "path": "/status", "value": {"conditions": [condition("False")]}}])
                }),
            ],
        ),
        (
            "an edit of the spec counts",
            vec![
                Create,
                PatchStatus(observes),
                Edit(|object| object["spec"]["upstream"] = json!("127.0.0.1:8")),
                PatchObject(|_| json!([{"op": "replace", "path": "/spec/upstream", "value": "127.0.0.1:7"}])),
                Edit(|object| object["metadata"]["labels"] = json!({"alpha": "yes"})),
                Edit(|_| ()),
            ],
        ),
        (
            "a deleted object is written",
            vec![
                Create,
                Edit(holds),
                Delete,
                PatchStatus(observes),
                Edit(|object| object["spec"]["upstream"] = json!("127.0.0.1:8")),
            ],
        ),
    ]
}

/// Performs the request on the API server of the histories. Returns the status code.
fn pretend(api: &mut ApiServer, request: Request) -> u16 {
    let current = api.objects.get(NAME).cloned().unwrap_or_default();
    let patched = |api: &mut ApiServer, patch: Value, status: bool| {
        let patch = serde_json::from_value(patch).unwrap_or_default();
        match api.patch(NAME, &patch, status) {
            Ok(_) => 200,
            Err(Refusal::Gone) => 404,
            Err(Refusal::Moved | Refusal::Refused) => 422,
            Err(Refusal::Unavailable) => 503,
        }
    };
    match request {
        Create => {
            if api.create(NAME, spec(), Value::Null) {
                201
            } else {
                409
            }
        }
        Delete => {
            if api.delete(NAME) {
                200
            } else {
                404
            }
        }
        Edit(change) => {
            api.edit(NAME, change);
            200
        }
        PatchObject(patch) => patched(api, patch(&current), false),
        PatchStatus(patch) => patched(api, patch(&current), true),
    }
}

/// Performs the request on the real API server. Returns the status code.
async fn ask(world: &World, name: &str, request: Request) -> Result<u16> {
    let (proxies, current) = (world.proxies(), world.proxy(name).await?.unwrap_or_default());
    let patch =
        |patch: fn(&Value) -> Value| -> Result<Patch<()>> { Ok(Patch::Json(serde_json::from_value(patch(&current))?)) };
    let parameters = PatchParams::default();
    let (usual, answer) = match request {
        Create => {
            let document = json!({"apiVersion": format!("{}/v1", world.group()), "kind": "Proxy",
                "metadata": {"name": name}, "spec": spec()});
            (201, proxies.create(&PostParams::default(), &serde_json::from_value(document)?).await.map(drop))
        }
        Delete => (200, proxies.delete(name, &DeleteParams::default()).await.map(drop)),
        Edit(change) => {
            let mut edited = current.clone();
            change(&mut edited);
            let edited = serde_json::from_value(edited)?;
            (200, proxies.replace(name, &PostParams::default(), &edited).await.map(drop))
        }
        PatchObject(made) => (200, proxies.patch(name, &parameters, &patch(made)?).await.map(drop)),
        PatchStatus(made) => (200, proxies.patch_status(name, &parameters, &patch(made)?).await.map(drop)),
    };
    match answer {
        Ok(()) => Ok(usual),
        Err(kube::Error::Api(status)) => Ok(status.code),
        Err(error) => Err(error.into()),
    }
}

#[tokio::test]
async fn the_api_server_answers_as_the_real_one() -> Result<()> {
    World::run("conformance", async |world| {
        let mut differences = Vec::new();
        for (row, (what, requests)) in rows().into_iter().enumerate() {
            let (mut api, name) = (ApiServer::default(), format!("row-{row}"));
            // The last object of the name on each side, present or gone.
            let mut last = (None, None);
            for (step, request) in requests.into_iter().enumerate() {
                let codes = (pretend(&mut api, request), ask(world, &name, request).await?);
                let now = (api.objects.get(NAME).cloned(), world.proxy(&name).await?);
                let ours = now.0.as_ref().map(|object| facts(last.0.as_ref(), object));
                let real = now.1.as_ref().map(|object| facts(last.1.as_ref(), object));
                if codes.0 != codes.1 || ours != real {
                    differences.push(format!("{what}, request {step}: {codes:?}\n  ours {ours:?}\n  real {real:?}"));
                }
                last = (now.0.or(last.0), now.1.or(last.1));
            }
        }
        ensure!(differences.is_empty(), "{}", differences.join("\n"));
        Ok(())
    })
    .await
}
