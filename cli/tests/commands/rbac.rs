//! `kubectl drift rbac`: what it prints for files, and that the shipped roles grant just that.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use drift_language::manifests_of;
use serde_json::Value;

use super::{ended, folder, run_in};

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests");

/// Who may do what with which resource, wherever that is.
type Grant = [String; 4];

/// What the bindings of some manifests grant by the roles among these.
fn grants(text: &str) -> BTreeSet<Grant> {
    let manifests = manifests_of(text);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let words = |list: &Value| list.as_array().into_iter().flatten().map(word).collect::<Vec<_>>();
    let mut grants = BTreeSet::new();
    for binding in manifests.iter().filter(|manifest| word(&manifest["kind"]).ends_with("Binding")) {
        let is_bound = |role: &&Value| {
            role["kind"] == binding["roleRef"]["kind"] && role["metadata"]["name"] == binding["roleRef"]["name"]
        };
        let rules = manifests.iter().filter(is_bound).flat_map(|role| role["rules"].as_array().into_iter().flatten());
        for rule in rules {
            for verb in words(&rule["verbs"]) {
                let place = |list: &str| words(&rule[list]).join(" ");
                let account = word(&binding["subjects"][0]["name"]);
                grants.insert([account, place("apiGroups"), place("resources"), verb]);
            }
        }
    }
    grants
}

fn printed(paths: &[&Path]) -> String {
    let mut arguments = vec!["rbac"];
    paths.iter().for_each(|path| arguments.extend(["-f", path.to_str().unwrap()]));
    let (code, printed, said) = ended(run_in(Path::new("."), &arguments, ""));
    assert_eq!((code, said.as_str()), (0, ""), "{paths:?}");
    printed
}

#[test]
fn shipped_roles_grant_what_their_targets_need() {
    let examples = fs::read_dir(format!("{MANIFESTS}/examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = examples.filter(|path| path.join("rbac.yaml").exists()).collect();
    folders.push(PathBuf::from(format!("{MANIFESTS}/components/proxies")));
    assert!(folders.len() >= 9, "{folders:?}");
    for folder in &folders {
        let shipped = grants(&fs::read_to_string(folder.join("rbac.yaml")).unwrap());
        assert_eq!(grants(&printed(&[folder])), shipped, "{}", folder.display());
    }
    // Another target for the same kind lies beside no roles of its own.
    let [of_all, of_each] = ["postgres-all-roles", "postgres-roles"].map(|name| format!("{MANIFESTS}/examples/{name}"));
    let kind = format!("{of_each}/kind.yaml");
    let shipped = grants(&fs::read_to_string(format!("{of_each}/rbac.yaml")).unwrap());
    assert_eq!(grants(&printed(&[Path::new(&of_all), Path::new(&kind)])), shipped);
}

#[test]
fn rbac_prints_two_roles_of_a_namespace() {
    let folder = PathBuf::from(format!("{MANIFESTS}/components/proxies"));
    let expected = "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: drift-poller-targets, namespace: drift-demo}
rules:
# proxies
- {apiGroups: [demo.driftpoller.dev], resources: [proxies], verbs: [get, list, watch]}
# proxies
- {apiGroups: [demo.driftpoller.dev], resources: [proxies/status], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: drift-poller-targets, namespace: drift-demo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: drift-poller-targets}
subjects: [{kind: ServiceAccount, name: drift-poller, namespace: drift-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: drift-controller-targets, namespace: drift-demo}
rules:
# proxies
- {apiGroups: [demo.driftpoller.dev], resources: [proxies], verbs: [get, list, watch, patch]}
# proxies
- {apiGroups: [demo.driftpoller.dev], resources: [proxies/status], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: drift-controller-targets, namespace: drift-demo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: drift-controller-targets}
subjects: [{kind: ServiceAccount, name: drift-controller, namespace: drift-system}]
";
    let text = printed(&[&folder]);
    let comments = text.lines().take_while(|line| line.starts_with('#')).map(|line| line.len() + 1).sum::<usize>();
    assert_eq!(&text[comments..], expected);
    // The excerpt on the page of commands.
    let page = include_str!("../../../docs/reference/commands.md").split("\n## rbac").nth(1).unwrap();
    let shown = page.split("it prints\n\n```yaml\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap();
    assert!(expected.contains(shown), "{shown}");
}

#[test]
fn rbac_names_accounts_and_roles_as_told() {
    let folder = folder(
        "objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy, namespaces: [drift-demo]}",
        "objects: {apiVersion: v1, kind: Node}",
    );
    let arguments = [
        "rbac",
        "-f",
        "-",
        "-f",
        "targets",
        "--name",
        "dns",
        "-n",
        "home",
        "--poller-account",
        "reader",
        "--controller-account",
        "writer",
    ];
    let (code, printed, said) = ended(run_in(folder.path(), &arguments, ""));
    assert_eq!((code, said.as_str()), (0, ""));
    for expected in [
        "kind: ClusterRole\nmetadata: {name: reader-dns}\nrules:\n# proxies\n- {apiGroups: [\"\"], resources: [nodes], verbs: [get, list, watch]}",
        "subjects: [{kind: ServiceAccount, name: writer, namespace: home}]",
    ] {
        assert!(printed.contains(expected), "{printed}");
    }
    assert!(!printed.contains("kind: Role\n"), "{printed}");
}

#[test]
fn rbac_says_where_a_plural_is_missing() {
    let folder = folder("", "");
    let (code, printed, said) = ended(run_in(folder.path(), &["rbac", "-f", "targets"], ""));
    assert_eq!((code, printed.as_str()), (3, ""));
    for expected in [
        "error: nothing says what the plural of Proxy in demo.driftpoller.dev/v1 is: name the file of its CustomResourceDefinition with -f too",
        "--> targets/proxies.yaml:16:54",
        "^^^^",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn rbac_refuses_what_would_not_come_into_force() {
    let folder = folder("identity:", "identitie:");
    for (arguments, expected) in [
        (&["rbac", "-f", "targets"][..], "unknown key `identitie`"),
        (&["rbac", "-f", "targets/service.yaml"], "targets/service.yaml: no target document here"),
        (&["rbac"], "required arguments were not provided"),
    ] {
        let (code, printed, said) = ended(run_in(folder.path(), arguments, ""));
        assert!(code == 3 && printed.is_empty() && said.contains(expected), "{arguments:?}: {code} {said}");
    }
}

#[test]
fn reports_need_no_right_on_the_status() {
    const REPORTED: &str =
        "objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy, namespaces: [drift-demo], conditions: Report}";
    let folder =
        folder("objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy, namespaces: [drift-demo]}", REPORTED);
    let file = folder.path().join("targets/proxies.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let observing = text.split("\n      correct:").next().unwrap().to_owned() + "\n";
    fs::write(&file, observing).unwrap();
    let kind = format!("{MANIFESTS}/components/proxies/proxies.demo.driftpoller.dev.yaml");
    let arguments = ["rbac", "-f", "targets/proxies.yaml", "-f", &kind, "--verify-account", "drift-verify"];
    let (code, printed, said) = ended(run_in(folder.path(), &arguments, ""));
    assert_eq!((code, said.as_str()), (0, ""), "{printed}");
    let grant =
        |account: &str, group: &str, resource: &str, verb: &str| [account, group, resource, verb].map(str::to_owned);
    let of_kind = |account, verb| grant(account, "demo.driftpoller.dev", "proxies", verb);
    let mut expected: BTreeSet<Grant> = ["get", "list", "watch"]
        .into_iter()
        .flat_map(|verb| [of_kind("drift-poller", verb), of_kind("drift-controller", verb)])
        .collect();
    // The manifests grant reports to both programs, but not to this account.
    expected.insert(of_kind("drift-verify", "list"));
    expected.insert(grant("drift-verify", "driftpoller.dev", "driftreports", "list"));
    assert_eq!(grants(&printed), expected);
    // Without a controller, nobody has its role.
    let without = [&arguments[..], &["--observe-only"]].concat();
    let (code, printed, said) = ended(run_in(folder.path(), &without, ""));
    assert_eq!((code, said.as_str()), (0, ""), "{printed}");
    expected.retain(|[account, ..]| account != "drift-controller");
    assert_eq!(grants(&printed), expected);
}

#[test]
fn another_kind_in_the_group_of_reports_needs_rights() {
    let (old, new) = ("apiVersion: demo.driftpoller.dev/v1", "apiVersion: driftpoller.dev/v1");
    let folder = folder(old, new);
    let definition =
        fs::read_to_string(format!("{MANIFESTS}/components/proxies/proxies.demo.driftpoller.dev.yaml")).unwrap();
    fs::write(folder.path().join("crd.yaml"), definition.replace("demo.driftpoller.dev", "driftpoller.dev")).unwrap();
    let arguments = ["rbac", "-f", "targets/proxies.yaml", "-f", "crd.yaml"];
    let (code, printed, said) = ended(run_in(folder.path(), &arguments, ""));
    assert_eq!((code, said.as_str()), (0, ""), "{printed}");
    let granted = grants(&printed);
    for account in ["drift-poller", "drift-controller"] {
        let watch = [account, "driftpoller.dev", "proxies", "watch"].map(str::to_owned);
        assert!(granted.contains(&watch), "{printed}");
    }
}

#[test]
fn rbac_prints_values_of_the_chart() {
    let folder = folder("", "");
    let kind = format!("{MANIFESTS}/components/proxies/proxies.demo.driftpoller.dev.yaml");
    let arguments = ["rbac", "-f", "targets/proxies.yaml", "-f", &kind, "-o", "helm-values"];
    let (code, printed, said) = ended(run_in(folder.path(), &arguments, ""));
    assert_eq!((code, said.as_str()), (0, ""));
    let expected = "rights:
  poller:
  # proxies
  - {apiGroups: [demo.driftpoller.dev], resources: [proxies], verbs: [get, list, watch]}
  # proxies
  - {apiGroups: [demo.driftpoller.dev], resources: [proxies/status], verbs: [patch]}
  controller:
  # proxies
  - {apiGroups: [demo.driftpoller.dev], resources: [proxies], verbs: [get, list, watch, patch]}
  # proxies
  - {apiGroups: [demo.driftpoller.dev], resources: [proxies/status], verbs: [patch]}
  namespaces: [drift-demo]
";
    assert_eq!(printed.split_once('\n').map(|(_, values)| values), Some(expected));
    // The values grant in these namespaces what the roles do.
    let values = &manifests_of(&printed)[0]["rights"];
    let roles = self::printed(&[&folder.path().join("targets/proxies.yaml"), Path::new(&kind)]);
    for program in ["poller", "controller"] {
        let is_role = |role: &&Value| role["metadata"]["name"] == format!("drift-{program}-targets");
        let role = manifests_of(&roles).iter().find(is_role).map(|role| role["rules"].clone());
        assert_eq!(Some(&values[program]), role.as_ref());
    }
    let without = [&arguments[..], &["--observe-only"]].concat();
    let (code, printed, _) = ended(run_in(folder.path(), &without, ""));
    assert!(code == 0 && printed.contains("  poller:\n") && !printed.contains("controller:"), "{printed}");
    for flag in ["--name", "--poller-account", "--controller-account", "--verify-account"] {
        let with = [&arguments[..], &[flag, "other"]].concat();
        let (code, printed, said) = ended(run_in(folder.path(), &with, ""));
        assert!(code == 3 && printed.is_empty() && said.contains("cannot be used with"), "{flag}: {said}");
    }
}

#[test]
fn rbac_refuses_values_for_unequal_namespaces() {
    let folder = folder("", "");
    let text = fs::read_to_string(folder.path().join("targets/proxies.yaml")).unwrap();
    let other = text.replace("name: proxies", "name: others").replace("[drift-demo]", "[another]");
    let other = other.replace("      interval:", "      ready: true\n      interval:");
    fs::write(folder.path().join("targets/others.yaml"), other).unwrap();
    let kind = format!("{MANIFESTS}/components/proxies/proxies.demo.driftpoller.dev.yaml");
    let arguments = ["rbac", "-f", "targets/proxies.yaml", "-f", "targets/others.yaml", "-f", &kind];
    let (code, _, said) = ended(run_in(folder.path(), &arguments, ""));
    assert_eq!((code, said.as_str()), (0, ""));
    let (code, printed, said) = ended(run_in(folder.path(), &[&arguments[..], &["-o", "helm-values"]].concat(), ""));
    let expected =
        "error: the poller needs other rights in namespace drift-demo than elsewhere, and `rights` of the chart";
    assert!(code == 3 && printed.is_empty() && said.starts_with(expected), "{printed}{said}");
}
