//! From an observation to a finding: compares it with the desired state and evaluates the published fields.

use std::borrow::Cow;

use drift_api::condition::ObservedReason;
use drift_language::{RulePlace, Target, Variables};
use serde_json::{Map, Value};

use crate::engine::judgement::difference::TooMuchWork;
use crate::engine::judgement::drift::{Drift, Subject};
use crate::engine::judgement::finding::{Failure, Finding, Found};
use crate::engine::judgement::observation::{Observation, invalid};
use crate::engine::judgement::rendered::rule_error;

/// Message for a comparison that would take too long.
const ALIKE: &str =
    "compare.rules: the lists are too long and their items too alike to be compared; give them list: map and keys";

/// Compares the observation of an object with its desired state, which is rendered only if there is
/// something to compare.
#[must_use]
pub fn compare<'o>(target: &Target, subject: impl Into<Subject<'o>>, observed: Result<Observation, Failure>) -> Found {
    let subject = subject.into();
    match observed {
        Ok(Observation::Known(found)) => found,
        Ok(Observation::Absent) => absent(target),
        Err(failure) => Finding::Failed(failure).into(),
        Ok(Observation::Present(observed)) => {
            let finding = compare_with_desired(target, subject, &observed);
            if matches!(finding, Finding::Failed(_)) {
                return finding.into();
            }
            let variables = Variables { observed: Some(&observed), ..Variables::of_object(subject.object) };
            match target.publish.publish(&variables) {
                Ok(published) => {
                    let (published, withheld) = match subject.credentials {
                        Some(credentials) => credentials.withhold_from(published),
                        None => (published, Vec::new()),
                    };
                    Found { finding, published: Some(published), withheld, answer: None }
                }
                Err(error) => Finding::Failed(invalid(&error)).into(),
            }
        }
    }
}

/// Returns the finding that the resource is absent, with all published fields cleared.
#[must_use]
pub fn absent(target: &Target) -> Found {
    Found { published: Some(target.publish.cleared()), ..Finding::Absent.into() }
}

fn compare_with_desired(target: &Target, subject: Subject<'_>, observed: &Value) -> Finding {
    let desired = match target.desired_of(subject.object) {
        Ok(desired) => desired,
        Err(error) => return Finding::Failed(rule_error(&error)),
    };
    let observed = &*without_ignored(target, subject.object, observed);
    if let Some(mistake) = mistake(target, &desired, observed) {
        return Finding::Failed(invalid(&mistake));
    }
    match Drift::of(target, subject, &desired, observed) {
        Ok(None) => Finding::InSync,
        Ok(Some(drift)) => Finding::Differs(drift),
        Err(TooMuchWork) => Finding::Failed(Failure::with(ObservedReason::RuleError, ALIKE)),
    }
}

/// Returns the observation without the keys that the object leaves to another owner. They are no extra keys either.
#[must_use]
pub fn without_ignored<'o>(target: &Target, object: &Value, observed: &'o Value) -> Cow<'o, Value> {
    let ignored = target.object_may.ignored(object);
    match observed {
        Value::Object(fields) if !ignored.is_empty() => {
            let kept = fields.iter().filter(|(key, _)| !ignored.contains(&key.as_str()));
            Cow::Owned(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        _ => Cow::Borrowed(observed),
    }
}

/// Returns the reason why an observation does not describe the resource. Half-started servers and proxies answer `{}`
/// or `{"error": "maintenance"}` with status 200, which would otherwise look like drift in every field.
fn mistake(target: &Target, desired: &Value, observed: &Value) -> Option<&'static str> {
    let root = target.compare.rules.root();
    // By `empty: absent`, null and `[]` are the whole of a resource without content.
    let is_empty = root.takes_empty_as_absent() && root.is_absent(observed);
    match (desired, observed) {
        (Value::Object(desired), Value::Object(real)) => foreign(target, desired, |field| real.contains_key(field)),
        (Value::Object(desired), _) if is_empty => foreign(target, desired, |_| false),
        (Value::Object(_), _) => Some("no map, as desired is"),
        (_, Value::Null) if !is_empty => Some("nothing is observed"),
        _ => None,
    }
}

/// Returns the reason why an observation without any field of the desired state is not the resource. It is one if the
/// desired state has only fields that the resource need not have.
fn foreign(target: &Target, desired: &Map<String, Value>, has: impl Fn(&str) -> bool) -> Option<&'static str> {
    let root = target.compare.rules.root();
    let is_foreign = !desired.keys().any(|field| has(field)) && !are_optional(&root, desired);
    // `validWhen` was already evaluated.
    (is_foreign && !target.read.judges_answers()).then_some("none of desired's fields")
}

/// Returns true if each of the fields equals a missing one by `empty: absent`.
fn are_optional(place: &RulePlace<'_>, fields: &Map<String, Value>) -> bool {
    fields.iter().all(|(name, value)| {
        let below = place.field(name);
        match value {
            Value::Object(fields) => below.takes_empty_as_absent() && are_optional(&below, fields),
            value => below.takes_empty_as_absent() && below.is_absent(value),
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use serde_json::json;

    const WITH_SECRET: &str = r#"      accept: [200]
  secrets: {password: {secretRef: {name: pw, key: k}}}
  correct:
    mode: Correct
    http: {update: [{method: PUT, url: "https://h/x", text: "${secrets.password}", when: "${'password' in differs}"}]}"#;

    #[test]
    fn keys_of_another_owner_are_neither_missing_nor_extra() {
        let text = |may: &str| {
            format!(
                "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  \
                 objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}\n{may}  identity: x\n  \
                 compare: {{desired: {{a: 1, b: 2}}, rules: [{{path: '', extra: drift}}]}}\n  \
                 read: {{http: {{url: \"http://h/x\"}}}}\n"
            )
        };
        let object = json!({"metadata": {"name": "x", "annotations": {"driftpoller.dev/ignore": "b"}}});
        let found = |may: &str, observed: Value| {
            let target = drift_language::fixtures::target(&text(may));
            compare(&target, &object, Ok(Observation::Present(observed))).finding
        };
        let may = "  objectMay: [ignore]\n";
        assert_eq!(found(may, json!({"a": 1, "b": 3})), Finding::InSync);
        assert_eq!(found(may, json!({"a": 1})), Finding::InSync);
        for (may, observed) in
            [("", json!({"a": 1, "b": 3})), (may, json!({"a": 2, "b": 2})), (may, json!({"a": 1, "c": 0}))]
        {
            assert!(matches!(found(may, observed.clone()), Finding::Differs(_)), "{may}{observed}");
        }
    }

    #[test]
    fn an_empty_answer_is_compared_where_empty_is_absent() {
        let found = |rule: &str, desired: &str, observed: &Value| {
            let text = format!(
                "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  \
                 objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}\n  identity: x\n  \
                 compare: {{desired: {desired}, rules: [{rule}]}}\n  read: {{http: {{url: \"http://h/x\"}}}}\n"
            );
            let target = drift_language::fixtures::target(&text);
            match compare(&target, &json!({}), Ok(Observation::Present(observed.clone()))).finding {
                Finding::InSync => "in sync",
                Finding::Differs(_) => "differs",
                _ => "failed",
            }
        };
        let (absent, plain) = ("{path: '', empty: absent}", "{path: '', extra: drift}");
        let table = [
            (absent, "{a: '', b: []}", json!({}), "in sync"),
            (absent, "{a: '', b: []}", json!([]), "in sync"),
            (absent, "{a: '', b: []}", Value::Null, "in sync"),
            (absent, "{a: {b: ''}}", json!({}), "in sync"),
            (absent, "{a: '', b: 1}", json!({}), "failed"),
            (absent, "{a: '', b: 1}", json!([]), "failed"),
            (absent, "{a: ''}", json!([1]), "failed"),
            (absent, "[]", Value::Null, "in sync"),
            (absent, "[1]", Value::Null, "differs"),
            (absent, "[1]", json!({}), "differs"),
            (plain, "{a: '', b: []}", json!({}), "failed"),
            (plain, "{a: '', b: []}", json!([]), "failed"),
            (plain, "[1]", Value::Null, "failed"),
        ];
        for (rule, desired, observed, expected) in table {
            assert_eq!(found(rule, desired, &observed), expected, "{rule} {desired} {observed}");
        }
    }

    #[test]
    fn a_secret_that_moved_differs_though_nobody_reads_it() {
        let moving = |mode: &str| {
            let text = format!(
                "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  \
                 objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}\n  identity: x\n  \
                 compare: {{desired: {{a: 1}}, writeOnly: [{{path: /auth/password, secret: password}}]}}\n  \
                 read:\n    http:\n      url: \"http://h/x\"\n{}\n",
                WITH_SECRET.replace("Correct", mode).replace("'password' in", "'auth' in")
            );
            drift_language::fixtures::target(&text)
        };
        let (object, moved) = (json!({"metadata": {"name": "x"}}), ["password".to_owned(), "other".to_owned()]);
        let found = |target: &Target, moved: &[String], observed: Value| {
            compare(target, Subject { moved, ..Subject::from(&object) }, Ok(Observation::Present(observed))).finding
        };
        let target = moving("Correct");
        assert_eq!(found(&target, &[], json!({"a": 1})), Finding::InSync);
        let Finding::Differs(drift) = found(&target, &moved, json!({"a": 1})) else { panic!("it is in sync") };
        assert_eq!(
            (&*drift.text, drift.fields.to_string()),
            ("1 field differs: /auth/password changed", "auth".to_owned())
        );
        let Finding::Differs(drift) = found(&target, &moved, json!({"a": 2})) else { panic!("it is in sync") };
        assert_eq!(drift.text, "2 fields differ: /a desired 1, observed 2; /auth/password changed");
        assert_eq!(found(&moving("Observe"), &moved, json!({"a": 1})), Finding::InSync, "nobody would send it");
        let absent =
            compare(&target, Subject { moved: &moved, ..Subject::from(&object) }, Ok(Observation::Absent)).finding;
        assert_eq!(absent, Finding::Absent);
    }
}
