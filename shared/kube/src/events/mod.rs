//! Kubernetes Events, written one by one in the background.
//!
//! kube's recorder repeats the first note of similar Events, which would hide changes. Here each Event has its own note.
//! Emitting never waits. Events beyond the limits are dropped and counted.

mod budget;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use kube::api::PostParams;
use kube::core::{Request, Resource};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::client;
use crate::client::CallError;
use crate::events::budget::EventBudget;
use crate::process::{clock, instance};

/// Events that may wait to be written. Further ones are dropped.
const QUEUE: usize = 256;

/// The deadline of one write: short, because other Events wait behind it.
const EVENT_DEADLINE: Duration = Duration::from_secs(5);

/// The API server's limit for a note, in bytes.
const MAX_NOTE_BYTES: usize = 1024;

/// The API server's limit for the name of the reporting instance, in bytes.
const MAX_INSTANCE_BYTES: usize = 128;

/// The limit for an object's name in its Event's name, in bytes: 253 less a point and 16 digits.
const MAX_SUBJECT_BYTES: usize = 253 - 17;

/// Namespace of Events about cluster-scoped objects.
pub const CLUSTER_EVENTS_NAMESPACE: &str = "default";

/// The type of an Event: Normal or Warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// Information without a need for action.
    Normal,
    /// A problem that may need action.
    Warning,
}

/// An Event before it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The target whose budget it uses. Each kind of involved object has its own budget.
    pub target: String,
    /// The involved object: apiVersion, kind, namespace, name, uid.
    pub regarding: ObjectReference,
    /// The type: Normal or Warning.
    pub kind: NoticeKind,
    /// The reason, a CamelCase word.
    pub reason: &'static str,
    /// The action, a CamelCase word.
    pub action: &'static str,
    /// The message, cut at 1 KiB.
    pub note: String,
}

/// Returns the reference to a ConfigMap for an Event.
#[must_use]
pub fn config_map_reference(namespace: &str, name: &str) -> ObjectReference {
    reference("v1", "ConfigMap", namespace, name)
}

/// Returns the reference to a Lease for an Event.
#[must_use]
pub fn lease_reference(namespace: &str, name: &str) -> ObjectReference {
    reference("coordination.k8s.io/v1", "Lease", namespace, name)
}

fn reference(api_version: &str, kind: &str, namespace: &str, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(api_version.to_owned()),
        kind: Some(kind.to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}

/// The sending side for Events. Cheap to clone. Emitting never waits.
#[derive(Clone, Debug)]
pub struct EventWriter {
    queue: mpsc::Sender<Notice>,
    budget: Arc<Mutex<EventBudget>>,
    dropped: Family<Dropped, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Dropped {
    why: &'static str,
}

/// The background task of an [`EventWriter`].
pub struct EventTask {
    client: kube::Client,
    controller: &'static str,
    instance: String,
    queue: mpsc::Receiver<Notice>,
    dropped: Family<Dropped, Counter>,
    trouble: Option<String>,
}

/// Returns a writer that reports as `controller` (a field manager's name), and its task. Dropped Events count in `registry`.
pub fn event_writer(
    client: kube::Client,
    controller: &'static str,
    instance: &str,
    registry: &mut Registry,
) -> (EventWriter, EventTask) {
    let dropped = Family::<Dropped, Counter>::default();
    registry.register(
        "events_dropped",
        "Kubernetes Events that were dropped: over the target's budget, over the queue, or refused by the API server",
        dropped.clone(),
    );
    let (sender, queue) = mpsc::channel(QUEUE);
    let instance = clipped(instance, MAX_INSTANCE_BYTES).to_owned();
    let task = EventTask { client, controller, instance, queue, dropped: dropped.clone(), trouble: None };
    (EventWriter { queue: sender, budget: Arc::default(), dropped }, task)
}

impl EventWriter {
    /// Queues an Event. Drops it if the budget of its target is spent or the queue is full.
    pub fn emit(&self, notice: Notice) {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        // Events about the target have their own budget, so that Events about its objects cannot displace them.
        let key = format!("{} {}", notice.target, notice.regarding.kind.as_deref().unwrap_or_default());
        let fits = budget.take(&key, clock::now());
        drop(budget);
        if !fits {
            self.count("budget");
        } else if self.queue.try_send(notice).is_err() {
            self.count("queue");
        }
    }

    fn count(&self, why: &'static str) {
        self.dropped.get_or_create(&Dropped { why }).inc();
    }
}

impl EventTask {
    /// Writes until `stop`, then empties the queue.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let notice = tokio::select! {
                biased;
                notice = self.queue.recv() => notice,
                () = stop.cancelled() => return,
            };
            let Some(notice) = notice else { return };
            self.write(&notice).await;
        }
    }

    async fn write(&mut self, notice: &Notice) {
        let trouble = self.create(notice).await.err().map(|error| error.to_string());
        if let Some(text) = &trouble {
            self.dropped.get_or_create(&Dropped { why: "refused" }).inc();
            if self.trouble != trouble {
                tracing::warn!(cause = text, "an Event could not be written");
            }
        }
        self.trouble = trouble;
    }

    async fn create(&self, notice: &Notice) -> Result<(), CallError> {
        let namespace = notice.regarding.namespace.as_deref().unwrap_or(CLUSTER_EVENTS_NAMESPACE);
        let about = notice.regarding.name.as_deref().unwrap_or_default();
        let body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name_for(about, self.controller), "namespace": namespace},
            "eventTime": clock::wall_micros(),
            "reportingController": self.controller,
            "reportingInstance": self.instance,
            "action": notice.action,
            "reason": notice.reason,
            "regarding": notice.regarding,
            "note": clipped(&notice.note, MAX_NOTE_BYTES),
            "type": match notice.kind {
                NoticeKind::Normal => "Normal",
                NoticeKind::Warning => "Warning",
            },
        });
        let request = Request::new(Event::url_path(&(), Some(namespace)))
            .create(&PostParams::default(), body.to_string().into_bytes())?;
        client::request::<serde::de::IgnoredAny>(&self.client, EVENT_DEADLINE, request).await?;
        Ok(())
    }
}

/// Returns a unique name that begins with the object's name, as kubectl shows it. A name with characters that Events may not
/// have is replaced by the controller's.
fn name_for(about: &str, controller: &str) -> String {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let is_good = !about.is_empty() && about.len() <= MAX_SUBJECT_BYTES && about.bytes().all(fits);
    format!("{}.{:016x}", if is_good { about } else { controller }, instance::random())
}

/// Returns the longest beginning of at most `bytes` bytes, cut at a character.
fn clipped(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{answering, client, refuse, reply};
    use crate::telemetry::metrics;

    fn notice(target: &str, note: &str) -> Notice {
        let regarding = ObjectReference {
            namespace: Some("team-a".to_owned()),
            name: Some("p".to_owned()),
            ..ObjectReference::default()
        };
        let kind = NoticeKind::Warning;
        Notice { target: target.to_owned(), regarding, kind, reason: "R", action: "A", note: note.to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn each_event_is_created_with_its_own_note() {
        let (client, log) = answering(|_| reply(201, &json!({})));
        let mut registry = metrics::registry("poller");
        let (writer, task) = event_writer(client, "drift-poller", "pod-1", &mut registry);
        writer.emit(notice("t", "one"));
        writer.emit(notice("t", &"ü".repeat(1000)));
        drop(writer);
        task.run(CancellationToken::new()).await;
        let all = log.all();
        assert_eq!(log.lines(), ["POST /apis/events.k8s.io/v1/namespaces/team-a/events?"; 2]);
        assert_eq!((&all[0].json()["note"], &all[0].json()["type"]), (&json!("one"), &json!("Warning")));
        assert_eq!(all[1].json()["note"].as_str().unwrap().len(), 1024);
        let name = |number: usize| all[number].json()["metadata"]["name"].as_str().unwrap().to_owned();
        assert!(name(0).starts_with("p.") && name(0) != name(1), "{}", name(0));
        let time = all[0].json()["eventTime"].as_str().unwrap().to_owned();
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");
    }

    #[test]
    fn the_name_of_an_event_is_always_accepted() {
        for (about, start) in [("p-1.x", "p-1.x."), ("system:node", "c."), ("", "c."), (&"a".repeat(253), "c.")] {
            let name = name_for(about, "c");
            assert!(name.starts_with(start) && name.len() <= 253, "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn emitting_never_waits_and_what_is_dropped_is_counted() {
        let (client, _) = client(|_| Box::pin(std::future::pending()));
        let mut registry = metrics::registry("poller");
        let (writer, _task) = event_writer(client, "drift-poller", "pod-1", &mut registry);
        for target in 0..20 {
            (0..26).for_each(|_| writer.emit(notice(&target.to_string(), "x")));
        }
        let text = metrics::text(&registry).unwrap();
        assert!(text.contains("why=\"budget\"} 20\n"), "{text}");
        assert!(text.contains(&format!("why=\"queue\"}} {}\n", 20 * 25 - QUEUE)), "{text}");
    }

    #[tokio::test]
    async fn events_about_a_target_have_their_own_budget() {
        let (client, _) = answering(|_| reply(201, &json!({})));
        let (writer, mut task) = event_writer(client, "drift-poller", "pod-1", &mut metrics::registry("poller"));
        (0..100).for_each(|_| writer.emit(notice("t", "x")));
        writer.emit(Notice { regarding: config_map_reference("home", "targets"), ..notice("t", "the breaker opened") });
        let queued = std::iter::from_fn(|| task.queue.try_recv().ok());
        assert_eq!(queued.last().map(|notice| notice.note).as_deref(), Some("the breaker opened"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_event_is_counted_and_the_next_is_written() {
        let (client, log) = answering(|_| refuse(403, "Forbidden", "no"));
        let mut registry = metrics::registry("poller");
        let (writer, task) = event_writer(client, "drift-poller", "pod-1", &mut registry);
        writer.emit(notice("t", "one"));
        writer.emit(notice("t", "two"));
        drop(writer);
        task.run(CancellationToken::new()).await;
        assert_eq!(log.lines().len(), 2);
        assert!(metrics::text(&registry).unwrap().contains("why=\"refused\"} 2\n"));
    }
}
