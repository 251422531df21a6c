//! The finding of one poll before its confirmation.
//!
//! A failed poll is never drift or absence, so a failure is a separate case with a closed sentence.

use drift_api::condition::{ObservedReason, StatusFields, closed_text};
use drift_systems::SystemFailure;

use crate::engine::judgement::drift::Drift;

/// The result of one poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The external resource matches the object.
    InSync,
    /// The resource exists and differs.
    Differs(Drift),
    /// The resource does not exist.
    Absent,
    /// The poll failed, so the state is unknown.
    Failed(Failure),
}

/// The finding of one poll, and the fields that it publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Finding of the poll.
    pub finding: Finding,
    /// Desired values of the published status fields. Fields that are not listed stay unchanged. `None` if the last
    /// poll already set them.
    pub published: Option<StatusFields>,
    /// Names of fields that are not published, because they contain a credential.
    pub withheld: Vec<String>,
    /// The answer that means the absence, for people; `None` if there is none to show.
    pub answer: Option<Box<str>>,
}

impl Found {
    /// Returns the finding after the server reported that nothing changed since the object was in sync.
    #[must_use]
    pub const fn still_in_sync() -> Self {
        Self { finding: Finding::InSync, published: None, withheld: Vec::new(), answer: None }
    }
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        Self { finding, published: Some(StatusFields::NONE), withheld: Vec::new(), answer: None }
    }
}

/// Reason for an unknown state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Reason with the status Unknown.
    pub reason: ObservedReason,
    /// Closed text, or the target's own text.
    pub text: String,
}

impl Failure {
    /// Creates a failure with the reason's own sentence.
    #[must_use]
    pub fn of(reason: ObservedReason) -> Self {
        Self { reason, text: closed_text(reason).to_owned() }
    }

    /// Creates the failure for one that every kind of system can have.
    #[must_use]
    pub fn of_system(failure: &SystemFailure) -> Self {
        match failure {
            SystemFailure::Unreachable(_) => Self::of(ObservedReason::ExternalUnreachable),
            SystemFailure::CredentialUnavailable(cause) => Self::with(ObservedReason::CredentialUnusable, cause),
            SystemFailure::AddressRefused { .. } => {
                let text = "the host's address is in a network that the target does not allow";
                Self { reason: ObservedReason::ExternalUnreachable, text: text.to_owned() }
            }
            SystemFailure::Unreadable(mistake) => Self::with(ObservedReason::ResponseInvalid, mistake),
        }
    }

    /// Creates a failure with a sentence that names a place in the target.
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

/// Classes of findings that confirm one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingClass {
    /// Class of [`Finding::InSync`].
    InSync,
    /// Class of [`Finding::Differs`], regardless of the fields.
    Differs,
    /// Class of [`Finding::Absent`].
    Absent,
    /// Class of [`Finding::Failed`], regardless of the reason: a host that alternates between 500 and 503
    /// has one problem.
    Failed,
}

impl Finding {
    /// Returns the label of the metric.
    #[must_use]
    pub const fn as_label(&self) -> &'static str {
        match self {
            Self::InSync => "InSync",
            Self::Differs(_) => "Differs",
            Self::Absent => "Absent",
            Self::Failed(failure) => failure.reason.as_str(),
        }
    }

    /// Returns true if the resource is there. One that is still settling is, too.
    #[must_use]
    pub fn is_presence(&self) -> bool {
        match self {
            Self::InSync | Self::Differs(_) => true,
            Self::Failed(failure) => failure.reason == ObservedReason::Settling,
            Self::Absent => false,
        }
    }

    /// Returns the class of this finding.
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
