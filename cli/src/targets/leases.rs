//! The attestations and the unwritten verdicts on the poller's Lease.

use std::collections::BTreeMap;

use drift_api::attestation::{self, Attestation};
use drift_api::held_corrections::HeldCorrections;
use drift_api::lease::annotation_of_holder;
use drift_api::names::{ATTESTED_TARGETS_ANNOTATION, ATTESTED_TEXTS_ANNOTATION, UNWRITTEN_ANNOTATION};
use drift_api::unwritten::{UnwrittenTargets, parse_annotation};
use jiff::Timestamp;
use serde_json::Value;

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
