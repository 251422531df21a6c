//! The facts about one object from which `explain` tells what holds it.

use drift_api::condition::{ConditionStatus, StatusFields, Verdict};
use drift_api::held_corrections::Hold;
use drift_api::object::LeanObject;
use drift_api::object::object_view::ObjectView;
use drift_language::{Action, Target};
use jiff::Timestamp;
use serde_json::Value;

use crate::targets::leases::{attestations, controller_holds, unwritten};
use crate::targets::session::Session;
use drift_poller::engine::object::overview::LeaseHolds;

/// One object with its target and its verdict.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'f> {
    /// The target.
    pub target: &'f Target,
    /// True if it is one of the cluster, and not tried from a file.
    pub is_deployed: bool,
    /// The object.
    pub object: &'f LeanObject,
    /// Verdict of a poll just now.
    pub verdict: &'f Verdict,
}

impl Facts<'_> {
    /// Returns true if there is something to correct.
    #[must_use]
    pub fn is_drifted(&self) -> bool {
        self.verdict.status() == ConditionStatus::True
    }

    /// Returns true for a manifest or object that no poller has seen by a deployed target.
    pub(super) fn is_unseen(&self) -> bool {
        !self.is_deployed && self.object.conditions.observed().is_none()
    }
}

/// Returns the object with the fields that the poller publishes together with the verdict. A correction reads them.
pub(super) fn as_published(object: &LeanObject, published: Option<&StatusFields>) -> LeanObject {
    let mut object = object.clone();
    if let Some(published) = published.filter(|published| !published.is_empty() && !object.deleting) {
        let mut view = object.view.open().clone();
        published.write_into(&mut view);
        object.view = ObjectView::of(&view);
    }
    object
}

/// The programs' Leases, as they were read just now: `None` if there is none, or why it cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct Leases {
    /// The poller's.
    pub(crate) poller: Result<Option<Value>, String>,
    /// The controller's.
    pub(crate) controller: Result<Option<Value>, String>,
}

impl Leases {
    /// Reads both.
    pub(crate) async fn read(session: &Session<'_>, controller: &str) -> Self {
        let (poller, controller) = futures::join!(session.poller_lease(), session.lease(controller));
        Self { poller, controller }
    }

    /// Returns what holds objects by the Leases.
    pub(crate) fn holds(&self, now: Timestamp) -> LeaseHolds {
        let poller = self.poller.as_ref().ok().map(Option::as_ref);
        LeaseHolds {
            attested: poller.map(|lease| attestations(lease, now).unwrap_or_default()),
            unwritten: poller.map(|lease| unwritten(lease, now)).unwrap_or_default(),
            controller: controller_holds(&self.controller, now),
        }
    }
}

#[cfg(test)]
impl Default for Leases {
    fn default() -> Self {
        Self { poller: Ok(None), controller: Ok(None) }
    }
}

/// Returns the action of a correction of this verdict.
#[must_use]
pub(crate) fn action(facts: Facts<'_>) -> Action {
    let Facts { target, object, verdict, .. } = facts;
    if object.deleting {
        return Action::Delete;
    }
    target.correct.actions().against(verdict.reason, verdict.tag.replace)
}

/// The reason why the poller does not attest the condition of an object.
#[derive(Clone, Debug)]
pub(super) struct Unattested {
    pub(super) hold: Hold,
    /// True if the API server does not take the poller's verdict.
    pub(super) is_unwritten: bool,
}
