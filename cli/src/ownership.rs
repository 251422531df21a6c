//! The dispute about an external resource, as the record of an object tells it.

use drift_api::condition::{CorrectedReason, CorrectionStatus};
use drift_api::identity::{Holders, ObjectRef};

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
}

/// The first of the holders, as tables show it.
fn first_without_group(holders: &Holders) -> String {
    let Some(ObjectRef { namespace, name, .. }) = holders.named.first() else { return Holders::UNNAMED.to_owned() };
    let (kind, _) = holders.named[0].kind_and_group();
    namespace.as_ref().map_or_else(|| format!("{kind} {name}"), |namespace| format!("{kind} {namespace}/{name}"))
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
    fn only_two_reasons_are_a_dispute() {
        for reason in CorrectedReason::ALL {
            let is_one = matches!(reason, CorrectedReason::IdentityTaken | CorrectedReason::IdentityContested);
            assert_eq!(dispute(*reason, "x").is_some(), is_one, "{reason}");
        }
        assert_eq!(Dispute::of(&CorrectionStatus::default()), None);
    }
}
