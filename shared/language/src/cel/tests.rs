//! Tests of expressions, texts, URLs and fields.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cel::*;

mod documentation;

fn object() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "team-a", "uid": "u-1", "labels": {"tier": "prod", "b": "c"}},
        "spec": {
            "n": 3, "big": 9_007_199_254_740_993_i64, "huge": 18_446_744_073_709_551_615_u64, "ratio": 1.5, "whole": 2.0,
            "name": "web-1", "on": true, "none": null, "empty": [], "text": "a,b",
            "list": [1, 2, 3], "names": ["x", "y"], "map": {"a": 1, "b": [1, {"c": 2}]},
            "members": [{"name": "x", "w": 1}, {"name": "y", "w": 2}], "key": "a", "secret": "hunter2",
        },
    })
}

fn response() -> Value {
    json!({"status": 200, "headers": {"etag": "e1"}, "body": {"state": "creating", "items": [{"id": "a"}, {"id": "b"}]}})
}

fn compile(source: &str, scope: Scope) -> Result<Expression, Vec<TemplateError>> {
    Expression::parse(&format!("${{{source}}}"), &Site::new("here", scope))
}

fn evaluate(source: &str) -> Result<Option<Value>, String> {
    let expression = compile(source, Scope::Response).unwrap_or_else(|errors| panic!("{source}: {errors:?}"));
    let (object, response) = (object(), response());
    let variables = Variables { response: Some(&response), ..Variables::of_object(&object) };
    expression.evaluate(&variables).map_err(|error| error.cause)
}

fn check_values(table: &[(&str, Value)]) {
    for (source, expected) in table {
        assert_eq!(evaluate(source), Ok(Some(expected.clone())), "{source}");
    }
}

#[test]
fn fields_and_numbers_of_json_evaluate_as_cels_own() {
    check_values(&[
        ("self.spec.n + 1", json!(4)),
        ("self.spec.n * 2 - 1", json!(5)),
        ("-self.spec.n", json!(-3)),
        ("self.spec.big", json!(9_007_199_254_740_993_i64)),
        ("self.spec.big + 1", json!(9_007_199_254_740_994_i64)),
        ("self.spec.huge", json!(18_446_744_073_709_551_615_u64)),
        ("self.spec.ratio * 2.0", json!(3.0)),
        ("self.spec.?enabled.orValue(true)", json!(true)),
        ("self.spec.?on.orValue(false)", json!(true)),
        ("self.spec.?a.?b.orValue('none')", json!("none")),
        ("self.?spec.?n.orValue(0) + 1", json!(4)),
        ("response.body.?state.orValue('') in ['creating', 'updating']", json!(true)),
        ("response.status == 200", json!(true)),
        ("response.headers['etag']", json!("e1")),
        ("has(self.spec.n) && !has(self.spec.absent)", json!(true)),
        ("has(self.spec.none)", json!(true)),
        ("self.spec.none == null", json!(true)),
        ("self.spec.name.startsWith(self.metadata.name + '-')", json!(true)),
        ("self.metadata.namespace + '_' + self.spec.name", json!("team-a_web-1")),
        ("self.spec.on ? 'yes' : 'no'", json!("yes")),
        ("{'name': self.spec.name, 'n': [self.spec.n, 1]}", json!({"name": "web-1", "n": [3, 1]})),
        ("{'a': self.spec.map}", json!({"a": {"a": 1, "b": [1, {"c": 2}]}})),
        ("self.spec.map", json!({"a": 1, "b": [1, {"c": 2}]})),
        ("self.spec['map']['b'][1].c", json!(2)),
    ]);
}

#[test]
fn lists_maps_and_optionals_of_json_evaluate_as_cels_own() {
    check_values(&[
        ("self.spec.list[0] + self.spec.list[2]", json!(4)),
        ("self.spec.map[self.spec.key]", json!(1)),
        ("size(self.spec.list) + self.spec.map.size() + size(self.spec.name)", json!(10)),
        ("self.spec.list.map(x, x * 2)", json!([2, 4, 6])),
        ("self.spec.members.filter(m, m.w > 1).map(m, m.name)", json!(["y"])),
        ("self.spec.list.all(x, x > 0) && self.spec.list.exists(x, x == 2)", json!(true)),
        ("self.metadata.labels.exists(k, k == 'tier')", json!(true)),
        ("self.metadata.labels.map(k, k + '=' + self.metadata.labels[k]).size()", json!(2)),
        ("'tier' in self.metadata.labels", json!(true)),
        ("2 in self.spec.list", json!(true)),
        ("2.0 in self.spec.list", json!(true)),
        ("{'name': 'x', 'w': 1} in self.spec.members", json!(true)),
        ("self.spec.members[0] in [{'name': 'x', 'w': 1}]", json!(true)),
        ("self.spec.list == [1, 2, 3]", json!(true)),
        ("[1, 2, 3] == self.spec.list", json!(true)),
        ("[1.0, 2, 3] != self.spec.list", json!(false)),
        ("{'a': 1, 'b': [1, {'c': 2}]} == self.spec.map", json!(true)),
        ("self.spec.map == {'a': 1, 'b': [1, {'c': 3}]}", json!(false)),
        ("self.spec.members[0] == self.spec.members[0]", json!(true)),
        ("optional.of(self.spec.list) == optional.of([1, 2, 3])", json!(true)),
        ("self.spec.list + [4] + self.spec.empty", json!([1, 2, 3, 4])),
        ("[0] + self.spec.list", json!([0, 1, 2, 3])),
        ("self.spec.?n.optMap(n, n + 1).orValue(0)", json!(4)),
        ("optional.ofNonZeroValue(self.spec.empty).hasValue()", json!(false)),
        ("type(self.spec.n) == int && type(self.spec.list) == list", json!(true)),
        ("self.spec.whole == 2", json!(true)),
        ("string(self.spec.n) + string(self.spec.on)", json!("3true")),
        ("int('5') + self.spec.n", json!(8)),
        ("[self.spec.?absent, self.spec.?n]", json!([3])),
        ("{'a': self.spec.?absent, 'b': self.spec.?n}", json!({"b": 3})),
        ("{?'a': self.spec.?absent, 'b': 1}", json!({"b": 1})),
    ]);
    assert_eq!(evaluate("self.spec.?absent"), Ok(None));
}

#[test]
fn every_listed_function_works() {
    let table = [
        ("'aBc'.lowerAscii() + 'aBc'.upperAscii()", json!("abcABC")),
        ("'a-b-c'.replace('-', '_') + 'a-b'.replace('-', '', 1)", json!("a_b_cab")),
        ("self.spec.text.split(',')", json!(["a", "b"])),
        ("self.spec.names.join('+')", json!("x+y")),
        ("['a', 'b'].join()", json!("ab")),
        ("' a '.trim()", json!("a")),
        ("'hello'.substring(1, 3) + 'hello'.substring(4)", json!("elo")),
        ("'hello'.charAt(1)", json!("e")),
        ("'hello'.indexOf('l') + 'hello'.lastIndexOf('l')", json!(5)),
        ("'%s-%d'.format([self.spec.name, self.spec.n])", json!("web-1-3")),
        ("'%x %X %o %b %b'.format([255, -255, 8u, self.spec.n, true])", json!("ff -FF 10 11 1")),
        ("'%x %X'.format([self.spec.key, b'\\x0a\\xff'])", json!("61 0AFF")),
        ("'%.2f %.1e %f'.format([self.spec.ratio, 1052, 2])", json!("1.50 1.1e+03 2.000000")),
        ("'hello'.contains('ell') && 'hello'.endsWith('lo') && 'hello'.matches('^h.*o$')", json!(true)),
        ("matches('hello', 'l+')", json!(true)),
        ("base64.encode(bytes('hi'))", json!("aGk=")),
        ("string(base64.decode('aGk='))", json!("hi")),
        ("without({'a': 1, 'b': {'c': []}, 'd': null}, ['a', 'x'])", json!({"b": {"c": []}, "d": null})),
        ("without(self.metadata.labels, [])", json!({"tier": "prod", "b": "c"})),
        ("merge(self.metadata.labels, {'tier': 'test', 'x': 'y'})", json!({"tier": "test", "b": "c", "x": "y"})),
        (
            "mergeDeep({'a': {'b': 1, 'l': [1]}, 'x': 1}, {'a': {'c': {'d': 2}, 'l': []}, 'x': {}})",
            json!({"a": {"b": 1, "c": {"d": 2}, "l": []}, "x": {}}),
        ),
        (
            "mergeDeep({'a': {'b': {'c': 1}}, 'm': self.spec.map}, {'a': {'b': null}, 'm': {'b': 2}})",
            json!({"a": {"b": null}, "m": {"a": 1, "b": 2}}),
        ),
        (
            "mergeDeep(response.body, response).body.state + mergeDeep(json.parse('{\"a\": {\"b\": \"x\"}}'), {'a': {}}).a.b",
            json!("creatingx"),
        ),
        ("sha256('abc')", json!("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")),
        ("json.parse('{\"a\": [1, null, \"x\"]}').a[0] + 1", json!(2)),
        ("json.parse('{\"a\": [1]}') == {'a': [1]}", json!(true)),
        ("double(1) + double('0.5')", json!(1.5)),
        ("bool('true') && dyn(true)", json!(true)),
        ("capture('refs/heads/main abc123', 'main ([0-9a-f]+)').value()", json!("abc123")),
        ("capture('abc', 'b').orValue('')", json!("b")),
        ("capture('abc', 'x(y)').hasValue()", json!(false)),
        ("capture('ab', 'a(x)?').hasValue()", json!(false)),
        ("captureAll('a=1, b=22', '[a-z]=([0-9]+)')", json!(["1", "22"])),
        ("captureAll('a1 b22', '[0-9]+') + captureAll('a', 'x(y)')", json!(["1", "22"])),
        ("captureAll('ab aXb', 'a(X)?b') + captureAll('äb', '(z?)')", json!(["X", "", "", ""])),
        ("uint(1) == 1u", json!(true)),
        ("optional.none().or(optional.of(1)).value()", json!(1)),
        ("timestamp('2026-01-01T00:00:00Z') < timestamp('2026-01-02T00:00:00Z')", json!(true)),
        ("duration('1h') > duration('1m')", json!(true)),
        ("quantity('1Gi') == quantity('1024Mi') && quantity('1') in [quantity(1.0)]", json!(true)),
        ("quantity('1Gi') == quantity('1G') || quantity('1') == dyn(1)", json!(false)),
        ("isQuantity('500m') && isQuantity(2) && !isQuantity('5 m') && !isQuantity([])", json!(true)),
        ("quantity('500m').isLessThan(quantity(1)) && quantity('1k').isGreaterThan(quantity('1'))", json!(true)),
        ("['1', '2', '1e3'].map(q, quantity(q).compareTo(quantity('2')))", json!([-1, 0, 1])),
        ("quantity('1Gi').add(quantity('1Mi')).sub(1).asInteger()", json!(1_074_790_399)),
        ("quantity('1500m').asApproximateFloat() + 0.5", json!(2.0)),
        ("quantity('1500m').isInteger() || !quantity('1e3').isInteger()", json!(false)),
        ("[quantity('-1'), quantity('0'), quantity('5m')].map(q, q.sign())", json!([-1, 0, 1])),
        ("[ip('2001:0DB8::000A'), ip('192.0.2.1')]", json!(["2001:db8::a", "192.0.2.1"])),
        (
            "['192.0.2.1', '::1', '10.0.0.01', '::ffff:192.0.2.1', 'fe80::1%eth0', '10.0.0.0/8'].filter(x, isIP(x))",
            json!(["192.0.2.1", "::1"]),
        ),
        (
            "[cidr('2001:0DB8:74::/48'), cidr('10.0.0.1/8'), cidr('10.0.0.1/8').masked()]",
            json!(["2001:db8:74::/48", "10.0.0.1/8", "10.0.0.0/8"]),
        ),
        (
            "['10.0.0.0/8', '10.0.0.1', '10.0.0.0/08', '10.0.0.0/33', '::ffff:10.0.0.0/104'].filter(x, isCIDR(x))",
            json!(["10.0.0.0/8"]),
        ),
        ("['10.1.2.3', '11.0.0.0', '::1'].map(x, cidr('10.0.0.1/8').containsIP(x))", json!([true, false, false])),
        (
            "['10.1.0.0/16', '10.0.0.0/8', '0.0.0.0/0', '::/0'].map(x, cidr('10.0.0.0/8').containsCIDR(x))",
            json!([true, true, false, false]),
        ),
        ("cidr('2001:db8::/48').prefixLength() + 1", json!(49)),
        ("[3, 1.5, 2].sort() == [1.5, 2, 3] && [true, false].sort() == [false, true]", json!(true)),
        ("['b', 'a', 'B', 'ä'].sort()", json!(["B", "a", "b", "ä"])),
        ("[].sort() + self.spec.names.sort()", json!(["x", "y"])),
        ("'abc 123'.find('[0-9]+') + '-' + 'abc'.find('[0-9]+')", json!("123-")),
        ("'a1 b22'.findAll('[0-9]+') + 'a1 b22'.findAll('[0-9]+', 1) + 'x'.findAll('x', 0)", json!(["1", "22", "1"])),
        ("'äb'.findAll('')", json!(["", "", ""])),
        ("'a.b*c'.matches('^' + regex.quote('a.b*c') + '$') && !'aXb'.matches(regex.quote('a.b'))", json!(true)),
        (
            "json.text({'b': [1.0, 'x\\n', null, self.spec.?absent], 'a': {}, 'c': self.spec.?absent})",
            json!("{\"a\":{},\"b\":[1,\"x\\n\",null]}"),
        ),
        ("json.parse(json.text(self.spec)) == self.spec", json!(true)),
    ];
    for (source, expected) in &table {
        assert_eq!(evaluate(source), Ok(Some(expected.clone())), "{source}");
    }
    let tested: String = table.map(|(source, _)| source).concat();
    let elsewhere =
        ["path", "size", "string", "type", "int", "startsWith", "orValue", "hasValue", "optional.ofNonZeroValue"];
    for name in crate::cel::functions::table::FUNCTIONS.iter().map(|function| function.name) {
        assert!(tested.contains(&format!("{name}(")) || elsewhere.contains(&name), "{name} is not tested");
    }
}

#[test]
fn a_failed_evaluation_names_what_is_written_and_no_value() {
    let table = [
        ("self.spec.absent", "no field `absent`"),
        ("self.spec.absent + 1", "no field `absent`"),
        ("self.spec.absent.deeper", "no field `absent`"),
        ("self.spec.name.first", "a string has no fields"),
        ("self.spec.name.first + ''", "a string has no fields"),
        ("self.spec.none.first", "a null has no fields"),
        ("self.spec.none.first + ''", "a null has no fields"),
        ("self.spec.list.first", "a list has no fields"),
        ("self.spec.list.first + 1", "a list has no fields"),
        ("self.spec.map[self.spec.secret]", "no such key"),
        ("self.spec.map['zzz']", "no field `zzz`"),
        ("self.spec.list[9]", "an index is out of bounds"),
        ("self.spec.list[-1]", "an index is out of bounds"),
        ("self.spec.list['a']", "no `[…]` for list and string"),
        ("self.spec.secret + 1", "no add of string and int"),
        ("self.spec.secret < 1", "no `<` for string and int"),
        ("1 in self.spec.secret", "no `in` for int and string"),
        ("int(self.spec.secret)", "int cannot take this value"),
        ("json.parse(self.spec.secret)", "json.parse: the text is no JSON"),
        ("json.parse(self.spec.n)", "no `json.parse` for int"),
        ("self.spec.secret.indexOf('h', 9)", "indexOf: out of range"),
        ("without(self.spec, 'a')", "without: needs a map and a list of its keys, which are texts"),
        ("without(self.spec, [1])", "without: needs a map and a list of its keys, which are texts"),
        ("merge(self.spec.secret, {})", "merge: needs two maps whose keys are texts"),
        ("mergeDeep({}, self.spec.list)", "mergeDeep: needs two maps whose keys are texts"),
        ("mergeDeep({'a': {}}, {'a': {1: 2}})", "mergeDeep: needs two maps whose keys are texts"),
        ("self.spec.n / 0", "a division by zero"),
        ("self.spec.n.startsWith('a')", "no `startsWith` for int and string"),
        ("self.spec.secret.map(x, x)", "found string where iterable is needed"),
        ("bytes('a')", "the result is bytes; write string(…) or base64.encode(…) around it"),
        ("{1: 2}", "a key of the map is no text"),
        ("type(1)", "a type has no JSON form"),
        ("1.0 / 0.0", "the result is no finite number"),
        ("{'a': 1, 'a': 2}", "a map has one key twice"),
        ("self.spec.?absent.value()", "value cannot take this value"),
        ("quantity(self.spec.secret)", "quantity: needs a Kubernetes quantity, such as 1Gi, 500m or 2"),
        ("ip(self.spec.secret)", "ip: needs an IP address, such as 192.0.2.1 or 2001:db8::1"),
        ("ip('::ffff:10.0.0.1')", "ip: needs an IP address, such as 192.0.2.1 or 2001:db8::1"),
        ("cidr('10.0.0.1')", "cidr: needs a network, such as 10.0.0.0/8 or 2001:db8::/48"),
        ("self.spec.secret.masked()", "masked: needs a network, such as 10.0.0.0/8 or 2001:db8::/48"),
        (
            "'10.0.0.0/8'.containsIP(self.spec.secret)",
            "containsIP: needs an IP address, such as 192.0.2.1 or 2001:db8::1",
        ),
        ("'10.0.0.0/8'.containsCIDR('10.0.0.1')", "containsCIDR: needs a network, such as 10.0.0.0/8 or 2001:db8::/48"),
        ("self.spec.secret.prefixLength()", "prefixLength: needs a network, such as 10.0.0.0/8 or 2001:db8::/48"),
        ("quantity('1')", "the result is a quantity; write .asInteger() or .asApproximateFloat() behind it"),
        ("quantity('500m').asInteger()", "asInteger: the quantity is no whole number of 64 bits"),
        ("quantity('1').isLessThan('2')", "no `isLessThan` for quantity and string"),
        ("self.spec.secret.sign()", "no `sign` for string"),
        ("quantity('1e37').add(quantity('1e-9'))", "add: the result has more than 38 digits"),
        ("[self.spec.secret, 1].sort()", "sort: needs a list of only texts, only numbers or only booleans"),
        ("self.spec.members.sort()", "sort: needs a list of only texts, only numbers or only booleans"),
        ("self.spec.secret.sort()", "sort: needs a list of only texts, only numbers or only booleans"),
        ("self.spec.secret.find('(' + '')", "pattern: invalid, or too large when compiled"),
        ("json.text(self.spec.?absent)", "json.text: the optional has no value"),
        ("json.text({1: 2})", "json.text: a key of the map is no text"),
        ("json.text([0.0 / 0.0])", "json.text: the result is no finite number"),
        ("json.text(bytes('a'))", "json.text: the result is bytes; write string(…) or base64.encode(…) around it"),
    ];
    for (source, expected) in table {
        let cause = evaluate(source).unwrap_err();
        assert_eq!(cause, expected, "{source}");
        assert!(!cause.contains("hunter2"), "{source}");
    }
}

#[test]
fn what_cannot_work_is_refused_at_load() {
    let deep = "self.spec.list.all(a, self.spec.list.all(b, self.spec.list.all(c, true)))";
    let long = format!("'{}'", "x".repeat(crate::cel::evaluation::constants::MAX_EXPRESSION_BYTES));
    let groups = format!("'x'.matches('{}')", "()".repeat(101));
    let table = [
        (Scope::Object, "", 2, "the expression is empty"),
        (Scope::Object, "self.spec. + 1", 13, "no CEL expression: "),
        (Scope::Object, "self.spec.a +", 15, "no CEL expression: "),
        (Scope::Object, "'éé' + 1)", 10, "no CEL expression: "),
        (Scope::Object, "slef.spec.a", 2, "unknown variable `slef`: did you mean `self`?"),
        (Scope::Object, "'é' + slef.spec.a", 8, "unknown variable `slef`: did you mean `self`?"),
        (Scope::Object, "foo", 2, "unknown variable `foo`; known: self. Texts are written in quotes"),
        (Scope::Object, "response.body", 2, "`response` does not exist here; known: self"),
        (Scope::Desired, "desired", 2, "`desired` does not exist here; known: self"),
        (Scope::Response, "correction", 2, "`correction` does not exist here; known: self, response"),
        (Scope::Object, ".self.spec", 3, "unknown variable `.self`: did you mean `self`?"),
        (Scope::Object, "self.spec.a.lowerASCII()", 14, "unknown function `lowerASCII`: did you mean `lowerAscii`?"),
        (Scope::Object, "quantty(self.spec.a)", 2, "unknown function `quantty`: did you mean `quantity`?"),
        (Scope::Object, "base64.encod('a')", 2, "unknown function `base64.encod`: did you mean `base64.encode`?"),
        (Scope::Object, "path(self.spec.a)", 2, "path(…) may only be the whole of a ${…} in a URL's path"),
        (Scope::Object, "now()", 2, "unknown function `now`"),
        (Scope::Object, "self.spec.list.maap(x, x)", 17, "unknown function `maap`: did you mean `map`?"),
        (Scope::Desired, "self.status.x", 2, "`self.status.x` is not visible here"),
        (Scope::Desired, "self.metadata.labels.a", 2, "`self.metadata.labels.a` is not visible here"),
        (Scope::Desired, "self.metadata", 2, "`self.metadata` is not visible here"),
        (Scope::Desired, "self", 2, "`self` is not visible here"),
        (Scope::Desired, "self[self.spec.a]", 2, "`self` is not visible here"),
        (Scope::Object, "self.status.conditions[0]", 2, "`self.status.conditions` is visible to no template"),
        (
            Scope::Object,
            "self.?metadata.?resourceVersion.orValue('')",
            2,
            "`self.metadata.resourceVersion` is visible to no template",
        ),
        (
            Scope::Object,
            "has(self.metadata.managedFields)",
            6,
            "`self.metadata.managedFields` is visible to no template",
        ),
        (Scope::Object, "self.spec.list.map(self, self)", 20, "`self` is a variable of the language"),
        (Scope::Object, deep, 64, "loops (all, exists, map, filter …) nest at most 2 deep"),
        (Scope::Object, &long, 2, "an expression is at most 2048 bytes long"),
        (Scope::Object, "Foo{a: 1}", 5, "a map is written {'name': value}"),
        (Scope::Object, &groups, 14, "the pattern is refused: more than 100 groups"),
    ];
    for (scope, source, offset, message) in table {
        let errors = compile(source, scope).err().unwrap_or_else(|| panic!("{source} was taken"));
        let first = &errors[0];
        assert!(first.message.starts_with(message), "{source}: {errors:?}");
        assert_eq!(first.offset, offset, "{source}: {errors:?}");
    }
    let both = compile("slef.a + self.spec.a.foo()", Scope::Object).unwrap_err();
    assert_eq!(both.len(), 2, "{both:?}");
}

#[test]
fn deep_expressions_are_refused_before_they_overflow_a_stack() {
    let refused = |source: &str| compile(source, Scope::Object).unwrap_err().remove(0).message;
    let nest = |open: &str, close: &str, depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
    for (open, close) in [("(", ")"), ("[", "]"), ("{'a':", "}"), ("!(", ")")] {
        let source = nest(open, close, 100);
        assert_eq!(refused(&source), "brackets nest at most 32 deep", "{source}");
    }
    for link in [".a", ".?a", "[0]", ".trim()", "+1", "==1"] {
        let source = "self.spec".to_owned() + &link.repeat(200);
        assert!(refused(&source).starts_with("operations nest at most 32 deep"), "{source}");
    }
    // The thread of a test has 2 MiB of stack, like one of the runtime.
    let object = object();
    for source in [nest("[", "]", 30), nest("{'a':", "}", 30), "1".to_owned() + &"+1".repeat(30)] {
        let expression = compile(&source, Scope::Object).unwrap();
        assert!(expression.evaluate(&Variables::of_object(&object)).is_ok(), "{source}");
    }
}

#[test]
fn the_deepest_json_is_converted_on_a_small_stack() {
    // serde_json parses at most 128 levels. A thread of the runtime has 2 MiB.
    let deep: Value =
        serde_json::from_str(&("[".repeat(60) + &"{\"a\":".repeat(60) + "1" + &"}".repeat(60) + &"]".repeat(60)))
            .unwrap();
    let convert = move || {
        let object = json!({"spec": {"deep": deep}});
        for source in ["dyn(self.spec.deep)", "json.text(self.spec.deep)", "json.parse(json.text(self.spec.deep))"] {
            let expression = compile(source, Scope::Object).unwrap();
            assert!(expression.evaluate(&Variables::of_object(&object)).is_ok(), "{source}");
        }
    };
    std::thread::Builder::new().stack_size(1024 * 1024).spawn(convert).unwrap().join().unwrap();
}

#[test]
fn the_plain_path_and_cel_agree() {
    for path in [
        "self.spec.map",
        "self.spec.n",
        "self.spec.none",
        "self.spec.huge",
        "self.spec.absent",
        "self.spec.n.x",
        "self.gone.x",
    ] {
        assert_eq!(evaluate(path), evaluate(&format!("dyn({path})")), "{path}");
    }
}

#[test]
fn endless_work_is_cut_off() {
    let object = json!({"spec": {"list": vec![0; 2_000]}});
    let source = "self.spec.list.all(a, self.spec.list.all(b, b == 0))";
    let expression = compile(source, Scope::Object).unwrap();
    let error = expression.evaluate_bool(&Variables::of_object(&object)).unwrap_err();
    assert_eq!(error.cause, "the evaluation costs more than 1000000 units");

    let object = json!({"spec": {"list": vec![0; 2_000], "text": "x".repeat(10_000)}});
    let expression = compile("self.spec.list.map(a, self.spec.text)", Scope::Object).unwrap();
    let error = expression.evaluate(&Variables::of_object(&object)).unwrap_err();
    assert_eq!(error.cause, "the value is larger than 8388608 bytes");
}

#[test]
fn a_pattern_beyond_its_bounds_is_refused() {
    let long = "pattern: longer than 4096 bytes";
    let groups = "pattern: more than 100 groups; write (?:…) for a group whose text is not needed";
    let dear = "the evaluation costs more than 1000000 units";
    let table = [
        ("self.spec.text.find(self.spec.pattern)", "()".repeat(100) + "[ab]+c?", Ok(json!("aaa"))),
        ("capture(self.spec.text, self.spec.pattern).value()", "()".repeat(100) + "[ab]+c?", Ok(json!(""))),
        ("captureAll(self.spec.text, self.spec.pattern)", "(a)(a)".to_owned(), Ok(json!(["a"]))),
        ("self.spec.text.findAll(self.spec.pattern)", "(a)(a)".to_owned(), Ok(json!(["aa"]))),
        ("self.spec.text.find(self.spec.pattern)", "()".repeat(101) + "[ab]+c?", Err(groups)),
        ("self.spec.text.matches(self.spec.pattern)", "()".repeat(101), Err(groups)),
        ("capture(self.spec.text, self.spec.pattern).value()", "()".repeat(101), Err(groups)),
        ("self.spec.text.matches(self.spec.pattern)", "()".repeat(99) + "(?:a?){20000}", Ok(json!(true))),
        ("capture(self.spec.text, self.spec.pattern).value()", "()".repeat(99) + "(?:a?){20000}", Err(dear)),
        ("self.spec.text.matches(self.spec.pattern)", "a?".repeat(2_048), Ok(json!(true))),
        ("self.spec.text.matches(self.spec.pattern)", "a?".repeat(2_048) + "a", Err(long)),
    ];
    for (source, pattern, expected) in table {
        let object = json!({"spec": {"text": "aaa", "pattern": pattern}});
        let expression = compile(source, Scope::Object).unwrap();
        let found = expression.evaluate(&Variables::of_object(&object)).map_err(|error| error.cause);
        assert_eq!(found, expected.map(Some).map_err(str::to_owned), "{source} {pattern:.40}");
    }
}

/// Objects that make small expressions expensive.
#[test]
fn what_would_cost_too_much_is_refused() {
    let object = json!({"spec": {
        "text": "a".repeat(5_000), "long": "a".repeat(500_000), "list": vec![0; 2_000], "short": vec![0; 120],
        "texts": vec!["a".repeat(1_000); 1_000], "pattern": "(?:a?){900}a{900}", "json": format!("[{}0]", "{\"\":0},".repeat(70_000)),
    }});
    let dear = [
        "size(self.spec.text.replace('', self.spec.text))",
        "size(self.spec.text.replace('a', self.spec.text, 4000))",
        "size(self.spec.list.map(x, self.spec.text).join(self.spec.text))",
        "size(self.spec.texts.map(t, self.spec.texts.join(t)))",
        "size(self.spec.long.split(''))",
        "size(self.spec.list.map(x, self.spec.text + self.spec.text))",
        "size(self.spec.list.map(x, self.spec.text.upperAscii()))",
        "self.spec.list.all(x, size(without({'a': self.spec.text + 'b'}, self.spec.texts)) == 1 || true)",
        "self.spec.list.all(x, self.spec.long.contains('b') || true)",
        "self.spec.list.all(x, self.spec.long == self.spec.long + 'b' || true)",
        "self.spec.list.all(x, self.spec.long.indexOf('ab') < 0)",
        "self.spec.short.all(a, self.spec.short.all(b, a + b + a + b + a + b + a + b + a + b + a + b + a + b + a + b + a + b == 0))",
        "size(self.spec.list.map(a, self.spec.list + [a]))",
        "optional.of(self.spec.long + 'b').optMap(t, [t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t]).hasValue()",
        "size('%s%s%s'.format([self.spec.texts, self.spec.texts, self.spec.texts])) + size(self.spec.list.map(x, '%s'.format([self.spec.texts])))",
        "size(json.parse(self.spec.json))",
        "self.spec.list.all(x, self.spec.long.matches('b$') || true)",
        "self.spec.long.matches(self.spec.pattern)",
        "size(self.spec.long.replace('', self.spec.long))",
        "size(self.spec.long.findAll('a'))",
        "size(captureAll(self.spec.long, '(a)'))",
        "self.spec.long.find(self.spec.pattern) == ''",
        "size(self.spec.list.map(x, json.text(self.spec.long)))",
        "size(self.spec.list.map(x, self.spec.texts.sort()))",
        "self.spec.list.all(x, size(mergeDeep({'a': {'b': self.spec.text + 'b'}}, {'a': {}})) == 1 || true)",
        "size(self.spec.list.map(x, regex.quote(self.spec.long)))",
        "self.spec.list.all(x, isQuantity(self.spec.long) || true)",
        "self.spec.list.all(x, self.spec.text.matches(string(x) + self.spec.pattern) || true)",
    ];
    let mut cheap = Vec::new();
    for source in dear {
        let expression = compile(source, Scope::Object).unwrap();
        let found = expression.evaluate(&Variables::of_object(&object)).map_err(|error| error.cause);
        if found != Err("the evaluation costs more than 1000000 units".to_owned()) {
            cheap.push(format!("{source}: {found:?}"));
        }
    }
    assert!(cheap.is_empty(), "{cheap:#?}");
}

#[test]
fn what_people_write_is_cheap_enough() {
    let names: Vec<String> = (0..1_000).map(|number| format!("name-{number}")).collect();
    let members: Vec<Value> = names.iter().map(|name| json!({"name": name, "weight": 1})).collect();
    let object =
        json!({"spec": {"names": names, "members": members, "some": &members[..200], "text": "a,b".repeat(2_000)}});
    for source in [
        "self.spec.names.all(n, n.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",
        "self.spec.members.filter(m, m.weight > 0).map(m, m.name).join(',').split(',').size() == 1000",
        "self.spec.some.all(a, self.spec.some.exists(b, b.name == a.name))",
        "self.spec.some.all(m, m.name in self.spec.names)",
        "self.spec.text.replace(',', ';').split(';').size() == 2001",
        "self.spec.names[0].matches('^\\\\w{1,63}-\\\\d+$')",
        "self.spec.members.map(m, merge(m, {'port': 80})).size() == 1000",
        "mergeDeep({'a': {'b': self.spec}}, {'a': {'b': {'n': 1}}}).a.b.names.size() == 1000",
        "self.spec.members.map(m, m.name).sort() == self.spec.names.sort()",
        "json.parse(json.text(self.spec.members)) == self.spec.members",
        "self.spec.text.substring(0, 1000).findAll('[ab]+').size() == 334",
        "self.spec.names.all(n, quantity('1Gi').isGreaterThan(quantity('1Mi')))",
    ] {
        let expression = compile(source, Scope::Object).unwrap();
        assert_eq!(expression.evaluate_bool(&Variables::of_object(&object)), Ok(true), "{source}");
    }
}

#[test]
fn one_budget_holds_for_a_whole_tree() {
    let object = json!({"spec": {"list": vec![0; 100]}});
    let dear = "\"${self.spec.list.all(a, self.spec.list.all(b, b == 0))}\"";
    let tree = |count: usize| {
        let site = Site::new("here", Scope::Object);
        let parts = (0..count).map(|_| Node::parse(dear.trim_matches('"'), &site).unwrap()).collect();
        ValueTemplate::new(Node::list(parts), site).render(&Variables::of_object(&object))
    };
    assert!(tree(1).is_ok());
    assert_eq!(tree(20).unwrap_err().cause, "the evaluation costs more than 1000000 units");
}

#[test]
fn a_rule_must_be_true_or_false() {
    let object = object();
    let variables = Variables::of_object(&object);
    assert_eq!(compile("self.spec.on", Scope::Object).unwrap().evaluate_bool(&variables), Ok(true));
    let error = compile("self.spec.n", Scope::Object).unwrap().evaluate_bool(&variables).unwrap_err();
    assert_eq!(error.to_string(), "here: the result is a int, not true or false");
    let error = compile("self.spec.?x", Scope::Object).unwrap().evaluate_bool(&variables).unwrap_err();
    assert_eq!(error.cause, "the optional has no value; write .orValue(false)");
    let refused = Expression::parse("a ${self.spec.on}", &Site::new("here", Scope::Object)).unwrap_err();
    assert_eq!(refused[0].message, "write one \"${…}\" and nothing around it");
}

#[test]
fn a_when_is_false_where_one_condition_is() {
    for (when, is_false) in [
        ("'a' in differs", true),
        ("'b' in differs", false),
        ("'a' in differs && self.spec.x == 1", true),
        ("self.spec.x == 1 && 'a' in differs", true),
        ("self.spec.x == 1 && ('a' in differs && self.spec.y == 1)", true),
        ("differs.exists(key, key == 'a')", true),
        ("'a' in differs || self.spec.x == 1", false),
        ("!('a' in differs && self.spec.x == 1)", false),
        ("'b' in differs && self.spec.x == 1", false),
        ("self.spec.x == 1", false),
    ] {
        let when = compile(when, Scope::Correction).unwrap();
        assert_eq!(when.is_false_where_differs("b"), is_false, "{when:?}");
    }
}

fn text(template: &str) -> Result<String, String> {
    let template = TextTemplate::parse(template, &Site::new("here", Scope::Object)).unwrap();
    template.render(&Variables::of_object(&object())).map_err(|error| error.to_string())
}

#[test]
fn texts_take_scalars_only() {
    let table = [
        ("plain", Ok("plain")),
        ("${self.spec.name}", Ok("web-1")),
        ("a ${self.spec.n}-${self.spec.on}-${self.spec.ratio}-${self.spec.whole} b", Ok("a 3-true-1.5-2 b")),
        ("$${x} ${self.spec.n}", Ok("${x} 3")),
        ("${self.spec.none}", Err("here: a null cannot stand inside a text")),
        ("${self.spec.list}", Err("here: a list cannot stand inside a text")),
        ("${self.spec.map}", Err("here: a map cannot stand inside a text")),
        ("${self.spec.?x}", Err("here: an optional without value cannot stand inside a text; write .orValue(…)")),
    ];
    for (template, expected) in table {
        assert_eq!(text(template), expected.map(str::to_owned).map_err(str::to_owned), "{template}");
    }
}

fn url(template: &str, object: &Value) -> Result<String, String> {
    let template =
        UrlTemplate::parse(template, &Site::new("here", Scope::Object)).map_err(|errors| errors[0].message.clone())?;
    template.render(&Variables::of_object(object)).map(String::from).map_err(|error| error.to_string())
}

#[test]
fn urls_are_escaped_by_place() {
    let object = json!({"spec": {"a": "x y/z?&=#%é", "n": 3, "p": "a/b c", "dot": ".", "dots": "..", "empty": "", "slash": "/a", "trail": "a/", "up": "a/../b", "none": null}});
    let dots = Err("here: a value in the URL's path is empty, `.` or `..`, or has such a part");
    let table = [
        ("http://h.example/a/${self.spec.a}", Ok("http://h.example/a/x%20y%2Fz%3F%26%3D%23%25%C3%A9")),
        (
            "http://h.example/${self.spec.n}.json?q=${self.spec.a}&n=${self.spec.n}",
            Ok("http://h.example/3.json?q=x%20y%2Fz%3F%26%3D%23%25%C3%A9&n=3"),
        ),
        ("https://h.example?q=${self.spec.n}", Ok("https://h.example/?q=3")),
        ("https://h.example", Ok("https://h.example/")),
        ("http://H.example:80/x", Ok("http://h.example/x")),
        ("http://h.example/${path(self.spec.p)}", Ok("http://h.example/a/b%20c")),
        ("http://h.example/${path(self.spec.p + '/' + string(self.spec.n))}/x", Ok("http://h.example/a/b%20c/3/x")),
        ("http://h.example/?q=${self.spec.empty}", Ok("http://h.example/?q=")),
        ("http://h.example/${self.spec.dot}", dots),
        ("http://h.example/${self.spec.dots}", dots),
        ("http://h.example/.${self.spec.dot}", dots),
        ("http://h.example/%2e${self.spec.dot}", dots),
        ("http://h.example/${self.spec.empty}/x", dots),
        ("http://h.example/${path(self.spec.slash)}", dots),
        ("http://h.example/${path(self.spec.trail)}", dots),
        ("http://h.example/${path(self.spec.up)}", dots),
        ("http://h.example/${self.spec.none}", Err("here: a null cannot stand inside a text")),
        ("http://h.example/${self.spec.gone}", Err("here: no field `gone`")),
    ];
    for (template, expected) in table {
        assert_eq!(url(template, &object), expected.map(str::to_owned).map_err(str::to_owned), "{template}");
    }
}

#[test]
fn no_value_leads_out_of_its_segment() {
    let url = |template: &str, value: &str| url(template, &json!({"spec": {"a": value}}));
    let refused = [
        "x/../../admin",
        "x\\..\\admin",
        "../x",
        "x/.",
        "./x",
        "%2e",
        "%2E%2e",
        ".%2e",
        "x%2f..%2Fadmin",
        "x%5c%2e%2e%5cadmin",
        "%252e%252E",
        "x%252f%252e%252e%252fadmin",
        "/..",
    ];
    for value in refused {
        for template in ["http://h/v/${self.spec.a}/y", "http://h/${path(self.spec.a)}", "http://h/a-${self.spec.a}-b"]
        {
            let error = url(template, value).unwrap_err();
            assert!(error.starts_with("here: a value in the URL's path"), "{template} {value}: {error}");
        }
        assert!(url("http://h/?q=${self.spec.a}", value).is_ok(), "{value}");
    }
    let taken = [
        ("/", "%2F"),
        ("a/b", "a%2Fb"),
        ("a//b", "a%2F%2Fb"),
        ("..a", "..a"),
        ("a.b/c..d", "a.b%2Fc..d"),
        ("%2f", "%252f"),
    ];
    for (value, expected) in taken {
        assert_eq!(url("http://h/${self.spec.a}/y", value), Ok(format!("http://h/{expected}/y")), "{value}");
    }
    for value in ["/", "a//b", "/a", "a/"] {
        assert!(url("http://h/${path(self.spec.a)}", value).is_err(), "{value}");
    }
    // Nor may a value together with the literal next to it.
    for (template, value) in [("http://h/${self.spec.a}../y", "x/"), ("http://h/x%2F.${self.spec.a}", "./y")] {
        assert!(url(template, value).is_err(), "{template} {value}");
    }
    assert!(url("http://h/a%2F..%2F${self.spec.a}", "x").unwrap_err().starts_with("a part of the path is"));
}

#[test]
fn hosts_are_literal() {
    const FORM: &str = "a URL begins with a literal http:// or https:// and host, for example https://api.example/v1/x";
    const LITERAL: &str =
        "hosts are literal: write `/` before the first ${…}, or name in allowHosts the hosts that may come of it";
    const BRACE: &str =
        "`{` stands in no URL: a field of the object is written `${self.spec.x}`, the character itself %7B";
    let table = [
        ("http://${self.spec.host}/x", LITERAL),
        ("http://api.${self.spec.host}/x", LITERAL),
        ("http://h.example:${self.spec.port}/x", LITERAL),
        ("http://h.example${self.spec.path}", LITERAL),
        ("${self.spec.url}", FORM),
        ("ftp://h.example/", FORM),
        ("h.example/x", FORM),
        ("http://u:p@h.example/", "a URL carries no user or password: use auth"),
        ("http://h.example\\x/y", FORM),
        ("http:///x", "no URL: empty host"),
        ("http://h.example/a b", "write the URL as it is sent: its path and query would be `/a%20b`"),
        ("http://h.example/{self.spec.name}", BRACE),
        ("http://h.example/${self.spec.name}?q={{ .name }}", BRACE),
        ("http://h.example/a/../b", "write the URL as it is sent: its path and query would be `/b`"),
        ("http://h.example/a\\b", "write the URL as it is sent: its path and query would be `/a/b`"),
        ("http://h.example/a#b", "a fragment (`#…`) is never sent; write %23 for the character"),
        (
            "http://h.example/?p=${path(self.spec.p)}",
            "path(…) keeps `/` in a URL's path; values in the query need nothing around them",
        ),
        (
            "http://h.example/${path(self.spec.p) + path(self.spec.p)}",
            "path(…) may only be the whole of a ${…} in a URL's path",
        ),
    ];
    for (template, expected) in table {
        assert_eq!(url(template, &json!({})), Err(expected.to_owned()), "{template}");
    }
    let site = Site::new("here", Scope::Object);
    assert_eq!(UrlTemplate::parse("https://H.example/x", &site).unwrap().host(), "h.example:443");
    assert_eq!(UrlTemplate::parse("http://h.example:8474", &site).unwrap().host(), "h.example:8474");
}

#[test]
fn fields_are_found_in_the_expressions() {
    let table: [(&str, &[&[&str]]); 12] = [
        ("self.spec.a.b", &[&["spec", "a", "b"]]),
        ("self.spec.?a.?b.orValue(self.metadata.name)", &[&["metadata", "name"], &["spec", "a", "b"]]),
        ("self.spec['a'].b + self.spec[?'c'].orValue('')", &[&["spec", "a", "b"], &["spec", "c"]]),
        ("has(self.spec.a.b)", &[&["spec", "a", "b"]]),
        ("self.spec.list[0].name", &[&["spec", "list"]]),
        ("self.spec.map[self.metadata.name].x", &[&["metadata", "name"], &["spec", "map"]]),
        ("self.spec.list.map(x, x.name + self.spec.suffix)", &[&["spec", "list"], &["spec", "suffix"]]),
        ("size(self.spec)", &[&["spec"]]),
        ("self", &[&[]]),
        ("{'a': self}['a'].spec", &[&[]]),
        ("response.body.x", &[]),
        ("self.spec.?a.optMap(x, x + self.spec.b).orValue(1)", &[&["spec", "a"], &["spec", "b"]]),
    ];
    for (source, expected) in table {
        let expression = compile(source, Scope::Response).unwrap();
        let found: Vec<Vec<&str>> =
            expression.fields().iter().map(|path| path.iter().map(String::as_str).collect()).collect();
        assert_eq!(found, expected, "{source}");
    }
}

/// Expressions over random objects: some evaluate and some do not, but always with the same result.
const PROBES: &[&str] = &[
    "self.spec.a",
    "self.spec.a.b",
    "self.spec.?a.?b.orValue(0)",
    "has(self.spec.a.b)",
    "has(self.spec.a) ? self.spec.a : self.spec.b",
    "self.spec.a[0].b",
    "self.spec.a[self.spec.b]",
    "self.spec.a.map(x, x)",
    "self.spec.a == self.spec.b",
    "size(self.spec.a)",
    "'a' in self.spec.a",
    "self.spec",
    "self",
    "{'x': self.spec.?a, 'y': [self.spec.?b]}",
];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..3).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_pruned_object_evaluates_as_the_whole(spec in any_json(), other in any_json()) {
        let whole = json!({"spec": spec, "other": other});
        for source in PROBES {
            let expression = compile(source, Scope::Object).unwrap();
            let pruned = expression.fields().prune(&whole);
            prop_assert_eq!(
                expression.evaluate(&Variables::of_object(&pruned)),
                expression.evaluate(&Variables::of_object(&whole)),
                "{}", source
            );
        }
    }

    #[test]
    fn a_url_segment_decodes_back_to_its_value(value in "\\PC{0,12}|[./%a ]{0,6}") {
        let object = json!({"spec": {"a": value.clone()}});
        match url("http://h.example/x/${self.spec.a}/y?q=${self.spec.a}", &object) {
            Ok(rendered) => {
                let rendered = ::url::Url::parse(&rendered).unwrap();
                let segments: Vec<&str> = rendered.path_segments().unwrap().collect();
                prop_assert_eq!(segments.len(), 3, "{}", rendered);
                let decoded = percent_encoding::percent_decode_str(segments[1]).decode_utf8().unwrap();
                prop_assert_eq!(decoded, value.as_str());
                let query: Vec<_> = rendered.query_pairs().collect();
                prop_assert_eq!(query.len(), 1);
                prop_assert_eq!(query[0].1.as_ref(), value.as_str());
                prop_assert_eq!(rendered.host_str(), Some("h.example"));
            }
            Err(error) => {
                prop_assert!(value.is_empty() || value.contains(['.', '%']), "{} {}", value, error);
            }
        }
    }

    #[test]
    fn a_kept_path_keeps_its_segments(value in "[./%a é?#]{0,8}") {
        let object = json!({"spec": {"a": value.clone()}});
        if let Ok(rendered) = url("http://h.example/x/${path(self.spec.a)}", &object) {
            let rendered = ::url::Url::parse(&rendered).unwrap();
            let decoded = percent_encoding::percent_decode_str(rendered.path()).decode_utf8().unwrap().into_owned();
            prop_assert_eq!(decoded, format!("/x/{value}"));
            prop_assert!(rendered.query().is_none());
        }
    }

    #[test]
    fn no_text_breaks_the_compiler(source in "[a-c.?(){}\\[\\]'\"+ self0-9:,!&|<>=-]{0,40}") {
        let _ = compile(&source, Scope::Object);
        let _ = UrlTemplate::parse(&format!("http://h/{source}"), &Site::new("here", Scope::Object));
    }
}
