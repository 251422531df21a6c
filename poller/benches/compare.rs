//! Benchmarks of the comparison, which runs with every poll of every object.
//!
//!     cargo bench -p drift-poller --bench compare
//!
//! They print figures and have no thresholds.

#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::HashSet;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use drift_language::Target;
use drift_poller::engine::collection::traversal::{Traversal, observe_item};
use drift_poller::engine::judgement::comparison::compare as compare_observed;
use drift_poller::engine::judgement::difference::find_differences;
use drift_poller::engine::judgement::drift::{Drift, Subject};
use drift_poller::engine::judgement::finding::Finding;
use drift_poller::engine::poll::http_reading::Progress;
use drift_systems::{HttpReply, ReplyBody};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

/// Rules like those of a target for a load balancer.
const RULES: &str = "{path: /members, list: set}, {path: /records, list: map, keys: [name]}, \
                     {path: '/records/*/values', list: set}, {path: /limits, as: quantity}, {path: /token, redact: true}";

fn target(rules: &str) -> Target {
    target_of("url: \"http://h/x\"", rules)
}

fn target_of(read: &str, rules: &str) -> Target {
    let text = format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  \
         objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}\n  identity: \"${{self.metadata.name}}\"\n  \
         read: {{http: {{{read}}}}}\n  compare: {{desired: \"${{self.spec}}\"{rules}}}\n"
    );
    drift_language::fixtures::target(&text)
}

/// About 2 KB of JSON.
fn object() -> Value {
    let record = |number: u32| {
        json!({"name": format!("host-{number:02}"), "type": "A", "ttl": 300, "proxied": false,
               "values": [format!("192.0.2.{number}"), format!("198.51.100.{number}")]})
    };
    json!({
        "listen": "0.0.0.0:8080", "enabled": true, "weight": 100, "token": "t-0123456789",
        "members": (0..12).map(|number| format!("member-{number:02}")).collect::<Vec<_>>(),
        "records": (0..12).map(record).collect::<Vec<_>>(),
        "limits": {"cpu": "500m", "memory": "1Gi"},
        "labels": (0..12).map(|number| (format!("label-{number:02}"), json!(format!("value of label {number}")))).collect::<serde_json::Map<_, _>>(),
    })
}

/// The same state in another server's response, with additional fields.
fn observed() -> Value {
    let mut observed = object();
    observed["id"] = json!("0b2f6d1e");
    observed["limits"] = json!({"cpu": 0.5, "memory": 1_073_741_824_u64});
    observed
}

fn drifted() -> Value {
    let mut drifted = observed();
    drifted["listen"] = json!("0.0.0.0:9090");
    drifted["members"][3] = json!("eve");
    drifted["records"][5]["ttl"] = json!(60);
    drifted
}

/// Counts the differences until the comparison ends or is given up.
fn count(target: &Target, desired: &Value, observed: &Value) -> usize {
    let mut count = 0;
    find_differences(&target.compare.rules, desired, observed, &mut |found| count += 1 + found.more).ok();
    count
}

fn compare(criterion: &mut Criterion) {
    let (plain, ruled) = (target(""), target(&format!(", rules: [{RULES}]")));
    let (object, observed, drifted) = (object(), observed(), drifted());
    assert!((1_500..2_500).contains(&object.to_string().len()), "what is measured is said to have 2 KB");
    let find = |target: &Target, real: &Value| count(target, &object, real);
    assert_eq!((find(&plain, &object), find(&ruled, &observed), find(&ruled, &drifted)), (0, 0, 4));
    criterion.bench_function("2 KB, equal, no rules", |bench| bench.iter(|| find(&plain, black_box(&object))));
    criterion.bench_function("2 KB, equal, rules", |bench| bench.iter(|| find(&ruled, black_box(&observed))));
    let mut said = |name: &str, target: &Target| {
        let say = |real: &Value| Drift::of(target, Subject::from(&object), &object, real).unwrap();
        criterion.bench_function(name, |bench| bench.iter(|| say(black_box(&drifted))));
    };
    said("2 KB, three fields differ and are told, no rules", &plain);
    said("2 KB, three fields differ and are told, rules", &ruled);
}

/// Benchmarks the largest comparison that an external system can cause.
fn hostile(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hostile");
    group.sample_size(10);
    let ruled = target(", rules: [{path: '', list: set}]");
    let numbers = |count: usize| (0..count).map(|number| json!(number)).collect::<Vec<_>>();
    let (forth, back) = (json!(numbers(10_000)), numbers(10_000).into_iter().rev().collect::<Value>());
    let run = |desired: &Value, real: &Value| count(&ruled, desired, real);
    group.bench_function("set of 10,000 in another order", |bench| bench.iter(|| run(black_box(&forth), &back)));
    let alike = |last: u32| (0..5_000).map(|number| json!([number, last])).collect::<Value>();
    let (desired, real) = (alike(0), alike(1));
    group.bench_function("set of 5,000 alike, given up", |bench| bench.iter(|| run(black_box(&desired), &real)));
    let many = |from: u32| (from..from + 10_000).map(|number| json!({"k": number})).collect::<Value>();
    let pair = || (many(0), many(10_000));
    group.bench_function("set of 10,000 replaced whole", |bench| {
        bench.iter_batched(pair, |(desired, real)| run(&desired, &real), BatchSize::LargeInput);
    });
}

/// Number of objects in one collection.
const ENTRIES: usize = 1_000;

/// Benchmarks a traversal of one page with the result for each object. The time is that of all objects.
fn collection(criterion: &mut Criterion) {
    let target = target_of("url: \"http://h/x\", each: \"${response.body}\", key: {item: \"${item.name}\"}", "");
    let read = target.read.http().unwrap();
    let spec =
        |number: usize| json!({"name": format!("n{number}"), "ttl": 300, "values": ["192.0.2.1"], "proxied": false});
    let page: Value = (0..ENTRIES).map(spec).collect();
    let objects: Vec<_> = (0..ENTRIES)
        .map(|number| json!({"metadata": {"name": format!("n{number}"), "uid": "u"}, "spec": spec(number)}))
        .collect();
    let reply = HttpReply {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body: ReplyBody::Whole(page.to_string().into_bytes()),
    };
    let first = read.render(&objects[0]).unwrap();
    let wanted: HashSet<String> = (0..ENTRIES).map(|number| format!("n{number}")).collect();
    let run = || {
        let mut traversal = Traversal::new(read, read.collection.as_ref().unwrap(), first.clone(), wanted.clone());
        let Progress::Done(Ok(entries)) = traversal.take(&reply) else { return 0 };
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let is_in_sync = |object: &&Value| {
            let found = entries.observe(&name(object), |entry| observe_item(read, object, entry));
            compare_observed(&target, *object, found).finding == Finding::InSync
        };
        objects.iter().filter(is_in_sync).count()
    };
    assert_eq!(run(), ENTRIES);
    let mut group = criterion.benchmark_group("collection");
    group.throughput(Throughput::Elements(ENTRIES as u64));
    group.bench_function("1,000 objects of one page", |bench| bench.iter(run));
}

criterion_group!(benches, compare, collection, hostile);
criterion_main!(benches);
