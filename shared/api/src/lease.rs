//! The Lease of a program as its readers see it: the holder and the annotations.
//!
//! Annotations are JSON that programs of several versions write and read. An entry that this version does not know is
//! skipped, and the others count.

use std::time::Duration;

use jiff::Timestamp;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::{Map, Value};

/// The age up to which a Lease counts as held: the controller takes a poller with an older renewal as gone.
const FRESH_WITHIN: Duration = Duration::from_secs(40);

/// Returns true if a program holds the Lease now.
#[must_use]
pub fn is_held(lease: Option<&Value>, now: Timestamp) -> bool {
    let spec = |field: &str| lease.and_then(|lease| lease.get("spec")?.get(field)?.as_str());
    let renewed = spec("renewTime").and_then(|time| time.parse::<Timestamp>().ok());
    let is_fresh = renewed.is_some_and(|renewed| now.duration_since(renewed).unsigned_abs() <= FRESH_WITHIN);
    is_fresh && spec("holderIdentity").is_some_and(|holder| !holder.is_empty())
}

/// The annotation, which may be missing; `None` if no program holds the Lease.
#[must_use]
pub fn annotation_of_holder<'l>(lease: &'l Value, name: &str, now: Timestamp) -> Option<Option<&'l str>> {
    let annotations = lease.pointer("/metadata/annotations");
    is_held(Some(lease), now).then(|| annotations.and_then(|all| all.get(name)).and_then(Value::as_str))
}

/// Reads a map without its unknown entries.
pub(crate) fn known_entries<'de, D, K, E, C>(deserializer: D) -> Result<C, D::Error>
where
    D: Deserializer<'de>,
    K: From<String>,
    E: DeserializeOwned,
    C: FromIterator<(K, E)>,
{
    let entries = Map::deserialize(deserializer)?.into_iter();
    Ok(entries.filter_map(|(key, entry)| Some((key.into(), known(entry)?))).collect())
}

/// Reads a list without its unknown items.
pub(crate) fn known_items<'de, D, E, C>(deserializer: D) -> Result<C, D::Error>
where
    D: Deserializer<'de>,
    E: DeserializeOwned,
    C: FromIterator<E>,
{
    Ok(Vec::<Value>::deserialize(deserializer)?.into_iter().filter_map(known).collect())
}

fn known<E: DeserializeOwned>(entry: Value) -> Option<E> {
    serde_json::from_value(entry).ok()
}
