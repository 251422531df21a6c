//! What a poll says that found the external resource, and found it different.
//!
//! A sentence for people, and what the tag says to the controller. It must not know what stood before.

use drift_model::condition::DifferingFields;
use drift_target::Target;

use super::credentials::Credentials;
use super::description::describe;
use super::difference::Difference;

/// How the external resource differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// The fields, for people.
    pub text: String,
    /// The fields, for a controller whose corrections depend on them.
    pub fields: DifferingFields,
    /// One of them asks for a deletion and a creation.
    pub replace: bool,
}

impl Drift {
    /// Says how a resource differs from what an object of this target wishes for, with none of the credentials.
    #[must_use]
    pub fn of(target: &Target, differences: &[Difference<'_, '_>], credentials: Option<&Credentials<'_>>) -> Self {
        let fields = match target.uses_differs() {
            true => differing_fields(differences),
            false => DifferingFields::default(),
        };
        let replace = target.replaces() && differences.iter().any(|difference| difference.place.is_replaced());
        Self { text: describe(differences, credentials), fields, replace }
    }
}

fn differing_fields(differences: &[Difference<'_, '_>]) -> DifferingFields {
    let names: Option<Vec<_>> = differences.iter().map(Difference::field).collect();
    // A wish that is no map differs as a whole.
    names.map_or_else(DifferingFields::every, DifferingFields::named)
}

impl From<&str> for Drift {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::difference::differences;
    use drift_target::Rules;
    use serde_json::{Value, json};

    fn fields(desired: &Value, observed: &Value) -> String {
        let rules = Rules::default();
        differing_fields(&differences(&rules, desired, observed).unwrap_or_default()).to_string()
    }

    #[test]
    fn the_top_level_keys_that_differ_are_named() {
        let desired = json!({"a": {"x": 1, "y": 1}, "b": [1, 2], "c": 1});
        assert_eq!(fields(&desired, &json!({"a": {"x": 2, "y": 2}, "b": [1], "c": 1})), "a b");
        assert_eq!(fields(&json!({"a b": 1}), &json!({})), "*");
        assert_eq!(fields(&json!([1]), &json!([2])), "*");
    }

    /// What a verdict says of a difference in `/a`, where `correct` is this.
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
        let target = drift_target::fixtures::target(&text);
        let (desired, observed) = (json!({"a": 1, "b": 1}), json!({"a": 2, "b": 1}));
        let found = differences(&target.compare.rules, &desired, &observed).unwrap_or_default();
        let drift = Drift::of(&target, &found, None);
        (drift.fields.to_string(), drift.replace)
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
