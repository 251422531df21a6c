use crate::{Destination, SecretSource, Step as _, Target};
use serde_json::json;

const TEXT: &str = r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Role}
  identity: "${self.metadata.name}"
  secrets:
    password: {fromObject: "${self.spec.passwordSecretRef.name}", key: password}
    token: {secretRef: {name: ours, key: token}}
  let: {credential: "${self.metadata.name + ':' + secrets.password}"}
  read: {http: {url: "https://h/x"}}
  compare: {desired: {a: "${self.spec.a}"}}
  correct:
    http:
      create: [{method: POST, url: "https://h/x", body: {a: "${desired.a}", password: "${secrets.password}"}}]
      update:
      - {method: PUT, url: "https://h/x", headers: {x-auth: "${base64.encode(bytes(credential))}"}, form: {p: "${secrets.?token}"}}
      delete: [{method: DELETE, url: "https://h/x", headers: {x-token: "t ${secrets['token']}"}}]
"#;

fn parse(text: &str) -> Result<Target, Vec<String>> {
    crate::fixtures::parsed(text)
}

#[test]
fn each_step_says_which_secrets_it_sends() {
    let target = parse(TEXT).unwrap();
    let Some(Destination::Http(http)) = &target.correct.destination else { panic!("no steps") };
    let sent = |step: &crate::HttpStep| ["password", "token"].map(|name| step.sends(name));
    assert_eq!(
        [&http.steps.create, &http.steps.update, &http.steps.delete].map(|steps| sent(&steps[0])),
        [[true, false], [true, true], [false, true]]
    );
    let [password, token] = target.secrets.as_slice() else { panic!("{:?}", target.secrets) };
    assert!(password.is_of_object() && !token.is_of_object());
    let SecretSource::OfObject(of_object) = &password.source else { panic!("{password:?}") };
    let named = |name: &str| of_object.secret_of(&json!({"spec": {"passwordSecretRef": {"name": name}}}));
    assert_eq!(named("pw").unwrap(), "pw");
    assert!(named("a/b").is_err() && named("").is_err());
    assert!(format!("{:?}", target.all_fields).contains("passwordSecretRef"), "the controller keeps what names it");
    assert!(!format!("{:?}", target.poll_fields).contains("passwordSecretRef"), "the poller does not");
}

#[test]
fn an_edited_source_is_an_edited_request() {
    let other = parse(&TEXT.replace("key: token}", "key: other}")).unwrap();
    let target = parse(TEXT).unwrap();
    assert_ne!(target.correct_hash, other.correct_hash);
    assert_eq!(target.verdict_hash, other.verdict_hash, "the poller needs none");
}

/// Edits of the target (from, to), and the resulting errors.
const MISTAKES: &[(&str, &str, &[&str])] = &[
    (
        "password: \"${secrets.password}\"",
        "password: \"${secrets.pasword}\"",
        &["15:90 correct.http.create[0].body.password: no secret is called `pasword`: did you mean `password`?"],
    ),
    (
        "password: \"${secrets.password}\"",
        "password: \"${secrets}\"",
        &["15:90 correct.http.create[0].body.password: write secrets and the name of one: secrets.password"],
    ),
    (
        "password: \"${secrets.password}\"",
        "password: \"${secrets[self.spec.a]}\"",
        &["15:90 correct.http.create[0].body.password: write secrets and the name of one: secrets.password"],
    ),
    (
        "body: {a: \"${desired.a}\", password: \"${secrets.password}\"}",
        "raw: \"${bytes(secrets.password)}\"",
        &[
            "15:65 correct.http.create[0].raw: a secret is only ever sent: write it in the body, form, text, headers or SQL of correct",
        ],
    ),
    (
        "desired: {a: \"${self.spec.a}\"}",
        "desired: {a: \"${credential}\"}",
        &[
            "12:29 compare.desired.a: a secret is only ever sent: write it in the body, form, text, headers or SQL of correct",
        ],
    ),
    (
        "x-token: \"t ${secrets['token']}\"",
        "x-token: \"${secrets.password}\"",
        &[
            "18:15 correct.http.delete[0]: secrets.password stands beside the object, and is gone before it where its namespace is deleted; a deletion can send those of secretRef alone",
        ],
    ),
    (
        "update:\n      - {method: PUT, url: \"https://h/x\"",
        "update:\n      - {method: PUT, url: \"http://h/x\"",
        &["15:7 correct.http: a secret would go unencrypted to h:80; write https, or insecure: true beside correct"],
    ),
    (
        "fromObject: \"${self.spec.passwordSecretRef.name}\"",
        "fromObject: \"${response.body}\"",
        &["8:31 secrets.password.fromObject: `response` does not exist here; known: self"],
    ),
];

#[test]
fn every_mistake_with_a_secret_is_told() {
    let mut wrong = Vec::new();
    for (old, new, expected) in MISTAKES {
        assert!(TEXT.contains(old), "{old}");
        let found = parse(&TEXT.replacen(old, new, 1)).map(drop).err().unwrap_or_default();
        if found != *expected {
            wrong.push(format!("{new}\n   found    {found:?}\n   expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const WRITE_ONLY: &str =
    "compare: {desired: {a: \"${self.spec.a}\"}, writeOnly: [{path: /password, secret: password}]}";

#[test]
fn what_cannot_be_read_back_is_sent_by_every_change() {
    let with = |write_only: &str| {
        TEXT.replace(
            "compare: {desired: {a: \"${self.spec.a}\"}}",
            &WRITE_ONLY.replace("[{path: /password, secret: password}]", write_only),
        )
    };
    let said = |text: &str| parse(text).map(drop).err().unwrap_or_default();
    let target = parse(&with("[{path: /password, secret: password}]")).unwrap();
    assert_eq!(target.compare.write_only[0].field(), "password");
    let table: &[(&str, &str)] = &[
        (
            "[{path: /a, secret: password}]",
            "12:64 compare.writeOnly[0].path: desired says what is to be there, so it is compared; take it out of one of the two",
        ),
        (
            "[{path: /b, secret: pasword}]",
            "12:76 compare.writeOnly[0].secret: spec.secrets has no `pasword`: did you mean `password`?",
        ),
        (
            "[{path: /b/*, secret: password}]",
            "12:64 compare.writeOnly[0].path: write out one field, for example /password",
        ),
        (
            "[{path: b, secret: password}]",
            "12:64 compare.writeOnly[0].path: `b` is no path; write for example /listen or /labels/tier",
        ),
        (
            "[{path: /b, secret: password}, {path: /b, secret: password}]",
            "12:87 compare.writeOnly[1].path: it is written twice here",
        ),
        ("[{path: /b}]", "12:57 compare.writeOnly[0].secret is missing"),
        ("[]", "12:56 compare.writeOnly: the list is empty; leave the key out instead"),
        (
            "[{path: /b, secret: token}]",
            "12:56 compare.writeOnly[0].secret: no write of correct.http.create sends secrets.token",
        ),
    ];
    let mut wrong = Vec::new();
    for (written, expected) in table {
        let found = said(&with(written));
        if found != [*expected] {
            wrong.push(format!("{written}\n   found    {found:?}\n   expected {expected:?}"));
        }
    }
    let without = |action: &str| {
        let lines = TEXT.lines().filter(|line| !line.trim_start().starts_with(action)).collect::<Vec<_>>().join("\n");
        lines.replace("compare: {desired: {a: \"${self.spec.a}\"}}", WRITE_ONLY)
    };
    let update = without("update").lines().filter(|line| !line.contains("x-auth")).collect::<Vec<_>>().join("\n");
    assert_eq!(
        said(&update),
        ["12:56 compare.writeOnly[0].secret: no write of correct.http.update sends secrets.password"]
    );
    let observing = with("[{path: /password, secret: password}]");
    let observing = observing.split_once("  correct:").unwrap().0;
    assert_eq!(said(observing), ["12:56 compare.writeOnly[0].secret: correct has no steps that could send it"]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_statement_quotes_what_it_sends() {
    let steps = TEXT.split_once("    http:\n").unwrap().0;
    let sql = r#"    postgres:
      connection: {secretRef: {name: db}}
      update: ["ALTER ROLE ${ident(self.metadata.name)} PASSWORD ${secrets.password}"]
"#;
    let target = parse(&format!("{steps}{sql}")).unwrap();
    let Some(Destination::Sql(postgres)) = &target.correct.destination else { panic!("no statements") };
    let object = json!({"metadata": {"name": "r"}});
    let secrets = [("password".to_owned(), r"it's \ odd".to_owned())].into_iter().collect();
    let variables = crate::cel::Variables { secrets: Some(&secrets), ..crate::cel::Variables::of_object(&object) };
    let written = postgres.steps.update[0].render(&variables).unwrap();
    assert_eq!(written.as_deref(), Some(r#"ALTER ROLE "r" PASSWORD E'it''s \\ odd'"#));
    assert!(postgres.steps.update[0].sends("password") && !postgres.steps.update[0].sends("token"));
    let missing = postgres.steps.update[0].render(&crate::cel::Variables::of_object(&object)).unwrap_err();
    assert!(!missing.to_string().contains("odd"));
}
