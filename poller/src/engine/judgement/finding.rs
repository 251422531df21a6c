//! The finding of one poll, before it is compared with earlier ones.
//!
//! A failed poll is never drift and never absence, so failing is a case of its own and carries a closed sentence.

use drift_api::condition::{ObservedReason, StatusFields, closed_text};

use crate::engine::judgement::drift::Drift;

/// The result of one poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The external resource is as the object says.
    InSync,
    /// It is there, and differs.
    Differs(Drift),
    /// It is not there.
    Absent,
    /// Nothing can be said.
    Failed(Failure),
}

/// The finding of one poll, and the fields that it publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The finding.
    pub finding: Finding,
    /// How the fields of the status that the target publishes are to stand; those that are not here stay as they are.
    /// `None` where the poll before said it.
    pub published: Option<StatusFields>,
    /// The names of fields that it does not publish, since a credential stands in them.
    pub withheld: Vec<String>,
}

impl Found {
    /// The server says that nothing changed since the object was in sync.
    #[must_use]
    pub const fn still_in_sync() -> Self {
        Self { finding: Finding::InSync, published: None, withheld: Vec::new() }
    }
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        Self { finding, published: Some(StatusFields::NONE), withheld: Vec::new() }
    }
}

/// Why nothing can be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A reason whose status is Unknown.
    pub reason: ObservedReason,
    /// Closed text, or the target's own words.
    pub text: String,
}

impl Failure {
    /// With the reason's own sentence.
    #[must_use]
    pub fn of(reason: ObservedReason) -> Self {
        Self { reason, text: closed_text(reason).to_owned() }
    }

    /// Of a host whose address must not be dialled.
    #[must_use]
    pub fn address_refused() -> Self {
        let text = "the host's address is in a network that the target does not allow";
        Self { reason: ObservedReason::ExternalUnreachable, text: text.to_owned() }
    }

    /// With a sentence that names a place in the target.
    #[must_use]
    pub fn with(reason: ObservedReason, detail: &str) -> Self {
        Self { reason, text: format!("{}: {detail}", closed_text(reason)) }
    }
}

impl From<ObservedReason> for Finding {
    fn from(reason: ObservedReason) -> Self {
        Self::Failed(Failure::of(reason))
    }
}

/// Findings that confirm one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingClass {
    /// [`Finding::InSync`].
    InSync,
    /// [`Finding::Differs`], whatever the fields.
    Differs,
    /// [`Finding::Absent`].
    Absent,
    /// [`Finding::Failed`] for whatever reason: a host that answers 500 and 503 in turn is one trouble.
    Failed,
}

impl Finding {
    /// The label of a metric.
    #[must_use]
    pub const fn as_label(&self) -> &'static str {
        match self {
            Self::InSync => "InSync",
            Self::Differs(_) => "Differs",
            Self::Absent => "Absent",
            Self::Failed(failure) => failure.reason.as_str(),
        }
    }

    /// The class of this finding.
    #[must_use]
    pub const fn class(&self) -> FindingClass {
        match self {
            Self::InSync => FindingClass::InSync,
            Self::Differs(_) => FindingClass::Differs,
            Self::Absent => FindingClass::Absent,
            Self::Failed(_) => FindingClass::Failed,
        }
    }
}
