//! The context of the orphan collector, for one term of leadership.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::cleanup::known::{Judgement, KnownTargets};
use crate::cleanup::noted::NotedSelections;
use crate::client::KindName;
use crate::config::Configuration;
use crate::subscriptions::KindWatches;
use crate::under_way::UnderWay;
use drift_api::object::LeanObject;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

/// Counter of cleaned objects, by outcome. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct CleanedObjects(Family<Outcome, Counter>);

impl CleanedObjects {
    /// Registers the counter.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let counter = Self::default();
        registry.register("cleaned_objects", "Objects cleaned up after their target, by outcome", counter.0.clone());
        counter
    }

    /// Counts one object.
    pub fn count(&self, outcome: &'static str) {
        self.0.get_or_create(&Outcome { outcome }).inc();
    }
}

/// The context of the orphan collector, for one term of leadership.
#[derive(Clone)]
pub struct CollectorContext {
    /// The API client.
    pub client: kube::Client,
    /// The selections to search.
    pub noted: NotedSelections,
    /// The active targets.
    pub configuration: watch::Receiver<Arc<Configuration>>,
    /// The watches of kinds.
    pub watches: KindWatches,
    /// The objects with work in progress.
    pub under_way: UnderWay,
    /// The counter of cleaned objects.
    pub cleaned: CleanedObjects,
}

impl CollectorContext {
    /// Judges an object that was read with its labels against all targets.
    #[must_use]
    pub fn judge(&self, name: &KindName, object: &LeanObject) -> Judgement {
        self.know(|known| known.judge(name, object))
    }

    /// Calls `ask` with the targets that are known now.
    pub fn know<R>(&self, ask: impl FnOnce(KnownTargets<'_>) -> R) -> R {
        self.noted.know(&self.configuration.borrow(), ask)
    }
}
