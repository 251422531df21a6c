use drift_api::condition::StatusFields;
use serde_json::{Value, json};

use super::MAX_VALUE_BYTES;
use crate::cel::Variables;
use crate::{Destination, Target};

const TARGET: &str = r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: LoadBalancer}
  identity: "${self.metadata.name}"
  read: {http: {url: "https://h/x/${self.status.externalId}", absentUntil: "${has(self.status.externalId)}"}}
  compare: {desired: {a: "${self.spec.a}"}}
  publish: {address: "${observed.?address}"}
  correct:
    http:
      create:
      - {method: POST, url: "https://h/x", store: {externalId: "${response.body.id}", zone: "${response.body.?zone}"}}
      delete:
      - {method: DELETE, url: "https://h/x/${self.status.externalId}"}
"#;

fn parse(text: &str) -> Result<Target, Vec<String>> {
    crate::fixtures::parsed(text)
}

fn stored(body: Value) -> Result<StatusFields, String> {
    let target = parse(TARGET).unwrap();
    let Some(Destination::Http(http)) = &target.correct.destination else { panic!("no steps") };
    let response = json!({"status": 201, "body": body});
    let variables = Variables { response: Some(&response), ..Variables::of_object(&Value::Null) };
    http.steps.create[0].store.store(&variables).map_err(|error| error.to_string())
}

#[test]
fn an_answer_is_stored_or_refused_with_its_reason() {
    let place = "correct.http.create[0].store.externalId";
    let deep = json!([[[[["x"]]]]]);
    let table = [
        (json!({"id": "lb-1"}), Ok(json!({"externalId": "lb-1"}))),
        (json!({"id": 17, "zone": {"name": "a"}}), Ok(json!({"externalId": 17, "zone": {"name": "a"}}))),
        (json!({"id": null}), Err(format!("{place}: the value is null"))),
        (json!({"id": ""}), Err(format!("{place}: the value is empty"))),
        (json!({"id": "x".repeat(MAX_VALUE_BYTES)}), Err(format!("{place}: the value is longer than 4096 bytes"))),
        (json!({"id": deep}), Err(format!("{place}: the value nests more than 4 deep"))),
        (json!({"ID": "lb-1"}), Err(format!("{place}: no field `id`"))),
    ];
    for (body, expected) in table {
        let expected = expected.map(|fields| fields.as_object().unwrap().clone().into_iter().collect());
        assert_eq!(stored(body.clone()), expected, "{body}");
    }
}

#[test]
fn what_is_not_observed_is_published_as_nothing() {
    let target = parse(TARGET).unwrap();
    let publish = |observed: Value| {
        let variables = Variables { observed: Some(&observed), ..Variables::of_object(&Value::Null) };
        target.publish.publish(&variables).map_err(|error| error.to_string())
    };
    let address = |value: Value| Ok([("address", value)].into_iter().collect());
    assert_eq!(publish(json!({"address": "192.0.2.1"})), address(json!("192.0.2.1")));
    assert_eq!(publish(json!({})), address(Value::Null));
    assert_eq!(target.publish.cleared(), address(Value::Null).unwrap_or_default() as StatusFields);
    assert_eq!(
        publish(json!({"address": "x".repeat(MAX_VALUE_BYTES)})),
        Err("publish.address: the value is longer than 4096 bytes".to_owned())
    );
}

#[test]
fn only_what_is_read_written_or_stored_is_kept() {
    let target = parse(TARGET).unwrap();
    let object = json!({"status": {"address": "a", "externalId": "i", "zone": "z", "other": 1}});
    assert_eq!(target.poll_fields.prune(&object)["status"], json!({"address": "a", "externalId": "i"}));
    assert_eq!(target.all_fields.prune(&object)["status"], json!({"externalId": "i", "zone": "z"}));
}

#[test]
fn each_mistake_is_told_at_its_place() {
    let table: &[(&str, &str, &[&str])] = &[
        (
            "address: \"",
            "conditions: \"",
            &["9:13 publish.conditions: the conditions have writers of their own; name another field"],
        ),
        (
            "address: \"",
            "externalId: \"",
            &["9:12 publish.externalId: a step stores it too; one of the two can write it"],
        ),
        (
            "publish: {address: \"",
            "ready: true\n  publish: {observedGeneration: \"",
            &["10:12 publish.observedGeneration: `ready` writes it too; one of the two can write it"],
        ),
        (
            "address: \"",
            "a/b: \"",
            &["9:13 publish.a/b: `a/b` is no field of the status: use letters, digits, _ and -, a letter first"],
        ),
        ("{address: \"${observed.?address}\"}", "{}", &["9:12 publish: 1 to 16 fields of the status are needed"]),
        ("{address: \"${observed.?address}\"}", "address", &["9:12 publish: a map is needed here, not a text"]),
        (
            "${observed.?address}",
            "${response.body.address}",
            &["9:25 publish.address: `response` does not exist here; known: self, observed"],
        ),
        (
            "{a: \"${self.spec.a}\"}",
            "{a: \"${observed.a}\"}",
            &["8:29 compare.desired.a: `observed` does not exist here; known: self"],
        ),
        (
            "externalId: \"${response.body.id}\"",
            "conditions: \"${response.body.id}\"",
            &[
                "13:52 correct.http.create[0].store.conditions: the conditions have writers of their own; name another field",
            ],
        ),
        (
            "identity: \"${self.metadata.name}\"",
            "identity: \"${self.status.externalId}\"",
            &[
                "6:16 identity: `self.status.externalId` is not visible here: an identity must not change with our own writes",
            ],
        ),
    ];
    for (written, mistaken, expected) in table {
        let text = TARGET.replacen(written, mistaken, 1);
        assert_ne!(text, TARGET, "{written}");
        assert_eq!(parse(&text).unwrap_err(), *expected, "{mistaken}");
    }
}
