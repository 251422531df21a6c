//! The sentence for a hold of an object: the words of its record or of its reason, and what the target knows of it.
//!
//! Events, the status page, `kubectl drift get` and `explain` all print this one.

use drift_api::condition::{CorrectionStatus, CurrentVerdict, ObservedReason};
use drift_api::held_corrections::{Held, Hold};
use drift_api::identity::Holders;
use drift_api::names::GIVE_UP_ANNOTATION;
use drift_api::object::LeanObject;
use jiff::Timestamp;

use crate::Target;

/// The place of the object in the commands of sentences that are about any object.
const ANY_OBJECT: &str = "KIND/NAME";
/// The cause of a suspension by `suspendWhen`.
pub const SUSPENDED_ALONE: &str = "the target's `suspendWhen` holds for this object";

impl Target {
    /// Returns a hold of an object for people. `record` is the text with which `driftCorrected` tells it, if the
    /// controller is about to write another one than the object has.
    #[must_use]
    pub fn hold(&self, object: &LeanObject, why: Held, record: Option<&str>, now: Timestamp) -> Hold {
        let status = object.conditions.correction_status();
        let written = status.reason.filter(|reason| why.recorded_as() == Some(*reason)).map(|_| &*status.text);
        let record = record.or(written).filter(|text| !text.is_empty());
        let about = |text: &str| self.about(object, text);
        let cause = about(why.cause());
        let said = record.map_or_else(|| cause.clone(), |record| self.about_record(object, record));
        match why {
            Held::OutsideWindow | Held::OutsideDeletionWindow => {
                self.correct.window_hold(object, now).unwrap_or_else(|| Hold::from(why))
            }
            Held::Suspended => self.suspension(object),
            Held::Paused => Hold::by(why, &cause, object.pause_reason().unwrap_or_default()),
            Held::NotAllowed => Hold::by(why, &cause, &self.unmet(object)),
            Held::TemplateFails => Hold::by(why, &cause, &self.failing_templates(object)),
            Held::GivenUp => Hold::by(why, &self.given_up(object).unwrap_or(said), ""),
            Held::IdentityTaken | Held::IdentityContested => dispute(why, record.unwrap_or_default()),
            Held::NotVerified => Hold::by(why, &cause, &unverified(object)),
            Held::AwaitingApproval => match object.awaits_approval() {
                Some(hash) => Hold::by(why, &format!("correction {hash} awaits approval"), &about(APPROVE)),
                None => Hold::by(why, "a person has to approve the correction, once the controller asks for that", ""),
            },
            Held::AttemptsExhausted if record.is_none() && is_contradicted(object) => self.exists_already(object),
            Held::IdentityChanged => Hold::by(why, &said, &self.former_scope(object).unwrap_or_default()),
            _ => Hold::by(why, &said, ""),
        }
    }

    /// Returns the hold of the hourly create that contradicts the poll.
    #[must_use]
    pub fn exists_already(&self, object: &LeanObject) -> Hold {
        Hold::by(Held::AttemptsExhausted, &self.about(object, EXISTS_ALREADY), "")
    }

    /// Returns a sentence of the programs with the object in its commands. Not for what others said.
    #[must_use]
    pub fn about(&self, object: &LeanObject, sentence: &str) -> String {
        sentence.replace(ANY_OBJECT, &object.id.as_arguments(&self.objects.kind_word()))
    }

    /// The same for a record, whose end is what the external system answered.
    fn about_record(&self, object: &LeanObject, record: &str) -> String {
        let (own, failure) = CorrectionStatus::split_failure(record);
        self.about(object, own) + failure
    }

    fn suspension(&self, object: &LeanObject) -> Hold {
        let what = if object.deleting { "nothing is deleted outside" } else { "no polls and no corrections" };
        let (cause, until) = match self.suspend {
            true => (Held::Suspended.cause(), format!("until `kubectl drift unsuspend {}`", self.name)),
            false => (SUSPENDED_ALONE, "meanwhile".to_owned()),
        };
        Hold::by(Held::Suspended, cause, &format!("{what} {until}"))
    }

    /// The `else` of the requirement.
    fn unmet(&self, object: &LeanObject) -> String {
        let view = object.view.open();
        self.unmet_requirement(&view).ok().flatten().map(str::to_owned).unwrap_or_default()
    }

    /// Every error of the target's templates for an object.
    fn failing_templates(&self, object: &LeanObject) -> String {
        let view = object.view.open();
        let errors = [
            self.is_suspended_for(&view).err().map(|error| error.to_string()),
            self.unmet_requirement(&view).err().map(|error| error.to_string()),
            self.scope_of(object.id.namespace.as_deref()).err().map(|error| error.to_string()),
            self.identity_of(&view).err().map(|error| error.to_string()),
            // A deletion needs no desired state.
            self.desired_state_of(&view).err().filter(|_| !object.deleting).map(|error| error.to_string()),
        ];
        errors.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// The resource that the object gives up; `None` if it does not give up the one that it names.
    fn given_up(&self, object: &LeanObject) -> Option<String> {
        let identity = object.given_up()?;
        let is_named = self.identity_of(&object.view.open()).is_ok_and(|named| named == identity);
        let undo = self.about(object, "`kubectl drift give-up KIND/NAME --undo`");
        is_named.then(|| {
            format!(
                "it gives up {} by its annotation {GIVE_UP_ANNOTATION}; that ends when you remove it ({undo})",
                serde_json::Value::from(identity)
            )
        })
    }

    /// How the scope comes back in which the object owns its resource.
    fn former_scope(&self, object: &LeanObject) -> Option<String> {
        let note = object.conditions.correction_status();
        let present = self.scope_of(object.id.namespace.as_deref()).ok()?;
        let claimed_in = note.owned()?.scope.filter(|claimed_in| *claimed_in != present && !self.has_accounts())?;
        let kept = format!("`scope: \"id {claimed_in}\"` in the target keeps the claim");
        Some(format!("{kept}, if that is the same external system"))
    }
}

/// The command for a correction that awaits approval.
const APPROVE: &str = "`kubectl drift approve KIND/NAME` shows and approves it";
/// The sentence for the hourly create that contradicts the poll.
const EXISTS_ALREADY: &str = "the external system refused the create because it exists already: one create an hour is tried, or \
    at once by `kubectl drift retry KIND/NAME`";

fn is_contradicted(object: &LeanObject) -> bool {
    let current = object.conditions.observed().and_then(CurrentVerdict::read);
    current.is_some_and(|current| current.reason == ObservedReason::AbsenceContradicted)
}

/// The numbers of the correction and of the verdict.
fn unverified(object: &LeanObject) -> String {
    let observed = object.conditions.observed().and_then(CurrentVerdict::read);
    let (of, observed) = (object.conditions.correction(), observed.map_or(0, |current| current.tag.correction));
    format!("driftCorrected speaks of correction {of}, driftObserved of correction {observed}")
}

/// The other objects of a dispute, and how to end it.
fn dispute(why: Held, record: &str) -> Hold {
    let others = Holders::parse(record);
    let others = if others.named.is_empty() { Holders::UNNAMED.to_owned() } else { others.to_string() };
    let (sentence, end) = match why {
        Held::IdentityTaken => (
            format!("{others} has the external resource that this object names"),
            "that ends when this object is deleted or names another resource, or when the other one does, or gives the \
             resource up by `kubectl drift give-up`",
        ),
        _ => (
            format!("{others} and this object claim the same external resource, and the controller corrects neither"),
            "that ends when one claim is left: run `kubectl drift give-up` on all but one",
        ),
    };
    Hold::by(why, &sentence, end)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fixtures::proxies::{TEXT, target};
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::{Value, json};

    const NOW: &str = "2026-01-01T00:00:30Z";

    /// An object with this record of the controller.
    fn object((reason, text): (&str, &str), annotations: &Value, observed: &str) -> LeanObject {
        let conditions = json!([
            {"type": "driftObserved", "status": "Unknown", "reason": observed, "message": "x [desired 3f2a9c71d04b58e6]"},
            {"type": "driftCorrected", "status": "False", "reason": reason, "message": text}]);
        let metadata = json!({"name": "web", "namespace": "a", "uid": "u", "annotations": annotations});
        let whole = json!({"metadata": metadata, "spec": {"id": "x", "a": "1"}, "status": {"conditions": conditions}});
        LeanObject::prune(&whole, &target(TEXT).all_fields)
    }

    fn sentence(why: Held, object: &LeanObject, record: Option<&str>) -> String {
        target(TEXT).hold(object, why, record, NOW.parse().unwrap()).sentence
    }

    #[test]
    fn a_hold_says_what_its_record_says() {
        let exhausted =
            ("AttemptsExhausted", "correction 7, owns \"x\": in vain; before: update: 422: quota [scope 3f2a9c71]");
        let failed = ("CorrectionFailed", "correction 7: update: 422: quota");
        let none = json!({});
        let told = object(exhausted, &none, "FieldsDiffer");
        let expected = "in vain; before: update: 422: quota (AttemptsExhausted)";
        assert_eq!(sentence(Held::AttemptsExhausted, &told, None), expected);
        assert_eq!(sentence(Held::AttemptsExhausted, &told, Some("new")), "new (AttemptsExhausted)");
        let untold = sentence(Held::AttemptsExhausted, &object(failed, &none, "FieldsDiffer"), None);
        assert!(
            untold.starts_with("the last corrections healed nothing")
                && untold.contains("retry proxy.demo.driftpoller.dev/web -n a`"),
            "{untold}"
        );
        let exists = sentence(Held::AttemptsExhausted, &object(failed, &none, "AbsenceContradicted"), None);
        assert!(exists.starts_with("the external system refused the create"), "{exists}");
        let paused = object(failed, &json!({"driftpoller.dev/paused": "moved on Monday"}), "FieldsDiffer");
        assert!(sentence(Held::Paused, &paused, None).ends_with("(Paused): moved on Monday"));
    }

    #[test]
    fn words_of_others_stay_as_they_are() {
        let none = json!({});
        let failure = "; before: update: 422: `kubectl drift retry KIND/NAME` of TARGET";
        let record = format!("correction 7: {}{failure}", Held::AttemptsExhausted.cause());
        let told = sentence(Held::AttemptsExhausted, &object(("AttemptsExhausted", &record), &none, "InSync"), None);
        assert!(told.contains("by `kubectl drift retry proxy.demo.driftpoller.dev/web -n a`; before"), "{told}");
        assert!(told.ends_with(&format!("{failure} (AttemptsExhausted)")), "{told}");
        let paused = json!({"driftpoller.dev/paused": "see KIND/NAME"});
        let paused = object(("CorrectionApplied", "correction 7: x"), &paused, "InSync");
        assert!(sentence(Held::Paused, &paused, None).ends_with("(Paused): see KIND/NAME"));
    }

    #[test]
    fn a_suspension_says_by_whom() {
        let living = object(("CorrectionApplied", "correction 7: x"), &json!({}), "InSync");
        let alone =
            "the target's `suspendWhen` holds for this object (Suspended): no polls and no corrections meanwhile";
        assert_eq!(sentence(Held::Suspended, &living, None), alone);
        let whole = TEXT.replace("  interval: 30s", "  interval: 30s\n  suspend: true");
        let whole = target(&whole).hold(&living, Held::Suspended, None, NOW.parse().unwrap()).sentence;
        let expected =
            "the target is suspended (Suspended): no polls and no corrections until `kubectl drift unsuspend t`";
        assert_eq!(whole, expected);
    }

    #[test]
    fn a_dispute_says_who_else_and_what_ends_it() {
        let claim = ("IdentityContested", "correction 7: others claim it: Proxy.x a/web, Proxy.x b/web and others");
        let contested = sentence(Held::IdentityContested, &object(claim, &json!({}), "InSync"), None);
        assert!(contested.starts_with("Proxy.x a/web, Proxy.x b/web and others and this object claim"), "{contested}");
        assert!(contested.contains("(IdentityContested): that ends when one claim is left"), "{contested}");
        let claim = ("IdentityTaken", "correction 7: another object has it: Proxy.x a/web");
        let taken = sentence(Held::IdentityTaken, &object(claim, &json!({}), "InSync"), None);
        assert!(taken.starts_with("Proxy.x a/web has the external resource"), "{taken}");
        assert!(taken.contains("(IdentityTaken): that ends when"), "{taken}");
    }

    #[test]
    fn each_hold_of_an_object_has_its_word_once() {
        let object = object(("CorrectionApplied", "correction 7: updated"), &json!({}), "InSync");
        for why in Held::ALL {
            let sentence = sentence(*why, &object, None);
            assert_eq!(sentence.matches(&format!("({why:?})")).count(), 1, "{sentence}");
            assert!(!sentence.contains("KIND/NAME"), "{sentence}");
        }
        let bare = LeanObject::prune(&json!({"metadata": {"name": "web"}}), &FieldPaths::default());
        assert!(sentence(Held::TemplateFails, &bare, None).contains("(TemplateFails): "));
    }
}
