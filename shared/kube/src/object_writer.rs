//! Reads and writes the objects of one kind while we hold the Lease, within the program's limit of calls.
//!
//! Both programs write through it. A write applies to exactly the state that it was computed for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;
use drift_language::ConditionsPlace;
use json_patch::Patch;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::client::ResolvedKind;
use crate::client::{CallError, ObjectClient, WriteError};
use crate::lease::Leadership;
use crate::process::clock;
use crate::reports::ReportClient;

/// Concurrent calls over all targets of a program: enough for 600 status patches a second with a response time of 50
/// ms, and far below the API server's limit of requests in flight.
pub const CONCURRENT_CALLS: usize = 32;

/// Concurrent live reads after conflicting states, over all targets of a program. After a restore of the API server's
/// store nearly all objects need one, and calls are served in order. So writes wait for only a part of the slots.
pub const CONCURRENT_READS_ANEW: usize = CONCURRENT_CALLS / 2;

/// Maximum Retry-After of an API server that is obeyed. It sends 32 s at most, and calls must resume soon after
/// it is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Refusal to write conditions whose place is not known.
const REPORT_UNREAD: &str = "the DriftReport of the object was not read";

/// Limits the concurrent calls of one program. Waiting calls are served in order.
#[derive(Clone, Debug)]
pub struct CallSlots {
    free: Arc<Semaphore>,
    /// Limits the live reads that wait for a slot or have one.
    reads_anew: Arc<Semaphore>,
    /// No calls until then, as the API server asked.
    paused_until: Arc<Mutex<Moment>>,
}

impl Default for CallSlots {
    fn default() -> Self {
        Self::new(CONCURRENT_CALLS)
    }
}

/// A slot for consecutive calls, until it is dropped.
#[derive(Debug)]
#[must_use = "the slot is given back when this is dropped"]
pub struct CallSlot {
    _permit: Option<OwnedSemaphorePermit>,
}

impl CallSlots {
    /// Creates this number of slots.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(count)),
            reads_anew: Arc::new(Semaphore::new(CONCURRENT_READS_ANEW)),
            paused_until: Arc::new(Mutex::new(Moment::START)),
        }
    }

    /// Waits for a slot, and for the end of a pause.
    pub async fn enter(&self) -> CallSlot {
        // The semaphore is never closed. If it were, calls without its limit would be right.
        let permit = self.free.clone().acquire_owned().await.ok();
        while let Some(until) = self.pause() {
            tokio::time::sleep_until(clock::instant_of(until)).await;
        }
        CallSlot { _permit: permit }
    }

    /// Takes a slot, if one is free and no call waits for it.
    #[must_use]
    pub fn try_enter(&self) -> Option<CallSlot> {
        if self.pause().is_some() {
            return None;
        }
        self.free.clone().try_acquire_owned().ok().map(|permit| CallSlot { _permit: Some(permit) })
    }

    /// Returns the end of the current pause, if any.
    fn pause(&self) -> Option<Moment> {
        let until = *self.lock();
        (until > clock::now()).then_some(until)
    }

    /// Passes the response on, and pauses all calls if the API server itself asked for it. A refusal with a `Status`,
    /// for example of a webhook, is about one kind and only delays its own object.
    fn heed<T>(&self, answer: Result<T, WriteError>) -> Result<T, WriteError> {
        if let Err(WriteError::Unavailable(error)) = &answer
            && let Some(pause) = error.pause_of_all_calls()
        {
            let until = clock::now() + pause.min(LONGEST_PAUSE);
            let mut paused_until = self.lock();
            *paused_until = until.max(*paused_until);
        }
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Moment> {
        self.paused_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads and writes objects of one kind. Each call takes the [`CallSlot`] in which it is made.
#[derive(Clone, Debug)]
pub struct ObjectWriter {
    /// The client of the objects.
    pub objects: ObjectClient,
    /// Their resolved kind.
    pub kind: ResolvedKind,
    /// The fields to keep of a response.
    pub fields: FieldPaths,
    /// The leadership of this process. A process that was stopped between decision and write must not continue.
    pub leadership: Leadership,
    /// The limit over all targets.
    pub slots: CallSlots,
    /// The reports of the objects, if their conditions are kept there.
    pub reports: Option<ReportClient>,
}

impl ObjectWriter {
    /// Returns the writer for objects whose conditions have this place, in an installation.
    #[must_use]
    pub fn keeping(self, place: ConditionsPlace, installation: &str) -> Self {
        let keeps_reports = place == ConditionsPlace::Report;
        let reports = keeps_reports.then(|| ReportClient::new(self.objects.clone(), installation));
        Self { reports, ..self }
    }

    /// Reads an object live, with its report. `None` if it is gone.
    ///
    /// # Errors
    /// Fails if the API server does not answer or refuses.
    pub async fn read(&self, _slot: &CallSlot, id: &ObjectId) -> Result<Option<LeanObject>, WriteError> {
        let read = self.slots.heed(self.objects.read(&self.kind, id, &self.fields).await);
        match (read?, &self.reports) {
            (Some(object), Some(reports)) => self.slots.heed(reports.attach(&self.kind, object).await).map(Some),
            (object, _) => Ok(object),
        }
    }

    /// Reads an object live, with retries, if a list and the known state contradict each other. `None` if it is gone,
    /// which the watch reports too. After a restore of the API server's store nearly all objects may need it at once.
    /// Only a few of them wait for a slot, each try takes a new one, and none is held during a pause.
    pub async fn read_anew(&self, target: &str, known: &LeanObject) -> Option<LeanObject> {
        let mut backoff = Backoff::new(Series::API_UNAVAILABLE);
        loop {
            let turn = self.slots.reads_anew.acquire().await;
            let slot = self.slots.enter().await;
            match self.read(&slot, &known.id).await {
                Ok(live) => return live.map(|live| live.read_after(known).kept_as(known)),
                Err(error) => {
                    let (namespace, name) = (known.id.namespace.as_deref(), &*known.id.name);
                    let (kind, uid) = (&*self.kind.resource.kind, &*known.id.uid);
                    tracing::debug!(target, kind, namespace, name, uid, cause = %error, "not read again");
                }
            }
            drop((slot, turn));
            tokio::time::sleep(backoff.fail(clock::now())).await;
        }
    }

    /// Patches the object itself: finalizers.
    ///
    /// # Errors
    /// Returns a [`WriteError`].
    pub async fn patch(&self, _slot: &CallSlot, object: &LeanObject, patch: Patch) -> Result<LeanObject, WriteError> {
        self.ensure_leading()?;
        self.slots.heed(self.objects.patch(&self.kind, &object.id, patch, &self.fields).await)
    }

    /// Applies a merge patch, which contains the uid, to the object itself. The caller checks the leadership.
    ///
    /// # Errors
    /// Returns [`CallError`], from the API server's response.
    pub async fn merge(
        &self,
        _slot: &CallSlot,
        id: &ObjectId,
        patch: &Value,
        manager: &str,
    ) -> Result<LeanObject, CallError> {
        self.objects.merge(&self.kind, id, patch, manager, &self.fields).await
    }

    /// Patches the status of an object, or its report: a condition and the fields that are written with it.
    ///
    /// # Errors
    /// [`WriteError`]: `Moved` also if the condition changed meanwhile.
    pub async fn patch_status(
        &self,
        _slot: &CallSlot,
        object: &LeanObject,
        patch: Patch,
    ) -> Result<LeanObject, WriteError> {
        self.ensure_leading()?;
        self.slots.heed(self.send_status(object, patch).await)
    }

    async fn send_status(&self, object: &LeanObject, patch: Patch) -> Result<LeanObject, WriteError> {
        match (&self.reports, &object.report) {
            (Some(reports), Some(known)) => reports.write(&self.kind, (object, known), patch).await,
            // A status without room for the conditions is not ours to write.
            (Some(_), None) => Err(WriteError::Refused(REPORT_UNREAD.to_owned())),
            (None, _) => self.objects.patch_status(&self.kind, &object.id, patch, &self.fields).await,
        }
    }

    /// Deletes an object in the state in which it was read: a report that no target keeps.
    ///
    /// # Errors
    /// [`WriteError`]: `Moved` if it is in another state.
    pub async fn delete(&self, _slot: &CallSlot, object: &LeanObject) -> Result<(), WriteError> {
        self.ensure_leading()?;
        self.slots.heed(self.objects.delete(&self.kind, &object.id, &object.resource_version).await)
    }

    /// Checked with the slot, right before the write.
    fn ensure_leading(&self) -> Result<(), WriteError> {
        if self.leadership.is_held() { Ok(()) } else { Err(WriteError::NotLeading) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use axum::body::Body;
    use futures::FutureExt;
    use http::{Response, StatusCode};
    use kube::core::ApiResource;
    use serde_json::json;

    use super::*;
    use crate::client::fake_api::{client, refuse, reply, scripted};

    fn writer(client: kube::Client) -> ObjectWriter {
        let resource = ApiResource {
            group: "demo.example".to_owned(),
            version: "v1".to_owned(),
            api_version: "demo.example/v1".to_owned(),
            kind: "Proxy".to_owned(),
            plural: "proxies".to_owned(),
        };
        ObjectWriter {
            objects: ObjectClient::new(client, "test"),
            kind: ResolvedKind { resource, namespaced: true },
            fields: FieldPaths::default(),
            leadership: Leadership::never_held(),
            slots: CallSlots::default(),
            reports: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn objects_are_read_anew_within_the_slots() {
        const OBJECTS: usize = 500;
        static NOW: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        static REQUESTS: AtomicUsize = AtomicUsize::new(0);
        let (client, log) = client(|sent| {
            async move {
                MOST.fetch_max(NOW.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(50)).await;
                NOW.fetch_sub(1, Ordering::SeqCst);
                if REQUESTS.fetch_add(1, Ordering::SeqCst) < CONCURRENT_CALLS {
                    return refuse(503, "ServiceUnavailable", "no");
                }
                let name = sent.uri.rsplit('/').next().unwrap_or_default().to_owned();
                reply(200, &json!({"metadata": {"uid": name, "name": name, "namespace": "a", "resourceVersion": "1"}}))
            }
            .boxed()
        });
        let writer = writer(client);
        let reads = (0..OBJECTS).map(|number| {
            let name = format!("o-{number}");
            let known = json!({"metadata": {"uid": name, "name": name, "namespace": "a", "resourceVersion": "9"}});
            let (writer, known) = (writer.clone(), LeanObject::prune(&known, &FieldPaths::default()));
            async move { writer.read_anew("flags", &known).await.is_some() }
        });
        let slots = writer.slots.clone();
        let write = async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let before = clock::now();
            drop(slots.enter().await);
            clock::now() - before
        };
        let (read, waited) = futures::join!(futures::future::join_all(reads), write);
        assert!(waited < Duration::from_millis(50), "a write waits for {waited:?}");
        assert_eq!(read.into_iter().filter(|is_there| *is_there).count(), OBJECTS);
        assert_eq!(MOST.load(Ordering::SeqCst), CONCURRENT_READS_ANEW, "in {} requests", log.lines().len());
        assert!(log.lines().len() > OBJECTS, "none was refused");
    }

    #[tokio::test]
    async fn nothing_is_sent_once_the_lease_is_lost() {
        let (client, log) = client(|_| async { reply(200, &json!({})) }.boxed());
        let writer = writer(client);
        let slot = writer.slots.enter().await;
        let object = json!({"metadata": {"uid": "u", "name": "n", "namespace": "a", "resourceVersion": "1"}});
        let object = LeanObject::prune(&object, &FieldPaths::default());
        let written = writer.patch_status(&slot, &object, Patch(Vec::new())).await;
        assert!(matches!(written, Err(WriteError::NotLeading)), "{written:?}");
        let patched = writer.patch(&slot, &object, Patch(Vec::new())).await;
        assert!(matches!(patched, Err(WriteError::NotLeading)), "{patched:?}");
        let deleted = writer.delete(&slot, &object).await;
        assert!(matches!(deleted, Err(WriteError::NotLeading)), "{deleted:?}");
        assert_eq!(log.lines(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn an_object_without_its_report_is_not_written() {
        let (client, log) = client(|_| async { reply(200, &json!({})) }.boxed());
        let writer = writer(client).keeping(ConditionsPlace::Report, "drift-system/drift-poller");
        let object = json!({"metadata": {"uid": "u", "name": "n", "namespace": "a", "resourceVersion": "1"}});
        let object = LeanObject::prune(&object, &FieldPaths::default());
        let written = writer.send_status(&object, Patch(Vec::new())).await;
        assert!(matches!(written, Err(WriteError::Refused(_))), "{written:?}");
        assert_eq!(log.lines(), Vec::<String>::new());
    }

    /// A rejection by priority and fairness of the API server.
    fn too_busy(seconds: u64) -> Response<Body> {
        let mut answer = Response::new(Body::from("Too many requests, please try again later.\n"));
        *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        answer.headers_mut().insert("retry-after", seconds.into());
        answer
    }

    fn id() -> ObjectId {
        ObjectId { namespace: Some("a".into()), name: "o".into(), uid: "u".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_asks_for_a_pause_gets_it() {
        for (asked, expected) in [(vec![7], 7), (vec![7, 3], 7), (vec![3600], LONGEST_PAUSE.as_secs())] {
            let (client, _) = scripted(asked.iter().map(|seconds| too_busy(*seconds)).collect());
            let writer = writer(client);
            let slot = writer.slots.enter().await;
            for _ in asked {
                assert!(matches!(writer.read(&slot, &id()).await, Err(WriteError::Unavailable(_))));
            }
            assert!(writer.slots.try_enter().is_none(), "a call is made at once");
            let before = clock::now();
            drop(writer.slots.enter().await);
            assert_eq!(clock::now() - before, Duration::from_secs(expected));
            assert!(writer.slots.try_enter().is_some());
        }
    }

    /// The response comes from a webhook.
    #[tokio::test(start_paused = true)]
    async fn a_refusal_of_one_kind_pauses_no_other() {
        for code in [429, 503] {
            let status = json!({"kind": "Status", "status": "Failure", "code": code,
                "message": "admission webhook \"w\" denied the request", "details": {"retryAfterSeconds": 30}});
            let (client, _) = scripted(vec![reply(code, &status)]);
            let writer = writer(client);
            let slot = writer.slots.enter().await;
            assert!(matches!(writer.read(&slot, &id()).await, Err(WriteError::Unavailable(_))));
            assert!(writer.slots.try_enter().is_some(), "{code} pauses all calls");
        }
    }
}
