//! What the language promises about whole documents.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cel::Variables;
use crate::*;

fn read_http(target: &Target) -> &HttpRead {
    let Source::Http(http) = &target.read.source;
    http
}

fn correct_http(target: &Target) -> &HttpCorrect {
    match &target.correct.destination {
        Some(Destination::Http(http)) => http,
        None => panic!("the target corrects nothing"),
    }
}

/// A REST system that behaves like a load balancer.
const PROXIES: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: proxies}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy, namespaces: [team-b, team-a], labelSelector: tier=prod}
  identity: "${self.metadata.name}"
  require:
  - {that: "${self.spec.name.startsWith(self.metadata.namespace + '_')}", else: names start with their namespace}
  interval: 30s
  timeout: 5s
  suspendWhen: "${self.spec.?paused.orValue(false)}"
  confirm: {drift: 2, absent: 3, unknown: 4}
  read:
    limits: {concurrent: 4, perSecond: 20}
    http:
      url: "https://proxies.example:8474/proxies/${self.metadata.name}"
      headers: {accept: application/json, x-trace: "t-${self.metadata.uid}"}
      auth: {bearer: {secretRef: {name: proxies-read, key: token}}}
      tls: {caSecretRef: {name: proxies-ca, key: ca.crt}}
      accept: [200, 203-204]
      absentWhen: "${response.status == 404}"
      settlingWhen: "${response.body.?state.orValue('') in ['creating', 'updating']}"
      observed: {listen: "${response.body.listen}", tag: "${response.headers.?etag}"}
      maxBytes: 64KiB
  compare:
    desired: {listen: "${self.spec.listen}", port: "${self.spec.port + 1}", enabled: "${self.spec.?enabled}", password: "${self.spec.password}", note: "n ${self.spec.port}"}
    rules:
    - {path: /password, redact: true}
    - {path: /note, ignore: true}
  correct:
    mode: Correct
    existing: Adopt
    settle: 2s
    limits: {concurrent: 2, perMinute: 30, maxDriftedPercent: 50, attempts: 3}
    http:
      auth: {basic: {secretRef: {name: proxies-write}}}
      create:
      - {method: POST, url: "https://proxies.example:8474/proxies", body: {name: "${self.metadata.name}", listen: "${desired.listen}"}, accept: [201]}
      update: [{method: PATCH, url: "https://proxies.example:8474/proxies/${self.spec.name}", headers: {idempotency: "k-${correction}"}, body: "${desired}"}]
      delete: [{method: DELETE, url: "https://proxies.example:8474/proxies/${self.metadata.name}"}]
"#;

/// The least that a target needs: toxiproxy, only looked at.
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
    assert_eq!(target.confirm, Confirm { drift: 1, absent: 2, unknown: 3 });
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
    let wished = target.wish_of(&object()).unwrap();
    assert_eq!(wished.desired, json!({"listen": "0.0.0.0:80", "upstream": "u:1", "enabled": true}));
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
    assert_eq!(target.confirm, Confirm { drift: 2, absent: 3, unknown: 4 });
    assert_eq!(target.read.limits, ReadLimits { concurrent: 4, per_second: 20 });
    let http = read_http(&target);
    let key = |name: &str, key: &str| SecretKey { name: name.to_owned(), key: key.to_owned() };
    assert_eq!(http.auth, Some(Auth::Bearer(key("proxies-read", "token"))));
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
    assert_eq!(correct.auth, Some(Auth::Basic { secret: "proxies-write".to_owned() }));
    assert_eq!(correct.create[0].accept, StatusSet(vec![201..=201]));
    assert_eq!(correct.update[0].accept, StatusSet(vec![200..=299]));
    assert_eq!(correct.delete[0].accept, StatusSet(vec![200..=299, 404..=404, 410..=410]));
}

#[test]
fn a_deletion_takes_what_is_gone_whatever_it_says() {
    let own = PROXIES.replace("      delete: [{method: DELETE,", "      delete: [{accept: [204], method: DELETE,");
    assert_ne!(own, PROXIES);
    let target = parse(&own);
    let correct = correct_http(&target);
    assert!([204, 404, 410].iter().all(|status| correct.delete[0].accept.contains(*status)));
    assert!(!correct.delete[0].accept.contains(200));
    assert_eq!(correct.delete[0].done_on, correct.delete[0].accept);
}

#[test]
fn a_deletion_that_is_done_later_says_what_done_looks_like() {
    let later = "      delete: [{accept: [202], doneOn: [204], method: DELETE,";
    let target = parse(&PROXIES.replace("      delete: [{method: DELETE,", later));
    let correct = correct_http(&target);
    let delete = &correct.delete[0];
    assert!([202, 204, 404, 410].iter().all(|status| delete.accept.contains(*status)));
    assert!([204, 404, 410].iter().all(|status| delete.done_on.contains(*status)) && !delete.done_on.contains(202));
    assert_eq!(correct.update[0].done_on, correct.update[0].accept);
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

    let wished = target.wish_of(&object).unwrap();
    assert_eq!(wished.desired, json!({"listen": "0.0.0.0:80", "port": 8, "password": "hunter2"}));
    let mut secret = object.clone();
    secret["spec"]["password"] = json!("other");
    secret["spec"]["enabled"] = json!(false);
    let other = target.wish_of(&secret).unwrap();
    assert_ne!(other.wish, wished.wish);
    secret["spec"]["enabled"] = Value::Null;
    assert_eq!(target.wish_of(&secret).unwrap().wish, wished.wish, "neither a password nor a null is part of a wish");

    let mut renamed = object.clone();
    renamed["metadata"]["name"] = json!("web two");
    let renamed = target.wish_of(&renamed).unwrap();
    assert_eq!(renamed.desired, wished.desired);
    assert_ne!(renamed.wish, wished.wish, "a verdict about one resource is none about another");

    let request = read_http(&target).render(&object).unwrap();
    assert_eq!(request.headers["x-trace"], "t-u-1");
    let correct = correct_http(&target);
    let variables = Variables { desired: Some(&wished.desired), correction: Some(7), ..Variables::of_object(&object) };
    let create = correct.create[0].request.render(&variables).unwrap();
    assert_eq!(create.body.unwrap(), br#"{"listen":"0.0.0.0:80","name":"web one"}"#);
    let update = correct.update[0].request.render(&variables).unwrap();
    assert_eq!(
        (update.method, update.url.as_str()),
        (::http::Method::PATCH, "https://proxies.example:8474/proxies/team-a_web")
    );
    assert_eq!(update.headers["idempotency"], "k-7");
    assert_eq!(serde_json::from_slice::<Value>(&update.body.unwrap()).unwrap(), wished.desired);
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
    assert_eq!(target.wish_of(&object).unwrap_err().to_string(), "compare.desired.port: no add of string and int");
    object["spec"] = json!({});
    assert_eq!(target.wish_of(&object).unwrap_err().to_string(), "compare.desired.listen: no field `listen`");
    assert_eq!(target.unmet_requirement(&object).unwrap_err().to_string(), "require[0].that: no field `name`");
}

#[test]
fn fields_are_collected_by_program() {
    let shown =
        |fields: &drift_model::field_paths::FieldPaths| fields.iter().map(|path| path.join(".")).collect::<Vec<_>>();
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
    assert_eq!(target.wish_of(&pruned), target.wish_of(&object()));
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
    let post = |body: &str| read(&format!("url: 'http://h/q', method: POST, body: {body}"));
    assert_eq!(post("{q: 'a ${self.spec.a}', token: x}"), post("{token: y, q: 'a ${self.spec.b}'}"));
    assert_ne!(post("{q: 'a ${self.spec.a}'}"), post("{q: 'b ${self.spec.a}'}"));
    assert!(!post("{q: hunter2}").contains("hunter2"));
    assert_eq!(&*parse(&LEAST.replace("identity:", "scope: orders-db\n  identity:")).scope.name, "orders-db");
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

/// One edit of [`PROXIES`] each, and everything that is said about it.
#[test]
fn every_mistake_is_told_with_its_place() {
    let table: &[(&str, &str, &[&str])] = &[
        (
            "driftpoller.dev/v1alpha1",
            "driftpoller.dev/v1",
            &["2:13 apiVersion: unknown `driftpoller.dev/v1`: did you mean `driftpoller.dev/v1alpha1`?"],
        ),
        ("kind: PollTarget", "kind: Target", &["3:7 kind: unknown `Target`; one of PollTarget"]),
        (
            "name: proxies}",
            "name: Proxies}",
            &["4:18 metadata.name: `Proxies` is no name; use at most 63 of a-z, 0-9 and -, none - at the ends"],
        ),
        ("name: proxies}", "name: proxies, labels: {}}", &["4:27 unknown key `labels` in metadata; known: name"]),
        (
            "identity:",
            "identitie:",
            &["6:3 identity is missing", "7:3 unknown key `identitie` in spec: did you mean `identity`?"],
        ),
        (
            "demo.driftpoller.dev/v1",
            "demo driftpoller",
            &["6:25 objects.apiVersion: `demo driftpoller` is no API version; write group/version, or v1"],
        ),
        (
            "kind: Proxy",
            "kind: proxy",
            &["6:56 objects.kind: `proxy` is no kind; write it as in the CRD, for example Proxy"],
        ),
        (
            "[team-b, team-a]",
            "[team-b, Team, team-b]",
            &["6:84 objects.namespaces: `Team` is no namespace", "6:90 objects.namespaces: `team-b` stands twice"],
        ),
        ("[team-b, team-a]", "[]", &["6:75 objects.namespaces: the list is empty; leave the key out instead"]),
        ("tier=prod", "tier prod", &["6:108 objects.labelSelector: `tier prod` is no label key"]),
        ("interval: 30s", "interval: 30", &["10:13 interval: 30 has no unit; write for example 30s"]),
        (
            "interval: 30s",
            "interval: soon",
            &["10:13 interval: `soon` is no duration; write for example 30s, 5m or 1h30m"],
        ),
        ("interval: 30s", "interval: 25h", &["10:13 interval: 25h is out of bounds: 1s to 1day"]),
        ("interval: 30s", "interval: 3s", &["11:12 timeout: it must not be longer than the interval, which is 3s"]),
        ("confirm: {drift: 2", "confirm: {drift: 0", &["13:20 confirm.drift: a whole number from 1 to 100 is needed"]),
        (
            "confirm: {drift: 2",
            "confirm: {drift: many",
            &["13:20 confirm.drift: a whole number is needed here, not a text"],
        ),
        (
            "else: names start with their namespace",
            "else: \"${self.spec.name} starts\"",
            &["9:81 require[0].else is literal: no ${…} here"],
        ),
        (", else: names start with their namespace", "", &["9:5 require[0].else is missing"]),
        (
            "self.spec.name.startsWith",
            "self.spec.name.startWith",
            &["9:30 require[0].that: unknown function `startWith`: did you mean `startsWith`?"],
        ),
        (
            "\"${self.spec.?paused.orValue(false)}\"",
            "\"${slef.spec.?paused}\"",
            &["12:19 suspendWhen: unknown variable `slef`: did you mean `self`?"],
        ),
        (
            "\"${self.spec.?paused.orValue(false)}\"",
            "true",
            &["12:16 suspendWhen: a text is needed here, not true or false"],
        ),
        (
            "\"${self.spec.?paused.orValue(false)}\"",
            "\"yes ${self.spec.paused}\"",
            &["12:17 suspendWhen: write one \"${…}\" and nothing around it"],
        ),
        ("read:\n", "read:\n    postgres: {}\n", &["15:5 unknown key `postgres` in read; known: limits, http"]),
        (
            "      url:",
            "      uri:",
            &["17:7 unknown key `uri` in read.http: did you mean `url`?", "17:7 read.http.url is missing"],
        ),
        (
            "https://proxies.example:8474/proxies/${self.metadata.name}\"\n      headers",
            "https://${self.spec.host}/proxies\"\n      headers",
            &[
                "17:21 read.http.url: hosts are literal: write `/` before the first ${…}, or name in allowHosts the hosts that may come of it",
            ],
        ),
        (
            "{caSecretRef: {name: proxies-ca, key: ca.crt}}",
            "{}",
            &["20:12 read.http.tls: one of caSecretRef, certificateSecretRef is needed"],
        ),
        (
            "{caSecretRef: {name: proxies-ca, key: ca.crt}}",
            "{certificateSecretRef: {name: Own}}",
            &["20:42 read.http.tls.certificateSecretRef.name: `Own` is no name of a Secret"],
        ),
        (
            "tls: {caSecretRef: {name: proxies-ca, key: ca.crt}}",
            "socket: run/docker.sock",
            &["20:15 read.http.socket: an absolute path is needed, for example /run/docker.sock"],
        ),
        (
            "tls: {caSecretRef: {name: proxies-ca, key: ca.crt}}",
            "socket: /run/docker.sock",
            &["17:12 read.http.url: a unix socket has no TLS; write http://"],
        ),
        (
            "interval: 30s",
            "allowHosts: [api.example]\n  interval: 30s",
            &[
                "18:21 read.http.url: proxies.example:8474 is not among allowHosts",
                "40:38 correct.http.create[0].url: proxies.example:8474 is not among allowHosts",
                "41:46 correct.http.update[0].url: proxies.example:8474 is not among allowHosts",
                "42:47 correct.http.delete[0].url: proxies.example:8474 is not among allowHosts",
            ],
        ),
        (
            "interval: 30s",
            "allowHosts: ['https://api.example']\n  interval: 30s",
            &[
                "10:16 allowHosts: `https://api.example` is no host; write api.example, api.example:8443, *.example (one label), or * for any",
            ],
        ),
        (
            "interval: 30s",
            "allowNetworks: [10.0.0.1/8]\n  interval: 30s",
            &["10:19 allowNetworks: `10.0.0.1/8`: the address has bits behind the prefix; the network is 10.0.0.0/8"],
        ),
        (
            "x-trace:",
            "Authorization:",
            &["18:43 the header `authorization` cannot be set here; credentials are given by auth"],
        ),
        ("x-trace:", "Accept:", &["18:43 the header `accept` stands twice"]),
        ("x-trace:", "\"x trace\":", &["18:43 `x trace` is no header name"]),
        (
            "{bearer: {secretRef: {name: proxies-read, key: token}}}",
            "{bearer: {secretRef: {name: proxies-read}}}",
            &["19:34 read.http.auth.bearer.secretRef.key is missing"],
        ),
        (
            "{bearer: {secretRef: {name: proxies-read, key: token}}}",
            "{bearer: {secretRef: {name: \"${self.spec.s}\", key: token}}}",
            &["19:41 read.http.auth.bearer.secretRef.name is literal: no ${…} here"],
        ),
        (
            "{bearer: {secretRef: {name: proxies-read, key: token}}}",
            "{}",
            &["19:13 read.http.auth: exactly one of bearer, basic, header, oauth2 is needed"],
        ),
        (
            "{bearer: {secretRef: {name: proxies-read, key: token}}}",
            "{oauth2: {}}",
            &["19:22 read.http.auth.oauth2.tokenUrl is missing", "19:22 read.http.auth.oauth2.secretRef is missing"],
        ),
        (
            "[200, 203-204]",
            "[200, 401]",
            &["21:21 read.http.accept: 401 cannot be accepted: it says nothing about the resource"],
        ),
        (
            "[200, 203-204]",
            "[200-500]",
            &["21:16 read.http.accept: 401 cannot be accepted: it says nothing about the resource"],
        ),
        (
            "[200, 203-204]",
            "[302]",
            &["21:16 read.http.accept: only 2xx and 4xx can be accepted: the others say nothing about the resource"],
        ),
        (
            "[200, 203-204]",
            "[503]",
            &["21:16 read.http.accept: only 2xx and 4xx can be accepted: the others say nothing about the resource"],
        ),
        ("[200, 203-204]", "[ok]", &["21:16 read.http.accept: write statuses, for example [200, 404] or [200-299]"]),
        ("[200, 203-204]", "200", &["21:15 read.http.accept: a list is needed here, not a number"]),
        (
            "response.status == 404",
            "respons.status == 404",
            &["22:22 read.http.absentWhen: unknown variable `respons`: did you mean `response`?"],
        ),
        (
            "response.status == 404",
            "response.status == ",
            &["22:41 read.http.absentWhen: no CEL expression: mismatched input the end of the expression"],
        ),
        (
            "\"${response.headers.?etag}\"",
            "\"${response.headers.?etag\"",
            &["24:59 read.http.observed.tag: `${` without its closing `}`; write `$${` for the text `${`"],
        ),
        (
            "maxBytes: 64KiB",
            "maxBytes: 64MB",
            &["25:17 read.http.maxBytes: `64MB` is no size; write for example 512KiB or 1MiB"],
        ),
        (
            "maxBytes: 64KiB",
            "maxBytes: 1GiB",
            &["25:17 read.http.maxBytes: `1GiB` is no size; write for example 512KiB or 1MiB"],
        ),
        ("maxBytes: 64KiB", "maxBytes: 9MiB", &["25:17 read.http.maxBytes: 9MiB is out of bounds: 1KiB to 8MiB"]),
        ("maxBytes: 64KiB", "body: {a: 1}", &["25:13 read.http.body: only a POST has a body; write method: POST"]),
        (
            "maxBytes: 64KiB",
            "validWhen: \"${has(desired.listen)}\"",
            &["25:25 read.http.validWhen: `desired` does not exist here; known: self, response"],
        ),
        ("maxBytes: 64KiB", "method: PUT", &["25:15 read.http.method: unknown `PUT`; one of GET, HEAD, POST"]),
        ("maxBytes: 64KiB", "method: get", &["25:15 read.http.method: unknown `get`: did you mean `GET`?"]),
        (
            "\"${self.spec.listen}\", port",
            "\"${self.status.listen}\", port",
            &[
                "27:26 compare.desired.listen: `self.status.listen` is not visible here: desired sees self.spec and self.metadata.name, namespace and uid",
            ],
        ),
        (
            "{listen: \"${self.spec.listen}\", port",
            "{\"${self.spec.listen}\": 1, port",
            &["27:15 compare.desired.${self.spec.listen}: keys are literal; build the map in one ${…}"],
        ),
        (
            "path: /note",
            "path: note",
            &["30:14 compare.rules[1].path: `note` is no path; write for example /listen or /labels/tier"],
        ),
        (
            "path: /note",
            "path: /nota",
            &["30:14 compare.rules[1].path: desired has no `nota` there: did you mean `note`?"],
        ),
        (
            "path: /note",
            "path: /password",
            &["30:7 compare.rules[1]: compare.rules[0] speaks of this path too, and what is ignored is not compared"],
        ),
        (
            "ignore: true",
            "ignore: false",
            &["30:29 compare.rules[1].ignore: only true makes sense; leave it out instead"],
        ),
        (
            ", ignore: true",
            "",
            &[
                "30:7 compare.rules[1]: a rule says what holds at its path: one of list, extra, as, tolerance, ignore, redact, show, change",
            ],
        ),
        (
            "ignore: true",
            "tolerence: 1",
            &["30:21 unknown key `tolerence` in compare.rules[1]: did you mean `tolerance`?"],
        ),
        ("mode: Correct", "mode: correct", &["32:11 correct.mode: unknown `correct`: did you mean `Correct`?"]),
        ("settle: 2s", "settle: 2h", &["34:13 correct.settle: 2h is out of bounds: 0s to 1h"]),
        (
            "maxDriftedPercent: 50",
            "maxDriftedPercent: 101",
            &["35:63 correct.limits.maxDriftedPercent: a whole number from 1 to 100 is needed"],
        ),
        (
            "auth: {basic: {secretRef: {name: proxies-write}}}",
            "doneOn: [404]",
            &["37:7 unknown key `doneOn` in correct.http; known: socket, auth, tls, create, update, delete"],
        ),
        (
            "method: PATCH",
            "doneOn: [204], method: PATCH",
            &[
                "40:17 unknown key `doneOn` in correct.http.update[0]; known: name, method, url, headers, when, accept, refusedWhen, because, body, form, text",
            ],
        ),
        (
            "method: PATCH",
            "method: TRACE",
            &["40:25 correct.http.update[0].method: unknown `TRACE`; one of GET, HEAD, POST, PUT, PATCH, DELETE"],
        ),
        (
            "k-${correction}",
            "k-${response.status}",
            &[
                "40:123 correct.http.update[0].headers.idempotency: `response` does not exist here; known: self, desired, correction",
            ],
        ),
        ("interval: 30s", "interval: 30s\n  interval: 40s", &["11:3 `interval` stands here twice, first in line 10"]),
        ("interval: 30s", "interval: [30s", &["11:10 illegal placement of ':' indicator"]),
    ];
    let mut wrong = Vec::new();
    for (old, new, expected) in table {
        assert!(PROXIES.contains(old), "{old}");
        let found = problems(&PROXIES.replacen(old, new, 1));
        if found != *expected {
            wrong.push(format!("{new}\n   found    {found:?}\n   expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

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
    assert_eq!(problems("{}").len(), 4);
    let two = format!("{LEAST}---\n{LEAST}");
    assert_eq!(problems(&two).len(), 1);
    let long = format!("{LEAST}# {}\n", "x".repeat(256 * 1024));
    assert_eq!(problems(&long), ["0:0 a document is at most 262144 bytes long"]);
    let many = format!("{LEAST}    rules: [{}]\n", "{path: \"${\"},".repeat(1_001));
    assert!(problems(&many).iter().any(|problem| problem.ends_with("a document holds at most 1000 templates")));
}

#[test]
fn a_deep_wish_is_taken_and_rendered() {
    let deep = format!("{}\"${{self.spec.listen}}\"{}", "[".repeat(27), "]".repeat(27));
    let target = parse(&LEAST.replace("\"${self.spec.listen}\"", &deep));
    let wished = target.wish_of(&object()).unwrap();
    let innermost = wished.desired.pointer(&format!("/listen{}", "/0".repeat(27)));
    assert_eq!(innermost, Some(&json!("0.0.0.0:80")));
    let deeper = problems(&LEAST.replace("\"${self.spec.listen}\"", &deep.replace('[', "[[").replace(']', "]]")));
    assert_eq!(deeper.len(), 1, "{deeper:?}");
}

#[test]
fn all_problems_are_told_at_once() {
    let text = PROXIES.replace("30s", "30").replace("drift: 2", "drift: x").replace("8474/proxies\"", "8474/${\"");
    assert_eq!(problems(&text).len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Cuts and swaps somewhere in a good document.
    #[test]
    fn no_text_breaks_the_parser(start in 0..PROXIES.len(), length in 0_usize..60, patch in "[a-z{}\\[\\]:,\"'$ \n-]{0,8}") {
        let end = (start + length).min(PROXIES.len());
        let text = format!("{}{patch}{}", &PROXIES[..start], &PROXIES[end..]);
        if let Err(problems) = parse_document(&name(), &text) {
            prop_assert!(!problems.is_empty());
        }
    }
}
