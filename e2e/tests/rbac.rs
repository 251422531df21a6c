//! `kubectl drift rbac` grants exactly the verbs that targets need: with all of them every loop closes, and without one
//! of them the loop that needs it does not.
//!
//! Each verb has its own namespace and target, so one pair of programs plays all of them in parallel.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{READABLE_LABEL, TRUE};
use drift_e2e::manifests::parse_stream;
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::systems::toxiproxy::ToxiproxyApi;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, right};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

const NAME: &str = "web";
const UPSTREAM: &str = "127.0.0.1:9";
/// A foreign value in its place.
const DRIFTED: &str = "127.0.0.1:10";
/// The annotation of a nudge.
const NUDGED: &str = "operator.example/requested-at";
/// Additional time for the loops that lack a verb, after the complete ones: more than two polls.
const SPARE: Duration = Duration::from_secs(8);
/// Verbs without which these loops still close, while the program reports them as missing. The poller reads objects
/// only after a conflict. Jobs are read by name only after a restart, and deleted only if held. Without a watch,
/// objects are listed repeatedly.
const NEEDED_ELSEWHERE: [&str; 5] = [
    "drift-poller get plains",
    "drift-poller watch plains",
    "drift-controller get jobs",
    "drift-controller delete jobs",
    "drift-controller watch secrets",
];

/// The way in which a target corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Http,
    Kubernetes,
    Nudge,
    Job,
}

/// A namespace with all rights of its target except one.
struct Case<'w> {
    world: &'w World,
    outside: &'w ToxiproxyApi,
    way: Way,
    namespace: String,
    roles: Vec<Value>,
    /// The removed right: program, verb, resource.
    lacks: Option<[String; 3]>,
}

fn group(world: &World) -> String {
    format!("plain.{}", world.group())
}

/// A kind that no shipped role names.
fn definition(world: &World) -> Value {
    let text = json!({"type": "string"});
    let items = json!({"type": "object", "properties": {"type": text, "status": text, "reason": text, "message": text,
        "observedGeneration": {"type": "integer"}, "lastTransitionTime": text}});
    let conditions = json!({"type": "array", "items": items});
    let status =
        json!({"type": "object", "properties": {"conditions": conditions, "address": text, "externalId": text}});
    let spec =
        json!({"type": "object", "required": ["listen", "upstream"], "properties": {"listen": text, "upstream": text}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("plains.{}", group(world))},
        "spec": {"group": group(world), "scope": "Namespaced", "versions": [version],
            "names": {"kind": "Plain", "plural": "plains", "singular": "plain"}}})
}

fn target(world: &World, url: &str, (way, namespace): (Way, &str)) -> Result<Target> {
    let name = "${self.metadata.namespace}";
    let objects = json!({"apiVersion": format!("{}/v1", group(world)), "kind": "Plain", "namespaces": [namespace]});
    let target = Target::shipped(world, url)?
        .named(namespace)
        .with("/spec/objects", objects)
        .with("/spec/identity", json!(name))
        // In a shared scope, a target that cannot be listed would block the creations of others.
        .with("/spec/scope", json!(namespace))
        .with("/spec/interval", json!("2s"))
        .with("/spec/compare/desired", json!({"listen": "${self.spec.listen}", "upstream": "${self.spec.upstream}"}))
        .with("/spec/read/http/url", json!(format!("{url}/proxies/{name}")))
        .with("/spec/correct", json!({"mode": "Correct", "limits": {"maxDriftedPercent": 100}}));
    Ok(match way {
        Way::Http => by_http(target, url),
        Way::Kubernetes => by_manifest(target),
        Way::Nudge => {
            let nudge = json!({"annotations": {NUDGED: "drift-${correction}"}});
            target.with("/spec/correct/settle", json!("1s")).with("/spec/correct/nudge", nudge)
        }
        Way::Job => by_job(target),
    })
}

/// Reads a Secret beside the object, and fields of the status that both programs write.
fn by_http(target: Target, url: &str) -> Target {
    let name = "${self.metadata.namespace}";
    let of_name = format!("{url}/proxies/{name}");
    let body = json!({"name": name, "listen": "${desired.listen}", "upstream": "${desired.upstream}", "enabled": true});
    let headers = json!({"x-token": "${secrets.token}"});
    let create = json!({"method": "POST", "url": format!("{url}/proxies"), "body": body, "headers": headers,
        "accept": [201], "store": {"externalId": "${response.body.name}"}});
    let update = json!({"method": "POST", "url": of_name, "body": "${desired}", "headers": headers});
    let delete = json!({"method": "DELETE", "url": of_name});
    target
        .with("/spec/secrets", json!({"token": {"fromObject": "token", "key": "token"}}))
        .with("/spec/publish", json!({"address": "${observed.listen}"}))
        .with("/spec/correct/http", json!({"create": [create], "update": [update], "delete": [delete]}))
}

fn by_manifest(target: Target) -> Target {
    let read = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "made", "observed": "${resource.?data}"});
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"upstream": "${desired.upstream}"}});
    target
        .with("/spec/read", json!({"kubernetes": read}))
        .with("/spec/compare", json!({"desired": {"upstream": "${self.spec.upstream}"}}))
        .without("/spec/base")
        .without("/spec/insecure")
        .with("/spec/correct/kubernetes", json!({"manifest": manifest, "delete": true}))
}

fn by_job(target: Target) -> Target {
    let container = json!({"name": "tool", "image": "registry.example/tool:1",
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}});
    let context = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    let pod = json!({"securityContext": context, "containers": [container]});
    let job = json!({"activeDeadlineSeconds": 300, "template": {"spec": pod}});
    target.with("/spec/correct/job", json!({"create": job, "update": job}))
}

/// Returns the documents that the command prints for a target.
async fn printed(world: &World, target: &Target) -> Result<Vec<Value>> {
    let [file, kinds] = ["target", "kinds"].map(|name| world.folder().join(format!("{}-{name}.yaml", target.name())));
    std::fs::write(&file, target.text()?)?;
    std::fs::write(&kinds, serde_saphyr::to_string(&definition(world))?)?;
    let [file, kinds] = [file, kinds].map(|path| path.display().to_string());
    let namespace = world.programs_namespace();
    let ended = world.run_command(&["rbac", "-f", &file, "-f", &kinds, "-n", namespace]).await?;
    ensure!(ended.code == 0 && ended.complaints.is_empty(), "{ended:?}");
    parse_stream(&ended.output)
}

/// Every verb of these roles, by the program that it is granted to.
fn verbs(roles: &[Value]) -> Vec<[String; 3]> {
    let mut verbs = Vec::new();
    for role in roles.iter().filter(|document| document["rules"].is_array()) {
        let name = role["metadata"]["name"].as_str().unwrap_or_default();
        let program = name.trim_end_matches("-targets").to_owned();
        for rule in role["rules"].as_array().into_iter().flatten() {
            let resource = rule["resources"][0].as_str().unwrap_or_default();
            let words = rule["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str);
            verbs.extend(words.map(|verb| [program.clone(), verb.to_owned(), resource.to_owned()]));
        }
    }
    verbs
}

/// Returns the documents without one verb. A rule without verbs is removed.
fn without(mut roles: Vec<Value>, [program, verb, resource]: &[String; 3]) -> Vec<Value> {
    let is_of = |role: &Value| role["metadata"]["name"] == format!("{program}-targets");
    for role in roles.iter_mut().filter(|role| is_of(role)) {
        let Some(rules) = role.get_mut("rules").and_then(Value::as_array_mut) else { continue };
        for rule in rules.iter_mut().filter(|rule| rule["resources"][0] == *resource) {
            rule["verbs"].as_array_mut().into_iter().for_each(|verbs| verbs.retain(|word| word != verb));
        }
        rules.retain(|rule| rule["verbs"].as_array().is_some_and(|verbs| !verbs.is_empty()));
    }
    roles
}

impl Case<'_> {
    fn words(&self) -> String {
        self.lacks.as_ref().map_or_else(|| format!("all of {:?}", self.way), |lacks| lacks.join(" "))
    }

    /// Creates the namespace, the roles, and the other objects of the case.
    async fn furnish(&self) -> Result<()> {
        let metadata = json!({"name": self.namespace});
        self.world.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await?;
        for document in &self.roles {
            self.world.apply(document).await?;
        }
        let metadata = json!({"name": "token", "namespace": self.namespace, "labels": {READABLE_LABEL: TRUE}});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"token": "t"}});
        self.world.apply(&secret).await.map(drop)
    }

    fn objects(&self) -> Result<Api<DynamicObject>> {
        self.world.api(&format!("{}/v1", group(self.world)), "Plain", Some(&self.namespace))
    }

    async fn object(&self) -> Result<Value> {
        let found = self.objects()?.get_opt(NAME).await?;
        Ok(found.map(serde_json::to_value).transpose()?.unwrap_or_default())
    }

    async fn create(&self) -> Result<()> {
        let listen = self.world.free_listen_address()?;
        if self.way == Way::Nudge {
            self.outside.create(&self.namespace, &listen, DRIFTED).await?;
        }
        let object = json!({"apiVersion": format!("{}/v1", group(self.world)), "kind": "Plain", "metadata": {"name": NAME},
            "spec": {"listen": listen, "upstream": UPSTREAM}});
        self.objects()?.create(&PostParams::default(), &serde_json::from_value(object)?).await.map(drop)?;
        Ok(())
    }

    /// Waits without a deadline until the object satisfies `wanted`. The caller decides when to stop.
    async fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<()> {
        wait::until(format!("{}: {what}", self.words()), wait::DEADLINE, async || {
            let object = self.object().await?;
            Ok(if wanted(&object) { Seen::Met(()) } else { Seen::Instead(object.to_string()) })
        })
        .await
    }

    async fn wait_in_sync(&self, what: &str) -> Result<()> {
        let is_in_sync =
            |object: &Value| condition(object, "driftObserved").is_some_and(|entry| entry["status"] == "False");
        self.wait(what, is_in_sync).await
    }

    async fn wait_outside(&self, upstream: Option<&str>) -> Result<()> {
        let what = format!("{}: {upstream:?} outside", self.words());
        wait::until(what, wait::DEADLINE, async || {
            let found = match self.way {
                Way::Kubernetes => {
                    let made = self.world.api("v1", "ConfigMap", Some(&self.namespace))?.get_opt("made").await?;
                    made.map(|made| made.data["data"]["upstream"].as_str().unwrap_or_default().to_owned())
                }
                _ => self.outside.proxy(&self.namespace).await?.map(|proxy| proxy.upstream),
            };
            Ok(if found.as_deref() == upstream { Seen::Met(()) } else { Seen::Instead(format!("{found:?}")) })
        })
        .await
    }

    async fn drift(&self) -> Result<()> {
        if self.way == Way::Kubernetes {
            let made = self.world.api("v1", "ConfigMap", Some(&self.namespace))?;
            let patch = Patch::Merge(json!({"data": {"upstream": DRIFTED}}));
            return made.patch("made", &PatchParams::default(), &patch).await.map(drop).context("changing it");
        }
        self.outside.update(&self.namespace, json!({"upstream": DRIFTED})).await.map(drop)
    }

    /// Runs the object's whole life, as far as the way works by itself.
    async fn close_loop(&self) -> Result<()> {
        match self.way {
            Way::Nudge => {
                let is_nudged = |object: &Value| object["metadata"]["annotations"][NUDGED].is_string();
                self.wait("a nudge", is_nudged).await
            }
            Way::Job => self.run_job().await,
            Way::Http | Way::Kubernetes => {
                self.wait_in_sync("made").await?;
                if self.way == Way::Http {
                    let are_written = |object: &Value| {
                        object["status"]["address"] == object["spec"]["listen"]
                            && object["status"]["externalId"] == self.namespace
                    };
                    self.wait("what is published and stored", are_written).await?;
                }
                self.drift().await?;
                self.wait_outside(Some(UPSTREAM)).await?;
                self.wait_in_sync("healed").await?;
                self.objects()?.delete(NAME, &DeleteParams::default()).await?;
                self.wait("gone", Value::is_null).await?;
                self.wait_outside(None).await
            }
        }
    }

    /// Plays the cluster for the single Job, and waits until its end is recorded.
    async fn run_job(&self) -> Result<()> {
        let jobs = self.world.api("batch/v1", "Job", Some(&self.namespace))?;
        let begun = wait::until(format!("{}: a Job", self.words()), wait::DEADLINE, async || {
            let found = jobs.list(&ListParams::default()).await?.items.into_iter().next();
            Ok(found.and_then(|job| job.metadata.name).map_or_else(|| Seen::Instead("none".to_owned()), Seen::Met))
        })
        .await?;
        let listen = self.object().await?["spec"]["listen"].as_str().context("a spec without listen")?.to_owned();
        self.outside.create(&self.namespace, &listen, UPSTREAM).await?;
        let at = "2026-01-01T00:00:00Z";
        let condition = |kind: &str| {
            json!({"type": kind, "status": "True", "reason": "CompletionsReached", "message": "", "lastTransitionTime": at,
                "lastProbeTime": at})
        };
        let conditions = [condition("SuccessCriteriaMet"), condition("Complete")];
        let status = json!({"startTime": at, "completionTime": at, "succeeded": 1, "conditions": conditions});
        jobs.patch_status(&begun, &PatchParams::default(), &Patch::Merge(json!({ "status": status }))).await?;
        self.wait_in_sync("healed by a Job").await
    }
}

/// One case with all rights and one without each of them.
async fn cases<'w>(world: &'w World, outside: &'w ToxiproxyApi, way: Way) -> Result<Vec<Case<'w>>> {
    let namespace = |number: usize| format!("{}-{way:?}-{number}", world.objects_namespace()).to_lowercase();
    let case = |(namespace, roles, lacks)| Case { world, outside, way, namespace, roles, lacks };
    let of = async |number: usize| printed(world, &target(world, outside.url(), (way, &namespace(number)))?).await;
    let all = of(0).await?;
    let is_of_way = |[_, verb, resource]: &&[String; 3]| match way {
        Way::Http => true,
        // Rights that every kind needs are tested there.
        Way::Kubernetes => resource == "configmaps",
        Way::Nudge => verb == "nudge",
        Way::Job => resource == "jobs",
    };
    let mut cases = Vec::new();
    for (number, lacks) in verbs(&all).iter().filter(is_of_way).enumerate() {
        let number = number + 1;
        // The same roles in another namespace.
        let text = serde_json::to_string(&all)?.replace(&namespace(0), &namespace(number));
        cases.push(case((namespace(number), without(serde_json::from_str(&text)?, lacks), Some(lacks.clone()))));
    }
    cases.push(case((namespace(0), all, None)));
    Ok(cases)
}

/// Waits until the programs report the missing rights of all these cases.
async fn told(programs: &[(Which, Arc<Program>)], cases: &[Case<'_>]) -> Result<()> {
    for (which, program) in programs {
        // Rights on the objects' kind and for corrections. Missing rights on `read.kubernetes` and Secrets appear only
        // as failures.
        let wanted: BTreeSet<String> = cases
            .iter()
            .filter_map(|case| Some((case, case.lacks.as_ref()?)))
            .filter(|(_, [account, _, resource])| account == which.name() && resource != "secrets")
            .filter(|(_, [_, _, resource])| *which == Which::Controller || resource != "configmaps")
            .map(|(case, [_, verb, resource])| (verb, resource, &case.namespace))
            .map(|(verb, resource, namespace)| format!("{namespace} add/resources: [{resource}], verbs: [{verb}]"))
            .collect();
        wait::until(format!("{} to say what it lacks", which.name()), wait::DEADLINE, async || {
            let (_, page) = program.page("/readyz").await?;
            let is_told = |sentence: &&String| {
                let (place, right) = sentence.split_once("/").unwrap_or_default();
                page.split(';').any(|part| part.contains(place) && part.contains(right))
            };
            let untold: Vec<_> = wanted.iter().filter(|sentence| !is_told(sentence)).collect();
            Ok(if untold.is_empty() { Seen::Met(()) } else { Seen::Instead(format!("untold: {untold:?} in {page}")) })
        })
        .await?;
    }
    Ok(())
}

/// Checks the controller's log, the only report of Secrets that it may not list or watch.
fn told_of_secrets(programs: &[(Which, Arc<Program>)], cases: &[Case<'_>]) -> Result<()> {
    let (_, controller) = programs.last().context("no program")?;
    let log = controller.log_text()?;
    for case in cases.iter().filter(|case| case.lacks.as_ref().is_some_and(|[_, _, resource]| resource == "secrets")) {
        let of_case =
            |line: &&str| line.contains("cannot be watched") && line.contains(&format!("/{}/secrets", case.namespace));
        ensure!(log.lines().any(|line| of_case(&line)), "{}: nothing in its log", case.words());
    }
    Ok(())
}

/// Creates everything before the programs start.
async fn furnish(world: &World, outside: &ToxiproxyApi, cases: &[Case<'_>]) -> Result<()> {
    let mut targets = Vec::new();
    for case in cases {
        case.furnish().await?;
        targets.push(target(world, outside.url(), (case.way, &case.namespace))?);
    }
    world.apply_targets(&targets).await?;
    // The API server watches roles and bindings, so it learns of the last ones last.
    let last = cases.last().context("no case")?;
    world.wait_for_right(Which::Controller, right("batch", "jobs", "create", &last.namespace), true).await
}

async fn start(world: &World) -> Result<Vec<(Which, Arc<Program>)>> {
    let mut programs = Vec::new();
    for which in [Which::Poller, Which::Controller] {
        // Without their rights they never become ready.
        let options = Options { do_not_wait: true, ..Options::default() };
        programs.push((which, world.start(which, options).await?));
    }
    Ok(programs)
}

/// Plays all loops until the complete ones have closed and everything is reported. Returns the closed ones.
async fn play(cases: &[Case<'_>], programs: &[(Which, Arc<Program>)]) -> Result<BTreeSet<String>> {
    let closed = Mutex::new(BTreeSet::new());
    let close = async |case: &Case<'_>| {
        case.close_loop().await?;
        closed.lock().unwrap_or_else(PoisonError::into_inner).insert(case.words());
        anyhow::Ok(())
    };
    let (whole, lacking): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.lacks.is_none());
    let others = async {
        futures::future::join_all(lacking.iter().map(|case| close(case))).await;
        std::future::pending::<()>().await;
    };
    let wholes = async {
        futures::future::try_join_all(whole.iter().map(|case| close(case))).await?;
        told(programs, cases).await?;
        told_of_secrets(programs, cases)?;
        tokio::time::sleep(SPARE).await;
        anyhow::Ok(())
    };
    tokio::select! {
        ended = wholes => ended?,
        () = others => {}
    }
    Ok(closed.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn each_verb_of_the_printed_roles_is_needed() -> Result<()> {
    World::run("rbac", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        world.apply(&definition(world)).await?;
        let mut all = Vec::new();
        for way in [Way::Http, Way::Kubernetes, Way::Nudge, Way::Job] {
            all.extend(cases(world, &toxiproxy, way).await?);
        }
        ensure!(all.len() > 20, "only {} verbs are printed", all.len());
        furnish(world, &toxiproxy, &all).await?;
        let programs = start(world).await?;
        for case in &all {
            case.create().await?;
        }
        let mut closed = play(&all, &programs).await?;
        closed.retain(|words| !NEEDED_ELSEWHERE.contains(&words.as_str()));
        let expected: BTreeSet<String> =
            all.iter().filter(|case| case.lacks.is_none()).map(|case| case.words()).collect();
        ensure!(closed == expected, "loops that closed: {closed:?}");
        Ok(())
    })
    .await
}
