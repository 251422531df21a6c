//! What the poller vouches for, as its Lease says: read from the Lease once for each change.
//!
//! This file must not know what vouching allows.

use drift_api::names::IN_FORCE_ANNOTATION;
use drift_kube::lease::ObservedLease;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::engine::decide::attestation::Vouching;

/// Passes on what each change of the Lease means, until `stop`.
pub async fn follow(
    mut lease: watch::Receiver<ObservedLease>,
    vouching: watch::Sender<Vouching>,
    stop: CancellationToken,
) {
    loop {
        let now = read(&lease.borrow_and_update());
        vouching.send_if_modified(|before| {
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

fn read(lease: &ObservedLease) -> Vouching {
    let annotation = lease.annotations.get(IN_FORCE_ANNOTATION).map(String::as_str);
    Vouching {
        held: lease.holder.as_deref().is_some_and(|holder| !holder.is_empty()),
        changed_at: lease.changed_at,
        in_force: Vouching::parse_in_force(annotation),
    }
}
