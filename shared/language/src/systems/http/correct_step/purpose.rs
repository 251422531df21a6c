//! The purpose of an action's steps: their keys, their variables, and the statuses that mean done.

use http::Method;

use crate::cel::Scope;
use crate::systems::http::statuses::StatusSet;

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

    /// Returns true if its steps can store part of a response. After a deletion the object is gone, and with it every
    /// stored field.
    pub(super) fn stores(self) -> bool {
        self != Self::Deleting
    }

    /// Returns true if its steps can delete the resource.
    pub(super) const fn may_delete(self) -> bool {
        matches!(self, Self::Deleting | Self::Replacing)
    }

    /// The scope of a request.
    pub(super) const fn asking(self) -> Scope {
        match self {
            Self::Deleting => Scope::Deletion,
            _ => Scope::Correction,
        }
    }

    /// The scope of a rule over a response.
    pub(super) const fn judging(self) -> Scope {
        match self {
            Self::Deleting => Scope::DeletionAnswer,
            _ => Scope::CorrectionAnswer,
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
