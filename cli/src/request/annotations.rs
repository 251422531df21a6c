//! The annotation that each request sets on an object, and the `kubectl annotate` that does the same.

use drift_api::condition::{ConditionStatus, CorrectedReason, ObservedReason};
use drift_api::names::{
    GIVE_UP_ANNOTATION, PAUSED_ANNOTATION, POLL_REQUESTED_ANNOTATION, RETRY_REQUESTED_ANNOTATION, TRUE,
};
use drift_api::object::LeanObject;
use drift_api::printable::printable;
use serde_json::{Value, json};

use crate::kinds::names::ServedKind;

/// A request to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectRequest {
    /// Nothing is created, updated or deleted outside any more, for this reason if it has one; polling goes on.
    Pause(Option<String>),
    /// The end of that.
    Resume,
    /// A poll at once.
    Poll,
    /// One more try of what exhausted attempts, a contradicted absence, an unclear deletion or an open breaker holds.
    Retry,
    /// The object takes no part in the external resource of this identity any more; `None` stands for the one that it owns.
    GiveUp(Option<String>),
    /// The end of that.
    EndGiveUp,
}

/// An object of which nothing can be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OwnsNothing {
    /// Its record has no claim.
    #[error("it owns nothing, by its driftCorrected; name the resource from which it is to step back with --identity")]
    Unclaimed,
    /// Its target owns nothing.
    #[error("its conditions are in a DriftReport, and an object with a report owns nothing that it could give up")]
    Reported,
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
    /// The annotation that it sets on this object; `now` is a time that no earlier request carries.
    ///
    /// # Errors
    /// If the object is to give up what it owns, and owns nothing.
    pub(crate) fn setting(&self, object: &LeanObject, now: &str) -> Result<Setting, OwnsNothing> {
        let (annotation, value) = match self {
            Self::Pause(reason) => (PAUSED_ANNOTATION, Some(reason.clone().unwrap_or_else(|| TRUE.to_owned()))),
            Self::Resume => (PAUSED_ANNOTATION, None),
            Self::Poll => (POLL_REQUESTED_ANNOTATION, Some(now.to_owned())),
            Self::Retry => (RETRY_REQUESTED_ANNOTATION, Some(now.to_owned())),
            Self::GiveUp(_) if object.report.is_some() => return Err(OwnsNothing::Reported),
            Self::GiveUp(Some(identity)) => (GIVE_UP_ANNOTATION, Some(identity.clone())),
            Self::GiveUp(None) => {
                let record = object.conditions.correction_status();
                (GIVE_UP_ANNOTATION, Some(record.owned().ok_or(OwnsNothing::Unclaimed)?.identity.to_string()))
            }
            Self::EndGiveUp => (GIVE_UP_ANNOTATION, None),
        };
        Ok(Setting { annotation, value })
    }

    /// The sentence for a request that changes nothing on this object.
    #[must_use]
    pub(crate) fn is_needless(&self, object: &LeanObject) -> Option<&'static str> {
        let gives_up = || object.given_up();
        match self {
            Self::Pause(None) if object.paused => Some("is paused already"),
            Self::Pause(Some(reason)) if object.pause_reason() == Some(reason) => Some("is paused for that already"),
            Self::Resume if !object.paused => Some("is not paused"),
            Self::GiveUp(Some(identity)) if gives_up() == Some(identity.as_str()) => Some("gives that up already"),
            Self::GiveUp(None) => {
                // Once the controller has removed the claim, the object owns nothing.
                let record = object.conditions.correction_status();
                let owns_no_other = |given_up: &str| record.owned().is_none_or(|owned| *owned.identity == *given_up);
                gives_up().is_some_and(owns_no_other).then_some("gives up what it owned already")
            }
            Self::EndGiveUp if gives_up().is_none() => Some("gives up nothing"),
            _ => None,
        }
    }

    /// A sentence about side effects, or about a missing effect.
    #[must_use]
    pub(crate) fn doubt(&self, object: &LeanObject) -> Option<&'static str> {
        let reason = object.conditions.correction_status().reason;
        if object.conditions.observed().is_none() {
            return Some("driftObserved does not stand on it, nor in a DriftReport: perhaps no target is about it");
        }
        let observed = object.conditions.observed().and_then(|condition| ObservedReason::parse(&condition.reason));
        match self {
            Self::Retry if observed == Some(ObservedReason::AllMissing) => {
                Some("this confirms that its external resource is gone: it is created anew if the target creates")
            }
            Self::Retry if object.deleting => None,
            Self::Retry if !waits(observed, reason) => {
                Some("a retry hastens a correction or a deletion that waits, and by its conditions nothing of it waits")
            }
            Self::Poll if object.deleting => Some("it is being deleted"),
            Self::GiveUp(_) if object.deleting => {
                Some("it is being deleted, and the external resource that it gives up stays as it is")
            }
            Self::GiveUp(_) if object.given_up().is_some() => {
                Some("an object gives up one resource at a time: it takes part again in the one that it gave up before")
            }
            Self::GiveUp(_) => Some("this holds until the annotation is removed, which --undo does"),
            _ => None,
        }
    }
}

/// Returns true if a correction may wait that a retry hastens.
fn waits(observed: Option<ObservedReason>, corrected: Option<CorrectedReason>) -> bool {
    let is_drift = observed.is_some_and(|reason| reason.status() == ConditionStatus::True);
    is_drift
        || observed == Some(ObservedReason::AbsenceContradicted)
        || matches!(
            corrected,
            Some(
                CorrectedReason::AttemptsExhausted
                    | CorrectedReason::CorrectionFailed
                    | CorrectedReason::CreationInDoubt
                    | CorrectedReason::DeletionUnclear
            )
        )
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
        let words = self
            .value
            .as_ref()
            .map_or_else(|| format!("{}-", self.annotation), |value| format!("{}={value}", self.annotation));
        printable(&words)
    }

    /// The same typed with kubectl.
    #[must_use]
    pub(crate) fn kubectl(&self, kind: &ServedKind, object: &LeanObject) -> String {
        let overwrite = if self.value.is_some() { " --overwrite" } else { "" };
        let object = object.id.as_arguments(&kind.full_name());
        format!("kubectl annotate {object} {}{overwrite}", in_shell(self.words()))
    }
}

/// A word as a shell reads it: in quotation marks unless it is plain.
fn in_shell(word: String) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    if word.chars().all(is_plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::object::field_paths::FieldPaths;
    use drift_api::object::report::SeenReport;

    fn object(annotations: &Value, reason: Option<&str>) -> LeanObject {
        object_with(annotations, reason, "x")
    }

    fn object_with(annotations: &Value, reason: Option<&str>, record: &str) -> LeanObject {
        let condition = |kind: &str, reason: &str| {
            json!({"type": kind, "status": "False", "reason": reason, "message": record, "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let noted = reason.map(|reason| condition("driftCorrected", reason));
        let conditions: Vec<_> = [condition("driftObserved", "InSync")].into_iter().chain(noted).collect();
        let whole = json!({"metadata": {"name": "web", "namespace": "n", "uid": "u", "annotations": annotations},
            "status": {"conditions": conditions}});
        LeanObject::prune(&whole, &FieldPaths::default())
    }

    /// What is set on an object with this record, or why nothing is.
    fn given_up_of(request: &ObjectRequest, record: &str) -> Result<String, OwnsNothing> {
        let owner = object_with(&Value::Null, Some("CorrectionApplied"), record);
        request.setting(&owner, "T").map(|setting| setting.words())
    }

    #[test]
    fn each_request_sets_one_annotation() {
        let proxies =
            ServedKind { group: "g.example".to_owned(), plural: "proxies".to_owned(), ..ServedKind::default() };
        let plain = object(&Value::Null, None);
        for (request, expected) in [
            (ObjectRequest::Pause(None), "driftpoller.dev/paused=true --overwrite"),
            (ObjectRequest::Pause(Some("a move".to_owned())), "'driftpoller.dev/paused=a move' --overwrite"),
            (ObjectRequest::Resume, "driftpoller.dev/paused-"),
            (ObjectRequest::Poll, "driftpoller.dev/poll-requested-at=T --overwrite"),
            (ObjectRequest::Retry, "driftpoller.dev/retry-requested-at=T --overwrite"),
            (ObjectRequest::GiveUp(Some("web".to_owned())), "driftpoller.dev/give-up=web --overwrite"),
            (ObjectRequest::GiveUp(Some("a b's".to_owned())), r"'driftpoller.dev/give-up=a b'\''s' --overwrite"),
            (ObjectRequest::GiveUp(Some("\u{1b}c".to_owned())), "'driftpoller.dev/give-up=\\u{1b}c' --overwrite"),
            (ObjectRequest::EndGiveUp, "driftpoller.dev/give-up-"),
        ] {
            let typed = request.setting(&plain, "T").unwrap().kubectl(&proxies, &plain);
            assert_eq!(typed, format!("kubectl annotate proxies.g.example/web -n n {expected}"));
        }
        let expected = json!({"metadata": {"uid": "u", "annotations": {"driftpoller.dev/paused": null}}});
        assert_eq!(ObjectRequest::Resume.setting(&plain, "T").unwrap().patch("u"), expected);
    }

    #[test]
    fn an_object_gives_up_what_it_owns() {
        let (owned, named) = (ObjectRequest::GiveUp(None), ObjectRequest::GiveUp(Some("other".to_owned())));
        for (request, record, expected) in [
            (&owned, "correction 2, owns \"zone www\": created [scope 3f2a9c71]", Ok("zone www")),
            (&owned, "owns \"web\": started", Ok("web")),
            (&owned, "correction 2: taken by Proxy a/web", Err(OwnsNothing::Unclaimed)),
            (&owned, "correction 2, claims \"web\": refused", Err(OwnsNothing::Unclaimed)),
            (&owned, "the text says: owns \"web\"", Err(OwnsNothing::Unclaimed)),
            (&named, "correction 2: taken by Proxy a/web", Ok("other")),
            (&named, "correction 2, owns \"web\": created", Ok("other")),
        ] {
            let expected = expected.map(|identity| format!("driftpoller.dev/give-up={identity}"));
            assert_eq!(given_up_of(request, record), expected, "{record}");
        }
        let bare = object(&Value::Null, None);
        assert_eq!(owned.setting(&bare, "T"), Err(OwnsNothing::Unclaimed));
    }

    #[test]
    fn an_object_with_a_report_gives_up_nothing() {
        let reported = object(&Value::Null, None).with_report(SeenReport::absent(None));
        for identity in [None, Some("web".to_owned())] {
            let setting = ObjectRequest::GiveUp(identity).setting(&reported, "T");
            assert_eq!(setting, Err(OwnsNothing::Reported));
        }
        assert!(ObjectRequest::EndGiveUp.setting(&reported, "T").is_ok());
    }

    #[test]
    fn what_is_given_up_already_is_not_asked_again() {
        let gives_up = |record: &str| object_with(&json!({GIVE_UP_ANNOTATION: "web"}), Some("NotOurs"), record);
        let named = |identity: &str| ObjectRequest::GiveUp(Some(identity.to_owned()));
        let (gone, other) = (gives_up("correction 2: given up"), gives_up("correction 2, owns \"other\": created"));
        let (still, plain) = (gives_up("correction 2, owns \"web\": created"), object(&Value::Null, None));
        for (request, object, is_needless) in [
            (named("web"), &gone, true),
            (named("other"), &gone, false),
            (ObjectRequest::GiveUp(None), &gone, true),
            (ObjectRequest::GiveUp(None), &other, false),
            (ObjectRequest::GiveUp(None), &still, true),
            (ObjectRequest::GiveUp(None), &plain, false),
            (ObjectRequest::EndGiveUp, &plain, true),
            (ObjectRequest::EndGiveUp, &gone, false),
        ] {
            assert_eq!(request.is_needless(object).is_some(), is_needless, "{request:?}");
        }
        assert!(named("other").doubt(&gone).unwrap().contains("one resource at a time"));
        assert!(named("web").doubt(&plain).unwrap().contains("until the annotation is removed"));
        assert_eq!(ObjectRequest::EndGiveUp.doubt(&gone), None);
    }

    #[test]
    fn what_changes_nothing_is_known_beforehand() {
        let (plain, paused) = (object(&Value::Null, None), object(&json!({PAUSED_ANNOTATION: "yes"}), None));
        let pause = |reason: Option<&str>| ObjectRequest::Pause(reason.map(str::to_owned));
        for (reason, object, is_needless) in [
            (None, &plain, false),
            (None, &paused, true),
            (Some("yes"), &plain, false),
            (Some("yes"), &paused, true),
            (Some("a move"), &paused, false),
        ] {
            assert_eq!(pause(reason).is_needless(object).is_some(), is_needless, "{reason:?}");
        }
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
        assert!(!waits(Some(ObservedReason::InSync), None) && !waits(None, Some(CorrectedReason::CorrectionApplied)));
        assert!(
            waits(Some(ObservedReason::FieldsDiffer), Some(CorrectedReason::CorrectionApplied)),
            "it may be delayed"
        );
        assert!(waits(Some(ObservedReason::AbsenceContradicted), None));
        assert_eq!(ObjectRequest::Poll.doubt(&exhausted), None);
        let bare = LeanObject::prune(&json!({"metadata": {"name": "web"}}), &FieldPaths::default());
        assert!(ObjectRequest::Pause(None).doubt(&bare).is_some());
    }
}
