use std::time::Duration;

use crate::{Destination, HttpStep, Step as _, Target};

const TARGET: &str = r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Image}
  identity: "${self.metadata.name}"
  read: {http: {url: "https://h/x"}}
  compare: {desired: {a: "${self.spec.a}"}}
  correct:
    http:
      update:
      - {name: found, method: GET, url: "https://h/find"}
      - {name: set, method: PUT, url: "https://h/${steps.found.body.id}", accept: [200-299, 304]}
      delete:
      - {method: DELETE, url: "https://h/x", because: "no: ${response.body.?error}"}
"#;

fn parse(text: &str) -> Result<Target, Vec<String>> {
    crate::fixtures::parsed(text)
}

#[test]
fn steps_are_read_as_they_are_written() {
    let target = parse(TARGET).unwrap();
    let Some(Destination::Http(http)) = &target.correct.destination else { panic!("no steps") };
    let [found, set] = http.steps.update.as_slice() else { panic!("{:?}", http.steps.update) };
    assert_eq!(found.name.as_deref(), Some("found"));
    assert!(found.looks_up() && !set.looks_up());
    assert!(set.request.may_vary() && !found.request.may_vary());
    assert!(set.accept.contains(304) && !found.accept.contains(304));
    assert!(http.steps.iter().all(|step: &HttpStep| step.when.is_none()));
}

#[test]
fn a_header_without_value_is_an_error() {
    let rendered = |headers: &str, spec: serde_json::Value| {
        let step = format!("{{name: set, headers: {headers}, method: PUT");
        let target = parse(&TARGET.replace("{name: set, method: PUT", &step)).unwrap();
        let Some(Destination::Http(http)) = &target.correct.destination else { panic!("no steps") };
        let object = serde_json::json!({"metadata": {"name": "x"}, "spec": spec});
        let steps = serde_json::json!({"found": {"headers": {}, "body": {"id": "1"}}});
        let variables = crate::cel::Variables { steps: Some(&steps), ..crate::cel::Variables::of_object(&object) };
        let request = http.steps.update[1].request.render(&variables);
        request.map(|request| request.headers.len()).map_err(|error| error.to_string())
    };
    let optional = "an optional without value cannot stand inside a text; write .orValue(…)";
    let table = [
        ("X-Project", "${self.spec.?a}", serde_json::json!({}), Err(optional)),
        ("X-Project", "v-${self.spec.?a}", serde_json::json!({}), Err(optional)),
        ("X-Project", "${self.spec.?a}", serde_json::json!({"a": null}), Err("a null cannot stand inside a text")),
        ("If-Match", "${steps.found.headers.?etag}", serde_json::json!({}), Err(optional)),
        ("X-Project", "${self.spec.?a.orValue('')}", serde_json::json!({}), Ok(2)),
        ("X-Project", "${self.spec.?a}", serde_json::json!({"a": "1"}), Ok(2)),
    ];
    for (name, value, spec, expected) in table {
        let expected = expected.map_err(|cause| format!("correct.http.update[1].headers.{name}: {cause}"));
        let headers = format!("{{{name}: \"{value}\", X-B: b}}");
        assert_eq!(rendered(&headers, spec), expected, "{headers}");
    }
}

#[test]
fn a_post_looks_up_where_the_target_says_so() {
    for (written, expected) in [("", false), ("reads: false, ", false), ("reads: true, ", true)] {
        let post = format!("method: POST, {written}body: {{query: x}}");
        let target = parse(&TARGET.replace("method: GET", &post)).unwrap();
        let Some(Destination::Http(http)) = &target.correct.destination else { panic!("no steps") };
        assert_eq!(http.steps.update[0].looks_up(), expected, "{written}");
    }
}

#[test]
fn a_step_has_the_time_that_it_says() {
    let table = [("", None), ("timeout: 1ms, ", Some(1)), ("timeout: 10m, ", Some(600_000))];
    for (written, milliseconds) in table {
        let target = parse(&TARGET.replace("method: PUT,", &format!("method: PUT, {written}"))).unwrap();
        let Some(Destination::Http(http)) = &target.correct.destination else { panic!("no steps") };
        let expected = milliseconds.map(Duration::from_millis);
        assert_eq!(http.steps.iter().map(|step| step.timeout).collect::<Vec<_>>(), [None, expected, None], "{written}");
    }
}

#[test]
fn a_post_whose_answer_alone_names_it_is_untraceable() {
    let (post, get) = ("{method: POST, url: \"https://h/x\"", "{name: a, method: GET, url: \"https://h/x\"}");
    let store = ", store: {id: \"${response.body.id}\"}";
    let asking = format!("{post}, reads: true{store}}}");
    let table = [
        (format!("{post}{store}}}"), Some(0)),
        (format!("{post}{store}, reads: false, idempotent: false}}"), Some(0)),
        (format!("{post}}}, {post}{store}}}"), Some(1)),
        (format!("{post}, idempotent: true}}, {post}{store}}}"), Some(1)),
        (format!("{post}{store}}}, {get}"), Some(0)),
        (format!("{post}{store}, idempotent: true}}"), None),
        (format!("{get}, {post}{store}}}"), None),
        (format!("{asking}, {post}{store}}}"), None),
        (format!("{post}}}"), None),
        (format!("{post}{store}}}").replace("POST", "PUT"), None),
    ];
    for (steps, expected) in table {
        let target = parse(&TARGET.replace("update:\n", &format!("create: [{steps}]\n      update:\n"))).unwrap();
        let Some(Destination::Http(http)) = &target.correct.destination else { panic!("no steps") };
        assert_eq!(http.untraceable_create(), expected, "{steps}");
    }
}

#[test]
fn waiting_longer_is_no_other_request() {
    let create = |keys: &str| {
        let steps = format!("create: [{{method: POST, url: \"https://h/x\", {keys}body: {{timeout: 1s}}}}]");
        let target = parse(&TARGET.replace("update:\n", &format!("{steps}\n      update:\n"))).unwrap();
        (target.correct_hash, target.document_hash)
    };
    let (hash, document) = create("");
    for keys in ["timeout: 5m, ", "timeout: 6m, idempotent: true, "] {
        let edited = create(keys);
        assert!(edited.0 == hash && edited.1 != document, "{keys}");
    }
    assert_ne!(create("accept: [201], ").0, hash);
    let sent = TARGET.replace("because:", "body: {timeout: 1s}, because:");
    assert_ne!(parse(&sent).unwrap().correct_hash, parse(&sent.replace("1s", "2s")).unwrap().correct_hash);
}

/// Edits of the target (from, to), and the resulting errors.
const MISTAKES: &[(&str, &str, &[&str])] = &[
    (
        "steps.found.",
        "steps.fund.",
        &["13:52 correct.http.update[1].url: no step before this one is called `fund`: did you mean `found`?"],
    ),
    (
        "https://h/find",
        "https://h/${steps.set.status}",
        &["12:54 correct.http.update[0].url: `steps` does not exist here; known: self, desired, differs, correction"],
    ),
    (
        "https://h/x\", because",
        "https://h/${steps.found.status}\", because",
        &["15:44 correct.http.delete[0].url: `steps` does not exist here; known: self, desired, correction"],
    ),
    (
        "https://h/x\", because",
        "https://h/x\", when: \"${'a' in differs}\", because",
        &["15:62 correct.http.delete[0].when: `differs` does not exist here; known: self, desired, correction"],
    ),
    ("name: set", "name: found", &["13:16 correct.http.update[1].name: two steps are called `found`"]),
    (
        "name: set",
        "name: set-it",
        &["13:16 correct.http.update[1].name: `set-it` is no name: use letters, digits and _, a letter first"],
    ),
    (
        "method: PUT",
        "method: HEAD",
        &["12:9 correct.http.update: no step writes; method POST (without reads: true), PUT, PATCH or DELETE does"],
    ),
    (
        "method: PUT",
        "method: PULL",
        &["13:29 correct.http.update[1].method: unknown `PULL`; known: GET, HEAD, POST, PUT, PATCH, DELETE"],
    ),
    (
        "method: GET,",
        "method: GET, body: {a: 1},",
        &["12:42 correct.http.update[0].body: a GET only looks something up, and has no body"],
    ),
    (
        "method: GET,",
        "method: GET, reads: true,",
        &["12:43 correct.http.update[0].reads: only a POST says that; a GET always looks something up: leave it out"],
    ),
    (
        "method: PUT,",
        "method: PUT, reads: false,",
        &["13:41 correct.http.update[1].reads: only a POST says that; a PUT always writes: leave it out"],
    ),
    (
        "method: PUT,",
        "method: POST, reads: true,",
        &["12:9 correct.http.update: no step writes; method POST (without reads: true), PUT, PATCH or DELETE does"],
    ),
    (
        "method: DELETE,",
        "method: POST, reads: true, doneOn: [404],",
        &["15:45 correct.http.delete[0].doneOn: a POST only looks something up, and has no doneOn"],
    ),
    (
        "method: DELETE,",
        "method: GET, doneOn: [404],",
        &["15:31 correct.http.delete[0].doneOn: a GET only looks something up, and has no doneOn"],
    ),
    (
        "304]",
        "303]",
        &[
            "13:93 correct.http.update[1].accept[1]: only 2xx, 304 and 4xx can be accepted: the others say nothing about the resource",
        ],
    ),
    (
        "304]",
        "425]",
        &["13:93 correct.http.update[1].accept[1]: 425 cannot be accepted: it says nothing about the resource"],
    ),
    ("name: set,", "whem: \"${true}\",", &["13:10 unknown key `whem` in correct.http.update[1]: did you mean `when`?"]),
    ("name: set,", "when: \"true\",", &["13:17 correct.http.update[1].when: write one \"${…}\" and nothing around it"]),
    (
        "name: set,",
        "when: \"${response.status == 200}\",",
        &[
            "13:19 correct.http.update[1].when: `response` does not exist here; known: self, desired, differs, correction, steps",
        ],
    ),
    (
        "name: set,",
        "refusedWhen: \"${respons.status == 200}\",",
        &["13:26 correct.http.update[1].refusedWhen: unknown variable `respons`: did you mean `response`?"],
    ),
    ("name: set,", "raw: text,", &["13:15 correct.http.update[1].raw: write one \"${…}\" and nothing around it"]),
    (
        "name: set,",
        "raw: \"${steps.found.raw}\", text: x,",
        &["13:15 correct.http.update[1].raw: text is written too; write only one of body, form, text, xml, raw"],
    ),
    (
        "\"no: ${response.body.?error}\"",
        "{a: 1}",
        &["15:55 correct.http.delete[0].because: a text is needed here, not a map"],
    ),
];

#[test]
fn every_mistake_in_a_step_is_told_with_its_place() {
    let mut wrong = Vec::new();
    for (old, new, expected) in MISTAKES {
        assert!(TARGET.contains(old), "{old}");
        let found = parse(&TARGET.replacen(old, new, 1)).map(drop).unwrap_err();
        if found != *expected {
            wrong.push(format!("{new}\n   found    {found:?}\n   expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_rule_for_replacement_needs_a_way_to_do_it() {
    let desired = "desired: {a: \"${self.spec.a}\"}";
    let rule = "desired: {a: \"${self.spec.a}\"}, rules: [{path: /a, change: replace}]";
    let with = |steps: &str| {
        let (head, _) = TARGET.split_once("    http:").unwrap();
        format!("{head}    http:\n{steps}")
    };
    let [create, update, delete] = ["create", "update", "delete"]
        .map(|action| format!("      {action}: [{{method: PUT, url: \"https://h/x\"}}]\n"));
    let replace = |keys: &str| format!("      replace: [{{method: DELETE, url: \"https://h/x\"{keys}}}]\n");
    let missing = |name: &str| {
        vec![format!(
            "8:72 compare.rules[0].change: what cannot be changed is deleted and created again, or replaced by steps of its own: \
             add {name} to correct.http"
        )]
    };
    let table = [
        (format!("{create}{delete}"), Ok(true)),
        (replace(", doneOn: [404]"), Ok(true)),
        (format!("{create}{update}"), Err(missing("delete"))),
        (delete.clone(), Err(missing("create"))),
        (update.clone(), Err(missing("replace"))),
    ];
    for (steps, expected) in table {
        let target = parse(&with(&steps).replace(desired, rule));
        assert_eq!(target.map(|target| target.replaces()), expected, "{steps}");
    }
    let never = "11:16 correct.http.replace: no rule of compare says change: replace, so it would never run";
    assert_eq!(parse(&with(&replace(""))).map(drop), Err(vec![never.to_owned()]));
    assert!(!parse(&with(&format!("{create}{delete}"))).unwrap().replaces(), "no rule asks for it");
    let observing = TARGET.split_once("  correct:").unwrap().0.replace(desired, rule);
    assert!(!parse(&observing).unwrap().replaces(), "nothing corrects");
    let put = with(&replace(", doneOn: [404]").replace("DELETE", "PUT")).replace(desired, rule);
    let done_on = "11:59 correct.http.replace[0].doneOn: in a replacement only a DELETE says when it is done";
    assert_eq!(parse(&put).map(drop), Err(vec![done_on.to_owned()]));
}

#[test]
fn in_a_replacement_only_a_deletion_takes_what_is_gone() {
    let rule = "desired: {a: \"${self.spec.a}\"}, rules: [{path: /a, change: replace}]";
    let replace = "replace:\n      - {method: DELETE, url: \"https://h/x\", doneOn: [204]}\n      - {method: POST, url: \"https://h/x\"}\n      delete:";
    let text = TARGET.replace("desired: {a: \"${self.spec.a}\"}", rule).replace("delete:", replace);
    let target = parse(&text).unwrap();
    let Some(Destination::Http(http)) = &target.correct.destination else { panic!("no steps") };
    let [delete, create] = http.steps.replace.as_slice() else { panic!("{:?}", http.steps.replace) };
    assert!(delete.accept.contains(404) && delete.done_on.contains(404) && !delete.done_on.contains(200));
    assert!(!create.accept.contains(404) && create.done_on.contains(200));
}
