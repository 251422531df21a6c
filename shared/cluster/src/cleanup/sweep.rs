//! The clean-up at work: looks where something of ours may have been left, and takes it away slowly.
//!
//! Each object is read live and judged again right before it is touched. When to look is the ledger's business, and what
//! is taken away is the program's own ([`Cleaner`]).

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior};

use crate::cleanup::parts::{CleanUp, Cleaner};
use crate::cleanup::{Duty, Judgement, KindName, Ledger, SweepEnd};
use crate::client::ObjectPages;
use crate::client::WriteError;
use crate::config::Configuration;
use crate::kinds::KindError;
use crate::kinds::ResolvedKind;
use crate::process::clock;
use crate::watch::KindWatches;
use drift_model::field_paths::FieldPaths;
use drift_model::identity::Uid;
use drift_model::object::{LeanObject, ObjectId};

/// Between two objects: 50 a second, a twelfth of what a small API server takes, since nobody waits for it.
const SPACING: Duration = Duration::from_millis(20);

/// How often an object is read again when it moved under our hands.
const TRIES: usize = 3;

/// Refusals in a row that end a sweep: the next would be refused too.
const REFUSALS: u32 = 3;

/// One term of leadership.
pub(super) struct Sweep<'a, C> {
    clean_up: &'a CleanUp,
    cleaner: C,
    ledger: Ledger,
    watches: KindWatches,
    leavers: mpsc::UnboundedReceiver<(KindName, ObjectId)>,
    pace: Interval,
}

/// What became of one object.
enum Cleaned {
    Done,
    /// Nothing of ours stands there, or it is somebody's.
    Nothing,
    Undecided,
    Unavailable,
    Refused,
}

impl CleanUp {
    /// Cleans up for as long as it is polled: one term of leadership.
    pub async fn run<C: Cleaner>(
        &self,
        cleaner: C,
        watches: KindWatches,
        leavers: mpsc::UnboundedReceiver<(KindName, ObjectId)>,
    ) {
        Sweep::new(self, cleaner, (watches, leavers)).run().await;
    }
}

impl<'a, C: Cleaner> Sweep<'a, C> {
    /// A term that begins now.
    pub(super) fn new(
        clean_up: &'a CleanUp,
        cleaner: C,
        (watches, leavers): (KindWatches, mpsc::UnboundedReceiver<(KindName, ObjectId)>),
    ) -> Self {
        let mut pace = tokio::time::interval(SPACING);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { clean_up, cleaner, ledger: Ledger::new(clean_up.parts.patience), watches, leavers, pace }
    }
}

impl<C: Cleaner> Sweep<'_, C> {
    /// Cleans up for as long as it is polled.
    pub(super) async fn run(mut self) {
        let mut configuration = self.clean_up.parts.configuration.clone();
        self.arrange(&configuration.borrow_and_update().clone());
        loop {
            let change = match self.ledger.take_due(clock::now()) {
                Some(duty) => {
                    let kind = duty.kind().clone();
                    tokio::select! {
                        changed = configuration.changed() => Some((changed, Some(kind))),
                        () = self.fulfil(duty) => None,
                    }
                }
                None => tokio::select! {
                    changed = configuration.changed() => Some((changed, None)),
                    () = self.rest() => None,
                },
            };
            let Some((changed, broken_off)) = change else { continue };
            if changed.is_err() {
                return;
            }
            self.arrange(&configuration.borrow_and_update().clone());
            if let Some(kind) = broken_off {
                self.ledger.break_off(&kind, clock::now());
            }
        }
    }

    /// Waits until something is due, or an object left.
    async fn rest(&mut self) {
        let due = self.ledger.next_due();
        let wake = async {
            match due {
                Some(due) => tokio::time::sleep_until(clock::instant_of(due)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some((kind, id)) = self.leavers.recv() => self.ledger.note_left(kind, id, clock::now()),
            () = wake => {}
        }
    }

    fn arrange(&mut self, configuration: &Configuration) {
        if configuration.loaded {
            self.clean_up.parts.notes.arrange(configuration.in_force());
            self.ledger.arrange(&self.clean_up.parts.notes.notes(), configuration.in_force(), clock::now());
        }
    }

    async fn fulfil(&mut self, duty: Duty) {
        match duty {
            Duty::Look(name, id) => {
                let cleaned = match self.locate(&name).await {
                    Ok(kind) => self.clean(&name, &kind, &id).await,
                    Err(_) => Cleaned::Unavailable,
                };
                if matches!(cleaned, Cleaned::Unavailable | Cleaned::Refused) {
                    self.ledger.fail(&name, clock::now());
                }
            }
            Duty::Sweep(name) => {
                let end = self.sweep(&name).await;
                let finished = self.ledger.end_sweep(&name, end, clock::now());
                if !finished.is_empty() && !self.clean_up.parts.notes.forget(&finished) {
                    self.ledger.fail(&name, clock::now());
                }
            }
        }
    }

    /// The kind, in a version that the cluster serves.
    async fn locate(&self, name: &KindName) -> Result<ResolvedKind, KindError> {
        let notes = self.clean_up.parts.notes.notes();
        notes.locate(&self.clean_up.parts.client, name).await
    }

    async fn sweep(&mut self, name: &KindName) -> SweepEnd {
        let kind = match self.locate(name).await {
            Ok(kind) => kind,
            Err(KindError::Missing { .. }) => {
                // Its objects went with it, and with them all that targets left.
                tracing::info!(kind = name.kind, "the kind is gone: there is nothing to clean up");
                return SweepEnd::Clean;
            }
            Err(error) => {
                tracing::warn!(kind = name.kind, "not cleaned up: {error}");
                return SweepEnd::Failed;
            }
        };
        let namespaces = self.clean_up.parts.notes.notes().namespaces(name);
        let mut pages = ObjectPages::new(&self.clean_up.parts.client, &kind, &namespaces, labels());
        let mut tally = Tally::default();
        loop {
            let page = match pages.next().await {
                Ok(Some(page)) => page,
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(kind = name.kind, "not cleaned up: {error}");
                    tally.failed = true;
                    break;
                }
            };
            for object in page {
                self.attend(name, &kind, &object, &mut tally).await;
                if tally.refusals >= REFUSALS {
                    return SweepEnd::Failed;
                }
            }
        }
        tracing::info!(kind = name.kind, cleaned = tally.done, "looked for what targets have left");
        tally.end()
    }

    /// What a sweep does about one object of its list.
    async fn attend(&mut self, name: &KindName, kind: &ResolvedKind, object: &LeanObject, tally: &mut Tally) {
        if !self.cleaner.is_marked(object) {
            return;
        }
        match self.clean_up.judge(name, object) {
            Judgement::Selected | Judgement::Foreign => return,
            Judgement::Undecided => return tally.undecided = true,
            Judgement::Left if self.is_young(&object.id.uid) => return tally.unripe = true,
            Judgement::Left => {}
        }
        tally.count(&self.clean(name, kind, &object.id).await);
    }

    /// Whether a target selected the object lately, or has not heard that it does not any more.
    fn is_young(&mut self, uid: &Uid) -> bool {
        // What is seen counts before what was heard: a watch tells of a leaver before it gives it up.
        let is_seen = self.watches.is_seen(uid);
        while let Ok((kind, id)) = self.leavers.try_recv() {
            self.ledger.note_left(kind, id, clock::now());
        }
        is_seen || self.ledger.is_young(uid)
    }

    async fn clean(&mut self, name: &KindName, kind: &ResolvedKind, id: &ObjectId) -> Cleaned {
        for _ in 0..TRIES {
            self.pace.tick().await;
            let live = match self.clean_up.objects.read(kind, id, &labels()).await {
                Ok(Some(live)) if self.cleaner.is_marked(&live) => live,
                Ok(_) => return Cleaned::Nothing,
                Err(error) => return self.note_failure(id, &error),
            };
            match self.clean_up.judge(name, &live) {
                Judgement::Left => {}
                Judgement::Undecided => return Cleaned::Undecided,
                Judgement::Selected | Judgement::Foreign => return Cleaned::Nothing,
            }
            match self.cleaner.clean(kind, live).await {
                Ok(()) => {
                    self.clean_up.count("cleaned");
                    return Cleaned::Done;
                }
                Err(WriteError::Gone) => return Cleaned::Nothing,
                Err(WriteError::Moved) => {}
                Err(error) => return self.note_failure(id, &error),
            }
        }
        self.clean_up.count("moved");
        Cleaned::Unavailable
    }

    fn note_failure(&self, id: &ObjectId, error: &WriteError) -> Cleaned {
        tracing::warn!(object = %id, "not cleaned up: {error}");
        let (outcome, cleaned) = match error {
            WriteError::Refused(_) => ("refused", Cleaned::Refused),
            _ => ("unavailable", Cleaned::Unavailable),
        };
        self.clean_up.count(outcome);
        cleaned
    }
}

/// What a sweep has met so far.
#[derive(Default)]
struct Tally {
    done: u32,
    refusals: u32,
    failed: bool,
    undecided: bool,
    unripe: bool,
}

impl Tally {
    fn count(&mut self, cleaned: &Cleaned) {
        self.refusals = if matches!(cleaned, Cleaned::Refused) { self.refusals + 1 } else { 0 };
        match cleaned {
            Cleaned::Done => self.done += 1,
            Cleaned::Nothing => {}
            Cleaned::Undecided => self.undecided = true,
            Cleaned::Unavailable | Cleaned::Refused => self.failed = true,
        }
    }

    fn end(&self) -> SweepEnd {
        match (self.failed, self.unripe, self.undecided) {
            (true, ..) => SweepEnd::Failed,
            (_, true, _) => SweepEnd::Unripe,
            (_, _, true) => SweepEnd::Undecided,
            _ => SweepEnd::Clean,
        }
    }
}

/// Of a whole object only its labels are needed.
fn labels() -> FieldPaths {
    let mut fields = FieldPaths::default();
    fields.insert(vec!["metadata".to_owned(), "labels".to_owned()]);
    fields
}
