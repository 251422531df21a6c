//! The poller's attestations, parsed from its Lease once for each change.

use drift_api::attestation::parse_annotation;
use drift_api::names::{ATTESTED_TARGETS_ANNOTATION, ATTESTED_TEXTS_ANNOTATION};
use drift_kube::lease::ObservedLease;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::engine::decide::attestation::Attestations;

/// Publishes the attestations after each change of the Lease, until `stop`.
pub async fn follow(
    mut lease: watch::Receiver<ObservedLease>,
    attestations: watch::Sender<Attestations>,
    stop: CancellationToken,
) {
    loop {
        let now = read(&lease.borrow_and_update());
        attestations.send_if_modified(|before| {
            let changed = *before != now;
            *before = now;
            changed
        });
        tokio::select! {
            () = stop.cancelled() => return,
            changed = lease.changed() => if changed.is_err() { return },
        }
    }
}

fn read(lease: &ObservedLease) -> Attestations {
    let annotation = |name: &str| lease.annotations.get(name).map(String::as_str);
    Attestations {
        held: lease.holder.as_deref().is_some_and(|holder| !holder.is_empty()),
        changed_at: lease.changed_at,
        by_target: annotation(ATTESTED_TARGETS_ANNOTATION).map(parse_annotation).unwrap_or_default(),
        texts: Attestations::parse_texts(annotation(ATTESTED_TEXTS_ANNOTATION)),
    }
}
