//! The last warnings of both programs about an object, from its Events. `explain` polls once, and an Event tells what only
//! a running program sees: a refused write, or a verdict that alternates.

use std::collections::BTreeMap;

use drift_api::names::{CONTROLLER_MANAGER, POLLER_MANAGER};
use drift_api::object::ObjectId;
use drift_kube::client::{self, CALL_DEADLINE};
use drift_kube::events::CLUSTER_EVENTS_NAMESPACE;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::core::{Request, Resource as _};
use serde_json::Value;

/// Reasons that are shown. An object rarely has more, and older ones are nearly always over.
const MOST_REASONS: usize = 3;

/// Returns the last warning of each reason, the newest first. None if the Events cannot be listed: the rest of the
/// explanation does not depend on them.
pub(super) async fn warnings(client: &kube::Client, object: &ObjectId) -> Vec<String> {
    let place = object.namespace.as_deref().unwrap_or(CLUSTER_EVENTS_NAMESPACE);
    let params = ListParams::default().fields(&format!("type=Warning,regarding.uid={}", object.uid));
    let Ok(request) = Request::new(Event::url_path(&(), Some(place))).list(&params) else { return Vec::new() };
    let listed = client::request::<Value>(client, CALL_DEADLINE, request).await;
    listed.map(|listed| last_of_each(&listed["items"])).unwrap_or_default()
}

fn last_of_each(events: &Value) -> Vec<String> {
    let mut last = BTreeMap::<&str, (&str, &str)>::new();
    for event in events.as_array().into_iter().flatten() {
        let text = |field: &str| event.pointer(field).and_then(Value::as_str);
        let is_ours = matches!(text("/reportingController"), Some(POLLER_MANAGER | CONTROLLER_MANAGER));
        let time = text("/series/lastObservedTime").or_else(|| text("/eventTime"));
        let (Some(reason), Some(note), Some(time), true) = (text("/reason"), text("/note"), time, is_ours) else {
            continue;
        };
        let newest = last.entry(reason).or_insert((time, note));
        *newest = (*newest).max((time, note));
    }
    let mut last: Vec<_> = last.into_iter().collect();
    last.sort_by(|(_, one), (_, other)| other.cmp(one));
    let line = |(reason, (time, note)): &(&str, (&str, &str))| {
        let second = time.split_once('.').map_or_else(|| (*time).to_owned(), |(second, _)| format!("{second}Z"));
        format!("{reason} at {second}: {note}")
    };
    last.iter().take(MOST_REASONS).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_warning_of_each_reason_is_shown() {
        let event = |reason: &str, minute: u8, note: &str, by: &str| {
            json!({"reason": reason, "note": note, "reportingController": by,
                "eventTime": format!("2026-01-01T00:{minute:02}:00.123456Z")})
        };
        let mut series = event("VerdictFlapping", 1, "it alternates", POLLER_MANAGER);
        series["series"] = json!({"count": 2, "lastObservedTime": "2026-01-01T00:09:00.000000Z"});
        let events = json!([
            event("WriteRefused", 3, "the policy freeze denies it", POLLER_MANAGER),
            event("WriteRefused", 2, "an older cause", POLLER_MANAGER),
            series,
            event("FailedMount", 9, "of a Pod", "kubelet"),
            event("A", 1, "a", CONTROLLER_MANAGER),
            event("B", 0, "b", CONTROLLER_MANAGER),
        ]);
        let expected = [
            "VerdictFlapping at 2026-01-01T00:09:00Z: it alternates",
            "WriteRefused at 2026-01-01T00:03:00Z: the policy freeze denies it",
            "A at 2026-01-01T00:01:00Z: a",
        ];
        assert_eq!(last_of_each(&events), expected);
    }
}
