//! Dry run of `drift-controller release`. It writes nothing and takes no Lease.

use drift_api::object::LeanObject;
use drift_kube::cleanup::Selections;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;

use super::held::{Search, kinds_of};
use super::printing::{print_error, say};

/// Identity that holds a Lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Holder(pub(super) String);

impl Holder {
    /// Returns the holder if its last renewal is younger than the Lease duration. Clock skew makes this an estimate.
    pub(super) fn of(lease: &Lease, now: Timestamp) -> Option<Self> {
        let spec = lease.spec.as_ref()?;
        let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty())?;
        let lasts = i64::from(spec.lease_duration_seconds.unwrap_or_default());
        let age = now.duration_since(spec.renew_time.as_ref()?.0).as_secs();
        (age <= lasts).then_some(Self(holder))
    }
}

/// Prints every object whose finalizer would be removed. Returns true if all kinds could be listed.
pub(super) async fn print_plan(client: &kube::Client, notes: &Selections) -> bool {
    let (mut found, mut unknown) = (0, 0);
    for name in &kinds_of(notes) {
        match held_of(Search { client, notes, name }).await {
            Ok(held) => {
                held.iter().for_each(|object| say(&format!("would release {} {} (dry run)", name.kind, object.id)));
                found += held.len();
            }
            Err(error) => {
                unknown += 1;
                print_error(&format!("unknown of {}: {error:#}", name.kind));
            }
        }
    }
    match (found, unknown) {
        (0, 0) => say("no object has the finalizer"),
        (found, 0) => say(&format!("{found} objects would lose the finalizer, and nothing else")),
        (found, unknown) => {
            print_error(&format!(
                "{found} objects would lose the finalizer, and {unknown} kinds could not be looked through"
            ));
        }
    }
    unknown == 0
}

async fn held_of(search: Search<'_>) -> anyhow::Result<Vec<LeanObject>> {
    match search.locate().await? {
        Some(kind) => search.held(&kind).await,
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lease_that_was_renewed_lately_has_a_holder() {
        let holder = |holder: &str, renewed: &str| {
            let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 12, "renewTime": renewed});
            let lease: Lease = serde_json::from_value(json!({ "spec": spec })).unwrap();
            Holder::of(&lease, "2026-01-01T00:00:20Z".parse().unwrap()).map(|holder| holder.0)
        };
        assert_eq!(holder("a", "2026-01-01T00:00:10.000000Z").as_deref(), Some("a"));
        assert_eq!(holder("a", "2026-01-01T00:00:00.000000Z"), None);
        assert_eq!(holder("", "2026-01-01T00:00:10.000000Z"), None);
        assert_eq!(Holder::of(&Lease::default(), Timestamp::UNIX_EPOCH), None);
    }
}
