//! The API server lets each program write its own part of a DriftReport, and nobody else any part.
//!
//! Every write is a dry run on one stored report, so that no row of a table depends on another.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{GROUP, REPORT_API_VERSION, REPORT_KIND, REPORT_PLURAL};
use drift_e2e::cluster::control_plane::controllers::OF_ROLES;
use drift_e2e::programs::Which;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, right};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

const NAME: &str = "queue.rabbitmq.com.orders.3f2a9c71";
const STRANGER: &str = "only drift-poller and drift-controller may write a DriftReport";
const NOT_THE_POLLERS: &str = "the poller may change driftObserved only";
const NOT_THE_CONTROLLERS: &str = "the controller may change driftCorrected only";
const ITS_CONDITION: &str = "the controller may change its condition only";
/// A ServiceAccount of the objects' namespace that may do everything there, with the name of the poller's.
const IMPOSTOR: &str = "drift-poller";

/// What `kubectl wait` waits for in the reference.
const STATUS: &str = "--for=condition=driftObserved";

/// A request to the API server.
#[derive(Clone, Debug)]
enum Write {
    Create(Value),
    Merge(Value),
    Delete,
}

/// A write, and words of its refusal. `None` if it is allowed.
type Row = (Write, Option<&'static str>);

fn entry(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Test", "message": "of a test [generation 1]",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn observed(status: &str) -> Value {
    entry("driftObserved", status)
}

fn corrected(status: &str) -> Value {
    entry("driftCorrected", status)
}

fn object(uid: &str) -> Value {
    json!({"apiVersion": "rabbitmq.com/v1beta1", "kind": "Queue", "name": "orders", "uid": uid})
}

fn report(name: &str, status: &Value) -> Value {
    json!({"apiVersion": REPORT_API_VERSION, "kind": REPORT_KIND, "metadata": {"name": name}, "object": object("u"),
        "status": status})
}

/// A change of the conditions and nothing else.
fn conditions(entries: &[Value]) -> Write {
    Write::Merge(json!({"status": {"conditions": entries}}))
}

fn create(status: &Value) -> Write {
    Write::Create(report("another", status))
}

/// Replaces the report by one about another object of the same name.
fn of_another(entries: &[Value], fields: &Value) -> Write {
    Write::Merge(json!({"object": {"uid": "v"}, "status": {"conditions": entries, "fields": fields}}))
}

fn metadata(metadata: Value) -> Write {
    Write::Merge(json!({"metadata": metadata}))
}

fn reports(world: &World, client: kube::Client) -> Result<Api<DynamicObject>> {
    let (group, version) = REPORT_API_VERSION.split_once('/').context("no group")?;
    let kind = GroupVersionKind::gvk(group, version, REPORT_KIND);
    Ok(Api::namespaced_with(
        client,
        world.objects_namespace(),
        &ApiResource::from_gvk_with_plural(&kind, REPORT_PLURAL),
    ))
}

async fn reports_as(world: &World, namespace: &str, account: &str) -> Result<Api<DynamicObject>> {
    let access = world.control_plane().service_account(namespace, account).await?;
    reports(world, access.client().await?)
}

async fn reports_of(world: &World, which: Which) -> Result<Api<DynamicObject>> {
    reports_as(world, world.programs_namespace(), which.name()).await
}

/// Returns the API server's refusal of a write that is not kept.
async fn refusal(reports: &Api<DynamicObject>, write: &Write) -> Result<Option<String>> {
    let patching = PatchParams { dry_run: true, ..PatchParams::default() };
    let creating = PostParams { dry_run: true, ..PostParams::default() };
    let deleting = DeleteParams { dry_run: true, ..DeleteParams::default() };
    let answer = match write {
        Write::Create(report) => reports.create(&creating, &serde_json::from_value(report.clone())?).await.map(drop),
        Write::Merge(patch) => reports.patch(NAME, &patching, &Patch::Merge(patch)).await.map(drop),
        Write::Delete => reports.delete(NAME, &deleting).await.map(drop),
    };
    Ok(answer.err().map(|error| error.to_string()))
}

async fn ensure_answers(who: &str, reports: &Api<DynamicObject>, rows: &[Row]) -> Result<()> {
    for (write, words) in rows {
        let said = refusal(reports, write).await?;
        let is_expected = match words {
            Some(words) => said.as_ref().is_some_and(|said| said.contains(words)),
            None => said.is_none(),
        };
        ensure!(is_expected, "{who}, {write:?}: expected {words:?}, was {said:?}");
    }
    Ok(())
}

/// Writes a report with both conditions as the programs do, once the rights and the policy are active.
async fn furnish(world: &World) -> Result<()> {
    for which in [Which::Poller, Which::Controller] {
        for verb in ["create", "report"] {
            world.wait_for_right(which, right(GROUP, REPORT_PLURAL, verb, world.objects_namespace()), true).await?;
        }
    }
    let stranger = reports(world, world.client())?;
    wait::until("the admission policy to be active", wait::DEADLINE, async || {
        let said = refusal(&stranger, &create(&json!({}))).await?.unwrap_or_else(|| "it was taken".to_owned());
        Ok(if said.contains(STRANGER) { Seen::Met(()) } else { Seen::Instead(said) })
    })
    .await?;
    let written = report(NAME, &json!({"fields": "/durable", "conditions": [observed("True")]}));
    let poller = reports_of(world, Which::Poller).await?;
    poller.create(&PostParams::default(), &serde_json::from_value(written)?).await.context("the poller's report")?;
    let both = Patch::Merge(json!({"status": {"conditions": [observed("True"), corrected("True")]}}));
    let controller = reports_of(world, Which::Controller).await?;
    controller.patch(NAME, &PatchParams::default(), &both).await.context("the controller's condition")?;
    Ok(())
}

/// Creates an account that holds everything in the objects' namespace, as a tenant can.
async fn create_impostor(world: &World) -> Result<Api<DynamicObject>> {
    let namespace = world.objects_namespace();
    let metadata = json!({"name": IMPOSTOR, "namespace": namespace});
    let rbac = "rbac.authorization.k8s.io";
    let rule = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
    let subject = json!({"kind": "ServiceAccount", "name": IMPOSTOR, "namespace": namespace});
    let role = json!({"apiGroup": rbac, "kind": "Role", "name": IMPOSTOR});
    for document in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": metadata, "rules": [rule]}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": metadata, "roleRef": role,
            "subjects": [subject]}),
    ] {
        world.apply(&document).await?;
    }
    let reports = reports_as(world, namespace, IMPOSTOR).await?;
    wait::until("its rights", wait::DEADLINE, async || {
        let found = reports.get_opt(NAME).await;
        Ok(found.map_or_else(|error| Seen::Instead(error.to_string()), |_| Seen::Met(())))
    })
    .await?;
    Ok(reports)
}

fn rows_of_poller() -> Vec<Row> {
    let both = [observed("False"), corrected("True")];
    vec![
        (Write::Merge(json!({"status": {"conditions": both, "fields": null}})), None),
        (Write::Merge(json!({"object": {"apiVersion": "rabbitmq.com/v1"}})), None),
        (metadata(json!({"ownerReferences": [object("u")], "labels": {"a": "b"}})), None),
        (of_another(&[observed("True")], &json!("/type")), None),
        (of_another(&both, &json!("/type")), Some(NOT_THE_POLLERS)),
        (conditions(&[corrected("True")]), None),
        (conditions(&[observed("True")]), Some(NOT_THE_POLLERS)),
        (conditions(&[observed("True"), corrected("False")]), Some(NOT_THE_POLLERS)),
        (conditions(&[observed("True"), corrected("True"), entry("Ready", "True")]), Some(NOT_THE_POLLERS)),
        (Write::Merge(json!({"status": null})), Some(NOT_THE_POLLERS)),
        (create(&json!({"conditions": [observed("True")], "fields": "/type"})), None),
        (create(&json!({"conditions": [corrected("True")]})), Some(NOT_THE_POLLERS)),
        (Write::Delete, None),
    ]
}

fn rows_of_controller() -> Vec<Row> {
    let both = [observed("True"), corrected("False")];
    vec![
        (conditions(&both), None),
        (conditions(&[observed("True")]), None),
        (conditions(&[corrected("True")]), Some(NOT_THE_CONTROLLERS)),
        (conditions(&[observed("False"), corrected("True")]), Some(NOT_THE_CONTROLLERS)),
        (Write::Merge(json!({"status": null})), Some(NOT_THE_CONTROLLERS)),
        (Write::Merge(json!({"status": {"fields": "/type"}})), Some(ITS_CONDITION)),
        (Write::Merge(json!({"object": {"name": "other"}})), Some(ITS_CONDITION)),
        (metadata(json!({"labels": {"a": "b"}})), Some(ITS_CONDITION)),
        (metadata(json!({"ownerReferences": [object("u")]})), Some(ITS_CONDITION)),
        (of_another(&[corrected("True")], &Value::Null), None),
        (of_another(&both, &Value::Null), Some(NOT_THE_CONTROLLERS)),
        (of_another(&[corrected("True")], &json!("/type")), Some(ITS_CONDITION)),
        (create(&json!({"conditions": [corrected("True")]})), None),
        (create(&json!({"conditions": [observed("True")]})), Some(NOT_THE_CONTROLLERS)),
        (create(&json!({"conditions": [corrected("True")], "fields": "/type"})), Some(ITS_CONDITION)),
        (Write::Delete, Some("cannot delete resource")),
    ]
}

/// The garbage collector removes an ownerReference with `--cascade=orphan`, and a person may delete a report.
fn rows_of_strangers() -> Vec<Row> {
    vec![
        (create(&json!({"conditions": [observed("True")]})), Some(STRANGER)),
        (create(&json!({})), Some(STRANGER)),
        (conditions(&[observed("False"), corrected("True")]), Some(STRANGER)),
        (conditions(&[observed("True")]), Some(STRANGER)),
        (Write::Merge(json!({"status": null})), Some(STRANGER)),
        (Write::Merge(json!({"status": {"fields": null}})), Some(STRANGER)),
        (Write::Merge(json!({"object": {"uid": "v"}})), Some(STRANGER)),
        (metadata(json!({"ownerReferences": null})), None),
        (metadata(json!({"labels": {"a": "b"}, "finalizers": ["example.org/other"]})), None),
        (Write::Delete, None),
    ]
}

#[tokio::test]
async fn each_writes_its_part_of_a_report() -> Result<()> {
    World::run("report writers", async |world| {
        furnish(world).await?;
        ensure_answers("the poller", &reports_of(world, Which::Poller).await?, &rows_of_poller()).await?;
        ensure_answers("the controller", &reports_of(world, Which::Controller).await?, &rows_of_controller()).await?;
        ensure_answers("a person with all rights", &reports(world, world.client())?, &rows_of_strangers()).await?;
        ensure_answers("a tenant's account", &create_impostor(world).await?, &rows_of_strangers()).await
    })
    .await
}

#[tokio::test]
async fn kubectl_shows_and_awaits_a_report() -> Result<()> {
    World::run("report columns", async |world| {
        furnish(world).await?;
        let kubectl = world.control_plane().kubectl();
        let namespace = world.objects_namespace();
        let selector = "object.kind=Queue,object.name=orders";
        let listed = ["get", REPORT_PLURAL, "-n", namespace, "--field-selector", selector];
        let table = kubectl.run(&listed).await?.output;
        let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let headings = ["NAME", "KIND", "NAME", "DRIFT", "REASON", "SINCE", "FIELDS", "CORRECTED"];
        ensure!(lines.next().as_deref() == Some(headings.as_slice()), "{table}");
        let mut row = lines.next().context("no row")?;
        row.remove(5);
        ensure!(row == [NAME, "Queue", "orders", "True", "Test", "/durable", "Test"], "{table}");
        let none = kubectl.run(&["get", REPORT_PLURAL, "-n", namespace, "--field-selector", "object.name=x"]).await?;
        ensure!(none.output.is_empty(), "{}", none.output);
        let waited = ["wait", REPORT_PLURAL, "-n", namespace, "--field-selector", selector];
        kubectl.run(&[waited.as_slice(), &["--timeout=10s", &format!("{STATUS}=True")]].concat()).await?;
        let other = kubectl.run(&[waited.as_slice(), &["--timeout=1s", &format!("{STATUS}=False")]].concat()).await;
        ensure!(other.is_err(), "it waited for True: {other:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_report_names_its_object() -> Result<()> {
    World::run("report schema", async |world| {
        furnish(world).await?;
        let poller = reports_of(world, Which::Poller).await?;
        let mut missing = BTreeMap::new();
        for field in ["apiVersion", "kind", "name", "uid"] {
            let mut without = report("another", &json!({}));
            without["object"].as_object_mut().context("no object")?.remove(field);
            missing.insert(format!("object.{field}: Required value"), without);
        }
        for field in ["type", "status", "reason", "message", "lastTransitionTime"] {
            let mut entry = observed("True");
            entry.as_object_mut().context("no condition")?.remove(field);
            let without = report("another", &json!({"conditions": [entry]}));
            missing.insert(format!("status.conditions[0].{field}: Required value"), without);
        }
        for (words, report) in missing {
            let said = refusal(&poller, &Write::Create(report)).await?.unwrap_or_default();
            ensure!(said.contains(&words), "{words}: {said:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn whoever_may_view_a_namespace_sees_its_reports() -> Result<()> {
    World::run("report viewers", async |world| {
        world.control_plane().start_controllers(OF_ROLES).await?;
        let namespace = world.objects_namespace();
        let metadata = json!({"name": "viewer", "namespace": namespace});
        world.apply(&json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})).await?;
        let rbac = "rbac.authorization.k8s.io";
        world
            .apply(&json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "view"},
                "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}]}))
            .await?;
        let reports = reports_as(world, namespace, "viewer").await?;
        wait::until("the role view to have reports", wait::DEADLINE, async || {
            let found = reports.list(&kube::api::ListParams::default()).await;
            Ok(found.map_or_else(|error| Seen::Instead(error.to_string()), |_| Seen::Met(())))
        })
        .await?;
        let said = refusal(&reports, &Write::Create(report("another", &json!({})))).await?.unwrap_or_default();
        ensure!(said.contains("cannot create resource"), "{said:?}");
        Ok(())
    })
    .await
}
