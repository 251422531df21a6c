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

/// A kind, an answer of its external system, and an object that differs from it.
struct Sample {
    kind: &'static str,
    definition: &'static str,
    answer: &'static str,
    url: &'static str,
    object: &'static str,
    /// What `explain` says.
    told: &'static [&'static str],
}

fn samples() -> [Sample; 4] {
    [
        Sample {
            kind: "proxy",
            definition: PROXIES,
            answer: r#"{"name": "sample", "listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true, "toxics": []}"#,
            url: "http://proxies.example/proxies/sample",
            object: "apiVersion: demo.driftpoller.dev/v1\nkind: Proxy\nmetadata: {name: sample}\n\
                     spec: {listen: '127.0.0.1:3', upstream: '127.0.0.1:4', enabled: false}\n",
            told: &[
                "GET http://proxies.example/proxies/sample",
                "/enabled desired",
                "/listen desired",
                "/upstream desired",
            ],
        },
        Sample {
            kind: "dnsrecord",
            definition: GUIDE.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap(),
            answer: r#"{"data": {"id": "r-1", "attributes": {"fqdn": "www.example.org", "type": "A", "ttl": "60", "value": "192.0.2.9"}}}"#,
            url: "https://dns.example/records/A/www.example.org",
            object: "apiVersion: net.example/v1\nkind: DnsRecord\nmetadata: {name: sample}\n\
                     spec: {fqdn: www.example.org, type: A, ttl: 300, value: 192.0.2.10}\n",
            told: &["records/A/www.example.org", "/ttl desired \"300\", observed \"60\"", "/value desired"],
        },
        Sample {
            kind: "LoadBalancer",
            definition: LOAD_BALANCERS,
            answer: r#"{"id": "lb-1", "size": "small", "ports": [80], "state": "ready"}"#,
            url: "https://cloud.example/v1/load-balancers/lb-1",
            object: "apiVersion: cloud.example/v1\nkind: LoadBalancer\nmetadata: {name: sample}\n\
                     spec: {size: large, ports: [80, 443]}\n",
            told: &["/size desired \"large\", observed \"small\"", "/ports"],
        },
        Sample {
            kind: "proxy",
            definition: PROXIES,
            answer: r#"{"proxies": [{"name": "sample", "listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true}]}"#,
            url: "http://proxies.example/proxies",
            object: "apiVersion: demo.driftpoller.dev/v1\nkind: Proxy\nmetadata: {name: sample}\n\
                     spec: {listen: '127.0.0.1:3', upstream: '127.0.0.1:4', enabled: false}\n",
            told: &["GET http://proxies.example/proxies", "/enabled desired", "/listen desired", "/upstream desired"],
        },
    ]
}

#[test]
fn a_draft_passes_check_and_explains_its_fields() {
    for Sample { kind, definition, answer, url, object, told } in samples() {
        let folder = folder(definition, answer, object);
        let named = format!("{kind}/sample");
        for address in [&["--url", url][..], &[]] {
            let given = [&[kind, "-f", "crd.yaml", "--answer", "answer.json"], address].concat();
            let (code, printed, said) = draft_in(folder.path(), &given);
            assert_eq!((code, said.as_str()), (0, ""), "{kind}");
            std::fs::write(folder.path().join("target.yaml"), &printed).unwrap();
            let check = ["check", "target.yaml", "crd.yaml", "--fail-on-warnings"];
            let (code, summary, said) = ended(run_in(folder.path(), &check, ""));
            if address.is_empty() {
                let is_refused =
                    said.starts_with("error: CHANGE-ME stands where") && summary.contains("\n0 good targets, 1 error");
                assert!(code == 3 && is_refused, "{kind}: {summary}{said}{printed}");
            } else {
                assert_eq!((code, said.as_str()), (0, ""), "{kind}: {printed}");
            }
            let explain = ["explain", &named, "-f", "target.yaml", "-f", "crd.yaml", "-f", "object.yaml"];
            let explain = [&explain[..], &["--answer", "answer.json"]].concat();
            let (code, shown, said) = ended(run_in(folder.path(), &explain, ""));
            let has_all = told.iter().all(|text| shown.contains(text) || address.is_empty());
            assert!(code == 1 && has_all, "{kind} {code}: {shown}{said}\n{printed}");
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
