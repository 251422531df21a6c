//! Every right in the manifests is needed: without one a program reports it, is not ready, and continues to run.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::cluster::kubectl::Kubectl;
use drift_e2e::manifests;
use drift_e2e::programs::{Options, Which};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, right};
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
/// Missing rights are checked again every 30 s. The rest is for a busy machine.
const GRANTED_WITHIN: Duration = Duration::from_secs(60);

/// One verb of one rule of one role.
struct Grant {
    role: DynamicObject,
    kind: &'static str,
    rule: usize,
    verb: String,
}

impl Grant {
    fn rule(&self) -> &Value {
        &self.role.data["rules"][self.rule]
    }

    /// Returns the role without this verb. An empty rule is removed.
    fn removed(&self) -> DynamicObject {
        let mut role = self.role.clone();
        let rules = &mut role.data["rules"];
        if let Some(verbs) = rules[self.rule]["verbs"].as_array_mut() {
            verbs.retain(|verb| verb != &self.verb);
            if verbs.is_empty()
                && let Some(rules) = rules.as_array_mut()
            {
                rules.remove(self.rule);
            }
        }
        role
    }

    /// The same as a question to the API server.
    fn attributes(&self, world: &World) -> ResourceAttributes {
        let first = |list: &str| self.rule()[list][0].as_str().unwrap_or_default();
        let namespace = if self.kind == "Role" { world.programs_namespace() } else { world.objects_namespace() };
        let name = self.rule()["resourceNames"][0].as_str().map(str::to_owned);
        ResourceAttributes { name, ..right(first("apiGroups"), first("resources"), &self.verb, namespace) }
    }

    /// Returns the rule that a program asks for in its message about this right.
    fn sentence(&self) -> String {
        let first = |list: &str| self.rule()[list][0].as_str().unwrap_or_default();
        let (group, resource) = (first("apiGroups"), first("resources"));
        let name = Some(first("resourceNames")).filter(|name| !name.is_empty());
        let name = name.map(|name| format!(", resourceNames: [{name}]")).unwrap_or_default();
        format!("{{apiGroups: [\"{group}\"], resources: [{resource}]{name}, verbs: [{}]}}", self.verb)
    }

    /// Returns true for the poller's right to read the controller's Lease. Only the status page needs it and says so.
    fn is_for_the_page(&self) -> bool {
        self.rule()["resourceNames"] == json!([Which::Controller.name()])
            && self.verb == "get"
            && self.role.metadata.name.as_deref() == Some(Which::Poller.name())
    }

    /// Returns true for the right to read CustomResourceDefinitions. Only a target needs it that names another version than
    /// the stored one, and its refusal says so: see `versions`.
    fn is_for_versions(&self) -> bool {
        self.rule()["resources"] == json!(["customresourcedefinitions"])
    }

    fn words(&self) -> String {
        format!("{} {}", self.verb, self.rule()["resources"][0].as_str().unwrap_or_default())
    }
}

/// Returns the rights of a program's ServiceAccount in this world.
async fn grants(world: &World, which: Which) -> Result<Vec<Grant>> {
    let mut grants = Vec::new();
    for (kind, namespace) in [("Role", Some(world.programs_namespace())), ("ClusterRole", None)] {
        let bindings = world.api(RBAC, &format!("{kind}Binding"), namespace)?.list(&ListParams::default()).await?;
        for binding in bindings.items.iter().filter(|binding| is_bound_to(binding, world, which)) {
            let name = binding.data["roleRef"]["name"].as_str().context("a binding without a role")?;
            let role = world.api(RBAC, kind, namespace)?.get(name).await?;
            for (rule, verb) in verbs(&role) {
                grants.push(Grant { role: role.clone(), kind, rule, verb });
            }
        }
    }
    Ok(grants)
}

fn is_bound_to(binding: &DynamicObject, world: &World, which: Which) -> bool {
    binding.data["subjects"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|subject| subject["namespace"] == world.programs_namespace() && subject["name"] == which.name())
}

fn verbs(role: &DynamicObject) -> Vec<(usize, String)> {
    let rules = role.data["rules"].as_array().into_iter().flatten().enumerate();
    rules
        .flat_map(|(rule, content)| {
            let verbs = content["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str);
            verbs.map(|verb| (rule, verb.to_owned())).collect::<Vec<_>>()
        })
        .collect()
}

async fn put(world: &World, kind: &str, role: &DynamicObject) -> Result<()> {
    let namespace = role.metadata.namespace.as_deref();
    let api: Api<DynamicObject> = world.api(RBAC, kind, namespace)?;
    let mut role = role.clone();
    let name = role.metadata.name.clone().context("a role without a name")?;
    role.metadata.resource_version = None;
    role.metadata.managed_fields = None;
    api.replace(&name, &PostParams::default(), &role).await.map(drop).context("replacing a role")
}

/// Starts the program without one right and waits for the message about it.
async fn start_without(world: &World, which: Which, grant: &Grant) -> Result<()> {
    put(world, grant.kind, &grant.removed()).await?;
    // A program that still finds all its rights checks them again only after a minute.
    world.wait_for_right(which, grant.attributes(world), false).await?;
    let program = world.start(which, Options { do_not_wait: true, ..Options::default() }).await?;
    let sentence = grant.sentence();
    wait::until(format!("{} to miss «{}»", which.name(), grant.words()), wait::DEADLINE, async || {
        if let Some(exit) = program.exit().await? {
            return Ok(Seen::Hopeless(format!("it ended: {exit:?}")));
        }
        let (status, text) = program.page("/readyz").await?;
        Ok(if status != 200 && text.contains(&sentence) {
            Seen::Met(())
        } else {
            Seen::Instead(format!("{status} {text}"))
        })
    })
    .await?;
    let exit = program.stop().await?;
    ensure!(exit.success(), "without «{}» it ended with {exit:?}", grant.words());
    put(world, grant.kind, &grant.role).await
}

/// Returns a target with reports in a namespace of its own. It nudges, so that the controller writes them, and no shipped
/// role lets it nudge a Proxy.
async fn reported(world: &World, shipped: Target) -> Result<Target> {
    let name = format!("{}-nudge", world.programs_namespace());
    let rule = json!({"apiGroups": [world.group()], "resources": ["proxies"], "verbs": ["nudge"]});
    let subject =
        json!({"kind": "ServiceAccount", "name": Which::Controller.name(), "namespace": world.programs_namespace()});
    world
        .apply(&json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}))
        .await?;
    world.apply(&json!({"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}, "subjects": [subject]})).await?;
    let nudge = json!({"annotations": {"operator.example/requested-at": "drift-${correction}"}});
    Ok(shipped
        .named("reported")
        .with("/spec/objects/namespaces", json!([format!("{}-reported", world.objects_namespace())]))
        .with("/spec/objects/conditions", json!("Report"))
        .with("/spec/correct", json!({"mode": "Correct", "settle": "1s", "nudge": nudge})))
}

async fn every_right_is_missed(world: &World, which: Which) -> Result<()> {
    let toxiproxy = world.start_toxiproxy().await?;
    let shipped = Target::shipped(world, toxiproxy.url())?;
    world.apply_targets(&[shipped.clone(), reported(world, shipped).await?]).await?;
    let grants = grants(world, which).await?;
    ensure!(grants.len() >= 10, "only {} grants were found", grants.len());
    for grant in grants.iter().filter(|grant| !grant.is_for_the_page() && !grant.is_for_versions()) {
        start_without(world, which, grant).await?;
    }
    world.start(which, Options::default()).await.map(drop)
}

#[tokio::test]
async fn the_poller_names_each_missing_right() -> Result<()> {
    World::run("poller rights", async |world| every_right_is_missed(world, Which::Poller).await).await
}

#[tokio::test]
async fn the_controller_names_each_missing_right() -> Result<()> {
    World::run("controller rights", async |world| every_right_is_missed(world, Which::Controller).await).await
}

#[tokio::test]
async fn a_kind_without_rights_gets_the_rules() -> Result<()> {
    World::run("no rules", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let group = format!("plain.{}", world.group());
        define_kind(world, &group).await?;
        let target = Target::shipped(world, toxiproxy.url())?.with("/spec/objects", json!({"apiVersion": format!("{group}/v1"), "kind": "Plain"}));
        world.apply_target(&target).await?;
        for which in [Which::Poller, Which::Controller] {
            world.start(which, Options { do_not_wait: true, ..Options::default() }).await?;
        }
        let rule = |resources: &str, verbs: &str| {
            format!("{{apiGroups: [\"{group}\"], resources: [{resources}], verbs: [{verbs}]}}")
        };
        let [status, poller, controller] = [
            rule("plains/status", "patch"),
            rule("plains", "get, list, watch"),
            rule("plains", "get, list, patch, watch"),
        ];
        let told = async |program: &str, wanted: &[&String]| {
            wait::until(format!("{program} to be told its rules"), wait::DEADLINE, async || {
                let events = world.events().await?;
                let notes = events.iter().filter(|event| event["reason"] == "RightsMissing" && event["regarding"]["name"] == "drift-targets");
                let notes: Vec<String> = notes.map(|event| event["note"].as_str().unwrap_or_default().to_owned()).collect();
                let is_it = |note: &&String| note.starts_with(program) && wanted.iter().all(|rule| note.contains(rule.as_str()));
                let said = notes.iter().filter(is_it).count() == 1 && notes.iter().all(|note| !note.contains("orbidden"));
                Ok(if said { Seen::Met(()) } else { Seen::Instead(format!("{notes:?}")) })
            })
            .await
        };
        told("drift-poller", &[&poller, &status]).await?;
        told("drift-controller", &[&controller, &status]).await?;
        let metadata = json!({"name": "one", "namespace": world.objects_namespace()});
        world.apply(&json!({"apiVersion": format!("{group}/v1"), "kind": "Plain", "metadata": metadata, "spec": {}})).await?;
        let get = world.run_command(&["get", "plains", "-A", "--targets-namespace", world.programs_namespace()]).await?;
        let is_told = get.output.contains(" RightsMissing ") && get.complaints.contains("drift-poller lacks rights");
        ensure!(get.code == 2 && is_told && get.complaints.contains(&poller), "{get:?}");
        // With these rules both programs report that they are sufficient.
        for (which, verbs) in [(Which::Poller, &poller), (Which::Controller, &controller)] {
            let rules: Vec<Value> = serde_saphyr::from_str(&format!("[{verbs}, {status}]"))?;
            let name = format!("{}-{}-plain", world.programs_namespace(), which.name());
            let subject = json!({"kind": "ServiceAccount", "name": which.name(), "namespace": world.programs_namespace()});
            world.apply(&json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})).await?;
            world.apply(&json!({"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}, "subjects": [subject]})).await?;
        }
        wait::until("both programs to have their rights", GRANTED_WITHIN, async || {
            let events = world.events().await?;
            let granted = events.iter().filter(|event| event["reason"] == "RightsGranted").count();
            Ok(if granted == 2 { Seen::Met(()) } else { Seen::Instead(format!("{granted} of 2")) })
        })
        .await
    })
    .await
}

/// A kind of the world's own that no role of the manifests names.
async fn define_kind(world: &World, group: &str) -> Result<()> {
    let text = json!({"type": "string"});
    let items = json!({"type": "object", "properties": {"type": text, "status": text, "reason": text, "message": text,
        "observedGeneration": {"type": "integer"}, "lastTransitionTime": text}});
    let status = json!({"type": "object", "properties": {"conditions": {"type": "array", "items": items}}});
    let spec =
        json!({"type": "object", "properties": {"listen": text, "upstream": text, "enabled": {"type": "boolean"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("plains.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "versions": [version],
            "names": {"kind": "Plain", "plural": "plains", "singular": "plain"}}});
    world.apply(&definition).await.map(drop)
}

#[tokio::test]
async fn every_right_of_both_accounts_is_recorded() -> Result<()> {
    World::run("can-i", async |world| {
        let mut record = String::new();
        for which in [Which::Poller, Which::Controller] {
            let access = world.control_plane().service_account(world.programs_namespace(), which.name()).await?;
            let kubeconfig = world.folder().join(format!("{}-can-i.kubeconfig", which.name()));
            access.write(&kubeconfig)?;
            let kubectl = Kubectl::new(&world.control_plane().binaries().kubectl, kubeconfig, world.folder());
            for namespace in [world.programs_namespace(), world.objects_namespace()] {
                let listed = list_rights(world, which, &kubectl, namespace).await?;
                let shown = if namespace == world.programs_namespace() { "its own namespace" } else { "any other" };
                record.push_str(&format!("{} in {shown}:\n{}\n", which.name(), table(world, &listed)));
            }
        }
        insta::assert_snapshot!("can_i", record);
        Ok(())
    })
    .await
}

/// Returns kubectl's list once the API server, which watches roles and bindings, knows all rights.
async fn list_rights(world: &World, which: Which, kubectl: &Kubectl, namespace: &str) -> Result<String> {
    let grants = grants(world, which).await?;
    let holds_here = |grant: &&Grant| grant.kind == "ClusterRole" || namespace == world.programs_namespace();
    let wanted: Vec<_> =
        grants.iter().filter(holds_here).map(|grant| (listed_name(grant.rule()), &grant.verb)).collect();
    wait::until(format!("all rights of {} to be known", which.name()), wait::DEADLINE, async || {
        let listed = kubectl.run(&["auth", "can-i", "--list", "--no-headers", "--namespace", namespace]).await?.output;
        // Several roles may have verbs on one resource.
        let is_listed = |(name, verb): &(String, &String)| {
            let mut words = listed.lines().map(|line| (line.split_whitespace().next(), verbs_in(line)));
            words.any(|(found, verbs)| found == Some(name.as_str()) && verbs.contains(&verb.as_str()))
        };
        let missing: Vec<_> = wanted.iter().filter(|one| !is_listed(one)).collect();
        Ok(if missing.is_empty() { Seen::Met(listed) } else { Seen::Instead(format!("no {missing:?} in {listed}")) })
    })
    .await
}

/// Returns kubectl's name of the first resource of a rule: `proxies.demo.driftpoller.dev/status`.
fn listed_name(rule: &Value) -> String {
    let first = |list: &str| rule[list][0].as_str().unwrap_or_default().to_owned();
    let (group, resource) = (first("apiGroups"), first("resources"));
    let (plural, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
    let dotted = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
    if subresource.is_empty() { dotted } else { format!("{dotted}/{subresource}") }
}

/// Returns the verbs of a line of kubectl's list, which are in its last brackets.
fn verbs_in(line: &str) -> Vec<&str> {
    let verbs = line.trim_end().rsplit_once('[').map_or("", |(_, verbs)| verbs.trim_end_matches(']'));
    verbs.split_whitespace().collect()
}

/// Returns a line with single spaces and its verbs in alphabetical order: those of several roles come in any.
fn with_sorted_verbs(line: &str) -> String {
    let start = line.rsplit_once('[').map_or("", |(start, _)| start);
    let mut verbs = verbs_in(line);
    verbs.sort_unstable();
    format!("{} [{}]", start.split_whitespace().collect::<Vec<_>>().join(" "), verbs.join(" "))
}

/// Returns kubectl's list without the rights of every account, sorted, with the shipped group's name.
fn table(world: &World, listed: &str) -> String {
    let rights = listed.lines().map(with_sorted_verbs);
    // Kubernetes 1.37 lets every ServiceAccount read the bundles of trusted certificates.
    let of_everybody = ["[/", "selfsubject", "clustertrustbundles.certificates.k8s.io "];
    let is_everybodys = |line: &String| of_everybody.iter().any(|start| line.starts_with(start));
    let mut rights: Vec<String> =
        rights.filter(|line| !is_everybodys(line)).map(|line| line.replace(world.group(), manifests::GROUP)).collect();
    rights.sort();
    rights.iter().map(|line| format!("  {line}\n")).collect()
}
