//! Costs of the target language. A target is compiled after each edit; a request and a desired state are rendered
//! for each poll.
//!
//! cargo bench -p drift-language --bench language
//!
//! The benchmark prints figures and asserts nothing.

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use drift_language::{DocumentName, Target, parse_document};
use serde_json::json;

const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy, namespaces: [team-a], labelSelector: tier=prod}
  identity: "${self.metadata.namespace}_${self.metadata.name}"
  require: [{that: "${self.spec.name.startsWith(self.metadata.namespace + '_')}", else: names start with their namespace}]
  base: https://proxies.example/v1
  read:
    http:
      url: "/zones/${self.spec.zone}/proxies/${self.metadata.name}?full=${self.spec.full}"
      headers: {accept: application/json, x-trace: "t-${self.metadata.uid}"}
      absentWhen: "${response.status == 404}"
      settlingWhen: "${response.body.?state.orValue('') in ['creating', 'updating']}"
  compare:
    desired: {listen: "${self.spec.listen}", port: "${self.spec.port + 1}", enabled: "${self.spec.?enabled}"}
    rules: [{path: /listen, as: caseInsensitive}, {path: /port, tolerance: 0.5}]
  correct:
    mode: Correct
    http:
      create: [{method: POST, url: /proxies, body: {name: "${self.metadata.name}", listen: "${desired.listen}"}, accept: [201]}]
      update: [{method: PATCH, url: "/proxies/${self.metadata.name}", body: "${desired}"}]
      delete: [{method: DELETE, url: "/proxies/${self.metadata.name}"}]
"#;

fn compile() -> Target {
    parse_document(&DocumentName { config_map: "c".to_owned(), key: "k".to_owned() }, TEXT).unwrap()
}

fn language(criterion: &mut Criterion) {
    let target = compile();
    let object = json!({
        "metadata": {"name": "web", "namespace": "team-a", "uid": "0b2f6d1e-9f0a-4c55-8f3a-2f6b1f0f3a11"},
        "spec": {"name": "team-a_web", "zone": "eu west", "full": true, "listen": "0.0.0.0", "port": 8080},
    });
    let read = target.read.http().unwrap();
    criterion.bench_function("a target is compiled", |bench| bench.iter(|| black_box(compile())));
    criterion.bench_function("a request is rendered", |bench| bench.iter(|| read.render(black_box(&object)).unwrap()));
    criterion.bench_function("a desired state is rendered", |bench| {
        bench.iter(|| target.desired_of(black_box(&object)).unwrap())
    });
}

criterion_group!(benches, language);
criterion_main!(benches);
