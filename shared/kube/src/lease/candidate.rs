//! One candidate for a Lease: it takes, renews, gives up and releases it.
//!
//! `rules` makes the decisions. This file turns them into calls, and reports the results to the holder.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::client::CallError;
use crate::lease::leadership::Term;
use crate::lease::rules::{Decision, LEASE_DURATION, LeaseRecord, LeaseView, decide};
use crate::lease::store::{LeaseStore, StoredLease};
use crate::process::kill_point::{KillPoint, reach};
use crate::process::{clock, instance};
use crate::telemetry::health::HealthPart;
use drift_api::timing::moment::Moment;

/// Duration on a released Lease, in seconds: the least that the API server accepts.
const RELEASED_SECONDS: i32 = 1;

/// The channels to and from the holder: wanted annotations, written annotations, the term.
pub(super) type Channels =
    (watch::Sender<BTreeMap<String, String>>, watch::Sender<BTreeMap<String, String>>, watch::Sender<Option<Term>>);

/// The Lease and the identity of the holder.
pub struct LeaseSettings {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name. Default `names::POLLER_LEASE` or `names::CONTROLLER_LEASE`.
    pub name: String,
    /// The name of this process. The holder's name appends random digits.
    pub instance: String,
    /// The field manager of its writes.
    pub manager: &'static str,
    /// Annotations that are overwritten when the Lease is taken.
    pub on_take: BTreeMap<String, String>,
    /// Reports in `/readyz` if the Lease cannot be read or written.
    pub part: HealthPart,
}

/// One process that competes for a Lease.
pub(super) struct Candidate {
    store: LeaseStore,
    me: String,
    on_take: BTreeMap<String, String>,
    wanted: watch::Sender<BTreeMap<String, String>>,
    term: watch::Sender<Option<Term>>,
    /// Cancels the token of the term when the term ends or the candidate is dropped.
    guard: Option<DropGuard>,
    view: LeaseView,
    stored: StoredLease,
    /// Our annotations as last written.
    written: watch::Sender<BTreeMap<String, String>>,
}

impl Candidate {
    pub(super) fn new(client: kube::Client, settings: &LeaseSettings, (wanted, written, term): Channels) -> Self {
        Self {
            store: LeaseStore::new(client, &settings.namespace, &settings.name, settings.manager),
            me: instance::unique(&settings.instance),
            on_take: settings.on_take.clone(),
            wanted,
            term,
            guard: None,
            view: LeaseView::default(),
            stored: StoredLease::default(),
            written,
        }
    }

    /// Returns the name of the Lease.
    pub(super) fn lease(&self) -> &str {
        self.store.name()
    }

    /// Returns the start time of our last successful renewal, or `None` if we do not hold the Lease.
    pub(super) fn renewed(&self) -> Option<Moment> {
        self.term.borrow().as_ref().map(|term| term.renewed)
    }

    /// Reads the Lease, and takes it if it is free and `may_take` is set.
    pub(super) async fn contend(&mut self, may_take: bool) -> Result<(), CallError> {
        self.look().await?;
        let now = clock::now();
        if !may_take || decide(&self.view, &self.me, None, now) != Decision::Take {
            return Ok(());
        }
        let before = self.stored.record.clone().unwrap_or_default();
        let mut annotations = before.annotations.clone();
        annotations.extend(self.on_take.clone());
        let transitions = before.transitions.saturating_add(i32::from(self.stored.record.is_some()));
        match self.write(Some(self.me.clone()), transitions, annotations).await {
            Ok(()) => self.begin_term(now, before.annotations),
            // Another process was faster.
            Err(error) if error.code() == Some(409) => return Ok(()),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Renews the Lease if it is due, or if annotations changed.
    pub(super) async fn hold(&mut self) -> Result<(), CallError> {
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
        let wanted = self.wanted.borrow().clone();
        let is_news = wanted != *self.written.borrow();
        match decide(&self.view, &self.me, self.renewed(), now) {
            Decision::StepDown => {
                self.step_down("the Lease is another's or was not renewed in time");
                return Ok(());
            }
            Decision::Wait if !is_news => return Ok(()),
            Decision::Wait | Decision::Renew | Decision::Take => {}
        }
        let before = self.stored.record.clone().unwrap_or_default();
        let mut annotations = before.annotations;
        annotations.extend(wanted.clone());
        if is_news {
            reach(KillPoint::PollerBeforeActive);
        }
        self.write(Some(self.me.clone()), before.transitions, annotations).await?;
        if is_news {
            reach(KillPoint::PollerAfterActive);
        }
        self.written.send_replace(wanted);
        self.term.send_modify(|term| {
            if let Some(term) = term {
                term.renewed = now;
            }
        });
        Ok(())
    }

    /// Begins a term at `began`, the time at which the taking write was sent.
    fn begin_term(&mut self, began: Moment, found: BTreeMap<String, String>) {
        self.wanted.send_replace(self.on_take.clone());
        self.written.send_replace(self.on_take.clone());
        let ended = CancellationToken::new();
        self.guard = Some(ended.clone().drop_guard());
        self.term.send_replace(Some(Term { began, renewed: began, ended, found: Arc::new(found) }));
        tracing::info!(lease = self.store.name(), holder = self.me, "the Lease is ours");
    }

    pub(super) fn step_down(&mut self, why: &str) {
        if self.term.send_replace(None).is_some() {
            tracing::warn!(lease = self.store.name(), why, "the Lease is ours no more");
        }
        self.guard = None;
    }

    /// Ends the term on our own request, without a warning.
    pub(super) fn lay_down(&mut self) {
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

    /// Removes our name from the Lease, if we hold it.
    pub(super) async fn try_release(&mut self) -> Result<(), CallError> {
        self.look().await?;
        let Some(record) = self.stored.record.clone() else { return Ok(()) };
        if record.holder.as_ref() != Some(&self.me) {
            return Ok(());
        }
        self.write(None, record.transitions, record.annotations).await
    }
}
