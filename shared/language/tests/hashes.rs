//! The hashes of one text, and the keys that enter each of them.
//!
//! A verdict, a claim and an approval are bound to these hashes. A changed hash withdraws them for every target.

#![allow(clippy::unwrap_used, clippy::panic)]

use drift_language::{DocumentName, Target, parse_document};

const TARGET: &str = r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: users}
spec:
  objects: {apiVersion: demo.example/v1, kind: User}
  objectMay: [ignore]
  identity: "${self.spec.name}"
  scope: users
  base: http://users.svc
  let: {login: "${self.spec.login}"}
  require: [{that: "${self.spec.name != 'root'}", else: no root}]
  interval: 1m
  timeout: 5s
  suspend: false
  suspendWhen: "${self.spec.paused}"
  insecure: false
  confirm: {absent: 2}
  secrets: {first: {secretRef: {name: passwords, key: first}}}
  read: {http: {url: "/users/${self.spec.name}"}}
  compare: {desired: {login: "${login}"}}
  publish: {id: "${observed.id}"}
  ready: false
  hints: {webhook: {secretRef: {name: hook, key: token}, identity: "${payload.name}"}}
  correct:
    mode: Correct
    existing: Adopt
    settle: 1s
    limits: {concurrent: 2}
    http:
      create: [{method: POST, url: /users, timeout: 5s, idempotent: true, body: {p: "${secrets.first}"}}]
      update: [{method: PUT, url: "/users/${self.spec.name}", body: "${desired}"}]
      delete: [{method: DELETE, url: "/users/${self.spec.name}"}]
"#;

/// The hashes of the target above: of its verdict, its document, and the requests of its corrections.
const HASHES: [&str; 3] = ["7fb6740c7c063fc2", "62aba559c4b60df0", "1b8767849fc6c6fc"];

/// An edit of each key: the old and the new text, and the changed hashes, in the order of [`HASHES`].
const EDITS: &[(&str, &str, [bool; 3])] = &[
    ("name: users}", "name: people}", [false, true, false]),
    ("kind: User}", "kind: Account}", [true, true, false]),
    ("objectMay: [ignore]", "objectMay: [interval]", [true, true, false]),
    ("identity: \"${self.spec.name}\"", "identity: \"${self.spec.name + ''}\"", [true, true, false]),
    ("scope: users", "scope: others", [true, true, false]),
    ("base: http://users.svc", "base: http://others.svc", [true, true, true]),
    ("self.spec.login", "self.spec.mail", [true, true, true]),
    ("else: no root", "else: not root", [true, true, false]),
    ("interval: 1m", "interval: 2m", [false, true, false]),
    ("  timeout: 5s\n", "  timeout: 6s\n", [false, true, false]),
    ("suspend: false", "suspend: true", [false, true, false]),
    ("self.spec.paused", "self.spec.stopped", [true, true, false]),
    ("insecure: false", "insecure: true", [false, true, false]),
    ("absent: 2", "absent: 3", [true, true, false]),
    ("key: first", "key: second", [false, true, true]),
    ("read: {http: {url", "read: {http: {method: POST, settlingWhen: '${false}', url", [true, true, false]),
    ("desired: {login", "desired: {user", [true, true, false]),
    ("{login: \"${login}\"}}", "{login: \"${login}\"}, rules: [{path: /login, empty: absent}]}", [true, true, false]),
    ("{login: \"${login}\"}}", "{login: \"${login}\"}, rules: [{path: /login, as: text}]}", [true, true, false]),
    ("observed.id", "observed.uid", [false, true, false]),
    ("ready: false", "ready: true", [false, true, false]),
    ("payload.name", "payload.user", [false, true, false]),
    ("mode: Correct", "mode: Observe", [false, true, false]),
    ("existing: Adopt", "existing: Refuse", [false, true, false]),
    ("settle: 1s", "settle: 2s", [false, true, false]),
    ("concurrent: 2", "concurrent: 3", [false, true, false]),
    ("url: /users, timeout: 5s", "url: /users, timeout: 6s", [false, true, false]),
    ("idempotent: true", "idempotent: false", [false, true, false]),
    ("p: \"${secrets.first}\"", "q: \"${secrets.first}\"", [false, true, true]),
    ("method: PUT", "method: PATCH", [false, true, true]),
    ("body: \"${desired}\"", "when: \"${'login' in differs}\", body: \"${desired}\"", [true, true, true]),
    ("existing: Adopt", "existing: Adopt # later", [false, false, false]),
];

fn load(text: &str) -> Target {
    let name = DocumentName { config_map: "targets".to_owned(), key: "users.yaml".to_owned() };
    parse_document(&name, text).unwrap_or_else(|problems| panic!("{problems:#?}\n{text}"))
}

fn hashes(text: &str) -> [String; 3] {
    let target = load(text);
    [target.verdict_hash, target.document_hash, format!("{:016x}", target.correct_hash)]
}

#[test]
fn the_hashes_of_a_text_stay() {
    assert_eq!(hashes(TARGET), HASHES);
}

#[test]
fn each_key_enters_its_hashes() {
    let before = hashes(TARGET);
    for (old, new, changes) in EDITS {
        assert_eq!(TARGET.matches(old).count(), 1, "{old}");
        let after = hashes(&TARGET.replace(old, new));
        let changed = [0, 1, 2].map(|hash| before[hash] != after[hash]);
        assert_eq!(changed, *changes, "{new}");
    }
}
