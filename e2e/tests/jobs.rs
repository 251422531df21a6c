//! Corrections by Jobs: each Job is created once, found again by a later controller, and its end is recorded.
//!
//! No kubelet and no Job controller run here: the test plays both. It does the work of a Job's Pod with the given
//! variables, and writes the Job's end into its status in the form that the API server requires.

mod deaths;
mod tenants;
mod unseen;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{CORRECT_VERB, FINALIZER, JOB_OBJECT_LABEL};
use drift_e2e::programs::{Program, Which};
use drift_e2e::systems::toxiproxy::ToxiproxyApi;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, message, note, right};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const BEGAN: &str = "2026-01-01T00:00:00Z";
/// A value of an object that stays one text, whatever a shell or the kubelet would make of it.
const ODD: &str = "a\"; rm -rf / #$(TOKEN)\n- name: X";

fn target(world: &World, url: &str) -> Result<Target> {
    let job = |action: &str| {
        let variable = |name: &str, value: &str| json!({"name": name, "value": value});
        let env = [
            variable("ACTION", action),
            variable("NAME", "${self.metadata.name}"),
            variable("LISTEN", "${self.spec.listen}"),
            variable("UPSTREAM", "${self.spec.upstream}"),
            variable("ODD", "${self.metadata.?annotations[?'example.org/odd'].orValue('')}"),
        ];
        json!({"activeDeadlineSeconds": 300, "template": {"spec": {
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "tool", "image": "registry.example/tool:1", "args": [action], "env": env,
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}})
    };
    let jobs = json!({"create": job("create"), "update": job("update"), "delete": job("delete")});
    let target = Target::shipped(world, url)?;
    Ok(target.with("/spec/correct", json!({"mode": "Correct", "limits": {"maxDriftedPercent": 100}, "job": jobs})))
}

async fn grant_jobs(world: &World, verbs: &[&str]) -> Result<()> {
    let last = verbs.last().context("no verb")?;
    let name = format!("{}-jobs-{last}", world.programs_namespace());
    let rule = json!({"apiGroups": ["batch"], "resources": ["jobs"], "verbs": verbs});
    let account =
        json!({"kind": "ServiceAccount", "name": Which::Controller.name(), "namespace": world.programs_namespace()});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
    world
        .apply(&json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}))
        .await?;
    let binding = json!({"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": role, "subjects": [account]});
    world.apply(&binding).await?;
    world.wait_for_right(Which::Controller, right("batch", "jobs", last, world.objects_namespace()), true).await
}

/// The Jobs of the world, and the test's actions in place of a cluster.
struct Cluster<'w> {
    world: &'w World,
    jobs: Api<DynamicObject>,
    outside: ToxiproxyApi,
}

impl Cluster<'_> {
    async fn all(&self) -> Result<BTreeMap<String, Value>> {
        let jobs = self.jobs.list(&ListParams::default()).await?;
        jobs.into_iter()
            .map(|job| Ok((job.metadata.name.clone().context("a Job without name")?, serde_json::to_value(job)?)))
            .collect()
    }

    /// Returns the names of the unfinished Jobs.
    async fn open(&self) -> Result<Vec<String>> {
        let jobs = self.all().await?.into_iter();
        Ok(jobs.filter(|(_, job)| job["status"]["conditions"].is_null()).map(|(name, _)| name).collect())
    }

    /// Waits for the unfinished Job of this action.
    async fn begun(&self, action: &str) -> Result<Value> {
        wait::until(format!("a Job to {action}"), wait::DEADLINE, async || {
            let jobs = self.all().await?;
            let mut open = jobs.values().filter(|job| job["status"]["conditions"].is_null());
            let found = open.find(|job| variables(job).get("ACTION").is_some_and(|word| word == action)).cloned();
            Ok(found.map_or_else(|| Seen::Instead(format!("{:?}", jobs.keys())), Seen::Met))
        })
        .await
    }

    /// Does the work of the Job's Pod.
    async fn run(&self, job: &Value) -> Result<()> {
        let given = variables(job);
        let value = |name: &str| given.get(name).map(String::as_str).context("a variable is missing");
        match value("ACTION")? {
            "create" => self.outside.create(value("NAME")?, value("LISTEN")?, value("UPSTREAM")?).await.map(drop),
            "update" => self.outside.update(value("NAME")?, json!({"upstream": value("UPSTREAM")?})).await.map(drop),
            _ => self.outside.delete(value("NAME")?).await,
        }
    }

    /// Ends a Job, with the condition that announces the end, as the API server requires.
    async fn end(&self, job: &Value, before: &str, kind: &str, reason: &str) -> Result<()> {
        let condition = |kind: &str| {
            json!({"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": BEGAN,
                "lastProbeTime": BEGAN})
        };
        let mut status = json!({"startTime": BEGAN, "conditions": [condition(before), condition(kind)]});
        if kind == "Complete" {
            status["completionTime"] = json!(BEGAN);
            status["succeeded"] = json!(1);
        }
        let name = job["metadata"]["name"].as_str().context("a Job without name")?;
        let patch = Patch::Merge(json!({ "status": status }));
        self.jobs.patch_status(name, &PatchParams::default(), &patch).await.map(drop).context("ending a Job")
    }

    async fn complete(&self, action: &str) -> Result<()> {
        let job = self.begun(action).await?;
        self.run(&job).await?;
        self.end(&job, "SuccessCriteriaMet", "Complete", "CompletionsReached").await
    }
}

/// Returns a Job with the object's label, owned by the object or by no object.
fn labelled(name: &str, object: &Value, is_owned: bool) -> Value {
    let uid = &object["metadata"]["uid"];
    let owner = json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "name": "web", "uid": uid});
    let owners = if is_owned { vec![owner] } else { Vec::new() };
    let pod = json!({"restartPolicy": "Never", "automountServiceAccountToken": false,
        "containers": [{"name": "tool", "image": "registry.example/tool:1"}]});
    json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "labels": {JOB_OBJECT_LABEL: uid}, "ownerReferences": owners},
        "spec": {"suspend": is_owned, "template": {"spec": pod}}})
}

/// Checks that a held Job which never started blocks nothing: it is deleted, and the requested Job starts once it is
/// gone. A Job that only has the label does not count.
async fn a_held_job_makes_way(cluster: &Cluster<'_>, object: &Value) -> Result<()> {
    let mut held = labelled("held", object, true);
    // Replaces the finalizer that the garbage collector removes once no Pod is left.
    held["metadata"]["finalizers"] = json!(["example.org/pods"]);
    for job in [held, labelled("stranger", object, false)] {
        cluster.jobs.create(&PostParams::default(), &serde_json::from_value(job)?).await?;
    }
    cluster.outside.update("web", json!({"upstream": "127.0.0.1:11"})).await?;
    wait::until("the held Job to be deleted", wait::DEADLINE, async || {
        let held = cluster.all().await?.remove("held").context("it is gone")?;
        let deleted = held["metadata"].get("deletionTimestamp").is_some();
        Ok(if deleted { Seen::Met(()) } else { Seen::Instead(held.to_string()) })
    })
    .await?;
    ensure!(cluster.open().await? == ["held", "stranger"], "begun beside it: {:?}", cluster.open().await?);
    let gone = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    cluster.jobs.patch("held", &PatchParams::default(), &gone).await?;
    cluster.complete("update").await?;
    cluster.world.wait_until_verified("web").await?;
    ensure!(cluster.open().await? == ["stranger"], "{:?}", cluster.open().await?);
    Ok(())
}

/// Returns the API server's rejection of the controller's dry run, or an empty text.
async fn said(asked: impl Future<Output = kube::Result<DynamicObject>>) -> String {
    asked.await.err().map(|error| error.to_string()).unwrap_or_default()
}

async fn the_api_server_holds_the_controller_to_its_jobs(world: &World, object: &Value) -> Result<()> {
    let access = world.control_plane().service_account(world.programs_namespace(), Which::Controller.name()).await?;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("batch", "v1", "Job"));
    let jobs: Api<DynamicObject> = Api::namespaced_with(access.client().await?, world.objects_namespace(), &kind);
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    let create = async |job: &Value| -> Result<String> {
        Ok(said(jobs.create(&parameters, &serde_json::from_value(job.clone())?)).await)
    };
    let with_volume = |volume: Value| {
        let mut job = labelled("new", object, true);
        job["spec"]["template"]["spec"]["volumes"] = json!([volume]);
        job
    };
    let token = json!({"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}});
    for volume in [json!({"name": "v", "hostPath": {"path": "/"}}), token] {
        let words = create(&with_volume(volume.clone())).await?;
        ensure!(words.contains("mounts no path of the node and no token"), "{volume}: {words}");
    }
    let words = create(&with_volume(json!({"name": "v", "emptyDir": {}}))).await?;
    ensure!(words.is_empty(), "{words}");
    let unowned = labelled("new", object, false);
    let words = create(&unowned).await?;
    ensure!(words.contains("belongs to one object"), "{words}");

    // A Job that is an object of a target, or that a manifest makes.
    grant_jobs(world, &["patch"]).await?;
    let parameters = PatchParams { dry_run: true, ..PatchParams::default() };
    for (patch, expected) in
        [(json!({"finalizers": [FINALIZER]}), ""), (json!({"labels": {"a": "b"}}), "its finalizer only")]
    {
        let patch = Patch::Merge(json!({ "metadata": patch }));
        let words = said(jobs.patch("stranger", &parameters, &patch)).await;
        ensure!(words.contains(expected) && words.is_empty() == expected.is_empty(), "{patch:?}: {words}");
    }
    grant_jobs(world, &[CORRECT_VERB]).await?;
    let words = create(&unowned).await?;
    ensure!(words.is_empty(), "{words}");
    Ok(())
}

fn variables(job: &Value) -> BTreeMap<String, String> {
    let env = job["spec"]["template"]["spec"]["containers"][0]["env"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    env.map(|variable| (text(&variable["name"]), text(&variable["value"]))).collect()
}

/// Checks that the object and the controller report a Job that is not started. No controller of Jobs runs here.
async fn it_says_that_nobody_takes_it_up(cluster: &Cluster<'_>, controller: &Program) -> Result<()> {
    wait::until("the Job to count as not taken up", wait::DEADLINE, async || {
        let held = controller.metrics().await?.sum("drift_controller_held", &[("why", "JobNotTakenUp")]);
        Ok(if held == 1.0 { Seen::Met(()) } else { Seen::Instead(held.to_string()) })
    })
    .await?;
    let said = note(&cluster.world.proxy("web").await?.context("web is gone")?);
    ensure!((said.correction, said.claim.is_some()) == (1, true), "{said:?}");
    Ok(())
}

async fn story(cluster: &Cluster<'_>, controller: &Program) -> Result<()> {
    let world = cluster.world;
    let spec = json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"});
    let object = world.create_proxy_with("web", json!({"annotations": {"example.org/odd": ODD}}), spec).await?;
    let first = cluster.begun("create").await?;
    is_its_own(&first, &object)?;

    // The successor of a dead controller finds the Job and creates no other.
    let claimed = world.wait_for_note("web", "Unknown", "CorrectionStarted").await?;
    ensure!(note(&claimed).claim.is_some(), "{claimed}");
    controller.kill().await?;
    let controller = world.start_controller().await?;
    world.wait_for_note("web", "False", "CorrectionFailed").await?;
    cluster.complete("create").await?;
    world.wait_until_verified("web").await?;
    ensure!(cluster.all().await?.len() == 1, "{:?}", cluster.all().await?.keys());

    cluster.outside.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
    let failing = cluster.begun("update").await?;
    it_says_that_nobody_takes_it_up(cluster, &controller).await?;
    // The next Job is announced as soon as a poll has seen the result of this one.
    let history = world.watch_object("web").await?;
    cluster.end(&failing, "FailureTarget", "Failed", "DeadlineExceeded").await?;
    let name = failing["metadata"]["name"].as_str().unwrap_or_default();
    let failed = format!("update: the Job: {name}: it failed with DeadlineExceeded, and was not seen to be taken up");
    history.wait_for("the Job's failure", |object| message(object, "driftCorrected").contains(&failed)).await?;
    cluster.complete("update").await?;
    world.wait_until_verified("web").await?;

    a_held_job_makes_way(cluster, &object).await?;

    world.delete_proxy("web").await?;
    let deleting = cluster.begun("delete").await?;
    ensure!(
        world.proxy("web").await?.is_some_and(|object| object["metadata"]["finalizers"][0].is_string()),
        "{deleting}"
    );
    cluster.complete("delete").await?;
    world.wait_until_gone("web").await?;
    ensure!(cluster.outside.proxy("web").await?.is_none(), "it stays outside");
    ensure!(cluster.all().await?.len() == 6, "{:?}", cluster.all().await?.keys());
    the_api_server_holds_the_controller_to_its_jobs(world, &object).await
}

fn is_its_own(job: &Value, object: &Value) -> Result<()> {
    let owner = &job["metadata"]["ownerReferences"][0];
    ensure!(owner["uid"] == object["metadata"]["uid"] && owner["kind"] == "Proxy", "{job}");
    let spec = &job["spec"];
    ensure!(spec["activeDeadlineSeconds"] == 300 && spec["ttlSecondsAfterFinished"] == 3600, "{spec}");
    let pod = &spec["template"]["spec"];
    ensure!(pod["automountServiceAccountToken"] == false && pod["restartPolicy"] == "Never", "{pod}");
    let container = &pod["containers"][0];
    ensure!(container["env"].as_array().is_some_and(|env| env.len() == 5), "{container}");
    ensure!(container["env"][4] == json!({"name": "ODD", "value": ODD.replace('$', "$$")}), "{container}");
    Ok(())
}

#[tokio::test]
async fn jobs_correct_and_are_never_begun_twice() -> Result<()> {
    World::run("jobs", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        grant_jobs(world, &["create", "delete", "get", "list"]).await?;
        world.apply_target(&target(world, toxiproxy.url())?).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        let jobs = world.api("batch/v1", "Job", Some(world.objects_namespace()))?;
        story(&Cluster { world, jobs, outside: toxiproxy.api() }, &controller).await
    })
    .await
}
