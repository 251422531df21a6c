//! Commands that end by themselves, through the program: what they print, where, and their exit codes.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "commands/answers.rs"]
mod answers;
#[path = "commands/completions.rs"]
mod completions;
#[path = "commands/draft.rs"]
mod draft;
#[path = "commands/fake_api.rs"]
mod fake_api;
#[path = "commands/kinds.rs"]
mod kinds;
#[path = "commands/mistakes.rs"]
mod mistakes;
#[path = "commands/plan.rs"]
mod plan;
#[path = "commands/rbac.rs"]
mod rbac;
#[path = "commands/reports.rs"]
mod reports;
#[path = "commands/requests.rs"]
mod requests;
#[path = "commands/terminal.rs"]
mod terminal;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// ConfigMaps as they are shipped.
const SHIPPED: &str = include_str!("../../manifests/components/proxies/targets.yaml");

fn run_in(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-drift"));
    // No cluster: whoever runs the tests may have one.
    command.args(arguments).current_dir(folder).env("KUBECONFIG", "missing");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that refuses its arguments may have ended by now, and reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// The exit code, standard output and standard error.
fn ended(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_name_that_no_lease_has_is_bad_usage() {
    for arguments in [
        &["get", "--poller-lease", ""][..],
        &["get", "--poller-lease", "Drift"],
        &["suspend", "proxies", "--targets-namespace", ""],
        &["get", "-n", "Team A"],
        &["check", "--from-cluster", "-n", ""],
        &["rbac", "-f", "-", "--namespace", "a.b"],
    ] {
        let (code, printed, said) = ended(run_in(Path::new("."), arguments, ""));
        assert!(code == 3 && printed.is_empty(), "{arguments:?}: {code} {said}");
        assert!(said.contains("the name of a "), "{arguments:?}: {said}");
    }
}

#[test]
fn commands_refuse_bad_arguments() {
    for (arguments, expected) in [
        (&["give-up", "proxy/web", "--identity", ""][..], "a value is required"),
        (&["give-up", "proxy/web", "--identity", "web", "--undo"], "cannot be used with '--undo'"),
        (&["check", "--wait", "target.yaml"], "cannot be used with"),
        (&["give-up", "proxies"], "which proxies? write proxies/NAME"),
        (&["adopt", "proxies"], "write the object as KIND/NAME"),
        (&["adopt", "proxies", "web", "cache"], "takes one object, and 2 are named: write proxies/web alone"),
        (&["explain", "ff/a", "ff/b"], "takes one object, and 2 are named: write ff/a alone"),
    ] {
        let (code, printed, said) = ended(run_in(Path::new("."), arguments, ""));
        assert!(code == 3 && printed.is_empty() && said.contains(expected), "{arguments:?}: {code} {said}");
    }
}

#[test]
fn version_needs_no_cluster_for_its_own() {
    let own = format!("kubectl-drift {}\n", env!("CARGO_PKG_VERSION"));
    let (code, printed, said) = ended(run_in(Path::new("."), &["version", "--client"], ""));
    assert_eq!((code, &printed, said.as_str()), (0, &own, ""));
    let (code, printed, said) = ended(run_in(Path::new("."), &["version"], ""));
    assert!(code == 3 && printed == own && said.contains("cannot find the API server"), "{code} {said}");
}

#[test]
fn schema_prints_what_is_checked_in() {
    let (code, printed, _) = ended(run_in(Path::new("."), &["schema"], ""));
    assert_eq!((code, printed.as_str()), (0, include_str!("../../docs/target.schema.json")));
}

/// A folder with a target that is good but for what is put into it.
fn folder(from: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = SHIPPED.replace(from, to);
    assert!(from == to || text != SHIPPED, "{from}");
    std::fs::create_dir(folder.path().join("targets")).unwrap();
    std::fs::write(folder.path().join("targets/proxies.yaml"), text).unwrap();
    std::fs::write(folder.path().join("targets/notes.txt"), "kind: PollTarget").unwrap();
    std::fs::write(folder.path().join("targets/service.yaml"), "kind: Service\n").unwrap();
    folder
}

#[test]
fn check_says_what_is_good() {
    let folder = folder("", "");
    let (code, printed, said) = ended(run_in(folder.path(), &["check", "targets"], ""));
    assert_eq!((code, said.as_str()), (0, "note: fields of Proxy are not checked: pass its CRD with -f\n"));
    let expected = "proxies: Proxy of demo.driftpoller.dev/v1, every 30s 1 request to toxiproxy.drift-demo.svc:8474 for each object\n\
                    1 good target, 0 errors, 0 warnings\n";
    assert_eq!(printed, expected);
    let (code, from_input, _) = ended(run_in(folder.path(), &["check", "-"], SHIPPED));
    assert_eq!((code, from_input.as_str()), (0, expected));
}

#[test]
fn check_shows_the_line_of_a_mistake() {
    let folder = folder("identity:", "identitie:");
    let (code, printed, said) = ended(run_in(folder.path(), &["check", "targets/proxies.yaml"], ""));
    let expected = "error: unknown key `identitie` in spec: did you mean `identity`?
  --> targets/proxies.yaml:17:7
   |
17 |       identitie: \"${self.metadata.name}\"
   |       ^^^^^^^^^

";
    assert_eq!(said, expected);
    assert_eq!((code, printed.as_str()), (3, "0 good targets, 1 error, 0 warnings\n"));
}

#[test]
fn check_speaks_to_programs() {
    let folder = folder("identity:", "identitie:");
    let (code, printed, said) = ended(run_in(folder.path(), &["check", "-o", "json", "targets"], ""));
    let found: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, said.as_str()), (3, ""));
    let problem = serde_json::json!({"severity": "error", "file": "targets/proxies.yaml", "line": 17, "column": 7,
        "message": "unknown key `identitie` in spec: did you mean `identity`?"});
    assert_eq!(found["problems"], serde_json::json!([problem]));
    let (code, printed, _) = ended(run_in(folder.path(), &["check", "-o", "github", "targets"], ""));
    let line = "::error file=targets/proxies.yaml,line=17,col=7,title=kubectl drift check::unknown key `identitie` in spec: did you mean `identity`?";
    assert_eq!((code, printed.lines().next()), (3, Some(line)));
}

#[test]
fn check_speaks_to_code_scanning() {
    let folder = folder("identity:", "identitie:");
    std::fs::rename(folder.path().join("targets/proxies.yaml"), folder.path().join("targets/a b.yaml")).unwrap();
    let (code, printed, said) = ended(run_in(folder.path(), &["check", "-o", "sarif", "targets"], ""));
    let log: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, said.as_str()), (3, ""));
    // What the format asks of a log, a run, its tool and its results.
    assert_eq!((&log["version"], log["runs"].as_array().unwrap().len()), (&"2.1.0".into(), 1));
    let run = &log["runs"][0];
    assert!(run["tool"]["driver"]["name"].is_string() && run["columnKind"] == "unicodeCodePoints");
    let rule = run["tool"]["driver"]["rules"][0]["id"].clone();
    let results = run["results"].as_array().unwrap();
    let place = serde_json::json!({"artifactLocation": {"uri": "targets/a%20b.yaml"}, "region": {"startLine": 17, "startColumn": 7}});
    let expected = serde_json::json!({"ruleId": rule, "level": "error", "locations": [{"physicalLocation": place}],
        "message": {"text": "unknown key `identitie` in spec: did you mean `identity`?"}});
    assert_eq!(*results, [expected]);
}

#[test]
fn check_refuses_what_holds_no_target() {
    let folder = folder("", "");
    for (arguments, expected) in [
        (&["check", "targets/service.yaml"][..], "targets/service.yaml: no target document here"),
        (&["check", "missing.yaml"], "missing.yaml: No such file"),
        (&["check", "-"], "no target document here"),
        (&["check"], "required arguments were not provided"),
    ] {
        let (code, printed, said) = ended(run_in(folder.path(), arguments, "kind: Service"));
        assert!(code == 3 && printed.is_empty() && said.contains(expected), "{arguments:?}: {code} {said}");
    }
}

#[test]
fn a_file_without_target_does_not_hide_the_others() {
    let folder = folder("identity:", "identitie:");
    let arguments = ["check", "targets/service.yaml", "targets/proxies.yaml"];
    let (code, printed, said) = ended(run_in(folder.path(), &arguments, ""));
    let told = ["unknown key `identitie`", "no target document here; one has", "--> targets/service.yaml"];
    assert!(code == 3 && told.iter().all(|told| said.contains(told)), "{said}");
    assert_eq!(printed, "0 good targets, 1 error, 1 warning\n");
}

#[test]
fn check_tells_programs_when_it_found_nothing() {
    for (output, pointer) in
        [("json", "/error"), ("sarif", "/runs/0/invocations/0/toolExecutionNotifications/0/message/text")]
    {
        let (code, printed, said) = ended(run_in(Path::new("."), &["check", "missing.yaml", "-o", output], ""));
        let told: serde_json::Value = serde_json::from_str(&printed).unwrap();
        let text = told.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default();
        assert!(code == 3 && text.contains("missing.yaml: No such file") && said.contains(text), "{output}: {printed}");
    }
    let (code, printed, _) = ended(run_in(Path::new("."), &["check", "missing.yaml", "-o", "github"], ""));
    assert!(code == 3 && printed.starts_with("::error title=kubectl drift check::missing.yaml: No such"), "{printed}");
}

#[test]
fn warnings_fail_where_that_is_asked_for() {
    let folder = folder("identity: \"${self.metadata.name}\"", "identity: web");
    let (code, printed, said) = ended(run_in(folder.path(), &["check", "targets"], ""));
    assert!(code == 0 && printed.ends_with("1 good target, 0 errors, 1 warning\n"), "{printed}{said}");
    let (code, ..) = ended(run_in(folder.path(), &["check", "-f", "targets", "--fail-on-warnings"], ""));
    assert_eq!(code, 3);
    // The shipped ConfigMap says where it belongs.
    let (code, _, said) = ended(run_in(folder.path(), &["check", "targets", "-n", "elsewhere"], ""));
    assert!(code == 0 && said.contains("is for namespace drift-system"), "{said}");
}

#[test]
fn explain_reads_the_file_before_it_asks_the_cluster() {
    let folder = folder("identity:", "identitie:");
    let arguments = ["explain", "proxy", "web", "-f", "targets/proxies.yaml"];
    let (code, _, said) = ended(run_in(folder.path(), &arguments, ""));
    assert!(code == 3 && said.contains("did you mean `identity`?") && !said.contains("No such file"), "{said}");
}

#[test]
fn explain_takes_what_check_takes() {
    let folder = folder("", "");
    let shipped = folder.path().join("targets/proxies.yaml");
    let no_cluster = "error: cannot find the API server";
    let given: [(&[&str], &str); 3] = [
        (&["-f", "targets"], ""),
        (&["-f", "-"], SHIPPED),
        (&["-f", "targets/service.yaml", "-f", "targets/proxies.yaml"], ""),
    ];
    for (files, input) in given {
        let (code, printed, said) = ended(run_in(folder.path(), &[&["explain", "proxy/web"], files].concat(), input));
        assert!((code, &*printed) == (3, "") && said.starts_with(no_cluster), "{files:?}: {said}");
        assert!(said.ends_with("with -f, and an answer with --answer\n"), "{said}");
    }
    std::fs::write(&shipped, SHIPPED.replace("identity", "identitie")).unwrap();
    let (code, _, said) = ended(run_in(folder.path(), &["explain", "proxy/web", "-f", "targets"], ""));
    assert!(code == 3 && said.contains("did you mean `identity`?") && said.contains("targets is not good"), "{said}");
}

/// A folder with good targets and the kubeconfig of a cluster at this port.
fn folder_of_cluster(port: u16) -> tempfile::TempDir {
    let folder = folder("", "");
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\ncurrent-context: c\n"
    );
    std::fs::write(folder.path().join("kubeconfig"), kubeconfig).unwrap();
    folder
}

#[test]
fn a_cluster_that_does_not_answer_is_told_once() {
    let folder = folder_of_cluster(1);
    let (code, printed, said) = ended(run_in(folder.path(), &["check", "targets", "--kubeconfig", "kubeconfig"], ""));
    assert!(printed.ends_with("1 good target, 0 errors, 1 warning\n"), "{printed}{said}");
    assert_eq!((code, said.matches("the API server cannot be reached: ").count()), (2, 1), "{said}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
fn a_cluster_that_answers_something_else_is_asked() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = folder_of_cluster(server.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for mut connection in server.incoming().flatten() {
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>");
        }
    });
    let (code, printed, said) = ended(run_in(folder.path(), &["check", "targets", "--kubeconfig", "kubeconfig"], ""));
    let is_told =
        said.contains("the answer is not what was asked for") && !said.contains("the cluster cannot be asked");
    assert!(code == 2 && is_told, "{code}: {printed}{said}");
}

#[test]
fn every_example_is_good_with_its_kind() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests/examples");
    let folders = std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut count = 0;
    for folder in folders {
        let (code, _, said) = ended(run_in(&folder, &["check", ".", "--fail-on-warnings"], ""));
        assert!(code == 0, "{}: {said}", folder.display());
        count += 1;
    }
    assert!(count >= 9, "only {count} examples were found");
}
