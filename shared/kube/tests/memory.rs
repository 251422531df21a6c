//! A limit on the bytes kept for each watched object, as requested from the allocator.
//!
//! The uids are shared texts, created before and not counted.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, SeenObject};
use drift_api::timing::moment::Moment;
use drift_kube::client::ResolvedKind;
use drift_kube::subscriptions::dispatch::{Command, Dispatch, Subscriber};
use drift_kube::watch::Change;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;

/// Chosen so that a hash table, which doubles, has its average load.
const OBJECTS: i64 = 10_000;

const TARGET: &str = "
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: proxies}
spec:
  objects: {apiVersion: demo.example/v1, kind: Proxy}
  identity: ${self.metadata.name}
  read: {http: {url: 'http://proxies.example/'}}
  compare: {desired: {a: 1}}
";

fn seen(number: i64) -> SeenObject {
    let metadata = json!({"namespace": format!("team-{}", number / 100), "name": format!("proxy-{number}"),
        "uid": format!("5b1f0c1e-0000-4000-8000-{number:012}"), "resourceVersion": (1_000_000 + number).to_string()});
    let object = LeanObject::prune(&json!({"metadata": metadata}), &FieldPaths::default());
    SeenObject { object, labels: None }
}

/// A dispatch with one target, and the number of its followed collection.
fn dispatch() -> (Dispatch, usize) {
    let (mut dispatch, target) = (Dispatch::default(), drift_language::fixtures::target(TARGET));
    dispatch.set_active(BTreeMap::from([("proxies".into(), target.objects.clone())]));
    let kind = GroupVersionKind::gvk("demo.example", "v1", "Proxy");
    let resource = ApiResource::from_gvk_with_plural(&kind, "proxies");
    let kind = ResolvedKind { resource, namespaced: true };
    let (selection, fields) = (target.objects, FieldPaths::default());
    dispatch.subscribe(Subscriber { target: "proxies".into(), id: 1, kind, selection, fields });
    let commands = dispatch.arrange().commands;
    let numbers = commands.iter().map(|command| match command {
        Command::Follow { number, .. } => Some(*number),
        _ => None,
    });
    let number = numbers.flatten().next().unwrap();
    (dispatch, number)
}

#[test]
fn an_object_that_was_told_of_takes_little() {
    let (mut dispatch, number) = dispatch();
    let objects: Vec<SeenObject> = (0..OBJECTS).map(seen).collect();
    let mut hear = |change| _ = dispatch.hear(number, change, Moment::START);
    let counted = allocation_counter::measure(|| {
        hear(Change::ListBegan);
        objects.iter().for_each(|seen| hear(Change::Found(seen.clone(), "2000000".to_owned())));
        hear(Change::ListEnded("2000000".to_owned()));
    });
    let (bytes, blocks) = (counted.bytes_current / OBJECTS, counted.count_current / OBJECTS);
    println!("{bytes} bytes in {blocks} blocks");
    assert!(bytes <= 256 && blocks == 1, "{bytes} bytes in {blocks} blocks");
    assert!(objects.iter().all(|seen| dispatch.told(&seen.object.id.uid).count() == 1));
}
