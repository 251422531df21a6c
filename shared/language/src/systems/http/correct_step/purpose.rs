//! The purpose of an action's steps: their keys, their variables, and the statuses that mean done.

use http::Method;

use crate::cel::Scope;
use crate::systems::http::format::FORMAT_KEYS;
use crate::systems::http::request::body::WRITE_KEYS;
use crate::systems::http::statuses::StatusSet;

/// Keys of every step.
const STEP_KEYS: &[&str] =
    &["name", "method", "reads", "url", "headers", "when", "forEach", "timeout", "accept", "refusedWhen", "because"];

/// The purpose of an action's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Creating,
    Updating,
    Deleting,
    Replacing,
}

impl Purpose {
    /// The purpose of the steps of an action.
    pub(crate) fn of(action: &str) -> Self {
        match action {
            "create" => Self::Creating,
            "update" => Self::Updating,
            "delete" => Self::Deleting,
            _ => Self::Replacing,
        }
    }

    /// The keys of its steps.
    pub(super) fn keys(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::Creating => &["store", "idempotent"],
            Self::Updating => &["store"],
            // After a deletion the object is gone, and with it every stored field.
            Self::Deleting => &["doneOn"],
            Self::Replacing => &["store", "doneOn"],
        };
        [STEP_KEYS, WRITE_KEYS, FORMAT_KEYS, own].concat()
    }

    /// Returns the scopes of a request and of a rule over its response.
    pub(super) const fn scopes(self) -> [Scope; 2] {
        match self {
            Self::Creating | Self::Updating | Self::Replacing => [Scope::Correction, Scope::CorrectionAnswer],
            Self::Deleting => [Scope::Deletion, Scope::DeletionAnswer],
        }
    }

    /// Returns true if a step deletes the resource. In a replacement only DELETE does: a creation answered with
    /// 404 has failed.
    pub(super) fn deletes(self, method: &Method) -> bool {
        self == Self::Deleting || self == Self::Replacing && *method == Method::DELETE
    }

    /// Returns the accepted statuses and the done statuses. A deletion accepts that the resource is already gone. Done
    /// statuses are always accepted.
    pub(super) fn settle(
        self,
        method: &Method,
        accept: StatusSet,
        done_on: Option<StatusSet>,
    ) -> (StatusSet, StatusSet) {
        let gone = || StatusSet(vec![404..=404, 410..=410]);
        let accept = if self.deletes(method) { accept.and(&gone()) } else { accept };
        match done_on {
            None => (accept.clone(), accept),
            Some(done_on) => (accept.and(&done_on), done_on.and(&gone())),
        }
    }
}
