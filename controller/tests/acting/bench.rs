//! A cluster with one object and an external system on loopback, with one log of all requests.
//!
//! The cluster applies JSON Patches like the API server: a failed test returns 422, each write changes the
//! resourceVersion, and an object in deletion disappears with its last finalizer. A test may replace responses.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use drift_api::condition::DifferingFields;
use drift_api::identity::{ResourceName, ScopeId};
use drift_api::names::{CONTROLLER_LEASE, CONTROLLER_MANAGER};
use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_api::timing::moment::Moment;
use drift_controller::engine::Now;
use drift_controller::engine::correction_limits::{LimitUsage, Line};
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::correction::Correction;
use drift_controller::engine::decide::attestation::Attestations;
use drift_controller::engine::decide::decision::Decision;
use drift_controller::engine::execution::{
    Destinations, Execution, ExecutionEnd, Interrupt, Probes, ProgramView, Step,
};
use drift_controller::engine::memory::ObjectMemory;
use drift_controller::engine::rendering::{Requests, Unrenderable, requests};
use drift_controller::run::context::Context;
use drift_controller::run::executor::Executor;
use drift_controller::run::handover::Handovers;
use drift_controller::run::metrics::Metrics;
use drift_controller::run::notices::Announcer;
use drift_controller::run::published_holds::PublishedHolds;
use drift_controller::run::secrets::Secrets;
use drift_kube::access::rights::RightsNeeded;
use drift_kube::cleanup::{CleanedObjects, NotedSelections};
use drift_kube::client::ResolvedKind;
use drift_kube::events::event_writer;
use drift_kube::identities::Identities;
use drift_kube::kinds::KindSearch;
use drift_kube::lease::{LeaseSettings, lease};
use drift_kube::object_writer::CallSlots;
use drift_kube::process::clock;
use drift_kube::resources::ResourceClient;
use drift_kube::subscriptions::KindWatches;
use drift_kube::telemetry::document_counts::DocumentCounts;
use drift_kube::telemetry::health::Health;
use drift_kube::under_way::UnderWay;
use drift_kube::watch::ReadableSecrets;
use drift_language::Target;
use drift_systems::{Databases, HttpSender};
use kube::core::{ApiResource, GroupVersionKind};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Response that replaces the usual one.
pub(crate) type Replace = Box<dyn FnMut(&str, &mut Value) -> Option<StatusCode> + Send>;

/// State of both systems.
pub(crate) struct State {
    pub(crate) object: Option<Value>,
    pub(crate) lease: Option<Value>,
    pub(crate) log: Vec<String>,
    /// Number of live reads so far.
    pub(crate) reads: usize,
    /// True if live reads fail.
    pub(crate) reads_fail: bool,
    /// Called with each log line before the request takes effect. It may change the object and replace the response.
    pub(crate) replace: Replace,
}

/// Secrets that may change at any moment.
pub(crate) type Credentials = Arc<ArcSwap<LabelledSecrets>>;

pub(crate) struct Bench {
    /// `host:port` of the external system.
    pub(crate) outside: String,
    pub(crate) state: Arc<Mutex<State>>,
    pub(crate) context: Context,
    pub(crate) executor: Executor,
    /// Secrets of the programs' namespace, used to render and send requests.
    pub(crate) credentials: Credentials,
    pub(crate) stop_lease: CancellationToken,
}

/// Maximum concurrent calls to the API server.
pub(crate) const CALLS: usize = 4;

/// Scope of the target.
pub(crate) const SCOPE: &str = "here";

/// Time before a waiting test fails and prints what it saw.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

impl Bench {
    /// A bench whose object is `object`, with `delete` steps or without.
    pub(crate) async fn new(object: Value, existing: &str) -> Self {
        Self::with_auth(object, existing, "").await
    }

    /// A bench whose target has this line in `correct.http`, without any Secret.
    pub(crate) async fn with_auth(object: Value, existing: &str, auth: &str) -> Self {
        Self::with_lines(object, existing, &["", auth]).await
    }

    /// A bench whose target has the first line as the first step of `create`, and the second in `correct.http`.
    pub(crate) async fn with_lines(object: Value, existing: &str, lines: &[&str; 2]) -> Self {
        drift_kube::client::install_crypto();
        let replace: Replace = Box::new(|_, _| None);
        let state = Arc::new(Mutex::new(State {
            object: Some(object),
            lease: None,
            log: Vec::new(),
            reads: 0,
            reads_fail: false,
            replace,
        }));
        let outside = serve_outside(state.clone()).await;
        let cluster = state.clone();
        let router =
            axum::Router::new().fallback(move |request: Request<Body>| cluster_answer(cluster.clone(), request));
        let client = kube::Client::new(router, "drift-system");
        let stop_lease = CancellationToken::new();
        let (credentials, target) = (Credentials::default(), target("proxies", &outside, existing, lines));
        let (context, executor) = executor(&client, &target, &stop_lease, &credentials).await;
        Self { outside, state, context, executor, credentials, stop_lease }
    }

    /// Returns the object as the controller reads it.
    pub(crate) fn lean(&self) -> LeanObject {
        let state = self.state.lock().unwrap();
        LeanObject::prune(state.object.as_ref().unwrap(), &self.executor.target.all_fields)
    }

    /// Returns the log: writes to the object and external requests.
    pub(crate) fn log(&self) -> Vec<String> {
        self.state.lock().unwrap().log.clone()
    }

    pub(crate) fn replace(&self, replace: impl FnMut(&str, &mut Value) -> Option<StatusCode> + Send + 'static) {
        self.state.lock().unwrap().replace = Box::new(replace);
    }

    pub(crate) fn correction(&self, action: Action, claim_first: bool, put_finalizer: bool) -> Decision {
        let object = self.lean();
        let before = ObjectMemory::of(&object, Moment::START).status_of(&object);
        Decision::Correct(Box::new(Correction {
            action,
            number: before.correction + 1,
            resource: self.resource(),
            claim_first,
            put_finalizer,
            generation: object.generation,
            desired_hash: None,
            fields: DifferingFields::default(),
            correct_hash: 0,
            sent_versions: 0,
            approved_secrets: std::collections::BTreeMap::default(),
            before,
            was_in_doubt: false,
            resumes: false,
            by_job: false,
            was_begun: false,
            creating: None,
            looks_first: false,
            looks_again: false,
            expects_resource: false,
        }))
    }

    /// Returns the external resource that the object names.
    pub(crate) fn resource(&self) -> ResourceName {
        ResourceName { scope: self.executor.target.scope.id, identity: "web".into() }
    }

    /// Returns a second target of the same scope.
    pub(crate) fn another_target(&self) -> Arc<Target> {
        target("others", &self.outside, "Refuse", &["", ""])
    }

    /// Executes a decision. The decision after the live read is the same on the same state of the object.
    pub(crate) async fn execute(&self, decision: Decision) -> (LeanObject, ExecutionEnd) {
        self.execute_on(self.lean(), decision).await
    }

    pub(crate) async fn execute_on(&self, object: LeanObject, decision: Decision) -> (LeanObject, ExecutionEnd) {
        self.carry_out(object, decision, None).await
    }

    /// Performs the engine's operations until the end. `interrupt` or the end of the term ends pauses.
    pub(crate) async fn carry_out(
        &self,
        object: LeanObject,
        decision: Decision,
        interrupt: Option<Interrupt>,
    ) -> (LeanObject, ExecutionEnd) {
        let mut run = self.executor.begin();
        let (mut execution, mut step) = Execution::begin(object.clone(), decision.clone(), &self.executor(), now());
        loop {
            step = match step {
                Step::Do(operation) => {
                    let event = run.perform(execution.object(), operation).await;
                    execution.next(event, now())
                }
                Step::Decide => {
                    let is_correction = matches!(decision, Decision::Correct(_));
                    let line = Line::of(&object, false);
                    let place = is_correction.then(|| LimitUsage::default().begin(&line, clock::now()));
                    let taken = place.and_then(|mut place| place.hand_over());
                    execution.decided(object.clone(), (decision.clone(), taken), &self.executor(), now())
                }
                Step::Pause => {
                    let interrupt = match interrupt {
                        Some(interrupt) => Some(interrupt),
                        None => self.wait_until(execution.due().unwrap()).await,
                    };
                    execution.end_pause(interrupt, now()).unwrap()
                }
                Step::End(end) => return (execution.object().clone(), end),
            };
        }
    }

    const fn executor(&self) -> OfExecutor<'_> {
        OfExecutor(&self.executor)
    }

    async fn wait_until(&self, due: Moment) -> Option<Interrupt> {
        let term = &self.executor.requests.term;
        let had_ended = term.is_cancelled();
        tokio::select! {
            () = tokio::time::sleep_until(clock::instant_of(due)) => {}
            () = term.cancelled(), if !had_ended => {}
        }
        term.is_cancelled().then_some(Interrupt::CutOff)
    }

    /// Waits until the log ends with these lines.
    pub(crate) async fn wait_for(&self, lines: &[&str]) {
        let seen = async {
            while self.log() != lines {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, seen).await.is_err() {
            panic!("waited for {lines:#?}, saw {:#?}", self.log());
        }
    }
}

fn now() -> Now {
    Now { moment: clock::now(), wall: clock::wall_since_epoch() }
}

/// Access of an execution to its program.
struct OfExecutor<'a>(&'a Executor);

impl ProgramView for OfExecutor<'_> {
    fn requests(
        &self,
        object: &LeanObject,
        correction: &Correction,
    ) -> Option<Result<Box<dyn Requests>, Unrenderable>> {
        let secrets = self.0.secrets.of(&self.0.target, object)?;
        Some(requests(&self.0.target, object, correction, secrets))
    }

    fn may_begin(&self) -> bool {
        self.0.requests.may_begin()
    }

    fn destinations(&self, requests: &dyn Requests) -> Destinations {
        self.0.requests.destinations(&self.0.target, requests)
    }

    fn take_probes(&self, hosts: &[String], now: Moment) -> Result<Probes, Moment> {
        self.0.requests.take_probes(hosts, now)
    }
}

/// An object with this verdict and this optional correction record.
pub(crate) fn object(observed: &Value, corrected: Option<&Value>) -> Value {
    let conditions: Vec<&Value> = [Some(observed), corrected].into_iter().flatten().collect();
    json!({
        "apiVersion": "demo.driftpoller.dev/v1", "kind": "Proxy",
        "metadata": {
            "name": "web", "namespace": "team-a", "uid": "u-1", "resourceVersion": "5", "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"listen": "127.0.0.1:80"},
        "status": {"conditions": conditions},
    })
}

pub(crate) fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": 3,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

pub(crate) fn verdict(reason: &str, correction: u64) -> Value {
    let desired_hash = drift_api::condition::DesiredHash::of(&json!(["web", {"listen": "127.0.0.1:80"}]));
    let correction = if correction > 0 { format!(", correction {correction}") } else { String::new() };
    condition("driftObserved", "True", reason, &format!("text [desired {desired_hash}{correction}]"))
}

fn target(name: &str, outside: &str, existing: &str, [first, auth]: &[&str; 2]) -> Arc<Target> {
    let first = first.replace("OUTSIDE", outside);
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: {name}}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: "${{self.metadata.name}}"
  scope: {SCOPE}
  read:
    http: {{url: "http://{outside}/proxies/${{self.metadata.name}}"}}
  compare:
    desired: {{listen: "${{self.spec.listen}}"}}
  correct:
    mode: Correct
    existing: {existing}
    http:
      {auth}
      create:
      {first}
      - {{method: POST, url: "http://{outside}/proxies", body: {{name: "${{self.metadata.name}}", listen: "${{desired.listen}}"}}, accept: [201], because: "${{response.body.?error}}"}}
      - {{method: PUT, url: "http://{outside}/proxies/${{self.metadata.name}}/labels", body: "${{desired}}"}}
      update: [{{method: POST, url: "http://{outside}/proxies/${{self.metadata.name}}", body: "${{desired}}"}}]
      delete: [{{method: DELETE, url: "http://{outside}/proxies/${{self.metadata.name}}", accept: [204, 404]}}]
"#
    );
    Arc::new(drift_language::fixtures::target(&text))
}

async fn executor(
    client: &kube::Client,
    target: &Arc<Target>,
    stop: &CancellationToken,
    credentials: &Credentials,
) -> (Context, Executor) {
    let mut registry = Registry::default();
    let (events, _task) = event_writer(client.clone(), CONTROLLER_MANAGER, "test", &mut registry);
    let (lease, task) = lease(lease_settings(), stop.clone());
    drift_kube::process::tasks::spawn("turning", CancellationToken::new(), task.turning().keep());
    drift_kube::process::tasks::spawn("lease", CancellationToken::new(), task.run(client.clone()));
    let term = tokio::time::timeout(PATIENCE, lease.leadership().acquired()).await.expect("the Lease is taken");
    let context = Context {
        installation: "drift-system/drift-poller".to_owned(),
        home: "drift-system".to_owned(),
        client: client.clone(),
        kinds: KindSearch::new(client.clone(), Health::default(), DocumentCounts::default()),
        configuration: watch::channel(Arc::default()).1,
        attestations: watch::channel(Attestations::default()).1,
        secrets: secrets(client, credentials.clone()),
        sender: HttpSender::new(credentials.clone(), CONTROLLER_MANAGER),
        databases: Databases::new(Arc::new(ArcSwap::default()), CONTROLLER_MANAGER),
        resources: ResourceClient::new(client.clone(), "api:443"),
        gate: Arc::default(),
        slots: CallSlots::new(CALLS),
        rights: RightsNeeded::default(),
        events,
        metrics: Metrics::default(),
        holds: PublishedHolds::default(),
        cleaned: CleanedObjects::default(),
        health: Health::default(),
        leadership: lease.leadership(),
        term,
        stop: CancellationToken::new(),
        failed: CancellationToken::new(),
        jobs: TaskTracker::new(),
        under_way: UnderWay::default(),
        notes: NotedSelections::default(),
        watches: KindWatches::default(),
        identities: Identities::default(),
        handovers: Handovers::default(),
    };
    let gvk = GroupVersionKind::gvk("demo.driftpoller.dev", "v1", "Proxy");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "proxies");
    let executor = Executor {
        writer: context.writer(ResolvedKind { resource, namespaced: true }, target.all_fields.clone()),
        requests: context.request_sender(),
        secrets: context.secrets.clone(),
        announcer: Announcer::new(context.events.clone(), target, &context.home),
        target: target.clone(),
        metrics: context.metrics.clone(),
    };
    (context, executor)
}

fn lease_settings() -> LeaseSettings {
    LeaseSettings {
        namespace: "drift-system".to_owned(),
        name: CONTROLLER_LEASE.to_owned(),
        instance: "test".to_owned(),
        manager: CONTROLLER_MANAGER,
        on_take: std::collections::BTreeMap::new(),
        part: Health::default().part("lease"),
    }
}

fn secrets(client: &kube::Client, own: Credentials) -> Secrets {
    let beside = ReadableSecrets::new(client.clone(), CancellationToken::new(), CancellationToken::new());
    Secrets::new(own, beside)
}

/// An idempotency key without the fingerprints of the desired state and of the requests, which have their own tests.
fn short(key: &str) -> &str {
    key.rsplitn(3, '-').nth(2).unwrap_or(key)
}

/// Runs the external system. It accepts everything unless a test replaces the response, and a refusal
/// repeats the credential.
async fn serve_outside(state: Arc<Mutex<State>>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = axum::Router::new().fallback(move |request: Request<Body>| {
        let state = state.clone();
        async move {
            let key = request.headers().get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or("none");
            let line = format!("{} {} {}", request.method(), request.uri().path(), short(key));
            let usual = if line.starts_with("POST /proxies ") { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
            let (status, hang) = {
                let mut state = state.lock().unwrap();
                state.log.push(line.clone());
                let State { replace, object, .. } = &mut *state;
                let replaced = replace(&line, object.as_mut().unwrap_or(&mut Value::Null));
                (replaced.unwrap_or(usual), replaced == Some(StatusCode::CONTINUE))
            };
            if hang {
                std::future::pending::<()>().await;
            }
            let sent = request.headers().get("authorization").and_then(|value| value.to_str().ok());
            let token = sent.and_then(|sent| sent.strip_prefix("Bearer ")).filter(|_| status.is_client_error());
            let repeated = token.map(|token| json!({"error": format!("no access for {token}")}).to_string());
            Response::builder().status(status).body(repeated.map_or_else(Body::empty, Body::from)).unwrap()
        }
    });
    drift_kube::process::tasks::spawn("outside", CancellationToken::new(), async move {
        axum::serve(listener, router).await.unwrap();
    });
    address
}

async fn cluster_answer(state: Arc<Mutex<State>>, request: Request<Body>) -> Response<Body> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut state = state.lock().unwrap();
    if path.contains("/leases") {
        return lease_answer(&mut state, method.as_str(), body);
    }
    if method == "GET" {
        state.reads += 1;
        if state.reads_fail {
            return failure(StatusCode::SERVICE_UNAVAILABLE, "as the test says");
        }
        return match &state.object {
            Some(object) => reply(StatusCode::OK, object),
            None => failure(StatusCode::NOT_FOUND, "not found"),
        };
    }
    if method != "PATCH" {
        return reply(StatusCode::CREATED, &json!({}));
    }
    patch_answer(&mut state, &body)
}

fn patch_answer(state: &mut State, patch: &Value) -> Response<Body> {
    let line = describe(patch);
    state.log.push(line.clone());
    let State { replace, object, .. } = state;
    let Some(object) = object else { return failure(StatusCode::NOT_FOUND, "not found") };
    if let Some(status) = replace(&line, object) {
        return failure(status, "as the test says");
    }
    let mut patched = object.clone();
    let mut patch: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
    // The API server treats an absent field as equal to null.
    patch.0.retain(|operation| match operation {
        json_patch::PatchOperation::Test(test) => !test.value.is_null() || object.pointer(test.path.as_str()).is_some(),
        _ => true,
    });
    if json_patch::patch(&mut patched, &patch).is_err() {
        state.log.pop();
        state.log.push(format!("{line} (does not apply)"));
        return failure(
            StatusCode::UNPROCESSABLE_ENTITY,
            "the server rejected our request due to an error in our request",
        );
    }
    bump(&mut patched);
    *object = patched.clone();
    let metadata = &patched["metadata"];
    let is_released = metadata["finalizers"].as_array().is_none_or(Vec::is_empty);
    if metadata.get("deletionTimestamp").is_some() && is_released {
        state.object = None;
    }
    reply(StatusCode::OK, &patched)
}

/// Changes the resourceVersion, like each write.
pub(crate) fn bump(object: &mut Value) {
    let version: u64 = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    object["metadata"]["resourceVersion"] = json!((version + 1).to_string());
}

/// Describes a patch in one line, without the ending of a claim in the target's own scope.
fn describe(patch: &Value) -> String {
    let write = patch.as_array().unwrap().iter().rfind(|operation| operation["op"] != "test").unwrap();
    let operation = write["op"].as_str().unwrap();
    let path = write["path"].as_str().unwrap();
    match (path.contains("finalizers"), write["value"]["reason"].as_str()) {
        (true, _) => format!("{operation} finalizer"),
        (false, Some(reason)) => {
            let (ending, message) =
                (format!(" [scope {}", ScopeId::of(SCOPE)), write["value"]["message"].as_str().unwrap());
            format!("note {reason} {}", message.split_once(&ending).map_or(message, |(text, _)| text))
        }
        (false, None) => format!("{operation} note"),
    }
}

fn lease_answer(state: &mut State, method: &str, body: Value) -> Response<Body> {
    match (method, &state.lease) {
        ("GET", None) => return failure(StatusCode::NOT_FOUND, "not found"),
        ("GET", Some(_)) => {}
        _ => {
            let mut lease = body;
            lease["metadata"]["resourceVersion"] = json!("1");
            lease["metadata"]["uid"] = json!("l-1");
            state.lease = Some(lease);
        }
    }
    reply(StatusCode::OK, state.lease.as_ref().unwrap())
}

fn reply(status: StatusCode, body: &Value) -> Response<Body> {
    let json = "application/json";
    Response::builder().status(status).header("content-type", json).body(Body::from(body.to_string())).unwrap()
}

fn failure(status: StatusCode, message: &str) -> Response<Body> {
    let code = status.as_u16();
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code});
    reply(status, &body)
}
