//! The kinds of cluster objects as the API server serves them, each looked up once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::discovery::verbs;
use tokio::sync::Mutex as AsyncMutex;

use crate::client::ResolvedKind;
use crate::kinds::{LOOK_UP_AGAIN, ServedKind, discover_kind, find_lossy_version};
use crate::process::clock;
use drift_api::object::cluster_resource::{ClusterResource, ResourceError};
use drift_api::timing::moment::Moment;

/// Time for which a kind counts as not served after the API server reported it. Many objects may use it, and each poll
/// would look it up. A newly defined kind is read that much later.
pub(super) const NOT_SERVED_FOR: Duration = Duration::from_secs(5);

/// The key of a kind: its `apiVersion`, and its `kind`.
type KindKey = (Arc<str>, Arc<str>);

/// A cached kind. The lock allows one look-up at a time.
type CachedKind = Arc<AsyncMutex<Lookup>>;

/// The look-up state of a kind.
#[derive(Debug, Default)]
enum Lookup {
    #[default]
    Unknown,
    Served {
        kind: ResolvedKind,
        /// The last time at which its version was found fit for writes.
        writable: Option<Moment>,
    },
    NotServed {
        since: Moment,
    },
}

/// Kinds that were looked up. Clones share them.
#[derive(Clone)]
pub(super) struct KnownKinds {
    client: kube::Client,
    kinds: Arc<Mutex<HashMap<KindKey, CachedKind>>>,
}

impl KnownKinds {
    /// Creates an empty cache for the API server of this client.
    pub(super) fn new(client: kube::Client) -> Self {
        Self { client, kinds: Arc::default() }
    }

    /// Resolves the kind of a resource.
    pub(super) async fn resolve(&self, resource: &ClusterResource) -> Result<ResolvedKind, ResourceError> {
        let found = self.found(resource);
        // Concurrent callers wait for the same look-up.
        let mut known = found.lock().await;
        match &*known {
            Lookup::Served { kind, .. } => return Ok(kind.clone()),
            Lookup::NotServed { since } if !clock::now().is_past(*since, NOT_SERVED_FOR) => {
                return Err(resource.not_served());
            }
            Lookup::NotServed { .. } | Lookup::Unknown => {}
        }
        let served = discover_kind(&self.client, &resource.api_version, &resource.kind).await?;
        let Some(ServedKind { kind, .. }) = served.filter(|served| served.supports(verbs::GET)) else {
            *known = Lookup::NotServed { since: clock::now() };
            return Err(resource.not_served());
        };
        *known = Lookup::Served { kind: kind.clone(), writable: None };
        Ok(kind)
    }

    /// Looks the kind up again before its next use.
    pub(super) async fn forget(&self, resource: &ClusterResource) {
        *self.found(resource).lock().await = Lookup::Unknown;
    }

    fn found(&self, resource: &ClusterResource) -> CachedKind {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.entry((resource.api_version.clone(), resource.kind.clone())).or_default().clone()
    }

    /// Fails if a write in this version changes other fields of stored objects, or if the kind was forgotten since it was
    /// resolved. Asked again after a while, because a CustomResourceDefinition may be edited.
    pub(super) async fn ensure_writable(&self, resource: &ClusterResource) -> Result<(), ResourceError> {
        let found = self.found(resource);
        let mut known = found.lock().await;
        let Lookup::Served { writable, .. } = &mut *known else { return Err(resource.not_served()) };
        let now = clock::now();
        if writable.is_some_and(|since| !now.is_past(since, LOOK_UP_AGAIN)) {
            return Ok(());
        }
        *writable = None;
        match find_lossy_version(&self.client, &resource.api_version, &resource.kind).await {
            Ok(None) => *writable = Some(now),
            Ok(Some(lossy)) => return Err(ResourceError::LossyVersion(lossy.to_string())),
            Err(error) => return Err(ResourceError::Unreachable(error.to_string())),
        }
        Ok(())
    }
}
