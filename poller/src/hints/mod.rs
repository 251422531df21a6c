//! Hints from outside, one file for each way in which they come.
//!
//! Thin: what a hint does is the core's business. Whatever comes, no more than a target's actor takes in waits for it. It
//! must not know of polls.

mod listen;

use std::sync::Arc;
use std::time::Duration;

use drift_cluster::process::clock;
use drift_model::token_bucket::TokenBucket;
use drift_target::{HintSource, Target};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::context::Context;
use crate::core::hints::{Hint, HintOutcome};
use crate::metrics::{Metrics, of_outcome};
use crate::outside::Outside;
use crate::troubles::Troubles;

/// Hints that wait for the actor, of a few hundred bytes each; it takes in as many in a millisecond.
const QUEUE: usize = 1_024;

/// Hints of one target that are taken in at once: what a transaction over a large table sends.
const AT_ONCE: u32 = 10_000;

/// One more every so often: far above the polls that `read.limits` let through in the usual case, and a thousandth of what a
/// processor could take in.
const ONE_MORE_AFTER: Duration = Duration::from_millis(1);

/// Where the hints of one target go.
pub(crate) struct Inbox {
    target: Arc<Target>,
    queue: mpsc::Sender<Hint>,
    rate: TokenBucket,
    metrics: Metrics,
    troubles: Arc<Troubles>,
}

/// The inbox of a target, and what the actor takes hints from.
pub(crate) fn inbox(context: &Context, target: &Arc<Target>) -> (Inbox, mpsc::Receiver<Hint>) {
    let (queue, hints) = mpsc::channel(QUEUE);
    let inbox = Inbox {
        target: target.clone(),
        queue,
        rate: TokenBucket::full(AT_ONCE, ONE_MORE_AFTER, clock::now()),
        metrics: context.metrics.clone(),
        troubles: context.outside.troubles.clone(),
    };
    (inbox, hints)
}

/// Takes in what the target's sources say, for as long as it is polled. Never ends.
pub(crate) async fn hear(outside: &Outside, inbox: Inbox) {
    let target = inbox.target.clone();
    match target.hints.first() {
        Some(source @ HintSource::Listen(listen)) => listen::hear(outside, (source, listen), inbox).await,
        None => std::future::pending().await,
    }
}

impl Inbox {
    /// A hint with this payload came.
    async fn take(&mut self, source: &HintSource, payload: &Value) {
        let now = clock::now();
        if self.rate.take(now).is_err() {
            return self.count(HintOutcome::Dropped);
        }
        match source.identity_of(payload) {
            // The actor takes it in soon, or has ended with this.
            Ok(identity) => drop(self.queue.send(Hint::Resource(identity)).await),
            Err(error) => {
                self.troubles.note_hints(&self.target.name, &error.to_string(), now);
                self.count(HintOutcome::Unreadable);
            }
        }
    }

    /// Hints may have been missed.
    async fn miss(&self) {
        let _ = self.queue.send(Hint::Everything).await;
    }

    fn count(&self, outcome: HintOutcome) {
        self.metrics.hints.get_or_create(&of_outcome(&self.target.name, outcome.as_str())).inc();
    }
}
