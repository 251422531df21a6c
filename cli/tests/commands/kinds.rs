//! What commands say of a target whose kind is defined beside it, and of one whose kind is not.

use super::{SHIPPED, ended, folder, run_in};

/// The definition of the kind of the shipped target.
const DEFINITION: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/components/proxies/proxies.demo.driftpoller.dev.yaml");

#[test]
fn check_notes_kinds_that_no_file_defines() {
    let folder = folder("", "");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join("targets").join(name), text).unwrap();
    let said = |arguments: &[&str]| {
        let (code, printed, said) =
            ended(run_in(folder.path(), &[&["check", "-f", "targets"], arguments].concat(), ""));
        assert_eq!(code, 0, "{arguments:?}: {printed}{said}");
        (printed, said)
    };
    for output in ["json", "sarif", "github"] {
        let (printed, said) = said(&["-o", output, "--fail-on-warnings"]);
        assert!(!printed.contains("not checked") && said.is_empty(), "{output}: {printed}{said}");
    }
    assert_eq!(said(&["-f", DEFINITION]).1, "");
    // The kinds of Kubernetes have no CustomResourceDefinition.
    let other = |kind: &str| {
        let text = SHIPPED.replace("apiVersion: demo.driftpoller.dev/v1, kind: Proxy", kind);
        text.replace("name: proxies", "name: others").replace("proxies.yaml: |", "others.yaml: |")
    };
    for (kind, expected) in [
        ("apiVersion: g.example/v1, kind: Ox", "fields of Ox, Proxy are not checked: pass their CRDs with -f"),
        ("apiVersion: v1, kind: Service", "fields of Proxy are not checked: pass its CRD with -f"),
    ] {
        write("others.yaml", &other(kind));
        let (_, said) = said(&[]);
        assert_eq!(said.lines().last(), Some(&*format!("note: {expected}")), "{said}");
    }
}

#[test]
fn explain_and_rbac_refuse_what_check_refuses() {
    for (from, to) in [("${self.spec.listen}", "${self.spec.lisen}"), (".?enabled.orValue(true)", ".enabled")] {
        let folder = folder(from, to);
        let said = |command: &[&str]| {
            let files = ["-f", "targets/proxies.yaml", "-f", DEFINITION];
            let (code, printed, said) = ended(run_in(folder.path(), &[command, &files].concat(), ""));
            assert_eq!(code, 3, "{command:?}: {printed}{said}");
            said
        };
        let checked = said(&["check"]);
        for command in [&["explain", "proxy/web"][..], &["rbac"]] {
            let said = said(command);
            assert!(said.starts_with(&checked), "{command:?}: {said}\n{checked}");
        }
    }
}

#[test]
fn check_knows_the_kinds_beside_targets() {
    let components = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/components/proxies");
    let definition = format!("{components}/proxies.demo.driftpoller.dev.yaml");
    let folder = folder("${self.spec.listen}", "${self.spec.lisen}");
    let check = |paths: &[&str]| ended(run_in(folder.path(), &[&["check"], paths].concat(), ""));
    assert_eq!(check(&["targets"]).0, 0, "without the kind nobody knows");
    let (code, _, said) = check(&["targets", "-f", &definition]);
    let expected = "has no field spec.lisen, which a template reads: did you mean `listen`?";
    assert!(code == 3 && said.contains(expected) && said.contains("--> targets/proxies.yaml:"), "{said}");
    let (code, _, said) = check(&[&definition]);
    assert!(code == 3 && said.contains("no target document here"), "{said}");
    let (code, ..) = check(&[components]);
    assert_eq!(code, 0);
}

#[test]
fn a_status_field_that_the_kind_lacks_is_told_where_it_is_written() {
    let stored = "accept: [201]\n            store: {recordID: \"${response.body.name}\"}";
    let published = "publish: {recordID: \"${observed.name}\"}\n      correct:";
    for (from, to, key) in [("accept: [201]", stored, "store"), ("correct:", published, "publish")] {
        let folder = folder(from, to);
        let (code, _, said) = ended(run_in(folder.path(), &["check", "targets", "-f", DEFINITION], ""));
        assert!(code == 3 && said.contains(&format!("has no field status.recordID, which `{key}` writes")), "{said}");
        assert!(said.contains("{recordID: ") && !said.contains("which a template reads"), "{said}");
    }
}
