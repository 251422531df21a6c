//! The queue of one target's hints. It is bounded; the rest is dropped and counted.

pub(crate) mod webhooks;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drift_api::timing::token_bucket::TokenBucket;
use drift_kube::process::clock;
use drift_language::Target;
use drift_language::cel::EvaluationError;
use tokio::sync::mpsc;

use crate::engine::hints::{Hint, HintOutcome};
use crate::run::metrics::{Metrics, of_outcome, of_target};
use crate::run::rate_limit::SharedRate;
use crate::run::reads::troubles::Troubles;

/// Hints that wait for the actor, of a few hundred bytes each; it takes in as many in a millisecond.
const QUEUE: usize = 1_024;

/// Hints of one target that are taken in at once: what a transaction over a large table sends.
const AT_ONCE: u32 = 10_000;

/// One more every so often: far above the polls that `read.limits` let through in the usual case, and a thousandth of what a
/// processor could take in.
const ONE_MORE_AFTER: Duration = Duration::from_millis(1);

/// The sender of one target's hints. Clones share its rate.
#[derive(Clone)]
pub(crate) struct Inbox {
    pub(crate) target: Arc<Target>,
    queue: mpsc::Sender<Hint>,
    rate: SharedRate,
    metrics: Metrics,
    troubles: Arc<Troubles>,
    /// The sources that hear nothing at the moment, though they should.
    silent: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Inbox {
    /// Of a target, and what its actor takes hints from.
    pub(crate) fn new(target: &Arc<Target>, metrics: Metrics, troubles: Arc<Troubles>) -> (Self, mpsc::Receiver<Hint>) {
        let (queue, hints) = mpsc::channel(QUEUE);
        let rate = SharedRate::of(TokenBucket::full(AT_ONCE, ONE_MORE_AFTER, clock::now()));
        (Self { target: target.clone(), queue, rate, metrics, troubles, silent: Arc::default() }, hints)
    }

    /// A hint came, about what `identities` makes of it.
    ///
    /// # Errors
    /// What became of it, where the actor is not told all of it.
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
                // The actor takes it in soon, or has ended with this.
                let _ = self.queue.send(Hint::Resource(identity)).await;
            } else {
                told = Err(self.count(HintOutcome::Dropped));
            }
        }
        told
    }

    /// Hands on a hint of a source that waits where many come. What nobody takes in ends with the actor.
    pub(crate) async fn pass_on(&self, hint: Hint) {
        let _ = self.queue.send(hint).await;
    }

    /// Whether one of the target's sources is heard.
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

    /// Says in the log why hints do not come.
    pub(crate) fn tell(&self, sentence: &str) {
        self.troubles.note_hints(&self.target.name, sentence, clock::now());
    }

    fn count(&self, outcome: HintOutcome) -> HintOutcome {
        self.metrics.hints.get_or_create(&of_outcome(&self.target.name, outcome.as_str())).inc();
        outcome
    }
}
