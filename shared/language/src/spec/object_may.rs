//! `objectMay`: what the annotations of a single object may change. Each only leads to fewer corrections or polls.

use std::time::Duration;

use drift_api::names::IGNORE_ANNOTATION;
use drift_api::object::LeanObject;
use drift_api::printable::printable;
use serde_json::Value;

use super::polling::INTERVAL;
use crate::cel::EvaluationError;
use crate::section::{Leaf, list, words};

/// The permitted annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectMay {
    /// Permits the annotation that leaves fields of `desired` to another owner.
    pub ignore: bool,
    /// Permits the annotation that lengthens the interval.
    pub interval: bool,
}

impl ObjectMay {
    /// The field of objects that templates need for it.
    pub(crate) fn field(self) -> Option<Vec<String>> {
        self.ignore.then(|| ["metadata", "annotations", IGNORE_ANNOTATION].map(str::to_owned).to_vec())
    }

    /// The keys of `desired` that the object leaves to another owner.
    #[must_use]
    pub fn ignored(self, object: &Value) -> Vec<&str> {
        let text = object.get("metadata").and_then(|metadata| metadata.get("annotations")?.get(IGNORE_ANNOTATION));
        let text = text.and_then(Value::as_str).filter(|_| self.ignore).unwrap_or_default();
        text.split(',').map(str::trim).filter(|key| !key.is_empty()).collect()
    }

    /// Removes these keys from a desired state.
    ///
    /// # Errors
    /// Fails if the desired state has no such key, and the target declares none: the object would be corrected although its owner expects otherwise.
    pub(crate) fn apply(
        self,
        object: &Value,
        desired: &mut Value,
        is_declared: impl Fn(&str) -> bool,
    ) -> Result<(), EvaluationError> {
        let ignored = self.ignored(object);
        if let Some(unknown) = ignored.iter().find(|key| desired.get(key).is_none() && !is_declared(key)) {
            let known = desired.as_object().map(|fields| fields.keys().map(String::as_str).collect::<Vec<_>>());
            let known = known.unwrap_or_default().join(", ");
            let cause = format!("compare.desired has no key `{}`; known: {known}", printable(unknown));
            return Err(EvaluationError { place: format!("the annotation {IGNORE_ANNOTATION}").into(), cause });
        }
        if let Some(fields) = desired.as_object_mut() {
            fields.retain(|key, _| !ignored.contains(&key.as_str()));
        }
        Ok(())
    }

    /// Returns the interval of an object in a target with this interval. A shorter or invalid one has no effect.
    #[must_use]
    pub fn interval_of(self, object: &LeanObject, interval: Duration) -> Duration {
        let text = object.interval_requested().filter(|_| self.interval);
        let wanted = text.and_then(|text| humantime::parse_duration(text).ok()).unwrap_or_default();
        interval.max(wanted.min(*INTERVAL.end()))
    }
}

/// The list of permitted annotations.
pub(crate) fn object_may() -> impl Leaf<Value = ObjectMay> {
    list(1..=ANNOTATIONS.len(), words(ANNOTATIONS)).map(|permitted: Vec<ObjectMay>| ObjectMay {
        ignore: permitted.iter().any(|may| may.ignore),
        interval: permitted.iter().any(|may| may.interval),
    })
}

/// The values of `objectMay`.
const ANNOTATIONS: &[(&str, ObjectMay)] = &[
    ("ignore", ObjectMay { ignore: true, interval: false }),
    ("interval", ObjectMay { ignore: false, interval: true }),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::names::INTERVAL_ANNOTATION;
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::json;

    const ALL: ObjectMay = ObjectMay { ignore: true, interval: true };

    #[test]
    fn an_object_leaves_keys_to_another_owner() {
        let object = |text: &str| json!({"metadata": {"annotations": {IGNORE_ANNOTATION: text}}});
        let rest = |may: ObjectMay, text: &str| {
            let mut desired = json!({"a": 1, "b": 2, "c": 3});
            may.apply(&object(text), &mut desired, |key| key == "optional").map(|()| desired)
        };
        assert_eq!(rest(ALL, " a,c ,"), Ok(json!({"b": 2})));
        assert_eq!(rest(ALL, "a,optional"), Ok(json!({"b": 2, "c": 3})));
        assert_eq!(rest(ALL, ""), Ok(json!({"a": 1, "b": 2, "c": 3})));
        assert_eq!(rest(ObjectMay { ignore: false, ..ALL }, "a"), Ok(json!({"a": 1, "b": 2, "c": 3})));
        let error = "the annotation driftpoller.dev/ignore: compare.desired has no key `d`; known: a, b, c";
        assert_eq!(rest(ALL, "a,d").unwrap_err().to_string(), error);
        assert!(ALL.apply(&object("a"), &mut json!("text"), |_| false).is_err());
    }

    #[test]
    fn an_object_is_polled_less_often_but_never_more() {
        let minute = Duration::from_secs(60);
        for (text, expected) in [("1h", 3600), ("1s", 60), ("soon", 60), ("90d", 86_400), ("", 60)] {
            let metadata = json!({"name": "web", "annotations": {INTERVAL_ANNOTATION: text}});
            let object = LeanObject::prune(&json!({"metadata": metadata}), &FieldPaths::default());
            assert_eq!(ALL.interval_of(&object, minute).as_secs(), expected, "{text}");
            assert_eq!(ObjectMay { interval: false, ..ALL }.interval_of(&object, minute), minute);
        }
    }
}
