//! The annotation that each request sets on an object, and the `kubectl annotate` that does the same.

use drift_api::condition::CorrectedReason;
use drift_api::names::{PAUSED_ANNOTATION, POLL_REQUESTED_ANNOTATION, RETRY_REQUESTED_ANNOTATION, TRUE};
use drift_api::object::LeanObject;
use serde_json::{Value, json};

use crate::kinds::names::ServedKind;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectRequest {
    /// Nothing is created, updated or deleted outside any more; polling goes on.
    Pause,
    /// The end of that.
    Resume,
    /// A poll at once.
    Poll,
    /// One more correction after the attempts were exhausted.
    Retry,
}

/// An annotation to set, or where it has no value to take away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Its name.
    pub(crate) annotation: &'static str,
    /// Its new value.
    pub(crate) value: Option<String>,
}

impl ObjectRequest {
    /// What it sets; `now` is a time that no earlier request carries.
    #[must_use]
    pub(crate) fn setting(self, now: &str) -> Setting {
        let (annotation, value) = match self {
            Self::Pause => (PAUSED_ANNOTATION, Some(TRUE)),
            Self::Resume => (PAUSED_ANNOTATION, None),
            Self::Poll => (POLL_REQUESTED_ANNOTATION, Some(now)),
            Self::Retry => (RETRY_REQUESTED_ANNOTATION, Some(now)),
        };
        Setting { annotation, value: value.map(str::to_owned) }
    }

    /// What there is to say where it changes nothing on this object.
    #[must_use]
    pub(crate) fn is_needless(self, object: &LeanObject) -> Option<&'static str> {
        match self {
            Self::Pause if object.paused => Some("is paused already"),
            Self::Resume if !object.paused => Some("is not paused"),
            _ => None,
        }
    }

    /// Why it may not have the effect that is hoped for, in one sentence.
    #[must_use]
    pub(crate) fn doubt(self, object: &LeanObject) -> Option<&'static str> {
        let reason = object.conditions.correction_status().reason;
        if object.conditions.observed().is_none() {
            return Some("driftObserved does not stand on it: perhaps no target is about it");
        }
        match self {
            Self::Retry
                if !matches!(reason, Some(CorrectedReason::AttemptsExhausted | CorrectedReason::CorrectionFailed)) =>
            {
                Some("a retry hastens what AttemptsExhausted holds, or what could not be sent, and nothing else")
            }
            Self::Retry | Self::Poll if object.deleting => Some("it is being deleted"),
            _ => None,
        }
    }
}

impl Setting {
    /// The merge patch that does it, for the object that was read and no other of its name.
    #[must_use]
    pub(crate) fn patch(&self, uid: &str) -> Value {
        json!({"metadata": {"uid": uid, "annotations": {self.annotation: self.value}}})
    }

    /// `name=value`, or `name-` where it is taken away: as kubectl takes it.
    #[must_use]
    pub(crate) fn words(&self) -> String {
        self.value
            .as_ref()
            .map_or_else(|| format!("{}-", self.annotation), |value| format!("{}={value}", self.annotation))
    }

    /// The same typed with kubectl.
    #[must_use]
    pub(crate) fn kubectl(&self, kind: &ServedKind, object: &LeanObject) -> String {
        let namespace = object.id.namespace.as_ref().map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
        let overwrite = if self.value.is_some() { " --overwrite" } else { "" };
        format!("kubectl annotate {}/{}{namespace} {}{overwrite}", kind.full_name(), object.id.name, self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::object::field_paths::FieldPaths;

    fn object(annotations: &Value, reason: Option<&str>) -> LeanObject {
        let condition = |kind: &str, reason: &str| {
            json!({"type": kind, "status": "False", "reason": reason, "message": "x", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let noted = reason.map(|reason| condition("driftCorrected", reason));
        let conditions: Vec<_> = [condition("driftObserved", "InSync")].into_iter().chain(noted).collect();
        let whole = json!({"metadata": {"name": "web", "namespace": "n", "uid": "u", "annotations": annotations},
            "status": {"conditions": conditions}});
        LeanObject::prune(&whole, &FieldPaths::default())
    }

    #[test]
    fn each_request_sets_one_annotation() {
        let proxies =
            ServedKind { group: "g.example".to_owned(), plural: "proxies".to_owned(), ..ServedKind::default() };
        let plain = object(&Value::Null, None);
        for (request, expected) in [
            (ObjectRequest::Pause, "driftpoller.dev/paused=true --overwrite"),
            (ObjectRequest::Resume, "driftpoller.dev/paused-"),
            (ObjectRequest::Poll, "driftpoller.dev/poll-requested-at=T --overwrite"),
            (ObjectRequest::Retry, "driftpoller.dev/retry-requested-at=T --overwrite"),
        ] {
            let typed = request.setting("T").kubectl(&proxies, &plain);
            assert_eq!(typed, format!("kubectl annotate proxies.g.example/web -n n {expected}"));
        }
        let expected = json!({"metadata": {"uid": "u", "annotations": {"driftpoller.dev/paused": null}}});
        assert_eq!(ObjectRequest::Resume.setting("T").patch("u"), expected);
    }

    #[test]
    fn what_changes_nothing_is_known_beforehand() {
        let (plain, paused) = (object(&Value::Null, None), object(&json!({PAUSED_ANNOTATION: "yes"}), None));
        assert!(
            ObjectRequest::Pause.is_needless(&paused).is_some() && ObjectRequest::Pause.is_needless(&plain).is_none()
        );
        assert!(
            ObjectRequest::Resume.is_needless(&plain).is_some() && ObjectRequest::Resume.is_needless(&paused).is_none()
        );
        assert_eq!(ObjectRequest::Poll.is_needless(&plain), None);
    }

    #[test]
    fn a_request_without_effect_is_doubted() {
        let exhausted = object(&Value::Null, Some("AttemptsExhausted"));
        assert_eq!(ObjectRequest::Retry.doubt(&exhausted), None);
        assert_eq!(
            ObjectRequest::Retry.doubt(&object(&Value::Null, Some("CorrectionFailed"))),
            None,
            "it may not have been sent"
        );
        assert!(ObjectRequest::Retry.doubt(&object(&Value::Null, Some("CorrectionApplied"))).is_some());
        assert_eq!(ObjectRequest::Poll.doubt(&exhausted), None);
        let bare = LeanObject::prune(&json!({"metadata": {"name": "web"}}), &FieldPaths::default());
        assert!(ObjectRequest::Pause.doubt(&bare).is_some());
    }
}
