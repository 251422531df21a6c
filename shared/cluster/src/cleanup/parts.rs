//! What the clean-up of a program works with: what it takes away, where it hears of objects, and its counters.
//!
//! The looking and taking away is in `sweep`. This file must not know when either is due.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::{mpsc, watch};

use crate::cleanup::note_board::NoteBoard;
use crate::cleanup::{Judgement, KindName, judge};
use crate::client::{ObjectClient, WriteError};
use crate::config::Configuration;
use crate::kinds::ResolvedKind;
use drift_model::object::{LeanObject, ObjectId};

/// What a program puts on objects, and how it takes it away.
pub trait Cleaner {
    /// Whether something of ours stands on the object.
    fn is_marked(&self, object: &LeanObject) -> bool;

    /// Takes it away from an object as it was just read.
    fn clean(&self, kind: &ResolvedKind, object: LeanObject) -> impl Future<Output = Result<(), WriteError>>;
}

/// Where the watches say which objects left their target's selection. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Leavers {
    leavers: mpsc::UnboundedSender<(KindName, ObjectId)>,
}

impl Leavers {
    /// A place to say it, and the end where it is heard.
    #[must_use]
    pub fn channel() -> (Self, mpsc::UnboundedReceiver<(KindName, ObjectId)>) {
        let (leavers, heard) = mpsc::unbounded_channel();
        (Self { leavers }, heard)
    }

    /// An object that a target had selected is out of its selection. To be said before the target's sighting of it is
    /// given up, so that there is no moment at which it looks as if nobody had selected it for long.
    pub fn tell(&self, kind: KindName, id: ObjectId) {
        // Nobody hears it when the term is over; the next begins anew.
        let _ = self.leavers.send((kind, id));
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

/// What the clean-up works with.
pub struct CleanUpParts {
    /// The API server.
    pub client: kube::Client,
    /// The field manager.
    pub manager: &'static str,
    /// Where to look.
    pub notes: NoteBoard,
    /// The targets in force.
    pub configuration: watch::Receiver<Arc<Configuration>>,
    /// How long no target must have selected an object.
    pub patience: Duration,
}

/// The clean-up of a program, over all its terms of leadership.
pub struct CleanUp {
    pub(super) parts: CleanUpParts,
    pub(super) objects: ObjectClient,
    cleaned: Family<Outcome, Counter>,
}

impl CleanUp {
    /// Nothing happens until it runs.
    pub fn new(parts: CleanUpParts, registry: &mut Registry) -> Self {
        let cleaned = Family::<Outcome, Counter>::default();
        registry.register("cleaned_objects", "Objects cleaned up after their target, by outcome", cleaned.clone());
        let objects = ObjectClient::new(parts.client.clone(), parts.manager);
        Self { parts, objects, cleaned }
    }

    pub(super) fn judge(&self, kind: &KindName, object: &LeanObject) -> Judgement {
        let configuration = self.parts.configuration.borrow().clone();
        self.parts.notes.read(|notes| judge(notes, configuration.in_force(), kind, object))
    }

    pub(super) fn count(&self, outcome: &'static str) {
        self.cleaned.get_or_create(&Outcome { outcome }).inc();
    }
}
