//! The drift of an external resource from its desired state.
//!
//! It consists of a sentence for people, and of the fields and the replacement flag of the condition's tag
//! for the controller.

use drift_api::condition::DifferingFields;
use drift_language::Target;
use serde_json::Value;

use crate::engine::judgement::credentials::Credentials;
use crate::engine::judgement::description::Description;
use crate::engine::judgement::difference::{Difference, TooMuchWork, find_differences, find_moved};

/// The object of a poll.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'o> {
    /// Object as the templates see it.
    pub object: &'o Value,
    /// Names of the secrets that changed since they were sent.
    pub moved: &'o [String],
    /// Credentials that no shown text may contain.
    pub credentials: Option<&'o Credentials<'o>>,
}

impl<'o> From<&'o Value> for Subject<'o> {
    fn from(object: &'o Value) -> Self {
        Self { object, moved: &[], credentials: None }
    }
}

/// Differences of an external resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Differing fields as text for people.
    pub text: String,
    /// Differing fields for corrections that depend on them.
    pub fields: DifferingFields,
    /// True if a differing field requires a deletion and a creation.
    pub replace: bool,
    /// Rule of `compare` that would end a difference, if it is only another form of the same value.
    pub rule: Option<&'static str>,
}

impl Drift {
    /// Returns the drift between the desired state of an object and the observation, without credentials; `None`
    /// if they match.
    ///
    /// # Errors
    /// Fails when both are so large and similar that the comparison would take too long.
    pub fn of(
        target: &Target,
        subject: Subject<'_>,
        desired: &Value,
        observed: &Value,
    ) -> Result<Option<Self>, TooMuchWork> {
        let mut text = Description::without(subject.credentials);
        let (mut fields, mut replace) = (DifferingFields::default(), false);
        let (says_fields, may_replace) = (target.uses_differs(), target.replaces());
        let mut found = |difference: &Difference<'_, '_>| {
            text.add(difference);
            if says_fields {
                add_field(&mut fields, difference);
            }
            replace |= may_replace && difference.place.is_replaced();
        };
        find_differences(&target.compare.rules, desired, observed, &mut found)?;
        find_moved(target, subject.moved, &target.object_may.ignored(subject.object), &mut found);
        let rule = text.rule();
        Ok(text.sentence().map(|text| Self { text, fields, replace, rule }))
    }
}

fn add_field(fields: &mut DifferingFields, difference: &Difference<'_, '_>) {
    match difference.field() {
        Some(name) => fields.add(name),
        // A desired state that is no map differs as a whole.
        None => *fields = DifferingFields::every(),
    }
}

impl From<&str> for Drift {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::Rules;
    use serde_json::json;

    fn fields(desired: &Value, observed: &Value) -> String {
        let mut fields = DifferingFields::default();
        find_differences(&Rules::default(), desired, observed, &mut |found| add_field(&mut fields, found)).ok();
        fields.to_string()
    }

    #[test]
    fn the_top_level_keys_that_differ_are_named() {
        let desired = json!({"a": {"x": 1, "y": 1}, "b": [1, 2], "c": 1});
        assert_eq!(fields(&desired, &json!({"a": {"x": 2, "y": 2}, "b": [1], "c": 1})), "a b");
        assert_eq!(fields(&json!({"a b": 1}), &json!({})), "*");
        assert_eq!(fields(&json!([1]), &json!([2])), "*");
        let many: serde_json::Map<_, _> = (0..1_000).map(|number| (number.to_string(), json!(1))).collect();
        assert_eq!(fields(&json!({"a": many, "b": {"c": 1}, "d": 1}), &json!({"d": 1})), "a b", "all are named");
        assert_eq!(fields(&json!(many), &json!({})), "*", "too many to name");
    }

    /// Returns the verdict's text for a difference in `/a`, with this `correct`.
    fn said(correct: &str) -> (String, bool) {
        let text = format!(
            r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: "${{self.metadata.name}}"
  read: {{http: {{url: "https://h/x"}}}}
  compare: {{desired: {{a: "${{self.spec.a}}", b: 1}}, rules: [{{path: /a, change: replace}}]}}
  correct: {correct}
"#
        );
        let target = drift_language::fixtures::target(&text);
        let (desired, observed) = (json!({"a": 1, "b": 1}), json!({"a": 2, "b": 1}));
        let drift = Drift::of(&target, Subject::from(&json!({})), &desired, &observed).unwrap().unwrap();
        (drift.fields.to_string(), drift.replace)
    }

    #[test]
    fn the_rule_that_would_end_a_difference_is_named() {
        let table = [
            ("", json!([]), Value::Null, Some("empty: absent")),
            ("", json!(""), json!({}), Some("empty: absent")),
            ("", json!([]), json!([1]), None),
            ("", json!(0), Value::Null, None),
            ("", json!([1, 2]), json!([2, 1]), Some("list: set")),
            ("", json!("26h"), json!("PT26H"), Some("as: duration")),
            ("", json!("10.0.0.1/8"), json!("10.0.0.0/8"), Some("as: cidr")),
            ("{path: /a, redact: true}", json!(""), Value::Null, None),
        ];
        for (rule, desired, observed, expected) in table {
            let target = crate::engine::fixtures::ruled(rule);
            let [desired, observed] = [desired, observed].map(|value| json!({"a": value}));
            let drift = Drift::of(&target, Subject::from(&json!({})), &desired, &observed).unwrap().unwrap();
            assert_eq!(drift.rule, expected, "{rule} {desired} {observed}");
        }
        let target = crate::engine::fixtures::ruled("{path: '', extra: drift}");
        let unexpected =
            |observed: &Value| Drift::of(&target, Subject::from(&json!({})), &json!({}), observed).unwrap();
        assert_eq!(unexpected(&json!({"a": ""})).unwrap().rule, Some("empty: absent"));
        assert_eq!(unexpected(&json!({"a": "x"})).unwrap().rule, None);
    }

    #[test]
    fn only_what_corrections_use_is_said() {
        let step = |method: &str, when: &str| format!("[{{method: {method}, url: \"https://h/x\"{when}}}]");
        let (create, delete) = (step("POST", ""), step("DELETE", ""));
        let uses = step("PUT", ", when: \"${'a' in differs}\"");
        let table = [
            ("{mode: Observe}".to_owned(), "", false),
            (format!("{{http: {{create: {create}, delete: {delete}}}}}"), "", true),
            (format!("{{http: {{replace: {create}}}}}"), "", true),
            (format!("{{http: {{replace: {uses}}}}}"), "a", true),
        ];
        for (correct, fields, replace) in table {
            assert_eq!(said(&correct), (fields.to_owned(), replace), "{correct}");
        }
    }
}
