//! Leader election: of several replicas, the one that holds the Lease acts.
//!
//! kube has no leader election, and more is needed here: every action checks again that the Lease is still held, by a
//! clock that includes the time while the process is stopped, and the holder writes its attestation on the Lease. This
//! file decides when to act on the Lease. `candidate` does it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::client::CallError;
use crate::lease::candidate::{Candidate, LeaseSettings};
use crate::lease::leadership::{Leadership, LeaseHandle, Term};
use crate::lease::rules::{LEASE_DURATION, RENEW_PERIOD, STEP_DOWN_AFTER};
use crate::lease::work_heartbeat::Turning;
use crate::process::clock;
use crate::telemetry::health::HealthPart;
use drift_api::timing::moment::Moment;

/// Interval of a contender's reads. With its calls it takes a released Lease within a second.
const POLL_PERIOD: Duration = Duration::from_millis(500);

/// Pause after a failed renewal, short enough for several tries before stepping down.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Delay in which changed annotations are collected before a write.
const ANNOTATION_PAUSE: Duration = Duration::from_millis(100);

/// Deadline of a release. Without a release, the others wait for the whole duration.
const RELEASE_DEADLINE: Duration = Duration::from_secs(3);

/// A leader election, which must be run.
pub struct LeaseTask {
    settings: LeaseSettings,
    stop: CancellationToken,
    turning: Turning,
    wanted: watch::Sender<BTreeMap<String, String>>,
    written: watch::Sender<BTreeMap<String, String>>,
    term: watch::Sender<Option<Term>>,
}

/// Creates a leader election and its handle. `stop` means that work has ended, and then the Lease is released.
#[must_use]
pub fn lease(settings: LeaseSettings, stop: CancellationToken) -> (LeaseHandle, LeaseTask) {
    let (term, term_changes) = watch::channel(None);
    let (wanted, _) = watch::channel(BTreeMap::new());
    let (written, stands) = watch::channel(BTreeMap::new());
    let leadership = Leadership { term: term_changes };
    let handle = LeaseHandle { leadership, wanted: wanted.clone(), written: stands };
    (handle, LeaseTask { settings, stop, turning: Turning::begun(), wanted, written, term })
}

impl LeaseTask {
    /// Returns the heartbeat of the work's runtime. Without it the Lease is given up.
    #[must_use]
    pub fn turning(&self) -> Turning {
        self.turning.clone()
    }

    /// Takes and renews the Lease until `stop`, then releases it. Run it on a separate thread, with a client of that
    /// thread's runtime, so that the work never delays a renewal.
    pub async fn run(self, client: kube::Client) {
        let Self { settings, stop, turning, wanted, written, term } = self;
        let wanted_changes = wanted.subscribe();
        let candidate = Candidate::new(client, &settings, (wanted, written, term));
        let mut election = Election { candidate, wanted_changes, turning, part: settings.part, trouble: None };
        tokio::select! {
            () = stop.cancelled() => {}
            () = election.go_on() => {}
        }
        election.release().await;
    }
}

/// The election of one candidate.
struct Election {
    candidate: Candidate,
    wanted_changes: watch::Receiver<BTreeMap<String, String>>,
    turning: Turning,
    part: HealthPart,
    trouble: Option<String>,
}

impl Election {
    async fn go_on(&mut self) {
        loop {
            let deadline = clock::instant_of(self.turn_ends_at());
            if tokio::time::timeout_at(deadline, self.turn()).await.is_err() {
                self.candidate.step_down("no renewal succeeded in time");
            }
            self.rest().await;
        }
    }

    /// Returns the deadline of a turn: for a holder, the time of stepping down. For a contender, each call has
    /// its own deadline.
    fn turn_ends_at(&self) -> Moment {
        self.candidate.renewed().unwrap_or_else(|| clock::now() + LEASE_DURATION) + STEP_DOWN_AFTER
    }

    /// Sleeps until the next possible action.
    async fn rest(&mut self) {
        let now = clock::now();
        let Some(renewed) = self.candidate.renewed() else { return tokio::time::sleep(POLL_PERIOD).await };
        let due = if self.trouble.is_some() { now + RETRY_PAUSE } else { renewed + RENEW_PERIOD };
        let due = clock::instant_of(due.min(renewed + STEP_DOWN_AFTER).min(self.turning.believed_until()));
        tokio::select! {
            () = tokio::time::sleep_until(due) => {}
            _ = self.wanted_changes.changed(), if self.trouble.is_none() => tokio::time::sleep(ANNOTATION_PAUSE).await,
        }
    }

    async fn turn(&mut self) {
        let now = clock::now();
        let outcome = match self.candidate.renewed() {
            Some(_) if now >= self.turning.believed_until() => {
                self.candidate.step_down("the work hangs");
                Ok(())
            }
            Some(_) => {
                self.wanted_changes.mark_unchanged();
                self.candidate.hold().await
            }
            None => self.candidate.contend(self.turning.is_steady(now)).await,
        };
        self.note_trouble(outcome.err());
    }

    /// Releases the Lease at once. A failed call is retried until the deadline: a renewal in flight at the end may
    /// arrive between our read and our write.
    async fn release(mut self) {
        self.candidate.lay_down();
        let mut trouble = None;
        let release = async {
            while let Err(error) = self.candidate.try_release().await {
                trouble = Some(error);
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        };
        if tokio::time::timeout(RELEASE_DEADLINE, release).await.is_err() {
            let cause = trouble.map(|error| error.to_string());
            tracing::warn!(cause, "the Lease could not be released in time");
        }
    }

    fn note_trouble(&mut self, trouble: Option<CallError>) {
        let trouble = trouble.map(|error| format!("Lease {}: {error}", self.candidate.lease()));
        match &trouble {
            Some(text) => {
                if self.trouble.as_ref() != Some(text) {
                    tracing::warn!(cause = text, "the Lease cannot be renewed");
                }
                self.part.not_ready(text.clone());
            }
            None => self.part.ready(),
        }
        self.trouble = trouble;
    }
}
