//! The requests of `get`, `explain` and `check --from-cluster` by the number of targets, against an API server that counts
//! them.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use drift_kube::process::clock;
use serde_json::{Value, json};

use super::fake_api::{self, Log, list, refusal};
use super::{ended, run_in};

const GROUP: &str = "/apis/net.example/v1";
const TARGETS: usize = 20;
const LEASE_OF_POLLER: &str = "/apis/coordination.k8s.io/v1/namespaces/drift-system/leases/drift-poller";
const LEASE_OF_CONTROLLER: &str = "/apis/coordination.k8s.io/v1/namespaces/drift-system/leases/drift-controller";

/// Targets `t00` to `t19`, half about records and half about roles, each of one team.
fn target_maps() -> Value {
    let document = |number: usize| {
        let kind = if number.is_multiple_of(2) { "Record" } else { "Role" };
        format!(
            "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: t{number:02}}}, spec: {{objects: \
             {{apiVersion: net.example/v1, kind: {kind}, labelSelector: team=a{number}}}, identity: \
             '${{self.metadata.name}}', read: {{http: {{url: 'https://h/${{self.metadata.name}}'}}}}, compare: {{desired: {{a: 1}}}}}}}}"
        )
    };
    let data: BTreeMap<String, String> =
        (0..TARGETS).map(|number| (format!("t{number:02}"), document(number))).collect();
    let labels = json!({"driftpoller.dev/targets": "true"});
    let metadata = json!({"name": "m", "namespace": "drift-system", "resourceVersion": "1", "labels": labels});
    list(&[json!({"metadata": metadata, "data": data})])
}

/// An object of the target with this number.
fn object(name: &str, number: usize) -> Value {
    let metadata = json!({"namespace": "n", "name": name, "uid": name, "resourceVersion": "5", "labels": {"team": format!("a{number}")}});
    let condition = json!({"type": "driftObserved", "status": "False", "reason": "InSync", "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    json!({"metadata": metadata, "status": {"conditions": [condition]}})
}

fn response(address: &str, may_list_all: bool) -> (u16, Value) {
    let path = address.split('?').next().unwrap_or_default();
    let verbs = ["get", "list", "patch", "watch"];
    let served = |name: &str, singular: &str, kind: &str| json!({"name": name, "singularName": singular, "kind": kind, "namespaced": true, "verbs": verbs});
    match path {
        "/api/v1/namespaces/drift-system/configmaps" => (200, target_maps()),
        "/apis/net.example" => {
            let version = json!({"groupVersion": "net.example/v1", "version": "v1"});
            (
                200,
                json!({"kind": "APIGroup", "name": "net.example", "versions": [version], "preferredVersion": version}),
            )
        }
        GROUP => {
            let status = served("records/status", "", "Record");
            let resources = [served("records", "record", "Record"), served("roles", "role", "Role"), status];
            (200, json!({"kind": "APIResourceList", "groupVersion": "net.example/v1", "resources": resources}))
        }
        "/apis/net.example/v1/namespaces/n/records/web" => (200, object("web", 2)),
        "/apis/net.example/v1/namespaces/n/records/dns" => (200, object("dns", 4)),
        "/apis/net.example/v1/namespaces/n/roles/app" => (200, object("app", 3)),
        "/apis/net.example/v1/namespaces/n/records/shop" => (200, object("shop", 99)),
        "/apis/net.example/v1/records" | "/apis/net.example/v1/roles" if !may_list_all => {
            refusal(403, "Forbidden", json!({}))
        }
        "/apis/net.example/v1/records" | "/apis/net.example/v1/namespaces/n/records" => {
            (200, list(&[object("web", 2), object("dns", 4)]))
        }
        "/apis/net.example/v1/roles" | "/apis/net.example/v1/namespaces/n/roles" => (200, list(&[object("app", 3)])),
        "/openapi/v3/apis/net.example/v1" => {
            let schema = |kind: &str| {
                let name = json!({"group": "net.example", "version": "v1", "kind": kind});
                json!({"type": "object", "x-kubernetes-group-version-kind": [name], "x-kubernetes-preserve-unknown-fields": true})
            };
            let status = |plural: &str| format!("{GROUP}/namespaces/{{namespace}}/{plural}/{{name}}/status");
            let paths = json!({status("records"): {"patch": {}}, status("roles"): {"patch": {}}});
            let schemas = json!({"record": schema("Record"), "role": schema("Role")});
            (200, json!({"paths": paths, "components": {"schemas": schemas}}))
        }
        LEASE_OF_POLLER | LEASE_OF_CONTROLLER => {
            (200, json!({"spec": {"holderIdentity": "a", "renewTime": clock::wall().to_string()}}))
        }
        "/api/v1/namespaces/n" => (200, json!({"metadata": {"name": "n"}})),
        _ if path.ends_with("/records") || path.ends_with("/roles") => (200, list(&[])),
        _ => refusal(404, "NotFound", json!({"name": "x"})),
    }
}

fn start() -> (tempfile::TempDir, Log) {
    fake_api::start(|address| response(address, true))
}

/// The requests that are about objects.
fn of_objects(log: &Log) -> Vec<String> {
    let all = std::mem::take(&mut *log.lock().unwrap());
    let is_of_object = |line: &String| line.starts_with("GET /apis/net.example/v1/");
    let mut lines: Vec<String> = all.into_iter().filter(is_of_object).collect();
    lines.sort();
    lines
}

#[test]
fn objects_are_listed_by_kind_and_not_by_target() {
    let (folder, log) = start();
    let (records, roles) = (format!("GET {GROUP}/records?&limit=500"), format!("GET {GROUP}/roles?&limit=500"));
    let in_namespace = |kind: &str| format!("GET {GROUP}/namespaces/n/{kind}?&limit=500");
    let selected = |labels: &str| format!("GET {GROUP}/records?&labelSelector={labels}&limit=500");
    let named = |name: &str| format!("GET {GROUP}/namespaces/n/records/{name}");
    for (arguments, expected) in [
        ("get -A", vec![records.clone(), roles.clone()]),
        ("get -n n", vec![in_namespace("records"), in_namespace("roles")]),
        ("get records -A", vec![records.clone()]),
        ("get records,roles -A", vec![records.clone(), roles.clone()]),
        ("get record/web -n n", vec![named("web")]),
        ("get record web shop -n n", vec![named("shop"), named("web")]),
        ("get records -A -l team=a2", vec![selected("team%3Da2")]),
        ("get -A --target t02", vec![selected("team%3Da2")]),
        ("get -A --target t02 -l x", vec![selected("x%2Cteam%3Da2")]),
        ("explain record/web -n n", vec![named("web")]),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let (code, printed, said) =
            ended(run_in(folder.path(), &[&words[..], &["--kubeconfig", "kubeconfig"]].concat(), ""));
        assert_eq!(of_objects(&log), expected, "{arguments}: {code} {printed}{said}");
    }
}

#[test]
fn check_lists_each_kind_once_for_all_targets() {
    let (folder, log) = start();
    let arguments = ["check", "--from-cluster", "--kubeconfig", "kubeconfig"];
    let (code, printed, said) = ended(run_in(folder.path(), &arguments, ""));
    let (lists, others): (Vec<String>, _) = of_objects(&log).into_iter().partition(|line| line.contains("limit="));
    assert_eq!(
        lists,
        [format!("GET {GROUP}/records?&limit=500"), format!("GET {GROUP}/roles?&limit=500")],
        "{code} {printed}{said}"
    );
    // The target of each object reads it for a trial write.
    let read = ["records/dns", "records/web", "roles/app"].map(|path| format!("GET {GROUP}/namespaces/n/{path}"));
    assert_eq!(others, read, "{code} {printed}{said}");
    assert_eq!(printed.matches(", 1 object / ").count(), 3, "{printed}{said}");
}

#[test]
fn a_list_sends_few_other_requests() {
    let (folder, log) = start();
    let (code, printed, said) = ended(run_in(folder.path(), &["get", "-A", "--kubeconfig", "kubeconfig"], ""));
    assert!(code == 0 && printed.lines().count() == 4, "{code} {printed}{said}");
    let all = log.lock().unwrap().clone();
    let count = |start: &str| all.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("GET /api/v1/namespaces/drift-system/configmaps"), 1, "{all:?}");
    assert_eq!(count("GET /apis/coordination.k8s.io/v1/namespaces/drift-system/leases"), 2, "{all:?}");
    assert_eq!((count("GET /apis/net.example HTTP"), count("GET /apis/net.example/v1/")), (0, 2), "{all:?}");
    assert_eq!(all.len(), 9, "two more for each kind: {all:?}");
}

/// An API server that refuses lists of the whole cluster. One target of records names a namespace.
fn start_without_lists_of_the_cluster() -> (tempfile::TempDir, Log) {
    fake_api::start(|address| match address.contains("/configmaps") {
        true => {
            let text =
                target_maps().to_string().replace("labelSelector: team=a2", "namespaces: [n], labelSelector: team=a2");
            (200, serde_json::from_str(&text).unwrap())
        }
        false => response(address, false),
    })
}

#[test]
fn who_may_not_list_the_cluster_lists_the_named_namespaces() {
    let (folder, log) = start_without_lists_of_the_cluster();
    let (code, printed, said) =
        ended(run_in(folder.path(), &["get", "records", "-A", "--kubeconfig", "kubeconfig"], ""));
    assert_eq!(of_objects(&log).len(), 2);
    assert!(code == 2 && printed.contains("Record/web") && said.contains("cannot be listed"), "{code} {printed}{said}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test without a runtime, which waits for a program")]
fn a_watch_without_the_cluster_follows_the_named_namespaces() {
    let (folder, log) = start_without_lists_of_the_cluster();
    let printed = folder.path().join("printed");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-drift"));
    command.args(["get", "records", "-A", "-w", "--kubeconfig", "kubeconfig"]).current_dir(folder.path());
    command.stdout(std::fs::File::create(&printed).unwrap()).stderr(Stdio::null());
    let (mut watch, deadline) = (command.spawn().unwrap(), Instant::now() + Duration::from_secs(30));
    let is_printed = || std::fs::read_to_string(&printed).unwrap().contains("Record/web");
    while !is_printed() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(is_printed(), "{:?}", of_objects(&log));
}

#[test]
fn kinds_of_two_groups_with_one_plural_do_not_mix() {
    let (folder, _log) = fake_api::start(|address| {
        let path = address.split('?').next().unwrap_or_default();
        let of_other = |(code, body): (u16, Value)| {
            let text = body.to_string().replace("net.example", "other.example");
            (code, serde_json::from_str(&text).unwrap())
        };
        match path {
            _ if path.ends_with("/configmaps") => {
                let (net, other) = ("net.example/v1, kind: Role", "other.example/v1, kind: Record");
                (200, serde_json::from_str(&target_maps().to_string().replace(net, other)).unwrap())
            }
            "/apis/other.example" | "/apis/other.example/v1" => {
                of_other(response(&path.replace("other.example", "net.example"), true))
            }
            _ if path.starts_with("/apis/other.example/") => refusal(404, "NotFound", json!({"name": "x"})),
            _ => response(address, true),
        }
    });
    let arguments = ["get", "record.net.example/web", "record.other.example/web", "-n", "n"];
    let (code, printed, said) =
        ended(run_in(folder.path(), &[&arguments[..], &["--kubeconfig", "kubeconfig"]].concat(), ""));
    let missing = "there is no record.other.example web in namespace n";
    assert!(code == 3 && printed.contains("Record/web") && said.contains(missing), "{code} {printed}{said}");
}

#[test]
fn a_named_object_without_a_row_says_why() {
    let (folder, _log) = start();
    for (arguments, code, expected) in [
        ("get record/web -n n", 0, ""),
        (
            "get record/shop -n n",
            3,
            "no target selects record/shop, which has the labels team=a99:\n  target t00 needs label team=a0",
        ),
        ("get record/nothing -n n", 3, "there is no record nothing in namespace n\n"),
        ("get record/web role/nothing -n n", 3, "there is no role nothing in namespace n\n"),
        ("get foos -n n", 3, "no target is about foos; there are targets about records, roles\n"),
        ("get roles -A --target t02", 3, "target t02 is not about roles, but about records\n"),
        ("get -A --target nothing", 3, "there is no target nothing with objects; there are: t00, t01, "),
        ("get -n nowhere", 3, "there is no namespace nowhere\n"),
        ("get records -n n -l team=x", 0, "no objects found in n (-A lists all namespaces)\n"),
        ("get -A --sort-by .metadata.name", 3, "no object has .metadata.name; write a column ("),
        ("get -A -o jsonpath={.items[}", 3, "`.items[` is no JSONPath"),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let ended = ended(run_in(folder.path(), &[&words[..], &["--kubeconfig", "kubeconfig"]].concat(), ""));
        let said =
            ended.2.lines().filter(|line| !line.contains("NEXT does not show")).collect::<Vec<_>>().join("\n") + "\n";
        assert!(ended.0 == code && said.contains(expected), "{arguments}: {ended:?}");
    }
}

#[test]
fn a_program_that_is_gone_is_told_first() {
    let start = |gone: &'static str, corrects: bool| {
        fake_api::start(move |address| match address.split('?').next().unwrap_or_default() {
            path if gone.contains(path) => refusal(404, "NotFound", json!({"name": "x"})),
            path if path.ends_with("/configmaps") && corrects => {
                let (read, url) =
                    ("read: {http: {url: 'https://h/${self.metadata.name}'}}", "https://h/${self.metadata.name}");
                let correct = format!("correct: {{mode: Correct, http: {{update: [{{method: PUT, url: '{url}'}}]}}}}");
                let text = target_maps().to_string().replace(read, &format!("{read}, {correct}"));
                (200, serde_json::from_str(&text).unwrap())
            }
            _ => response(address, true),
        })
    };
    let poller =
        "warning: no drift-poller holds the Lease drift-poller in namespace drift-system, so no verdict is current: ";
    let controller = "warning: no drift-controller holds the Lease drift-controller in namespace drift-system, so ";
    for (gone, corrects, code, expected) in [
        ("", true, 0, None),
        (LEASE_OF_POLLER, false, 2, Some(poller)),
        (LEASE_OF_CONTROLLER, false, 0, None),
        (LEASE_OF_CONTROLLER, true, 0, Some(controller)),
    ] {
        let (folder, _log) = start(gone, corrects);
        let run = |words: &[&str]| ended(run_in(folder.path(), &[words, &["--kubeconfig", "kubeconfig"]].concat(), ""));
        let (ended, _, said) = run(&["get", "-A"]);
        let said: Vec<&str> = said.lines().filter(|line| !line.contains("short names")).collect();
        let is_first = said.first().map(|line| expected.is_some_and(|start| line.starts_with(start)));
        assert_eq!((ended, is_first), (code, expected.map(|_| true)), "get, {gone} {corrects}: {said:?}");
        let (ended, _, said) = run(&["check", "--from-cluster"]);
        let is_first = expected.map(|start| said.starts_with(start));
        assert_eq!(is_first, expected.map(|_| true), "check, {gone} {corrects}: {said}");
        // The API server has no ServiceAccounts.
        assert_eq!((ended, said.contains("holds the Lease")), (2, expected.is_some()), "{gone} {corrects}: {said}");
    }
}
