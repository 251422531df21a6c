//! The ownership of an external resource, as the record and the annotation of an object tell it: who else has or claims
//! the resource, and what the object gives up.

use drift_api::condition::{CorrectedReason, CorrectionStatus};
use drift_api::identity::{Holders, ObjectRef};
use drift_api::names::GIVE_UP_ANNOTATION;
use drift_api::object::LeanObject;
use drift_language::Target;

/// The name of another object where the record tells none.
const ANOTHER_OBJECT: &str = "another object";

/// Another object's claim that keeps an object from its external resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dispute {
    /// Another object has the resource.
    Taken(Holders),
    /// Several objects claim it, so the controller does not act.
    Contested(Holders),
}

impl Dispute {
    /// The dispute that a record tells of.
    #[must_use]
    pub(crate) fn of(record: &CorrectionStatus) -> Option<Self> {
        let dispute = match record.reason? {
            CorrectedReason::IdentityTaken => Self::Taken,
            CorrectedReason::IdentityContested => Self::Contested,
            _ => return None,
        };
        Some(dispute(Holders::parse(&record.text)))
    }

    /// Its cell in a table.
    #[must_use]
    pub(crate) fn cell(&self) -> String {
        match self {
            Self::Taken(others) => format!("TAKEN BY {}", first_without_group(others)),
            Self::Contested(_) => "CONTESTED".to_owned(),
        }
    }

    /// The other objects, and how to end the dispute.
    #[must_use]
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Taken(others) => format!(
                "{} has the external resource that this object names (IdentityTaken); that ends when the other object is \
                 deleted, names another resource, or gives this one up by `kubectl drift give-up`",
                words(others)
            ),
            Self::Contested(others) => format!(
                "{} and this object claim the same external resource (IdentityContested), and the controller corrects neither; that ends when one \
                 claim is left: run `kubectl drift give-up` on all but one",
                words(others)
            ),
        }
    }
}

/// The first of the holders, as tables show it.
fn first_without_group(holders: &Holders) -> String {
    let Some(ObjectRef { namespace, name, .. }) = holders.named.first() else { return ANOTHER_OBJECT.to_owned() };
    let (kind, _) = holders.named[0].kind_and_group();
    namespace.as_ref().map_or_else(|| format!("{kind} {name}"), |namespace| format!("{kind} {namespace}/{name}"))
}

/// All that are named, for a sentence.
fn words(holders: &Holders) -> String {
    if holders.named.is_empty() { ANOTHER_OBJECT.to_owned() } else { holders.to_string() }
}

/// The sentence for an object that gives up the resource which it names.
#[must_use]
pub(crate) fn stepped_back(target: &Target, object: &LeanObject) -> Option<String> {
    let identity = object.given_up()?;
    let is_named = target.identity_of(&object.view.open()).is_ok_and(|named| named == identity);
    is_named.then(|| {
        format!(
            "it gives up {} by its annotation {GIVE_UP_ANNOTATION}; that ends when you remove it \
             (`kubectl drift give-up KIND/NAME --undo`)",
            serde_json::Value::from(identity)
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn dispute(reason: CorrectedReason, text: &str) -> Option<Dispute> {
        let record = CorrectionStatus { reason: Some(reason), text: text.to_owned(), ..CorrectionStatus::default() };
        Dispute::of(&record)
    }

    #[test]
    fn the_first_holder_of_a_taken_resource_is_named() {
        for (text, expected) in [
            ("it has it: Proxy.demo.example team-a/web", "TAKEN BY Proxy team-a/web"),
            ("it has it: Service team-a/web, Proxy b/web and others", "TAKEN BY Service team-a/web"),
            ("it has it: Role.example.com app", "TAKEN BY Role app"),
            ("another object has it", "TAKEN BY another object"),
            ("", "TAKEN BY another object"),
        ] {
            assert_eq!(dispute(CorrectedReason::IdentityTaken, text).unwrap().cell(), expected, "{text}");
        }
    }

    #[test]
    fn a_dispute_says_who_else_and_what_ends_it() {
        let text = "others claim it: Proxy.x a/web, Proxy.x b/web, Proxy.x c/web and others";
        let contested = dispute(CorrectedReason::IdentityContested, text).unwrap();
        assert_eq!(contested.cell(), "CONTESTED");
        let sentence = contested.sentence();
        assert!(sentence.starts_with("Proxy.x a/web, Proxy.x b/web, Proxy.x c/web and others and this"), "{sentence}");
        assert!(sentence.contains("ends when one claim is left"), "{sentence}");
        let taken = dispute(CorrectedReason::IdentityTaken, "it has it: Proxy.x a/web").unwrap().sentence();
        assert!(taken.starts_with("Proxy.x a/web has the external resource"), "{taken}");
        assert!(taken.contains("that ends when"), "{taken}");
    }

    #[test]
    fn only_two_reasons_are_a_dispute() {
        for reason in CorrectedReason::ALL {
            let is_one = matches!(reason, CorrectedReason::IdentityTaken | CorrectedReason::IdentityContested);
            assert_eq!(dispute(*reason, "x").is_some(), is_one, "{reason}");
        }
        assert_eq!(Dispute::of(&CorrectionStatus::default()), None);
    }
}
