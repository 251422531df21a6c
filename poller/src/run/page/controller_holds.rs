//! The controller's holds, read from its Lease when someone asks for the page.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::held_corrections::HeldCorrections;
use drift_api::timing::moment::Moment;
use drift_kube::client::CallError;
use drift_kube::lease::read_lease;
use drift_kube::process::clock;
use jiff::Timestamp;
use serde_json::Value;

/// The age up to which a read answers further requests: less than the 5 s after which the page asks again and the controller
/// changes its list at the most.
const KEPT: Duration = Duration::from_secs(3);
/// The deadline of a read. The page shows the verdicts without the holds, so it does not wait the 10 s of other calls.
const READ_DEADLINE: Duration = Duration::from_secs(1);

/// The holds of the controller as last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ControllerHolds {
    /// The list, `None` within if no controller holds the Lease; `None` before the first successful read.
    pub(super) held: Option<Option<HeldCorrections>>,
    /// The reason why the last read failed.
    pub(super) failure: Option<String>,
}

impl ControllerHolds {
    /// Takes up the result of a read. A failed one leaves what was known.
    fn take_up(&mut self, read: Result<Option<Value>, CallError>, now: Timestamp) {
        match read {
            Ok(lease) => *self = Self { held: Some(HeldCorrections::on_lease(lease.as_ref(), now)), failure: None },
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    /// The sentence for a failed read.
    pub(super) fn notice(&self) -> Option<String> {
        let what = if self.held.is_some() { "may be outdated" } else { "are not shown" };
        let failure = self.failure.as_ref()?;
        Some(format!("The controller's Lease cannot be read: {failure}. Its holds {what}."))
    }
}

/// The last result of a read and its time.
#[derive(Clone, Default)]
struct Known(Arc<Mutex<(Option<Moment>, ControllerHolds)>>);

impl Known {
    /// Returns the holds. Awaits `read` if they are older than [`KEPT`]. During a read, other requests get the last result.
    async fn renewed(&self, read: impl Future<Output = Result<Option<Value>, CallError>>) -> ControllerHolds {
        if let Some(recent) = self.recent() {
            return recent;
        }
        let in_time = tokio::time::timeout(READ_DEADLINE, read).await;
        let read = in_time.unwrap_or(Err(CallError::TimedOut(READ_DEADLINE)));
        let mut known = self.lock();
        known.1.take_up(read, clock::wall());
        known.0 = Some(clock::now());
        known.1.clone()
    }

    /// Returns the last result, or `None` if the caller must read. Until the first result, each caller must.
    fn recent(&self) -> Option<ControllerHolds> {
        let mut known = self.lock();
        let before = known.0.as_mut()?;
        if clock::now() - *before < KEPT {
            return Some(known.1.clone());
        }
        *before = clock::now();
        None
    }

    fn lock(&self) -> MutexGuard<'_, (Option<Moment>, ControllerHolds)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The controller's Lease. Clones share what was read.
#[derive(Clone)]
pub struct ControllerLease {
    client: kube::Client,
    namespace: String,
    name: String,
    known: Known,
}

impl ControllerLease {
    /// The Lease of this name. Reads nothing yet.
    #[must_use]
    pub fn new(client: kube::Client, namespace: &str, name: &str) -> Self {
        Self { client, namespace: namespace.to_owned(), name: name.to_owned(), known: Known::default() }
    }

    /// Returns the holds that the Lease lists.
    pub(super) async fn holds(&self) -> ControllerHolds {
        self.known.renewed(read_lease(&self.client, &self.namespace, &self.name)).await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::names::HELD_CORRECTIONS_ANNOTATION;
    use serde_json::json;
    use std::cell::Cell;

    fn open(now: Timestamp) -> Value {
        let held = json!({"targets": {"flags": {"whole": ["BreakerOpen 15/29 20%"]}}}).to_string();
        json!({"metadata": {"annotations": {HELD_CORRECTIONS_ANNOTATION: held}},
            "spec": {"holderIdentity": "a", "renewTime": now.to_string()}})
    }

    #[test]
    fn a_failed_read_keeps_what_was_known() {
        let now = "2026-01-01T00:00:30Z".parse().unwrap();
        let failed = || Err(CallError::Unreadable("x".to_owned()));
        let mut holds = ControllerHolds::default();
        holds.take_up(failed(), now);
        assert!(holds.notice().unwrap().ends_with("cannot be read: x. Its holds are not shown."), "{holds:?}");
        holds.take_up(Ok(Some(open(now))), now);
        assert_eq!(holds.notice(), None);
        let known = holds.held.clone();
        assert!(known.as_ref().unwrap().as_ref().unwrap().targets.contains_key("flags"));
        holds.take_up(failed(), now);
        assert_eq!(holds.held, known);
        assert!(holds.notice().unwrap().ends_with("Its holds may be outdated."), "{holds:?}");
        holds.take_up(Ok(None), now);
        assert_eq!(holds, ControllerHolds { held: Some(None), failure: None });
    }

    #[tokio::test(start_paused = true)]
    async fn requests_within_seconds_share_one_read() {
        let (known, reads) = (Known::default(), Cell::new(0));
        let read = async || {
            reads.set(reads.get() + 1);
            Ok(None)
        };
        for (pause, expected) in [(Duration::ZERO, 1), (KEPT / 2, 1), (KEPT / 2, 2), (10 * KEPT, 3)] {
            tokio::time::sleep(pause).await;
            known.renewed(read()).await;
            known.renewed(read()).await;
            assert_eq!(reads.get(), expected, "after {pause:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_read_ends_and_delays_no_other_request() {
        let known = Known::default();
        known.renewed(std::future::ready(Ok(None))).await;
        tokio::time::sleep(KEPT).await;
        let begin = clock::now();
        let hanging = async { (known.renewed(std::future::pending()).await, clock::now() - begin) };
        let other = async { (known.renewed(std::future::pending()).await, clock::now() - begin) };
        let both = tokio::time::timeout(Duration::from_secs(2), futures::future::join(hanging, other));
        let ((failed, of_first), (before, of_other)) = both.await.unwrap();
        assert!(failed.notice().unwrap().contains("no answer within 1s"), "{failed:?}");
        assert_eq!((of_first, of_other), (Duration::from_secs(1), Duration::ZERO));
        assert_eq!(before, ControllerHolds { held: Some(None), failure: None });
    }
}
