//! Descriptions of drifts for people.

use drift_api::condition::named_fields;
use drift_api::printable::is_printable;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::engine::fixtures::ruled;
use crate::engine::judgement::difference::find_differences;

fn sentence(rules: &str, desired: &Value, observed: &Value) -> String {
    let mut description = Description::without(None);
    find_differences(&ruled(rules).compare.rules, desired, observed, &mut |found| description.add(found)).unwrap();
    description.sentence().unwrap_or_default()
}

/// Returns only the fields of the sentence.
fn fields(rules: &str, desired: Value, observed: Value) -> String {
    let text = sentence(rules, &desired, &observed);
    text.split_once(": ").map(|(_, fields)| fields.to_owned()).unwrap_or(text)
}

#[test]
fn differences_read_as_documented() {
    let desired = json!({"connectionLimit": 10, "login": true});
    let observed = json!({"connectionLimit": 5, "login": false});
    let text = "2 fields differ: /connectionLimit desired 10, observed 5; /login desired true, observed false";
    assert_eq!(sentence("", &desired, &observed), text);
    assert_eq!(named_fields(text), ["/connectionLimit", "/login"]);
    let sentences = [
        "1 field differs: /l in another order",
        "1 field differs: /t (redacted)",
        "9 fields differ: /l/1 missing 1; and 8 more",
    ];
    assert_eq!(sentences.map(|text| named_fields(text).concat()), ["/l", "/t", "/l/1"]);
    assert!(named_fields("the external resource does not exist yet").is_empty());
    assert_eq!(sentence("", &json!({"a": "x"}), &json!({})), "1 field differs: /a desired \"x\", observed absent");
    let cases = [
        (json!({"o": {"a": 1}}), json!({"o": [1, 2]}), "/o desired an object of 1 fields, observed 2 items"),
        (json!({"o": {"a": 1}}), json!({"o": "text"}), "/o desired an object of 1 fields, observed a text"),
        (
            json!({"url": "db://me:hunter2@host/x"}),
            json!({"url": "db://host/x"}),
            "/url desired \"db://(redacted)@host/x\", observed \"db://host/x\"",
        ),
        (json!({"url": "db://me:hunter2@host/x"}), json!({"url": "db://me:hunter3@host/x"}), "/url (redacted)"),
        (json!({"a/b~c": 1}), json!({"a/b~c": 2}), "/a~1b~0c desired 1, observed 2"),
        (json!({"a[b=c]": 1}), json!({"a[b=c]": 2}), "/\"a[b=c]\" desired 1, observed 2"),
        (json!("a"), json!("b"), "/ desired \"a\", observed \"b\""),
    ];
    for (desired, observed, expected) in cases {
        assert_eq!(fields("", desired, observed), expected);
    }
}

#[test]
fn the_element_of_an_ordered_list_is_named() {
    let dial = |address: &str| json!({"handle": [{"upstreams": [{"dial": address}]}]});
    let cases = [
        (dial("a:80"), dial("b:80"), "/handle/0/upstreams/0/dial desired \"a:80\", observed \"b:80\""),
        (json!({"l": [1, 2]}), json!({"l": [2, 1]}), "/l in another order"),
        (json!({"l": [1, 1]}), json!({"l": [1]}), "/l/1 missing 1"),
        (json!({"env": ["A=1", "B=2"]}), json!({"env": ["B=2"]}), "/env/0 missing \"A=1\""),
        (json!({"env": ["B=2"]}), json!({"env": ["A=1", "B=2"]}), "/env/0 unexpected \"A=1\""),
        (
            json!({"l": ["a", "b", "c", "d"]}),
            json!({"l": ["b", "x", "d", "e"]}),
            "/l/0 missing \"a\"; /l/2 desired \"c\", observed \"x\"; /l/3 unexpected \"e\"",
        ),
        (json!({"l": [{"a": 1, "b": [1]}]}), json!({"l": []}), "/l/0 missing {\"a\":1,\"b\":[1]}"),
        (json!({"l": []}), json!({}), "/l desired 0 items, observed absent"),
    ];
    for (desired, observed, expected) in cases {
        assert_eq!(fields("", desired, observed), expected);
    }
    let long = |skipped: usize| json!({"l": (0..200).filter(|number| number % 100 != skipped).collect::<Vec<_>>()});
    assert_eq!(fields("", long(100), long(5)), "/l desired 200 items, observed 198; /l/5 desired 5, observed 6");
    assert_eq!(fields("{path: /l, extra: allow}", long(100), long(5)), "/l/5 missing 5");
}

#[test]
fn the_element_of_a_set_or_map_is_named() {
    let members = |names: &[&str]| json!({"members": names});
    let set = "{path: /members, list: set}";
    assert_eq!(
        fields(set, members(&["alice", "bob"]), members(&["eve", "alice"])),
        "/members missing \"bob\"; /members unexpected \"eve\""
    );
    let records = |records: Value| json!({"records": records});
    let map = "{path: /records, list: map, keys: [name]}";
    let www = |ttl: u32| json!({"name": "www", "ttl": ttl});
    let cases = [
        (
            json!([www(300)]),
            json!([{"name": "mx"}, www(60)]),
            "/records[name=www]/ttl desired 300, observed 60; /records[name=mx] unexpected",
        ),
        (json!([www(300)]), json!([]), "/records[name=www] missing"),
        (json!([www(300)]), json!([www(300), www(300)]), "/records[name=www] observed twice"),
        (json!([www(300)]), json!([www(1), www(300), www(2)]), "/records[name=www] observed 3 times"),
        (json!([www(300)]), json!([www(300), 5, {"ttl": 1}]), "/records unexpected 5; /records unexpected {\"ttl\":1}"),
        (json!([{"name": "a]/b\"c"}]), json!([]), "/records[name=\"a]/b\\\"c\"] missing"),
        (
            json!([{"name": "80"}, {"name": 80}, {"name": true}, {"name": "true"}]),
            json!([]),
            "/records[name=\"80\"] missing; /records[name=80] missing; /records[name=true] missing; /records[name=\"true\"] missing",
        ),
    ];
    for (desired, observed, expected) in cases {
        assert_eq!(fields(map, records(desired), records(observed)), expected);
    }
    let both = "{path: /records, list: map, keys: [name, type]}";
    let record = |kind: &str| records(json!([{"name": "www", "type": kind}]));
    assert_eq!(
        fields(both, record("A"), record("MX")),
        "/records[name=www,type=A] missing; /records[name=www,type=MX] unexpected"
    );
    let odd = fields(both, records(json!([{"name": "www,type=A", "type": "A"}])), records(json!([])));
    assert_eq!(odd, "/records[name=\"www,type=A\",type=A] missing");
    let strict = fields("{path: /m, extra: drift}", json!({"m": {"a": 1}}), json!({"m": {"a": 1, "b": "x"}}));
    assert_eq!(strict, "/m/b unexpected \"x\"");
    let deep = "{path: '', extra: driftBelow}, {path: /m/open, extra: allow}, {path: /s, list: set}";
    let state = |more: Value| json!({"m": {"a": {"b": more}, "open": more}, "s": [{"k": 1, "v": more}]});
    let exact = fields(deep, state(json!({})), state(json!({"c": 1})));
    assert_eq!(exact, "/m/a/b/c unexpected 1; /s missing {\"k\":1,\"v\":{}}; /s unexpected {\"k\":1,\"v\":{\"c\":1}}");
}

#[test]
fn texts_of_secret_names_are_hidden() {
    let cases = [
        ("", json!({"db_Password": "hunter2"}), json!({"db_Password": "x"}), "/db_Password (redacted)"),
        ("", json!({"tokenTtl": 60}), json!({"tokenTtl": 30}), "/tokenTtl desired 60, observed 30"),
        ("", json!({"requireToken": true}), json!({}), "/requireToken desired true, observed absent"),
        ("", json!({"token": 60}), json!({"token": "hunter2"}), "/token (redacted)"),
        ("", json!({"tokens": ["hunter2"]}), json!({"tokens": []}), "/tokens/0 missing (redacted)"),
        ("{path: /tokenTtl, redact: true}", json!({"tokenTtl": 60}), json!({"tokenTtl": 30}), "/tokenTtl (redacted)"),
        (
            "{path: /tokenType, show: true}",
            json!({"tokenType": "jwt"}),
            json!({"tokenType": "opaque"}),
            "/tokenType desired \"jwt\", observed \"opaque\"",
        ),
        ("{path: /dsn, show: true}", json!({"dsn": "password=hunter2"}), json!({"dsn": "x"}), "/dsn (redacted)"),
        (
            "{path: /tokens, show: true, list: set}",
            json!({"tokens": ["hunter2"]}),
            json!({"tokens": []}),
            "/tokens missing \"hunter2\"",
        ),
    ];
    for (rules, desired, observed, expected) in cases {
        assert_eq!(fields(rules, desired, observed), expected, "{rules}");
    }
}

#[test]
fn a_secret_name_beside_or_above_a_value_hides_it() {
    let cases = [
        ("", json!({"env": ["A=1", "API_TOKEN=hunter2"]}), json!({"env": ["A=1"]}), "/env/1 missing (redacted)"),
        (
            "",
            json!({"env": [{"name": "API_TOKEN", "value": "hunter2"}]}),
            json!({"env": [{"name": "API_TOKEN", "value": "x"}]}),
            "/env/0/value (redacted)",
        ),
        (
            "",
            json!({"env": [{"name": "API_TOKEN", "value": "hunter2"}]}),
            json!({"env": []}),
            "/env/0 missing {\"name\":(redacted),\"value\":(redacted)}",
        ),
        (
            "{path: /env, list: map, keys: [name]}",
            json!({"env": [{"name": "API_TOKEN", "value": "hunter2"}]}),
            json!({"env": [{"name": "API_TOKEN", "value": "x"}]}),
            "/env[name=API_TOKEN]/value (redacted)",
        ),
        (
            "{path: /keys, list: map, keys: [token]}",
            json!({"keys": [{"token": "hunter2"}]}),
            json!({"keys": []}),
            "/keys[token=(redacted)] missing",
        ),
        (
            "{path: /keys, list: map, keys: [id]}, {path: '/keys/*/id', redact: true}",
            json!({"keys": [{"id": 7}]}),
            json!({"keys": []}),
            "/keys[id=(redacted)] missing",
        ),
        (
            "",
            json!({"users": [{"name": "a", "password": "hunter2"}]}),
            json!({"users": []}),
            "/users/0 missing {\"name\":\"a\",\"password\":(redacted)}",
        ),
        (
            "",
            json!({"o": {"password": "hunter2"}}),
            json!({"o": "hunter2"}),
            "/o desired an object of 1 fields, observed a text",
        ),
    ];
    for (rules, desired, observed, expected) in cases {
        assert_eq!(fields(rules, desired, observed), expected, "{rules}");
    }
}

#[test]
fn a_redacted_path_hides_itself_and_what_holds_it() {
    let desired = json!({"a": {"b": "hunter2"}, "c": 1});
    for observed in [json!({"a": {"b": "x"}, "c": 1}), json!({"a": "hunter2", "c": 1}), json!({"c": 1})] {
        let text = sentence("{path: /a/b, redact: true}", &desired, &observed);
        assert!(text.contains(REDACTED) && !text.contains("hunter2"), "{text}");
    }
    let lists = [
        ("{path: '/l/*', redact: true}", json!({"l": ["hunter2", "b"]}), json!({"l": ["b"]})),
        (
            "{path: '/l/*', redact: true}, {path: /l, list: set}",
            json!({"l": ["hunter2"]}),
            json!({"l": ["hunter2-too"]}),
        ),
        ("{path: /l/1, redact: true}", json!({"l": ["a", "hunter2"]}), json!({"l": ["hunter2"]})),
        (
            "{path: '/l/*/p', redact: true}",
            json!({"l": [{"p": "hunter2", "q": 1}]}),
            json!({"l": [{"p": "hunter2"}, {"p": "hunter2"}]}),
        ),
        ("{path: '/l/*/p', redact: true}", json!({"l": [{"p": "hunter2", "q": 1}]}), json!({"l": ["hunter2"]})),
        (
            "{path: /l, as: json}, {path: /l/p, redact: true}",
            json!({"l": r#"{"p": "hunter2"}"#}),
            json!({"l": "hunter2"}),
        ),
    ];
    for (rules, desired, observed) in lists {
        let text = sentence(rules, &desired, &observed);
        assert!(text.contains(REDACTED) && !text.contains("hunter2"), "{rules}: {text}");
    }
}

#[test]
fn long_lists_and_texts_are_cut() {
    let desired: Value =
        (0..20).map(|number| (format!("f{number:02}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    let text = sentence("", &desired, &json!({"x": 1}));
    assert!(text.starts_with("20 fields differ: /f00 ") && text.ends_with("; and 12 more"), "{text}");
}

#[test]
fn the_surroundings_of_the_first_difference_are_shown() {
    let lines = |number: u32| json!({"v": (0..60).map(|line| format!("set X{line} = {};", if line == 30 { number } else { line })).collect::<String>()});
    let text = fields("", lines(30), lines(7));
    assert_eq!(
        text,
        "/v desired \"…t X29 = 29;set X30 = 30;set X31 = 31;set X32 = 32;set X33 = 33…\", \
         observed \"…t X29 = 29;set X30 = 7;set X31 = 31;set X32 = 32;set X33 = 33;…\""
    );
    let digest = |head: char, tail: char| json!({"d": format!("{head}{}{tail}", "0".repeat(98))});
    let zeros = "0".repeat(62);
    assert_eq!(
        fields("", digest('a', 'b'), digest('c', 'b')),
        format!("/d desired \"a{zeros}…\", observed \"c{zeros}…\"")
    );
    let zeros = "0".repeat(61);
    assert_eq!(
        fields("", digest('a', 'b'), digest('a', 'd')),
        format!("/d desired \"…{zeros}b\", observed \"…{zeros}d\"")
    );
    let longer = |length: usize| json!({"d": "0".repeat(length)});
    assert_eq!(fields("", longer(100), longer(99)), format!("/d desired \"…{zeros}0\", observed \"…{zeros}\""));
}

#[test]
fn what_cannot_be_seen_is_escaped() {
    for (desired, observed, expected) in [
        ("a\nb", "a\tb", r#"desired "a\nb", observed "a\tb""#),
        ("a\nb", r"a\nb", r#"desired "a\nb", observed "a\\nb""#),
        ("a b", "a\u{a0}b", r#"desired "a b", observed "a\u{a0}b""#),
        ("a", "a\u{200b}", r#"desired "a", observed "a\u{200b}""#),
        ("ab", "a\u{202e}b", r#"desired "ab", observed "a\u{202e}b""#),
        ("caf\u{e9}", "cafe\u{301}", r#"desired "caf\u{e9}", observed "cafe\u{301}""#),
        ("Müller", "Muller", r#"desired "Müller", observed "Muller""#),
        ("नमस्ते", "नमस्त", r#"desired "नमस्ते", observed "नमस्त""#),
        ("admin", "\u{430}dmin", r#"desired "admin", observed "\u{430}dmin""#),
        ("\u{212b}", "\u{c5}", r#"desired "\u{212b}", observed "\u{c5}""#),
    ] {
        assert_eq!(fields("", json!({"v": desired}), json!({"v": observed})), format!("/v {expected}"));
    }
}

#[test]
fn a_word_that_is_no_value_of_the_type_is_named() {
    let cases = [
        (
            "timestamp",
            json!("infinity"),
            json!("2026-01-01T00:00:00Z"),
            r#"desired "infinity" (no time), observed "2026-01-01T00:00:00Z""#,
        ),
        ("duration", json!("26h"), json!("auto"), r#"desired "26h", observed "auto" (no duration)"#),
        ("quantity", json!("unlimited"), json!(5), r#"desired "unlimited" (no quantity), observed 5"#),
        ("number", json!("5%"), json!(""), r#"desired "5%" (no number), observed "" (no number)"#),
        ("json", json!("{}"), json!("{"), r#"desired "{}", observed "{" (no JSON)"#),
        ("caseInsensitive", json!("a"), json!("b"), r#"desired "a", observed "b""#),
        ("number", json!(5), Value::Null, "desired 5, observed absent"),
    ];
    for (form, desired, observed, expected) in cases {
        let rules = format!("{{path: /v, as: {form}}}");
        let (desired, observed) = (json!({"v": desired, "w": 1}), json!({"v": observed, "w": 2}));
        assert_eq!(fields(&rules, desired, observed), format!("/v {expected}; /w desired 1, observed 2"), "{form}");
    }
}

/// Texts that are alike in their ends, in their looks, or in what hides them.
fn like_texts() -> impl Strategy<Value = String> {
    let piece =
        "[aа\u{e9} \u{a0}\n\t\r\\\\n\u{301}e\u{200b}\u{202e}\u{feff}\"]{0,4}|a{60,70}|.{0,3}|\u{1d400}|\u{fe0f}";
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..3_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[0-9a]{0,2}".prop_map(Value::from),
        prop::collection::vec(Just(Value::from(1)), 0..3).prop_map(Value::from),
        Just(json!({"a": 1})),
    ]
}

proptest! {
    #[test]
    fn differing_texts_are_shown_differently(desired in like_texts(), observed in like_texts()) {
        prop_assume!(desired != observed);
        let text = fields("", json!({"v": desired.clone()}), json!({"v": observed.clone()}));
        let shown = text.strip_prefix("/v desired ").unwrap().split_once(", observed ").unwrap();
        prop_assert_ne!(shown.0, shown.1);
        let items = fields("{path: /v, list: set}", json!({"v": [desired]}), json!({"v": [observed]}));
        let shown = items.strip_prefix("/v missing ").unwrap().split_once("; /v unexpected ").unwrap();
        prop_assert_ne!(shown.0, shown.1);
    }

    #[test]
    fn differing_values_are_shown_differently(desired in any_value(), observed in any_value()) {
        let (desired, observed) = (json!({"v": desired}), json!({"v": observed}));
        let text = fields("", desired.clone(), observed.clone());
        if let Some((one, other)) = text.strip_prefix("/v desired ").and_then(|text| text.split_once(", observed ")) {
            prop_assert_ne!(one, other, "{} {}", desired, observed);
        }
    }

    #[test]
    fn a_field_is_short_and_printable(key in "\\PC{1,300}", value in "(?s).{0,300}") {
        let text = sentence("", &json!({ key: value }), &json!({"other": 1}));
        prop_assert!(text.chars().count() < 330 && text.chars().all(is_printable));
    }

    #[test]
    fn an_item_of_a_list_is_short_and_printable(key in "\\PC{1,300}", value in "(?s).{0,300}") {
        for rules in ["", "{path: '', list: set}", "{path: '', list: map, keys: [k]}"] {
            let item = json!({ "k": value.clone(), "l": {key.clone(): [value.clone(), value.clone()]} });
            let text = sentence(rules, &json!([item]), &json!([]));
            prop_assert!(text.chars().count() < 330 && text.chars().all(is_printable), "{text}");
        }
    }
}
