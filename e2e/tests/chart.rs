//! The Helm chart renders the objects of the shipped kustomizations, and a real API server takes it.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::binaries::{self, Tool};
use drift_e2e::cluster::control_plane::ControlPlane;
use drift_e2e::cluster::kubectl::{Kubectl, Printed};
use drift_e2e::manifests;
use drift_e2e::pages::yaml_blocks;
use drift_e2e::process::run_folder;
use drift_language::{Catalogue, Texts};
use serde_json::{Value, json};

/// Labels of Helm, which kustomize does not set.
const LABELS_OF_HELM: [&str; 2] = ["app.kubernetes.io/managed-by", "helm.sh/chart"];
/// Annotation with which Helm keeps an object at an uninstall.
const KEPT: &str = "helm.sh/resource-policy";

struct Helm {
    program: Kubectl,
    chart: String,
}

impl Helm {
    async fn new() -> Result<Self> {
        Self::at(ControlPlane::shared().await?).await
    }

    async fn at(plane: &ControlPlane) -> Result<Self> {
        let chart = manifests::folder().join("../charts/drift-poller");
        let program = plane.kubectl().with_program(binaries::locate_one(Tool::Helm).await?);
        Ok(Self { program, chart: chart.to_str().context("no UTF-8")?.to_owned() })
    }

    /// Runs a command on the chart, as the release `drift`.
    async fn run(&self, command: &[&str], namespace: &str, values: &Value) -> Result<Printed> {
        let arguments = [command, &["drift", &self.chart, "--namespace", namespace, "--values", "-"]].concat();
        self.program.run_with_input(&arguments, &values.to_string()).await
    }

    async fn rendered(&self, values: &Value) -> Result<Vec<Value>> {
        manifests::parse_stream(&self.run(&["template"], manifests::NAMESPACE, values).await?.output)
    }
}

/// Returns what kustomize prints for some folders, without what the chart leaves out.
async fn kustomized(folders: &[&str]) -> Result<Vec<Value>> {
    let plane = ControlPlane::shared().await?;
    let mut documents = Vec::new();
    for folder in folders {
        let rendered = manifests::render(&plane.binaries().kubectl, &manifests::folder().join(folder))?;
        documents.extend(manifests::parse_stream(&rendered)?);
    }
    documents.retain(|each| !is_left_to_users(each));
    Ok(documents)
}

/// `helm install` needs the namespace first, and the kind of the demonstration is not for users.
fn is_left_to_users(document: &Value) -> bool {
    let kind = document["kind"].as_str().unwrap_or_default();
    kind == "Namespace" || kind == "CustomResourceDefinition" && document["metadata"]["name"] != manifests::REPORTS
}

/// Returns the values that give what the component `proxies` has.
async fn demonstration() -> Result<Value> {
    let documents = kustomized(&["components/proxies"]).await?;
    let find = |kind: &str, name: &str| {
        let found = documents.iter().find(|each| manifests::is(each, kind, name));
        found.with_context(|| format!("no {kind} {name}"))
    };
    let rules = |name: &str| Ok::<_, anyhow::Error>(find("ClusterRole", name)?["rules"].clone());
    Ok(json!({
        "targets": {"proxies": find("ConfigMap", manifests::TARGETS)?["data"]["proxies.yaml"]},
        "rights": {"poller": rules("drift-poller-kinds")?, "controller": rules("drift-controller-kinds")?},
        "networkPolicies": {"egress": {"to-proxies": find("NetworkPolicy", "to-proxies")?["spec"]["egress"]}},
    }))
}

fn sorted(mut documents: Vec<Value>) -> Vec<Value> {
    for labels in documents.iter_mut().filter_map(|each| each.pointer_mut("/metadata/labels")?.as_object_mut()) {
        labels.retain(|name, _| !LABELS_OF_HELM.contains(&name.as_str()));
    }
    for metadata in documents.iter_mut().filter_map(|each| each["metadata"].as_object_mut()) {
        if metadata.get("annotations").is_some_and(|annotations| *annotations == json!({KEPT: "keep"})) {
            metadata.remove("annotations");
        }
    }
    documents.sort_by_key(|each| format!("{} {}", each["kind"], each["metadata"]["name"]));
    documents
}

fn ensure_same(case: &str, rendered: Vec<Value>, expected: Vec<Value>) -> Result<()> {
    let (rendered, expected) = (sorted(rendered), sorted(expected));
    let names = |documents: &[Value]| -> Vec<String> {
        documents.iter().map(|each| format!("{} {}", each["kind"], each["metadata"]["name"])).collect()
    };
    ensure!(names(&rendered) == names(&expected), "{case}: {:#?}\n{:#?}", names(&rendered), names(&expected));
    for (one, other) in rendered.iter().zip(&expected) {
        ensure!(one == other, "{case}: the chart has\n{one:#}\nand kustomize\n{other:#}");
    }
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn the_chart_renders_what_kustomize_renders() -> Result<()> {
    let helm = Helm::new().await?;
    let shown = demonstration().await?;
    let with = |values: Value| {
        let mut all = shown.clone();
        json_patch::merge(&mut all, &values);
        all
    };
    let two = json!({"poller": {"replicas": 2}, "controller": {"replicas": 2},
        "priorityClass": {"create": true, "name": "drift-programs"}});
    let enabled = json!({"enabled": true});
    let observed = json!({"admission": {"conditionWriters": true},
        "monitoring": {"podMonitor": enabled, "rules": enabled, "dashboard": enabled}});
    let cases: [(&[&str], Value); 6] = [
        (&["base"], json!({})),
        (&["overlays/demo"], with(json!({}))),
        (&["overlays/production"], with(two)),
        (&["overlays/observe-only"], with(json!({"controller": {"enabled": false}}))),
        (&["overlays/webhooks"], with(json!({"hints": enabled}))),
        (&["base", "components/monitoring", "components/condition-writers"], observed),
    ];
    for (folders, values) in cases {
        ensure_same(&folders.join(" "), helm.rendered(&values).await?, kustomized(folders).await?)?;
    }
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn each_value_reaches_its_object() -> Result<()> {
    let helm = Helm::new().await?;
    let digest = format!("sha256:{}", "a".repeat(64));
    let values = json!({
        "images": {"registry": "registry.example/drift/", "tag": "1.2.3", "pullPolicy": "Always",
            "pullSecrets": [{"name": "registry"}], "controller": {"digest": digest}},
        "poller": {"extraArgs": ["--clean-up-after=30m"], "nodeSelector": {"disk": "ssd"}, "podAnnotations": null,
            "tolerations": [{"operator": "Exists"}], "affinity": {"nodeAffinity": {}},
            "resources": {"limits": {"memory": "1Gi"}}},
        "logging": {"level": "debug,hyper=info", "format": "json"},
        "projectedTokens": [{"path": "outside", "audience": "outside.example", "expirationSeconds": 3600}],
        "rights": {"poller": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}], "namespaces": ["a", "b"]},
        "networkPolicies": {"enabled": false}, "admission": {"enabled": false}, "clusterNameSuffix": "-b",
        "crds": {"enabled": false},
        "targets": {"dns": target()},
    });
    let documents = helm.rendered(&values).await?;
    let find = |kind: &str, name: &str| documents.iter().find(|each| manifests::is(each, kind, name)).context("none");
    let poller = &find("Deployment", "drift-poller")?["spec"]["template"];
    let (pod, container) = (&poller["spec"], &poller["spec"]["containers"][0]);
    ensure!(container["image"] == "registry.example/drift/drift-poller:1.2.3", "{container}");
    ensure!(container["imagePullPolicy"] == "Always" && container["resources"]["limits"]["memory"] == "1Gi");
    let args = ["run", "--admin-address=0.0.0.0:8080", "--log-level=debug,hyper=info", "--log-format=json"];
    ensure!(container["args"] == json!([args.as_slice(), &["--clean-up-after=30m"]].concat()), "{container}");
    ensure!(pod["imagePullSecrets"][0]["name"] == "registry" && pod["nodeSelector"]["disk"] == "ssd", "{pod}");
    ensure!(pod["tolerations"][0]["operator"] == "Exists" && pod["affinity"]["nodeAffinity"] == json!({}), "{pod}");
    ensure!(poller["metadata"]["annotations"].is_null(), "{poller}");
    let controller = find("Deployment", "drift-controller")?;
    let image = &controller["spec"]["template"]["spec"]["containers"][0]["image"];
    ensure!(*image == format!("registry.example/drift/drift-controller@{digest}"), "{image}");
    let component = manifests::folder().join("components/projected-tokens/controller.yaml");
    let component: Value = serde_saphyr::from_str(&std::fs::read_to_string(component)?)?;
    let expected = &component["spec"]["template"]["spec"];
    let pod = &controller["spec"]["template"]["spec"];
    ensure!(pod["volumes"] == expected["volumes"], "{pod}");
    ensure!(pod["containers"][0]["volumeMounts"] == expected["containers"][0]["volumeMounts"], "{pod}");
    for name in ["drift-poller-kinds-b", "drift-poller-reports-b", "drift-controller-reports-b"] {
        let bindings = documents.iter().filter(|each| manifests::is(each, "RoleBinding", name));
        let namespaces: Vec<&Value> = bindings.map(|each| &each["metadata"]["namespace"]).collect();
        ensure!(namespaces == ["a", "b"], "{name}: {namespaces:?}");
        ensure!(find("ClusterRole", name).is_ok() && find("ClusterRoleBinding", name).is_err(), "{name}");
    }
    ensure!(find("ClusterRoleBinding", "drift-reports-b")?["roleRef"]["name"] == "drift-reports-b");
    ensure!(find("ClusterRoleBinding", "drift-events-b")?["roleRef"]["name"] == "drift-events-b");
    let text = find("ConfigMap", manifests::TARGETS)?["data"]["dns.yaml"].as_str().context("no text")?;
    ensure!(manifests::parse_stream(text)?[0] == values["targets"]["dns"], "{text}");
    let unwanted = ["CustomResourceDefinition", "NetworkPolicy", "ValidatingAdmissionPolicy", "PriorityClass"];
    for kind in unwanted.into_iter().chain(["PodDisruptionBudget"]) {
        ensure!(documents.iter().all(|each| each["kind"] != kind), "{kind} was not asked for");
    }
    Ok(())
}

/// Returns a target that reads over HTTP.
fn target() -> Value {
    json!({"apiVersion": "driftpoller.dev/v1alpha1", "kind": "PollTarget", "metadata": {"name": "dns"}, "spec": {
        "objects": {"apiVersion": "net.example/v1", "kind": "DnsRecord"}, "identity": "${self.metadata.name}",
        "interval": "1m", "read": {"http": {"url": "https://dns.example/${self.metadata.name}"}},
        "compare": {"desired": {"ttl": 300}}}})
}

/// Returns values with a target of another value at a place.
fn with_target(place: &str, value: Value) -> Value {
    let mut target = target();
    let (parent, key) = place.rsplit_once('/').unwrap_or_default();
    if let Some(fields) = target.pointer_mut(parent).and_then(Value::as_object_mut) {
        fields.insert(key.to_owned(), value);
    }
    json!({"targets": {"dns": target}})
}

/// Values of a platform team for either program.
fn platform() -> Value {
    json!({
        "podLabels": {"team": "platform"}, "podAnnotations": {"scan": "no"}, "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca", "readOnly": true}],
        "serviceAccount": {"annotations": {"cloud.example/role": "drift"}},
        "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
        "podSecurityContext": {"runAsUser": null, "runAsGroup": null, "supplementalGroupsPolicy": "Strict"},
        "securityContext": {"privileged": false},
    })
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn each_value_of_platforms_reaches_both_programs() -> Result<()> {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "{{ .Release.Name }}-extra"}});
    let values = json!({
        "poller": platform(), "controller": platform(), "commonLabels": {"cost": "42"},
        "projectedTokens": [{"path": "outside", "audience": "outside.example"}],
        "extraObjects": [secret, "apiVersion: v1\nkind: Secret\nmetadata: {name: '{{ .Release.Namespace }}-text'}"],
    });
    let documents = Helm::new().await?.rendered(&values).await?;
    let find = |kind: &str, name: &str| documents.iter().find(|each| manifests::is(each, kind, name)).context("none");
    for program in ["drift-poller", "drift-controller"] {
        let deployment = find("Deployment", program)?;
        ensure!(deployment["spec"]["selector"]["matchLabels"] == json!({"app.kubernetes.io/name": program}));
        let template = &deployment["spec"]["template"];
        let labels = json!({"app.kubernetes.io/name": program, "team": "platform", "cost": "42"});
        ensure!(template["metadata"]["labels"] == labels, "{template}");
        ensure!(template["metadata"]["annotations"]["scan"] == "no", "{template}");
        let (pod, expected) = (&template["spec"], platform());
        ensure!(pod["topologySpreadConstraints"] == expected["topologySpreadConstraints"], "{pod}");
        for (list, place) in [
            ("extraVolumes", "/volumes/1"),
            ("extraVolumeMounts", "/containers/0/volumeMounts/1"),
            ("extraEnv", "/containers/0/env/3"),
        ] {
            ensure!(pod.pointer(place) == Some(&expected[list][0]), "{list}: {pod}");
        }
        ensure!(
            pod["volumes"][0]["name"] == "projected-tokens"
                && pod["containers"][0]["env"][0]["name"] == "POD_NAMESPACE"
        );
        ensure!(pod["securityContext"]["supplementalGroupsPolicy"] == "Strict", "{pod}");
        ensure!(pod["containers"][0]["securityContext"]["privileged"] == false, "{pod}");
        let account = find("ServiceAccount", program)?;
        ensure!(account["metadata"]["annotations"] == expected["serviceAccount"]["annotations"], "{account}");
    }
    for name in ["drift-extra", "drift-system-text"] {
        ensure!(find("Secret", name).is_ok(), "no Secret {name}");
    }
    let unlabelled =
        documents.iter().filter(|each| each["kind"] != "Secret" && each["metadata"]["labels"]["cost"] != "42");
    ensure!(unlabelled.count() == 0, "an object lacks the common label");
    Ok(())
}

/// Rules of OpenShift's constraint `restricted-v2` and of the Pod Security Standard `restricted`: a place in the Pod, and
/// the values that they admit there. Null is a missing field.
fn restricted() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("/hostNetwork", vec![json!(null)]),
        ("/hostPID", vec![json!(null)]),
        ("/hostIPC", vec![json!(null)]),
        ("/securityContext/runAsUser", vec![json!(null)]),
        ("/securityContext/runAsGroup", vec![json!(null)]),
        ("/securityContext/fsGroup", vec![json!(null)]),
        ("/securityContext/seLinuxOptions", vec![json!(null)]),
        ("/securityContext/sysctls", vec![json!(null)]),
        ("/securityContext/runAsNonRoot", vec![json!(true)]),
        ("/securityContext/seccompProfile", vec![json!({"type": "RuntimeDefault"})]),
        ("/containers/0/securityContext/runAsUser", vec![json!(null)]),
        ("/containers/0/securityContext/privileged", vec![json!(null), json!(false)]),
        ("/containers/0/securityContext/allowPrivilegeEscalation", vec![json!(false)]),
        ("/containers/0/securityContext/capabilities", vec![json!({"drop": ["ALL"]})]),
        ("/containers/1", vec![json!(null)]),
        ("/initContainers", vec![json!(null)]),
    ]
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn both_programs_run_under_restricted_constraints() -> Result<()> {
    const VOLUMES: [&str; 4] = ["configMap", "emptyDir", "projected", "secret"];
    let helm = Helm::new().await?;
    let without_ids = json!({"podSecurityContext": {"runAsUser": null, "runAsGroup": null}});
    let tokens = json!([{"path": "outside", "audience": "outside.example"}]);
    for values in [
        json!({"poller": without_ids, "controller": without_ids, "projectedTokens": tokens}),
        json!({"poller": platform(), "controller": platform()}),
    ] {
        let documents = helm.rendered(&values).await?;
        let deployments: Vec<&Value> = documents.iter().filter(|each| each["kind"] == "Deployment").collect();
        ensure!(deployments.len() == 2, "{}", deployments.len());
        for deployment in deployments {
            let pod = &deployment["spec"]["template"]["spec"];
            for (place, admitted) in restricted() {
                let found = pod.pointer(place).unwrap_or(&Value::Null);
                ensure!(admitted.contains(found), "{place} is {found}: {pod}");
            }
            for volume in pod["volumes"].as_array().into_iter().flatten() {
                ensure!(VOLUMES.iter().any(|kind| !volume[kind].is_null()), "{volume}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn no_alert_waits_for_an_absent_controller() -> Result<()> {
    let helm = Helm::new().await?;
    for (enabled, expected) in [(true, 1), (false, 0)] {
        let rules =
            json!({"enabled": true, "runbooks": "https://git.example/alerts", "labels": {"release": "prometheus"}});
        let values = json!({"controller": {"enabled": enabled}, "monitoring": {"rules": rules}});
        let documents = helm.rendered(&values).await?;
        let found = documents.iter().find(|each| each["kind"] == "PrometheusRule").context("no rules")?;
        ensure!(found["metadata"]["labels"]["release"] == "prometheus", "{found}");
        let alerts = found["spec"]["groups"][0]["rules"].as_array().context("no alerts")?;
        ensure!(alerts.iter().filter(|alert| alert["alert"] == "DriftControllerGone").count() == expected);
        let is_ours =
            |alert: &Value| alert["annotations"]["runbook_url"].to_string().contains("git.example/alerts#drift");
        ensure!(alerts.len() > 5 && alerts.iter().all(is_ours), "{found}");
    }
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn the_guide_renders_its_target_and_rights() -> Result<()> {
    let page = std::fs::read_to_string(manifests::folder().join("../docs/guides/install.md"))?;
    let blocks = yaml_blocks(&page);
    let block = |name: &str| blocks.iter().find(|block| block.starts_with(&format!("# {name}\n"))).context("no block");
    let mut values: Value = serde_saphyr::from_str(block("values.yaml")?)?;
    let target = block("dns-records.yaml")?;
    values["targets"] = json!({"dns-records": target});
    let documents = Helm::new().await?.rendered(&values).await?;
    let find = |kind: &str, name: &str| documents.iter().find(|each| manifests::is(each, kind, name)).context("none");
    let text = &find("ConfigMap", manifests::TARGETS)?["data"]["dns-records.yaml"];
    ensure!(text.as_str().map(str::trim) == Some(target.trim()), "{text}");
    ensure!(find("ClusterRole", "drift-poller-kinds")?["rules"] == values["rights"]["poller"]);
    ensure!(
        find("NetworkPolicy", "to-dns-api")?["spec"]["egress"] == values["networkPolicies"]["egress"]["to-dns-api"]
    );
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn targets_of_the_guide_share_their_anchors() -> Result<()> {
    let page = std::fs::read_to_string(manifests::folder().join("../docs/guides/install.md"))?;
    let blocks = yaml_blocks(&page);
    let shared = blocks.iter().find(|block| block.starts_with("# shared.yaml\n")).context("no block")?;
    let helm = Helm::new().await?;
    let template = ["template", "drift", &helm.chart, "--values", "-", "--show-only", "templates/targets.yaml"];
    let config_map = manifests::parse_stream(&helm.program.run_with_input(&template, shared).await?.output)?.remove(0);
    let texts: Texts = [(manifests::TARGETS.to_owned(), serde_json::from_value(config_map["data"].clone())?)].into();
    let catalogue = Catalogue::default().update(&texts);
    let names: Vec<&String> = catalogue.targets().keys().collect();
    ensure!(names == ["groups", "users"] && catalogue.problems().is_empty(), "{:?}", catalogue.problems());
    let of_both = texts[manifests::TARGETS].values().all(|text| text.contains("tokenUrl: https://id.example/token"));
    ensure!(of_both, "{texts:?}");
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_wrong_value_is_an_error_with_its_place() -> Result<()> {
    let helm = Helm::new().await?;
    for (values, place) in [
        (json!({"poller": {"replicas": "two"}}), "at '/poller/replicas': got string, want integer"),
        (json!({"hint": {"enabled": true}}), "at '': additional properties 'hint' not allowed"),
        (json!({"logging": {"format": "xml"}}), "at '/logging/format': value must be one of 'auto', 'text', 'json'"),
        (json!({"images": {"poller": {"digest": "1.2"}}}), "at '/images/poller/digest': '1.2' does not match pattern"),
        (with_target("/kind", json!("Target")), "at '/targets/dns/kind': value must be 'PollTarget'"),
        (
            with_target("/spec/identitie", json!("x")),
            "at '/targets/dns/spec': additional properties 'identitie' not allowed",
        ),
        (with_target("/spec/confirm", json!({"absent": 0})), "at '/targets/dns/spec/confirm/absent': minimum"),
        (json!({"targets": {"dns": ""}}), "at '/targets/dns': minLength: got 0, want 1"),
        (
            json!({"commonLabels": {"app.kubernetes.io/name": "x"}}),
            "at '/commonLabels/app.kubernetes.io~1name': false schema",
        ),
        (json!({"poller": {"extraEnv": [{"value": "x"}]}}), "at '/poller/extraEnv/0': missing property 'name'"),
        (json!({"priorityClass": {"create": true}}), "priorityClass.name is missing"),
    ] {
        let refused = helm.rendered(&values).await.err().map(|error| error.to_string()).unwrap_or_default();
        ensure!(refused.contains(place), "{values}: {refused}");
    }
    let old = helm.run(&["template", "--kube-version", "1.32.9"], "x", &json!({})).await;
    ensure!(old.is_err_and(|error| error.to_string().contains("requires kubeVersion: >=1.33.0")));
    let linted = helm.program.run(&["lint", "--strict", &helm.chart]).await?;
    ensure!(linted.output.contains("1 chart(s) linted, 0 chart(s) failed"), "{}", linted.output);
    Ok(())
}

/// Applies the CustomResourceDefinition of reports as a release with an older schema would.
async fn leave_older_reports(helm: &Helm, kubectl: &Kubectl, values: &Value) -> Result<()> {
    let documents = helm.rendered(values).await?;
    let kind = documents.iter().find(|each| manifests::is(each, "CustomResourceDefinition", manifests::REPORTS));
    let mut kind = kind.cloned().context("no CustomResourceDefinition")?;
    kind["spec"]["versions"][0].as_object_mut().context("no version")?.remove("selectableFields");
    let apply = ["apply", "--server-side", "--field-manager=helm", "-f", "-"];
    kubectl.run_with_input(&apply, &kind.to_string()).await?;
    let left = kubectl.run(&["get", "crd", manifests::REPORTS, "-o", "yaml"]).await?.output;
    ensure!(!left.contains("selectableFields"), "{left}");
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn helm_installs_upgrades_and_uninstalls() -> Result<()> {
    const NAMESPACE: &str = "helm-check";
    // The shared one has the CustomResourceDefinition of DriftReports, which Helm would refuse to take over.
    let plane = ControlPlane::start(&run_folder::path()?.join("control-plane-helm")).await?;
    let kubectl = plane.kubectl();
    let helm = Helm::at(&plane).await?;
    let mut values = demonstration().await?;
    json_patch::merge(
        &mut values,
        &json!({"clusterNameSuffix": "-helm-check", "hints": {"enabled": true}, "poller": {"replicas": 2},
            "controller": platform()}),
    );
    let install = helm.run(&["install", "--create-namespace"], NAMESPACE, &values).await?;
    let check = "kubectl drift check --from-cluster --targets-namespace helm-check";
    ensure!(install.output.contains(check), "{}", install.output);
    let policy = ["get", "validatingadmissionpolicy", "drift-poller-writes-helm-check", "-o", "yaml"];
    let policy = kubectl.run(&policy).await?.output;
    ensure!(policy.contains("system:serviceaccount:helm-check:drift-poller"), "{policy}");
    let names = async || {
        let listed = ["get", "deployments,serviceaccounts,configmaps", "-n", NAMESPACE, "-o", "name"];
        Ok::<_, anyhow::Error>(kubectl.run(&listed).await?.output)
    };
    helm.run(&["upgrade", "--reuse-values"], NAMESPACE, &json!({"controller": {"enabled": false}})).await?;
    let left = names().await?;
    ensure!(left.contains("deployment.apps/drift-poller") && !left.contains("drift-controller"), "{left}");
    ensure!(left.contains(manifests::TARGETS), "{left}");
    leave_older_reports(&helm, &kubectl, &values).await?;
    helm.run(&["upgrade"], NAMESPACE, &json!({"clusterNameSuffix": "-helm-check"})).await?;
    let left = names().await?;
    ensure!(!left.contains(manifests::TARGETS) && left.contains("drift-controller"), "{left}");
    helm.program.run(&["uninstall", "drift", "--namespace", NAMESPACE]).await?;
    let policies = kubectl.run(&["get", "validatingadmissionpolicies", "-o", "name"]).await?.output;
    ensure!(!policies.contains("helm-check"), "{policies}");
    let kind = kubectl.run(&["get", "crd", manifests::REPORTS, "-o", "yaml"]).await?.output;
    ensure!(kind.contains("selectableFields"), "the upgrade or the uninstall lost a part of {kind}");
    plane.stop().await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn the_chart_has_the_version_of_the_programs() -> Result<()> {
    let chart: Value = {
        let path: PathBuf = manifests::folder().join("../charts/drift-poller/Chart.yaml");
        serde_saphyr::from_str(&std::fs::read_to_string(path)?)?
    };
    let version = env!("CARGO_PKG_VERSION");
    ensure!(chart["version"] == version && chart["appVersion"] == version, "{chart}");
    let images = chart["annotations"]["artifacthub.io/images"].as_str().context("no images")?;
    for image in serde_saphyr::from_str::<Vec<Value>>(images)? {
        ensure!(image["image"] == format!("{}:{version}", image["name"].as_str().context("no name")?), "{image}");
    }
    Ok(())
}
