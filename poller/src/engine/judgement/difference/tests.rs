//! Differences that the comparison finds or ignores.

use drift_language::{ListKind, RulePlace, item_key};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::engine::fixtures::ruled;
use crate::engine::judgement::description::Description;

/// Every kind of list, each at one key.
const LISTS: &str = "{path: /set, list: set}, {path: /map, list: map, keys: [k]}, {path: /some, extra: allow}, \
                     {path: /sub, list: set, extra: allow}, {path: /part, list: map, keys: [k], extra: allow}, \
                     {path: /whole, extra: drift}, {path: /deep, extra: driftBelow}, {path: '/set/*/set', list: set}, {path: '/map/*/v', list: set}";

fn told(rules: &str, desired: &Value, observed: &Value) -> String {
    let mut description = Description::without(None);
    find_differences(&ruled(rules).compare.rules, desired, observed, &mut |found| description.add(found)).unwrap();
    description.sentence().unwrap_or_default()
}

fn is_in_sync(rules: &str, desired: &Value, observed: &Value) -> bool {
    told(rules, desired, observed).is_empty()
}

/// A slow reference implementation of fulfilment.
fn is_fulfilled(place: &RulePlace<'_>, desired: &Value, observed: Option<&Value>) -> bool {
    match (desired, observed.filter(|value| !value.is_null())) {
        (expected, None) => is_nothing(place, expected),
        (expected, Some(real))
            if expected.is_object() != real.is_object() && is_nothing(place, expected) && is_nothing(place, real) =>
        {
            true
        }
        (Value::Null, Some(real)) => is_nothing(place, real),
        (Value::Object(desired), Some(Value::Object(real))) => {
            let is_known =
                |(key, value): (&String, &Value)| is_nothing(&place.field(key), value) || desired.contains_key(key);
            desired.iter().all(|(key, value)| is_fulfilled(&place.field(key), value, real.get(key)))
                && (!place.refuses_more_fields() || real.iter().all(is_known))
        }
        (Value::Array(desired), Some(Value::Array(real))) => is_list_fulfilled(place, desired, real),
        (expected, Some(real)) => {
            is_nothing(place, expected) && is_nothing(place, real) || place.is_same(expected, real)
        }
    }
}

/// A slow reference implementation of absence.
fn is_nothing(place: &RulePlace<'_>, value: &Value) -> bool {
    match value {
        Value::Object(fields) if place.takes_empty_as_absent() => {
            fields.iter().all(|(name, field)| is_nothing(&place.field(name), field))
        }
        value => value.is_null() || place.takes_empty_as_absent() && (*value == json!("") || *value == json!([])),
    }
}

fn is_list_fulfilled(place: &RulePlace<'_>, desired: &[Value], real: &[Value]) -> bool {
    let item = place.any_item();
    let holds = |expected: &Value, observed: &Value| is_fulfilled(&item, expected, Some(observed));
    let exact = place.refuses_more_items();
    match place.list() {
        ListKind::Ordered if exact => {
            desired.len() == real.len()
                && desired.iter().zip(real).all(|(expected, observed)| holds(expected, observed))
        }
        ListKind::Ordered => match (desired, real) {
            ([], _) => true,
            (_, []) => false,
            ([expected, others @ ..], [observed, rest @ ..]) => {
                (holds(expected, observed) && is_list_fulfilled(place, others, rest))
                    || is_list_fulfilled(place, desired, rest)
            }
        },
        ListKind::Set => {
            desired.iter().all(|expected| real.iter().any(|observed| holds(expected, observed)))
                && (!exact || real.iter().all(|observed| desired.iter().any(|expected| holds(expected, observed))))
        }
        ListKind::Map(keys) => {
            let key = |value| item_key(&item, keys, value).ok();
            let same = |expected, observed| key(expected).is_some() && key(expected) == key(observed);
            desired.iter().all(|expected| {
                let found: Vec<_> = real.iter().filter(|observed| same(expected, observed)).collect();
                matches!(found.as_slice(), [observed] if holds(expected, observed))
                    && desired.iter().filter(|other| same(expected, other)).count() == 1
            }) && (!exact || real.iter().all(|observed| desired.iter().any(|expected| same(expected, observed))))
        }
    }
}

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..3_i32).prop_map(Value::from),
        (-2..3_i32).prop_map(|whole| Value::from(f64::from(whole))),
        "[a-c]{0,2}".prop_map(Value::from),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    scalars().prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map("[a-d]|k|v|set", inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

fn items() -> impl Strategy<Value = Value> {
    let keyed = ("[a-c]", values()).prop_map(|(key, value)| json!({"k": key, "v": value}));
    proptest::collection::vec(prop_oneof![3 => keyed, 1 => values()], 0..5).prop_map(Value::from)
}

/// A desired state and a variant of it.
fn states() -> impl Strategy<Value = [Value; 2]> {
    let key = prop_oneof![
        Just("set"),
        Just("map"),
        Just("some"),
        Just("sub"),
        Just("part"),
        Just("whole"),
        Just("deep"),
        Just("other")
    ];
    let state = || proptest::collection::btree_map(key.clone(), prop_oneof![items(), values()], 0..4);
    (state(), state(), any::<u8>()).prop_map(|(desired, other, kept)| {
        // Most keys are equal, so that states in sync are common.
        let observed = desired.iter().enumerate().map(|(position, (key, value))| {
            let changed = other.get(key).filter(|_| kept & (1 << position) != 0);
            (*key, changed.unwrap_or(value).clone())
        });
        [json!(desired), observed.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()]
    })
}

fn reversed(list: &Value) -> Value {
    list.as_array().map(|items| items.iter().rev().cloned().collect()).unwrap_or_default()
}

proptest! {
    #[test]
    fn nothing_differs_just_where_the_desired_state_is_fulfilled([desired, observed] in states()) {
        let absent = ", {path: '', empty: absent}";
        for more in ["", absent, &format!("{absent}, {{path: '/*/*/v', empty: present}}")] {
            let rules = format!("{LISTS}{more}");
            let (target, told) = (ruled(&rules), told(&rules, &desired, &observed));
            let place = target.compare.rules.root();
            prop_assert_eq!(told.is_empty(), is_fulfilled(&place, &desired, Some(&observed)), "{}: {}", more, told);
        }
    }

    /// Maps are compared exactly here, because a field that is not desired is allowed on one side alone.
    #[test]
    fn equality_with_absent_values_is_an_equivalence(values in proptest::collection::vec(values(), 3)) {
        for form in ["", ", as: text"] {
            let rules = &format!("{{path: '', empty: absent, extra: driftBelow{form}}}");
            let is_same = |one: usize, other: usize| is_in_sync(rules, &values[one], &values[other]);
            prop_assert!(is_same(0, 0));
            prop_assert_eq!(is_same(0, 1), is_same(1, 0));
            prop_assert!(!(is_same(0, 1) && is_same(1, 2)) || is_same(0, 2));
        }
    }

    /// Covers both a few displaced items and all of them.
    #[test]
    fn an_item_is_alone_just_where_nothing_stands_for_it(
        desired in proptest::collection::vec(values(), 0..12),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), values()), 0..8),
        fewer in 0..3_usize,
        more in proptest::collection::vec(values(), 0..3),
        rules in prop_oneof![Just(""), Just(", {path: '/*', as: number}"), Just(", {path: '/*/set', list: set}")],
    ) {
        let mut real = desired.clone();
        changes.into_iter().filter(|_| !desired.is_empty()).for_each(|(at, value)| real[at.index(desired.len())] = value);
        real.truncate(real.len().saturating_sub(fewer));
        real.extend(more);
        let target = ruled(&format!("{{path: '', list: set}}{rules}"));
        let (place, comparison) = (target.compare.rules.root(), Comparison::default());
        let holds = |expected: &Value, observed: &Value| comparison.fulfils(&place.any_item(), expected, Some(observed));
        let missing = (0..desired.len()).filter(|at| !real.iter().any(|observed| holds(&desired[*at], observed)));
        let unexpected = (0..real.len()).filter(|at| !desired.iter().any(|expected| holds(expected, &real[*at])));
        let found = comparison.match_sets(&place, &desired, &real);
        prop_assert_eq!((found.missing, found.unexpected), (missing.collect::<Vec<_>>(), unexpected.collect::<Vec<_>>()));
    }

    #[test]
    fn anything_fulfils_itself(value in values()) {
        for rules in ["", "{path: '', list: set}", "{path: '/*', list: set}, {path: '/*', extra: drift}"] {
            prop_assert!(is_in_sync(rules, &value, &value), "{rules}");
        }
    }

    #[test]
    fn the_order_of_sets_and_maps_says_nothing(desired in items(), observed in items()) {
        for rules in ["{path: '', list: set}", "{path: '', list: map, keys: [k]}"] {
            let there = told(rules, &desired, &observed);
            prop_assert_eq!(&there, &told(rules, &desired, &reversed(&observed)));
            let back = |desired| is_in_sync(rules, desired, &observed);
            prop_assert_eq!(back(&desired), back(&reversed(&desired)));
        }
    }

    #[test]
    fn text_that_holds_json_differs_as_what_it_holds([desired, observed] in states()) {
        let packed = |value: &Value| json!({"json": value.to_string()});
        let text = told("{path: /json, as: json}", &packed(&desired), &packed(&observed));
        let plain = told("", &json!({"json": desired}), &json!({"json": observed}));
        prop_assert_eq!(text, plain);
    }
}

#[test]
fn what_the_desired_state_does_not_name_is_not_compared() {
    let cases = [
        ("", json!({"a": 1}), json!({"a": 1, "b": 2}), true),
        ("", json!({"a": 1}), json!({"a": 1.0}), true),
        ("", json!({"a": 9_007_199_254_740_993_u64}), json!({"a": 9_007_199_254_740_992_u64}), false),
        ("", json!({"a": 1}), json!({"a": "1"}), false),
        ("", json!({"a": null}), json!({}), true),
        ("", json!({"a": null}), json!({"a": 1}), false),
        ("", json!({"a": 1}), json!({"a": null}), false),
        ("", json!({"l": [1, {"x": 1}]}), json!({"l": [1, {"x": 1, "more": 2}]}), true),
        ("", json!({"l": []}), json!({}), false),
        ("{path: /l, extra: allow}", json!({"l": [1, 3]}), json!({"l": [1, 2, 3, 4]}), true),
        ("{path: /l, extra: allow}", json!({"l": [3, 1]}), json!({"l": [1, 2, 3, 4]}), false),
        ("{path: /l, list: set}", json!({"l": [1, 2, 2]}), json!({"l": [2, 1.0]}), true),
        ("{path: /l, list: set}", json!({"l": [{"a": 1}]}), json!({"l": [{"a": 1, "id": 7}, {"a": 1, "id": 8}]}), true),
        (
            "{path: /l, list: set}, {path: '/l/*', tolerance: 0.1}",
            json!({"l": [1, 2]}),
            json!({"l": [2.05, 0.95]}),
            true,
        ),
        ("{path: /l, list: set, as: caseInsensitive}", json!({"l": ["A", "b"]}), json!({"l": ["B", "a"]}), true),
        (
            "{path: /l, list: set}, {path: '/l/*/m', as: quantity}",
            json!({"l": [{"m": "1Gi"}]}),
            json!({"l": [{"m": "1024Mi"}]}),
            true,
        ),
        (
            "{path: /m, extra: drift}, {path: /m/etag, ignore: true}",
            json!({"m": {"a": 1}}),
            json!({"m": {"a": 1, "etag": 2, "n": null}}),
            true,
        ),
        ("{path: /m, extra: drift}", json!({"m": {"a": 1}}), json!({"m": {"a": 1, "b": 2}}), false),
        ("{path: /j, as: json}", json!({"j": "{\"a\": [1]}"}), json!({"j": "{ \"a\":[1.0], \"b\":2 }"}), true),
        ("{path: /j, as: json}", json!({"j": {"a": 1}}), json!({"j": "{\"a\": 1}"}), true),
        ("{path: /j, as: json}", json!({"j": "\"a\""}), json!({"j": "a"}), false),
        (
            "{path: /s, list: set}, {path: '/s/*/j', as: json}",
            json!({"s": [{"j": {"a": 1}}, {"j": {"a": 2}}]}),
            json!({"s": [{"j": "{\"a\": 2}"}, {"j": "{\"a\": 1}"}]}),
            true,
        ),
        (
            "{path: /j, as: json}, {path: /j/s, list: set}",
            json!({"j": "{\"s\": [1, 2]}"}),
            json!({"j": "{\"s\": [2, 1]}"}),
            true,
        ),
    ];
    for (rules, desired, observed, expected) in cases {
        assert_eq!(is_in_sync(rules, &desired, &observed), expected, "{rules}: {desired} against {observed}");
    }
}

#[test]
fn empty_values_are_absent_where_a_rule_says_so() {
    let nothing =
        [json!({}), json!({"v": null}), json!({"v": ""}), json!({"v": []}), json!({"v": {}}), json!({"v": {"a": ""}})];
    for one in &nothing {
        for other in &nothing {
            for rule in
                ["{path: /v, empty: absent}", "{path: '', empty: absent}", "{path: '/*', empty: absent, extra: drift}"]
            {
                assert!(is_in_sync(rule, one, other), "{rule}: {one} against {other}");
            }
        }
        for other in [json!("a"), json!(0), json!(false), json!([""]), json!([null]), json!({"a": 0})] {
            let other = json!({"v": other});
            let told = told("{path: '', empty: absent, extra: driftBelow}", one, &other);
            assert!(!told.is_empty(), "{one} against {other}");
            assert!(!is_in_sync("{path: '', empty: absent}", &other, one), "{other} against {one}");
        }
    }
    let cases = [
        ("", json!({"v": ""}), json!({}), false),
        ("{path: /w, empty: absent}", json!({"v": ""}), json!({}), false),
        ("{path: '', empty: absent}, {path: /v, empty: present}", json!({"v": ""}), json!({}), false),
        ("{path: '', empty: absent}, {path: /v/a, empty: present}", json!({"v": {"a": ""}}), json!({}), false),
        ("{path: '', extra: drift, empty: absent}", json!({}), json!({"v": "", "w": []}), true),
        ("{path: '', extra: drift, empty: absent}", json!({}), json!({"v": "x"}), false),
        ("{path: '', empty: absent}", json!([""]), json!([null]), true),
        ("{path: '', empty: absent}", json!([""]), json!([]), false),
        ("{path: '', empty: absent}", json!(["a", ""]), json!(["a"]), false),
        ("{path: '', empty: absent, list: set}", json!(["a", ""]), json!([null, "a"]), true),
        ("{path: '', empty: absent, list: set}", json!(["a", ""]), json!(["a"]), false),
        ("{path: '', empty: absent}", json!([{"a": 1, "b": ""}]), json!([{"a": 1}]), true),
        ("{path: '', empty: absent}", json!([]), json!(null), true),
        ("{path: '', empty: absent}", json!(["a"]), json!(null), false),
        (
            "{path: '', list: map, keys: [k]}, {path: '/*', empty: absent}",
            json!([{"k": "", "v": 1}]),
            json!([{"v": 1}]),
            true,
        ),
        (
            "{path: '', list: map, keys: [k]}, {path: '/*', empty: absent}",
            json!([{"v": 1}]),
            json!([{"k": "", "v": 2}]),
            false,
        ),
        ("{path: /j, as: json, empty: absent}", json!({"j": "{}"}), json!({}), true),
        ("{path: /j, as: json, empty: absent}", json!({"j": ""}), json!({"j": "{\"a\": []}"}), true),
        ("{path: /j, as: json, empty: absent}", json!({"j": []}), json!({"j": ""}), true),
        ("{path: /j, as: json, empty: absent}", json!({"j": ""}), json!({"j": "{\"a\": 0}"}), false),
        ("{path: /t, as: text, empty: absent}", json!({"t": "\n"}), json!({}), true),
    ];
    for (rules, desired, observed, expected) in cases {
        assert_eq!(is_in_sync(rules, &desired, &observed), expected, "{rules}: {desired} against {observed}");
    }
}

#[test]
fn absent_values_are_no_differences_beside_others() {
    let with = |value: &Value, k: u32| json!({"v": value, "k": k});
    let nothing = [Value::Null, json!(""), json!([]), json!({}), json!({"a": []}), json!("{}"), json!("[]")];
    for one in &nothing {
        for other in &nothing {
            let rules = "{path: /v, empty: absent, as: json, extra: drift}";
            let told = told(rules, &with(one, 1), &with(other, 2));
            assert_eq!(told, "1 field differs: /k desired 1, observed 2", "{one} against {other}");
        }
    }
}

#[test]
fn items_of_large_sets_may_lack_empty_fields() {
    let items = |field: Value| (0..100).map(|n| json!({"id": n, "note": field.clone()})).collect::<Value>();
    let rules = "{path: '', list: set}, {path: '/*', empty: absent}";
    for (desired, observed) in [(json!(""), json!(null)), (json!(null), json!("")), (json!([]), json!({}))] {
        assert!(is_in_sync(rules, &items(desired.clone()), &reversed(&items(observed))), "{desired}");
    }
    assert!(!is_in_sync(rules, &items(json!("a")), &reversed(&items(json!("")))));
}

#[test]
fn a_difference_that_a_form_would_end_shows_what_is_written() {
    let told =
        |rules: &str, desired: Value, observed: Value| told(rules, &json!({"v": desired}), &json!({"v": observed}));
    let table = [
        ("as: cidr", json!("10.0.0.1/8"), json!("11.0.0.0/8"), r#"/v desired "10.0.0.1/8", observed "11.0.0.0/8""#),
        ("as: ip", json!("::0:1"), json!("any"), r#"/v desired "::0:1", observed "any" (no IP address)"#),
        ("as: cidr", json!("any"), json!("::/0"), r#"/v desired "any" (no network), observed "::/0""#),
        ("as: duration", json!("PT26H"), json!("P1M"), r#"/v desired "PT26H", observed "P1M" (no duration)"#),
        ("as: timestamp", json!("2026-01-01"), json!(0), r#"/v desired "2026-01-01" (no time), observed 0"#),
        ("as: text", json!("a\r\nb\r\n"), json!("a\nc"), r#"/v desired "a\r\nb\r\n", observed "a\nc""#),
        ("empty: absent", json!(""), json!(1), r#"/v desired "", observed 1"#),
    ];
    for (rule, desired, observed, expected) in table {
        let told = told(&format!("{{path: /v, {rule}}}"), desired, observed);
        assert_eq!(told, format!("1 field differs: {expected}"), "{rule}");
    }
}

/// Returns the number of visited values for the check of a desired state.
fn visits(rules: &str, desired: &Value, observed: &Value) -> u32 {
    let (target, comparison) = (ruled(rules), Comparison::default());
    comparison.fulfils(&target.compare.rules.root(), desired, Some(observed));
    comparison.visits()
}

#[test]
fn large_lists_of_any_kind_take_work_in_proportion() {
    let numbers = |count: usize| (0..count).map(|number| json!(number)).collect::<Value>();
    let map = |number: usize| json!({"k": number, "v": {"w": number % 2}});
    let maps = |count: usize| (0..count).map(map).collect::<Value>();
    for (rules, make) in [
        ("{path: '', list: set}", &numbers as &dyn Fn(usize) -> Value),
        ("{path: '', list: set}", &maps),
        ("{path: '', list: map, keys: [k]}", &maps),
        ("", &numbers),
    ] {
        let work = |count: usize| visits(rules, &make(count), &reversed(&make(count)));
        let (less, more) = (work(1_000), work(10_000));
        assert!(more <= less.max(1_000) * 10, "{rules}: {less} and {more}");
    }
    let told = told("{path: '', list: map, keys: [k]}", &maps(10_000), &json!([]));
    assert!(told.starts_with("10000 fields differ: ") && told.ends_with("; and 9992 more"), "{told}");
}

#[test]
fn what_would_take_too_long_is_given_up() {
    let lists = |last: u32| (0..5_000).map(|number| json!([number, last])).collect::<Value>();
    let target = ruled("{path: '', list: set}");
    let found = find_differences(&target.compare.rules, &lists(0), &lists(1), &mut |_| ());
    assert_eq!(found.err(), Some(TooMuchWork), "no field tells them apart");
}

#[test]
fn deep_values_are_compared() {
    let deep = |last: &str| (0..120).fold(json!([1, last]), |inner, _| json!([inner]));
    let rules = Rules::default();
    let (desired, observed) = (deep("a"), deep("b"));
    let mut lengths = Vec::new();
    find_differences(&rules, &desired, &observed, &mut |found| lengths.push(found.path.len())).unwrap();
    assert_eq!(lengths, [121]);
}

#[test]
fn items_that_are_only_counted_are_counted_once() {
    let numbers = |range: std::ops::Range<u32>| range.map(|number| json!(number)).collect::<Vec<_>>();
    let twice = json!([numbers(0..1_000), numbers(0..1_000)].concat());
    let shown =
        (0..8).map(|place| [0, 1, 10, 100, 101, 102, 103, 104][place]).map(|item| format!("/ unexpected {item}"));
    let expected = format!("1000 fields differ: {}; and 992 more", shown.collect::<Vec<_>>().join("; "));
    assert_eq!(told("{path: '', list: set}", &json!([]), &twice), expected);
    assert_eq!(told("{path: '', list: set}", &json!([]), &reversed(&twice)), expected);
    let missing = told("{path: '', list: set}", &twice, &json!([]));
    assert_eq!(missing, expected.replace("unexpected", "missing"));
    let both = told("{path: '', list: set}", &json!(numbers(0..100)), &json!(numbers(100..200)));
    assert!(both.starts_with("200 fields differ: ") && both.ends_with("; and 192 more"), "{both}");
}

#[test]
fn a_long_list_beside_an_empty_one_says_its_length() {
    let zeros = json!(vec![0; 5_000]);
    assert_eq!(told("", &json!([]), &zeros), "1 field differs: / desired 0 items, observed 5000");
    assert!(told("", &zeros, &json!([])).contains("/ desired 5000 items, observed 0"));
    assert_eq!(told("{path: '', extra: allow}", &zeros, &json!([])), "1 field differs: /0 missing 0");
    let short = told("", &json!([]), &json!(vec![0; 100]));
    assert!(short.starts_with("100 fields differ: /0 unexpected 0; "), "{short}");
}
