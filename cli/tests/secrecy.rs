//! Neither what leaves the poller nor an explanation shows a credential, whatever a server answers and in whatever form.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use drift_api::object::LeanObject;
use drift_api::object::object_view::ObjectView;
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::fixtures::secrets::{AUTHS, Held, SECRETS, data, forms, shown_in};
use drift_language::{Source, Target};
use drift_poller::engine::collection::requests::Unnamed;
use drift_poller::engine::judgement::comparison::compare;
use drift_poller::engine::judgement::credentials::Credentials;
use drift_poller::engine::judgement::drift::Subject;
use drift_poller::engine::judgement::finding::{Failure, Finding};
use drift_poller::engine::judgement::observation::Observation;
use drift_poller::engine::judgement::verdict::{Basis, Known, reach_verdict};
use drift_poller::engine::poll::http_reading::{Progress, Reading};
use drift_poller::engine::poll::rows::observe_one;
use drift_poller::run::page::unnamed::UnnamedEntries;
use drift_systems::{HttpReply, ReplyBody, SentCredentials};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use kubectl_drift::explain::{Answer, Explanation, Facts, Poll, Shown, answer_lines, differing, observed, steps};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Ways to read: by one of the kinds of credential, or from PostgreSQL.
const WAYS: usize = AUTHS.len() + 1;

/// How a read says who it is, and what its Secret `s` has.
fn way(number: usize) -> (&'static str, Held) {
    AUTHS.get(number).copied().unwrap_or(("", &[("host", "db"), ("user", "ann"), ("password", "SECRET")]))
}

/// Rules that look into an answer in every way that can fail.
const RULES: [&str; 9] = [
    "as: json",
    "as: text",
    "validWhen: '${response.body[response.body.name] == 1}'",
    "settlingWhen: '${int(response.text) > 1}'",
    "settlingWhen: '${quantity(string(response.body.a)).isGreaterThan(quantity(response.headers.etag))}'",
    "absentWhen: '${json.parse(response.text).name[response.text] == 1}'",
    "observed: {seen: '${response.body.?seen}', a: \"${'x'.matches(response.text) ? 1 : 2}\", map: '${response.body.map}', list: '${response.body.list}'}",
    "observed: {seen: '${response.body.?seen}', a: '${string(base64.decode(response.body.a))}', list: '${response.body.list.sort()}'}",
    "observed: {seen: '${response.body.?seen}', a: \"${capture(response.text, '(.*)')}\", map: {'k': '${response.headers.?etag}'}}",
];

const COMPARISONS: [&str; 7] = [
    "{path: /other, list: set}",
    "{path: /list, list: set}",
    "{path: /list, list: map, keys: [name]}",
    "{path: /map, extra: drift}",
    "{path: '', extra: drift}",
    "{path: /a, as: json}",
    "{path: /a, show: true}",
];

fn target(read: usize, rule: &str, comparison: &str) -> Target {
    let read = match way(read).0 {
        "" => "postgres: {connection: {secretRef: {name: s}}, query: SELECT 1 AS a}".to_owned(),
        auth => format!("http:\n      url: https://h/x\n      {auth}\n      {rule}"),
    };
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: x
  read:
    {read}
  publish: {{seen: "${{observed.?seen}}"}}
  compare: {{desired: "${{self.spec}}", rules: [{comparison}]}}
"#
    );
    drift_language::fixtures::target(&text)
}

/// The Secret `s`.
fn secrets(read: usize, secret: &str) -> Arc<LabelledSecrets> {
    Arc::new([("s".to_owned(), LabelledSecret::new(None, data(way(read).1, secret)))].into_iter().collect())
}

/// An answer in which a secret's forms stand by their numbers.
#[derive(Clone, Debug)]
enum Said {
    Plain(Value),
    Repeated { form: usize, around: bool },
    List(Vec<Said>),
    Map(Vec<(Option<usize>, &'static str, Said)>),
}

impl Said {
    fn json(&self, forms: &[String]) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Repeated { form, around: false } => json!(forms[*form]),
            Self::Repeated { form, around: true } => json!(format!("refused: '{}' is wrong", forms[*form])),
            Self::List(items) => items.iter().map(|item| item.json(forms)).collect(),
            Self::Map(fields) => {
                let name =
                    |form: &Option<usize>, name: &str| form.map_or_else(|| name.to_owned(), |form| forms[form].clone());
                Value::Object(fields.iter().map(|(form, key, field)| (name(form, key), field.json(forms))).collect())
            }
        }
    }
}

fn said() -> impl Strategy<Value = Said> {
    let plain = prop_oneof![Just(json!(1)), Just(json!("x")), Just(json!(null)), Just(json!(true))];
    let leaf = prop_oneof![
        1 => plain.prop_map(Said::Plain),
        2 => (0..6_usize, any::<bool>()).prop_map(|(form, around)| Said::Repeated { form, around }),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![Just("a"), Just("list"), Just("map"), Just("seen"), Just("name"), Just("k")];
        let field = (proptest::option::weighted(0.2, 0..6_usize), name, inner.clone());
        prop_oneof![
            1 => proptest::collection::vec(inner, 0..4).prop_map(Said::List),
            3 => proptest::collection::vec(field, 0..5).prop_map(Said::Map),
        ]
    })
}

/// What the objects ask for.
fn spec() -> Value {
    json!({"a": "x", "list": ["x", {"name": "x", "k": 1}], "map": {"a": "x", "k": [1]}, "seen": "x"})
}

/// What a read that is answered so observes.
fn observe(
    target: &Target,
    object: &Value,
    status: u16,
    said: &Value,
    forms: &[String],
) -> Result<Observation, Failure> {
    if let Source::Sql(read) = &target.read.source {
        return observe_one(read, object, std::slice::from_ref(said));
    }
    let reply = reply(status, said, forms);
    match Reading::new(target.read.http().unwrap(), &ObjectView::of(object).open()).take(&reply) {
        Progress::Done(observed) => observed,
        Progress::Ask(_) => panic!("there is one request"),
    }
}

/// An answer that repeats the forms in its headers and its body.
fn reply(status: u16, said: &Value, forms: &[String]) -> HttpReply {
    let header = |name: &'static str, form: &String| {
        Some((HeaderName::from_static(name), HeaderValue::from_bytes(form.as_bytes()).ok()?))
    };
    let headers = [header("etag", &forms[0]), header("location", &forms[1]), header("content-type", &forms[2])];
    let headers: HeaderMap = headers.into_iter().flatten().collect();
    let body = ReplyBody::Whole(said.as_str().map_or_else(|| said.to_string(), str::to_owned).into_bytes());
    HttpReply { status: StatusCode::from_u16(status).unwrap(), headers, body }
}

/// The credentials of a read that went out with these Secrets, which may have changed since.
fn credentials<'t>(target: &'t Target, secrets: &Arc<LabelledSecrets>, have_changed: bool) -> Credentials<'t> {
    if have_changed {
        Credentials::of(target, Arc::default(), SentCredentials::of(secrets.clone()))
    } else {
        Credentials::of(target, secrets.clone(), SentCredentials::default())
    }
}

/// All that people and programs are told of a poll that is answered so.
fn told((target, credentials): (&Target, &Credentials<'_>), status: u16, said: &Value, forms: &[String]) -> String {
    let metadata = json!({"name": "x", "uid": "u", "resourceVersion": "1", "generation": 1});
    let object = json!({"metadata": metadata, "spec": spec()});
    let observation = observe(target, &object, status, said, forms);
    let subject = Subject { credentials: Some(credentials), ..Subject::from(&object) };
    let found = compare(target, subject, observation.clone());
    let lean = LeanObject::prune(&object, &target.poll_fields);
    let known = Known { in_sync: true, ..Known::default() };
    let verdict = reach_verdict(&found.finding, &Basis::of(&lean, None), None, &known);
    let shown = match &observation {
        Ok(Observation::Present(value)) => Shown::Present(observed(target, subject, value)),
        _ => Shown::Absent,
    };
    let differing = match &observation {
        Ok(Observation::Present(value)) => differing(target, subject, value),
        _ => Vec::new(),
    };
    let facts = Facts { target, is_deployed: true, object: &lean, verdict: &verdict };
    let poll = Poll { asked: Vec::new(), observed: shown, causes: Vec::new(), differing };
    let explanation = Explanation::new(facts, poll, (steps(facts), Vec::new()));
    let condition = verdict.to_condition(None, "").to_json();
    let published = found.published.map(|published| published.put_on(&Value::Object(Map::new())));
    let answer = answer_lines(target, subject, &reply(status, said, forms));
    let whole = Answer::of(target, subject, &reply(status, said, forms));
    let whole = format!("{}\n{}", whole.lines().join("\n"), whole.json());
    let told = [explanation.text(None), explanation.json().to_string(), answer.join("\n"), whole].join("\n");
    format!("{:?}\n{condition}\n{published:?}\n{told}", found.finding)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_text_repeats_a_credential(
        secret in SECRETS,
        read in 0..WAYS,
        rule in 0..RULES.len(),
        comparison in 0..COMPARISONS.len(),
        status in prop_oneof![6 => Just(200_u16), 1 => Just(404), 1 => 200..600_u16],
        said in said(),
        have_changed in any::<bool>(),
    ) {
        let (target, forms) = (target(read, RULES[rule], COMPARISONS[comparison]), forms(&secret));
        let credentials = credentials(&target, &secrets(read, &secret), have_changed);
        let text = told((&target, &credentials), status, &said.json(&forms), &forms);
        prop_assert_eq!(shown_in(&text, &forms), None, "{}", text);
    }

    #[test]
    fn no_page_repeats_a_credential(secret in "[A-Z0-9]{6}[a-z \"/+%]{4,8}", names in proptest::collection::btree_set(0..6_usize, 0..4)) {
        let (target, forms) = (Arc::new(target(0, RULES[0], COMPARISONS[0])), forms(&secret));
        let entries = UnnamedEntries::new(Arc::new(ArcSwap::new(secrets(0, &secret))));
        let mut all: BTreeSet<String> = names.iter().map(|form| forms[*form].clone()).collect();
        all.insert("www".to_owned());
        entries.set(&target, Unnamed { count: all.len(), names: all });
        let text = entries.shown().to_string();
        prop_assert_eq!(shown_in(&text, &forms), None, "{}", &text);
        prop_assert!(text.contains("\"www\""), "{}", text);
    }
}

#[test]
fn an_echoed_credential_is_not_shown() {
    let secret = "hunter2-and-more";
    let (target, forms) = (target(0, RULES[0], COMPARISONS[0]), forms(secret));
    let credentials = credentials(&target, &secrets(0, secret), false);
    let text = told((&target, &credentials), 200, &json!({"a": secret, "list": [], "map": {"a": 1}}), &forms);
    assert!(text.contains("/a (redacted); ") && text.contains("/map/a desired \\\"x\\\", observed 1"), "{text}");
}

#[test]
fn a_field_with_a_credential_is_withheld_alone() {
    let (target, secret) = (target(0, RULES[0], COMPARISONS[0]), "hunter2-and-more");
    let credentials = credentials(&target, &secrets(0, secret), false);
    let object = json!({"metadata": {"name": "x"}, "spec": {"a": "x"}});
    let subject = Subject { credentials: Some(&credentials), ..Subject::from(&object) };
    let found = |seen: &str| compare(&target, subject, Ok(Observation::Present(json!({"a": "y", "seen": seen}))));
    let (repeated, other) = (found(&format!("is {secret}")), found("other"));
    assert!(
        matches!(&repeated.finding, Finding::Differs(drift) if drift.text.ends_with("/a desired \"x\", observed \"y\""))
    );
    assert_eq!(repeated.finding, other.finding);
    let stood = json!({"status": {"seen": "before"}});
    assert_eq!(repeated.published.unwrap().put_on(&stood), stood);
    assert_eq!(other.published.unwrap().put_on(&stood)["status"]["seen"], "other");
    assert_eq!(
        (repeated.withheld, other.withheld),
        (vec!["seen".to_owned()], Vec::new()),
        "who looks at the log is told"
    );
}

#[test]
fn a_guess_of_a_credential_reads_like_any_other() {
    let secret = "hunter2-and-more";
    let observed = json!({"a": "y", "list": [{"name": "www"}], "map": {"a": "y"}});
    let told = |guess: &str, comparison: &str| {
        let target = target(0, RULES[0], comparison);
        let credentials = credentials(&target, &secrets(0, secret), false);
        let object = json!({"metadata": {"name": "x"}, "spec": {
            "a": guess, "list": [guess, {"name": guess}], "map": {"a": {guess: 1}, guess: {"k": guess}}
        }});
        let subject = Subject { credentials: Some(&credentials), ..Subject::from(&object) };
        differing(&target, subject, &observed).join("; ").replace(guess, "GUESS")
    };
    for comparison in COMPARISONS {
        for guess in [secret, &secret[..12]] {
            assert_eq!(told(guess, comparison), told("a-wrong-guess", comparison), "{comparison}: {guess}");
        }
    }
    assert!(told(secret, COMPARISONS[0]).contains("/a desired \"GUESS\", observed \"y\""));
}
