//! Tests of whole documents.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cel::Variables;
use crate::*;

fn read_http(target: &Target) -> &HttpRead {
    target.read.http().unwrap()
}

fn correct_http(target: &Target) -> &HttpCorrect {
    let Some(Destination::Http(http)) = &target.correct.destination else { panic!("the target corrects nothing") };
    http
}

/// A REST system that resembles a load balancer.
const PROXIES: &str = include_str!("../tests/bad_documents/target.yaml");

/// A minimal target: toxiproxy, observed only.
const LEAST: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: toxiproxy}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy}
  identity: "${self.metadata.name}"
  read: {http: {url: "http://127.0.0.1:8474/proxies/${self.metadata.name}"}}
  compare:
    desired: {listen: "${self.spec.listen}", upstream: "${self.spec.upstream}", enabled: "${self.spec.?enabled.orValue(true)}"}
"#;

fn name() -> DocumentName {
    DocumentName { config_map: "targets".to_owned(), key: "proxies.yaml".to_owned() }
}

fn parse(text: &str) -> Target {
    parse_document(&name(), text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn problems(text: &str) -> Vec<String> {
    let found = parse_document(&name(), text).err().unwrap_or_default();
    found.into_iter().map(|problem| format!("{}:{} {}", problem.line, problem.column, problem.message)).collect()
}

fn object() -> Value {
    json!({
        "apiVersion": "demo.driftpoller.dev/v1", "kind": "Proxy",
        "metadata": {"name": "web one", "namespace": "team-a", "uid": "u-1", "labels": {"tier": "prod"}},
        "spec": {"name": "team-a_web", "listen": "0.0.0.0:80", "port": 7, "password": "hunter2", "upstream": "u:1", "unused": 1},
    })
}

#[test]
fn the_least_target_has_the_defaults() {
    let target = parse(LEAST);
    assert_eq!(target.name, "toxiproxy");
    assert_eq!(target.document, name());
    assert_eq!((target.interval.as_secs(), target.timeout.as_secs()), (300, 10));
    assert_eq!(target.confirm, Confirm { drift: 1, absent: 2, unknown: 3, absent_for: std::time::Duration::ZERO });
    assert_eq!(target.read.limits, ReadLimits { concurrent: 8, per_second: 50 });
    assert_eq!(read_http(&target).first.request.method, ::http::Method::GET);
    assert_eq!(read_http(&target).first.accept, StatusSet(vec![200..=299]));
    assert_eq!(read_http(&target).max_bytes, 1024 * 1024);
    assert_eq!((target.correct.mode, target.correct.existing), (Mode::Observe, Existing::Refuse));
    assert_eq!(
        target.correct.limits,
        CorrectLimits { concurrent: 4, per_minute: 60, max_drifted_percent: 20, attempts: 10 }
    );
    assert!(target.correct.settle.is_zero() && target.correct.destination.is_none() && !target.suspend);
    assert!(target.objects.namespaces.is_empty() && target.objects.label_selector.is_empty());
    assert_eq!(target.unmet_requirement(&object()), Ok(None));
    assert_eq!(target.is_suspended_for(&object()), Ok(false));
    let desired = target.desired_state_of(&object()).unwrap();
    assert_eq!(desired.value, json!({"listen": "0.0.0.0:80", "upstream": "u:1", "enabled": true}));
    let request = read_http(&target).render(&object()).unwrap();
    assert_eq!(request.url.as_str(), "http://127.0.0.1:8474/proxies/web%20one");
    assert_eq!((request.method, request.body), (::http::Method::GET, None));
    assert_eq!(read_http(&target).first.request.url.host(), "127.0.0.1:8474");
    let response = json!({"status": 200, "headers": {}, "body": {"a": [1]}});
    let object = object();
    let variables = Variables { response: Some(&response), ..Variables::of_object(&object) };
    assert_eq!(read_http(&target).observed.render(&variables), Ok(json!({"a": [1]})));
    let short = parse(&LEAST.replace("identity:", "interval: 3s\n  identity:"));
    assert_eq!(short.timeout.as_secs(), 3);
}

#[test]
fn a_full_target_is_read_whole() {
    let target = parse(PROXIES);
    assert_eq!(target.objects.namespaces, ["team-a", "team-b"]);
    assert!(target.objects.label_selector.matches(object().pointer("/metadata/labels")));
    assert!(!target.objects.label_selector.matches(None));
    assert_eq!((target.interval.as_secs(), target.timeout.as_secs()), (30, 5));
    assert_eq!(target.confirm, Confirm { drift: 2, absent: 3, unknown: 4, absent_for: std::time::Duration::ZERO });
    assert_eq!(target.read.limits, ReadLimits { concurrent: 4, per_second: 20 });
    let http = read_http(&target);
    let key = |name: &str, key: &str| SecretKey { name: name.to_owned(), key: key.to_owned() };
    assert_eq!(**http.auth.as_ref().unwrap().any(), Auth::Bearer(key("proxies-read", "token")));
    assert_eq!(http.tls, Some(Tls { ca: Some(key("proxies-ca", "ca.crt")), certificate: None }));
    assert_eq!(http.first.accept, StatusSet(vec![200..=200, 203..=204]));
    assert_eq!(http.max_bytes, 64 * 1024);
    assert_eq!(
        (target.correct.mode, target.correct.existing, target.correct.settle.as_secs()),
        (Mode::Correct, Existing::Adopt, 2)
    );
    assert_eq!(
        target.correct.limits,
        CorrectLimits { concurrent: 2, per_minute: 30, max_drifted_percent: 50, attempts: 3 }
    );
    let correct = correct_http(&target);
    assert_eq!(**correct.auth.as_ref().unwrap().any(), Auth::Basic { secret: "proxies-write".to_owned() });
    assert_eq!(correct.steps.create[0].accept, StatusSet(vec![201..=201]));
    assert_eq!(correct.steps.update[0].accept, StatusSet(vec![200..=299]));
    assert_eq!(correct.steps.delete[0].accept, StatusSet(vec![200..=299, 404..=404, 410..=410]));
}

#[test]
fn a_deletion_takes_what_is_gone_whatever_it_says() {
    let own = PROXIES.replace("      delete: [{method: DELETE,", "      delete: [{accept: [204], method: DELETE,");
    assert_ne!(own, PROXIES);
    let target = parse(&own);
    let correct = correct_http(&target);
    assert!([204, 404, 410].iter().all(|status| correct.steps.delete[0].accept.contains(*status)));
    assert!(!correct.steps.delete[0].accept.contains(200));
    assert_eq!(correct.steps.delete[0].done_on, correct.steps.delete[0].accept);
}

#[test]
fn a_deletion_done_later_says_what_done_is() {
    let later = "      delete: [{accept: [202], doneOn: [204], method: DELETE,";
    let target = parse(&PROXIES.replace("      delete: [{method: DELETE,", later));
    let correct = correct_http(&target);
    let delete = &correct.steps.delete[0];
    assert!([202, 204, 404, 410].iter().all(|status| delete.accept.contains(*status)));
    assert!([204, 404, 410].iter().all(|status| delete.done_on.contains(*status)) && !delete.done_on.contains(202));
    assert_eq!(correct.steps.update[0].done_on, correct.steps.update[0].accept);
}

#[test]
fn a_target_speaks_for_an_object() {
    let target = parse(PROXIES);
    let object = object();
    assert_eq!(target.identity_of(&object).unwrap(), "web one");
    assert_eq!(target.unmet_requirement(&object), Ok(None));
    let mut foreign = object.clone();
    foreign["spec"]["name"] = json!("other");
    assert_eq!(target.unmet_requirement(&foreign), Ok(Some("names start with their namespace")));
    foreign["spec"]["paused"] = json!(true);
    assert_eq!((target.is_suspended_for(&object), target.is_suspended_for(&foreign)), (Ok(false), Ok(true)));

    let desired = target.desired_state_of(&object).unwrap();
    assert_eq!(desired.value, json!({"listen": "0.0.0.0:80", "port": 8, "password": "hunter2"}));
    let mut secret = object.clone();
    secret["spec"]["password"] = json!("other");
    secret["spec"]["enabled"] = json!(false);
    let other = target.desired_state_of(&secret).unwrap();
    assert_ne!(other.hash, desired.hash);
    secret["spec"]["enabled"] = Value::Null;
    assert_eq!(
        target.desired_state_of(&secret).unwrap().hash,
        desired.hash,
        "neither a password nor a null is part of a desired state"
    );

    let mut renamed = object.clone();
    renamed["metadata"]["name"] = json!("web two");
    let renamed = target.desired_state_of(&renamed).unwrap();
    assert_eq!(renamed.value, desired.value);
    assert_ne!(renamed.hash, desired.hash, "a verdict about one resource is none about another");

    let request = read_http(&target).render(&object).unwrap();
    assert_eq!(request.headers["x-trace"], "t-u-1");
    let correct = correct_http(&target);
    let variables = Variables { desired: Some(&desired.value), correction: Some(7), ..Variables::of_object(&object) };
    let create = correct.steps.create[0].request.render(&variables).unwrap();
    assert_eq!(create.headers["content-type"], "application/json");
    let again = correct.steps.create[0].request.render(&variables).unwrap();
    assert!(std::sync::Arc::ptr_eq(&create.headers, &again.headers), "nothing of the object stands in them");
    assert_eq!(create.body.unwrap(), br#"{"listen":"0.0.0.0:80","name":"web one"}"#);
    let update = correct.steps.update[0].request.render(&variables).unwrap();
    assert_eq!(
        (update.method, update.url.as_str()),
        (::http::Method::PATCH, "https://proxies.example:8474/proxies/web%20one")
    );
    assert_eq!(update.headers["idempotency"], "k-7");
    assert_eq!(serde_json::from_slice::<Value>(&update.body.unwrap()).unwrap(), desired.value);
}

#[test]
fn evaluation_errors_name_their_place_and_no_value() {
    let target = parse(PROXIES);
    let mut object = object();
    object["metadata"]["uid"] = json!("a\r\nb");
    let error = read_http(&target).render(&object).unwrap_err();
    assert_eq!(error.to_string(), "read.http.headers.x-trace: the value holds characters that no header can carry");
    object["metadata"]["name"] = json!("");
    assert_eq!(target.identity_of(&object).unwrap_err().to_string(), "identity: the identity is empty");
    object["metadata"]["name"] = json!("a\u{7}");
    assert_eq!(
        target.identity_of(&object).unwrap_err().to_string(),
        "identity: the identity holds a control character"
    );
    object["metadata"]["name"] = json!("ä".repeat(254));
    assert_eq!(
        target.identity_of(&object).unwrap_err().to_string(),
        "identity: the identity is longer than 253 characters"
    );
    object["spec"]["port"] = json!("hunter2");
    assert_eq!(
        target.desired_state_of(&object).unwrap_err().to_string(),
        "compare.desired.port: no add of string and int"
    );
    object["spec"] = json!({});
    assert_eq!(target.desired_state_of(&object).unwrap_err().to_string(), "compare.desired.listen: no field `listen`");
    assert_eq!(target.unmet_requirement(&object).unwrap_err().to_string(), "require[0].that: no field `name`");
}

#[test]
fn fields_are_collected_by_program() {
    let shown = |fields: &drift_api::object::field_paths::FieldPaths| {
        fields.iter().map(|path| path.join(".")).collect::<Vec<_>>()
    };
    let target = parse(PROXIES);
    let poll = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.enabled",
        "spec.listen",
        "spec.name",
        "spec.password",
        "spec.paused",
        "spec.port",
    ];
    assert_eq!(shown(&target.poll_fields), poll);
    let more = PROXIES.replace("\"k-${correction}\"", "\"${self.spec.key}-${correction}\"");
    let more = parse(&more);
    assert_eq!(shown(&more.poll_fields), poll);
    assert!(shown(&more.all_fields).contains(&"spec.key".to_owned()));
    let pruned = target.poll_fields.prune(&object());
    assert!(pruned.pointer("/spec/unused").is_none());
    assert_eq!(target.desired_state_of(&pruned), target.desired_state_of(&object()));
}

#[test]
fn targets_with_one_read_share_a_scope() {
    let url = "url: \"http://127.0.0.1:8474/proxies/${self.metadata.name}\"";
    let read = |http: &str| parse(&LEAST.replace(url, http)).scope.name.to_string();
    let table = [
        ("url: 'http://h/proxies/${self.metadata.name}'", "GET http://h/proxies/${…}"),
        (
            "url: 'https://h/proxies/${self.spec.name}', auth: {basic: {secretRef: {name: s}}}",
            "GET https://h/proxies/${…}",
        ),
        ("url: 'http://H:80', method: HEAD", "HEAD http://h/"),
        ("url: 'http://h/x?api_key=hunter2&q=${self.spec.name}'", "GET http://h/x?api_key=${…}&q=${…}"),
    ];
    for (http, name) in table {
        assert_eq!(read(http), name);
    }
    assert_eq!(
        read(
            "steps: [{name: a, url: 'http://h/by-name/${self.metadata.name}'}, {name: b, url: 'http://h/x/${steps.a.body.id}'}]"
        ),
        "GET http://h/by-name/${…}"
    );
    let post = |body: &str| read(&format!("url: 'http://h/q', method: POST, body: {body}"));
    assert_eq!(post("{q: 'a ${self.spec.a}', token: x}"), post("{token: y, q: 'a ${self.spec.b}'}"));
    assert_ne!(post("{q: 'a ${self.spec.a}'}"), post("{q: 'b ${self.spec.a}'}"));
    assert!(!post("{q: hunter2}").contains("hunter2"));
    let scope = |written: &str| parse(&LEAST.replace("identity:", &format!("scope: {written}\n  identity:"))).scope;
    assert_eq!(&*scope("orders-db").name, "orders-db");
    let default = parse(LEAST).scope.id;
    assert_eq!(scope(&format!("id {default}")).id, default, "the id of a record");
    assert_ne!(scope(&format!("'{default}'")).id, default, "a name");
    assert_ne!(scope("id db").id, scope("db").id);
}

#[test]
fn the_scope_of_a_query_has_its_secret_and_words() {
    let http = "http: {url: \"http://127.0.0.1:8474/proxies/${self.metadata.name}\"}";
    let read = |written: &str| parse(&LEAST.replace(http, written)).scope.name.to_string();
    let query = |secret: &str, columns: &str, value: &str| {
        read(&format!(
            "postgres: {{connection: {{secretRef: {{name: {secret}}}}}, query: 'SELECT {columns} FROM x WHERE y = ${{{value}}}'}}"
        ))
    };
    let first = query("orders-read", "listen", "self.metadata.name");
    assert!(first.starts_with("postgres orders-read query "), "{first}");
    assert_eq!(query("orders-read", " listen", "self.spec.name"), first);
    assert_ne!(query("orders-other", "listen", "self.metadata.name"), first);
    assert_ne!(query("orders-read", "listen, upstream", "self.metadata.name"), first);
    let search = read(
        "ldap: {secretRef: {name: people-read}, base: 'uid=${self.metadata.name},dc=a', attributes: [listen, upstream, enabled]}",
    );
    assert!(search.starts_with("ldap people-read search "), "{search}");
    let resource = read("kubernetes: {apiVersion: v1, kind: Service, name: 'x-${self.metadata.name}'}");
    assert_eq!(resource, "kubernetes Service ${…}/x-${…}");
}

#[test]
fn hashes_follow_the_meaning() {
    let target = parse(LEAST);
    assert!(target.verdict_hash.len() == 16 && target.document_hash.len() == 16);
    let same = "# a comment\nkind: PollTarget\n".to_owned()
        + &LEAST
            .replace("kind: PollTarget\n", "")
            .replace("{listen: \"${self.spec.listen}\", upstream", "{  listen: '${self.spec.listen}',   upstream");
    let same = parse(&same);
    assert_eq!((&same.verdict_hash, &same.document_hash), (&target.verdict_hash, &target.document_hash));
    let table = [
        ("identity:", "interval: 1m\n  identity:", false),
        ("identity:", "suspend: true\n  identity:", false),
        ("identity:", "correct: {existing: Adopt}\n  identity:", false),
        ("identity:", "correct: {http: {update: [{method: PUT, url: 'http://h/'}]}}\n  identity:", false),
        (
            "identity:",
            "correct: {http: {update: [{method: PUT, url: 'http://h/', when: \"${'listen' in differs}\"}]}}\n  identity:",
            true,
        ),
        (
            "identity:",
            "correct: {http: {create: [{method: POST, url: 'http://h/', store: {id: \"${response.body.id}\"}}]}}\n  identity:",
            true,
        ),
        ("name: toxiproxy", "name: other", false),
        ("identity:", "scope: orders\n  identity:", true),
        ("identity:", "confirm: {drift: 2}\n  identity:", true),
        ("identity:", "suspendWhen: \"${self.spec.a}\"\n  identity:", true),
        ("kind: Proxy", "kind: Proxie", true),
        ("8474", "8475", true),
        ("orValue(true)", "orValue(false)", true),
    ];
    for (old, new, moves) in table {
        let edited = parse(&LEAST.replacen(old, new, 1));
        assert_ne!(edited.document_hash, target.document_hash, "{new}");
        assert_eq!(edited.verdict_hash != target.verdict_hash, moves, "{new}");
    }
}

/// Edits of a target, each with true if a plan must not ask by the edited text.
#[test]
fn only_harmless_edits_keep_what_is_asked() {
    const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.example/v1, kind: Zone, namespaces: [a]}
  identity: "${self.spec.zone}/${self.spec.other}"
  allowHosts: [h.example, evil.example]
  require: [{that: "${self.spec.host != 'evil'}", else: no}]
  base: "https://h.example"
  let: {zone: "${self.spec.zone}"}
  allowNetworks: [10.0.0.0/8]
  insecure: false
  read:
    http: {url: "/zones/${zone}", auth: {bearer: {secretRef: {name: r, key: token}}}}
  compare: {desired: {ttl: "${self.spec.ttl}"}}
  correct:
    mode: Correct
    http:
      auth: {bearer: {secretRef: {name: w, key: token}}}
      create: [{method: POST, url: "/zones", body: "${desired}"}]
      update: [{method: PUT, url: "/zones/${zone}", body: "${desired}"}]
"#;
    let target = crate::fixtures::target(TEXT);
    assert_eq!(target.asking_hash.len(), 32);
    let table = [
        // Harmless.
        ("metadata:", "# a comment\nmetadata:", false),
        ("{name: r, key: token}", "{name: r}", false),
        ("[{method: POST, url: \"/zones\", body: \"${desired}\"}]", "{method: POST, url: \"/other\"}", false),
        ("{ttl:", "{other: 1, ttl:", false),
        ("mode: Correct", "mode: Observe", false),
        ("mode: Correct", "mode: Approve\n    windows: [{cron: '0 22 * * *', duration: 1h}]", false),
        ("  compare:", "  interval: 1m\n  timeout: 5s\n  confirm: {drift: 2}\n  compare:", false),
        ("  compare:", "  publish: {seen: \"${observed.x}\"}\n  ready: true\n  compare:", false),
        // Another system, another credential, other objects, or another guard.
        ("https://h.example", "https://evil.example", true),
        ("https://h.example\"", "https://h.example:444\"", true),
        ("\"/zones/${zone}\", auth", "\"/users\", auth", true),
        ("{zone: \"${self.spec.zone}\"}", "{zone: \"${self.spec.other}\"}", true),
        ("{name: r,", "{name: root,", true),
        ("{name: w,", "{name: root,", true),
        ("evil.example]", "evil.example, c.example]", true),
        ("[10.0.0.0/8]", "[0.0.0.0/0]", true),
        ("insecure: false", "insecure: true", true),
        ("{that: \"${self.spec.host != 'evil'}\", else: no}", "{that: \"${true}\", else: no}", true),
        ("namespaces: [a]", "namespaces: [a, kube-system]", true),
        ("namespaces: [a]", "namespaces: [a], labelSelector: x=y", true),
        ("${self.spec.zone}/", "${self.spec.zone}-", true),
        ("  compare:", "  suspendWhen: \"${false}\"\n  compare:", true),
        ("  compare:", "  objectMay: [interval]\n  compare:", true),
        ("  compare:", "  scope: other\n  compare:", true),
        ("  compare:", "  suspend: true\n  compare:", true),
        ("  compare:", "  hints: {webhook: {secretRef: {name: other}, identity: \"${payload.id}\"}}\n  compare:", true),
        ("auth: {bearer: {secretRef: {name: r, key: token}}}", "proxy: {url: 'http://evil.example'}", true),
        ("    http: {url", "    limits: {perSecond: 1}\n    http: {url", true),
        ("{url: \"/zones/${zone}\", auth", "{url: \"/zones/${zone}\", method: POST, body: {a: 1}, auth", true),
        (
            "{url: \"/zones/${zone}\", auth",
            "{url: \"/zones/${zone}\", tls: {caSecretRef: {name: c, key: k}}, auth",
            true,
        ),
    ];
    for (old, new, moves) in table {
        assert!(TEXT.contains(old), "{old}");
        let edited = TEXT.replacen(old, new, 1);
        match crate::fixtures::parsed(&edited) {
            Ok(edited) => assert_eq!(edited.asking_hash != target.asking_hash, moves, "{new}"),
            Err(problems) => panic!("{new}: {problems:#?}"),
        }
    }
    let other = "{postgres: {connection: {secretRef: {name: r}}, query: \"SELECT ttl FROM zones WHERE id = ${zone}\"}}";
    let sql = |query: &str| {
        let start = TEXT.find("  read:").unwrap();
        let text = format!("{}  read: {query}\n  compare: {{desired: {{ttl: 1}}}}\n", &TEXT[..start]);
        crate::fixtures::target(&text.replace("  base: \"https://h.example\"\n", "")).asking_hash
    };
    assert_ne!(sql(other), sql(&other.replace("zones", "users")));
    let bare = TEXT.split("  correct:").next().unwrap();
    let nudged =
        format!("{bare}  correct: {{mode: Correct, nudge: {{annotations: {{a/b: \"${{self.spec.ttl}}\"}}}}}}\n");
    assert_eq!(crate::fixtures::target(bare).asking_hash, crate::fixtures::target(&nudged).asking_hash);
}

/// Edits of [`PROXIES`], each with all of its messages.
#[test]
fn a_credential_goes_unencrypted_only_where_said() {
    let auth = "auth: {bearer: {secretRef: {name: s, key: token}}}";
    let reading =
        LEAST.replace("{url: \"http://127.0.0.1:8474", &format!("{{{auth}, url: \"http://proxies.example:8474"));
    let correcting = format!(
        "{LEAST}  correct: {{http: {{{auth}, delete: [{{method: DELETE, url: \"https://h.example\"}}, {{method: DELETE, url: \"http://h.example\"}}]}}}}\n"
    );
    let refused = [
        (
            &reading,
            "8:23 read.http.auth: the credential would go unencrypted to proxies.example:8474; write https, or insecure: true beside read",
        ),
        (
            &correcting,
            "11:26 correct.http.auth: the credential would go unencrypted to h.example:80; write https, or insecure: true beside correct",
        ),
    ];
    for (text, problem) in refused {
        assert_eq!(problems(text), [problem]);
        let taken = [
            text.replace("  identity:", "  insecure: true\n  identity:"),
            text.replace("http://proxies.example", "http://proxies.team.svc")
                .replace("http://h.example", "http://[::1]:80"),
            text.replace("http://", "https://"),
            text.replace(auth, "").replace("{, ", "{"),
        ];
        for text in taken {
            assert_eq!(problems(&text), Vec::<String>::new(), "{text}");
        }
    }
}

#[test]
fn documents_that_are_none_say_so() {
    let table = [
        ("", "1:1 a document is a map, not nothing"),
        ("just text", "1:1 a document is a map, not a text"),
        ("[]", "1:1 a document is a map, not a list"),
    ];
    for (text, expected) in table {
        assert_eq!(problems(text), [expected], "{text}");
    }
    assert_eq!(
        problems(&LEAST.replace("identity: \"${self.metadata.name}\"", "identity: ''")),
        ["7:13 identity: it is empty; write what tells the objects apart, such as \"${self.metadata.name}\""]
    );
    assert_eq!(problems("{}").len(), 4);
    let two = format!("{LEAST}---\n{LEAST}");
    assert_eq!(problems(&two).len(), 1);
    let long = format!("{LEAST}# {}\n", "x".repeat(256 * 1024));
    assert_eq!(problems(&long), ["0:0 a document is at most 262144 bytes long"]);
    let many = format!("{LEAST}    rules: [{}]\n", "{path: \"${\"},".repeat(1_001));
    assert!(problems(&many).iter().any(|problem| problem.ends_with("a document holds at most 1000 templates")));
}

#[test]
fn a_deep_desired_state_is_taken_and_rendered() {
    let deep = format!("{}\"${{self.spec.listen}}\"{}", "[".repeat(27), "]".repeat(27));
    let target = parse(&LEAST.replace("\"${self.spec.listen}\"", &deep));
    let desired = target.desired_state_of(&object()).unwrap();
    let innermost = desired.value.pointer(&format!("/listen{}", "/0".repeat(27)));
    assert_eq!(innermost, Some(&json!("0.0.0.0:80")));
    let deeper = problems(&LEAST.replace("\"${self.spec.listen}\"", &deep.replace('[', "[[").replace(']', "]]")));
    assert_eq!(deeper.len(), 1, "{deeper:?}");
}

#[test]
fn all_problems_are_told_at_once() {
    let text = PROXIES.replace("30s", "30").replace("drift: 2", "drift: x").replace("8474/proxies\"", "8474/${\"");
    assert_eq!(problems(&text).len(), 3);
}

#[test]
fn a_wrong_item_hides_no_other_mistake() {
    let text = LEAST
        .replace("kind: Proxy}", "kind: Proxy, namespaces: [Bad_One, ok, Bad_Two]}")
        .replace(
            "  read:",
            "  notIdentifying: [\"\", spec.x, status.y]\n  allowHosts: [\"http://x\", y, \"a b\"]\n  read:",
        )
        .replace("url: \"http", "accept: [200, 700, 9], url: \"http")
        .replace("  compare:\n", "  compare:\n    desire: {}\n");
    let places: Vec<String> = problems(&text)
        .iter()
        .filter_map(|problem| Some(problem.split_once(' ')?.1.split(": ").next()?.to_owned()))
        .collect();
    assert_eq!(
        places,
        [
            "objects.namespaces[0]",
            "objects.namespaces[2]",
            "notIdentifying[0]",
            "notIdentifying[2]",
            "allowHosts[0]",
            "allowHosts[2]",
            "read.http.accept[1]",
            "read.http.accept[2]",
            "unknown key `desire` in compare",
        ]
    );
    let base = LEAST.replace("  read:", "  base: \"no url\"\n  read:").replace("http://127.0.0.1:8474", "");
    assert_eq!(problems(&base).len(), 1, "{:?}", problems(&base));
    let hosts = base.replace("  base:", "  allowHosts: [api.example]\n  base:");
    assert_eq!(problems(&hosts).len(), 1, "{:?}", problems(&hosts));
}

#[test]
fn a_missing_section_is_told_at_the_key_above() {
    let (without, _) = LEAST.split_once("  compare:").unwrap();
    let line = 1 + LEAST.lines().position(|line| line.starts_with("spec:")).unwrap();
    for (added, others) in [("", 0), ("  allowHosts: [ht tp]\n", 1), ("  let: {a-b: '${1}', c: '${'}\n", 1)] {
        let text = without.replace("spec:\n", &format!("spec:\n{added}"));
        let found = parse_document(&name(), &text).unwrap_err();
        let missing: Vec<_> = found.iter().filter(|problem| problem.message == "compare is missing").collect();
        assert!(missing.len() == 1 && (missing[0].line, missing[0].column) == (line, 1), "{added} {found:?}");
        assert!(found.len() > others, "{found:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Deletions and replacements anywhere in a valid document.
    #[test]
    fn no_text_breaks_the_parser(start in 0..PROXIES.len(), length in 0_usize..60, patch in "[a-z{}\\[\\]:,\"'$ \n-]{0,8}") {
        let end = (start + length).min(PROXIES.len());
        let text = format!("{}{patch}{}", &PROXIES[..start], &PROXIES[end..]);
        if let Err(problems) = parse_document(&name(), &text) {
            prop_assert!(!problems.is_empty());
        }
    }
}
