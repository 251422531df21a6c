//! Valid and invalid `hints`.

use serde_json::json;

use crate::*;

const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy}
  identity: "${self.metadata.name}"
  let: {schema: "${'public.'}"}
  read: {http: {url: "https://h.example/${self.metadata.name}"}}
  compare: {desired: {a: "${self.spec.a}"}}
  hints:
    listen: {connection: {secretRef: {name: orders-read}}, channel: Role changes, identity: "${payload}"}
"#;

fn parse(text: &str) -> Result<Target, Vec<String>> {
    crate::fixtures::parsed(text)
}

#[test]
fn a_hint_names_a_resource_by_its_payload() {
    let table = [
        ("${payload}", json!("web"), Ok(vec!["web"])),
        ("${payload.split('|')[1]}", json!("roles|web"), Ok(vec!["web"])),
        ("${schema + json.parse(payload).name}", json!(r#"{"name": "web"}"#), Ok(vec!["public.web"])),
        ("${payload.split(',')}", json!("a,b"), Ok(vec!["a", "b"])),
        ("n-${json.parse(payload)}", json!("7"), Ok(vec!["n-7"])),
        ("${json.parse(payload)}", json!("7"), Ok(vec!["7"])),
        ("${json.parse(payload)}", json!("{}"), Err("hints.listen.identity: a text, or a list of texts, is needed")),
        ("${json.parse(payload).name}", json!(r#"{"secret": "x"}"#), Err("hints.listen.identity: no field `name`")),
    ];
    for (template, payload, expected) in table {
        let target = parse(&TEXT.replace("${payload}", template)).unwrap();
        let [HintSource::Listen(listen)] = target.hints.as_slice() else { panic!("{:?}", target.hints) };
        assert_eq!((listen.connection.secret.as_str(), listen.channel.as_str()), ("orders-read", "Role changes"));
        let found = listen.identities.of(&payload).map_err(|error| error.to_string());
        let expected = expected.map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(found, expected.map_err(str::to_owned), "{template}");
    }
}

#[test]
fn requests_and_notifications_may_both_bring_hints() {
    let webhook = "webhook: {secretRef: {name: sender, key: token}, signatureHeader: X-Hub-Signature-256, identity: \"${payload.events.map(event, event.name)}\"}\n    listen";
    let target = parse(&TEXT.replace("listen", webhook)).unwrap();
    let [HintSource::Listen(_), HintSource::Webhook(webhook)] = target.hints.as_slice() else {
        panic!("{:?}", target.hints)
    };
    assert_eq!((webhook.secret.name.as_str(), webhook.secret.key.as_str()), ("sender", "token"));
    assert_eq!(webhook.signature_header.as_ref().map(::http::HeaderName::as_str), Some("x-hub-signature-256"));
    let payload = json!({"events": [{"name": "a"}, {"name": "b"}]});
    assert_eq!(webhook.identities.of(&payload).unwrap(), ["a", "b"]);
    let events: Vec<_> = (0..1_001).map(|number| json!({"name": number})).collect();
    let error = webhook.identities.of(&json!({"events": events})).unwrap_err();
    assert_eq!(error.to_string(), "hints.webhook.identity: more than 1000 identities");
}

#[test]
fn hints_change_the_document_and_no_verdict() {
    let hashes =
        |text: &str| parse(text).map(|target| (target.verdict_hash, target.correct_hash, target.document_hash));
    let (with, without) = (hashes(TEXT).unwrap(), hashes(TEXT.split("  hints:").next().unwrap()).unwrap());
    assert_eq!((&with.0, with.1), (&without.0, without.1));
    assert_ne!(with.2, without.2);
}

#[test]
fn each_mistake_is_told_at_its_place() {
    let table: &[(&str, &str, &[&str])] = &[
        (
            "\"${payload}\"",
            "\"${self.metadata.name}\"",
            &["12:96 hints.listen.identity: `self` does not exist here; known: payload"],
        ),
        (
            "\"${payload}\"",
            "\"${response.body}\"",
            &["12:96 hints.listen.identity: `response` does not exist here; known: payload"],
        ),
        (
            "identity: \"${self.metadata.name}\"",
            "identity: \"${payload}\"",
            &["7:16 identity: `payload` does not exist here; known: self"],
        ),
        (
            "let: {schema: \"${'public.'}\"}",
            "let: {payload: \"${1}\"}",
            &["8:19 let.payload: `payload` means something in the language already; give it another name"],
        ),
    ];
    for (written, mistaken, expected) in table {
        let text = TEXT.replacen(written, mistaken, 1);
        assert_ne!(text, TEXT, "{written}");
        assert_eq!(parse(&text).unwrap_err(), *expected, "{mistaken}");
    }
}
