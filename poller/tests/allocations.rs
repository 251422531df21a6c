//! The cost of a poll with an unchanged response, counted in allocations. The count is the same on every machine, so
//! that it can be checked in.
//!
//! The target's own actor polls a server on loopback, with all parts of a poll: schedule, limits, request, response,
//! judgement, confirmation, the pending write, and metrics. Only the thread of the actor is counted.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use drift_api::names::POLLER_MANAGER;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_kube::access::rights::RightsNeeded;
use drift_kube::cleanup::{CleanedObjects, NotedSelections};
use drift_kube::client::ResolvedKind;
use drift_kube::events::event_writer;
use drift_kube::kinds::KindSearch;
use drift_kube::lease::Leadership;
use drift_kube::object_writer::CallSlots;
use drift_kube::process::tasks::spawn;
use drift_kube::resources::ResourceClient;
use drift_kube::subscriptions::{KindWatches, ObjectEvent};
use drift_kube::telemetry::document_counts::DocumentCounts;
use drift_kube::telemetry::health::Health;
use drift_kube::watch::HeardVersions;
use drift_language::Target;
use drift_poller::engine::judgement::comparison::compare;
use drift_poller::engine::judgement::finding::Finding;
use drift_poller::engine::judgement::observation::Observation;
use drift_poller::engine::object::object_state::ObjectState;
use drift_poller::engine::object::object_store::ObjectStore;
use drift_poller::engine::schedule::Now;
use drift_poller::run::attestation::AttestationList;
use drift_poller::run::context::Context;
use drift_poller::run::metrics::{Metrics, of_outcome};
use drift_poller::run::page::Board;
use drift_poller::run::page::unnamed::UnnamedEntries;
use drift_poller::run::reads::outside::Outside;
use drift_poller::run::target_actor::TargetActor;
use drift_systems::{Databases, HttpSender};
use kube::core::{ApiResource, GroupVersionKind};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Allocations of one poll: 50, most of them reqwest's and hyper's, plus room for some connections that a busy machine
/// opens meanwhile. If the count falls, write the new number; if it rises, give the reason.
const ALLOCATIONS: u64 = 58;

/// Number of objects, each polled once a second.
const OBJECTS: usize = 100;

/// Time until every object was polled twice, and connections, tables and queues have their size.
const WARM_UP: Duration = Duration::from_millis(2_500);

/// Duration of the count.
const COUNTED: Duration = Duration::from_secs(3);

/// Content of each resource: about the size of a small one of a cloud API.
fn document() -> String {
    let labels: serde_json::Map<_, _> = (0..6).map(|number| (format!("label-{number}"), json!("some value"))).collect();
    json!({"listen": "127.0.0.1:80", "upstream": "here:1", "enabled": true, "labels": labels}).to_string()
}

/// A server with the same response to every request.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let document = document();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{document}", document.len());
    std::thread::Builder::new()
        .spawn(move || {
            for stream in listener.incoming() {
                let answer = answer.clone();
                std::thread::Builder::new().spawn(move || answer_all(stream.unwrap(), &answer)).unwrap();
            }
        })
        .unwrap();
    host
}

fn answer_all(mut stream: TcpStream, answer: &str) {
    let mut request = [0; 4096];
    while stream.read(&mut request).is_ok_and(|read| read > 0) {
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn target(host: &str) -> Arc<Target> {
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: proxies}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: "${{self.metadata.name}}"
  interval: 1s
  read: {{http: {{url: "http://{host}/proxies/${{self.metadata.name}}"}}, limits: {{concurrent: 16, perSecond: 10000}}}}
  compare: {{desired: {{listen: "${{self.spec.listen}}", upstream: "${{self.spec.upstream}}"}}}}
"#
    );
    Arc::new(drift_language::fixtures::target(&text))
}

/// An object with a verdict in sync.
fn object(target: &Target, number: usize) -> LeanObject {
    let name = format!("proxy-{number}");
    let mut object = json!({
        "metadata": {
            "name": name, "namespace": "team-a", "uid": format!("5b1f0c1e-0000-4000-8000-{number:012}"),
            "resourceVersion": "5", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"listen": "127.0.0.1:80", "upstream": "here:1"},
    });
    let desired = target.desired_state_of(&LeanObject::prune(&object, &target.poll_fields).view.open()).unwrap().hash;
    let message = format!("the external resource matches the spec [desired {desired}]");
    object["status"] = json!({"conditions": [{
        "type": "driftObserved", "status": "False", "reason": "InSync", "message": message, "observedGeneration": 3,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    LeanObject::prune(&object, &target.poll_fields)
}

/// An API server without objects that is never called.
fn context() -> Arc<Context> {
    let client = kube::Client::new(axum::Router::new(), "drift-system");
    let mut registry = Registry::default();
    let (events, _task) = event_writer(client.clone(), POLLER_MANAGER, "test", &mut registry);
    let secrets = Arc::new(ArcSwap::default());
    Arc::new(Context {
        installation: "drift-system/drift-poller".to_owned(),
        home: "drift-system".to_owned(),
        client: client.clone(),
        kinds: KindSearch::new(client.clone(), Health::default(), DocumentCounts::default()),
        configuration: watch::channel(Arc::default()).1,
        outside: Outside {
            sender: HttpSender::new(secrets.clone(), POLLER_MANAGER),
            databases: Databases::new(secrets.clone(), POLLER_MANAGER),
            resources: ResourceClient::new(client, "api:443"),
            gate: Arc::default(),
            troubles: Arc::default(),
        },
        slots: CallSlots::default(),
        patience: Duration::from_secs(600),
        rights: RightsNeeded::default(),
        events,
        metrics: Metrics::register(&mut registry),
        cleaned: CleanedObjects::default(),
        health: Health::default(),
        leadership: Leadership::never_held(),
        attestations: AttestationList::default(),
        notes: NotedSelections::default(),
        watches: KindWatches::default(),
        heard: HeardVersions::default(),
        board: Board::default(),
        unnamed: UnnamedEntries::default(),
        secrets,
        webhooks: None,
    })
}

#[test]
fn a_poll_that_changes_nothing_allocates_little() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _in_runtime = runtime.enter();
    drift_kube::client::install_crypto();
    let (target, context) = (target(&serve()), context());
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("demo.driftpoller.dev", "v1", "Proxy"), "proxies");
    let writer = context.writer(ResolvedKind { resource, namespaced: true }, target.poll_fields.clone());
    let (events, inbox) = mpsc::channel(OBJECTS + 1);
    let (_hints, hinted) = mpsc::channel(1);
    for number in 0..OBJECTS {
        events.try_send(ObjectEvent::Seen(Box::new(object(&target, number)))).unwrap();
    }
    events.try_send(ObjectEvent::Listed).unwrap();
    let actor = TargetActor::new(target, context.clone(), writer);
    spawn("actor", CancellationToken::new(), actor.run(inbox, hinted, CancellationToken::new()));
    let polls = || context.metrics.polls.get_or_create(&of_outcome("proxies", "InSync")).get();
    runtime.block_on(tokio::time::sleep(WARM_UP));
    let before = polls();
    let counted = allocation_counter::measure(|| runtime.block_on(tokio::time::sleep(COUNTED)));
    let polls = polls() - before;
    assert!(polls > OBJECTS as u64, "{polls} polls");
    let each = (counted.count_total + polls / 2) / polls;
    println!("{polls} polls, {each} allocations and {} bytes each", counted.bytes_total / polls);
    assert!(each <= ALLOCATIONS, "{each} allocations a poll");
}

/// Objects of the memory test.
const MANY: usize = 10_000;

/// Bytes that the engine may keep of a quiet object, of up to 100,000: 1,089 on 29 November 2026.
const BYTES_OF_AN_OBJECT: i64 = 1_200;

#[test]
fn a_quiet_object_takes_little_memory() {
    let (target, mut objects) = (target("127.0.0.1:1"), None);
    let at = |seconds| Now { moment: Moment::from_start(seconds), wall: Duration::from_secs(1_700_000_000) + seconds };
    let seen: Vec<_> = (0..MANY).map(|number| object(&target, number)).collect();
    let counted = allocation_counter::measure(|| {
        let objects = objects.insert(ObjectStore::new(target.clone()));
        for object in &seen {
            let (uid, now) = (object.id.uid.clone(), at(Duration::from_secs(60)));
            objects.see(object.clone(), now);
            let begun = objects.update(&uid, now.moment, |state| state.begin_poll(now)).unwrap();
            objects.update(&uid, now.moment, |state| state.finish_poll(begun, Finding::InSync, now.moment));
            assert_eq!(objects.update(&uid, now.moment, |state| state.next_write(now.moment)), Some(None));
        }
    });
    let each = counted.bytes_current / i64::try_from(MANY).unwrap();
    println!("{each} bytes of an object, {} of them its state", size_of::<ObjectState>());
    assert!(each <= BYTES_OF_AN_OBJECT, "{each} bytes of an object");
}

/// Rules for each way of identifying items and fields of a response.
const RULES: &str = "[{path: /set, list: set}, {path: /map, list: map, keys: [k]}, {path: /open, extra: drift}, \
                     {path: /text, as: json}, {path: '/text/*', list: map, keys: [k]}]";

fn target_that_compares(desired: &str, rules: &str) -> Target {
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: proxies}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: "${{self.metadata.name}}"
  read: {{http: {{url: "http://h/x"}}}}
  compare: {{desired: "{desired}", rules: {rules}}}
"#
    );
    drift_language::fixtures::target(&text)
}

/// Returns the bytes allocated at once for a comparison of a response with a desired state, and the resulting text.
fn allocated(desired: &Value, answer: &str) -> (u64, String) {
    let (target, object) =
        (target_that_compares("${self.spec}", RULES), json!({"metadata": {"name": "x"}, "spec": desired}));
    let observed = serde_json::from_str(answer).unwrap();
    let mut said = String::new();
    let counted = allocation_counter::measure(|| {
        if let Finding::Differs(drift) = compare(&target, &object, Ok(Observation::Present(observed))).finding {
            said = drift.text;
        }
    });
    (counted.bytes_max, said)
}

/// A list or a map with the maximum number of parts in a response.
fn many(head: &str, part: impl Fn(usize) -> String, tail: &str) -> String {
    let parts: Vec<_> = (0..199_000).map(part).collect();
    format!("{head}{}{tail}", parts.join(","))
}

#[test]
fn comparing_allocates_in_proportion_to_the_answer() {
    let zero = |_: usize| "0".to_owned();
    let number = |number: usize| number.to_string();
    let field = |number: usize| format!("\"{number}\":0");
    let table = [
        (json!({"list": []}), many("{\"list\":[", zero, "]}")),
        (json!({"list": [1]}), many("{\"list\":[", zero, "]}")),
        (json!({"set": []}), many("{\"set\":[", zero, "]}")),
        (json!({"set": []}), many("{\"set\":[", number, "]}")),
        (json!({"set": [-1, -2, -3, -4, -5, -6]}), many("{\"set\":[", number, "]}")),
        (json!({"map": []}), many("{\"map\":[", zero, "]}")),
        (json!({"map": [{"k": 1}]}), many("{\"map\":[", |_| "{\"k\":1}".to_owned(), "]}")),
        (json!({"map": [{"k": 1}]}), many("{\"map\":[", |number| format!("{{\"k\":{number}}}"), "]}")),
        (json!({"open": {}}), many("{\"open\":{", field, "}}")),
    ];
    for (desired, answer) in table {
        let (bytes, said) = allocated(&desired, &answer);
        println!("{desired}: {:.1} times {} bytes; {said}", bytes as f64 / answer.len() as f64, answer.len());
        assert!(bytes <= 8 * answer.len() as u64, "{desired}: {bytes} bytes for {}", answer.len());
        assert!(said.len() < 1_024 && !said.is_empty(), "{said}");
    }
}

/// A text is parsed for the comparison. Otherwise it is like any response.
#[test]
fn comparing_inside_a_text_allocates_in_proportion() {
    let long = "x".repeat(400_000);
    let fields: serde_json::Map<_, _> = (0..64).map(|number| (format!("f{number}"), json!(1))).collect();
    let one = |value: &Value| json!({"k": 1, "more": [fields.clone()], "long": value});
    let desired = [json!({"l": []}), json!({"l": [one(&json!(1))]}), json!({"m": {long.clone(): fields.clone()}})];
    let zero = many("{\"l\":[", |_| "0".to_owned(), "]}");
    let changed = json!({"l": [{"k": 1, "more": [{}], "long": long}]}).to_string();
    let named = json!({"m": {long: {}}}).to_string();
    for (desired, inside) in desired.into_iter().zip([zero, changed, named]) {
        let parsed = allocation_counter::measure(|| drop(drift_language::json_of(&inside))).bytes_max;
        let answer = json!({"text": inside}).to_string();
        let (bytes, said) = allocated(&json!({"text": desired}), &answer);
        println!("{bytes} bytes, {parsed} of the text, {}", answer.len());
        assert!(bytes <= parsed + 8 * answer.len() as u64, "{bytes} bytes, {parsed} of the text, {}", answer.len());
        assert!(said.len() < 4_096 && !said.is_empty(), "{said}");
    }
}

/// Each of these patterns has some thousand states on a text of two alternating letters.
#[test]
fn patterns_of_an_object_take_little_memory() {
    let patterns: Vec<_> = ('A'..='L').map(|letter| format!("(a|b)*a(a|b){{16}}[^ab{letter}]")).collect();
    let mut random = 1_u32;
    let letter = |_: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if random >> 31 == 0 { 'a' } else { 'b' }
    };
    let text: String = (0..30_000).map(letter).collect();
    let target = target_that_compares(
        "${self.spec.patterns.filter(pattern, self.spec.text.matches(pattern))}",
        "[{path: '', list: set}]",
    );
    let object = json!({"metadata": {"name": "x"}, "spec": {"patterns": patterns, "text": text}});
    let mut desired = None;
    let counted = allocation_counter::measure(|| desired = Some(target.desired_of(&object)));
    println!("{} bytes for {} patterns", counted.bytes_max, patterns.len());
    assert_eq!(desired.unwrap().unwrap(), json!([]));
    assert!(counted.bytes_max < 16 * 1024 * 1024, "{} bytes", counted.bytes_max);
}
