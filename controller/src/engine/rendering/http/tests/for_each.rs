//! Steps with `forEach`: one request for each item of a list.

use std::collections::BTreeSet;

use super::*;

const MEMBERS: &str = r#"
      - {name: members, method: GET, url: "https://h/members"}
      - name: remove
        when: "${steps.members.status == 200}"
        forEach: "${steps.members.body.filter(m, m != desired.tag)}"
        method: DELETE
        url: "https://h/members/${item}"
        accept: [204, 404]
        refusedWhen: "${response.text == 'no ' + item}"
        because: "${item} ${response.?text}"
"#;

/// Returns an update whose look-up has this answer.
fn looked_up(target: &Arc<Target>, members: &Value) -> Rendering {
    let mut rendering = rendering(target).unwrap();
    assert_eq!(rendering.take_answer(0, &reply(200, &members.to_string()), None), StepOutcome::Accepted);
    rendering
}

fn members() -> Arc<Target> {
    target(MEMBERS)
}

#[test]
fn each_item_has_its_request() {
    let mut rendering = looked_up(&members(), &json!(["b", "2", "a/c", "b"]));
    for (expected, label) in [("/members/b", "remove[\"b\"]"), ("/members/a%2Fc", "remove[\"a/c\"]")] {
        assert_eq!(path(&mut rendering, 1), Ok(Some(expected.to_owned())));
        assert_eq!(path(&mut rendering, 1), Ok(Some(expected.to_owned())), "the same until it is answered");
        assert_eq!(rendering.item_label(1).as_deref(), Some(label));
        assert_eq!(rendering.plan().label(1).as_deref(), Some(label));
        assert_eq!(rendering.take_answer(1, &reply(204, ""), None), StepOutcome::Accepted);
    }
    assert_eq!(path(&mut rendering, 1), Ok(None), "no item is left");
    assert_eq!((rendering.item_label(1), rendering.plan().label(1).as_deref()), (None, Some("remove")));
}

#[test]
fn rules_of_a_step_see_its_item() {
    let mut rendering = looked_up(&members(), &json!(["b", "c"]));
    let mut answer = |status, body: &str| {
        assert!(path(&mut rendering, 1).unwrap().is_some());
        rendering.take_answer(1, &reply(status, body), None)
    };
    assert_eq!(answer(204, "no c"), StepOutcome::Accepted);
    assert_eq!(answer(204, "no c"), refused(204, Some("c no c"), true));
    assert_eq!(answer(422, "used"), refused(422, Some("c used"), true), "the same item again");
    assert_eq!(answer(404, ""), StepOutcome::NotThere);
    assert_eq!(path(&mut rendering, 1), Ok(None));
}

#[test]
fn an_empty_list_skips_its_step() {
    let target = members();
    assert_eq!(path(&mut looked_up(&target, &json!([])), 1), Ok(None));
    let mut absent = rendering(&target).unwrap();
    absent.take_answer(0, &reply(299, r#"{"no": "list"}"#), None);
    assert_eq!(path(&mut absent, 1), Ok(None), "`when` decides before the list");
    let wrong = path(&mut looked_up(&target, &json!("x")), 1).unwrap_err();
    assert_eq!((wrong.doubt, wrong.label.as_deref()), (Doubt::TemplateFails, Some("remove")));
}

#[test]
fn a_list_known_to_be_too_long_sends_nothing() {
    let of_items = |count: usize| {
        let list = (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        let team = r#"- {method: PUT, url: "https://h/team"}"#;
        let each = format!("- {{method: PUT, url: \"https://h/${{item}}\", forEach: \"${{[{list}]}}\"}}");
        rendering(&target(&format!("\n      {team}\n      {each}\n"))).map(drop)
    };
    let refused = of_items(101).unwrap_err();
    assert_eq!((refused.doubt, refused.label.as_deref()), (Doubt::TooManyItems, Some("2")));
    assert_eq!(of_items(100), Ok(()));
}

#[test]
fn a_longer_list_sends_nothing() {
    let target = members();
    let numbered = |count: usize| Value::from((0..count).map(|number| format!("m{number}")).collect::<Vec<_>>());
    assert!(path(&mut looked_up(&target, &numbered(100)), 1).unwrap().is_some());
    let refused = path(&mut looked_up(&target, &numbered(101)), 1).unwrap_err();
    let cause = "forEach gives 101 items, and a step has at most 100";
    assert_eq!((refused.doubt, refused.cause.as_str()), (Doubt::TooManyItems, cause));
    assert!(refused.doubt.as_text().ends_with("more than 100 items"));
}

/// Returns the keys of the requests for all items of the step.
fn keys(mut rendering: Rendering, index: usize) -> Vec<String> {
    let mut keys = Vec::new();
    while let Some(request) = rendering.request(index).unwrap() {
        keys.push(request.headers[IDEMPOTENCY_KEY].to_str().unwrap().to_owned());
        rendering.take_answer(index, &reply(200, ""), None);
    }
    keys
}

#[test]
fn a_key_belongs_to_its_item() {
    let target = target(
        r#"
      - {name: members, method: GET, url: "https://h/members"}
      - {forEach: "${steps.members.body}", method: POST, url: "https://h/members", body: {kind: "${type(item) == string}"}}
      - {forEach: "${steps.members.body}", method: POST, url: "https://h/groups", body: {kind: "${type(item) == string}"}}
"#,
    );
    let of = |members: Value, index| keys(looked_up(&target, &members), index);
    let (first, second) = (of(json!(["a", "b", "1", 1]), 1), of(json!(["a", "b", "1", 1]), 2));
    assert_eq!(first.iter().chain(&second).collect::<BTreeSet<_>>().len(), 8, "{first:?} {second:?}");
    let mut other_order = of(json!([1, "b", "1", "a"]), 1);
    other_order.reverse();
    assert_eq!([&first[0], &first[1], &first[3]], [&other_order[0], &other_order[2], &other_order[3]]);
    assert_eq!(of(json!(["b"]), 1)[0], first[1], "the same if it is the only one");
}

#[test]
fn a_list_without_answers_is_tried_first() {
    let step = r#"      - {forEach: "${LIST}", method: PUT, url: "https://h/${item.name}", text: "${desired.tag}"}"#;
    let tried = |list: &str| rendering(&target(&step.replace("LIST", list))).map(drop).map_err(|error| error.cause);
    let table = [
        ("[{'name': 'a'}]", Ok(())),
        ("[{'name': 'a'}, {'id': 'b'}]", Err("correct.http.update[0].url: no field `name`")),
        ("self.spec.tag", Err("correct.http.update[0].forEach: the result is a string, not a list")),
        ("[]", Ok(())),
    ];
    for (list, expected) in table {
        assert_eq!(tried(list), expected.map_err(str::to_owned), "{list}");
    }
}

#[test]
fn only_what_people_may_see_names_an_item() {
    let label = |list: &str, rule: &str| {
        let update = format!(
            "      - {{name: add, forEach: \"${{{list}}}\", method: PUT, url: \"https://h/${{json.text(item)}}\"}}"
        );
        let text = TEXT.replace("    desired: DESIRED", &format!("    desired: DESIRED\n{rule}"));
        let mut rendering = rendering(&parsed(&text, "{tag: \"${self.spec.tag}\", a: [x]}", &update)).unwrap();
        rendering.keep_secret(&[("s/key".to_owned(), "hunter2-long".to_owned())].into_iter().collect());
        rendering.request(0).unwrap();
        rendering.item_label(0).unwrap().to_string()
    };
    let redacted = "    rules: [{path: /a, redact: true}]";
    let table = [
        ("['a', 'b']", "", r#"add["a"]"#),
        ("[7]", "", "add[7]"),
        ("[true]", "", "add[true]"),
        (r"['a\\n\\tb']", "", r#"add["a b"]"#),
        ("[{'name': 'a'}]", "", "add[1 of 1]"),
        ("['a', 'b']", redacted, "add[1 of 2]"),
        ("[self.spec.tag]", "", r#"add["2"]"#),
        ("[self.spec.?token.orValue('t')]", "", "add[1 of 1]"),
        ("['is hunter2-long']", "", "add[1 of 1]"),
        ("['https://ann:pw@h']", "", "add[1 of 1]"),
        ("['DSN=u;PWD=x']", "", "add[1 of 1]"),
        ("['hunter2-lon']", "", "add[1 of 1]"),
    ];
    for (list, rule, expected) in table {
        assert_eq!(label(list, rule), expected, "{list} {rule}");
    }
}

#[test]
fn an_etag_makes_a_write_conditional() {
    let target = target(
        r#"
      - {name: look, method: GET, url: "https://h/members"}
      - method: PUT
        url: "https://h/members"
        headers: {if-match: "${steps.look.headers.etag}"}
        body: {members: "${merge(steps.look.body, {'tag': desired.tag})}"}
"#,
    );
    let mut rendering = rendering(&target).unwrap();
    let mut found = reply(200, r#"{"owner": "other"}"#);
    found.headers.insert("etag", "\"v7\"".parse().unwrap());
    assert_eq!(rendering.take_answer(0, &found, None), StepOutcome::Accepted);
    let request = rendering.request(1).unwrap().unwrap();
    assert_eq!(request.headers["if-match"], "\"v7\"");
    let body: Value = serde_json::from_slice(&request.body.unwrap()).unwrap();
    assert_eq!(body, json!({"members": {"owner": "other", "tag": "2"}}));
    assert_eq!(rendering.take_answer(1, &reply(412, ""), None), refused(412, None, true));
}
