//! What commands read of a target with reports, against an API server that is a function: each request is counted.

use std::path::Path;

use serde_json::{Value, json};

use super::fake_api::{self, Log, list, refusal};
use super::{SHIPPED, ended, run_in};

const OBJECTS: &str = "/apis/demo.driftpoller.dev/v1/namespaces/drift-demo/proxies";
const REPORTS: &str = "/apis/driftpoller.dev/v1alpha1/namespaces/drift-demo/driftreports";

/// Starts the API server. A user who may not read reports gets a 403 for them.
fn start(may_read_reports: bool) -> (tempfile::TempDir, Log) {
    fake_api::start(move |uri| response(uri.split('?').next().unwrap_or_default(), may_read_reports))
}

fn response(path: &str, may_read_reports: bool) -> (u16, Value) {
    let metadata = |name: &str| json!({"namespace": "drift-demo", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "5"});
    let object = |name: &str| json!({"apiVersion": "demo.driftpoller.dev/v1", "kind": "Proxy", "metadata": metadata(name), "spec": {}});
    match path {
        "/api/v1/namespaces/drift-system/configmaps" => {
            let text = SHIPPED.split("\n      correct:").next().unwrap_or_default();
            let text = text.replace("kind: Proxy", "kind: Proxy, conditions: Report");
            let map: Value = drift_language::manifests_of(&format!("{text}\n")).remove(0);
            (200, list(&[map]))
        }
        "/apis/demo.driftpoller.dev" => {
            let version = json!({"groupVersion": "demo.driftpoller.dev/v1", "version": "v1"});
            (
                200,
                json!({"kind": "APIGroup", "name": "demo.driftpoller.dev", "versions": [version], "preferredVersion": version}),
            )
        }
        "/apis/demo.driftpoller.dev/v1" => {
            let verbs = ["get", "list", "patch", "watch"];
            let resource = json!({"name": "proxies", "singularName": "proxy", "kind": "Proxy", "namespaced": true, "verbs": verbs});
            (
                200,
                json!({"kind": "APIResourceList", "groupVersion": "demo.driftpoller.dev/v1", "resources": [resource]}),
            )
        }
        _ if path.starts_with(REPORTS) && !may_read_reports => refusal(403, "Forbidden", json!({})),
        REPORTS => {
            let condition = json!({"type": "driftObserved", "status": "True", "reason": "FieldsDiffer",
                "message": "1 field differs: /a desired 1, observed 2", "lastTransitionTime": "2026-01-01T00:00:00Z"});
            let name = drift_api::object::report::report_name("demo.driftpoller.dev", "Proxy", "web");
            let report = json!({"metadata": metadata(&name), "object": {"uid": "uid-web"}, "status": {"conditions": [condition]}});
            (200, list(&[report]))
        }
        OBJECTS => (200, list(&[object("cache"), object("db"), object("web")])),
        _ => refusal(404, "NotFound", json!({"name": "x"})),
    }
}

fn get(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let cluster = ["--kubeconfig", "kubeconfig", "-n", "drift-demo"];
    ended(run_in(folder, &[&["get"], arguments, &cluster].concat(), ""))
}

#[test]
fn get_lists_reports_once_for_all_objects() {
    let (folder, log) = start(true);
    let (code, printed, said) = get(folder.path(), &["-o", "json"]);
    let told: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}{said}"));
    assert_eq!((code, told["items"].as_array().map(Vec::len)), (1, Some(3)), "{printed}{said}");
    assert_eq!(told["items"][2]["driftObserved"]["reason"], "FieldsDiffer", "{printed}");
    assert!(
        told["items"][2]["report"].as_str().is_some_and(|name| name.starts_with("proxy.demo.driftpoller.dev.web."))
    );
    assert_eq!((&told["items"][0]["report"], &told["items"][0]["reportUnread"]), (&Value::Null, &json!(false)));
    let asked = log.lock().unwrap().clone();
    for path in [OBJECTS, REPORTS] {
        let count = asked.iter().filter(|line| line.starts_with(&format!("GET {path}"))).count();
        assert_eq!(count, 1, "{path}: {asked:?}");
    }
}

#[test]
fn get_without_the_right_on_reports_is_unknown() {
    let (folder, _log) = start(false);
    let (code, printed, said) = get(folder.path(), &[]);
    let cells: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((code, cells.len()), (2, 4), "{printed}{said}");
    assert_eq!(cells[3], ["drift-demo", "Proxy/web", "?", "?", "?", "?", "?", "?"], "{printed}");
    let rule = "to a Role in namespace drift-demo add {apiGroups: [\"driftpoller.dev\"], resources: [driftreports], verbs: [get, list, watch]}";
    assert!(said.contains(rule) && !said.contains("RightsMissing"), "{said}");
}
