//! `explain --answer`: targets, objects and answers that all stand in files.

use super::{ended, run_in};

#[test]
fn answers_are_tried_without_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let target = |read: &str| {
        format!(
            "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: records}}\nspec:\n  \
             objects: {{apiVersion: dns.example/v1, kind: Record}}\n  identity: \"${{self.spec.name}}\"\n  \
             read: {{http: {{{read}}}}}\n  compare: {{desired: {{ttl: \"${{self.spec.ttl}}\"}}}}\n---\n\
             apiVersion: dns.example/v1\nkind: Record\nmetadata: {{name: www, namespace: team-a}}\nspec: {{name: www, ttl: 300}}\n"
        )
    };
    write("one.yaml", &target("url: \"https://dns.example/${self.spec.name}\""));
    let pages = "url: https://dns.example/all, each: \"${response.body.items}\", next: \"${response.body.?next}\", \
                 key: {item: \"${item.name}\"}, observed: \"${item}\"";
    write("all.yaml", &target(pages));
    let limited = "url: \"https://dns.example/${self.spec.name}\", limitedWhen: \"${response.body.?error.hasValue()}\"";
    write("limited.yaml", &target(limited));
    write("same.json", r#"{"ttl": 300}"#);
    write("other.json", r#"{"ttl": 60}"#);
    write("none.json", r#"{"error": "no such record"}"#);
    write("first.json", r#"{"items": [{"name": "mail", "ttl": 5}], "next": "/all?page=2"}"#);
    write("last.json", r#"{"items": [{"name": "www", "ttl": 60}]}"#);
    let table: [(&str, &[&str], i32, &str); 13] = [
        ("one.yaml", &["same.json"], 0, "driftObserved False/InSync"),
        ("one.yaml", &["200=other.json"], 1, "/ttl desired 300, observed 60"),
        ("one.yaml", &["404=none.json"], 1, "driftObserved True/NotCreated"),
        ("one.yaml", &["none.json"], 2, "none of desired's fields"),
        ("one.yaml", &["503=none.json"], 2, "Unknown/ExternalError"),
        ("limited.yaml", &["400=none.json"], 2, "Unknown/RateLimited"),
        ("all.yaml", &["first.json", "last.json"], 1, "/ttl desired 300, observed 60"),
        ("all.yaml", &["first.json"], 3, "the read goes on with GET https://dns.example/all?page=2"),
        ("one.yaml", &["same.json", "other.json"], 3, "the read ended after 1 answer, and 2 were given"),
        ("all.yaml", &["first.json", "last.json", "same.json"], 3, "the read ended after 2 answers, and 3 were given"),
        ("all.yaml", &["503=none.json", "last.json"], 2, "Unknown/ExternalError"),
        ("one.yaml", &["missing.json"], 3, "missing.json: "),
        ("one.yaml", &["600=none.json"], 3, "--answer 600=none.json: 600 is no HTTP status; write 100 to 599"),
    ];
    for (file, answers, expected, text) in table {
        let answers: Vec<&str> = answers.iter().flat_map(|answer| ["--answer", answer]).collect();
        let (code, printed, said) =
            ended(run_in(folder.path(), &[&["explain", "record/www", "-f", file], &*answers].concat(), ""));
        assert!(code == expected && format!("{printed}{said}").contains(text), "{answers:?} {code}: {printed}{said}");
    }
    let (code, _, said) =
        ended(run_in(folder.path(), &["explain", "record/other", "-f", "one.yaml", "--answer", "same.json"], ""));
    assert!(code == 3 && said.contains("no manifest of Record other"), "{said}");
}

#[test]
fn every_request_of_a_read_is_shown() {
    let text = "apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: records}
spec:
  objects: {apiVersion: dns.example/v1, kind: Record}
  identity: '${self.spec.name}'
  read:
    http:
      auth: {bearer: {secretRef: {name: reader, key: token}}}
      steps:
      - {name: found, method: POST, url: https://dns.example/, form: {Action: Find, Name: '${self.spec.name}'}}
      - {name: record, method: POST, url: https://dns.example/, text: \"get ${steps.found.body.id}\"}
  compare: {desired: {ttl: '${self.spec.ttl}'}}
---
apiVersion: dns.example/v1
kind: Record
metadata: {name: www}
spec: {name: www, ttl: 300}
";
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("all.yaml", text), ("found.json", r#"{"id": "r-1"}"#), ("record.json", r#"{"ttl": 300}"#)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let tried = ["explain", "record/www", "-f", "all.yaml", "--answer", "found.json", "--answer", "record.json"];
    let (code, printed, said) = ended(run_in(folder.path(), &tried, ""));
    let expected = "asked       found: POST https://dns.example/
            content-type: application/x-www-form-urlencoded
            Action=Find
            Name=www
            with a bearer token by Secret reader
            record: POST https://dns.example/
            content-type: text/plain; charset=utf-8
            get r-1
            with a bearer token by Secret reader
observed    {
";
    assert!(code == 0 && printed.contains(expected), "{code} {said}: {printed}");
}

#[test]
fn no_request_shows_the_session_of_an_answer() {
    let text = "apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: records}
spec:
  objects: {apiVersion: dns.example/v1, kind: Record}
  identity: '${self.spec.name}'
  read:
    http:
      steps:
      - {name: login, method: POST, url: https://dns.example/login}
      - name: record
        method: POST
        url: 'https://dns.example/of/${steps.login.body.token}?sid=${steps.login.body.sid}&zone=a'
        headers: {cookie: 'JSESSIONID=${steps.login.body.sid}', x-auth: '${steps.login.body.token}', x-zone: a}
        body: {auth: '${steps.login.body.token}', name: '${self.spec.name}', for: '${steps.login.body.sid}'}
  compare: {desired: {ttl: '${self.spec.ttl}'}}
---
apiVersion: dns.example/v1
kind: Record
metadata: {name: www}
spec: {name: www, ttl: 300}
";
    let folder = tempfile::tempdir().unwrap();
    let login = r#"{"sid": "canary/1", "token": "canary 2"}"#;
    for (name, text) in [("all.yaml", text), ("login.json", login), ("record.json", r#"{"ttl": 300}"#)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let tried = ["explain", "record/www", "-f", "all.yaml", "--answer", "login.json", "--answer", "record.json"];
    let (code, printed, said) = ended(run_in(folder.path(), &tried, ""));
    let expected = "            record: POST https://dns.example/of/(redacted)?sid=(redacted)&zone=a
            cookie: (redacted)
            x-auth: (redacted)
            x-zone: a
            content-type: application/json
            {\"auth\":\"(redacted)\",\"for\":\"(redacted)\",\"name\":\"www\"}
";
    assert!(code == 0 && printed.contains(expected) && !printed.contains("canary"), "{code} {said}: {printed}");
    let (code, _, said) = ended(run_in(folder.path(), &tried[..6], ""));
    let expected = "goes on with POST https://dns.example/of/(redacted)?sid=(redacted)&zone=a: give";
    assert!(code == 3 && said.contains(expected), "{code} {said}");
}

/// A target of records with this name and selection, which asks for their namespace and corrects as stated.
fn target(name: &str, objects: &str, correct: &str) -> String {
    format!(
        "---\napiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: {name}}}\nspec:\n  \
         objects: {{{objects}}}\n  identity: \"${{self.metadata.name}}\"\n  read: {{http: {{url: https://dns.example/x}}}}\n  \
         compare: {{desired: {{target: {name}, place: \"${{self.metadata.namespace}}\"}}}}\n{correct}"
    )
}

fn record(metadata: &str) -> String {
    format!("---\napiVersion: dns.example/v1\nkind: Record\nmetadata: {{{metadata}}}\n")
}

/// Explains record `www` of this text by an answer that has none of the desired state: the exit code and all that is printed.
fn tried(text: &str, arguments: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("all.yaml"), text).unwrap();
    std::fs::write(folder.path().join("answer.json"), r#"{"target": "none", "place": "none"}"#).unwrap();
    let given = ["explain", "record/www", "-f", "all.yaml", "--answer", "answer.json"];
    let (code, printed, said) = ended(run_in(folder.path(), &[&given, arguments].concat(), ""));
    (code, format!("{printed}{said}"))
}

#[test]
fn the_target_is_the_one_that_selects_the_object() {
    let of_group = |group: &str, more: &str| format!("apiVersion: {group}/v1, kind: Record{more}");
    let other_group = target("elsewhere", &of_group("other.example", ""), "");
    let labelled = target("labelled", &of_group("dns.example", ", labelSelector: a=b"), "");
    let placed = target("placed", &of_group("dns.example", ", labelSelector: a=c, namespaces: [team-a]"), "");
    let targets = [other_group, labelled, placed].concat();
    for (metadata, code, expected) in [
        ("name: www, namespace: team-a, labels: {a: c}", 1, "desired \"placed\""),
        ("name: www, namespace: team-b, labels: {a: b}", 1, "desired \"labelled\""),
        ("name: www, namespace: team-b, labels: {a: c}", 3, "targets labelled, placed do not select Record www"),
        (
            "name: mail, namespace: team-b",
            3,
            "no manifest of Record www (other.example/v1) or Record www (dns.example/v1)",
        ),
    ] {
        let (ended, told) = tried(&format!("{targets}{}", record(metadata)), &[]);
        assert!(ended == code && told.contains(expected), "{metadata} {ended}: {told}");
    }
}

#[test]
fn a_manifest_lives_where_it_would_be_applied() {
    let definition = |scope: &str| {
        format!(
            "---\nkind: CustomResourceDefinition\nspec: {{group: dns.example, scope: {scope}, names: {{kind: Record, plural: records}}, \
             versions: [{{name: v1, served: true, subresources: {{status: {{}}}}, schema: {{openAPIV3Schema: \
             {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]}}\n"
        )
    };
    let (namespaced, cluster) = (definition("Namespaced"), definition("Cluster"));
    let [bare, a, b] =
        ["", ", namespace: team-a", ", namespace: team-b"].map(|place| record(&format!("name: www{place}")));
    let in_a: &[&str] = &["-n", "team-a"];
    let table: [(&[&str], &[&str], i32, &str); 9] = [
        (&[&bare], in_a, 1, "desired \"team-a\""),
        (&[&namespaced, &bare], in_a, 1, "desired \"team-a\""),
        (&[&namespaced, &bare], &[], 1, "desired \"default\""),
        (&[&bare], &[], 2, "namespace"),
        (&[&cluster, &bare], in_a, 2, "namespace"),
        (&[&a, &b], in_a, 1, "desired \"team-a\""),
        (&[&b], in_a, 3, "no manifest of Record www (dns.example/v1) in namespace team-a"),
        (
            &[&a, &b],
            &[],
            3,
            "www (dns.example/v1) in namespace team-a, Record www (dns.example/v1) in namespace team-b",
        ),
        (&[&bare, &a], &[], 3, "Record www (dns.example/v1) without a namespace, Record www"),
    ];
    let target = target("records", "apiVersion: dns.example/v1, kind: Record", "");
    for (texts, arguments, code, expected) in table {
        let (ended, told) = tried(&format!("{target}{}", texts.concat()), arguments);
        assert!(ended == code && told.contains(expected), "{texts:?} {arguments:?} {ended}: {told}");
    }
}

#[test]
fn all_that_holds_a_tried_correction_is_told() {
    let correct = "  correct: {mode: Correct, http: {create: [{method: POST, url: 'https://dns.example/x'}]}}\n";
    let objects = "apiVersion: dns.example/v1, kind: Record";
    let paused = ", annotations: {driftpoller.dev/paused: \"true\"}";
    for (correct, more, expected) in [
        ("", "", &["the target only observes"][..]),
        (correct, "", &["(NoAction): update", "(NotOurs)"]),
        (correct, paused, &["paused by its annotation", "(NoAction): update", "(NotOurs)"]),
    ] {
        let text = target("records", objects, correct) + &record(&format!("name: www, namespace: team-a{more}"));
        let (code, told) = tried(&text, &["-o", "json"]);
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        let held: Vec<_> = told["held"].as_array().unwrap().iter().map(|held| held.as_str().unwrap()).collect();
        let is_told = held.len() == expected.len() && held.iter().zip(expected).all(|(held, text)| held.contains(text));
        assert!(code == 1 && is_told, "{correct} {more} {code}: {told:#}");
        assert!(told["tried"].as_str().is_some_and(|tried| tried.contains("no external system was asked")), "{told:#}");
    }
}

/// The lines of a paragraph.
fn paragraph<'t>(told: &'t str, head: &str) -> Vec<&'t str> {
    let mut lines = told.lines().skip_while(|line| !line.starts_with(&format!("{head} ")));
    let first = lines.next().map(|line| line[head.len()..].trim());
    first.into_iter().chain(lines.take_while(|line| line.starts_with(' ')).map(str::trim)).collect()
}

const CORRECT: &str = "  correct: {mode: Correct, http: {create: [{method: POST, url: 'https://dns.example/x'}], \
                       update: [{method: PUT, url: 'https://dns.example/x'}], delete: [{method: DELETE, url: 'https://dns.example/x'}]}}\n";

/// A record of the controller.
const OWNS: &str = "status: {conditions: [{type: driftCorrected, status: 'True', reason: CorrectionApplied, observedGeneration: 1, \
                message: 'correction 1, owns \"www\": created', lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n";

#[test]
fn an_object_that_owns_nothing_takes_over_no_resource() {
    let objects = "apiVersion: dns.example/v1, kind: Record";
    let www = record("name: www, namespace: team-a");
    let held = |correct: &str| {
        let (code, told) = tried(&(target("records", objects, correct) + &www), &[]);
        assert!(code == 1 && told.contains("would send  PUT https://dns.example/x"), "{code}: {told}");
        paragraph(&told, "held").join("; ")
    };
    assert!(held(CORRECT).contains("`correct.existing` is Refuse (NotOurs)"), "{}", held(CORRECT));
    assert_eq!(held(&CORRECT.replace("mode: Correct", "mode: Correct, existing: Adopt")), "");
}

#[test]
fn a_trial_says_what_would_follow() {
    let objects = "apiVersion: dns.example/v1, kind: Record";
    let adopting = CORRECT.replace("mode: Correct", "mode: Correct, existing: Adopt");
    let text = target("records", objects, &adopting) + &record("name: www, namespace: team-a");
    let (_, told) = tried(&text, &[]);
    assert_eq!(paragraph(&told, "follows"), ["a correction (update), once the target is active"], "{told}");
    assert!(paragraph(&told, "tried")[0].starts_with("the answer came from a file"), "{told}");
    let gone = "name: www, namespace: team-a, generation: 2, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [driftpoller.dev/external]";
    let (code, told) = tried(&(target("records", objects, CORRECT) + &record(gone) + OWNS), &[]);
    let follows = paragraph(&told, "follows").join("; ");
    assert!(code == 2 && follows.starts_with("the external resource is deleted"), "{code}: {told}");
    assert!(told.contains("would send  DELETE https://dns.example/x"), "{told}");
}

#[test]
fn an_answer_that_is_not_needed_is_told() {
    let objects = "apiVersion: dns.example/v1, kind: Record";
    let text = target("records", objects, "") + &record("name: www, namespace: team-a");
    let unmade =
        text.replace("https://dns.example/x}", "https://dns.example/x, absentUntil: \"${has(self.status.id)}\"}");
    for (text, expected) in [
        (&text, "the answer came from a file: no external system was asked"),
        (&unmade, "the read needs no request for this object, so the answer of the file was not used"),
    ] {
        let (code, told) = tried(text, &[]);
        assert!(code == 1 && paragraph(&told, "tried")[0].starts_with(expected), "{code}: {told}");
    }
}

#[test]
fn a_suspension_is_told_once_and_as_it_is() {
    let objects = "apiVersion: dns.example/v1, kind: Record";
    let suspended = target("records", objects, &format!("{CORRECT}  suspend: true\n"));
    let alone = target("records", objects, &format!("{CORRECT}  suspendWhen: \"${{self.metadata.name == 'www'}}\"\n"));
    let living = "name: www, namespace: team-a";
    let gone = "name: www, namespace: team-a, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [driftpoller.dev/external]";
    let of_all = "until `kubectl drift unsuspend records`";
    let of_one = "the target's `suspendWhen` holds for this object (Suspended): ";
    for (target, metadata, verdict, held) in [
        (
            &suspended,
            living,
            "Unknown/Suspended: the target is suspended",
            format!("the target is suspended (Suspended): no polls and no corrections {of_all}"),
        ),
        (&suspended, gone, "", format!("nothing is deleted outside {of_all}")),
        (
            &alone,
            living,
            "the target's `suspendWhen` holds for this object",
            format!("{of_one}no polls and no corrections meanwhile"),
        ),
        (&alone, gone, "", format!("{of_one}nothing is deleted outside meanwhile")),
    ] {
        let (code, told) = tried(&(target.clone() + &record(metadata) + OWNS), &[]);
        let lines = paragraph(&told, "held");
        assert!(code == 2 && lines.len() == 1 && lines[0].contains(&held), "{code}: {told}");
        assert!(told.contains(verdict) && !told.contains("suspended for this object"), "{told}");
    }
}

#[test]
fn an_unmet_requirement_is_one_hold() {
    let objects = "apiVersion: dns.example/v1, kind: Record";
    let require = "  require: [{that: \"${self.metadata.name == 'mail'}\", else: it is no mail}]\n";
    let failing = "  require: [{that: \"${self.spec.a == 'b'}\", else: no}]\n";
    for (require, expected) in [(require, "(NotAllowed): it is no mail"), (failing, "(TemplateFails)")] {
        let text = target("records", objects, &format!("{CORRECT}{require}")) + &record("name: www, namespace: team-a");
        let (code, told) = tried(&text, &[]);
        let lines = paragraph(&told, "held");
        assert!(code == 2 && lines.len() == 1 && lines[0].contains(expected), "{code}: {told}");
    }
}

#[test]
fn a_kind_is_named_as_for_get() {
    let definition = "---\nkind: CustomResourceDefinition\nspec: {group: dns.example, scope: Namespaced, \
                      names: {kind: Record, plural: records, singular: record, shortNames: [rec]}, versions: [{name: v1, served: true, \
                      subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}\n";
    let target = target("records", "apiVersion: dns.example/v1, kind: Record", "");
    let www = record("name: www, namespace: team-a");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bare.yaml"), format!("{target}{www}")).unwrap();
    std::fs::write(folder.path().join("defined.yaml"), format!("{target}{www}{definition}")).unwrap();
    std::fs::write(folder.path().join("answer.json"), r#"{"target": "none", "place": "none"}"#).unwrap();
    for (word, file, expected) in [
        ("Record", "bare.yaml", 1),
        ("records", "bare.yaml", 1),
        ("record.dns.example", "bare.yaml", 1),
        ("rec", "bare.yaml", 3),
        ("rec", "defined.yaml", 1),
        ("rec.v1.dns.example", "defined.yaml", 1),
        ("record.other.example", "defined.yaml", 3),
    ] {
        let given = ["explain", &format!("{word}/www"), "-f", file, "--answer", "answer.json"];
        let (code, printed, said) = ended(run_in(folder.path(), &given, ""));
        assert_eq!(code, expected, "{word} {file}: {printed}{said}");
        assert!(code != 3 || said.contains("known with its CustomResourceDefinition in -f"), "{said}");
    }
}

#[test]
fn an_update_is_shown_with_the_published_id() {
    let text = "apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: records}
spec:
  objects: {apiVersion: dns.example/v1, kind: Record}
  identity: '${self.metadata.name}'
  read: {http: {url: 'https://dns.example/all', each: '${response.body}', key: '${item.name}'}}
  compare: {desired: {ttl: '${self.spec.ttl}'}}
  publish: {recordId: '${observed.id}'}
  correct:
    mode: Correct
    existing: Adopt
    http:
      update: {method: PATCH, url: 'https://dns.example/all/${self.status.recordId}', body: '${desired}'}
---
apiVersion: dns.example/v1
kind: Record
metadata: {name: www}
spec: {ttl: 300}
";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("answer.json"), r#"[{"name": "www", "id": "r7", "ttl": 60}]"#).unwrap();
    for status in ["", "status: {recordId: old}\n"] {
        std::fs::write(folder.path().join("target.yaml"), format!("{text}{status}")).unwrap();
        let arguments = ["explain", "record/www", "-f", "target.yaml", "--answer", "answer.json"];
        let (code, told, said) = ended(run_in(folder.path(), &arguments, ""));
        assert!(code == 1 && told.contains("PATCH https://dns.example/all/r7"), "{code}: {told}{said}");
    }
}
