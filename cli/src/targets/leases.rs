//! The Leases of both programs: whether a program holds it, and the attestations and unwritten verdicts on the poller's.

use std::collections::BTreeMap;

use drift_api::attestation::{self, Attestation};
use drift_api::held_corrections::HeldCorrections;
use drift_api::lease::{annotation_of_holder, is_held};
use drift_api::names::{
    ATTESTED_TARGETS_ANNOTATION, ATTESTED_TEXTS_ANNOTATION, CONTROLLER_MANAGER, POLLER_MANAGER, UNWRITTEN_ANNOTATION,
};
use drift_api::unwritten::{UnwrittenTargets, parse_annotation};
use jiff::Timestamp;
use serde_json::Value;

/// A program that works only while it holds its Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Poller,
    Controller,
}

impl Holder {
    /// Returns a sentence if no program holds its Lease.
    #[must_use]
    pub(crate) fn vacancy(
        self,
        lease: Option<&Value>,
        (name, namespace): (&str, &str),
        now: Timestamp,
    ) -> Option<String> {
        let (program, consequence) = match self {
            Self::Poller => (POLLER_MANAGER, "no verdict is current"),
            Self::Controller => (CONTROLLER_MANAGER, "nothing is corrected or deleted"),
        };
        (!is_held(lease, now)).then(|| {
            format!(
                "no {program} holds the Lease {name} in namespace {namespace}, so {consequence}: look at the Pods of \
                 {program} by `kubectl get pods -n {namespace}`"
            )
        })
    }
}

/// The attestations of the poller that holds this Lease; `None` if none holds it.
#[must_use]
pub(crate) fn attestations(lease: Option<&Value>, now: Timestamp) -> Option<BTreeMap<String, Attestation>> {
    let text = annotation_of_holder(lease?, ATTESTED_TARGETS_ANNOTATION, now)?;
    Some(text.map(attestation::parse_annotation).unwrap_or_default())
}

/// The verdicts that the poller that holds this Lease cannot write.
#[must_use]
pub(crate) fn unwritten(lease: Option<&Value>, now: Timestamp) -> UnwrittenTargets {
    let text = lease.and_then(|lease| annotation_of_holder(lease, UNWRITTEN_ANNOTATION, now)).flatten();
    text.map(parse_annotation).unwrap_or_default()
}

/// The controller's list of holds, `None` within if no controller holds this Lease; `None` if it could not be read.
#[must_use]
pub(crate) fn controller_holds(
    lease: &Result<Option<Value>, String>,
    now: Timestamp,
) -> Option<Option<HeldCorrections>> {
    lease.as_ref().ok().map(|lease| HeldCorrections::on_lease(lease.as_ref(), now))
}

/// The hashes of the whole documents that the poller uses; none if no poller holds this Lease.
#[must_use]
pub(crate) fn attested_texts(lease: Option<&Value>, now: Timestamp) -> BTreeMap<String, String> {
    let text = lease.and_then(|lease| annotation_of_holder(lease, ATTESTED_TEXTS_ANNOTATION, now)).flatten();
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lease_without_a_holder_is_told() {
        let now = "2026-01-01T00:00:30Z".parse().unwrap();
        let lease =
            |holder: &str, renewed: &str| Some(json!({"spec": {"holderIdentity": holder, "renewTime": renewed}}));
        let poller = "no drift-poller holds the Lease l in namespace n, so no verdict is current: look at the Pods of \
                      drift-poller by `kubectl get pods -n n`";
        for (lease, expected) in [
            (lease("a", "2026-01-01T00:00:00Z"), None),
            (lease("", "2026-01-01T00:00:00Z"), Some(poller)),
            (lease("a", "2025-12-31T23:59:00Z"), Some(poller)),
            (None, Some(poller)),
        ] {
            let said = Holder::Poller.vacancy(lease.as_ref(), ("l", "n"), now);
            assert_eq!(said.as_deref(), expected, "{lease:?}");
        }
        let said = Holder::Controller.vacancy(None, ("l", "n"), now).unwrap();
        assert!(
            said.starts_with("no drift-controller holds the Lease l in namespace n, so nothing is corrected"),
            "{said}"
        );
    }
}
