//! Rules in whole documents.

use serde_json::{Value, json};

use crate::*;

fn parse(desired: &str, rules: &str) -> Result<Target, Vec<Problem>> {
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: "${{self.metadata.name}}"
  read: {{http: {{url: "http://h/${{self.metadata.name}}"}}}}
  compare:
    desired: {desired}
    rules: {rules}
"#
    );
    parse_document(&DocumentName { config_map: "c".to_owned(), key: "k".to_owned() }, &text)
}

fn desired(desired: &str, rules: &str, spec: Value) -> Result<DesiredState, String> {
    let target = parse(desired, rules).unwrap_or_else(|problems| panic!("{problems:#?}"));
    target.desired_state_of(&json!({"metadata": {"name": "x"}, "spec": spec})).map_err(|error| error.to_string())
}

const SPEC: &str = "'${self.spec}'";

#[test]
fn the_nearest_path_wins_for_each_effect() {
    let target = parse(
        SPEC,
        "[{path: /a, as: number, tolerance: 1, change: replace},
          {path: '/a/*', as: quantity}, {path: /a/x, as: duration, list: set}, {path: '/*/y', list: map, keys: [n]}]",
    );
    let target = target.unwrap_or_else(|problems| panic!("{problems:#?}"));
    let root = target.compare.rules.root();
    let a = root.field("a");
    assert_eq!((a.form(), a.field("z").form()), (Some(Form::Number), Some(Form::Quantity)));
    assert_eq!((a.field("x").form(), a.field("x").list()), (Some(Form::Duration), &ListKind::Set));
    assert_eq!(
        (a.field("y").form(), a.field("y").list()),
        (Some(Form::Quantity), &ListKind::Map(vec!["n".to_owned()]))
    );
    assert!(a.field("x").field("deep").is_tolerant() && a.field("x").field("deep").is_replaced());
    assert_eq!(a.field("x").field("deep").list(), &ListKind::Ordered, "a list speaks for itself");
    let other = root.field("other");
    assert!(other.form().is_none() && !other.is_tolerant() && !other.is_replaced());
}

#[test]
fn the_nearest_path_says_what_is_empty() {
    let target =
        parse(SPEC, "[{path: '', empty: absent}, {path: /a, empty: present}, {path: '/a/*/b', empty: absent}]");
    let target = target.unwrap_or_else(|problems| panic!("{problems:#?}"));
    let root = target.compare.rules.root();
    let a = root.field("a");
    assert!(root.takes_empty_as_absent() && root.field("c").field("d").takes_empty_as_absent());
    assert!(!a.takes_empty_as_absent() && !a.field("x").takes_empty_as_absent());
    assert!(a.field("x").field("b").takes_empty_as_absent());
}

#[test]
fn escaped_names_and_the_whole_are_paths() {
    let target = parse(SPEC, "[{path: '/a~1b/c~0d', ignore: true}, {path: '', list: set}]");
    let rules = target.unwrap_or_else(|problems| panic!("{problems:#?}")).compare.rules;
    assert!(rules.root().field("a/b").field("c~d").is_ignored());
    assert_eq!(rules.root().list(), &ListKind::Set);
}

#[test]
fn a_wrong_rule_is_told_with_what_to_do() {
    let effects =
        "a rule says what holds at its path: one of list, extra, empty, as, tolerance, ignore, redact, show, change";
    let map = "{a: 1, t: text, l: [1, {x: 1}], m: {k: '${self.spec.k}'}, s: '${self.spec.s}'}";
    let table = [
        ("{path: /a}", format!("compare.rules[0]: {effects}")),
        ("{path: /s, list: map}", "compare.rules[0].list: a map needs keys, the fields that tell its items apart: write for example keys: [name]".to_owned()),
        ("{path: /s, list: set, keys: [a]}", "compare.rules[0].keys: only list: map has keys".to_owned()),
        ("{path: /s, keys: [a]}", "compare.rules[0].keys: only list: map has keys".to_owned()),
        ("{path: /s, list: map, keys: [a, a]}", "compare.rules[0].keys[1]: `a` is written twice".to_owned()),
        ("{path: /s, list: sets}", "compare.rules[0].list: unknown `sets`: did you mean `set`? known: ordered, set, map".to_owned()),
        ("{path: /s, as: quantities}", "compare.rules[0].as: unknown `quantities`: did you mean `quantity`? known: quantity, number, duration, timestamp, ip, cidr, caseInsensitive, text, json".to_owned()),
        ("{path: /s, as: bytes}", "compare.rules[0].as: unknown `bytes`; known: quantity, number, duration, timestamp, ip, cidr, caseInsensitive, text, json".to_owned()),
        ("{path: /s, extra: deny}", "compare.rules[0].extra: unknown `deny`; known: drift, driftBelow, allow".to_owned()),
        ("{path: /s, as: network}", "compare.rules[0].as: unknown `network`; known: quantity, number, duration, timestamp, ip, cidr, caseInsensitive, text, json".to_owned()),
        ("{path: /s, as: cidr, tolerance: 1}", "compare.rules[0].path: tolerance is for numbers, and as: cidr makes none".to_owned()),
        ("{path: /s, empty: missing}", "compare.rules[0].empty: unknown `missing`; known: absent, present".to_owned()),
        ("{path: /a, empty: absent}", "compare.rules[0].path: empty speaks of texts, lists and maps, and desired has a number there".to_owned()),
        ("{path: /s, empty: absent}, {path: /s, empty: present}", "compare.rules[1]: compare.rules[0] says `empty` of this path already".to_owned()),
        ("{path: /s, change: recreate}", "compare.rules[0].change: unknown `recreate`; known: replace".to_owned()),
        ("{path: /s, tolerence: 1}", "unknown key `tolerence` in compare.rules[0]: did you mean `tolerance`?".to_owned()),
        ("{path: /s, tolerance: 0}", "compare.rules[0].tolerance: a number above 0 is needed, for example 0.01".to_owned()),
        ("{path: /s, tolerance: 5s}", "compare.rules[0].tolerance: a number above 0 is needed, for example 0.01".to_owned()),
        ("{path: /s, as: caseInsensitive, tolerance: 1}", "compare.rules[0].path: tolerance is for numbers, and as: caseInsensitive makes none".to_owned()),
        ("{path: /s, ignore: false}", "compare.rules[0].ignore: only true makes sense; leave it out instead".to_owned()),
        ("{path: /s, ignore: true, list: set}", "compare.rules[0]: what is ignored is not compared, so no other effect can hold there".to_owned()),
        ("{path: /s, show: true, redact: true}", "compare.rules[0]: redact and show contradict each other".to_owned()),
        ("{path: '', ignore: true}", "compare.rules[0]: the whole of desired cannot be ignored".to_owned()),
        ("{path: s, ignore: true}", "compare.rules[0].path: `s` is no path; write for example /listen or /labels/tier".to_owned()),
        ("{path: /s~2, ignore: true}", "compare.rules[0].path: in a path, a `~` of a name is written ~0, and a `/` of a name ~1".to_owned()),
        ("{path: /mm, ignore: true}", "compare.rules[0].path: desired has no `mm` there: did you mean `m`?".to_owned()),
        ("{path: /m/kk, ignore: true}", "compare.rules[0].path: desired has no `kk` there: did you mean `k`?".to_owned()),
        ("{path: /t/x, ignore: true}", "compare.rules[0].path: desired has a text there, and nothing below it".to_owned()),
        ("{path: /l/x, ignore: true}", "compare.rules[0].path: desired has a list there; write * for every item in place of `x`".to_owned()),
        ("{path: /l/7, redact: true}", "compare.rules[0].path: desired has 2 items there, counted from 0".to_owned()),
        ("{path: '/l/*', ignore: true}", "compare.rules[0].path: an item of a list cannot be ignored; ignore the list, or a field of its items".to_owned()),
        ("{path: /m, list: set}", "compare.rules[0].path: list speaks of lists, and desired has a map there".to_owned()),
        ("{path: /a, extra: drift}", "compare.rules[0].path: extra speaks of lists and maps, and desired has a number there".to_owned()),
        ("{path: /l, list: map, keys: [x]}", "compare.rules: /l: list: map, and an item of desired is no map".to_owned()),
        ("{path: /s, list: set}, {path: /s/0/x, as: number}", "compare.rules[1].path: items of a set or a map have no places; write * in place of `0`".to_owned()),
        ("{path: /s, as: number}, {path: /s, as: quantity}", "compare.rules[1]: compare.rules[0] says `as` of this path already".to_owned()),
        ("{path: /s, as: number}, {path: /s, ignore: true}", "compare.rules[1]: compare.rules[0] speaks of this path too, and what is ignored is not compared".to_owned()),
    ];
    for (rules, expected) in table {
        let problems = parse(map, &format!("[{rules}]")).err().unwrap_or_default();
        let said: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(said, [expected], "{rules}");
    }
}

#[test]
fn a_rule_may_name_what_one_side_alone_has() {
    let desired = "{s: '${self.spec.s}', m: {a: 1}, j: '{\"b\": 1}', l: [{x: 1}, {y: 1}]}";
    let rules = [
        "{path: /s/deep/er, ignore: true}",
        "{path: '/s/*/*', as: quantity}",
        "{path: /m, extra: drift}, {path: /m/etag, ignore: true}",
        "{path: /j, as: json}, {path: /j/b, redact: true}",
        "{path: /j, as: json, extra: drift}",
        "{path: '/l/*/y', as: number}",
        "{path: /m, redact: true}, {path: /m, change: replace}",
    ];
    for rules in rules {
        let problems = parse(desired, &format!("[{rules}]")).err();
        assert!(problems.is_none(), "{rules}: {problems:?}");
    }
}

#[test]
fn an_incomparable_desired_state_is_an_error_that_hides_it() {
    let table = [
        (
            "{path: /v, list: map, keys: [name]}",
            json!({"v": ["hunter2"]}),
            "compare.rules: /v: list: map, and an item of desired is no map",
        ),
        (
            "{path: /v, list: map, keys: [name]}",
            json!({"v": [{"a": 1}]}),
            "compare.rules: /v: an item of desired has no `name`; each needs a text, a number, true or false there",
        ),
        (
            "{path: /v, list: map, keys: [name]}",
            json!({"v": [{"name": "hunter2"}, {"name": "hunter2"}]}),
            "compare.rules: /v: two items of desired have the same name",
        ),
        (
            "{path: '/v/*', ignore: true}",
            json!({"v": ["hunter2"]}),
            "compare.rules: an item of a list cannot be ignored; ignore the list, or a field of its items",
        ),
    ];
    for (rules, spec, expected) in table {
        assert_eq!(desired(SPEC, &format!("[{rules}]"), spec), Err(expected.to_owned()), "{rules}");
    }
    let folded = "[{path: /v, list: map, keys: [name]}, {path: '/v/*/name', as: caseInsensitive}]";
    let spec = json!({"v": [{"name": "www"}, {"name": "WWW"}]});
    assert!(desired(SPEC, folded, spec).unwrap_err().contains("the same name"));
    assert!(
        desired(SPEC, "[{path: /v, as: quantity}]", json!({"v": {"cpu": "500m", "memory": 1, "gone": null}})).is_ok()
    );
}

#[test]
fn a_word_in_place_of_a_value_is_a_desired_state() {
    let words = json!({"v": ["infinity", "", "5%", true, {"a": "auto"}], "w": "unlimited", "x": 1});
    for (form, _) in Form::WORDS {
        let rules = format!("[{{path: '', as: {form}}}, {{path: /w, as: {form}}}]");
        assert!(desired(SPEC, &rules, words.clone()).is_ok(), "{form}");
        assert!(parse("{a: infinity, m: ['5%']}", &format!("[{{path: /a, as: {form}}}]")).is_ok(), "{form}");
    }
}

#[test]
fn redacted_paths_are_no_part_of_the_desired_state() {
    let table = [
        (
            "[{path: '/users/*/password', redact: true}]",
            json!({"users": [{"name": "a", "password": "A"}]}),
            "/users/0/password",
        ),
        ("[{path: '/*/password', redact: true}]", json!({"a": {"password": "A", "name": "a"}}), "/a/password"),
        ("[{path: '/tokens/*', redact: true}]", json!({"tokens": ["A", "b"]}), "/tokens/0"),
        (
            "[{path: '/users', redact: true}, {path: '/users/*/name', as: caseInsensitive}]",
            json!({"users": [{"name": "A"}]}),
            "/users/0/name",
        ),
    ];
    for (rules, spec, secret) in table {
        let mut other = spec.clone();
        *other.pointer_mut(secret).unwrap() = json!("B");
        let [first, second] = [spec.clone(), other].map(|spec| desired(SPEC, rules, spec).unwrap());
        assert_eq!(first.hash, second.hash, "{rules}");
        assert_ne!(first.value, second.value, "what is redacted is compared and sent: {rules}");
    }
    let json = "[{path: /config, as: json}, {path: /config/password, redact: true}, {path: /config/at, ignore: true}]";
    let config = |password: &str, name: &str, at: u32| {
        desired(SPEC, json, json!({"config": format!(r#"{{"password": "{password}", "name": "{name}", "at": {at}}}"#)}))
            .unwrap()
    };
    assert_eq!(config("A", "a", 1).hash, config("B", "a", 2).hash);
    assert_ne!(config("A", "a", 1).hash, config("A", "b", 1).hash);
    assert_eq!(config("A", "a", 1).value, json!({"config": r#"{"name":"a","password":"A"}"#}));
}
