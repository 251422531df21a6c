//! Another program's Lease, as its reader sees it.
//!
//! The controller acts only while the poller attests on its Lease. The reader measures with its own clock how long the
//! record has been unchanged.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::lease::rules::LeaseView;
use crate::lease::store::LeaseStore;
use crate::process::clock;
use drift_api::timing::moment::Moment;

/// Interval of reads of the Lease: a fraction of the age that readers accept.
const READ_PERIOD: Duration = Duration::from_secs(2);

/// A Lease as last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedLease {
    /// The current holder.
    pub holder: Option<String>,
    /// The Lease's annotations.
    pub annotations: BTreeMap<String, String>,
    /// The time of the last observed change of its record. `None` until one change was seen, because the first read may
    /// show a record that its holder left long ago.
    pub changed_at: Option<Moment>,
    /// True if it exists and has no holder.
    pub released: bool,
}

impl ObservedLease {
    /// Returns true if it has a holder, and its record changed at most `age` ago.
    #[must_use]
    pub fn is_fresh(&self, age: Duration, now: Moment) -> bool {
        self.holder.is_some() && self.changed_at.is_some_and(|changed| now - changed <= age)
    }
}

/// Reads the Lease until `stop`, and publishes its content. A failed read changes nothing: the record then ages.
pub struct LeaseWatch {
    store: LeaseStore,
    published: watch::Sender<ObservedLease>,
    view: LeaseView,
    first_seen: Option<Moment>,
    is_failing: bool,
}

impl LeaseWatch {
    /// Creates a reader of `name` in `namespace`, which must be run.
    #[must_use]
    pub fn new(client: kube::Client, namespace: &str, name: &str) -> (Self, watch::Receiver<ObservedLease>) {
        let (published, receiver) = watch::channel(ObservedLease::default());
        let store = LeaseStore::new(client, namespace, name, "");
        (Self { store, published, view: LeaseView::default(), first_seen: None, is_failing: false }, receiver)
    }

    /// Reads until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let read = async {
            loop {
                self.read().await;
                tokio::time::sleep(READ_PERIOD).await;
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = read => {}
        }
    }

    async fn read(&mut self) {
        let asked = clock::now();
        match self.store.read().await {
            Ok(stored) => {
                self.is_failing = false;
                self.view.observe(stored.record, asked);
                self.publish();
            }
            Err(error) => {
                if !self.is_failing {
                    tracing::warn!(lease = self.store.name(), cause = %error, "the Lease cannot be read");
                }
                self.is_failing = true;
            }
        }
    }

    fn publish(&mut self) {
        let changed_at = self.view.changed_at();
        self.first_seen = self.first_seen.or(changed_at);
        let record = self.view.record();
        let observed = ObservedLease {
            holder: record.and_then(|record| record.holder.clone()),
            annotations: record.map(|record| record.annotations.clone()).unwrap_or_default(),
            changed_at: changed_at.filter(|changed| Some(*changed) != self.first_seen),
            released: record.is_some_and(|record| record.holder.is_none()),
        };
        self.published.send_if_modified(|published| {
            let changed = *published != observed;
            *published = observed;
            changed
        });
    }
}
