#![allow(clippy::unwrap_used)]

use super::*;
use crate::check::document::{Source, documents_of};
use std::time::Duration;

fn target(name: &str, kind: &str, more: &str) -> String {
    format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: {name}}}\nspec:\n  objects: {{apiVersion: demo.example/v1, kind: {kind}}}\n  identity: \"${{self.metadata.name}}\"\n  interval: 30s\n  read: {{http: {{url: \"https://h.example/x/${{self.metadata.name}}\"}}}}\n  compare: {{desired: {{a: 1}}}}\n{more}"
    )
}

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), text: text.to_owned() }
}

fn checked(sources: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let documents = documents_of(sources.iter().map(|(name, text)| source(name, text)).collect());
    let report = check(&documents);
    let shown = |remark: &Remark| {
        let (line, column) = remark.place.unwrap();
        let word = if remark.severity == Severity::Error { "error" } else { "warning" };
        format!("{word} {}:{line}:{column} {}", remark.source, remark.message)
    };
    let names = report.targets.iter().map(|good| format!("{} in {}", good.target.name, good.source));
    (names.collect(), report.remarks.iter().map(shown).collect())
}

const CORRECT: &str = "  correct: {mode: Correct, http: {create: [{method: POST, url: \"https://h.example/x/${self.metadata.name}\"}], update: [{method: PUT, url: \"https://h.example/x/${self.metadata.name}\"}]}}\n";

#[test]
fn a_mistake_is_told_in_its_file() {
    let wrong = target("a", "A", "").replace("identity", "identiti");
    let inside = wrong.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let map = format!(
        "kind: ConfigMap\nmetadata: {{name: m, labels: {{driftpoller.dev/targets: \"true\"}}}}\ndata:\n  a.yaml: |\n{inside}"
    );
    let (targets, remarks) = checked(&[("t/a.yaml", &wrong), ("t/m.yaml", &map)]);
    assert!(targets.is_empty());
    let said = "unknown key `identiti` in spec: did you mean `identity`?";
    assert!(remarks.contains(&format!("error t/a.yaml:6:3 {said}")), "{remarks:#?}");
    assert!(remarks.contains(&format!("error t/m.yaml:10:7 {said}")), "{remarks:#?}");
}

#[test]
fn a_document_without_its_bar_is_told_at_its_key() {
    let inside = target("a", "A", "").lines().map(|line| format!("    {line}\n")).collect::<String>();
    for (label, count) in [(", labels: {driftpoller.dev/targets: \"true\"}", 1), ("", 2)] {
        let map =
            format!("kind: ConfigMap\nmetadata: {{name: m{label}}}\ndata:\n  a.yaml:\n{inside}  other: {{b: c}}\n");
        let (targets, mut remarks) = checked(&[("m.yaml", &map)]);
        assert!(targets.is_empty());
        remarks.retain(|remark| !remark.contains("data.other is a map"));
        let said = "error m.yaml:4:3 data.a.yaml is a map, not a text: write `a.yaml: |`";
        assert!(remarks.iter().any(|remark| remark == said) && remarks.len() == count, "{remarks:#?}");
    }
}

#[test]
fn documents_are_checked_together() {
    let (one, other) = (target("a", "A", ""), target("a", "B", ""));
    let (targets, remarks) =
        checked(&[("t/a.yaml", &one), ("b.yaml", &format!("{other}---\n{}", target("c", "A", "")))]);
    assert_eq!(targets, ["a in b.yaml", "c in b.yaml"]);
    let rest = "; the text in the older ConfigMap is polled, and nothing is corrected or deleted until one is gone";
    assert_eq!(
        remarks,
        [
            format!("error t/a.yaml:3:18 the target name `a` is already taken by ./b.yaml document 1{rest}"),
            format!("error t/a.yaml:5:12 these objects already belong to target `c` of ./b.yaml document 2{rest}"),
        ]
    );
    let (_, remarks) = checked(&[("a.yaml", &one), ("b.yaml", &target("b", "A", ""))]);
    assert_eq!(remarks, ["error b.yaml:5:12 these objects already belong to target `a` of ./a.yaml"]);
}

#[test]
fn what_is_perhaps_not_meant_is_a_warning() {
    let (one, other) = (target("a", "A", CORRECT), target("b", "B", CORRECT));
    let (targets, remarks) = checked(&[("a.yaml", &one), ("b.yaml", &other)]);
    assert_eq!(targets.len(), 2);
    assert!(
        remarks[0].starts_with("warning b.yaml:6:3 it writes to the scope that target `a` writes to"),
        "{remarks:#?}"
    );
    assert_eq!(remarks.len(), 1);
    let identified = |text: &str, identity: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with("identity:")).unwrap();
        text.replace(line, &format!("  identity: \"{identity}\""))
    };
    for (left, right, warns) in [
        ("db ${self.metadata.name}", "user ${self.metadata.name}", false),
        ("${self.metadata.name}/a", "${self.metadata.name}/b", false),
        ("db ${self.metadata.name}", "${self.metadata.name}", true),
        ("db ${self.metadata.name}", "db-${self.metadata.name}", false),
        ("db${self.metadata.name}", "db-${self.metadata.name}", true),
    ] {
        let (left, right) = (identified(&one, left), identified(&other, right));
        let said = checked(&[("a.yaml", &left), ("b.yaml", &right)]).1;
        assert_eq!(said.iter().any(|said| said.contains("writes to the scope")), warns, "{left} {right}: {said:?}");
    }
    let scoped = target("b", "B", &format!("  scope: other\n{CORRECT}"));
    assert!(checked(&[("a.yaml", &one), ("b.yaml", &scoped)]).1.is_empty());

    let http = "{http: {url: \"https://h.example/x/${self.metadata.name}\"}}";
    let sql = "{postgres: {connection: {secretRef: {name: a}}, query: 'SELECT 1 AS a FROM x WHERE y = ${self.metadata.name}'}}";
    let ldap = "{ldap: {secretRef: {name: a}, base: 'uid=${self.metadata.name},dc=a', attributes: [a]}}";
    let (_, remarks) = checked(&[("a.yaml", &one.replace(http, sql))]);
    assert!(remarks[0].starts_with("warning a.yaml:6:3 without `scope`, claims count only for"), "{remarks:#?}");
    for good in [scoped.replace(http, sql), one.replace(http, ldap), target("c", "C", "").replace(http, sql)] {
        assert_eq!(checked(&[("b.yaml", &good)]).1, Vec::<String>::new(), "{good}");
    }

    let half = one.replace("create: [{method: POST, url: \"https://h.example/x/${self.metadata.name}\"}], ", "");
    let (_, remarks) = checked(&[("a.yaml", &half)]);
    let said = "warning a.yaml:10:35 it has update without create: a missing resource is reported and never created";
    assert_eq!(remarks, [said]);

    let inside = target("a", "A", "").lines().map(|line| format!("    {line}\n")).collect::<String>();
    let (targets, remarks) =
        checked(&[("m.yaml", &format!("kind: ConfigMap\nmetadata: {{name: m}}\ndata:\n  a: |\n{inside}"))]);
    assert_eq!(targets, ["a in m.yaml"]);
    assert!(
        remarks[0].starts_with("warning m.yaml:2:1 ConfigMap m holds a target and lacks the label"),
        "{remarks:#?}"
    );
}

#[test]
fn rates_follow_objects_and_intervals() {
    let documents = documents_of(vec![source("a.yaml", &target("a", "A", ""))]);
    let target = check(&documents).targets[0].target.clone();
    let rates = Rate::of(&target, 600);
    let expected =
        Rate { host: "h.example:443".to_owned(), objects: 600, interval: Duration::from_secs(30), requests: 600 };
    assert_eq!(rates, [expected]);
    assert_eq!(total_rates(rates.iter().chain(&rates))["h.example:443"], 40.0);
}

#[test]
fn an_identity_that_all_objects_have_is_a_warning() {
    let table = [
        ("\"${self.metadata.name}\"", false),
        ("\"a-${self.metadata.name}\"", false),
        ("web", true),
        ("\"${'a' + 'b'}\"", true),
        ("\"${self.kind}\"", true),
    ];
    for (identity, is_told) in table {
        let text =
            target("a", "A", "").replace("\"${self.metadata.name}\"\n  interval", &format!("{identity}\n  interval"));
        let (targets, remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!((targets.len(), remarks.len()), (1, usize::from(is_told)), "{identity}: {remarks:#?}");
        assert!(
            remarks.iter().all(|remark| remark.starts_with("warning a.yaml:6:3 no field in which objects differ")),
            "{remarks:#?}"
        );
    }
}

#[test]
fn a_desired_state_that_is_never_observed_is_a_warning() {
    let told = |desired: &str, observed: &str| {
        let text = target("a", "A", "")
            .replace("{desired: {a: 1}}", desired)
            .replace(".name}\"}}\n", &format!(".name}}\", observed: {observed}}}}}\n"));
        let (targets, remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(targets.len(), 1, "{desired} {observed} {remarks:#?}");
        remarks
    };
    let all = "{desired: {port: 1, none: null, name: x}, rules: [{path: /name, ignore: true}]}";
    let said = "warning a.yaml:9:23 `observed` of the read has no `port`, so that it differs in every poll";
    assert_eq!(told(all, "{ports: '${response.body}'}"), [format!("{said}: did you mean `ports`?")]);
    assert_eq!(told(all, "{size: '${response.body}'}"), [said]);
    for (desired, observed) in
        [(all, "{port: '${response.body.?port}', name: x}"), (all, "'${response.body}'"), ("{desired: x}", "{a: b}")]
    {
        assert!(told(desired, observed).is_empty(), "{desired} {observed}");
    }
}

#[test]
fn an_update_that_has_no_write_is_a_warning() {
    let step = |when: &str| {
        format!("{{method: PUT, url: \"https://h.example/${{self.metadata.name}}\", when: \"${{{when}}}\"}}")
    };
    let told = |desired: &str, steps: &[&str]| {
        let steps = steps.join(", ");
        let correct = format!("  correct: {{mode: Observe, http: {{create: [], update: [{steps}]}}}}\n")
            .replace("create: [], ", "");
        let text = target("a", "A", &correct).replace("{desired: {a: 1}}", desired);
        let (targets, remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(targets.len(), 1, "{steps} {remarks:#?}");
        remarks
    };
    let said = "differs alone, no step of update writes it: nothing is sent, and the correction fails each time; add a step for it, or \
                widen a `when`";
    let all = "{desired: {a: 1, b: 2, c: 3}}";
    let (a, b) = (step("'a' in differs"), step("differs.exists(key, key == 'b')"));
    let look = "{method: GET, url: \"https://h.example/x\"}";
    assert_eq!(told(all, &[look, &a, &b]), [format!("warning a.yaml:10:35 if `c` {said}")]);
    assert_eq!(told(all, &[&a]), [format!("warning a.yaml:10:35 if one of `b`, `c` {said}")]);
    let (by_object, by_desired) = (step("'a' in differs || has(self.spec.c)"), step("'a' in differs || desired.c > 1"));
    let (always, but_one) = (
        "{method: PUT, url: \"https://h.example/${self.metadata.name}\"}",
        step("!('a' in differs && 'b' in differs)"),
    );
    let replaced = "{desired: {a: 1, b: {x: 1}}, rules: [{path: /b/x, ignore: true}, {path: /a, ignore: true}]}";
    for (desired, steps) in [
        (all, &[&*a, &b, &step("'c' in differs")][..]),
        (all, &[&a, &by_object]),
        (all, &[&a, &by_desired]),
        (all, &[&a, always]),
        (all, &[&but_one]),
        (replaced, &[&step("'b' in differs")]),
        ("{desired: {a: 1, 'b c': 2}}", &[&a]),
        ("{desired: {a: 1, b: 2}, rules: [{path: '', extra: drift}]}", &[&a]),
        ("{desired: \"${self.spec}\"}", &[&a]),
    ] {
        assert!(told(desired, steps).is_empty(), "{desired} {steps:?}");
    }
}

#[test]
fn a_key_that_finds_the_resource_needs_no_write() {
    let told = |name: &str, observed: &str| {
        let correct = "  correct: {mode: Observe, http: {update: [{method: PATCH, url: \"https://h.example/x/${self.metadata.name}\", when: \"${'ttl' in differs}\"}]}}\n";
        let text = target("a", "A", correct)
            .replace("identity: \"${self.metadata.name}\"", "identity: \"${self.metadata.name + self.spec.name}\"")
            .replace("{desired: {a: 1}}", &format!("{{desired: {{name: {name}, ttl: \"${{self.spec.ttl}}\"}}}}"))
            .replace("x/${self.metadata.name}\"}}\n", &format!("x/${{self.spec.name}}\"{observed}}}}}\n"));
        let (targets, remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(targets.len(), 1, "{text} {remarks:#?}");
        remarks.len()
    };
    let map = |name: &str| format!(", observed: {{name: {name}, ttl: '${{response.body.ttl}}'}}");
    let (spec, whole) = ("\"${self.spec.name}\"", String::new());
    for (name, observed, count) in [
        (spec, &whole, 0),
        ("\"${self.spec.name}.example\"", &whole, 0),
        ("\"${self.metadata.name}\"", &whole, 0),
        ("\"${self.spec.other}\"", &map("\"${self.spec.other}\""), 0),
        ("www", &map("www"), 0),
        ("\"${self.spec.name + self.spec.other}\"", &whole, 1),
        ("\"${self.spec.other}\"", &whole, 1),
        ("www", &whole, 1),
        ("www", &map("mail"), 1),
        ("www", &map("'${response.body.name}'"), 1),
    ] {
        assert_eq!(told(name, observed), count, "{name} {observed}");
    }
}

#[test]
fn requests_that_objects_share_are_a_warning() {
    let told = |read: &str, desired: &str, correct: &str| {
        let correct = format!("  correct: {{mode: Observe, http: {{{correct}}}}}\n");
        let text = target("a", "A", if correct.contains("{}") { "" } else { &correct })
            .replace("{http: {url: \"https://h.example/x/${self.metadata.name}\"}}", read)
            .replace("{desired: {a: 1}}", &format!("{{desired: {desired}}}"));
        let (targets, mut remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(targets.len(), 1, "{read} {correct} {remarks:#?}");
        remarks.retain(|remark| !remark.contains(" without "));
        remarks.join("; ")
    };
    let own = "{http: {url: \"https://h.example/${self.metadata.name}\"}}";
    let said =
        "warning a.yaml:8:17 no field of the object stands in the read, so that all objects read the same resource";
    assert!(told("{http: {url: \"https://h.example/x\"}}", "{a: 1}", "").starts_with(said));
    let said =
        "it is made of `self.spec.b` and the identity of `self.metadata.name`: two objects can read one resource";
    assert!(told("{http: {url: \"https://h.example/${self.spec.b}\"}}", "{a: 1}", "").contains(said));
    for read in [
        "{http: {url: \"https://h.example/${self.status.id}\"}}",
        "{http: {url: \"https://h.example/${self.metadata.uid}\"}}",
        "{http: {url: \"https://h.example/${self.spec.zone}/${self.metadata.name}\"}}",
        "{http: {url: \"https://h.example/x\", observed: \"${response.body.filter(one, one.id == self.metadata.name)[0]}\"}}",
        "{http: {url: \"https://h.example/x\", each: \"${response.body}\", key: {item: \"${item.name}\"}}}",
        "{postgres: {connection: {secretRef: {name: a}}, query: 'SELECT 1 FROM x WHERE y = ${self.metadata.name}'}}",
    ] {
        assert_eq!(told(read, "{a: 1}", ""), "", "{read}");
    }
    let of = |step: &str| format!("{{method: PUT, {step}}}");
    let (bare, named) = (of("url: \"https://h.example/x\""), of("url: \"https://h.example/${self.metadata.name}\""));
    let with_desired = of("url: \"https://h.example/x\", body: \"${desired}\"");
    let same = "no field of the object stands in it, so that each object's";
    for action in ["update", "delete"] {
        let step = |step: &str| format!("{action}: [{step}]");
        assert!(told(own, "{a: 1}", &step(&bare)).contains(&format!("{same} {action} sends the same")), "{action}");
        assert!(told(own, "{a: 1}", &step(&with_desired)).contains(same), "the same desired state of all");
        assert!(told(own, "{a: \"${self.spec.a}\"}", &step(&with_desired)).contains("not of what the identity is"));
        assert_eq!(told(own, "{name: \"${self.metadata.name}\"}", &step(&with_desired)), "");
        assert_eq!(told(own, "{a: 1}", &step(&named)), "");
        let found = of("url: \"https://h.example/${steps.find.body.id}\"");
        let look = "{name: find, method: GET, url: \"https://h.example/${self.metadata.name}\"}";
        assert_eq!(told(own, "{a: 1}", &step(&format!("{look}, {found}"))), "");
    }
    let stored = of("url: \"https://h.example/x\", idempotent: true, store: {id: \"${response.body.id}\"}")
        .replace("PUT", "POST");
    for create in [&bare, &with_desired, &stored] {
        let told = told(own, "{a: \"${self.spec.a}\"}", &format!("create: [{create}]"));
        assert!(told.is_empty() || told.contains("a step stores `status.id`"), "its name may be given: {told}");
    }
}

#[test]
fn objects_that_make_their_own_kind_are_a_warning() {
    let told = |objects: &str, kind: &str| {
        let correct = format!(
            "  correct: {{mode: Observe, kubernetes: {{manifest: {{apiVersion: demo.example/v1, kind: {kind}, spec: {{a: 1}}}}}}}}\n"
        );
        let own = format!(
            "{{kubernetes: {{apiVersion: demo.example/v1, kind: {kind}, name: \"x-${{self.metadata.name}}\", observed: \"${{resource.spec}}\"}}}}"
        );
        let text = target("a", "A", &correct)
            .replace("{http: {url: \"https://h.example/x/${self.metadata.name}\"}}", &own)
            .replace("kind: A}", objects);
        let (targets, remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(targets.len(), 1, "{objects} {kind} {remarks:#?}");
        remarks.iter().any(|remark| remark.contains("another one is made for it, without end"))
    };
    assert!(told("kind: A}", "A"));
    assert!(!told("kind: A}", "B") && !told("kind: A, labelSelector: \"tier=own\"}", "A"));
}

#[test]
fn json_in_a_text_is_a_warning() {
    let told = |body: &str| {
        let correct = format!(
            "  correct: {{mode: Observe, http: {{create: [{{method: POST, url: \"https://h.example/x\", {body}}}]}}}}\n"
        );
        let (targets, remarks) = checked(&[("a.yaml", &target("a", "A", &correct))]);
        assert_eq!(targets.len(), 1, "{body} {remarks:#?}");
        remarks.iter().any(|remark| remark.contains("a text that begins like JSON"))
    };
    assert!(told("body: '{\"a\": ${desired.a}}'") && told("body: '[1]'"));
    for good in ["body: {a: \"${desired.a}\"}", "body: \"${desired}\"", "body: a", "text: '{\"a\": ${desired.a}}'"] {
        assert!(!told(good), "{good}");
    }
}

#[test]
fn objects_that_one_name_tells_apart_share_nothing() {
    let told = |identity: &str, read: &str| {
        let text = target("a", "A", "")
            .replace("identity: \"${self.metadata.name}\"", &format!("identity: \"{identity}\""))
            .replace("{http: {url: \"https://h.example/x/${self.metadata.name}\"}}", read);
        let (targets, remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(targets.len(), 1, "{identity} {read} {remarks:#?}");
        remarks.join("; ")
    };
    let http = |path: &str| format!("{{http: {{url: \"https://h.example/{path}\"}}}}");
    let kubernetes = "{kubernetes: {apiVersion: v1, kind: ConfigMap, name: \"NAME\"}}";
    let (host, shares) = ("${self.spec.host}", "two objects can read one resource and count as two");
    for (read, is_shared) in [
        (http("${self.metadata.namespace}-${self.metadata.name}"), false),
        (http("${self.metadata.name}"), false),
        (kubernetes.replace("NAME", "${self.metadata.name}"), false),
        (kubernetes.replace("NAME", "${self.spec.map}"), true),
        (http("${self.metadata.namespace}"), true),
    ] {
        let told = told(host, &read);
        assert_eq!((told.contains(shares), told.is_empty()), (is_shared, !is_shared), "{read}: {told}");
    }
    let step = |action: &str| {
        format!(
            "  correct: {{mode: Observe, http: {{{action}: [{{method: PUT, url: \"https://h.example/${{self.metadata.name}}\"}}]}}}}\n"
        )
    };
    for action in ["update", "delete"] {
        let text = target("a", "A", &step(action))
            .replace("identity: \"${self.metadata.name}\"", "identity: \"${self.spec.id}\"")
            .replace("x/${self.metadata.name}\"}}", "x/${self.spec.id}\"}}");
        let remarks = checked(&[("a.yaml", &text)]).1;
        assert!(remarks.iter().any(|remark| remark.contains("not of what the identity is")), "{action}: {remarks:?}");
    }
    let one = told("settings", &http("settings"));
    assert!(one.contains("all objects have one identity") && !one.contains("the same resource"), "{one}");
}

#[test]
fn a_key_that_no_update_carries_is_a_warning() {
    let told = |desired: &str, step: &str| {
        let correct = format!(
            "  correct: {{mode: Observe, http: {{update: [{{method: PUT, url: \"https://h.example/${{self.metadata.name}}\", {step}}}]}}}}\n"
        );
        let text = target("a", "A", &correct).replace("{desired: {a: 1}}", &format!("{{desired: {desired}}}"));
        let (targets, mut remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(targets.len(), 1, "{desired} {step} {remarks:#?}");
        remarks.retain(|remark| !remark.contains(" without "));
        remarks.join("; ")
    };
    let desired = "{a: \"${self.spec.a}\", b: \"${self.spec.b}\", c: 1}";
    let said = "warning a.yaml:10:35 no request of update carries `b` of `desired`: where that differs, it is sent again and again and nothing \
                heals; add it to a body, or write body: \"${desired}\"";
    for lacking in ["body: {x: \"${self.spec.a}\"}", "body: {a: \"${desired.a}\"}", "form: {a: \"${desired['a']}\"}"] {
        assert_eq!(told(desired, lacking), said, "{lacking}");
    }
    for whole in [
        "body: {a: \"${desired.a}\", B: \"${self.spec.b}\"}",
        "body: \"${desired}\"",
        "body: {a: \"${desired.a}\", other: \"${desired.map(key, key)}\"}",
        "body: \"${self.spec}\"",
        "body: {restart: true}",
        "headers: {b: \"${desired.b}\"}, body: {a: \"${desired.a}\"}",
        "when: \"${desired.c == 1}\", body: {a: \"${desired.a}\"}",
        "text: \"${desired.a}\"",
        "body: {a: \"${desired.a}\"}}, {method: POST, url: \"https://h.example/${self.metadata.name}/enable\"",
    ] {
        assert_eq!(told(desired, whole), "", "{whole}");
    }
    assert_eq!(
        told("{a: \"${self.spec.a}\", n: \"${self.metadata.name}\"}", "body: {a: \"${desired.a}\"}"),
        "",
        "it is found by n"
    );
}

#[test]
fn what_is_replaced_whole_needs_no_update() {
    let told = |rules: &str, more: &str| {
        let step =
            |method: &str| format!("[{{method: {method}, url: \"https://h.example/x/${{self.metadata.name}}\"}}]");
        let (create, delete) = (step("POST"), step("DELETE"));
        let correct = format!("  correct: {{mode: Correct, http: {{create: {create}, delete: {delete}{more}}}}}\n");
        let desired = format!("compare: {{desired: {{a: \"${{self.spec.a}}\", b: 1}}, rules: [{rules}]}}");
        let (targets, remarks) =
            checked(&[("a.yaml", &target("a", "A", &correct).replace("compare: {desired: {a: 1}}", &desired))]);
        assert_eq!(targets.len(), 1, "{remarks:#?}");
        remarks.join("; ")
    };
    let replace = ", replace: [{method: PUT, url: \"https://h.example/x/${self.metadata.name}\"}]";
    for rules in [
        "{path: '', change: replace}",
        "{path: /*, change: replace}",
        "{path: /a, change: replace}, {path: /b, change: replace}",
    ] {
        assert_eq!((told(rules, ""), told(rules, replace)), (String::new(), String::new()), "{rules}");
    }
    let said = "it has create without update: a difference is reported and never corrected";
    for rules in ["{path: /a, change: replace}", "{path: /a/b, change: replace}, {path: /b, change: replace}"] {
        assert!(told(rules, "").ends_with(said) && told(rules, replace).ends_with(said), "{rules}");
    }
}

#[test]
fn what_chose_the_resource_needs_no_update() {
    let told = |desired: &str| {
        let create = "[{method: PUT, url: \"https://h.example/x/${self.metadata.name}\"}]";
        let correct = format!("  correct: {{mode: Correct, http: {{create: {create}, delete: {create}}}}}\n");
        let text = target("a", "A", &correct).replace("{desired: {a: 1}}", &format!("{{desired: {desired}}}"));
        let (targets, remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(targets.len(), 1, "{remarks:#?}");
        remarks.iter().any(|remark| remark.contains("create without update"))
    };
    assert!(!told("{name: \"${self.metadata.name}\"}"));
    for doubtful in ["{name: \"${self.metadata.name}\", a: \"${self.spec.a}\"}", "{a: 1}", "\"${self.spec}\""] {
        assert!(told(doubtful), "{doubtful}");
    }
}

#[test]
fn secrets_of_every_namespace_are_a_warning() {
    let secrets = "  secrets: {password: {fromObject: \"${self.metadata.name}\", key: password}}\n";
    let send = CORRECT.replace("{method: PUT", "{method: PUT, text: \"${secrets.password}\"");
    let everywhere = target("a", "A", &format!("{secrets}{send}"));
    let said = "warning a.yaml:10:3 `fromObject` without `namespaces` in `objects`: the controller has to read every Secret of the cluster; \
                write namespaces: [team-a] with those that have such objects";
    assert_eq!(checked(&[("a.yaml", &everywhere)]).1, [said]);
    let bounded = everywhere.replace("kind: A}", "kind: A, namespaces: [team-a]}");
    let observing = everywhere.replace("mode: Correct", "mode: Observe");
    let own = everywhere
        .replace("{fromObject: \"${self.metadata.name}\", key: password}", "{secretRef: {name: s, key: password}}");
    for good in [bounded, observing, own] {
        assert_eq!(checked(&[("a.yaml", &good)]).1, [""; 0], "{good}");
    }
}

#[test]
fn a_create_that_seems_to_ask_first_is_a_warning() {
    let url = "url: \"https://h.example/${self.metadata.name}\"";
    let told = |read: &str, first: &str, further: &str| {
        let step = format!("{{method: PUT, {url}}}");
        let correct = format!(
            "  correct: {{mode: Observe, http: {{create: [{{{first}, {url}}}{further}], update: [{step}]}}}}\n"
        );
        let text = target("a", "A", &correct).replace("{http: {", &format!("{{http: {{{read}"));
        let (targets, remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(targets.len(), 1, "{first} {remarks:#?}");
        remarks.join("; ")
    };
    let (post, put) = ("method: POST, ", format!(", {{method: PUT, {url}}}"));
    let said = told(post, "method: POST", &put);
    assert!(said.starts_with("warning a.yaml:10:35 its first step is a POST, as the read is: "), "{said}");
    for (read, first, further) in [
        (post, "method: POST, reads: true", &*put),
        (post, "method: POST, reads: false", &put),
        (post, "method: GET", &put),
        (post, "method: POST", ""),
        ("", "method: POST", &put),
    ] {
        assert_eq!(told(read, first, further), "", "{read} {first} {further}");
    }
}

#[test]
fn a_create_that_nobody_can_trace_is_a_warning() {
    let url = "url: \"https://h.example/x\"";
    let (find, post) = (format!("{{name: find, method: GET, {url}}}"), format!("method: POST, {url}"));
    let store = "store: {id: \"${response.body.id}\"}";
    let update = "{method: PUT, url: \"https://h.example/x/${self.status.id}\"}";
    let told = |steps: &str| {
        let correct = format!("  correct: {{mode: Correct, http: {{create: [{steps}], update: [{update}]}}}}\n");
        let (targets, remarks) = checked(&[("a.yaml", &target("a", "A", &correct))]);
        assert_eq!(targets.len(), 1, "{steps} {remarks:#?}");
        remarks.join("; ")
    };
    let said = |step: &str| format!("warning a.yaml:10:35 step {step} is a POST that stores what its answer says");
    let table = [
        (format!("{{{post}, {store}}}"), said("1")),
        (format!("{{{post}}}, {{name: make, {post}, {store}}}"), said("make")),
        (format!("{{{post}, {store}}}, {find}"), said("1")),
        (format!("{{{post}, {store}, idempotent: true}}"), String::new()),
        (format!("{find}, {{{post}, {store}, when: \"${{steps.find.status == 404}}\"}}"), String::new()),
        (format!("{{{post}}}"), String::new()),
    ];
    for (steps, expected) in table {
        let found = told(&steps);
        assert!(if expected.is_empty() { found.is_empty() } else { found.starts_with(&expected) }, "{steps} {found}");
    }
}

#[test]
fn a_correction_without_mode_is_a_warning() {
    let silent = target("a", "A", &CORRECT.replace("mode: Correct, ", ""));
    let (_, remarks) = checked(&[("a.yaml", &silent)]);
    assert!(
        matches!(&*remarks, [only] if only.starts_with("warning a.yaml:10:3 it says how to correct")),
        "{remarks:#?}"
    );
    let told = target("a", "A", &CORRECT.replace("mode: Correct", "mode: Observe"));
    assert_eq!(checked(&[("a.yaml", &told)]).1, Vec::<String>::new());
}

#[test]
fn what_is_known_of_an_operator_is_a_warning() {
    let nudge = |annotation: &str| {
        format!("  correct: {{mode: Correct, nudge: {{annotations: {{{annotation}: \"${{correction}}\"}}}}}}\n")
    };
    let (any, flux) = (nudge("a.example/at"), nudge("reconcile.fluxcd.io/requestedAt"));
    let lost = "writes the whole list of conditions anew at each reconcile, so both are lost each time: write \
                objects.conditions: Report";
    let only = "hears no change of the metadata but of the annotation reconcile.fluxcd.io/requestedAt: write that one";
    let requests = CORRECT.trim_end();
    for (group, kind, correct, expected) in [
        ("rabbitmq.com/v1beta1", "Queue", any.as_str(), Some(lost)),
        ("rabbitmq.com/v1beta1", "Queue, conditions: Report", &any, None),
        ("rabbitmq.com/v1beta1", "RabbitmqCluster", &any, None),
        (
            "rabbitmq.com/v1beta1",
            "Queue",
            requests,
            Some("Report, with correct.nudge or mode: Observe, without publish and"),
        ),
        (
            "sqs.services.k8s.aws/v1alpha1",
            "Queue",
            &any,
            Some("hears no change of the metadata, so a nudge wakes nobody:"),
        ),
        ("sqs.services.k8s.aws/v1alpha1", "Queue", "  correct: {mode: Observe}", None),
        ("source.toolkit.fluxcd.io/v1", "Bucket", &any, Some(only)),
        ("source.toolkit.fluxcd.io/v1", "Bucket", &flux, None),
        ("sql.crossplane.io/v1", "Role", &any, None),
        ("demo.example/v1", "Queue", &any, None),
    ] {
        let text = target("t", kind, correct).replacen("demo.example/v1", group, 1);
        let (names, remarks) = checked(&[("a.yaml", &text)]);
        assert_eq!(names.len(), 1, "{remarks:?}");
        let told: Vec<_> =
            remarks.iter().filter(|one| one.contains("metadata") || one.contains("conditions")).collect();
        assert_eq!(told.len(), usize::from(expected.is_some()), "{kind} {correct}: {remarks:?}");
        assert!(told.iter().all(|one| one.contains(expected.unwrap_or_default())), "{told:?}");
    }
}

#[test]
fn a_config_map_for_another_namespace_is_a_warning() {
    let inside = target("a", "A", "").lines().map(|line| format!("    {line}\n")).collect::<String>();
    let map = |namespace: &str| {
        let labels = "labels: {driftpoller.dev/targets: \"true\"}";
        format!("kind: ConfigMap\nmetadata: {{name: m, {namespace}{labels}}}\ndata:\n  a: |\n{inside}")
    };
    for (namespace, told) in [("", 0), ("namespace: drift-system, ", 0), ("namespace: team-a, ", 1)] {
        let documents = documents_of(vec![source("m.yaml", &map(namespace))]);
        let remarks = misplaced(&documents, "drift-system");
        assert_eq!(remarks.len(), told, "{remarks:#?}");
        let is_it = |remark: &Remark| {
            remark.place == Some((2, 21)) && remark.message.contains("ConfigMap m is for namespace team-a")
        };
        assert!(remarks.iter().all(is_it), "{remarks:#?}");
    }
}

#[test]
fn a_mask_that_an_update_carries_is_refused() {
    let checked_with = |body: &str| {
        let more = format!(
            "  secrets: {{apiKey: {{secretRef: {{name: s, key: k}}}}}}\n  correct:\n    mode: Correct\n    http:\n      update:\n      - {{name: look, method: GET, url: \"https://h.example/x\"}}\n      - {{method: PUT, url: \"https://h.example/x\", body: \"${{{body}}}\"}}\n      - {{method: PATCH, url: \"https://h.example/x\", text: \"${{secrets.apiKey}}\", when: \"${{'apiKey' in differs}}\"}}\n"
        );
        let text = target("a", "A", &more).replace(
            "compare: {desired: {a: 1}}",
            "compare: {desired: {a: 1}, writeOnly: [{path: /apiKey, secret: apiKey}]}",
        );
        checked(&[("a.yaml", &text)])
    };
    let (targets, remarks) = checked_with("mergeDeep(without(steps.look.body, ['id']), desired)");
    assert!(targets.is_empty());
    let expected = "error a.yaml:16:57 correct.http.update[1].body: it sends back what an answer gives for /apiKey, which holds \
                    secrets.apiKey; many APIs answer a mask there. Set it, mergeDeep(steps.look.body, {'apiKey': \
                    secrets.apiKey}), or leave it out, without(steps.look.body, ['apiKey'])";
    assert_eq!(remarks, [expected]);
    let (targets, remarks) = checked_with("mergeDeep(without(steps.look.body, ['apiKey']), desired)");
    assert_eq!(targets.len(), 1);
    let doubted = "correct.http.update[1].body: a PUT without /apiKey may clear it outside; set it in what is sent of \
                   steps.look.body: mergeDeep(…, {'apiKey': secrets.apiKey})";
    assert!(remarks.iter().any(|remark| remark == &format!("warning a.yaml:16:57 {doubted}")), "{remarks:#?}");
    let (targets, remarks) = checked_with("mergeDeep(steps.look.body, merge(desired, {'apiKey': secrets.apiKey}))");
    assert_eq!(targets.len(), 1);
    assert!(!remarks.iter().any(|remark| remark.contains("/apiKey")), "{remarks:#?}");
}

#[test]
fn a_post_that_ignores_its_look_up_is_doubted() {
    let url = "url: \"https://h.example/x/${self.metadata.name}\"";
    for (look_up, post, is_doubted) in [
        ("method: GET", "method: POST", true),
        ("method: POST, reads: true", "method: POST", true),
        ("method: GET", "method: POST, when: \"${steps.look.status == 404}\"", false),
        ("method: GET", "method: POST, body: {a: \"${steps.look.body.id}\"}", false),
        ("method: GET", "method: POST, idempotent: true", false),
        ("method: GET", "method: PUT", false),
        ("method: PUT", "method: POST", false),
    ] {
        let create = format!("create: [{{name: look, {look_up}, {url}}}, {{{post}, {url}}}]");
        let correct = CORRECT.replace(&format!("create: [{{method: POST, {url}}}]"), &create);
        let (targets, said) = checked(&[("a.yaml", &target("a", "A", &correct))]);
        assert_eq!(targets.len(), 1, "{said:?}");
        let expected = "step 2 is a POST without `when` after the look-up of step look, which nothing in it uses";
        assert_eq!(said.iter().any(|said| said.contains(expected)), is_doubted, "{look_up} {post}: {said:?}");
    }
}

#[test]
fn an_id_that_nothing_reads_is_a_warning() {
    let storing = CORRECT.replace("\"}], update", "\", store: {recordId: \"${response.body.id}\"}}], update");
    let said = checked(&[("a.yaml", &target("a", "A", &storing))]).1;
    assert!(said.iter().any(|said| said.contains("a step stores `status.recordId`, and no address")), "{said:#?}");
    let reading = storing.replace(
        "method: PUT, url: \"https://h.example/x/",
        "method: PUT, url: \"https://h.example/${self.status.recordId}/",
    );
    assert!(reading != storing);
    let said = checked(&[("a.yaml", &target("a", "A", &reading))]).1;
    assert!(!said.iter().any(|said| said.contains("stores `status.recordId`")), "{said:#?}");
}
