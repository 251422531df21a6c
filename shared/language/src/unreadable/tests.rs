use serde_json::{Value, json};

use crate::cel::SecretValues;
use crate::document::catalogue::Catalogue;
use crate::systems::Destination;
use crate::target::Target;

/// The body of the create.
const CREATE: &str = "{host: \"${desired.host}\", login: {token: \"${secrets.token}\"}, x: \"${secrets.apiKey}\"}";

/// A target whose update writes this body with this method, after a look-up of the whole resource.
fn text(write: &str, observed: &str, path: &str) -> String {
    format!(
        r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Connection}}
  identity: "${{self.metadata.name}}"
  secrets: {{apiKey: {{secretRef: {{name: s, key: key}}}}, token: {{secretRef: {{name: s, key: token}}}}}}
  read: {{http: {{url: "https://h/x", observed: {observed}}}}}
  compare:
    desired: {{host: "${{self.spec.host}}"}}
    writeOnly: [{{path: {path}, secret: apiKey}}]
  correct:
    http:
      create:
      - {{method: PUT, url: "https://h/x", body: {CREATE}}}
      update:
      - {{name: key, method: PATCH, url: "https://h/x", body: {{x: "${{secrets.apiKey}}"}}, when: "${{'{first}' in differs}}"}}
      - {{name: look, method: GET, url: "https://h/x"}}
      - {{url: "https://h/x", {write}}}
"#,
        first = path.split('/').nth(1).unwrap_or_default(),
    )
}

fn refusal(text: &str) -> Option<String> {
    crate::fixtures::parsed(text).err().map(|problems| problems.join("\n"))
}

/// The warnings of a good target.
fn doubts(text: &str) -> Vec<String> {
    let texts = [("c".to_owned(), [("k".to_owned(), text.to_owned())].into())].into();
    let catalogue = Catalogue::default().update(&texts);
    assert!(catalogue.problems().is_empty(), "{:?}", catalogue.problems());
    catalogue.doubts().into_iter().map(|doubt| doubt.message).collect()
}

fn of_body(expression: &str) -> String {
    text(&format!("method: PATCH, body: \"${{{expression}}}\""), "\"${response.body}\"", "/apiKey")
}

#[test]
fn a_body_that_carries_the_field_is_refused() {
    let carrying = [
        "mergeDeep(without(steps.look.body, ['id']), desired)",
        "mergeDeep({'apiKey': secrets.apiKey}, steps.look.body)",
        "merge(steps.look.body, {'config': {'apiKey': secrets.apiKey}})",
        "steps.look.body",
        "steps.?look.body.orValue({})",
        "{'apiKey': steps.look.body.apiKey}",
        "{'key': steps.look.body['apiKey']}",
        "self.spec.host == 'a' ? desired : steps.look.body",
        "json.parse(steps.look.text)",
        "{'all': steps.look.text}",
        "{'items': steps.look.body.items.map(i, i)}",
        "merge(steps.look.body.filter(i, i.id == 1)[0], desired)",
        "{?'apiKey': optional.of(secrets.apiKey), 'rest': steps.look.body}",
        "mergeDeep(steps.look.body, {?'apiKey': optional.none()})",
        "json.text(steps.look.body)",
    ];
    for expression in carrying {
        let refused = refusal(&of_body(expression)).unwrap_or_default();
        let expected =
            "correct.http.update[2].body: it sends back what an answer gives for /apiKey, which holds secrets.apiKey";
        assert!(refused.contains(expected), "{expression}: {refused}");
    }
    let refused = refusal(&of_body("steps.look.body")).unwrap_or_default();
    let advice = "Set it, mergeDeep(steps.look.body, {'apiKey': secrets.apiKey}), or leave it out, \
                  without(steps.look.body, ['apiKey'])";
    assert!(refused.contains(advice), "{refused}");
}

#[test]
fn a_body_without_the_field_is_good() {
    let good = [
        "mergeDeep(without(steps.look.body, ['id', 'apiKey', 'x', 'login']), desired)",
        "mergeDeep(without(steps.look.body, ['x', 'login']), merge(desired, {'apiKey': secrets.apiKey}))",
        "merge(without(steps.look.body, ['x', 'login']), {'apiKey': secrets.apiKey})",
        "{'host': desired.host, 'pool': steps.look.body.pool}",
        "{'host': desired.host, 'count': size(steps.look.body)}",
        "{'new': steps.look.body.apiKey.startsWith('x'), 'at': steps.look.text.indexOf('x')}",
        "{'ids': steps.look.body.items.map(i, i.id)}",
        "steps.look.body.exists(k, k == 'a') ? desired : {'host': 'b'}",
        "steps.look.status == 200 ? desired : {'host': steps.look.headers.etag}",
        "{'token': steps.look.body.token}",
        "desired",
    ];
    for expression in good {
        assert_eq!(refusal(&of_body(expression)), None, "{expression}");
    }
}

#[test]
fn names_that_double_each_other_are_bounded() {
    let doubled = |name: &str| format!(".optMap({name}, {{'l': {name}, 'r': {name}}})");
    let chain: String = (0..9).map(|number| doubled(&format!("n{number}"))).collect();
    let refused =
        refusal(&of_body(&format!("optional.of(steps.look.body.pool){chain}.orValue({{}})"))).unwrap_or_default();
    assert!(refused.contains("it sends back what an answer gives for /apiKey"), "{refused}");
    let of_secret = of_body(&format!("optional.of(secrets.apiKey){chain}.orValue({{}})"));
    assert_eq!(refusal(&of_secret), None, "reads no answer");
}

#[test]
fn every_kind_of_body_is_checked() {
    for write in [
        "method: PATCH, body: {wrapped: [\"${steps.look.body}\"]}",
        "method: PATCH, form: {all: \"${json.text(steps.look.body)}\"}",
        "method: PATCH, text: \"a ${steps.look.text}\"",
        "method: PATCH, xml: \"<a>${steps.look.body}</a>\"",
        "method: PATCH, raw: \"${steps.look.raw}\"",
        "method: PATCH, forEach: \"${steps.look.body.items}\", body: \"${merge(item, desired)}\"",
    ] {
        let refused = refusal(&text(write, "\"${response.body}\"", "/apiKey")).unwrap_or_default();
        assert!(refused.contains("it sends back what an answer gives for /apiKey"), "{write}: {refused}");
    }
}

#[test]
fn the_mapping_of_the_read_says_where_the_field_is() {
    let refused = |expression: &str, observed: &str, path: &str| {
        let write = format!("method: PATCH, body: \"${{{expression}}}\"");
        refusal(&text(&write, observed, path)).unwrap_or_default()
    };
    let inside = "\"${response.body.result}\"";
    let table = [
        ("steps.look.body.result", inside, "/apiKey", Some("/result/apiKey")),
        ("without(steps.look.body.result, ['apiKey'])", inside, "/apiKey", None),
        ("steps.look.body.auth", "\"${response.body}\"", "/auth/key", Some("/auth/key")),
        ("steps.look.body.other", "\"${response.body}\"", "/auth/key", None),
        (
            "merge(without(steps.look.body, ['x', 'login']), {'auth': without(steps.look.body.auth, ['key'])})",
            "\"${response.body}\"",
            "/auth/key",
            None,
        ),
        (
            "mergeDeep(without(steps.look.body, ['x', 'login']), {'auth': {'key': secrets.apiKey}})",
            "\"${response.body}\"",
            "/auth/key",
            None,
        ),
        ("steps.look.body", "{host: \"${response.body.host}\"}", "/password", Some("/password")),
        ("without(steps.look.body, ['password'])", "{host: \"${response.body.host}\"}", "/password", Some("/x")),
        (
            "without(steps.look.body, ['password', 'x'])",
            "{host: \"${response.body.host}\"}",
            "/password",
            Some("/login/token"),
        ),
    ];
    for (expression, observed, path, expected) in table {
        let refused = refused(expression, observed, path);
        match expected {
            Some(place) => assert!(refused.contains(&format!("gives for {place}, which")), "{expression}: {refused}"),
            None => assert_eq!(refused, "", "{expression}"),
        }
    }
}

const BODY: &str = "\"${response.body}\"";

#[test]
fn an_expression_below_a_key_may_set_the_field() {
    let create = "{user: \"${merge(desired, {'apiKey': secrets.apiKey, 'x': secrets.token})}\"}";
    let refused = |expression: &str| {
        let write = format!("method: PATCH, body: {{user: \"${{{expression}}}\"}}");
        let target = text(&write, "\"${response.body.user}\"", "/apiKey").replace(CREATE, create);
        refusal(&target).unwrap_or_default()
    };
    for expression in [
        "mergeDeep(without(steps.look.body.user, ['x']), merge(desired, {'apiKey': secrets.apiKey}))",
        "mergeDeep(without(steps.look.body.user, ['apiKey', 'x']), desired)",
        "merge(desired, {'labels': steps.look.body.user.labels})",
    ] {
        assert_eq!(refused(expression), "", "{expression}");
    }
    let carried = refused("mergeDeep(without(steps.look.body.user, ['x']), desired)");
    let expected = "gives for /user/apiKey, which holds secrets.apiKey; many APIs answer a mask there. Set it, \
                    mergeDeep(steps.look.body.user, {'apiKey': secrets.apiKey}), or leave it out, \
                    without(steps.look.body.user, ['apiKey'])";
    assert!(carried.contains(expected), "{carried}");
}

#[test]
fn the_advice_fits_the_part_of_the_answer() {
    let set = |part: &str, map: &str| format!("Set it, mergeDeep({part}, {map}), or leave it out, ");
    let key = "{'apiKey': secrets.apiKey}";
    let inside = "\"${response.body.result}\"";
    let single = "Send secrets.apiKey in place of steps.look.body.apiKey, or leave it out".to_owned();
    let fields = "Send the other fields one by one, and secrets.apiKey for this one or nothing".to_owned();
    let table = [
        (
            "body: \"${mergeDeep(steps.look.body.result, desired)}\"",
            inside,
            "/apiKey",
            set("steps.look.body.result", key) + "without(steps.look.body.result, ['apiKey'])",
        ),
        (
            "body: \"${{'result': mergeDeep(steps.look.body.result, desired)}}\"",
            inside,
            "/apiKey",
            set("steps.look.body.result", key) + "without(steps.look.body.result, ['apiKey'])",
        ),
        (
            "body: \"${steps.?look.body.orValue({})}\"",
            BODY,
            "/auth/key",
            set("steps.look.body", "{'auth': {'key': secrets.apiKey}}")
                + "merge(steps.look.body, {'auth': without(steps.look.body.auth, ['key'])})",
        ),
        (
            "body: \"${steps.look.body['my-auth']}\"",
            BODY,
            "/my-auth/key",
            set("steps.look.body['my-auth']", "{'key': secrets.apiKey}")
                + "without(steps.look.body['my-auth'], ['key'])",
        ),
        (
            "body: \"${{'items': steps.look.body.items.map(i, i)}}\"",
            BODY,
            "/apiKey",
            set("steps.look.body.items[…]", key) + "without(steps.look.body.items[…], ['apiKey'])",
        ),
        (
            "body: \"${steps.look.body.items.filter(i, i.id == 1)[0]}\"",
            BODY,
            "/apiKey",
            set("steps.look.body.items[…]", key) + "without(steps.look.body.items[…], ['apiKey'])",
        ),
        (
            "forEach: \"${steps.look.body.items}\", body: \"${merge(item, desired)}\"",
            BODY,
            "/apiKey",
            set("item", key) + "without(item, ['apiKey'])",
        ),
        ("body: {key: \"${steps.look.body.apiKey}\"}", BODY, "/apiKey", single.clone()),
        ("text: \"${steps.look.body.apiKey}\"", BODY, "/apiKey", single),
        ("body: {all: \"${steps.look.text}\"}", BODY, "/apiKey", fields.clone()),
        ("form: \"${steps.look.body}\"", BODY, "/apiKey", fields.clone()),
        ("text: \"${json.text(steps.look.body)}\"", BODY, "/apiKey", fields.clone()),
        ("xml: \"<a>${steps.look.text}</a>\"", BODY, "/apiKey", fields.clone()),
        ("raw: \"${steps.look.raw}\"", BODY, "/apiKey", fields),
    ];
    for (write, observed, path, advice) in table {
        let refused = refusal(&text(&format!("method: PATCH, {write}"), observed, path)).unwrap_or_default();
        assert!(refused.contains(&advice), "{write}: {refused}");
    }
}

#[test]
fn the_advice_is_accepted() {
    let inside = "\"${response.body.result}\"";
    for (expression, observed, path) in [
        ("mergeDeep(steps.look.body.result, {'apiKey': secrets.apiKey})", inside, "/apiKey"),
        ("without(steps.look.body.result, ['apiKey'])", inside, "/apiKey"),
        ("{'result': without(steps.look.body.result, ['apiKey'])}", inside, "/apiKey"),
        ("mergeDeep(steps.look.body.pool, {'auth': {'key': secrets.apiKey}})", BODY, "/pool/auth/key"),
        ("merge(steps.look.body.pool, {'auth': without(steps.look.body.pool.auth, ['key'])})", BODY, "/pool/auth/key"),
    ] {
        let write = format!("method: PATCH, body: \"${{{expression}}}\"");
        assert_eq!(refusal(&text(&write, observed, path)), None, "{expression}");
    }
}

/// A target without `writeOnly` whose create has this body.
fn undeclared(create: &str, update: &str) -> String {
    let target = text(&format!("method: PATCH, body: {update}"), BODY, "/apiKey").replace(CREATE, create);
    let declared = |line: &&str| !line.contains("writeOnly") && !line.contains("in differs");
    target.lines().filter(declared).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_field_in_which_another_write_sends_a_secret_counts() {
    let whole = "\"${mergeDeep(steps.look.body, desired)}\"";
    let table = [
        ("{host: a, pw: \"${secrets.token}\"}", Some("/pw")),
        ("\"${merge(desired, {'pw': secrets.token})}\"", Some("/pw")),
        ("\"${mergeDeep(desired, {'auth': {'pw': secrets['token']}})}\"", Some("/auth/pw")),
        ("\"${merge({'pw': secrets.token}, desired)}\"", Some("/pw")),
        ("\"${{'host': desired.host, 'pw': 'k-' + secrets.token}}\"", Some("/pw")),
        ("\"${{?'pw': self.spec.host == 'a' ? optional.of(secrets.token) : optional.none()}}\"", Some("/pw")),
        ("{user: \"${merge(desired, {'pw': secrets.token})}\"}", Some("/user/pw")),
        ("{env: \"${self.spec.names.map(n, {'name': n, 'value': secrets.token})}\"}", Some("/env/value")),
        ("\"${without({'pw': secrets.token, 'host': 'a'}, ['pw'])}\"", None),
        ("\"${merge({'auth': {'pw': secrets.token}}, {'auth': {'host': 'a'}})}\"", None),
        ("\"${{'size': size(secrets.token)}}\"", None),
        ("\"${{self.spec.host: secrets.token}}\"", None),
    ];
    for (create, expected) in table {
        let refused = refusal(&undeclared(create, whole));
        match expected {
            Some(place) => {
                let refused = refused.unwrap_or_default();
                let expected = format!("gives for {place}, which holds secrets.token");
                assert!(refused.contains(&expected), "{create}: {refused}");
            }
            None => assert_eq!(refused, None, "{create}"),
        }
    }
}

#[test]
fn a_log_in_may_give_a_token_of_the_same_name() {
    for update in ["{token: \"${steps.look.body.token}\"}", "\"${merge(desired, {'token': steps.look.body.token})}\""] {
        assert_eq!(refusal(&undeclared("{token: \"${secrets.token}\"}", update)), None, "{update}");
    }
}

#[test]
fn a_put_that_leaves_the_field_out_is_doubted() {
    let put = |expression: &str| {
        text(&format!("method: PUT, body: \"${{{expression}}}\""), "\"${response.body}\"", "/apiKey")
    };
    let leaving = put("mergeDeep(without(steps.look.body, ['apiKey', 'x', 'login']), desired)");
    let expected = |field: &str, part: &str| {
        format!(
            "correct.http.update[2].body: a PUT without {field} may clear it outside; set it in what is sent of {part}: \
             mergeDeep(…, {{'apiKey': secrets.apiKey}})"
        )
    };
    assert_eq!(doubts(&leaving), [expected("/apiKey", "steps.look.body")]);
    let inside = |expression: &str| {
        let write = format!("method: PUT, body: \"${{{expression}}}\"");
        doubts(&text(&write, "\"${response.body.result}\"", "/apiKey"))
    };
    let dropped = "mergeDeep(without(steps.look.body.result, ['apiKey']), desired)";
    assert_eq!(inside(dropped), [expected("/result/apiKey", "steps.look.body.result")]);
    assert!(inside(&format!("mergeDeep({dropped}, {{'apiKey': secrets.apiKey}})")).is_empty());
    assert_eq!(inside(&format!("mergeDeep({dropped}, {{'result': {{'apiKey': secrets.apiKey}}}})")).len(), 1);
    let setting = put("mergeDeep(without(steps.look.body, ['x', 'login']), {'apiKey': secrets.apiKey})");
    assert!(doubts(&setting).is_empty());
    assert!(
        doubts(&leaving.replace("method: PUT, body: \"${mergeDeep", "method: PATCH, body: \"${mergeDeep")).is_empty()
    );
}

/// A target whose last step passes the check of templates, because the answer is wrapped in a map.
fn wrapped() -> Target {
    let write = "method: PATCH, body: \"${mergeDeep(steps.look.body.data, desired)}\"";
    crate::fixtures::target(&text(write, "{host: \"${response.body.data.host}\"}", "/apiKey"))
}

fn repeated(sent: &Value, answer: &Value) -> Option<String> {
    repeated_by(&wrapped(), sent, answer)
}

/// Returns the reason not to send this body as the last step of an update.
fn repeated_by(target: &Target, sent: &Value, answer: &Value) -> Option<String> {
    let Some(Destination::Http(http)) = &target.correct.destination else { return None };
    let answers = json!({"look": {"status": 200, "body": answer}});
    let secrets: SecretValues = [("apiKey".to_owned(), "real-key-1234".to_owned())].into_iter().collect();
    target.repeated_answer(&http.steps.update[2], sent.to_string().as_bytes(), &answers, &secrets)
}

#[test]
fn a_repeated_mask_is_found_before_sending() {
    let masks = json!({"data": {"host": "a", "apiKey": "•", "x": null, "labels": [{"name": "n"}]}});
    let table = [
        (json!({"host": "b", "apiKey": "•"}), true),
        (json!({"params": [{"apiKey": "•"}]}), true),
        (json!({"host": "b", "apiKey": "real-key-1234"}), false),
        (json!({"host": "b", "apiKey": "another"}), false),
        (json!({"host": "b"}), false),
        (json!({"host": "•"}), false),
        (json!({"x": null}), true),
    ];
    for (sent, is_repeated) in table {
        let found = repeated(&sent, &masks);
        assert_eq!(found.is_some(), is_repeated, "{sent}: {found:?}");
    }
    let real = json!({"apiKey": "real-key-1234"});
    assert_eq!(repeated(&real, &real), None, "the API gives the secret back");
    let found = repeated(&json!({"apiKey": "•"}), &masks).unwrap_or_default();
    assert!(found.starts_with("the body repeats what an answer gives for /apiKey") && !found.contains('•'), "{found}");
}

#[test]
fn a_mask_is_found_under_the_name_of_a_secret() {
    let masks = ["***", "sk-***9f", "••••••", "<redacted>", "(sensitive value)", "HIDDEN", "[MASKED]"];
    let values = ["", "*", "strict", "a-b", "${TOKEN}", "0"];
    for (text, is_mask) in masks.iter().map(|text| (text, true)).chain(values.iter().map(|text| (text, false))) {
        let document = json!({"smtp": {"smtpPassword": text}});
        assert_eq!(repeated(&document, &json!({"data": document})).is_some(), is_mask, "{text}");
    }
    let wildcard = json!({"origins": "***"});
    assert_eq!(repeated(&wildcard, &wildcard), None, "no name of a secret");
    assert_eq!(repeated(&json!({"password": "***"}), &json!({})), None, "no answer gave it");
}

#[test]
fn another_name_in_write_only_spares_a_list() {
    let labels = json!([{"key": "a"}]);
    for create in ["\"${merge(desired, {'key': secrets.apiKey})}\"", "{key: \"${secrets.apiKey}\"}"] {
        let with = |path: &str, labels: &str| {
            let write = format!("method: PATCH, body: \"${{{{'labels': {labels}}}}}\"");
            text(&write, BODY, path).replace(CREATE, create)
        };
        let single = "steps.look.body.labels.map(l, {'key': l.key})";
        assert!(refusal(&with("/key", single)).unwrap_or_default().contains("gives for /key"));
        assert_eq!(refusal(&with("/teamKey", single)), None);
        let whole = refusal(&with("/teamKey", "steps.look.body.labels.map(l, l)")).unwrap_or_default();
        assert!(whole.contains("gives for /key"), "{whole}");
        for (path, is_refused) in [("/key", true), ("/teamKey", false)] {
            let target = crate::fixtures::target(&with(path, "steps.look.body.labels"));
            let found = |sent: &Value| repeated_by(&target, sent, &json!({"key": "•", "labels": labels})).is_some();
            assert_eq!(found(&json!({"labels": labels})), is_refused, "{create} {path}");
            assert!(found(&json!({"key": "•"})), "{create} {path}");
        }
    }
}
