//! The counts of target documents: active, bad, or waiting for a usable kind.
//!
//! One gauge combines what the watch of the ConfigMaps and the search for kinds know: a document whose kind cannot be used is
//! valid, but not active.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The counts behind the gauge. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct DocumentCounts {
    gauge: Family<StateLabel, Gauge>,
    counted: Arc<Mutex<Counted>>,
}

#[derive(Debug, Default)]
struct Counted {
    good: usize,
    bad: usize,
    taken: usize,
    waiting: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

/// A valid document that counts as waiting for its kind until this is dropped.
#[derive(Debug)]
pub struct Waiting {
    counts: DocumentCounts,
}

impl DocumentCounts {
    /// Registers the gauge.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "config_documents",
            "Target documents by state: active, bad, taken if another ConfigMap has another text of the target, or kind_unusable if the kind cannot be used",
            self.gauge.clone(),
        );
    }

    /// Sets the number of valid documents, of invalid ones, and of those that take a target from each other.
    pub fn judged(&self, good: usize, bad: usize, taken: usize) {
        self.change(|counted| (counted.good, counted.bad, counted.taken) = (good, bad, taken));
    }

    /// Counts one valid document as waiting for its kind.
    #[must_use]
    pub fn waiting(&self) -> Waiting {
        self.change(|counted| counted.waiting += 1);
        Waiting { counts: self.clone() }
    }

    fn change(&self, change: impl FnOnce(&mut Counted)) {
        let mut counted: MutexGuard<'_, Counted> = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut counted);
        let show = |state, number: usize| {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            self.gauge.get_or_create(&StateLabel { state }).set(number);
        };
        // A deleted document may count as waiting for a moment after it no longer counts as valid.
        show("active", counted.good.saturating_sub(counted.waiting));
        show("bad", counted.bad);
        show("taken", counted.taken);
        show("kind_unusable", counted.waiting);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.counts.change(|counted| counted.waiting = counted.waiting.saturating_sub(1));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::telemetry::metrics;

    #[test]
    fn a_document_without_its_kind_is_not_active() {
        let mut registry = metrics::registry("poller");
        let counts = DocumentCounts::default();
        counts.register(&mut registry);
        let shown = || {
            let text = metrics::text(&registry).unwrap();
            let value = |state: &str| {
                let line = text.lines().find(|line| line.contains(&format!("state=\"{state}\""))).unwrap();
                line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()
            };
            (value("active"), value("bad"), value("kind_unusable"))
        };
        counts.judged(3, 1, 0);
        assert_eq!(shown(), (3, 1, 0));
        let waiting = [counts.waiting(), counts.waiting()];
        assert_eq!(shown(), (1, 1, 2));
        counts.judged(1, 0, 0);
        assert_eq!(shown(), (0, 0, 2), "a document that is gone waits no less than none");
        drop(waiting);
        assert_eq!(shown(), (1, 0, 0));
    }
}
