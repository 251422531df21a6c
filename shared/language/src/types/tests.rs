use serde_json::{Value, json};

use super::*;
use crate::cel::{Expression, Scope, Site, Variables};

const NAME: &str = "g.example/v1 Record";

fn schema() -> Value {
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let member = json!({"type": "object", "required": ["name"], "properties": {"name": text, "weight": number}});
    let spec = json!({"type": "object", "required": ["fqdn", "port", "members", "on", "tags"], "properties": {
        "fqdn": text, "port": number, "on": {"type": "boolean"}, "tags": {"type": "array", "items": text},
        "members": {"type": "array", "items": member},
        "ttl": number, "tier": {"type": "string", "default": "free"}, "note": {"type": "string", "nullable": true},
        "size": {"type": "object", "required": ["cpu"], "properties": {"cpu": number, "ram": text}},
        "labels": {"type": "object", "default": {}, "additionalProperties": text},
        "amount": {"x-kubernetes-int-or-string": true, "default": 1},
        "free": {"type": "object", "default": {}, "x-kubernetes-preserve-unknown-fields": true},
        "ruled": number,
        "a-b": text},
        "x-kubernetes-validations": [{"rule": "self.ruled > 1"}]});
    let status = json!({"type": "object", "properties": {"id": text}});
    json!({"type": "object", "properties": {"spec": spec, "status": status}})
}

fn mistakes(document: &str) -> Vec<TypeMistake> {
    let schema = schema();
    type_mistakes(document, KindSchema { name: NAME, root: &schema, document: &schema, is_complete: true })
}

fn messages(expression: &str) -> Vec<String> {
    let document = format!("spec:\n  identity: {}", json!(format!("${{{expression}}}")));
    mistakes(&document).into_iter().map(|mistake| mistake.message).collect()
}

/// An object that has every field.
fn full() -> Value {
    json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {
        "fqdn": "a", "port": 80, "on": true, "tags": ["a"], "members": [{"name": "m", "weight": 1}], "ttl": 1,
        "tier": "free", "note": "n", "size": {"cpu": 1, "ram": "2Gi"}, "labels": {"x": "y"}, "amount": 1,
        "free": {"x": 1}, "ruled": 2, "a-b": "c"}, "status": {"id": "i"}})
}

/// The same without optional fields.
fn least() -> Value {
    json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {
        "fqdn": "a", "port": 80, "on": true, "tags": ["a"], "members": [{"name": "m"}], "tier": "free", "note": null,
        "labels": {"x": "y"}, "amount": 1, "free": {"x": 1}, "ruled": 2}})
}

/// Returns the result, or why it fails.
fn run(expression: &str, object: &Value) -> Result<Option<Value>, String> {
    let compiled = Expression::parse(&format!("${{{expression}}}"), &Site::new("here", Scope::Object)).unwrap();
    compiled.evaluate(&Variables::of_object(object)).map_err(|error| error.cause)
}

#[test]
fn an_optional_field_needs_a_guard() {
    let optional = |read: &str, instead: &str| {
        format!(
            "`{read}` may be missing: {NAME} neither requires it nor gives it a default; write `{instead}.orValue(…)`"
        )
    };
    let table = [
        ("self.spec.ttl", "self.spec.ttl", "self.spec.?ttl"),
        ("string(self.spec.ttl) + 'x'", "self.spec.ttl", "self.spec.?ttl"),
        ("self.spec.size.cpu", "self.spec.size", "self.spec.?size.?cpu"),
        ("self.spec['a-b']", "self.spec['a-b']", "self.spec[?'a-b']"),
        ("self.spec.members[0].weight", "self.spec.members[0].weight", "self.spec.members[0].?weight"),
        ("self.spec.members.map(m, m.weight)", "m.weight", "m.?weight"),
        ("self.spec.members.all(m, m.weight > 1)", "m.weight", "m.?weight"),
        ("self.status.id", "self.status.id", "self.status.?id"),
        (
            "self.spec.on ? 1 : self.spec.ttl + self.spec.members[0].weight",
            "self.spec.members[0].weight",
            "self.spec.members[0].?weight",
        ),
    ];
    for (expression, read, instead) in table {
        let found = messages(expression);
        assert_eq!(found.len(), 1, "{expression}: {found:?}");
        assert!(found[0].starts_with(&optional(read, instead)), "{expression}: {found:?}");
        assert!(run(expression, &full()).is_ok(), "{expression}");
        if !expression.contains("on ?") {
            assert!(run(expression, &least()).is_err(), "{expression} works without the field");
        }
    }
}

#[test]
fn each_missing_field_is_told_once_with_its_places() {
    let document = "spec:\n  let:\n    at: self.spec.ttl\n  a: \"${self.spec.ttl}\"\n  b: \"${at + self.spec.ttl}\"\n  c: \"${self.spec['a-b']}\"\n  \
                    d: \"${self.spec.members.map(m, m.weight)}\"\n  e: \"${self.spec.members[0].weight}\"\n  f: \"${self.spec.ttl}\"\n  \
                    g: \"${self.spec.ttl}\"\n  h: \"${self.spec.ttl}\"\n  i: \"${self.spec.ttl}\"\n";
    let found = mistakes(document);
    let [ttl, quoted, weight] = &found[..] else { panic!("{found:?}") };
    assert_eq!(ttl.place.0, 4);
    let expected = "write `self.spec.?ttl.orValue(…)`, test `has(self.spec.ttl)` before, or add `ttl` to `required` of spec in the CRD \
                    (also line 5, line 9, line 10, line 11 and 1 more)";
    assert!(ttl.message.ends_with(expected), "{}", ttl.message);
    assert!(quoted.message.contains("or add `a-b` to `required` of spec in the CRD"), "{}", quoted.message);
    assert!(
        weight.message.ends_with("or add `weight` to `required` of spec.members[] in the CRD (also line 8)"),
        "{}",
        weight.message
    );
}

#[test]
fn advice_for_a_status_field_tests_the_field() {
    let said = messages("self.status.id").concat();
    assert!(said.ends_with("write `self.status.?id.orValue(…)`, or test `has(self.status.id)` before"), "{said}");
    assert_eq!(messages("has(self.status) ? self.status.id : ''").len(), 1, "the status is always there");
    assert_eq!(messages("has(self.status.id) ? self.status.id : ''"), Vec::<String>::new());
}

#[test]
fn a_published_field_is_there_once_a_poll_found_drift() {
    let document = |action: &str| {
        format!(
            "spec:\n  publish: {{id: \"${{observed.id}}\"}}\n  correct: {{http: {{{action}: [{{url: \"/${{self.status.id}}\"}}]}}}}\n"
        )
    };
    for (action, count) in [("update", 0), ("replace", 0), ("create", 1), ("delete", 1)] {
        assert_eq!(mistakes(&document(action)).len(), count, "{action}");
    }
    assert_eq!(mistakes(&document("update").replace("publish: {id:", "publish: {other:")).len(), 1);
}

/// An expression, and the mistake in it.
const WRONG_TYPES: &[(&str, &str)] = &[
    (
        "self.spec.port == '80'",
        "`self.spec.port` is a number and `'80'` is a text, which are never equal: write 80 without quotes",
    ),
    (
        "self.spec.fqdn != 1",
        "`self.spec.fqdn` is a text and `1` is a number, which are never equal: write '1' in quotes",
    ),
    (
        "self.spec.on == 'true'",
        "`self.spec.on` is true or false and `'true'` is a text, which are never equal: write true without quotes",
    ),
    (
        "self.spec.port > '80'",
        "`self.spec.port` is a number and `'80'` is a text, which have no order: write 80 without quotes",
    ),
    ("size(self.spec.port)", "`self.spec.port` is a number, and `size` takes a text, bytes, a list or a map"),
    ("self.spec.port.size()", "`self.spec.port` is a number, and `size` takes a text, bytes, a list or a map"),
    (
        "'p' + self.spec.port",
        "`'p'` is a text and `self.spec.port` is a number, which cannot be added: write `string(self.spec.port)`",
    ),
    ("self.spec.on + self.spec.on", "`self.spec.on` is true or false, and `+` takes a number, a text, bytes or a list"),
    (
        "self.spec.port.matches('8')",
        "`self.spec.port` is a number, and `matches` takes a text: write `string(self.spec.port)`",
    ),
    (
        "self.spec.fqdn.startsWith(self.spec.port)",
        "`self.spec.port` is a number, and `startsWith` takes a text: write `string(self.spec.port)`",
    ),
    ("self.spec.fqdn * 2", "`self.spec.fqdn` is a text, and `*` takes a number or a time"),
    (
        "self.spec.port in self.spec.tags",
        "`self.spec.port` is a number, and each item of the list is a text, so it is never in the list",
    ),
    (
        "self.spec.members.exists(m, m.name == 1)",
        "`m.name` is a text and `1` is a number, which are never equal: write '1' in quotes",
    ),
    ("self.spec.fqdn ? 1 : 2", "`self.spec.fqdn` is a text, and a condition is true or false: compare it with a value"),
    ("!self.spec.port", "`self.spec.port` is a number, and a condition is true or false: compare it with a value"),
    (
        "self.spec.fqdn && self.spec.on",
        "`self.spec.fqdn` is a text, and a condition is true or false: compare it with a value",
    ),
    ("self.spec.port.number", "`self.spec.port` is a number: a number has no field `number`"),
    ("self.spec.port.all(p, p == 1)", "a loop needs a list or a map, and this is a number"),
    (
        "sha256(self.spec.port)",
        "`self.spec.port` is a number, and `sha256` takes a text: write `string(self.spec.port)`",
    ),
    (
        "self.spec.members.map(m, m.nmae)",
        "g.example/v1 Record has no field spec.members[].nmae, which a template reads: did you mean `name`?",
    ),
    (
        "self.metadata.nmae",
        "g.example/v1 Record has no field metadata.nmae, which a template reads: did you mean `name`?",
    ),
    ("self.spec.?ttl.orValue(1) == 'x'", "the left side is a number and `'x'` is a text, which are never equal"),
    (
        "self.spec.tags.filter(t, t != 'a').size() == '1'",
        "the left side is a number and `'1'` is a text, which are never equal: write 1 without quotes",
    ),
];

#[test]
fn a_wrong_type_is_found() {
    for (expression, expected) in WRONG_TYPES {
        assert_eq!(messages(expression), [*expected], "{expression}");
        let result = run(expression, &full());
        let never = match expression.contains("!=") && !expression.contains("filter") {
            true => json!(true),
            false => json!(false),
        };
        assert!(result.as_ref().map_or(true, |value| *value == Some(never)), "{expression} works: {result:?}");
    }
}

#[test]
fn what_may_work_is_not_reported() {
    let table = [
        "self.spec.fqdn + ':' + string(self.spec.port)",
        "self.spec.?ttl.orValue(300) + 1",
        "has(self.spec.ttl) ? self.spec.ttl : 300",
        "!has(self.spec.ttl) ? 300 : self.spec.ttl",
        "has(self.spec.ttl) && self.spec.ttl == 1",
        "!has(self.spec.ttl) || self.spec.ttl == 1",
        "self.spec.?ttl.hasValue() ? self.spec.ttl : 300",
        "'ttl' in self.spec ? self.spec.ttl : 300",
        "has(self.spec.size) && has(self.spec.size.ram) ? self.spec.size.ram : 'none'",
        "has(self.spec.size) ? self.spec.size.cpu : 1",
        "self.spec.?size.?cpu.orValue(1)",
        "self.spec.?ttl.optMap(t, t + 1).orValue(0)",
        "self.spec.members.map(m, m.name)",
        "self.spec.members.map(m, m.?weight.orValue(1))",
        "self.spec.members.filter(m, has(m.weight)).map(n, n.weight)",
        "self.spec.members.exists(m, has(m.weight) && m.weight > 1)",
        "self.spec.members.map(m, {'n': m.name}).size() == 1",
        "self.spec.tags.map(t, t.upperAscii()).join(',') + 'x'",
        "self.spec.tags.exists_one(t, t == 'a')",
        "self.spec.tags + ['b'] + []",
        "self.spec.tier == 'free' ? 'a' : self.spec.tier",
        "self.spec.note == null || self.spec.note == 'x'",
        "self.spec.amount == '1' || self.spec.amount == 1",
        "self.spec.labels['x'] == 'y' && self.spec.labels.x == 'y'",
        "self.spec.free.x == '1' || self.spec.free.x == 1",
        "self.spec.ruled == 2",
        "self.spec.tags[0] == 'a' && self.spec.port in [80, 443]",
        "self.metadata.labels['x'] + self.metadata.name",
        "self.spec.fqdn in ['a', 'b'] || 'x' in self.spec.labels",
        "-self.spec.port < 1.5 && self.spec.port * 2 / 1 - 1 > 0",
        "dyn(self.spec.port) == '80'",
        "quantity(self.spec.port).add(1).asInteger() + 1",
        "duration('1h') + duration('1h') > duration('90m')",
        "self.spec == null || self.spec.on",
        "type(self.spec.port) == int",
        "json.parse('[1]').size() == 1 && size(self.spec.members) == 1",
        "base64.encode(bytes(self.spec.fqdn)) + capture(self.spec.fqdn, 'x').orValue('')",
        "[self.spec.fqdn, self.spec.port].map(x, string(x)).join('')",
        "merge(self.spec.free, {'a': 1}).a + 1",
    ];
    for expression in table {
        assert_eq!(messages(expression), Vec::<String>::new(), "{expression}");
        for object in [full(), least()] {
            assert!(run(expression, &object).is_ok(), "{expression}: {:?}", run(expression, &object));
        }
    }
}

#[test]
fn a_branch_that_depends_on_a_sibling_is_left_open() {
    assert_eq!(messages("self.spec.tier == 'paid' ? self.spec.ttl : 300"), Vec::<String>::new());
}

#[test]
fn mistakes_have_their_places() {
    let document = "spec:\n  identity: \"${self.spec.fqdn}\"\n  read:\n    http:\n      url: \"https://h/${self.spec.fqdn}/${path(self.spec.ttl)}\"\n  compare:\n    desired:\n      a: >-\n        ${self.spec.on\n        || self.spec.port == '80'}\n      b: \"$${self.spec.ttl} ${self.spec.?ttl.orValue(1)}\"\n";
    let places: Vec<_> = mistakes(document).into_iter().map(|mistake| mistake.place).collect();
    assert_eq!(places, [(5, 48), (10, 12)]);
}

#[test]
fn conditions_of_a_target_guard_its_templates() {
    let guarded = |condition: &str| {
        format!(
            "spec:\n  {condition}\n  identity: \"${{self.spec.ttl}}\"\n  compare: {{desired: {{a: \"${{self.spec.ttl}}\"}}}}"
        )
    };
    assert_eq!(mistakes(&guarded("interval: 1m")).len(), 1);
    assert_eq!(mistakes(&guarded("require: [{that: \"${has(self.spec.ttl)}\", else: x}]")), []);
    assert_eq!(mistakes(&guarded("suspendWhen: \"${!has(self.spec.ttl)}\"")), []);
    let step = |when: &str| {
        let text = format!("{{when: \"${{{when}}}\", body: {{a: \"${{self.spec.ttl}}\"}}}}, {{body: 1}}");
        mistakes(&format!("spec: {{correct: {{http: {{create: [{text}]}}}}}}")).len()
    };
    let secret = "secrets: {a: {fromObject: \"${self.spec.size.ram}\"}}, correct: {create: [{when: \"${has(self.spec.size.ram)}\"}]}";
    assert_eq!(mistakes(&format!("spec: {{{secret}}}")), [], "a secret is read for a step");
    assert_eq!((step("has(self.spec.ttl)"), step("self.spec.on"), step("differs == []")), (0, 0, 1));
}

#[test]
fn a_name_is_checked_where_it_is_used() {
    let used = |use_of_it: &str| {
        mistakes(&format!("spec:\n  let: {{ttl: \"${{self.spec.ttl}}\"}}\n  identity: \"${{{use_of_it}}}\"")).len()
    };
    assert_eq!((used("ttl + 1"), used("has(self.spec.ttl) ? ttl : 1"), used("1")), (1, 0, 0));
}

#[test]
fn presence_is_open_in_kinds_of_kubernetes() {
    let schema = schema();
    let kind = KindSchema { name: NAME, root: &schema, document: &schema, is_complete: false };
    let document = "spec: {identity: '${self.spec.ttl == 1}', scope: \"${self.spec.ttl == 'x'}\"}";
    let found = type_mistakes(document, kind);
    assert!(matches!(&*found, [one] if one.message.contains("never equal")), "{found:?}");
}

#[test]
fn a_minimum_of_properties_makes_siblings_depend_on_each_other() {
    let text = json!({"type": "string"});
    let both = json!({"a": text, "b": text});
    let schema = json!({"properties": {"spec": {"type": "object", "required": ["one", "two", "list", "map"], "properties": {
        "one": {"type": "object", "minProperties": 1, "properties": both},
        "two": {"type": "object", "minProperties": 2, "properties": both},
        "list": {"type": "array", "minItems": 1, "items": {"type": "object", "minProperties": 1, "properties": both}},
        "map": {"type": "object", "minProperties": 1, "additionalProperties": text}}}}});
    let count = |expression: &str| {
        let document = format!("spec:\n  identity: {}", json!(format!("${{{expression}}}")));
        type_mistakes(&document, KindSchema { name: NAME, root: &schema, document: &schema, is_complete: true }).len()
    };
    let table = [
        ("has(self.spec.one.a) ? self.spec.one.a : self.spec.one.b", 0),
        ("self.spec.one.?b.orValue(self.spec.one.a)", 1),
        ("self.spec.list.map(one, has(one.a) ? one.a : one.b)", 0),
        ("self.spec.two.a + self.spec.two.b", 0),
        ("self.spec.list[0].?a.orValue('') + self.spec.map['a'] + self.spec.map.b", 0),
        ("self.spec.one.a", 1),
        ("self.spec.one.a + self.spec.one.b", 2),
    ];
    let object = json!({"spec": {"one": {"b": "x"}, "two": {"a": "x", "b": "x"}, "list": [{"b": "x"}],
        "map": {"a": "x", "b": "x"}}});
    for (expression, mistakes) in table {
        assert_eq!(count(expression), mistakes, "{expression}");
        let result = run(expression, &object);
        assert_eq!(result.is_ok(), mistakes == 0, "{expression}: {result:?}");
    }
}
