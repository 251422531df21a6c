//! Leadership: one process of a kind acts, by a Lease that it holds.
//!
//! kube has no leader election, and what is needed here is more: everybody who is about to act asks again whether the
//! Lease is still held, by a clock that goes on while the process is stopped, and the holder says on its Lease what
//! it vouches for. The deciding is in `lease_record`; this file turns it into calls in time. It must not know what
//! the leader does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::client::CallError;
use crate::lease::leadership::{Leadership, LeaseHandle, Term};
use crate::lease::record::{Decision, LEASE_DURATION, LeaseRecord, LeaseView, RENEW_PERIOD, STEP_DOWN_AFTER, decide};
use crate::lease::store::{LeaseStore, StoredLease};
use crate::process::kill_point::{KillPoint, reach};
use crate::process::{clock, instance};
use crate::telemetry::health::Part;
use drift_model::moment::Moment;

/// How often a contender looks: with the calls it takes a released Lease within a second.
const POLL_PERIOD: Duration = Duration::from_millis(500);

/// The pause after a failed renewal: several tries fit before stepping down.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// How long changed annotations wait for more of them before they are written.
const ANNOTATION_PAUSE: Duration = Duration::from_millis(100);

/// How long a released Lease says it lasts, seconds: the least that the API server takes.
const RELEASED_SECONDS: i32 = 1;

/// The longest that a release may take; without it the others wait out the duration.
const RELEASE_DEADLINE: Duration = Duration::from_secs(3);

/// Which Lease, and as who.
pub struct LeaseSettings {
    /// The client.
    pub client: kube::Client,
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name: `names::POLLER_LEASE` or `names::CONTROLLER_LEASE` where nobody chose another.
    pub name: String,
    /// What this process is called; the holder's name is this and random digits.
    pub instance: String,
    /// The field manager.
    pub manager: &'static str,
    /// Annotations that taking the Lease sets, whatever stood there before.
    pub on_take: BTreeMap<String, String>,
    /// Says in `/readyz` whether the Lease can be read and written.
    pub part: Part,
}

/// The task that takes, renews and releases a Lease.
pub struct LeaseTask {
    store: LeaseStore,
    me: String,
    on_take: BTreeMap<String, String>,
    part: Part,
    stop: CancellationToken,
    wanted: watch::Sender<BTreeMap<String, String>>,
    wanted_changes: watch::Receiver<BTreeMap<String, String>>,
    term: watch::Sender<Option<Term>>,
    /// Cancels the token of the term when the term ends or the task is dropped.
    guard: Option<DropGuard>,
    view: LeaseView,
    stored: StoredLease,
    /// Our annotations as they were last written.
    written: watch::Sender<BTreeMap<String, String>>,
    trouble: Option<String>,
}

/// A Lease to hold. Nothing happens until the task runs. `stop` means that work has ended: the Lease is released then.
#[must_use]
pub fn lease(settings: LeaseSettings, stop: CancellationToken) -> (LeaseHandle, LeaseTask) {
    let (term, term_changes) = watch::channel(None);
    let (wanted, wanted_changes) = watch::channel(BTreeMap::new());
    let (written, stands) = watch::channel(BTreeMap::new());
    let leadership = Leadership { term: term_changes };
    let task = LeaseTask {
        store: LeaseStore::new(settings.client, &settings.namespace, &settings.name, settings.manager),
        me: instance::unique(&settings.instance),
        on_take: settings.on_take,
        part: settings.part,
        stop,
        wanted: wanted.clone(),
        wanted_changes,
        term,
        guard: None,
        view: LeaseView::default(),
        stored: StoredLease::default(),
        written,
        trouble: None,
    };
    (LeaseHandle { leadership, wanted, written: stands }, task)
}

impl LeaseTask {
    /// Runs until `stop`; then the Lease is released.
    pub async fn run(mut self) {
        let stop = self.stop.clone();
        let work = async {
            loop {
                let deadline = clock::instant_of(self.turn_ends_at());
                if tokio::time::timeout_at(deadline, self.turn()).await.is_err() {
                    self.step_down("no renewal succeeded in time");
                }
                self.rest().await;
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = work => {}
        }
        self.release().await;
    }

    fn renewed(&self) -> Option<Moment> {
        self.term.borrow().as_ref().map(|term| term.renewed)
    }

    /// When a turn must be over: for a holder when it steps down. For a contender each call has its own deadline.
    fn turn_ends_at(&self) -> Moment {
        self.renewed().unwrap_or_else(|| clock::now() + LEASE_DURATION) + STEP_DOWN_AFTER
    }

    /// Sleeps until something may be due.
    async fn rest(&mut self) {
        let now = clock::now();
        let Some(renewed) = self.renewed() else { return tokio::time::sleep(POLL_PERIOD).await };
        let due = if self.trouble.is_some() { now + RETRY_PAUSE } else { renewed + RENEW_PERIOD };
        let due = clock::instant_of(due.min(renewed + STEP_DOWN_AFTER));
        tokio::select! {
            () = tokio::time::sleep_until(due) => {}
            _ = self.wanted_changes.changed(), if self.trouble.is_none() => tokio::time::sleep(ANNOTATION_PAUSE).await,
        }
    }

    async fn turn(&mut self) {
        let outcome = match self.renewed() {
            None => self.contend().await,
            Some(_) => self.hold().await,
        };
        self.note_trouble(outcome.err());
    }

    /// Reads, and takes the Lease where it is free.
    async fn contend(&mut self) -> Result<(), CallError> {
        self.look().await?;
        let now = clock::now();
        if decide(&self.view, &self.me, None, now) != Decision::Take {
            return Ok(());
        }
        let before = self.stored.record.clone().unwrap_or_default();
        let mut annotations = before.annotations.clone();
        annotations.extend(self.on_take.clone());
        let transitions = before.transitions.saturating_add(i32::from(self.stored.record.is_some()));
        match self.write(Some(self.me.clone()), transitions, annotations).await {
            Ok(()) => self.begin_term(now, before.annotations),
            // Somebody else was faster.
            Err(error) if error.code() == Some(409) => return Ok(()),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Renews where it is due, or where annotations are to be written.
    async fn hold(&mut self) -> Result<(), CallError> {
        let outcome = self.renew_if_due().await;
        match outcome {
            Err(error) if error.code() == Some(409) => {
                self.look().await?;
                self.renew_if_due().await
            }
            outcome => outcome,
        }
    }

    async fn renew_if_due(&mut self) -> Result<(), CallError> {
        let now = clock::now();
        let wanted = self.wanted_changes.borrow_and_update().clone();
        match decide(&self.view, &self.me, self.renewed(), now) {
            Decision::StepDown => {
                self.step_down("the Lease is another's or was not renewed in time");
                return Ok(());
            }
            Decision::Wait if wanted == *self.written.borrow() => return Ok(()),
            Decision::Wait | Decision::Renew | Decision::Take => {}
        }
        let before = self.stored.record.clone().unwrap_or_default();
        let mut annotations = before.annotations;
        annotations.extend(wanted.clone());
        let is_news = wanted != *self.written.borrow();
        if is_news {
            reach(KillPoint::PollerBeforeInForce);
        }
        self.write(Some(self.me.clone()), before.transitions, annotations).await?;
        if is_news {
            reach(KillPoint::PollerAfterInForce);
        }
        self.written.send_replace(wanted);
        self.term.send_modify(|term| {
            if let Some(term) = term {
                term.renewed = now;
            }
        });
        Ok(())
    }

    /// A term that counts from `began`, when the write that took the Lease was sent.
    fn begin_term(&mut self, began: Moment, found: BTreeMap<String, String>) {
        self.wanted.send_replace(self.on_take.clone());
        self.written.send_replace(self.on_take.clone());
        let ended = CancellationToken::new();
        self.guard = Some(ended.clone().drop_guard());
        self.term.send_replace(Some(Term { renewed: began, ended, found: Arc::new(found) }));
        tracing::info!(lease = self.store.name(), holder = self.me, "the Lease is ours");
    }

    fn step_down(&mut self, why: &str) {
        if self.term.send_replace(None).is_some() {
            tracing::warn!(lease = self.store.name(), "the Lease is ours no more: {why}");
        }
        self.guard = None;
    }

    /// The same on our own wish, which is nothing to warn of.
    fn lay_down(&mut self) {
        if self.term.send_replace(None).is_some() {
            tracing::info!(lease = self.store.name(), "the Lease is given back");
        }
        self.guard = None;
    }

    async fn look(&mut self) -> Result<(), CallError> {
        self.stored = self.store.read().await?;
        self.view.observe(self.stored.record.clone(), clock::now());
        Ok(())
    }

    async fn write(
        &mut self,
        holder: Option<String>,
        transitions: i32,
        annotations: BTreeMap<String, String>,
    ) -> Result<(), CallError> {
        let seconds = match holder {
            Some(_) => i32::try_from(LEASE_DURATION.as_secs()).ok(),
            None => Some(RELEASED_SECONDS),
        };
        let renewed = Some(clock::wall_micros());
        let record = LeaseRecord { holder, duration_seconds: seconds, renewed, transitions, annotations };
        self.stored = self.store.replace(&self.stored, &record).await?;
        self.view.observe(self.stored.record.clone(), clock::now());
        Ok(())
    }

    /// Lets the next one have the Lease at once. A call that fails is tried again as long as there is time: the renewal
    /// that was under way when the end came may land between our look and our write.
    async fn release(mut self) {
        self.lay_down();
        let mut trouble = None;
        let release = async {
            while let Err(error) = self.try_release().await {
                trouble = Some(error);
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        };
        if tokio::time::timeout(RELEASE_DEADLINE, release).await.is_err() {
            let trouble = trouble.map(|error| format!(": {error}")).unwrap_or_default();
            tracing::warn!("the Lease could not be released in time{trouble}");
        }
    }

    async fn try_release(&mut self) -> Result<(), CallError> {
        self.look().await?;
        let Some(record) = self.stored.record.clone() else { return Ok(()) };
        if record.holder.as_ref() != Some(&self.me) {
            return Ok(());
        }
        self.write(None, record.transitions, record.annotations).await
    }

    fn note_trouble(&mut self, trouble: Option<CallError>) {
        let trouble = trouble.map(|error| format!("Lease {}: {error}", self.store.name()));
        match &trouble {
            Some(text) => {
                if self.trouble.as_ref() != Some(text) {
                    tracing::warn!("{text}");
                }
                self.part.not_ready(text.clone());
            }
            None => self.part.ready(),
        }
        self.trouble = trouble;
    }
}
