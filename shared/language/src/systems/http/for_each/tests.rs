use serde_json::{Value, json};

use crate::cel::{Scope, Site, Variables};
use crate::{Destination, ForEach, HttpCorrect, Target};

const TARGET: &str = r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Team}
  identity: "${self.metadata.name}"
  secrets: {token: {secretRef: {name: s, key: token}}}
  read: {http: {url: "https://h/x"}}
  compare: {desired: {members: "${self.spec.members}"}}
  correct:
    http:
      update:
      - {name: members, method: GET, url: "https://h/members"}
      - name: remove
        forEach: "${steps.members.body.filter(m, !(m in desired.members))}"
        method: DELETE
        url: "https://h/members/${item}"
        accept: [204, 404]
      - {method: PUT, url: "https://h/done", text: "${secrets.token}"}
"#;

fn parse(text: &str) -> Result<Target, Vec<String>> {
    crate::fixtures::parsed(text)
}

fn http(target: &Target) -> &HttpCorrect {
    match &target.correct.destination {
        Some(Destination::Http(http)) => http,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_list_is_read_with_its_step() {
    let target = parse(TARGET).unwrap();
    let remove = &http(&target).steps.update[1];
    let has_list: Vec<bool> = http(&target).steps.iter().map(|step| step.for_each.is_some()).collect();
    assert_eq!(has_list, [false, true, false]);
    assert!(
        remove.requests_read("steps") && !remove.request.may_vary(),
        "the list reads answers, the request does not"
    );
    let section = target.correct.section().unwrap();
    let of_update = section.addresses().into_iter().filter(|(action, _)| *action == "update").count();
    assert_eq!(of_update, 3, "the look-up leads the address through the list");
}

#[test]
fn a_list_gives_its_items_once_and_in_order() {
    let list = |source: &str| {
        let site = Site::new("forEach", Scope::Correction);
        let for_each = ForEach(crate::cel::Expression::parse(source, &site).unwrap());
        let object = json!({"spec": {"members": ["b", "a", "b", 1, "1", {"x": 1}, {"x": 1}], "name": "x"}});
        for_each.items(&Variables::of_object(&object)).map_err(|error| error.to_string())
    };
    let table: [(&str, Result<Value, &str>); 5] = [
        ("${self.spec.members}", Ok(json!(["b", "a", 1, "1", {"x": 1}]))),
        ("${[]}", Ok(json!([]))),
        ("${self.spec.name}", Err("forEach: the result is a string, not a list")),
        ("${self.spec.?none}", Err("forEach: the optional has no value; write .orValue([])")),
        ("${self.spec.none}", Err("forEach: no field `none`")),
    ];
    for (source, expected) in table {
        assert_eq!(list(source).map(Value::from), expected.map_err(str::to_owned), "{source}");
    }
}

#[test]
fn a_list_that_names_a_secret_says_so() {
    let names_secret = |list: &str| {
        let target = parse(&TARGET.replace("${steps.members.body.filter(m, !(m in desired.members))}", list)).unwrap();
        http(&target).steps.update[1].for_each.as_ref().unwrap().names_secret()
    };
    assert!(!names_secret("${desired.members}"));
    assert!(names_secret("${self.spec.apiTokens}") && names_secret("${steps.members.body.map(e, e['password'])}"));
}

/// Edits of the target (from, to), and the resulting errors.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "method: DELETE",
        "method: GET",
        "15:18 correct.http.update[1].forEach: a GET only looks something up, and later steps see no answers of a list",
    ),
    (
        "accept: [204, 404]",
        "store: {a: \"${response.body.a}\"}",
        "18:16 correct.http.update[1].store: with forEach there are several answers; leave it out",
    ),
    ("/${item}", "/x", "15:18 correct.http.update[1].forEach: no template of the request reads `item`"),
    (
        "(m in desired",
        "(item in desired",
        "15:52 correct.http.update[1].forEach: `item` does not exist here; known: self, desired, differs, correction, steps",
    ),
    (
        "https://h/done",
        "https://h/${item}",
        "19:41 correct.http.update[2].url: `item` does not exist here; known: self, desired, differs, correction, steps",
    ),
    (
        "https://h/done",
        "https://h/${steps.remove.status}",
        "19:41 correct.http.update[2].url: no step before this one is called `remove`; known: members",
    ),
    (
        "${steps.members.body.filter(m, !(m in desired.members))}",
        "${[secrets.token]}",
        "15:22 correct.http.update[1].forEach: a secret is only ever sent: write it in the body, form, text, headers or SQL of correct",
    ),
    (
        "read: {http: {",
        "read: {http: {forEach: \"${[1]}\", ",
        "8:17 `forEach` belongs in `correct.http.create[]` or in `correct.http.delete[]` or in `correct.http.replace[]` or in `correct.http.update[]`, not in `read.http`; known here: method, url, headers, body, form, text, xml, as, lists, accept, absentWhen, steps, each, key, next, auth, tls, proxy, absentUntil, limitedWhen, unauthorizedWhen, validWhen, settlingWhen, observed, maxBytes, socket",
    ),
];

#[test]
fn a_list_where_it_has_no_meaning_is_refused() {
    for (from, to, expected) in MISTAKES {
        let errors = parse(&TARGET.replacen(from, to, 1)).map(drop).unwrap_err();
        assert!(errors.iter().any(|error| error == expected), "{to}: {errors:#?}");
    }
}
