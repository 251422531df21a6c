//! Leases of the programs: whether one is held, and what the poller attests.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::names::ATTESTED_TARGETS_ANNOTATION;
use jiff::Timestamp;
use serde_json::Value;

/// The age up to which a Lease counts as held: the controller takes a poller with an older renewal as gone.
const FRESH_WITHIN: Duration = Duration::from_secs(40);

/// Returns true if a program holds it at the moment.
pub(crate) fn is_held(lease: Option<&Value>, now: Timestamp) -> bool {
    let spec = |field: &str| lease.and_then(|lease| lease.get("spec")?.get(field)?.as_str());
    let renewed = spec("renewTime").and_then(|time| time.parse::<Timestamp>().ok());
    let is_fresh = renewed.is_some_and(|renewed| now.duration_since(renewed).unsigned_abs() <= FRESH_WITHIN);
    is_fresh && spec("holderIdentity").is_some_and(|holder| !holder.is_empty())
}

/// The attestations of the poller that holds this Lease; `None` if none holds it.
#[must_use]
pub(crate) fn attestations(lease: Option<&Value>, now: Timestamp) -> Option<BTreeMap<String, Attestation>> {
    let lease = lease.filter(|lease| is_held(Some(lease), now))?;
    let text = lease
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(ATTESTED_TARGETS_ANNOTATION))
        .and_then(Value::as_str);
    let list: BTreeMap<String, String> = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Some(list.into_iter().filter_map(|(target, text)| Some((target, Attestation::parse(&text)?))).collect())
}
