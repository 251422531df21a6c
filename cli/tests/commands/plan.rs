//! The requests of `plan` to the API server: no Secret for an edited read, and no write but dry runs.

use std::path::Path;

use serde_json::{Value, json};

use super::fake_api::{self, Log, list, refusal};
use super::{SHIPPED, ended, run_in};

const OBJECTS: &str = "/apis/demo.driftpoller.dev/v1/namespaces/drift-demo/proxies";

/// The live target. Its host does not answer.
fn live() -> String {
    let auth = "headers: {accept: application/json}\n          auth: {bearer: {secretRef: {name: reader, key: token}}}";
    let text = SHIPPED.replace("headers: {accept: application/json}", auth);
    let text = text.replace("http://toxiproxy.drift-demo.svc:8474", "http://127.0.0.1:1");
    text.replace("      identity:", "      insecure: true\n      identity:")
}

fn web() -> Value {
    json!({"apiVersion": "demo.driftpoller.dev/v1", "kind": "Proxy", "metadata": {"name": "web", "namespace": "drift-demo"},
        "spec": {"listen": "127.0.0.1:80", "upstream": "127.0.0.1:81"}})
}

fn start() -> (tempfile::TempDir, Log) {
    fake_api::start(|uri| match uri.split('?').next().unwrap_or_default() {
        "/api/v1/namespaces/drift-system/configmaps" => (200, list(&drift_language::manifests_of(&live()))),
        "/apis/demo.driftpoller.dev" => {
            let version = json!({"groupVersion": "demo.driftpoller.dev/v1", "version": "v1"});
            let group = json!({"kind": "APIGroup", "name": "demo.driftpoller.dev", "versions": [version], "preferredVersion": version});
            (200, group)
        }
        "/apis/demo.driftpoller.dev/v1" => {
            let verbs = ["get", "list", "patch", "watch"];
            let resource = json!({"name": "proxies", "singularName": "proxy", "kind": "Proxy", "namespaced": true, "verbs": verbs});
            (
                200,
                json!({"kind": "APIResourceList", "groupVersion": "demo.driftpoller.dev/v1", "resources": [resource]}),
            )
        }
        OBJECTS => {
            let mut web = web();
            web["metadata"]["uid"] = json!("u");
            web["metadata"]["resourceVersion"] = json!("5");
            (200, list(&[web]))
        }
        _ if uri.contains("/proxies/web") => refusal(403, "Forbidden", json!({})),
        _ => refusal(404, "NotFound", json!({"name": "x"})),
    })
}

/// The exit code, the output, and the requests for Secrets.
fn planned(file: &str, more: &[&str]) -> (i32, String, usize) {
    let (folder, log) = start();
    std::fs::write(folder.path().join("change.yaml"), file).unwrap();
    let cluster = ["plan", "-f", "change.yaml", "--kubeconfig", "kubeconfig"];
    let (code, printed, said) = ended(run_in(folder.path(), &[&cluster, more].concat(), ""));
    let log = log.lock().unwrap().clone();
    let is_write = |request: &&String| !request.starts_with("GET ") && !request.contains("dryRun=All");
    assert_eq!(log.iter().find(is_write), None, "{log:?}");
    let secrets = log.iter().filter(|request| request.contains("/secrets/")).count();
    (code, printed + &said, secrets)
}

#[test]
fn an_edited_read_costs_no_secret() {
    let live = live();
    for (old, new, is_asked) in [
        ("enabled:", "owner: us, enabled:", true),
        ("interval: 30s", "interval: 60s", true),
        ("mode: Correct", "mode: Observe", true),
        ("127.0.0.1:1/proxies/$", "127.0.0.2:1/proxies/$", false),
        ("name: reader", "name: writer", false),
        ("{name: proxies}", "{name: mine}", false),
        ("namespaces: [drift-demo]", "namespaces: [drift-demo], labelSelector: x!=y", false),
    ] {
        let edited = live.replacen(old, new, 1);
        assert_ne!(edited, live, "{old}");
        let (code, told, secrets) = planned(&edited, &[]);
        assert_eq!((code, secrets), (2, usize::from(is_asked)), "{new}: {told}");
        assert_eq!(told.contains("read changed: not asked"), !is_asked, "{new}: {told}");
        let (_, told, secrets) = planned(&edited, &["--ask-edited"]);
        assert_eq!(secrets, 1, "{new}: {told}");
    }
    let (code, told, secrets) = planned(&live, &[]);
    assert_eq!((code, secrets), (0, 0), "{told}");
    assert_eq!(told, "0 would change, 0 stay the same, 0 unknown, 0 not asked\n");
}

#[test]
fn what_cannot_be_planned_is_unknown() {
    let other = web().to_string().replace("dev/v1\"", "dev/v2\"");
    let (code, told, secrets) = planned(&other, &["-o", "json"]);
    let json: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
    let one = &json["objects"][0];
    assert_eq!((code, secrets, &one["result"], &one["hash"]), (2, 0, &json!("Unknown"), &Value::Null), "{told}");
    let (code, told, _) = planned(&web().to_string(), &[]);
    assert!(code == 2 && told.contains("not planned it cannot be read: "), "{told}");
    let (code, told, _) = planned("kind: Role\napiVersion: v1\nmetadata: {name: x}\n", &[]);
    assert_eq!(code, 0, "{told}");
    let (code, _, said) = ended(run_in(Path::new("."), &["plan"], ""));
    assert!(code == 3 && said.contains("--file"), "{said}");
    let (code, _, said) = ended(run_in(Path::new("."), &["approve", "--plan", "Cargo.toml"], ""));
    assert!(code == 3 && said.starts_with("error: Cargo.toml: "), "{said}");
}

#[test]
fn a_file_names_only_objects_of_its_namespace() {
    let with = |name: &str, namespace: &str| {
        let mut web = web();
        web["metadata"] = json!({"name": name, "namespace": namespace});
        web.to_string()
    };
    let of_namespace = ["-n", "drift-demo"];
    for (file, more, expected) in [
        (with("www?fieldManager=x#", "drift-demo"), &[][..], "its name or namespace is not one of Kubernetes"),
        (with("..", "drift-demo"), &[], "its name or namespace is not one of Kubernetes"),
        (with("web", "drift-system/secrets/reader?x="), &[], "its name or namespace is not one of Kubernetes"),
        (with("web", "team-b"), &of_namespace, "it is not in the namespace of -n"),
    ] {
        let (code, told, secrets) = planned(&file, more);
        assert!((code, secrets) == (2, 0) && told.contains(expected), "{file}: {code} {told}");
    }
}

#[test]
fn a_bad_file_ends_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let told = || {
        let (code, printed, said) = ended(run_in(folder.path(), &["plan", "-f", "."], ""));
        assert_eq!((code, printed.as_str()), (3, ""), "{said}");
        said
    };
    let broken = folder.path().join("broken.yaml");
    std::fs::write(&broken, "kind: Proxy\nspec: {ttl: 3\n").unwrap();
    assert!(told().contains("broken.yaml:2:7: this YAML document cannot be read: "), "{}", told());
    std::fs::remove_file(broken).unwrap();
    std::os::unix::fs::symlink("/dev/null", folder.path().join("link.yaml")).unwrap();
    assert!(told().contains("link.yaml: a link; "), "{}", told());
}
