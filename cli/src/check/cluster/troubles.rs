//! Mistakes that only the cluster's answers show: wrong Secrets, a condition that the CRD drops, more requests than a
//! target allows itself.
//!
//! Pure. Shows no value of a Secret.

use std::collections::BTreeMap;
use std::sync::Arc;

use drift_api::condition::{Condition, ConditionKind, ConditionStatus, ObservedReason};
use drift_api::identity::ScopeId;
use drift_api::names::{CREDENTIAL_LABEL, HOSTS_ANNOTATION};
use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::LabelledSecret;
use drift_language::{CreationTimes, NeededSecret, Target, Texts, scope_by_id};
use serde_json::Value;

use crate::check::document::{Remark, Severity};
use crate::check::report::Rate;
use crate::targets::known::{ByLastGood, LeaseNotes, LiveTargets};

/// The problem of a Secret that a target needs, with this value of the label; `None` if it does not exist.
#[must_use]
pub(crate) fn secret_trouble(needed: &NeededSecret, found: Option<(Option<&str>, &LabelledSecret)>) -> Option<String> {
    let NeededSecret { user, name, keys, host } = needed;
    let Some((label, secret)) = found else {
        return Some(format!("Secret {name} does not exist beside the ConfigMap; the {user} needs it"));
    };
    if label != Some(*user) {
        let stands = label.map_or_else(|| "has no such label".to_owned(), |other| format!("says {other}"));
        return Some(format!(
            "Secret {name} needs the label {CREDENTIAL_LABEL}: {user}, without which the {user} does not use it; it {stands}"
        ));
    }
    let of_key = keys.iter().find_map(|key| secret.text(name, key).err());
    let of_host = host.as_ref().and_then(|host| secret.check_host(name, host, false).err());
    let of_host = of_host.map(|error| format!("{error}: its annotation {HOSTS_ANNOTATION} says where it may go"));
    of_key.map(|error| error.to_string()).or(of_host)
}

/// The warning about a Secret that may be sent to any host.
#[must_use]
pub(crate) fn secret_doubt(needed: &NeededSecret, secret: &LabelledSecret) -> Option<String> {
    let host = needed.host.as_ref().filter(|_| !secret.names_hosts())?;
    Some(format!(
        "Secret {} has no annotation {HOSTS_ANNOTATION}, so that anyone who edits targets may send it to any host; it goes to {host} here",
        needed.name
    ))
}

/// An error for each target that the Lease's notes name and that no labelled ConfigMap contains.
#[must_use]
pub(crate) fn missing_targets(namespace: &str, texts: &Texts, notes: &LeaseNotes) -> Vec<Remark> {
    let remark = |target: &Arc<ByLastGood>| {
        let trouble = &target.trouble;
        let remark = Remark::of_source(&format!("configmap/{}", target.missing_map.as_ref()?), &trouble.to_string());
        Some(Remark { severity: Severity::Error, missing: Some(trouble.clone()), ..remark })
    };
    LiveTargets::of(namespace, (texts, &CreationTimes::new()), notes).by_last_good.iter().filter_map(remark).collect()
}

/// The warning about a target whose objects need more requests than its limit allows.
#[must_use]
pub(crate) fn rate_trouble(target: &Target, rates: &[Rate]) -> Option<String> {
    let needed: f64 = rates.iter().map(Rate::per_second).sum();
    let allowed = target.read.limits.per_second;
    (needed > f64::from(allowed)).then(|| {
        format!(
            "its objects need {needed:.0} requests/s and read.limits.perSecond allows {allowed}: polls come late; make `interval` longer, \
             read a collection, or allow more"
        )
    })
}

/// The warnings about claims of the target's objects in other scopes, given the number of claims in each scope.
#[must_use]
pub(crate) fn scope_changes(target: &Target, claims: &BTreeMap<ScopeId, u64>) -> Vec<String> {
    let present = target.scopes();
    let former = claims.iter().filter(|(scope, _)| !present.contains(scope));
    let message = |(scope, count): (&ScopeId, &u64)| {
        let (now, keep) = if target.has_accounts() {
            (
                "each entry of `credentials` has a scope of its own".to_owned(),
                "write the former name of the Secret".to_owned(),
            )
        } else {
            let keep = format!("keep the claims with `scope: \"{}\"`", scope_by_id(*scope));
            (format!("its scope is {} ({})", target.scope.id, target.scope.name), keep)
        };
        format!(
            "{count} of its objects own a resource in scope {scope}, and {now}: there they own nothing, so \
             corrections stop with IdentityChanged and deletions leave the resource behind; if it is the same external system, \
             {keep}"
        )
    };
    former.map(message).collect()
}

/// A condition as the poller writes it, for a write that is tried and lands nowhere.
#[must_use]
pub(crate) fn trial_condition(object: &LeanObject, now: &str) -> Condition {
    Condition {
        kind: ConditionKind::Observed,
        status: ConditionStatus::True,
        reason: ObservedReason::FieldsDiffer.as_str().into(),
        message: "1 field differs: /size desired 2, observed 1 [desired 0000000000000000]".into(),
        observed_generation: object.generation,
        last_transition_time: now.into(),
    }
}

/// The fields of an entry that an object lacks as the API server gives it back.
#[must_use]
pub(crate) fn lost_fields(sent: &Value, object: &Value) -> Vec<&'static str> {
    let list = object.pointer("/status/conditions").and_then(Value::as_array);
    let kept = list.into_iter().flatten().find(|entry| entry.get("type") == sent.get("type"));
    let is_lost = |field: &&str| {
        sent.get(*field)
            .is_some_and(|value| !kept.and_then(|kept| kept.get(*field)).is_some_and(|kept| is_same(value, kept)))
    };
    ["type", "status", "reason", "message", "observedGeneration", "lastTransitionTime"]
        .into_iter()
        .filter(is_lost)
        .collect()
}

/// The fields of an object that differ after a write of `driftObserved`: all but that condition, the version, and what the
/// API server notes about the write. A change of several fields of a list shows as the list.
#[must_use]
pub(crate) fn changed_fields(before: &Value, after: &Value) -> Vec<String> {
    let [before, after] = [before, after].map(without_our_write);
    let mut changed = Vec::new();
    compare(&before, &after, "", &mut changed);
    changed
}

fn without_our_write(object: &Value) -> Value {
    let mut object = object.clone();
    let mut remove = |place: &str, fields: &[&str]| {
        let place = object.pointer_mut(place).and_then(Value::as_object_mut);
        place.into_iter().for_each(|place| place.retain(|field, _| !fields.contains(&field.as_str())));
    };
    remove("", &["apiVersion"]);
    remove("/metadata", &["managedFields", "resourceVersion"]);
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    if let Some(conditions) = conditions {
        conditions.retain(|entry| entry["type"] != ConditionKind::Observed.as_str());
        if conditions.is_empty() {
            object["status"].as_object_mut().into_iter().for_each(|status| _ = status.remove("conditions"));
        }
    }
    // An object without a status has an empty one.
    if object["status"].is_null() {
        object["status"] = Value::Object(serde_json::Map::new());
    }
    object
}

fn compare(before: &Value, after: &Value, path: &str, changed: &mut Vec<String>) {
    let (Some(fields), Some(others)) = (before.as_object(), after.as_object()) else {
        if before != after {
            changed.push(path.to_owned());
        }
        return;
    };
    for name in fields.keys().chain(others.keys().filter(|name| !fields.contains_key(*name))) {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match (fields.get(name), others.get(name)) {
            (Some(before), Some(after)) => compare(before, after, &path, changed),
            _ => changed.push(path),
        }
    }
}

/// Returns true if a value came back: a time may be written otherwise.
fn is_same(sent: &Value, kept: &Value) -> bool {
    let time = |value: &Value| value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    sent == kept || time(sent).is_some_and(|sent| time(kept) == Some(sent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::rendering::{annotations, json as json_of, people};
    use crate::check::report::Report;
    use crate::targets::known::NotedPlace;
    use drift_api::names::CREDENTIAL_POLLER;
    use serde_json::json;

    #[test]
    fn missing_targets_of_one_config_map_are_shown_once() {
        let place = |(target, config_map): (&str, &str)| NotedPlace {
            target: target.to_owned(),
            config_map: config_map.to_owned(),
            objects: drift_language::fixtures::proxies::target(drift_language::fixtures::proxies::TEXT).objects.clone(),
        };
        let places = [("a", "m"), ("b", "m"), ("c", "m"), ("d", "m"), ("e", "m"), ("f", "n")].map(place).to_vec();
        let remarks = missing_targets("ns", &Texts::new(), &LeaseNotes { places, ..LeaseNotes::default() });
        let report = Report { remarks, ..Report::default() };
        assert!(report.is_bad() && json_of(&report)["problems"].as_array().is_some_and(|problems| problems.len() == 6));
        let shown = annotations(&report);
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines.len() == 2 && people(&report).matches("-->").count() == 2, "{shown}");
        assert!(
            lines[0].contains("file=configmap/m,") && lines[0].contains("::targets a, b, c and 2 more: "),
            "{shown}"
        );
        assert!(lines[0].contains("ConfigMap ns/m is gone") && lines[0].contains("forget TARGET`"), "{shown}");
        assert!(lines[1].contains("file=configmap/n,") && lines[1].contains("::target f: "), "{shown}");
        assert!(lines[1].contains("ConfigMap ns/n is gone") && lines[1].contains("forget f`"), "{shown}");
    }

    #[test]
    fn claims_in_another_scope_are_told_with_the_line_that_keeps_them() {
        let target = drift_language::fixtures::proxies::target(drift_language::fixtures::proxies::TEXT);
        let (present, former) = (target.scope.id, ScopeId::of("former"));
        assert!(scope_changes(&target, &BTreeMap::new()).is_empty());
        assert!(scope_changes(&target, &BTreeMap::from([(present, 9)])).is_empty());
        let said = scope_changes(&target, &BTreeMap::from([(present, 9), (former, 2)]));
        assert_eq!(said.len(), 1, "{said:?}");
        let begins = format!("2 of its objects own a resource in scope {former}, and its scope is {present} (");
        assert!(said[0].starts_with(&begins) && said[0].ends_with(&format!("`scope: \"id {former}\"`")), "{said:?}");
    }

    #[test]
    fn what_is_not_kept_of_a_condition_is_told() {
        let sent = Condition {
            kind: ConditionKind::Observed,
            status: ConditionStatus::True,
            reason: "FieldsDiffer".into(),
            message: "m".into(),
            observed_generation: Some(3),
            last_transition_time: "2026-01-01T00:00:00Z".into(),
        };
        let object = |entry: Value| json!({"status": {"conditions": [{"type": "Ready"}, entry]}});
        let mut kept = sent.to_json();
        assert_eq!(lost_fields(&sent.to_json(), &object(kept.clone())), Vec::<&str>::new());
        kept["lastTransitionTime"] = json!("2026-01-01T01:00:00.000+01:00");
        assert_eq!(lost_fields(&sent.to_json(), &object(kept.clone())), Vec::<&str>::new(), "the same time");
        kept["message"] = json!("");
        kept.as_object_mut().into_iter().for_each(|entry| _ = entry.remove("observedGeneration"));
        assert_eq!(lost_fields(&sent.to_json(), &object(kept)), ["message", "observedGeneration"]);
        assert_eq!(lost_fields(&sent.to_json(), &json!({"status": {}})).len(), 6);
        // A kind without generations has none to lose.
        let sent = Condition { observed_generation: None, ..sent };
        assert_eq!(lost_fields(&sent.to_json(), &object(sent.to_json())), Vec::<&str>::new());
    }

    #[test]
    fn what_a_write_changes_beside_its_condition_is_told() {
        let ours = |status: &str| json!({"type": "driftObserved", "status": status});
        let ready = json!({"type": "Ready", "status": "True"});
        let object = |version: &str, spec: Value, status: Value| {
            json!({"apiVersion": version, "metadata": {"name": "a", "resourceVersion": version, "managedFields": [version]},
                "spec": spec, "status": status})
        };
        let (spec, whole) = (json!({"size": 3}), json!({"size": 3, "extra": {"a": 1}}));
        let before = object("v1", whole.clone(), json!({"phase": "Up", "conditions": [ready]}));
        let after = |spec: &Value, status: Value| object("v1alpha1", spec.clone(), status);
        for (after, expected) in [
            (after(&whole, json!({"phase": "Up", "conditions": [ready, ours("True")]})), vec![]),
            (after(&spec, json!({"phase": "Up", "conditions": [ours("True"), ready]})), vec!["spec.extra"]),
            (
                after(&json!({"size": 3, "extra": {}}), json!({"conditions": [ours("True")]})),
                vec!["spec.extra.a", "status.conditions", "status.phase"],
            ),
            (
                after(
                    &json!({"size": 4, "extra": {"a": 1}, "mode": "x"}),
                    json!({"phase": "Up", "conditions": [ready]}),
                ),
                vec!["spec.size", "spec.mode"],
            ),
        ] {
            let mut changed = changed_fields(&before, &after);
            changed.sort();
            let mut expected: Vec<_> = expected.into_iter().map(str::to_owned).collect();
            expected.sort();
            assert_eq!(changed, expected, "{after}");
        }
        let fresh = json!({"metadata": {"name": "a"}});
        assert_eq!(
            changed_fields(&fresh, &json!({"metadata": {"name": "a"}, "status": {"conditions": [ours("True")]}})),
            Vec::<String>::new()
        );
    }

    #[test]
    fn each_trouble_of_a_secret_is_told() {
        let host = Some("h.example:443".to_owned());
        let needed =
            NeededSecret { user: CREDENTIAL_POLLER, name: "s".to_owned(), keys: vec!["token".to_owned()], host };
        let secret = |hosts, key: &str| LabelledSecret::new(hosts, [(key.to_owned(), b"hunter2".to_vec())]);
        let good = secret(Some("h.example"), "token");
        let table = [
            (Some((Some("poller"), &good)), None),
            (None, Some("Secret s does not exist beside the ConfigMap; the poller needs it")),
            (
                Some((None, &good)),
                Some(
                    "Secret s needs the label driftpoller.dev/credential: poller, without which the poller does not use it; it has no such label",
                ),
            ),
            (
                Some((Some("controller"), &good)),
                Some(
                    "Secret s needs the label driftpoller.dev/credential: poller, without which the poller does not use it; it says controller",
                ),
            ),
            (Some((Some("poller"), &secret(None, "other"))), Some("Secret s has no key token")),
            (
                Some((Some("poller"), &secret(Some("o.example"), "token"))),
                Some(
                    "Secret s may not be sent to h.example:443: its annotation driftpoller.dev/hosts says where it may go",
                ),
            ),
        ];
        for (found, expected) in table {
            assert_eq!(secret_trouble(&needed, found).as_deref(), expected);
        }
        let doubt = secret_doubt(&needed, &secret(None, "token")).unwrap_or_default();
        assert!(doubt.contains("any host; it goes to h.example:443 here"), "{doubt}");
        assert_eq!(secret_doubt(&needed, &good), None);
        let elsewhere = NeededSecret { host: None, ..needed };
        assert_eq!(secret_doubt(&elsewhere, &secret(None, "token")), None);
    }
}
