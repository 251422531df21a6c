//! `kubectl drift draft`: what it prints is a target that `check` and `explain` take.

use std::path::Path;

use super::{ended, run_in};

const PROXIES: &str = include_str!("../../../manifests/components/proxies/proxies.demo.driftpoller.dev.yaml");
const LOAD_BALANCERS: &str = include_str!("../../../manifests/examples/load-balancer/kind.yaml");
/// The guide, whose first block defines `DnsRecord`.
const GUIDE: &str = include_str!("../../../docs/guides/first-target.md");

/// A folder with a definition, an answer and an object.
fn folder(definition: &str, answer: &str, object: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("crd.yaml", definition);
    write("answer.json", answer);
    write("object.yaml", object);
    folder
}

fn draft_in(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    ended(run_in(folder, &[&["draft"], arguments].concat(), ""))
}

#[test]
fn a_draft_passes_check_and_explains_its_fields() {
    let records = GUIDE.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let table: [(&str, &str, &str, &str, &str, &[&str]); 3] = [
        (
            "proxy",
            PROXIES,
            r#"{"name": "sample", "listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true, "toxics": []}"#,
            "http://proxies.example/proxies/sample",
            "apiVersion: demo.driftpoller.dev/v1\nkind: Proxy\nmetadata: {name: sample}\n\
             spec: {listen: '127.0.0.1:3', upstream: '127.0.0.1:4', enabled: false}\n",
            &["GET http://proxies.example/proxies/sample", "/enabled desired", "/listen desired", "/upstream desired"],
        ),
        (
            "dnsrecord",
            records,
            r#"{"data": {"id": "r-1", "attributes": {"fqdn": "www.example.org", "type": "A", "ttl": "60", "value": "192.0.2.9"}}}"#,
            "https://dns.example/records/A/www.example.org",
            "apiVersion: net.example/v1\nkind: DnsRecord\nmetadata: {name: sample}\n\
             spec: {fqdn: www.example.org, type: A, ttl: 300, value: 192.0.2.10}\n",
            &[
                "GET https://dns.example/records/A/www.example.org",
                "/ttl desired \"300\", observed \"60\"",
                "/value desired",
            ],
        ),
        (
            "LoadBalancer",
            LOAD_BALANCERS,
            r#"{"id": "lb-1", "size": "small", "ports": [80], "state": "ready"}"#,
            "https://cloud.example/v1/load-balancers/lb-1",
            "apiVersion: cloud.example/v1\nkind: LoadBalancer\nmetadata: {name: sample}\nspec: {size: large, ports: [80, 443]}\n",
            &["/size desired \"large\", observed \"small\"", "/ports"],
        ),
    ];
    for (kind, definition, answer, url, object, expected) in table {
        let folder = folder(definition, answer, object);
        let given = [kind, "-f", "crd.yaml", "--answer", "answer.json"];
        for address in [&["--url", url][..], &[]] {
            let (code, printed, said) = draft_in(folder.path(), &[&given, address].concat());
            assert_eq!((code, said.as_str()), (0, ""), "{kind}");
            std::fs::write(folder.path().join("target.yaml"), &printed).unwrap();
            let checked = ["check", "target.yaml", "crd.yaml", "--fail-on-warnings"];
            let (code, _, said) = ended(run_in(folder.path(), &checked, ""));
            assert_eq!((code, said.as_str()), (0, ""), "{kind}: {printed}");
            if address.is_empty() {
                continue;
            }
            let object = format!("{kind}/sample");
            let tried = [
                "explain",
                &object,
                "-f",
                "target.yaml",
                "-f",
                "crd.yaml",
                "-f",
                "object.yaml",
                "--answer",
                "answer.json",
            ];
            let (code, told, said) = ended(run_in(folder.path(), &tried, ""));
            assert!(
                code == 1 && expected.iter().all(|text| told.contains(text)),
                "{kind} {code}: {told}{said}\n{printed}"
            );
        }
    }
}

#[test]
fn a_draft_says_what_it_lacks() {
    let folder = folder(PROXIES, r#"[{"listen": "127.0.0.1:1"}]"#, "listen: 127.0.0.1:1\n");
    let given = |kind: &'static str, file: &'static str, answer: &'static str| {
        draft_in(folder.path(), &[kind, "-f", file, "--answer", answer])
    };
    for (kind, file, answer, expected) in [
        ("record", "crd.yaml", "object.yaml", "in crd.yaml defines the kind record: they define Proxy"),
        (
            "proxy",
            "object.yaml",
            "object.yaml",
            "in object.yaml defines the kind proxy: name the file with its definition by -f",
        ),
        ("proxy", "crd.yaml", "answer.json", "answer.json: the answer is a list of 1 items: take one of them"),
        ("proxy", "crd.yaml", "crd.yaml", "no field of the answer has the name of a field of Proxy"),
        ("proxy", "crd.yaml", "missing.json", "missing.json: No such file"),
    ] {
        let (code, printed, said) = given(kind, file, answer);
        assert!(code == 3 && printed.is_empty() && said.contains(expected), "{expected}: {code} {said}");
    }
    let (code, printed, _) = given("proxy", "crd.yaml", "object.yaml");
    assert!(code == 0 && printed.contains("listen: \"${self.spec.listen}\""), "an answer may be YAML: {printed}");
    let (code, _, said) = draft_in(folder.path(), &["proxy", "--answer", "object.yaml"]);
    assert!(code == 3 && said.contains("cannot find the API server"), "{said}");
}
