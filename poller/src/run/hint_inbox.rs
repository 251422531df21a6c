//! The queue of one target's hints. It is bounded; further hints are dropped and counted.

pub(crate) mod webhooks;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drift_api::timing::token_bucket::TokenBucket;
use drift_kube::process::clock;
use drift_language::{EvaluationError, Target};
use tokio::sync::mpsc;

use crate::engine::hints::{Hint, HintOutcome};
use crate::run::metrics::{Metrics, of_outcome, of_target};
use crate::run::rate_limit::SharedRate;
use crate::run::reads::troubles::Troubles;

/// Maximum queued hints for the actor, of a few hundred bytes each. The actor processes this many in a millisecond.
const QUEUE: usize = 1_024;

/// Burst of hints for one target, sized for a transaction over a large table.
const AT_ONCE: u32 = 10_000;

/// Refill interval after the burst. It is far above the usual rate of polls by `read.limits`, and a thousandth of
/// a processor's capacity.
const ONE_MORE_AFTER: Duration = Duration::from_millis(1);

/// Sender of one target's hints. Clones share its rate.
#[derive(Clone)]
pub(crate) struct Inbox {
    pub(crate) target: Arc<Target>,
    queue: mpsc::Sender<Hint>,
    rate: SharedRate,
    metrics: Metrics,
    troubles: Arc<Troubles>,
    /// Sources that are disconnected at the moment.
    silent: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Inbox {
    /// Creates the inbox of a target, and the receiver for its actor.
    pub(crate) fn new(target: &Arc<Target>, metrics: Metrics, troubles: Arc<Troubles>) -> (Self, mpsc::Receiver<Hint>) {
        let (queue, hints) = mpsc::channel(QUEUE);
        let rate = SharedRate::of(TokenBucket::full(AT_ONCE, ONE_MORE_AFTER, clock::now()));
        (Self { target: target.clone(), queue, rate, metrics, troubles, silent: Arc::default() }, hints)
    }

    /// Takes in a hint whose identities `identities` extracts.
    ///
    /// # Errors
    /// Returns the outcome if the actor does not receive all of it.
    pub(crate) async fn take(
        &self,
        identities: impl FnOnce() -> Result<Vec<String>, EvaluationError>,
    ) -> Result<(), HintOutcome> {
        let now = clock::now();
        if self.rate.available_at(now) > now {
            return Err(self.count(HintOutcome::Dropped));
        }
        let identities = identities().map_err(|error| {
            self.tell(&error.to_string());
            self.count(HintOutcome::Unreadable)
        })?;
        let mut told = Ok(());
        for identity in identities {
            if self.rate.take(now).is_ok() {
                // The actor receives it soon, or has ended.
                let _ = self.queue.send(Hint::Resource(identity)).await;
            } else {
                told = Err(self.count(HintOutcome::Dropped));
            }
        }
        told
    }

    /// Passes on a hint and waits while the queue is full. Unreceived hints end with the actor.
    pub(crate) async fn pass_on(&self, hint: Hint) {
        let _ = self.queue.send(hint).await;
    }

    /// Records if one of the target's sources is connected.
    pub(crate) fn say_connected(&self, source: &'static str, is_connected: bool) {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if is_connected {
            silent.remove(source);
        } else {
            silent.insert(source);
        }
        let gauge = &self.metrics.hints_connected;
        gauge.get_or_create(&of_target(&self.target.name)).set(i64::from(silent.is_empty()));
    }

    /// Logs the reason why hints are missing.
    pub(crate) fn tell(&self, sentence: &str) {
        self.troubles.note_hints(&self.target, sentence, clock::now());
    }

    fn count(&self, outcome: HintOutcome) -> HintOutcome {
        self.metrics.hints.get_or_create(&of_outcome(&self.target.name, outcome.as_str())).inc();
        outcome
    }
}
