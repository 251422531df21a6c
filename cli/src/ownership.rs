//! The ownership of an external resource, as the record and the annotation of an object tell it: who else has or claims
//! the resource, and what the object gives up.

use std::fmt;

use drift_api::condition::{CorrectedReason, CorrectionStatus};
use drift_api::names::GIVE_UP_ANNOTATION;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_language::Target;

/// The name of another object where the record tells none.
const ANOTHER_OBJECT: &str = "another object";

/// Another object's claim that keeps an object from its external resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dispute {
    /// Another object has the resource.
    Taken(Others),
    /// Several objects claim it, so nobody acts.
    Contested(Others),
}

/// The other objects that a record names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Others {
    /// Each as `Kind namespace/name`, where its kind may have its group after a dot.
    named: Vec<String>,
    /// The number of those that are not named.
    more: u32,
}

impl Dispute {
    /// The dispute that a record tells of; `own_kind` is the kind of its object.
    #[must_use]
    pub(crate) fn of(record: &CorrectionStatus, own_kind: &str) -> Option<Self> {
        let dispute = match record.reason? {
            CorrectedReason::IdentityTaken => Self::Taken,
            CorrectedReason::IdentityContested => Self::Contested,
            _ => return None,
        };
        Some(dispute(Others::in_text(&record.text, own_kind)))
    }

    /// Its cell in a table.
    #[must_use]
    pub(crate) fn cell(&self) -> String {
        match self {
            Self::Taken(others) => format!("TAKEN BY {}", others.first_without_group()),
            Self::Contested(_) => "CONTESTED".to_owned(),
        }
    }

    /// Who else, and what ends it.
    #[must_use]
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Taken(others) => format!(
                "{others} has the external resource that this object names (IdentityTaken); that ends when the other object is \
                 deleted, names another resource, or gives this one up by `kubectl drift give-up`"
            ),
            Self::Contested(others) => format!(
                "{others} and this object claim the same external resource (IdentityContested), and nobody acts; that ends when one \
                 claim is left: delete the others, let them name other resources, or run `kubectl drift give-up` on all but one"
            ),
        }
    }
}

impl Others {
    /// The objects that a text names outside of quotation marks: `Kind namespace/name`, or `Kind name` of a kind without
    /// namespaces if the kind has a group or is `own_kind`.
    fn in_text(text: &str, own_kind: &str) -> Self {
        let mut others = Self::default();
        for part in text.split('"').step_by(2) {
            let words: Vec<&str> = part.split_whitespace().collect();
            let pairs = words.windows(2).filter_map(|pair| object_name(pair[0], pair[1], own_kind));
            others.named.extend(pairs);
            let more = words.windows(3).find(|words| words[0] == "and" && words[2].starts_with("other"));
            others.more = more.and_then(|words| words[1].parse().ok()).unwrap_or(others.more);
        }
        others
    }

    fn first_without_group(&self) -> String {
        let Some((kind, place)) = self.named.first().and_then(|first| first.split_once(' ')) else {
            return ANOTHER_OBJECT.to_owned();
        };
        let kind = kind.split_once('.').map_or(kind, |(kind, _)| kind);
        format!("{kind} {place}")
    }
}

/// The object that two words name.
fn object_name(kind: &str, place: &str, own_kind: &str) -> Option<String> {
    let is_kind = kind.starts_with(|letter: char| letter.is_ascii_uppercase())
        && kind.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-'));
    let place = place.trim_end_matches([',', '.', ';', ':', ')']);
    let is_name = |part: &str| {
        let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.:".contains(letter);
        !part.is_empty() && part.chars().all(fits)
    };
    let is_place = match place.split_once('/') {
        Some((namespace, name)) => is_name(namespace) && is_name(name),
        None => is_name(place) && (kind.contains('.') || kind == own_kind),
    };
    (is_kind && is_place).then(|| format!("{kind} {place}"))
}

impl fmt::Display for Others {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.named.as_slice(), self.more) {
            ([], _) => formatter.write_str(ANOTHER_OBJECT),
            (named, 0) => formatter.write_str(&named.join(", ")),
            (named, 1) => write!(formatter, "{}, 1 other", named.join(", ")),
            (named, more) => write!(formatter, "{}, {more} others", named.join(", ")),
        }
    }
}

/// The fields, and the annotation by which an object gives up a resource.
#[must_use]
pub(crate) fn with_give_up(fields: &FieldPaths) -> FieldPaths {
    let mut fields = fields.clone();
    fields.insert(["metadata", "annotations", GIVE_UP_ANNOTATION].map(str::to_owned).to_vec());
    fields
}

/// The identity that an object gives up, if it was pruned [`with_give_up`].
#[must_use]
pub(crate) fn given_up(object: &LeanObject) -> Option<String> {
    let view = object.view.open();
    let identity = view.get("metadata")?.get("annotations")?.get(GIVE_UP_ANNOTATION)?.as_str()?;
    Some(identity.to_owned())
}

/// The sentence for an object that gives up the resource which it names.
#[must_use]
pub(crate) fn stepped_back(target: &Target, object: &LeanObject) -> Option<String> {
    let identity = given_up(object)?;
    let is_named = target.identity_of(&object.view.open()).is_ok_and(|named| named == identity);
    is_named.then(|| {
        format!(
            "it gives up {} by its annotation {GIVE_UP_ANNOTATION}; that ends when somebody removes it \
             (`kubectl drift give-up --undo`)",
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
        Dispute::of(&record, "Proxy")
    }

    #[test]
    fn the_holder_of_a_taken_resource_is_named() {
        for (text, expected) in [
            ("taken by Proxy team-a/web", "TAKEN BY Proxy team-a/web"),
            ("it is taken: Proxy.demo.driftpoller.dev team-a/web has it", "TAKEN BY Proxy team-a/web"),
            ("taken by Service team-a/web, Proxy b/web and 2 others.", "TAKEN BY Service team-a/web"),
            ("taken by Role.example.com app.", "TAKEN BY Role app"),
            ("taken by Proxy web; see there", "TAKEN BY Proxy web"),
            ("\"Proxy other/one\" is taken by Proxy team-a/web", "TAKEN BY Proxy team-a/web"),
            ("Another object has it", "TAKEN BY another object"),
            ("taken by Proxy Team/Web", "TAKEN BY another object"),
            ("", "TAKEN BY another object"),
        ] {
            assert_eq!(dispute(CorrectedReason::IdentityTaken, text).unwrap().cell(), expected, "{text}");
        }
    }

    #[test]
    fn a_dispute_says_who_else_and_what_ends_it() {
        let text = "claimed by Proxy a/web, Proxy b/web, Proxy c/web and 2 others";
        let contested = dispute(CorrectedReason::IdentityContested, text).unwrap();
        assert_eq!(contested.cell(), "CONTESTED");
        let sentence = contested.sentence();
        assert!(sentence.starts_with("Proxy a/web, Proxy b/web, Proxy c/web, 2 others and this object"), "{sentence}");
        assert!(sentence.contains("ends when one claim is left"), "{sentence}");
        let taken = dispute(CorrectedReason::IdentityTaken, "taken by Proxy a/web").unwrap().sentence();
        assert!(
            taken.starts_with("Proxy a/web has the external resource") && taken.contains("that ends when"),
            "{taken}"
        );
    }

    #[test]
    fn only_two_reasons_are_a_dispute() {
        for reason in CorrectedReason::ALL {
            let is_one = matches!(reason, CorrectedReason::IdentityTaken | CorrectedReason::IdentityContested);
            assert_eq!(dispute(*reason, "x").is_some(), is_one, "{reason}");
        }
        assert_eq!(Dispute::of(&CorrectionStatus::default(), "Proxy"), None);
    }
}
